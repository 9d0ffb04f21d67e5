"""How little an example should count: r of AROW, told by the rows themselves.

AROW is a Kalman filter that takes labels for scores with noise of the variance r. Labels that are
wrong show in scores that are far on the wrong side before a row is learned. A row that the model is
merely unsure of has a small score on either side. So the share of the squares of all scores that is
on the wrong side,

    w = Σ m² over rows with margin m < 0  /  Σ m² over all rows,

is near q where a share q of the labels is wrong, and near 0 where none is, even if the model still
errs on many rows. It does not change with the scale of scores. r follows as 6 √w; it begins with 3.

`errors` holds the two sums. No score counts for more than 2.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from numba.extending import register_jitable

FACTOR = 6.0
FIRST, WEIGHT = 0.25, 1.0  # the share to begin with, and the sum of squares it counts for
FAR = 2.0  # the largest score that counts whole


@register_jitable
def noise_of(errors: Any) -> float:
    """What r is after the rows so far."""
    return float(FACTOR * sqrt((errors[0] + FIRST * WEIGHT) / (errors[1] + WEIGHT)))


@register_jitable
def follow_error(errors: Any, m: float) -> float:
    """R for a row with the margin m, which counts from now on."""
    square = m * m if abs(m) < FAR else FAR * FAR  # also where m is not a number
    if m < 0.0:
        errors[0] += square
    errors[1] += square
    return noise_of(errors)
