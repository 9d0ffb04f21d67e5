"""Class counts and calibrators of merged models: counts add up, calibrators by precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.class_counts import MOST

Floats = NDArray[np.float64]
LEAST = 1e-9  # the least precision, so that untrained calibrators merge to their mean


def add_counts(tallies: NDArray[np.int32], where: Any, more: Any) -> None:
    """Add to counts at some places, none of them twice, up to the largest count."""
    total = tallies[where].astype(np.int64) + more
    tallies[where] = np.minimum(total, MOST)


def merge_calibrators(calibrators: Sequence[Floats]) -> Floats:
    """The calibrator of several, weighted by precision; their precisions add up."""
    return calibrator_of(sum((calibrator_sums(each) for each in calibrators), np.zeros(5)))


def calibrator_sums(calibrator: Floats) -> Floats:
    """What a calibrator adds to sums: its precision, three numbers, and precision × place, two."""
    place, (h11, h12, h22) = calibrator[:2], calibrator[2:]
    precision = np.array([[h11 + LEAST, h12], [h12, h22 + LEAST]])
    return np.array([precision[0, 0], h12, precision[1, 1], *(precision @ place)])


def calibrator_of(sums: Floats) -> Floats:
    """The calibrator of such sums."""
    h11, h12, h22, *pull = sums.tolist()
    place = np.linalg.solve(np.array([[h11, h12], [h12, h22]]), np.array(pull))
    return np.array([*place, h11, h12, h22])
