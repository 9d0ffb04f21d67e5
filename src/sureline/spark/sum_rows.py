"""The rows that partitions emit to be summed, and their way to the driver.

A row has a kind, a feature, a class, perhaps a name, and what is added: for a weight precision ×
mean and precision, or whatever `sureline.model.merge.sums` sums, for other kinds one number. Spark
adds up rows that agree in all but the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sureline.features.names import Names

Array = NDArray[Any]
KEYS = ("kind", "feature", "class", "name")
BATCH_ROWS = 2**16  # rows of a batch that a partition emits
PACKED_ROWS = 2**18  # rows that are sent to the driver at a time


class Kind(IntEnum):
    """What a row is about.

    For `COUNTER`, `CLASS_TOTAL` and `CALIBRATION` the feature is the number of the sum.
    """

    WEIGHT = 0
    INTERCEPT = 1
    FEATURE = 2  # how many texts have had it, and its name if it is new
    WAITING = 3  # how many texts have had a feature that has no column yet
    COUNTER = 4
    CLASS_COUNT = 5
    CLASS_TOTAL = 6
    CALIBRATION = 7
    MOMENTS = 8  # a partition's moments of numbers, the name; how many partitions have the same


class Counters(NamedTuple):
    """What partitions count.

    `models` is the number of partitions with a complete row; `clock`, `updates`, `mistakes` and
    `seen` are what their models have added to the state's; `incomplete` is the number of rows
    without a text, vector, label or weight, `one_class` that of partitions with a single class.
    """

    models: int
    clock: int
    updates: int
    mistakes: int
    seen: int
    incomplete: int
    one_class: int


def row_schema(sums: tuple[str, ...]) -> str:
    """The columns of rows with these sums, as Spark writes a schema."""
    types = zip(KEYS, ("tinyint", "bigint", "int", "binary"), strict=True)
    return ", ".join(f"{name} {kind}" for name, kind in (*types, *((s, "double") for s in sums)))


class RowWriter:
    """Makes batches of rows; `sums` are the names of the sums of a weight."""

    def __init__(self, sums: tuple[str, ...]) -> None:
        self._sums = sums

    def weights(
        self, kind: Kind, features: Array, classes: Array, values: Array
    ) -> Iterator[pa.RecordBatch]:
        """Rows of several sums; `values` has one row per row."""
        return self._batches(kind, features, classes, [*values.T], None)

    def numbers(
        self,
        kind: Kind,
        features: Array,
        values: Array,
        classes: Array | None = None,
        names: Names | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of one sum each, with the names of features where they are given."""
        sums = [values.astype(np.float64), *[np.zeros(features.size)] * (len(self._sums) - 1)]
        which = np.zeros(features.size) if classes is None else classes
        return self._batches(kind, features, which, sums, names)

    def _batches(
        self, kind: Kind, features: Array, classes: Array, sums: list[Array], names: Names | None
    ) -> Iterator[pa.RecordBatch]:
        for first in range(0, features.size, BATCH_ROWS):
            part = slice(first, first + BATCH_ROWS)
            size = features[part].size
            spelled: Any = pa.nulls(size, pa.binary())
            if names is not None:
                spelled = names.kept(np.arange(first, first + size)).to_arrow()
            columns = [
                pa.array(np.full(size, kind, np.int8)),
                pa.array(features[part].astype(np.int64, copy=False)),
                pa.array(classes[part].astype(np.int32)),
                spelled,
                *(pa.array(np.ascontiguousarray(each[part], np.float64)) for each in sums),
            ]
            yield pa.RecordBatch.from_arrays(columns, [*KEYS, *self._sums])


def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of rows as a few binary values, which reach the driver faster; see `SummedRows`."""
    waiting, size = list[pa.RecordBatch](), 0
    for batch in batches:
        waiting.append(batch)
        size += len(batch)
        if size >= PACKED_ROWS:
            yield _packed(waiting)
            waiting, size = [], 0
    if size:
        yield _packed(waiting)


def _packed(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return pa.RecordBatch.from_pydict({"packed": pa.array([sink.getvalue().to_pybytes()])})


class SummedRows:
    """The summed rows of all partitions, as `pack` has packed them, by kind."""

    def __init__(self, packed: Iterable[bytes]) -> None:
        self._parts: dict[int, list[tuple[Array, Array, Array]]] = {kind: [] for kind in Kind}
        self._names = list[tuple[Array, pa.Array]]()
        self._moments = list[bytes]()
        for each in packed:
            with pa.ipc.open_stream(pa.py_buffer(each)) as stream:
                for batch in stream:
                    self._add(batch)
        counters = np.rint(self.vector(Kind.COUNTER, len(Counters._fields))).astype(int)
        self.counters = Counters._make(counters.tolist())

    def _add(self, batch: pa.RecordBatch) -> None:
        kind, feature, column, name, *sums = batch.columns
        kinds = kind.to_numpy(zero_copy_only=False)
        arrays = [each.to_numpy(zero_copy_only=False) for each in (feature, column, *sums)]
        for which in np.unique(kinds).tolist():
            chosen = np.flatnonzero(kinds == which)
            features, classes, *values = (each[chosen] for each in arrays)
            several = which in (Kind.WEIGHT, Kind.INTERCEPT)
            summed = np.column_stack(values) if several else values[0]
            self._parts[which].append((features, classes, summed))
            if which == Kind.MOMENTS:
                times = np.rint(summed).astype(int).tolist()
                for each, many in zip(name.take(pa.array(chosen)).to_pylist(), times, strict=True):
                    self._moments += [each] * many
            if which == Kind.FEATURE:
                spelled = name.take(pa.array(chosen))
                named = np.flatnonzero(spelled.is_valid().to_numpy(zero_copy_only=False))
                self._names.append((features[named], spelled.take(pa.array(named))))

    def moments(self) -> list[Array]:
        """The moments of the numbers of each partition, in an order that does not depend on it."""
        return [np.frombuffer(each) for each in sorted(self._moments)]

    def numbers(self, kind: Kind) -> tuple[Array, Array]:
        """Features, sorted, and the sum of each; the classes are disregarded."""
        parts = self._parts[kind]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0)
        every, inverse = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
        total = np.zeros(every.size)
        np.add.at(total, inverse, np.concatenate([p[2] for p in parts]))
        return every, total

    def vector(self, kind: Kind, size: int) -> Array:
        """The sums of a kind that has so many of them, by number."""
        found = np.zeros(size)
        numbers, values = self.numbers(kind)
        found[numbers] = values
        return found

    def take(self, kind: Kind) -> Iterator[tuple[Array, Array, Array]]:
        """Features, classes and sums, in chunks; each is given away and forgotten."""
        parts = self._parts[kind]
        while parts:
            yield parts.pop()

    def names(self) -> tuple[Array, Any]:
        """Features and their names; of several names of a feature, the first in the alphabet."""
        if not any(each.size for each, _ in self._names):
            return np.zeros(0, np.int64), pa.array([], pa.binary())
        features = np.concatenate([each for each, _ in self._names])
        names = pa.concat_arrays([each for _, each in self._names])
        table = pa.table({"feature": features, "name": names})
        table = table.sort_by([("feature", "ascending"), ("name", "ascending")]).combine_chunks()
        features = table["feature"].to_numpy()
        first = np.flatnonzero(np.concatenate([[True], features[1:] != features[:-1]]))
        return features[first], pa.chunked_array(table["name"]).take(pa.array(first))
