"""The floor: loops that read every row and every weight it touches, and learn nothing."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from benchmarks.rivals.data import Rows
from benchmarks.rivals.entries import Entry

from sureline.kernels.positions import row_at
from sureline.kernels.prefetch import prefetch

NAME = "read-only floor"
AHEAD = 48  # nonzeros


def missing() -> str:
    """Nothing to say: Numba is at hand."""
    return ""


def version() -> str:
    """The compiler's version."""
    return f"Numba {numba.__version__}"


@numba.njit(nogil=True, fastmath=True)
def sweep(indptr: Any, indices: Any, data: Any, weights: Any) -> Any:
    """The sum of all rows' scores, from one weight per feature."""
    total = np.float32(0.0)
    for i in range(indptr.size - 1):
        score = np.float32(0.0)
        start, stop = row_at(indptr, i)
        for k in range(start, stop):
            score += weights[np.uint32(indices[k])] * data[k]
        total += score
    return total


@numba.njit(nogil=True, fastmath=True)
def sweep_ahead(indptr: Any, indices: Any, data: Any, weights: Any) -> Any:
    """The same, asking for weights before they are needed."""
    total, last = np.float32(0.0), indices.size - 1
    for i in range(indptr.size - 1):
        score = np.float32(0.0)
        start, stop = row_at(indptr, i)
        for k in range(start, stop):
            prefetch(weights, indices[min(k + AHEAD, last)])
            score += weights[np.uint32(indices[k])] * data[k]
        total += score
    return total


@numba.njit(nogil=True, fastmath=True)
def sweep_pairs(indptr: Any, indices: Any, data: Any, pairs: Any) -> Any:
    """The same for two adjacent numbers per feature, a mean and a variance."""
    total, last = np.float32(0.0), indices.size - 1
    for i in range(indptr.size - 1):
        score, spread = np.float32(0.0), np.float32(0.0)
        start, stop = row_at(indptr, i)
        for k in range(start, stop):
            prefetch(pairs, indices[min(k + AHEAD, last)])
            j, x = np.uint32(indices[k]), data[k]
            score += pairs[j, 0] * x
            spread += pairs[j, 1] * x * x
        total += score + spread
    return total


def sparse(rows: Rows) -> list[Entry]:
    """All sweeps over the rows; the fastest is the floor."""
    X, features = rows.X, rows.X.shape[1]
    weights = np.ones(features, np.float32)
    pairs = np.ones((features, 2), np.float32)
    return [
        Entry(
            "sweep over weights",
            "reads each row and one weight per feature; learns nothing",
            lambda: sweep(X.indptr, X.indices, X.data, weights),
            tag="weights",
        ),
        Entry(
            "sweep over weights, prefetched",
            "the same, with weights prefetched; learns nothing",
            lambda: sweep_ahead(X.indptr, X.indices, X.data, weights),
            tag="ahead",
        ),
        Entry(
            "sweep over means and variances",
            "reads each row and two adjacent numbers per feature, prefetched; learns nothing",
            lambda: sweep_pairs(X.indptr, X.indices, X.data, pairs),
            tag="pairs",
        ),
    ]
