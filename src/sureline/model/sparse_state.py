"""A state of many classes that holds, for each feature, only the classes that it has met.

Row 0 of the table, the intercepts, is dense, as are the counts by class alone. Everything else are
pairs of feature and class, in the arrays of `kernels.sparse_classes`. What reads a part of a model
gets a dense state of that part from `SparseState.part`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter
from sureline.features.rows import Rows
from sureline.kernels.sparse_classes import COMMON, GATHER, PACK, Pairs
from sureline.model.state import ARRAYS, Layout, Places, State, repeated, table_rows

MOST_CLASSES = 1024  # a feature of texts that has met more classes says little of any
_ROWS_AT_ONCE = 2**12
SLACK = 1.5  # the pool is so many times as large as what is in it when it is packed
LEAST_POOL = 2**12


def no_pairs(layout: Layout, rows: int, size: int = LEAST_POOL) -> Pairs:
    """The arrays of so many rows without any pair, and a pool for `size` pairs."""
    counted = size if layout.weighting == "nb" else 0
    return Pairs(
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int32),
        np.zeros(rows, np.int32),
        np.zeros(1, np.int64),
        np.empty(size, np.int32),
        np.empty((size, layout.slots), layout.dtype),
        np.empty(counted, np.int32),
        np.zeros((rows, 1), np.int32),
    )


def _empty() -> Pairs:
    return no_pairs(Layout("", "identity", "float32", True, (0.0,)), 1, 0)


@dataclass
class SparseState(State):
    """A state with pairs in place of columns; `limit_gb` is the most memory that it may take.

    `table`, `class_counts` and `last_changed` have the constant feature's row alone. A wide state
    becomes a sparse one by `sparse_state`.
    """

    pairs: Pairs = field(default_factory=_empty)
    limit_gb: float = math.inf

    @property
    def features(self) -> int:
        """The number of features, the constant one aside."""
        return int(self.pairs.starts.size) - 1

    @property
    def initial(self) -> NDArray[Any]:
        """What the slots of a pair begin with."""
        return np.asarray(self.layout.initial[: self.layout.slots], self.layout.dtype)

    @property
    def n_pairs(self) -> int:
        """How many pairs of feature and class there are."""
        return int(self.pairs.lengths.sum(dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = [getattr(self, name) for name in ARRAYS]
        return sum(each.nbytes for each in [*arrays, *self.pairs])

    def check_size(self, owner: str) -> None:
        """Refuse a state that has become too large."""
        if self.nbytes > self.limit_gb * 2**30:
            raise InvalidParameter(
                f"{owner}: {self.n_pairs:,} pairs of feature and class take "
                f"{self.nbytes / 2**30:.3g} GB, more than memory_limit_gb={self.limit_gb:g}; raise "
                "memory_limit_gb, or use fewer features"
            )

    # -- pairs -----------------------------------------------------------------------------------

    def packed(self, size: int) -> Self:
        """The state with its pairs one after the other, in a pool for at least `size` pairs."""
        old = self.pairs
        made = no_pairs(self.layout, old.starts.size, max(size, self.n_pairs, LEAST_POOL))
        made.lengths[:], made.starts[:], made.totals[:] = old.lengths, old.starts, old.totals
        PACK.loop(self.layout.dtype)(old, made)
        return replace(self, pairs=made)

    def grow_pool(self, rows: Any, row: int, more: int) -> None:
        """Pack the pairs into a pool in which the features of a row can have so many `more` each.

        A block that is full moves to the end of the pool, with twice its capacity.
        """
        features = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].view(np.uint32)
        lengths = self.pairs.lengths[features.astype(np.int64) + 1].astype(np.int64)
        needed = int(np.maximum(2 * lengths, lengths + more).sum())
        self.pairs = self.packed(int(SLACK * self.n_pairs) + needed).pairs

    def expanded(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The row of each pair, and where it is in the pool; by row and then by class."""
        lengths = self.pairs.lengths.astype(np.int64)
        row = np.repeat(np.arange(lengths.size), lengths)
        ends = np.cumsum(lengths)
        place = np.arange(row.size) - np.repeat(ends - lengths, lengths)
        return row, place + np.repeat(self.pairs.starts, lengths)

    def part(self, numbers: NDArray[Any]) -> State:
        """A dense state of the constant feature and of these rows of the table, in this order."""
        numbers = np.ascontiguousarray(numbers, np.int64)
        layout, columns = self.layout, self.used
        layout.check(numbers.size, columns, self.limit_gb, "a part of a sparse model")
        table = repeated(np.repeat(self.initial[:, np.newaxis], columns, axis=1), numbers.size + 1)
        counted = numbers.size + 1 if layout.counted else 0
        counts = np.zeros((counted, max(columns, 2)), np.int32)
        table[0] = self.table[0, :, :columns]
        if counted and layout.weighting == "nb":
            counts[0] = self.class_counts[0, :columns]
        elif counted:  # rows of all classes are in the first column
            counts[0, 0], counts[1:, 0] = self.pairs.totals[0, 0], self.pairs.totals[numbers, 0]
        found = counts[1:] if layout.weighting == "nb" else np.zeros((0, columns), np.int32)
        GATHER.loop(layout.dtype)(numbers, self.pairs, layout.slots, table[1:], found)
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        dense = {name: fields[name] for name in State.__dataclass_fields__}
        return State(**{**dense, "table": table, "class_counts": counts})

    def part_of(self, rows: Rows) -> tuple[State, Rows]:
        """A dense state of the features of some rows, and the rows with their numbers there."""
        size = int(rows.indptr[-1])
        features, indices = np.unique(rows.indices[:size], return_inverse=True)
        numbers = features.astype(np.int64) + 1
        return self.part(numbers), Rows(rows.indptr, indices.astype(np.int32), rows.data[:size])

    def part_table(self, numbers: NDArray[Any] | None) -> tuple[State, NDArray[np.intp]]:
        """A dense state with some rows of the table or all, and which of its rows these are."""
        wanted = np.arange(self.features + 1) if numbers is None else np.asarray(numbers)
        rows = wanted[wanted != 0]
        place = np.cumsum(wanted != 0)
        place[wanted == 0] = 0
        return self.part(rows), np.asarray(place, np.intp)

    def features_of(self, column: int) -> NDArray[np.intp]:
        """The features that a class has met."""
        row, place = self.expanded()
        return np.asarray(row[self.pairs.classes[place] == column] - 1, np.intp)

    def certainty(self, has_variance: bool) -> NDArray[Any]:
        """How certain something is of each feature: its least variance, or its largest weight."""
        row, place = self.expanded()
        values = self.pairs.values[place]
        if has_variance:
            least = np.full(self.features + 1, self.layout.initial[1], self.layout.dtype)
            np.minimum.at(least, row, values[:, 1])
            return np.asarray(-least[1:])
        largest = np.zeros(self.features + 1, self.layout.dtype)
        np.maximum.at(largest, row, np.abs(values[:, 0]))
        return largest[1:]

    # -- what every state can do -----------------------------------------------------------------

    def touched(self) -> NDArray[np.bool_]:
        """Which rows of the table learning has changed, the constant feature's first."""
        row, place = self.expanded()
        changed = (self.pairs.values[place] != self.initial).any(axis=1)
        touched = np.zeros(self.features + 1, np.bool_)
        touched[row[changed]] = True
        touched[0] = bool((self.table[0, :, : self.used] != self.initial[:, np.newaxis]).any())
        return touched

    def known(self) -> NDArray[np.bool_]:
        """Which rows have been learned or counted."""
        return np.asarray(self.touched() | (self.pairs.totals[:, 0] != 0))

    def writeable(self) -> Self:
        """The state, or a copy where its arrays are read-only, mapped from a file."""
        arrays = [*(getattr(self, name) for name in ARRAYS), *self.pairs]
        return self if all(array.flags.writeable for array in arrays) else self.copy()

    def copy(self, table: NDArray[Any] | None = None) -> Self:
        """An independent copy; `table` is for other states."""
        copies = {name: getattr(self, name).copy() for name in ARRAYS}
        return replace(self, pairs=Pairs(*(each.copy() for each in self.pairs)), **copies)

    def with_features(self, features: int, limit_gb: float = math.inf, owner: str = "") -> Self:
        """A state with at least so many features; it doubles, so that it seldom grows."""
        if features <= self.features:
            return self
        return self.resized(max(features, 2 * self.features), limit_gb, owner)

    def resized(self, features: int, limit_gb: float = math.inf, owner: str = "") -> Self:
        """The state with exactly so many features; new ones are as if never touched."""
        if features == self.features:
            return self
        old, rows = self.pairs, features + 1
        arrays = old._asdict()
        for name in ("starts", "lengths", "room", "totals"):
            have = arrays[name][:rows]
            arrays[name] = np.zeros((rows, *have.shape[1:]), have.dtype)
            arrays[name][: len(have)] = have
        made = replace(self, pairs=Pairs(**arrays))
        made.check_size(owner)
        return made

    def with_rows(self, kept: NDArray[np.intp]) -> Self:
        """A state that has these features alone, in this order, and capacity for one more."""
        rows = np.append(table_rows(kept), 0)
        arrays = self.pairs._asdict()
        for name in ("starts", "lengths", "room", "totals"):
            arrays[name] = arrays[name][rows]
            arrays[name][-1] = 0
        return replace(self, pairs=Pairs(**arrays)).packed(0)

    def trimmed(self, features: int) -> Self:
        """The state without the rows beyond so many features; pairs are not copied."""
        arrays = self.pairs._asdict()
        for name in ("starts", "lengths", "room", "totals"):
            arrays[name] = arrays[name][: features + 1]
        return replace(self, pairs=Pairs(**arrays))

    def with_columns(self, columns: int, limit_gb: float, owner: str) -> Self:
        """A state with capacity for at least so many classes; it doubles."""
        have = self.table.shape[2]
        if columns <= have:
            return self
        fresh = self.layout.allocate(0, max(columns, 2 * have))
        made = self._first_columns(fresh, slice(0, have), have)
        return replace(self, **{name: getattr(made, name) for name in _BY_CLASS})

    def without(self, column: int) -> Self:
        """The state without that class."""
        columns = self.table.shape[2]
        kept: Places = np.delete(np.arange(columns), column)
        fresh = self.layout.allocate(0, columns)
        made = self._first_columns(fresh, kept, columns - 1)
        state = replace(self, **{name: getattr(made, name) for name in _BY_CLASS})
        row, place = self.expanded()
        of_class = self.pairs.classes[place]
        if self.pairs.counts.size:
            gone = of_class == column
            state.pairs = Pairs(*(each.copy() for each in self.pairs))
            np.subtract.at(state.pairs.totals[:, 0], row[gone], self.pairs.counts[place[gone]])
            state.pairs.totals[0, 0] -= self.class_counts[0, column]
        rest = of_class != column
        values, counts = self.pairs.values[place[rest]], self.pairs.counts
        classes = of_class[rest] - (of_class[rest] > column)
        counts = counts[place[rest]] if counts.size else counts
        state.fill(row[rest], classes, values, counts)
        state.used = self.used - 1
        return state

    def fill(
        self,
        row: NDArray[Any],
        classes: NDArray[Any],
        values: NDArray[Any],
        counts: NDArray[Any],
    ) -> None:
        """Let the state have these pairs, by row and then by class, and no others."""
        made = no_pairs(self.layout, self.features + 1, max(row.size, LEAST_POOL))
        made.lengths[:] = np.bincount(row, minlength=self.features + 1)
        ends = np.cumsum(made.lengths, dtype=np.int64)
        made.starts[:], made.room[:] = ends - made.lengths, made.lengths
        made.starts[(self.pairs.starts == COMMON) & (made.lengths == 0)] = COMMON
        made.top[0] = row.size
        made.classes[: row.size], made.values[: row.size] = classes, values
        if made.counts.size:
            made.counts[: row.size] = counts
        made.totals[:] = self.pairs.totals
        self.pairs = made


