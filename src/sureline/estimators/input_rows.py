"""Input of numbers: any matrix that scikit-learn accepts becomes sparse rows of one form."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import Any, cast

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_array, check_non_negative, validate_data

from sureline.data.conversion import SEVERAL, check_not_missing
from sureline.errors import DataError, show
from sureline.features.rows import DenseRows, Rows
from sureline.kernels.row_check import COUNT_NONZEROS, LOOK_AT_ROWS, TAKE_NONZEROS
from sureline.model.device import to_host

NO_LABELS = "no_validation"  # scikit-learn's word for rows without labels


def validate_rows(estimator: Any, X: Any, y: Any = NO_LABELS, reset: bool = False) -> Any:
    """X, or X and y, as scikit-learn validates them: numbers of the estimator's dtype, or an error.

    With ``reset=True`` this is the estimator's first input, which sets the number and the names of
    its features. Sparse numbers need not be finite: `as_rows` checks them.
    """
    X, y = on_host(X), on_host(y)
    unlabelled = type(y) is str
    if not unlabelled and getattr(getattr(y, "dtype", None), "kind", "O") == "O":
        _check_one_each(estimator, y)
    if not reset and _is_valid(estimator, X) and (unlabelled or _are_labels(y, X)):
        return X if unlabelled else (X, y)
    if not unlabelled:
        check_not_missing(y)
    with np.errstate(over="ignore"):  # a number too large for float32 becomes an error anyway
        checked = not scipy.sparse.issparse(X) or cast(Any, X).dtype != estimator.dtype
        return validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr",
            dtype=estimator.dtype,
            reset=reset,
            ensure_all_finite=checked,
        )


def on_host(value: Any) -> Any:
    """An array of CuPy, PyTorch or another library of the array API as NumPy's; others as given."""
    if isinstance(value, np.ndarray) or not (
        hasattr(value, "__dlpack__") and hasattr(value, "shape")
    ):
        return value
    return to_host(value)


def _check_one_each(estimator: Any, y: Any) -> None:
    """Raise a DataError at the first row of y that has several labels."""
    if isinstance(y, pa.Array | pa.ChunkedArray):
        y = y.to_pylist() if pa.types.is_nested(y.type) else []
    elif getattr(y, "ndim", 1) != 1 or not isinstance(y, Collection):
        return
    kinds = {kind for kind in set(map(type, y)) if issubclass(kind, SEVERAL)}
    # scikit-learn takes a column, and warns of it.
    if not kinds or all(isinstance(each, list | tuple) and len(each) == 1 for each in y):
        return
    row, value = next((row, each) for row, each in enumerate(y) if type(each) in kinds)
    raise DataError(
        f"{type(estimator).__name__}: row {row}: y must be one label per row, got {show(value)}"
    )


def _is_valid(estimator: Any, X: Any) -> bool:
    """Whether X is as scikit-learn would return it, so that one row can skip its slow checks."""
    return bool(
        type(X) in (scipy.sparse.csr_array, scipy.sparse.csr_matrix)
        and X.dtype == estimator.dtype
        and X.shape[0]
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def _are_labels(y: Any, X: Any) -> bool:
    """Whether y is an array of one whole number or one string per row."""
    return bool(type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "iubU")


def validate_weights(
    sample_weight: ArrayLike | None, n: int, allow_zero: bool = False
) -> NDArray[np.float64]:
    """The weights of n examples: finite and at least 0; not all 0, unless that is allowed."""
    if sample_weight is None:
        return np.ones(n)
    sample_weight = on_host(sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    weight: NDArray[np.float64] = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        order="C",
        input_name="sample_weight",
    )
    check_non_negative(weight, "`sample_weight`")
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if not allow_zero and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def with_unknown(model: Any, rows: Rows) -> tuple[Any, Rows]:
    """A model that has capacity for all features of some rows, and the rows for it.

    The features that it does not know get the next numbers, however large theirs are. They count as
    in a model that has learned nothing: they move no score and make it less certain.
    """
    known = model.n_features
    unknown = rows.indices >= known
    if not unknown.any():
        return model, rows
    new, places = np.unique(rows.indices[unknown], return_inverse=True)
    indices = rows.indices.copy()
    indices[unknown] = known + places
    return model.padded(known + new.size), Rows(rows.indptr, indices, rows.data)


def as_rows(X: Any) -> Rows:
    """X, a validated dense or CSR matrix, as sorted sparse rows; X itself is not modified.

    Sparse numbers need not have been checked to be finite.
    """
    if X.shape[1] >= 2**31 - 1:
        raise DataError(f"X has {X.shape[1]:,} features; sureline numbers them up to 2^31 - 2")
    if isinstance(X, np.ndarray):
        if X.all():  # SciPy would look for the zeros of every row
            return _dense_rows(X)
        return _sparse_rows(np.ascontiguousarray(X))
    zeros, finite, width = _check(X)
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


def as_dense(X: Any) -> Any:
    """X as dense rows if it is a dense matrix, otherwise as `as_rows`."""
    if isinstance(X, np.ndarray) and X.shape[1] < 2**31 - 1:
        return DenseRows(X)
    return as_rows(X)


def _check(X: Any) -> tuple[bool, bool, int]:
    """Whether a CSR matrix has zeros, whether its numbers are finite, and its width."""
    indices, data = np.ascontiguousarray(X.indices), np.ascontiguousarray(X.data)
    if indices.itemsize == 4:
        found: tuple[bool, bool, int] = LOOK_AT_ROWS.compiled(data.dtype.name)(
            indices.view(np.uint32), data
        )
        return found
    width = int(indices.view(np.uint64).max(initial=0)) + (indices.size > 0)
    return not data.all(), bool(np.isfinite(data).all()), width


def _sparse_rows(X: NDArray[Any]) -> Rows:
    """A dense matrix without its zeros, many times faster than SciPy makes it."""
    indptr = np.empty(len(X) + 1, np.int64)
    COUNT_NONZEROS.compiled(X.dtype.name)(X, indptr)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], X.dtype)
    TAKE_NONZEROS.compiled(X.dtype.name)(X, indptr, indices, data)
    return Rows(indptr, indices, data)


def _dense_rows(X: NDArray[Any]) -> Rows:
    """A dense matrix without zeros; its numbers are not copied if they are in row order."""
    count, width = X.shape
    return Rows(
        np.arange(count + 1, dtype=np.int64) * width,
        np.tile(np.arange(width, dtype=np.int32), count),
        np.ascontiguousarray(X).ravel(),
    )
