"""What adds up where states become one: counts of rows, and the curve of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.class_counts import MOST

Floats = NDArray[np.float64]
LEAST = 1e-9  # precision that a curve has at least: of those that nothing is known of, the mean


def count_more(tallies: NDArray[np.int32], where: Any, more: Any) -> None:
    """Add counts to those at some places, none of them twice, as far as can be counted."""
    total = tallies[where].astype(np.int64) + more
    tallies[where] = np.minimum(total, MOST)


def merge_curves(curves: Sequence[Floats]) -> Floats:
    """The curve that several agree on, each as firmly as it is known; their precisions add up."""
    return curve_of(sum((curve_sums(curve) for curve in curves), np.zeros(5)))


def curve_sums(curve: Floats) -> Floats:
    """What a curve adds to the sums of several: its precision, three numbers, and × place, two."""
    place, (h11, h12, h22) = curve[:2], curve[2:]
    precision = np.array([[h11 + LEAST, h12], [h12, h22 + LEAST]])
    return np.array([precision[0, 0], h12, precision[1, 1], *(precision @ place)])


def curve_of(sums: Floats) -> Floats:
    """The curve that such sums stand for."""
    h11, h12, h22, *pull = sums.tolist()
    place = np.linalg.solve(np.array([[h11, h12], [h12, h22]]), np.array(pull))
    return np.array([*place, h11, h12, h22])
