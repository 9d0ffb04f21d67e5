"""Shuffling rows within a memory limit, and noticing labels that come in long runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.arrow_arrays import is_list
from sureline.data.batch import Batch, concatenate, split_sizes

_BATCH_BYTES = 2**20
_CHUNK_BYTES = 2**24


def shuffle_rows(
    batches: Iterable[Batch],
    rng: np.random.RandomState,
    limit_bytes: int = 256 * 2**20,
) -> Iterator[Batch]:
    """Yield the rows of `batches` in random order.

    If all rows fit into `limit_bytes`, their order is ``rng.permutation(n)``. If not, a buffer of
    that size is filled, a random half of it is yielded, and it is filled again; the rest is yielded
    in random order at the end. The same seed gives the same order, however the rows are batched.

    Parameters
    ----------
    batches : iterable of Batch
        The rows, all with texts or all with a matrix.
    rng : numpy.random.RandomState
        The random number generator.
    limit_bytes : int, default=256 * 2**20
        The size of the buffer.

    Yields
    ------
    Batch
        Rows in random order, about 1 MB at a time.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from sureline.data import Batch, shuffle_rows
    >>> rows = Batch(text=pa.array(["a", "b", "c"], pa.large_string()))
    >>> [shuffled] = shuffle_rows([rows], np.random.RandomState(0))
    >>> shuffled.text.to_pylist()
    ['c', 'b', 'a']
    """
    buffer = _ShuffleBuffer(max(_BATCH_BYTES, min(limit_bytes // 16, _CHUNK_BYTES)))
    yielded = 0
    for batch in batches:
        rest = batch
        while len(rest):
            # The buffer takes rows until one reaches the limit: which one does not depend on how
            # the rows are batched.
            sizes = np.cumsum(rest.row_bytes)
            fit = min(int(np.searchsorted(sizes, limit_bytes - buffer.size)) + 1, len(rest))
            buffer.add(rest.slice(0, fit), int(sizes[fit - 1]))
            rest = rest.slice(fit, len(rest))
            if buffer.size >= limit_bytes:
                order = rng.permutation(len(buffer))
                half = (len(buffer) + 1) // 2
                yield from buffer.take(order[:half], yielded)
                yielded += half
                # Sorted: the rows that stay keep their order of arrival.
                buffer.keep(np.sort(order[half:]))
    if len(buffer):
        yield from buffer.take(rng.permutation(len(buffer)), yielded)


class _ShuffleBuffer:
    """Rows in memory, in chunks, so that neither taking nor keeping some copies all of them."""

    def __init__(self, chunk_bytes: int) -> None:
        self.size = 0
        self._chunk_bytes = chunk_bytes
        self._chunks: list[Batch] = []
        self._open: list[Batch] = []
        self._open_size = 0

    def __len__(self) -> int:
        return sum(map(len, self._chunks)) + sum(map(len, self._open))

    def add(self, rows: Batch, size: int) -> None:
        """Add rows, which take `size` bytes."""
        self.size += size
        self._open.append(rows)
        self._open_size += size
        if self._open_size >= self._chunk_bytes:
            self._close_chunk()

    def _close_chunk(self) -> None:
        if self._open:
            self._chunks.append(concatenate(self._open))
        self._open, self._open_size = [], 0

    def take(self, order: NDArray[np.int64], first_row: int) -> Iterator[Batch]:
        """The rows at `order`, about 1 MB at a time."""
        self._close_chunk()
        sizes = np.concatenate([chunk.row_bytes for chunk in self._chunks])
        for start, stop in split_sizes(sizes[order], _BATCH_BYTES):
            rows = self._take(order[start:stop])
            yield replace(rows, source="shuffled rows", first_row=first_row + start)

    def _take(self, rows: NDArray[np.int64]) -> Batch:
        """The rows at `rows`, from all chunks."""
        starts = np.concatenate(([0], np.cumsum([len(chunk) for chunk in self._chunks])))
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        cuts = np.searchsorted(ascending, starts)
        taken = concatenate(
            [
                chunk.take(ascending[low:high] - start)
                for chunk, start, low, high in zip(
                    self._chunks, starts[:-1], cuts[:-1], cuts[1:], strict=True
                )
                if high > low
            ]
        )
        inverse = np.empty(len(rows), np.int64)
        inverse[order] = np.arange(len(rows))
        return taken.take(inverse)

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep only these rows, which are sorted."""
        self._close_chunk()
        chunks, self._chunks, self.size, start = self._chunks[::-1], [], 0, 0
        while chunks:  # each chunk is freed before the next one is copied
            chunk = chunks.pop()
            low, high = np.searchsorted(rows, (start, start + len(chunk)))
            kept = chunk.take(rows[low:high] - start)
            if len(kept):
                self.add(kept, int(kept.row_bytes.sum()))
            start += len(chunk)


@dataclass
class LongestRun:
    """The longest run of equal labels among those seen.

    Parameters
    ----------
    rows : int
        How many labels have been seen.
    length : int
        The length of the longest run.
    label : object
        The label of the longest run.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sureline.data import LongestRun
    >>> longest = LongestRun()
    >>> longest.update(pa.array(["ham", "ham", "spam"]))
    >>> longest.update(pa.array(["spam", "spam"]))
    >>> longest.rows, longest.length, longest.label
    (5, 3, 'spam')
    """

    rows: int = 0
    length: int = 0
    label: Any = None
    _last: Any = field(default=None, repr=False)
    _last_length: int = field(default=0, repr=False)

    def update(self, labels: pa.Array | None) -> None:
        """See some more labels.

        Parameters
        ----------
        labels : pyarrow.Array or None
            The labels of the next rows; None, or an empty array, changes nothing.
        """
        if labels is None or not len(labels) or is_list(labels.type):
            return
        self.rows += len(labels)
        runs = pc.run_end_encode(labels)
        ends = np.asarray(runs.run_ends.to_numpy(zero_copy_only=False), np.int64)
        lengths = np.diff(ends, prepend=0)
        values = runs.values
        if self._last_length and values[0].as_py() == self._last:
            lengths[0] += self._last_length
        longest = int(np.argmax(lengths))
        if lengths[longest] > self.length:
            self.length, self.label = int(lengths[longest]), values[longest].as_py()
        self._last, self._last_length = values[len(values) - 1].as_py(), int(lengths[-1])

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield `batches` unchanged and see their labels.

        Parameters
        ----------
        batches : iterable of Batch
            The rows.
        """
        for batch in batches:
            self.update(batch.label)
            yield batch
