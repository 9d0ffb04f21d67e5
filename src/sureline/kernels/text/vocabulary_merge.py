"""Features of several tables of fingerprints into one, with their names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sureline.kernels.compiling import Kernel, array, given, i8
from sureline.kernels.text.arguments import NAMES, Names
from sureline.kernels.text.fingerprints import ONE, U
from sureline.kernels.text.vocabulary import HALF, place_of


def list_keys(table: Any, keys: Any) -> None:
    """The fingerprint of every column; 0 for one that the table does not have."""
    for place in range(table.shape[0]):
        meaning = table[place, 1]
        if U(0) < meaning <= U(keys.size):
            keys[np.int64(meaning) - 1] = table[place, 0]


def list_keys_signature(real: Any) -> Any:
    """The signature of `list_keys`."""
    return types.void(given(types.uint64, 2), array(types.uint64))


def enter_keys(keys: Any, table: Any, features: int, places: Any) -> int:
    """Find the column of every fingerprint, or give it the next one; return how many there are.

    The table must be large enough for all of them to stay at most half full.
    """
    mask = U(table.shape[0] - 1)
    for k in range(keys.size):
        place = place_of(table, keys, k, keys.size)
        while table[place, 0] != keys[k] and table[place, 0] != U(0):
            place = (place + ONE) & mask
        meaning = table[place, 1]
        if meaning == U(0) or meaning > HALF:  # no column so far
            features += 1
            meaning = U(features)
            table[place, 0], table[place, 1] = keys[k], meaning
        places[k] = np.int64(meaning) - 1
    return features


def enter_keys_signature(real: Any) -> Any:
    """The signature of `enter_keys`."""
    return i8(given(types.uint64), array(types.uint64, 2), i8, array(i8))


def copy_names(names: Names, places: Any, first: int, to: Names) -> int:
    """Copy the names of features whose place is `first` or higher, in order; return the last end.

    ``to.ends[first]`` is written first; the name before it must be there.
    """
    ends, letters = names
    at = to.ends[first - 1] if first > 0 else 0
    number = first
    for k in range(places.size):
        if places[k] < first:
            continue
        begin = ends[k - 1] if k > 0 else 0
        for place in range(begin, ends[k]):
            to.letters[at] = letters[place]
            at += 1
        to.ends[number] = at
        number += 1
    return int(at)


LIST_KEYS = Kernel(list_keys, list_keys_signature)
COPY_NAMES = Kernel(copy_names, lambda _: i8(NAMES, given(i8), i8, NAMES))
ENTER_KEYS = Kernel(enter_keys, enter_keys_signature)
