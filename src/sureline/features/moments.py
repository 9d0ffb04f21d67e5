"""Mean and deviation of the numbers of a stream, on two scales, by which they are standardized.

The moments of parts of a stream add up to those of the whole (Chan, Golub and LeVeque 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.text.table import COUNT, MEAN, SCALES, SQUARES, STANDARDIZE

Floats = NDArray[np.float64]


class Moments:
    """Count, mean and sum of squared deviations of each column of numbers, on each scale.

    `array` is replaced as a whole, so that readers go on with the one they have.
    """

    def __init__(self, columns: int, array: Floats | None = None) -> None:
        self.array: Floats = np.zeros((columns, SCALES, 3)) if array is None else array

    def standardized(self, numbers: Floats, counted: NDArray[np.bool_] | None = None) -> Floats:
        """Numbers (rows × columns) by scale; rows that are `counted` are learned, in order."""
        out = np.empty((*numbers.shape, SCALES))
        array = self.array if counted is None else self.array.copy()
        learn = counted is not None
        known = counted if counted is not None else np.zeros(0, np.bool_)
        STANDARDIZE.compiled("float64")(np.ascontiguousarray(numbers), known, learn, array, out)
        if learn:
            self.array = array
        return out

    def describe(self) -> list[tuple[int, float, float]]:
        """Of each column how many numbers there were, their mean and standard deviation."""
        plain = self.array[:, 0]
        count = np.maximum(plain[:, COUNT], 1.0)
        spread = np.sqrt(plain[:, SQUARES] / count)
        rows = zip(plain[:, COUNT], plain[:, MEAN], spread, strict=True)
        return [(int(n), float(mean), float(sd)) for n, mean, sd in rows]


def added(one: Floats, other: Floats) -> Floats:
    """The moments of two parts together."""
    total = one[..., COUNT] + other[..., COUNT]
    count = np.where(total > 0.0, total, 1.0)
    apart = other[..., MEAN] - one[..., MEAN]
    share = one[..., COUNT] * other[..., COUNT] / count
    mean = (one[..., COUNT] * one[..., MEAN] + other[..., COUNT] * other[..., MEAN]) / count
    squares = one[..., SQUARES] + other[..., SQUARES] + apart * apart * share
    return np.stack([total, mean, squares], axis=-1)


def removed(whole: Floats, part: Floats) -> Floats:
    """The moments of what a whole has besides a part."""
    left = whole[..., COUNT] - part[..., COUNT]
    count = np.where(left > 0.0, left, 1.0)
    mean = (whole[..., COUNT] * whole[..., MEAN] - part[..., COUNT] * part[..., MEAN]) / count
    apart = mean - part[..., MEAN]
    share = part[..., COUNT] * left / np.where(whole[..., COUNT] > 0.0, whole[..., COUNT], 1.0)
    squares = whole[..., SQUARES] - part[..., SQUARES] - apart * apart * share
    rest = np.stack([left, mean, np.maximum(squares, 0.0)], axis=-1)
    return np.where((left > 0.0)[..., np.newaxis], rest, 0.0)


def merged(several: Sequence[Any], start: Floats | None = None) -> Floats:
    """The moments of all parts; those of a common `start` count once."""
    total = several[0]
    for each in several[1:]:
        total = added(total, each if start is None else removed(each, start))
    return np.asarray(total)
