"""Small pieces of the compiled loops over bytes: finding, copying, reading numbers.

Each works on a view that starts where it begins: indices are then seen not to be negative, which
makes a loop many times faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STRIDE = 64
TAB, NEWLINE, RETURN, SPACE, QUOTE = 9, 10, 13, 32, 34

# Powers of ten that float64 holds exactly, and the largest mantissa that it holds.
_POWERS = 10.0 ** np.arange(23)
_EXACT = 2**53


def find_byte(block: Any, start: Any, stop: Any, byte: Any) -> Any:
    """Where `byte` first stands from `start` on; `stop` if nowhere before it."""
    return find_either(block, start, stop, byte, byte)


def find_either(block: Any, start: Any, stop: Any, one: Any, other: Any) -> Any:
    """Where one of two bytes first stands from `start` on; `stop` if nowhere before it."""
    view = block[start:stop]
    first, second = np.uint8(one), np.uint8(other)
    at = 0
    # Whole strides are looked at without leaving the loop, so that it runs on vectors.
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


def find_marked(block: Any, start: Any, stop: Any, marked: Any) -> Any:
    """Where a byte that is `marked` first stands from `start` on; `stop` if nowhere before it."""
    view = block[start:stop]
    for i in range(view.shape[0]):
        if marked[view[i]]:
            return start + i
    return stop


def skip_marked(block: Any, start: Any, stop: Any, marked: Any) -> Any:
    """Where a byte that is not `marked` first stands from `start` on; `stop` if nowhere."""
    view = block[start:stop]
    for i in range(view.shape[0]):
        if not marked[view[i]]:
            return start + i
    return stop


def copy_bytes(block: Any, start: Any, stop: Any, out: Any, at: Any) -> Any:
    """Copy bytes to `out` and return where they end there."""
    source = block[start:stop]
    target = out[at : at + source.shape[0]]
    for i in range(source.shape[0]):
        target[i] = source[i]
    return at + source.shape[0]


def parse_number(block: Any, start: Any, stop: Any) -> Any:
    """A decimal number and whether it is exact; if it is not, `read_number` is the judge."""
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
    # Both factors are exact, so the one operation rounds as it should.
    if power < 0:
        return sign * (mantissa / _POWERS[-power]), True
    return sign * (mantissa * _POWERS[power]), True


def read_number(written: bytes) -> float:
    """The number that is written, or NaN where it is not one."""
    if b"_" in written or written != written.strip():
        return np.nan
    try:
        return float(written)
    except ValueError:
        return np.nan
