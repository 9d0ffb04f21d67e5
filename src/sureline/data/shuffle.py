"""Rows in a random order, within a limit of memory; and a watch for labels in long runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.batch import Batch, Given

BATCH_BYTES = 2**20
CHUNK_BYTES = 2**24
# What a row takes besides its text: offsets, label, weight, its place in the order.
ROW_BYTES = 32


def mix(
    batches: Iterable[Batch],
    rng: np.random.RandomState,
    limit_bytes: int = 256 * 2**20,
) -> Iterator[Batch]:
    """Give the rows of `batches` in a random order.

    Where all rows fit into `limit_bytes`, their order is ``rng.permutation(n)``. Where they do
    not, a buffer of that size is filled, a random half of it is given, and it is filled again; what
    is left at the end is given in random order. The same seed gives the same order, however the
    rows are cut into batches.

    Parameters
    ----------
    batches : iterable of Batch
        The rows, all from inputs of one kind: texts, or svmlight.
    rng : numpy.random.RandomState
        Where the randomness comes from.
    limit_bytes : int, default=256 * 2**20
        How much the buffer may hold.

    Yields
    ------
    Batch
        Rows in random order, about 1 MB at a time.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from sureline.data import Batch, mix
    >>> rows = Batch(text=pa.array(["a", "b", "c"], pa.large_string()))
    >>> [mixed] = mix([rows], np.random.RandomState(0))
    >>> mixed.text.to_pylist()
    ['c', 'b', 'a']
    """
    held = _Held(max(BATCH_BYTES, min(limit_bytes // 16, CHUNK_BYTES)))
    given = 0
    for batch in batches:
        rest = batch
        while len(rest):
            # The buffer takes rows until one reaches the limit: where that is does not depend on
            # how the rows come in.
            sizes = np.cumsum(row_bytes(rest))
            fit = min(int(np.searchsorted(sizes, limit_bytes - held.size)) + 1, len(rest))
            held.add(rest.slice(0, fit), int(sizes[fit - 1]))
            rest = rest.slice(fit, len(rest))
            if held.size >= limit_bytes:
                order = rng.permutation(len(held))
                half = (len(held) + 1) // 2
                yield from held.give(order[:half], given)
                given += half
                # In the order they came in, so that each row kept stays where it lay.
                held.keep(np.sort(order[half:]))
    if len(held):
        yield from held.give(rng.permutation(len(held)), given)


class _Held:
    """Rows held in memory, as chunks, so that neither giving nor keeping some copies them all."""

    def __init__(self, chunk_bytes: int) -> None:
        self.size = 0
        self._chunk_bytes = chunk_bytes
        self._chunks: list[Batch] = []
        self._small: list[Batch] = []
        self._small_size = 0

    def __len__(self) -> int:
        return sum(map(len, self._chunks)) + sum(map(len, self._small))

    def add(self, rows: Batch, size: int) -> None:
        """Hold some more rows, which take `size` bytes."""
        self.size += size
        self._small.append(rows)
        self._small_size += size
        if self._small_size >= self._chunk_bytes:
            self._close()

    def _close(self) -> None:
        """Make one chunk of the small batches."""
        if self._small:
            self._chunks.append(concatenate(self._small))
        self._small, self._small_size = [], 0

    def give(self, order: NDArray[np.int64], given: int) -> Iterator[Batch]:
        """The rows at `order`, about 1 MB at a time."""
        self._close()
        sizes = np.concatenate([row_bytes(chunk) for chunk in self._chunks])
        starts = np.concatenate(([0], np.cumsum([len(chunk) for chunk in self._chunks])))
        ends = np.cumsum(sizes[order])
        start = 0
        while start < len(order):
            before = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, before + BATCH_BYTES, side="right")), start + 1)
            rows = self._take(order[start:stop], starts)
            yield replace(rows, source="mixed rows", first_row=given + start)
            start = stop

    def _take(self, rows: NDArray[np.int64], starts: NDArray[np.int64]) -> Batch:
        """The rows at `rows`, from all chunks."""
        by_place = np.argsort(rows, kind="stable")
        places = rows[by_place]
        cuts = np.searchsorted(places, starts)
        taken = concatenate(
            [
                chunk.take(places[low:high] - start)
                for chunk, start, low, high in zip(
                    self._chunks, starts[:-1], cuts[:-1], cuts[1:], strict=True
                )
                if high > low
            ]
        )
        back = np.empty(len(rows), np.int64)
        back[by_place] = np.arange(len(rows))
        return taken.take(back)

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Hold on to these rows alone, which are sorted."""
        self._close()
        chunks, self._chunks, self.size, start = self._chunks[::-1], [], 0, 0
        while chunks:
            chunk = chunks.pop()
            low, high = np.searchsorted(rows, (start, start + len(chunk)))
            kept = chunk.take(rows[low:high] - start)
            if len(kept):
                self.add(kept, int(row_bytes(kept).sum()))
            start += len(chunk)