_BY_CLASS = ("table", "last_changed", "class_counts", "class_tokens", "outcomes")


def fresh_sparse_state(layout: Layout, features: int, classes: int, limit_gb: float) -> SparseState:
    """A sparse state that has learned nothing, with capacity for so many features and classes."""
    dense = layout.allocate(0, max(classes, 4))
    made = SparseState(**{name: getattr(dense, name) for name in State.__dataclass_fields__})
    made.wide, made.used, made.limit_gb = True, classes, limit_gb
    made.pairs = no_pairs(layout, features + 1)
    return made


def sparse_state(state: State, limit_gb: float) -> SparseState:
    """A sparse state that goes on from a wide one: its pairs are those learned or counted."""
    layout, used = state.layout, state.used
    made = SparseState(
        **{name: getattr(state, name) for name in State.__dataclass_fields__}, limit_gb=limit_gb
    )
    made.table, made.class_counts = state.table[:1].copy(), state.class_counts[:1].copy()
    made.last_changed = state.last_changed[:1].copy()
    made.pairs = no_pairs(layout, state.features + 1)
    if layout.counted:
        totals = np.maximum(state.class_counts, 0).sum(axis=1, dtype=np.int64)
        made.pairs.totals[:, 0] = np.minimum(totals, np.iinfo(np.int32).max)
    if layout.weighting == "idf":
        made.class_counts[:] = 0
    initial = made.initial[:, np.newaxis]
    rows, classes, values, counts = [], [], [], []
    for begin in range(1, state.features + 1, _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        table = state.table[part, :, :used]
        met = (table != initial).any(axis=1)
        if layout.weighting == "nb":
            met |= state.class_counts[part, :used] != 0
        where = np.nonzero(met)
        rows.append(where[0] + begin)
        classes.append(where[1])
        values.append(table[where[0], :, where[1]])
        counts.append(state.class_counts[part][where] if layout.weighting == "nb" else where[0][:0])
    if rows:
        made.fill(*(np.concatenate(each) for each in (rows, classes, values, counts)))
    return made


def as_sparse(state: State, limit_gb: float) -> SparseState:
    """The state itself where it is sparse, else one that goes on from it."""
    return state if isinstance(state, SparseState) else sparse_state(state, limit_gb)
