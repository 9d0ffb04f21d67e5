"""The door for numbers: any matrix scikit-learn accepts becomes sparse rows of one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from sureline.errors import DataError
from sureline.features.rows import Rows
from sureline.kernels.row_check import LOOK_AT_ROWS


def as_rows(X: Any) -> Rows:
    """`X`, a checked dense or CSR matrix, as sorted sparse rows; it is left alone itself.

    Sparse numbers need not have been found finite before.
    """
    if X.shape[1] >= 2**31 - 1:
        raise DataError(f"X has {X.shape[1]:,} features; sureline numbers them up to 2^31 - 2")
    if isinstance(X, np.ndarray):
        if X.all():  # SciPy would look for the zeros of every row
            return _full_rows(X)
        X = scipy.sparse.csr_array(X)
    else:
        zeros, finite, width = _look_at(X)
        if width > X.shape[1]:
            raise DataError(
                f"X is a damaged sparse matrix: column numbers run from {X.indices.min()} to "
                f"{X.indices.max()}, but it has {X.shape[1]} columns"
            )
        if not finite:
            assert_all_finite(X.data, input_name="X")
        if zeros or not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
    return Rows(
        np.ascontiguousarray(X.indptr, np.int64),
        np.ascontiguousarray(X.indices, np.int32),
        np.ascontiguousarray(X.data),
    )


def _look_at(X: Any) -> tuple[bool, bool, int]:
    """Whether a CSR matrix has zeros, whether its numbers are finite, and how many columns."""
    indices, data = np.ascontiguousarray(X.indices), np.ascontiguousarray(X.data)
    if indices.itemsize == 4:
        found: tuple[bool, bool, int] = LOOK_AT_ROWS.compiled(data.dtype.name)(
            indices.view(np.uint32), data
        )
        return found
    width = int(indices.view(np.uint64).max(initial=0)) + (indices.size > 0)
    return not data.all(), bool(np.isfinite(data).all()), width


def _full_rows(X: NDArray[Any]) -> Rows:
    """A dense matrix without zeros, whose numbers are not copied if they stand row by row."""
    count, width = X.shape
    return Rows(
        np.arange(count + 1, dtype=np.int64) * width,
        np.tile(np.arange(width, dtype=np.int32), count),
        np.ascontiguousarray(X).ravel(),
    )
