"""The door for numbers: any matrix scikit-learn accepts becomes sparse rows of one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sureline.errors import DataError
from sureline.features.rows import Rows


def as_rows(X: Any) -> Rows:
    """`X`, a checked dense or CSR matrix, as sorted sparse rows; it is left alone itself."""
    if X.shape[1] >= 2**31 - 1:
        raise DataError(f"X has {X.shape[1]:,} features; sureline numbers them up to 2^31 - 2")
    if isinstance(X, np.ndarray):
        if X.all():  # SciPy would look for the zeros of every row
            return _full_rows(X)
        X = scipy.sparse.csr_array(X)
    elif not _within(X.indices, X.shape[1]):
        raise DataError(
            f"X is a damaged sparse matrix: column numbers run from {X.indices.min()} to "
            f"{X.indices.max()}, but it has {X.shape[1]} columns"
        )
    elif not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return Rows(
        np.ascontiguousarray(X.indptr, np.int64),
        np.ascontiguousarray(X.indices, np.int32),
        np.ascontiguousarray(X.data),
    )


def _within(indices: NDArray[Any], width: int) -> bool:
    """Whether all column numbers are there; without its sign, a negative one is too large."""
    return bool(indices.view(f"u{indices.itemsize}").max(initial=0) < max(width, 1))


def _full_rows(X: NDArray[Any]) -> Rows:
    """A dense matrix without zeros, whose numbers are not copied if they stand row by row."""
    count, width = X.shape
    return Rows(
        np.arange(count + 1, dtype=np.int64) * width,
        np.tile(np.arange(width, dtype=np.int32), count),
        np.ascontiguousarray(X).ravel(),
    )
