"""Scores of rows, and how far they may be off, from the table of means and variances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.compiling import Kernel, array, f8, given, rows

# Outside these a variance is summed again from values scaled by the largest of their row.
SMALL, LARGE = 1e-200, 1e200


def score(
    indptr: Any, indices: Any, data: Any, table: Any, constant: float, shift: float, out: Any
) -> None:
    """The score of every row: slot 0 and, with a `shift` other than 0, that times slot 1."""
    for i in range(out.size):
        total = constant * np.float64(table[0, 0])
        gathered = 0.0
        if shift == 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                total += table[indices[k] + 1, 0] * np.float64(data[k])
        else:
            gathered = constant * np.float64(table[0, 1])
            for k in range(indptr[i], indptr[i + 1]):
                j, x = indices[k] + 1, np.float64(data[k])
                total += table[j, 0] * x
                gathered += table[j, 1] * x
        out[i] = total + shift * gathered


@register_jitable
def largest(start: int, stop: int, data: Any, constant: float) -> float:
    """The largest absolute value of a row."""
    size = constant
    for k in range(start, stop):
        size = max(size, abs(np.float64(data[k])))
    return size


def spread(
    indptr: Any, indices: Any, data: Any, table: Any, constant: float, deviation: Any
) -> None:
    """The standard deviation of every row's score, right also where its square underflows."""
    for i in range(deviation.size):
        start, stop = indptr[i], indptr[i + 1]
        scale = 1.0
        v: float = constant * np.float64(table[0, 1])
        for k in range(start, stop):
            x = np.float64(data[k])
            v += table[indices[k] + 1, 1] * x * x
        if not SMALL < v < LARGE:
            scale = largest(start, stop, data, constant)
            v = 0.0
            if scale > 0.0:
                v = constant / scale * np.float64(table[0, 1]) / scale
                for k in range(start, stop):
                    x = np.float64(data[k]) / scale
                    v += table[indices[k] + 1, 1] * x * x
        deviation[i] = scale * math.sqrt(v)


SCORE = Kernel(score, lambda real: types.void(*rows(real), given(real, 2), f8, f8, array(f8)))
SPREAD = Kernel(spread, lambda real: types.void(*rows(real), given(real, 2), f8, array(f8)))
