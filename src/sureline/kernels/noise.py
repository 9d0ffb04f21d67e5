"""How little an example should count: r of AROW, told by the rows themselves.

AROW is a Kalman filter that takes labels for scores with noise of the variance r. The noise shows
in how far scores miss before a row is learned: h, the mean of (1 − m)² over rows, nothing where the
margin m is 1 or more, at most 4 (a row at margin 1 whose label was flipped). r follows as 3 h. A
plain filter would have r = h less the variance of the scores; a diagonal covariance tells too small
a variance, and 3 makes up for it, on clean and on noisy labels.

`errors` holds the sum of the squares and the number of rows.
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

FACTOR = 3.0
FIRST, ROWS = 0.3, 10.0  # the mean square to begin with, and as many rows it counts for
FAR = 2.0  # the farthest a score can miss


@register_jitable
def noise_of(errors: Any) -> float:
    """What r is after the rows so far."""
    return float(FACTOR * (errors[0] + FIRST * ROWS) / (errors[1] + ROWS))


@register_jitable
def follow_error(errors: Any, m: float) -> float:
    """R for a row with the margin m, which counts from now on."""
    miss = min(max(1.0 - m, 0.0), FAR)
    errors[0] += miss * miss
    errors[1] += 1.0
    return noise_of(errors)
