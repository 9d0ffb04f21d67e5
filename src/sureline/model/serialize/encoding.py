"""How arrays are stored in few bytes: narrow whole numbers, equal rows once, half precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.model.serialize.fields import Array

UNSIGNED = ("u1", "u2", "u4", "u8")
NUMBERS_AT_ONCE = 2**20
SAVED = 2**16  # bytes: rows are compared with each other where that may save as many
SHORT_ROW = 16  # bytes: shorter rows would take not much less as numbers of distinct ones
LARGEST_EXPONENT = 15  # numbers in half precision are below two to this
GOLDEN = 0x9E3779B97F4A7C15


def narrow(values: Array) -> Array:
    """Whole numbers, none below 0, in the smallest unsigned type that holds them all."""
    largest = int(values.max(initial=0))
    return values.astype(next(kind for kind in UNSIGNED if largest <= np.iinfo(kind).max))


def whole_numbers(
    tensors: Mapping[str, Array], name: str, size: int | None = None
) -> NDArray[np.int64]:
    """The whole numbers of a tensor that `narrow` made, or of one of signed ones, as int64."""
    found = tensors.get(name)
    if found is None or found.ndim != 1 or found.dtype.kind not in "ui":
        raise ModelFileError(f"its tensor {name!r} is missing, or no list of whole numbers")
    if size is not None and found.size != size:
        raise ModelFileError(f"its tensor {name!r} has {found.size:,} numbers, expected {size:,}")
    made = found.astype(np.int64, copy=False)
    if made.size and made.min() < 0:
        raise ModelFileError(f"its tensor {name!r} has numbers below 0, or of 2^63 and more")
    return made


def equal_rows(arrays: Sequence[Array]) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """The first of each set of equal rows, in order, and which of these each row is equal to.

    Row i of all arrays together is one row; bits are compared. None if two different rows happen to
    have the same fingerprint.
    """
    count = len(arrays[0])
    bits = [each.view(f"u{each.dtype.itemsize}") for each in arrays]
    width = sum(each[:1].size for each in bits)
    factors = _mixed(np.arange(1, width + 1, dtype=np.uint64))
    marks, step = np.empty(count, np.uint64), max(1, NUMBERS_AT_ONCE // max(width, 1))
    for start in range(0, count, step):
        part = [each[start : start + step] for each in bits]
        flat = np.hstack([each.reshape(len(each), -1).astype(np.uint64) for each in part])
        marks[start : start + step] = _mixed(flat) @ factors
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    for start in range(0, count, step):
        same = first[which[start : start + step]]
        if any((each[start : start + step] != each[same]).any() for each in bits):
            return None
    order = np.argsort(first)
    return first[order], np.argsort(order)[which]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, one for each value."""
    made = (values + np.uint64(1)) * np.uint64(GOLDEN)
    made ^= made >> np.uint64(32)
    made *= np.uint64(GOLDEN)
    made ^= made >> np.uint64(29)
    return made


def to_half(*arrays: Array) -> tuple[list[NDArray[np.float16]], list[int]]:
    """Arrays of shape (..., slots, columns) in half precision, and the exponent of each slot.

    The numbers of a slot are divided by two to its exponent, so that the largest lies just below
    2^15. Each is off by 2^-11 of itself at most, or by 2^-38 of the largest of its slot. No number
    but 0 becomes 0.
    """
    slots = arrays[0].shape[-2]
    sizes = [np.abs(np.moveaxis(each, -2, 0)).reshape(slots, -1) for each in arrays]
    largest = np.max([each.max(axis=1, initial=0.0) for each in sizes], axis=0)
    exponents = np.frexp(largest)[1] - LARGEST_EXPONENT
    halves = []
    for each in arrays:
        half = np.ldexp(each, -exponents[:, np.newaxis]).astype(np.float16)
        gone = (each != 0) & (half == 0)
        half[gone] = np.copysign(np.finfo(np.float16).smallest_subnormal, each[gone])
        halves.append(half)
    return halves, exponents.tolist()


def from_half(half: Array, exponents: Sequence[int], dtype: str) -> Array:
    """The numbers that `to_half` was given, in the type they had, as far as half precision goes."""
    with np.errstate(over="ignore"):  # what is not finite is refused
        return np.asarray(np.ldexp(half.astype(dtype), np.array(exponents)[:, np.newaxis]))
