"""64-bit fingerprints of bytes, the same in every process and on every machine.

They are part of version 1 of the feature scheme: a model finds its features by them, so nothing
here may change without a new version. A fingerprint is never 0, which marks an empty place in
tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from sureline.kernels.text.byte_vectors import load8

U = np.uint64
MULTIPLIER = U(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
FIRST, SECOND = U(0xFF51AFD7ED558CCD), U(0xC4CEB9FE1A85EC53)
ONE, EIGHT, SIXTY_FOUR = U(1), U(8), U(64)
TWENTY_NINE, THIRTY_THREE = U(29), U(33)
EVERY_BIT = U(0xFFFFFFFFFFFFFFFF)

# What a fingerprint is of: a word of any number of words, characters, or a name that was given.
WORDS, CHARACTERS, NAMES = U(0), U(0xA24BAED4963EE407), U(0x9FB21C651E98DF25)


@register_jitable
def mixed(h: Any) -> Any:
    """Spread every bit over all others."""
    h ^= h >> THIRTY_THREE
    h *= FIRST
    h ^= h >> THIRTY_THREE
    h *= SECOND
    return h ^ (h >> THIRTY_THREE)


@register_jitable
def absorbed(h: Any, eight: Any) -> Any:
    """What becomes of h when it takes in eight more bytes."""
    h = (h ^ eight) * MULTIPLIER
    return h ^ (h >> TWENTY_NINE)


@register_jitable
def first_bytes(count: Any) -> Any:
    """A mask of so many bytes, one to eight."""
    return EVERY_BIT >> (SIXTY_FOUR - EIGHT * U(count))


@register_jitable
def finished(h: Any) -> Any:
    """The fingerprint, when all bytes are taken in."""
    h = mixed(h)
    return h if h != U(0) else ONE


@register_jitable
def all_absorbed(data: Any, start: int, stop: int, kind: Any) -> Any:
    """What has taken in ``data[start:stop]``; `data` must go on for eight bytes after it."""
    h = kind ^ (U(stop - start) * MULTIPLIER)
    place = start
    while place + 8 <= stop:
        h = absorbed(h, load8(data, place))
        place += 8
    if place < stop:
        h = absorbed(h, load8(data, place) & first_bytes(stop - place))
    return h


@register_jitable
def few_absorbed(data: Any, start: int, length: int, kind: Any) -> Any:
    """The same of one to sixteen bytes, without a loop whose end nobody can guess."""
    h = kind ^ (U(length) * MULTIPLIER)
    head = absorbed(h, load8(data, start) & first_bytes(min(length, 8)))
    tail = absorbed(head, load8(data, start + 8) & first_bytes(max(length - 8, 1)))
    return tail if length > 8 else head


@register_jitable
def fingerprint(data: Any, start: int, stop: int, kind: Any) -> Any:
    """The fingerprint of ``data[start:stop]``; `data` must go on for eight bytes after it."""
    return finished(all_absorbed(data, start, stop, kind))


@register_jitable
def joined(before: Any, word: Any) -> Any:
    """The fingerprint of some words, known by theirs, and one more behind them."""
    return finished((before * MULTIPLIER) ^ word)
