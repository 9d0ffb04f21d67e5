"""The door for numbers: any matrix scikit-learn accepts becomes sparse rows of one form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sureline.errors import DataError


class Rows(NamedTuple):
    """Sparse rows: int64 starts, int32 feature numbers (sorted, distinct) and nonzero values."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[Any]

    def __len__(self) -> int:
        """The number of rows."""
        return self.indptr.size - 1

    @property
    def longest(self) -> int:
        """The number of nonzeros in the fullest row."""
        return int(np.diff(self.indptr).max(initial=0))

    def part(self, start: int, stop: int) -> Rows:
        """Neighbouring rows, without copying them."""
        return Rows(self.indptr[start : stop + 1], self.indices, self.data)

    def take(self, numbers: NDArray[np.intp]) -> Rows:
        """Some of the rows, in the order of `numbers`."""
        width = int(self.indices.max(initial=-1)) + 1
        matrix = scipy.sparse.csr_array(
            (self.data, self.indices, self.indptr), shape=(len(self), width)
        )
        return as_rows(matrix[numbers])


def as_rows(X: Any) -> Rows:
    """`X`, a checked dense or CSR matrix, as sparse rows; the caller's arrays are left alone."""
    if X.shape[1] >= 2**31 - 1:
        raise DataError(f"X has {X.shape[1]:,} features; sureline numbers them up to 2^31 - 2")
    if isinstance(X, np.ndarray):
        X = scipy.sparse.csr_array(X)
    elif X.indices.size and not (X.indices.min() >= 0 and X.indices.max() < X.shape[1]):
        raise DataError(
            f"X is a damaged sparse matrix: column numbers run from {X.indices.min()} to "
            f"{X.indices.max()}, but it has {X.shape[1]} columns"
        )
    elif not X.has_canonical_format or np.count_nonzero(X.data) != X.data.size:
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return Rows(
        np.ascontiguousarray(X.indptr, np.int64),
        np.ascontiguousarray(X.indices, np.int32),
        np.ascontiguousarray(X.data),
    )
