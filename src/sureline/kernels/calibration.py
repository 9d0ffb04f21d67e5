"""Honest probabilities: a curve from scores to probabilities, learned before each row is.

The probability of class k is σ(a m_k + b) over the sum of the same for all classes, with m_k the
mean score of the class; of two classes that share a score m, the first has −m. With b → −∞ that is
a softmax of a m_k, with b → ∞ every class is as likely as any other, and one that scores high takes
nothing from the next.

`curve` holds log a, b, and the precision of the two: H11, H12, H22. A row's scores and its label,
taken before the row is learned, move them by one step of Newton's method on the log loss, with its
expected second derivatives added to H. H forgets: the model that makes the scores changes.
"""

from __future__ import annotations

from math import exp, log1p
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.compiling import Kernel, array, f8, given

MEMORY = 1000.0  # after so many rows H has forgotten all but 1/e of a row
FIRM = 5.0  # the precision that each of the two begins with
STEP = 0.5  # the longest step
LOW, HIGH = -3.0, 6.0  # log a
WIDE = 6.0  # |b|


@register_jitable
def log_sigma(z: float) -> float:
    """Log σ(z)."""
    return -log1p(exp(-z)) if z > 0.0 else z - log1p(exp(z))


@register_jitable
def limited(value: float, low: float, high: float) -> float:
    """The nearest number within limits."""
    return min(max(value, low), high)


@register_jitable
def follow(scores: Any, code: int, curve: Any, room: Any) -> None:
    """Learn from the scores of one row and its class; `room` has three places for each class."""
    a, b = exp(curve[0]), curve[1]
    count = scores.size
    best = -np.inf
    for k in range(count):
        room[0, k] = log_sigma(a * scores[k] + b)
        best = max(best, room[0, k])
    total = 0.0
    for k in range(count):
        rest = 1.0 - exp(room[0, k])
        room[1, k], room[2, k] = a * scores[k] * rest, rest
        room[0, k] = exp(room[0, k] - best)
        total += room[0, k]
    mean_a = mean_b = aa = ab = bb = 0.0
    for k in range(count):
        p, by_a, by_b = room[0, k] / total, room[1, k], room[2, k]
        mean_a += p * by_a
        mean_b += p * by_b
        aa += p * by_a * by_a
        ab += p * by_a * by_b
        bb += p * by_b * by_b
    kept = 1.0 - 1.0 / MEMORY
    curve[2] = kept * curve[2] + (aa - mean_a * mean_a)
    curve[3] = kept * curve[3] + (ab - mean_a * mean_b)
    curve[4] = kept * curve[4] + (bb - mean_b * mean_b)
    h11, h12, h22 = curve[2] + FIRM, curve[3], curve[4] + FIRM
    to_a, to_b = room[1, code] - mean_a, room[2, code] - mean_b
    volume = h11 * h22 - h12 * h12
    step_a = (h22 * to_a - h12 * to_b) / volume
    step_b = (h11 * to_b - h12 * to_a) / volume
    curve[0] = limited(curve[0] + limited(step_a, -STEP, STEP), LOW, HIGH)
    curve[1] = limited(curve[1] + limited(step_b, -STEP, STEP), -WIDE, WIDE)


def calibrate(scores: Any, curve: Any, out: Any) -> None:
    """The probability of each class, of every row."""
    a, b = exp(limited(curve[0], LOW, HIGH)), limited(curve[1], -WIDE, WIDE)
    for i in range(scores.shape[0]):
        best = -np.inf
        for k in range(scores.shape[1]):
            out[i, k] = log_sigma(a * scores[i, k] + b)
            best = max(best, out[i, k])
        total = 0.0
        for k in range(scores.shape[1]):
            out[i, k] = exp(out[i, k] - best)
            total += out[i, k]
        for k in range(scores.shape[1]):
            out[i, k] /= total


CALIBRATE = Kernel(calibrate, lambda _: types.void(given(f8, 2), given(f8), array(f8, 2)))
