"""AROW's ``r="auto"``: how little an example counts, estimated from the rows themselves.

AROW is a Kalman filter that takes labels for scores with noise of the variance r. Wrong labels show
in scores that are far on the wrong side before a row is learned. A row of which the model is merely
unsure has a small score on either side. So the share of the squares of all scores that is on the
wrong side,

    w = Σ m² over rows with margin m < 0  /  Σ m² over all rows,

is near q where a share q of the labels is wrong, and near 0 where none is, even if the model still
errs on many rows. It does not change with the scale of scores. r is 6 √w, and 3 before the first
row.

`noise_sums` holds the two sums. No score counts for more than 2.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Any

from numba.extending import register_jitable

FACTOR = 6.0
FIRST, WEIGHT = 0.25, 1.0  # the share to begin with, and the sum of squares it counts for
FAR = 2.0  # the largest score that counts whole


@register_jitable
def noise_of(noise_sums: Any) -> float:
    """The value of r after the rows so far."""
    return float(FACTOR * sqrt((noise_sums[0] + FIRST * WEIGHT) / (noise_sums[1] + WEIGHT)))


@register_jitable
def follow_error(noise_sums: Any, m: float) -> float:
    """The value of r for a row with the margin m, which counts from now on."""
    square = m * m if abs(m) < FAR else FAR * FAR
    if m < 0.0:
        noise_sums[0] += square
    noise_sums[1] += square
    return noise_of(noise_sums)


@register_jitable
def row_constant(a: float, noise_sums: Any, m: float) -> float:
    """The rule's first constant for a row with the margin m: `a`, or r where that is estimated.

    It is estimated where `noise_sums` is not empty.
    """
    if noise_sums.size == 0 or not isfinite(m):
        return a
    return follow_error(noise_sums, m)
