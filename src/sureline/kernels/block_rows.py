"""Dense blocks of rows, for products with full covariances, and what these lose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sureline.kernels.arguments import Examples, Rows, array, examples, f8, flag, given, i8, rows
from sureline.kernels.class_columns import rank_rivals
from sureline.kernels.compiling import Kernel

TILE = 32  # columns of Σ that are mirrored together


def mark_features(rows: Rows, order: Any, marked: Any) -> None:
    """Mark the features that rows have, by their numbers in the table."""
    for i in order:
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            marked[rows.indices[e] + 1] = True


def fill_rows(rows: Rows, order: Any, constant: float, numbers: Any, out: Any) -> None:
    """Write rows into a dense matrix, the constant feature first and others by their `numbers`."""
    for at in range(order.size):
        i, row = order[at], out[at]
        start, width = rows.indptr[i], rows.indptr[i + 1] - rows.indptr[i]
        row[0] = constant
        complete = width == row.size - 1
        if complete:  # nearly always in order, which copies much faster
            for j in range(width):
                complete &= rows.indices[start + j] == j
        if complete:
            for j in range(width):
                row[j + 1] = rows.data[start + j]
        else:
            row[1:] = 0.0
            for e in range(start, start + width):
                row[numbers[rows.indices[e] + 1]] = rows.data[e]


def expect_rivals(
    examples: Examples, known: int, competitors: int, scores: Any, begin: int, expected: Any
) -> None:
    """Mark for each row of a block from `begin` on its class, and the strongest others by now."""
    left, rivals = np.empty(scores.shape[1]), np.empty(scores.shape[1], np.int64)
    for at in range(begin, expected.shape[1]):
        y = examples.codes[examples.order[at]]
        known = max(known, y + 1)
        if known > 1:
            some = rivals[: min(competitors, known - 1)]
            rank_rivals(scores[at, :known], examples.rank, y, some, left)
            expected[y, at] = True
            for r in some:
                expected[r, at] = True


def subtract_panel(covariance: Any, panel: Any, start: int, floor: float) -> None:
    """Take a panel of WᵀW from Σ, rows and columns from `start` on, and so its mirror image.

    No variance falls below `floor`.
    """
    rows, size = panel.shape[0], covariance.shape[0]
    for begin in range(start, size, TILE):
        stop = min(begin + TILE, size)
        for i in range(rows):
            row, taken = covariance[start + i], panel[i]
            for j in range(max(begin, start + i), stop):
                row[j] -= taken[j - start]
        for i in range(rows):
            row = covariance[start + i]
            for j in range(max(begin, start + i + 1), stop):
                covariance[j, start + i] = row[j]
    for i in range(start, start + rows):
        covariance[i, i] = max(covariance[i, i], floor)


def symmetrize(matrix: Any) -> None:
    """Make a matrix, which is symmetric but for rounding, symmetric to the bit."""
    size = matrix.shape[0]
    for begin in range(0, size, TILE):
        for other in range(begin, size, TILE):
            for i in range(begin, min(begin + TILE, size)):
                for j in range(max(other, i + 1), min(other + TILE, size)):
                    matrix[i, j] = matrix[j, i] = 0.5 * (matrix[i, j] + matrix[j, i])


MARK_FEATURES = Kernel(mark_features, lambda real: types.void(rows(real), given(i8), array(flag)))
FILL_ROWS = Kernel(
    fill_rows, lambda real: types.void(rows(real), given(i8), f8, given(i8), array(f8, 2))
)
EXPECT_RIVALS = Kernel(
    expect_rivals,
    lambda real: types.void(examples(real), i8, i8, given(f8, 2), i8, array(flag, 2)),
    allocates=True,
)
SUBTRACT_PANEL = Kernel(subtract_panel, lambda _: types.void(array(f8, 2), given(f8, 2), i8, f8))
SYMMETRIZE = Kernel(symmetrize, lambda _: types.void(array(f8, 2)))