def row_bytes(batch: Batch) -> NDArray[np.int64]:
    """How much memory each row takes, about; the same however the rows were cut."""
    sizes = np.full(len(batch), ROW_BYTES, np.int64)
    if batch.text is not None:
        sizes += np.diff(text_offsets(batch.text))
    if batch.matrix is not None:
        sizes += np.diff(batch.matrix.indptr) * 12
    if batch.given is not None:
        at = batch.given.offsets
        sizes += np.diff(text_offsets(batch.given.names)[at]) + np.diff(at) * 12
    if batch.label is not None and pa.types.is_large_string(batch.label.type):
        sizes += np.diff(text_offsets(batch.label))
    return sizes


def text_offsets(array: pa.LargeStringArray) -> NDArray[np.int64]:
    """The n + 1 offsets of an array of strings, as they stand in its buffer."""
    if not len(array):
        return np.zeros(1, np.int64)
    every = np.frombuffer(array.buffers()[1], np.int64)
    return every[array.offset : array.offset + len(array) + 1]


def concatenate(batches: list[Batch]) -> Batch:
    """The rows of several batches as one.

    Parameters
    ----------
    batches : list of Batch
        At least one; all with texts, or all with a matrix. Other columns (`table`) are kept only
        where all batches have the same ones.
    """
    first = batches[0]
    if len(batches) == 1:
        return first
    tables = [batch.table for batch in batches]
    schemas = {None if each is None else each.schema for each in tables}
    return Batch(
        text=None if first.text is None else pa.concat_arrays([b.text for b in batches]),
        matrix=None if first.matrix is None else _stack([b.matrix for b in batches]),
        given=_join([(b.given, len(b)) for b in batches]),
        label=None if first.label is None else pa.concat_arrays([b.label for b in batches]),
        weight=_weights(batches),
        source=first.source,
        first_row=first.first_row,
        table=pa.concat_batches(tables) if len(schemas) == 1 and None not in schemas else None,
    )


def _weights(batches: list[Batch]) -> NDArray[np.float64] | None:
    """All weights; rows without one count 1."""
    if all(batch.weight is None for batch in batches):
        return None
    return np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in batches])


def _stack(matrices: list[Any]) -> Any:
    """Sparse rows one below the other, as wide as the widest."""
    from scipy.sparse import csr_array

    starts = np.cumsum([0] + [m.nnz for m in matrices])
    ends = [m.indptr[1:] + at for m, at in zip(matrices, starts[:-1], strict=True)]
    indptr = np.concatenate([[0], *ends])
    shape = (sum(m.shape[0] for m in matrices), max(m.shape[1] for m in matrices))
    data = np.concatenate([m.data for m in matrices])
    indices = np.concatenate([m.indices for m in matrices])
    return csr_array((data, indices, indptr), shape=shape)


def _join(parts: list[tuple[Given | None, int]]) -> Given | None:
    """Given features of several batches as one; rows of a batch without any have none."""
    if all(given is None for given, _ in parts):
        return None
    offsets, names, values, at = [np.zeros(1, np.int64)], [], [], 0
    for given, rows in parts:
        if given is None:
            offsets.append(np.full(rows, at, np.int64))
            continue
        offsets.append(given.offsets[1:] - given.offsets[0] + at)
        at = int(offsets[-1][-1]) if rows else at
        names.append(given.names)
        values.append(given.values)
    return Given(np.concatenate(offsets), pa.concat_arrays(names), np.concatenate(values))


@dataclass
class LongestRun:
    """Watches labels going by: how many there were, and the longest run of equal ones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sureline.data import LongestRun
    >>> watch = LongestRun()
    >>> watch.see(pa.array(["ham", "ham", "spam"]))
    >>> watch.see(pa.array(["spam", "spam"]))
    >>> watch.rows, watch.length, watch.label
    (5, 3, 'spam')
    """

    rows: int = 0
    length: int = 0
    label: Any = None
    _last: Any = field(default=None, repr=False)
    _open: int = field(default=0, repr=False)

    def see(self, labels: pa.Array | None) -> None:
        """Watch some more labels.

        Parameters
        ----------
        labels : pyarrow.Array or None
            The labels of the next rows; None, or an empty array, changes nothing.
        """
        if labels is None or not len(labels):
            return
        self.rows += len(labels)
        import pyarrow.compute as pc

        runs = pc.run_end_encode(labels)
        ends = np.asarray(runs.run_ends.to_numpy(zero_copy_only=False), np.int64)
        lengths = np.diff(ends, prepend=0)
        values = runs.values
        if self._open and values[0].as_py() == self._last:
            lengths[0] += self._open
        longest = int(np.argmax(lengths))
        if lengths[longest] > self.length:
            self.length, self.label = int(lengths[longest]), values[longest].as_py()
        self._last, self._open = values[len(values) - 1].as_py(), int(lengths[-1])

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Give on `batches` unchanged and watch their labels.

        Parameters
        ----------
        batches : iterable of Batch
            The rows to watch.
        """
        for batch in batches:
            self.see(batch.label)
            yield batch
