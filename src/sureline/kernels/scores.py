"""Scores of rows and their deviations, from the table of means and variances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Rows, array, f8, given, rows
from sureline.kernels.compiling import Kernel
from sureline.kernels.positions import entry_at, row_at

# Outside these a variance is summed again from values scaled by the largest of their row.
SMALL, LARGE = 1e-200, 1e200


def score(rows: Rows, table: Any, constant: float, shift: float, out: Any) -> None:
    """The scores of every row, by column: slot 0 and, with a `shift`, that times slot 1."""
    indptr, indices, data = rows
    for i in range(out.shape[0]):
        for slot in range(2 if shift != 0.0 else 1):
            factor = shift if slot == 1 else 1.0
            for column in range(out.shape[1]):
                first = factor * constant * np.float64(table[0, slot, column])
                out[i, column] = first if slot == 0 else out[i, column] + first
            start, stop = row_at(indptr, i)
            for k in range(start, stop):
                kept, x = table[entry_at(indices, k), slot], factor * np.float64(data[k])
                for column in range(out.shape[1]):
                    out[i, column] += kept[column] * x


def score_one(rows: Rows, table: Any, constant: float, shift: float, out: Any) -> None:
    """As `score` for one column, whose sums stay in registers."""
    indptr, indices, data = rows
    for i in range(out.shape[0]):
        total = constant * np.float64(table[0, 0, 0])
        gathered = 0.0
        if shift == 0.0:
            start, stop = row_at(indptr, i)
            for k in range(start, stop):
                total += table[entry_at(indices, k), 0, 0] * np.float64(data[k])
        else:
            gathered = constant * np.float64(table[0, 1, 0])
            start, stop = row_at(indptr, i)
            for k in range(start, stop):
                j, x = entry_at(indices, k), np.float64(data[k])
                total += table[j, 0, 0] * x
                gathered += table[j, 1, 0] * x
        out[i, 0] = total + shift * gathered


@register_jitable
def largest(start: int, stop: int, data: Any, constant: float) -> float:
    """The largest absolute value of a row."""
    size = constant
    for k in range(start, stop):
        size = max(size, abs(np.float64(data[k])))
    return size


def spread(rows: Rows, table: Any, constant: float, deviation: Any) -> None:
    """The deviation of every row's scores, by column, also where its square underflows."""
    indptr, indices, data = rows
    for i in range(deviation.shape[0]):
        start, stop = row_at(indptr, i)
        v = deviation[i]
        for column in range(v.size):
            v[column] = constant * np.float64(table[0, 1, column])
        for k in range(start, stop):
            kept, x = table[entry_at(indices, k), 1], np.float64(data[k])
            for column in range(v.size):
                v[column] += kept[column] * x * x
        for column in range(v.size):
            scale = 1.0
            if not SMALL < v[column] < LARGE:
                scale = largest(start, stop, data, constant)
                v[column] = 0.0
                if scale > 0.0:
                    v[column] = constant / scale * np.float64(table[0, 1, column]) / scale
                    for k in range(start, stop):
                        x = np.float64(data[k]) / scale
                        v[column] += table[entry_at(indices, k), 1, column] * x * x
            v[column] = scale * math.sqrt(v[column])


SCORE = Kernel(score, lambda real: types.void(rows(real), given(real, 3), f8, f8, array(f8, 2)))
SCORE_ONE = Kernel(
    score_one, lambda real: types.void(rows(real), given(real, 3), f8, f8, array(f8, 2))
)
# The means beside a full covariance are float64, whatever the rows are.
SCORE_FULL = Kernel(score, lambda real: types.void(rows(real), given(f8, 3), f8, f8, array(f8, 2)))
SCORE_FULL_ONE = Kernel(
    score_one, lambda real: types.void(rows(real), given(f8, 3), f8, f8, array(f8, 2))
)
SPREAD = Kernel(spread, lambda real: types.void(rows(real), given(real, 3), f8, array(f8, 2)))
