"""Sparse rows in the one form that the kernels take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sureline.kernels import arguments

ROW_COST = 16  # what a row costs besides its nonzeros, in nonzeros


class Rows(arguments.Rows):
    """CSR rows: int64 starts, int32 feature numbers (distinct within a row) and values."""

    __slots__ = ()

    def __len__(self) -> int:
        """The number of rows."""
        return self.indptr.size - 1

    def part(self, start: int, stop: int) -> Rows:
        """Consecutive rows, without copying them."""
        return Rows(self.indptr[start : stop + 1], self.indices, self.data)

    def first(self, count: int) -> Rows:
        """The first rows, without copying them; the same object where these are all."""
        return self if count == self.indptr.size - 1 else self.part(0, count)

    def take(self, numbers: NDArray[np.intp]) -> Rows:
        """Some of the rows, in the order of `numbers`."""
        width = int(self.indices.max(initial=-1)) + 1
        matrix = scipy.sparse.csr_array(
            (self.data, self.indices, self.indptr), shape=(len(self), width)
        )[numbers]
        return Rows(
            np.ascontiguousarray(matrix.indptr, np.int64),
            np.ascontiguousarray(matrix.indices, np.int32),
            np.ascontiguousarray(matrix.data),
        )

    def chunks(self, limit: float) -> list[slice]:
        """Chunks of consecutive rows with about `limit` nonzeros each, at least one row."""
        if len(self) == 1:
            return [slice(0, 1)]
        return list(cut(self.indptr + ROW_COST * np.arange(len(self) + 1), limit))


class DenseRows:
    """Rows of a dense matrix, for loops that multiply whole blocks; others take them as `Rows`."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        self.matrix = np.ascontiguousarray(matrix)
        self._numbers = np.zeros(0, np.int32)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.matrix)

    @property
    def longest(self) -> int:
        """The number of features."""
        return int(self.matrix.shape[1])

    def part(self, start: int, stop: int) -> DenseRows:
        """Consecutive rows, without copying them."""
        return DenseRows(self.matrix[start:stop])

    def chunks(self, limit: float) -> list[slice]:
        """As those of `Rows`."""
        sizes = np.arange(len(self) + 1) * (self.longest + ROW_COST)
        return list(cut(sizes, limit))

    def block(self, order: NDArray[np.int64]) -> tuple[NDArray[Any], Rows]:
        """Some rows as a matrix and as rows with all features; consecutive ones are not copied."""
        first, count, width = order.item(0), order.size, self.longest
        consecutive = np.array_equal(order, np.arange(first, first + count))
        matrix = self.matrix[first : first + count] if consecutive else self.matrix[order]
        if self._numbers.size < count * width:
            self._numbers = np.tile(np.arange(width, dtype=np.int32), count)
        indptr = np.arange(count + 1, dtype=np.int64) * width
        return matrix, Rows(indptr, self._numbers[: count * width], matrix.ravel())


def cut(sizes: NDArray[np.int64], limit: float) -> Iterator[slice]:
    """Chunks of consecutive items of about so much size each, at least one item.

    `sizes` has the size of all items before each, and that of all.
    """
    begin, total = 0, sizes.size - 1
    while begin < total:
        stop = int(np.searchsorted(sizes, sizes[begin] + limit, side="right")) - 1
        stop = min(max(stop, begin + 1), total)
        yield slice(begin, stop)
        begin = stop
