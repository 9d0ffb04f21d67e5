"""Calibrated probabilities: a curve from scores to probabilities, fitted while rows are learned.

The probability of class k is σ(a m_k + b) over the sum of the same for all classes, with m_k the
mean score of the class; of two classes that share a score m, the first has −m. With b → −∞ that is
a softmax of a m_k, with b → ∞ every class is as likely as any other, and one that scores high takes
nothing from the next.

`calibrator` holds log a, b, and the precision of the two: H11, H12, H22. The scores of a row before
it is learned, and its label, move them by one step of Newton's method on the log loss, with its
expected second derivatives added to H. H decays, because the model that makes the scores changes.
"""

from __future__ import annotations

from math import exp, log1p
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import array, f8, given
from sureline.kernels.compiling import Kernel

MEMORY = 1000.0  # after so many rows all but 1/e of a row has decayed
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
def follow(scores: Any, code: int, calibrator: Any, parts: Any) -> None:
    """Learn from the scores of one row and its class; `parts` has three elements per class."""
    a, b = exp(calibrator[0]), calibrator[1]
    count = scores.size
    best = -np.inf
    for k in range(count):
        parts[0, k] = log_sigma(a * scores[k] + b)
        best = max(best, parts[0, k])
    total = 0.0
    for k in range(count):
        rest = 1.0 - exp(parts[0, k])
        parts[1, k], parts[2, k] = a * scores[k] * rest, rest
        parts[0, k] = exp(parts[0, k] - best)
        total += parts[0, k]
    mean_a = mean_b = aa = ab = bb = 0.0
    for k in range(count):
        p, by_a, by_b = parts[0, k] / total, parts[1, k], parts[2, k]
        mean_a += p * by_a
        mean_b += p * by_b
        aa += p * by_a * by_a
        ab += p * by_a * by_b
        bb += p * by_b * by_b
    kept = 1.0 - 1.0 / MEMORY
    calibrator[2] = kept * calibrator[2] + (aa - mean_a * mean_a)
    calibrator[3] = kept * calibrator[3] + (ab - mean_a * mean_b)
    calibrator[4] = kept * calibrator[4] + (bb - mean_b * mean_b)
    h11, h12, h22 = calibrator[2] + FIRM, calibrator[3], calibrator[4] + FIRM
    to_a, to_b = parts[1, code] - mean_a, parts[2, code] - mean_b
    volume = h11 * h22 - h12 * h12
    step_a = (h22 * to_a - h12 * to_b) / volume
    step_b = (h11 * to_b - h12 * to_a) / volume
    calibrator[0] = limited(calibrator[0] + limited(step_a, -STEP, STEP), LOW, HIGH)
    calibrator[1] = limited(calibrator[1] + limited(step_b, -STEP, STEP), -WIDE, WIDE)


def calibrate(scores: Any, calibrator: Any, out: Any) -> None:
    """The probability of each class, of every row."""
    a, b = exp(limited(calibrator[0], LOW, HIGH)), limited(calibrator[1], -WIDE, WIDE)
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
