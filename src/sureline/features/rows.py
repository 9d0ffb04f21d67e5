"""Sparse rows in the one form that the kernels take."""

from __future__ import annotations

from collections.abc import Iterator

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
