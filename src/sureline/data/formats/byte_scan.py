"""Building blocks of the compiled loops over bytes: finding, copying, parsing numbers.

Each works on a view that begins where it starts: the compiler then knows that no index is negative,
which makes a loop many times faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

STRIDE = 64
TAB, NEWLINE, RETURN, SPACE, QUOTE = 9, 10, 13, 32, 34

# A regular expression for a decimal number.
NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"

# The powers of ten that float64 holds exactly, and the largest such mantissa.
_POWERS = 10.0 ** np.arange(23)
_EXACT = 2**53


def byte_set(*codes: int) -> NDArray[np.bool_]:
    """A set of bytes as a lookup table."""
    return np.isin(np.arange(256), codes)


def find_byte(block: Any, start: Any, stop: Any, byte: Any) -> Any:
    """The position of the first `byte` from `start` on; `stop` if there is none."""
    return find_either(block, start, stop, byte, byte)


def find_either(block: Any, start: Any, stop: Any, one: Any, other: Any) -> Any:
    """The position of the first of two bytes from `start` on; `stop` if there is none."""
    view = block[start:stop]
    first, second = np.uint8(one), np.uint8(other)
    at = 0
    # No early exit within a stride, so that the compiler vectorizes the loop.
    while at + STRIDE <= view.shape[0]:
        part = view[at : at + STRIDE]
        found = 0
        for i in range(STRIDE):
            found |= int(part[i] == first) | int(part[i] == second)
        if found:
            break
        at += STRIDE
    for i in range(at, view.shape[0]):
        if view[i] == first or view[i] == second:
            return start + i
    return stop


def find_member(block: Any, start: Any, stop: Any, members: Any) -> Any:
    """The position of the first byte in the set `members`; `stop` if there is none."""
    view = block[start:stop]
    for i in range(view.shape[0]):
        if members[view[i]]:
            return start + i
    return stop


def skip_members(block: Any, start: Any, stop: Any, members: Any) -> Any:
    """The position of the first byte that is not in the set `members`; `stop` if there is none."""
    view = block[start:stop]
    for i in range(view.shape[0]):
        if not members[view[i]]:
            return start + i
    return stop


def next_line(block: Any, at: Any, blank: Any) -> Any:
    """Where the line at `at` has its first byte that is not blank, its end, and the line after it.

    The carriage returns at the end of a line do not belong to it.
    """
    end = find_byte(block, at, block.shape[0], NEWLINE)
    after = end + 1
    while end > at and block[end - 1] == RETURN:
        end -= 1
    return skip_members(block, at, end, blank), end, after


def copy_bytes(block: Any, start: Any, stop: Any, out: Any, at: Any) -> Any:
    """Copy bytes to `out` from `at` on, and return where they end there."""
    source = block[start:stop]
    target = out[at : at + source.shape[0]]
    for i in range(source.shape[0]):
        target[i] = source[i]
    return at + source.shape[0]


def copy_words(block: Any, start: Any, stop: Any, gap: Any, out: Any, first: Any, at: Any) -> Any:
    """Copy words to `out`, whose text begins at `first`, with one space before each but the first.

    Returns where they end there.
    """
    start = skip_members(block, start, stop, gap)
    while stop > start and gap[block[stop - 1]]:
        stop -= 1
    source = block[start:stop]
    # Most texts have single spaces already: this loop is vectorized, and all is copied at once.
    odd = 0
    for i in range(source.shape[0] - 1):
        odd |= int(source[i] == TAB) | (int(source[i] == SPACE) & int(source[i + 1] == SPACE))
    if not odd:
        if at > first and source.shape[0] > 0:
            out[at] = SPACE
            at += 1
        return copy_bytes(block, start, stop, out, at)
    while start < stop:
        end = find_member(block, start, stop, gap)
        if at > first:
            out[at] = SPACE
            at += 1
        at = copy_bytes(block, start, end, out, at)
        start = skip_members(block, end, stop, gap)
    return at


def parse_number(block: Any, start: Any, stop: Any) -> Any:
    """A decimal number and whether it is exact; if not, use `read_number` instead."""
    at = start
    sign = 1.0
    if at < stop and (block[at] == 43 or block[at] == 45):
        if block[at] == 45:
            sign = -1.0
        at += 1
    mantissa = 0
    digits = 0
    point = -1
    while at < stop:
        byte = block[at]
        if 48 <= byte <= 57:
            mantissa = mantissa * 10 + int(byte) - 48
            digits += 1
            if mantissa > _EXACT:
                return 0.0, False
        elif byte == 46 and point < 0:
            point = digits
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, False
    power = 0 if point < 0 else point - digits
    if at < stop:
        if (block[at] | 32) != 101:  # an e
            return 0.0, False
        at += 1
        negative = False
        if at < stop and (block[at] == 43 or block[at] == 45):
            negative = block[at] == 45
            at += 1
        if at == stop or stop - at > 4:
            return 0.0, False
        exponent = 0
        while at < stop:
            byte = block[at]
            if not 48 <= byte <= 57:
                return 0.0, False
            exponent = exponent * 10 + int(byte) - 48
            at += 1
        power += -exponent if negative else exponent
    if power < -22 or power > 22:
        return 0.0, False
    # Both operands are exact, so the result is correctly rounded.
    if power < 0:
        return sign * (mantissa / _POWERS[-power]), True
    return sign * (mantissa * _POWERS[power]), True


def read_number(token: bytes) -> float:
    """Parse a number; NaN if it is not one."""
    if b"_" in token or token != token.strip():
        return np.nan
    try:
        return float(token)
    except ValueError:
        return np.nan


def shorten(token: bytes) -> str:
    """A token as errors show it."""
    return repr(token[:40].decode("utf-8", "replace"))
