"""Rows of several columns: their features as one row, and numbers on the scale of the stream.

Each column of a row is read as a text of its own, a part. The fingerprints of a part are mixed with
the salt of its column, which is 0 where names already have the column in them, and its values are
scaled. Numbers are standardized with the mean and the deviation of the numbers so far.
"""

from __future__ import annotations

from math import copysign, isfinite, log1p, sqrt
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.compiling import Kernel, array, f8, flag, given, i8
from sureline.kernels.text.fingerprints import ONE, U, joined

LARGEST = 1e100  # numbers beyond count as this, so that their squares are finite
COUNT, MEAN, SQUARES = 0, 1, 2  # what is kept of a number: how many, mean, squared deviations
SCALES = 2  # a number as it is, and its logarithm with its sign


def join_columns(
    parts: Any,
    salts: Any,
    scaled: bool,
    bits: int,
    seen: Any,
    keys: Any,
    values: Any,
    starts: Any,
    lengths: Any,
    indptr: Any,
) -> None:
    """Turn the features of the parts, one for each salt, into those of rows, in place.

    If `scaled`, the length of a part of texts becomes its square root. With `bits`, fingerprints
    are folded to so many, and `seen` is a table with twice as many places as the largest row has
    features; `parts` are then those that are left.
    """
    width, last, size, stop = salts.size, U(seen.size - 1), 0, 0
    indptr[0] = 0
    for row in range(indptr.size - 1):
        first = size
        if bits:
            seen[:] = 0
        for column in range(width):
            begin, stop = stop, parts[row * width + column + 1]
            salt, factor = salts[column], 1.0
            if salt != U(0):
                squares = 0.0
                for k in range(begin, stop):
                    squares += values[U(k)] * values[U(k)]
                    keys[U(k)] = joined(salt, keys[U(k)])
                if scaled and squares > 0.0:
                    factor = 1.0 / sqrt(sqrt(squares))
            if not bits:
                for k in range(begin, stop):
                    values[U(k)] *= factor
                size = stop
                continue
            for k in range(begin, stop):
                key, value = keys[k] >> U(64 - bits), factor * values[k]
                slot = key & last
                while seen[slot] != 0 and keys[first + np.int64(seen[slot]) - 1] != key:
                    slot = (slot + ONE) & last
                if seen[slot] != 0:  # another feature of the row has the same place
                    values[first + np.int64(seen[slot]) - 1] += value
                    continue
                seen[slot] = size - first + 1
                keys[size], values[size] = key, value
                starts[size], lengths[size] = starts[k], lengths[k]
                size += 1
            parts[row * width + column + 1] = size
        indptr[row + 1] = size


def join_columns_signature(real: Any) -> Any:
    """The signature of `join_columns`."""
    u8, i4 = types.uint64, types.int32
    return types.void(
        array(i8), given(u8), flag, i8, array(types.uint32), array(u8), array(f8), array(i8),
        array(i4), array(i8),
    )  # fmt: skip


@register_jitable
def scaled_number(x: float, scale: int) -> float:
    """A number, or its logarithm with its sign; none that is too large."""
    x = min(max(x, -LARGEST), LARGEST)
    return x if scale == 0 else copysign(log1p(abs(x)), x)


def standardize(numbers: Any, counted: Any, learn: bool, moments: Any, out: Any) -> None:
    """Numbers as so many deviations above the mean of those so far, on each scale.

    NaN stays. With `learn`, each row that is `counted` is added to the moments before.
    """
    for row in range(numbers.shape[0]):
        for column in range(numbers.shape[1]):
            x = numbers[row, column]
            for scale in range(SCALES):
                y = scaled_number(x, scale)
                kept = moments[column, scale]
                if learn and counted[row] and isfinite(x):
                    kept[COUNT] += 1.0
                    apart = y - kept[MEAN]
                    kept[MEAN] += apart / kept[COUNT]
                    kept[SQUARES] += apart * (y - kept[MEAN])
                if x != x:
                    out[row, column, scale] = x
                    continue
                spread = sqrt(kept[SQUARES] / kept[COUNT]) if kept[COUNT] > 0.0 else 0.0
                apart = y - kept[MEAN]
                # A column that has had one value so far says of another only which side it is on.
                out[row, column, scale] = (
                    apart / spread
                    if spread > 1e-12 * abs(kept[MEAN]) and spread > 0.0
                    else 0.0
                    if apart == 0.0
                    else copysign(1e6, apart)
                )


def standardize_signature(real: Any) -> Any:
    """The signature of `standardize`."""
    return types.void(given(f8, 2), given(flag), flag, array(f8, 3), array(f8, 3))


JOIN_COLUMNS = Kernel(join_columns, join_columns_signature)
STANDARDIZE = Kernel(standardize, standardize_signature)
