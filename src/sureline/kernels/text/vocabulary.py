"""From features' fingerprints to columns: a table that grows, or a fold to a fixed number.

The table has two numbers per place, a fingerprint and its meaning: 1 + its column, or, while a
feature has not been seen often enough for a column, how often, counted down from 2^64. Numbers from
files are never trusted: a place that means a column that does not exist counts as unknown.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.compiling import Kernel, array, flag, given, i8
from sureline.kernels.prefetch import prefetch
from sureline.kernels.text.arguments import (
    NAMED_COLUMNS,
    TOKENS,
    VOCABULARY,
    NamedColumns,
    OutputRows,
    Tokens,
    VocabularyArrays,
    output_rows,
)
from sureline.kernels.text.byte_vectors import load8, store8
from sureline.kernels.text.fingerprints import ONE, U

AHEAD = 32  # how many features ahead a place of the table is prefetched
TRIES = 8  # per place of a table, while it is filled; one half full needs fewer than one
HALF = U(1 << 63)

# What `sizes` holds: features, places taken, bytes of names; a fold has, in place of the places,
# 1 + the texts that have come since it first had as many names as it may, or for most columns.
FEATURES, TAKEN, NAMED = 0, 1, 2
SINCE = TAKEN
ONE_IN = 8  # of those texts gives names


@register_jitable
def square(x: float) -> float:
    """x², with all digits of a double."""
    return float(x) * float(x)


@register_jitable
def scale(values: Any, start: int, stop: int, normalize: bool) -> None:
    """Give a row the length 1."""
    if not normalize:
        return
    # Four sums, since each has to wait for what was last added to it.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    rest = start + ((stop - start) & ~3)
    for k in range(start, rest, 4):
        a += square(values[U(k)])
        b += square(values[U(k + 1)])
        c += square(values[U(k + 2)])
        d += square(values[U(k + 3)])
    for k in range(rest, stop):
        a += square(values[U(k)])
    squares = (a + b) + (c + d)
    if squares > 0.0:
        factor = 1.0 / sqrt(squares)
        for k in range(start, stop):
            values[U(k)] = values[U(k)] * factor


@register_jitable
def place_of(table: Any, keys: Any, k: int, stop: int) -> Any:
    """Where the search for the k-th of some features begins; that of a later one is prefetched."""
    mask = U(table.shape[0] - 1)
    prefetch(table, np.int64(keys[U(min(k + AHEAD, stop - 1))] & mask))
    return keys[U(k)] & mask


@register_jitable
def keep_prefix(
    feature: int, row: int, parts: Any, prefixes: Any, prefix_ends: Any, sizes: Any, letters: Any
) -> None:
    """Write what stands before the name of the newest feature, which is of a column of a row."""
    column, before = 0, row * prefix_ends.size + 1
    while parts[before + column] <= feature:
        column += 1
    place = sizes[NAMED]
    for k in range(prefix_ends[column - 1] if column else 0, prefix_ends[column]):
        letters[place] = prefixes[k]
        place += 1
    sizes[NAMED] = place


@register_jitable
def longest_prefix(prefix_ends: Any) -> int:
    """The most bytes that stand before a name."""
    longest, before = 0, 0
    for end in prefix_ends:
        longest = max(longest, end - before)
        before = end
    return longest


@register_jitable
def keep_name(
    number: int, low: Any, start: int, length: int, sizes: Any, ends: Any, letters: Any
) -> None:
    """Remember the name of the newest feature; a byte 1 before it marks characters.

    Given NamedTuples, it would not be inlined, and `enter_rows` would take 20 % longer.
    """
    place = sizes[NAMED]
    if length < 0:
        letters[place] = 1
        place += 1
        length = -length
    if place + length + 8 <= letters.size and start + length + 8 <= low.size:
        for k in range(0, length, 8):  # what is written too much, the next name writes over
            store8(letters, place + k, load8(low, start + k))
    else:
        for k in range(length):
            letters[place + k] = low[start + k]
    sizes[NAMED] = place + length
    ends[number] = sizes[NAMED]


def enter_rows(
    tokens: Tokens,
    first: int,
    normalize: bool,
    least: int,
    most: int,
    vocabulary: VocabularyArrays,
    out: OutputRows,
) -> int:
    """Turn rows of fingerprints into rows of columns, and give new features theirs.

    Returns the row before which it stopped, because there may be too little memory for its features
    or because there are `most` features; -1 if the table is damaged.
    """
    indptr, keys, counts = tokens.indptr, tokens.keys, tokens.values
    starts, lengths, low = tokens.starts, tokens.lengths, tokens.low
    parts, prefixes, prefix_ends = tokens.parts, tokens.prefixes, tokens.prefix_ends
    most_letters = 1 + longest_prefix(prefix_ends)
    table, seen, sizes, (ends, names) = vocabulary
    out_indptr, columns, values = out
    mask = U(table.shape[0] - 1)
    size = out_indptr[0]
    rows: int = indptr.size - 1
    ended = indptr[rows]
    for row in range(first, rows):
        start, stop = indptr[row], indptr[row + 1]
        wanted = stop - start
        letters = wanted * most_letters
        for k in range(start, stop):
            letters += abs(lengths[U(k)])
        if (
            sizes[FEATURES] + wanted > min(ends.size, seen.size)
            or 2 * (sizes[TAKEN] + wanted) > table.shape[0]
            or sizes[NAMED] + letters > names.size
            or (0 < most <= sizes[FEATURES])
        ):
            return row
        begin = size
        for k in range(start, stop):
            place = place_of(table, keys, k, ended)
            key = keys[U(k)]
            tries = U(0)
            while table[place, 0] != key and table[place, 0] != U(0):
                place = (place + ONE) & mask
                tries += ONE
                if tries > mask:
                    return -1
            if table[place, 0] == U(0):
                table[place, 0] = key
                sizes[TAKEN] += 1
            meaning = table[place, 1]
            if meaning == U(0) or meaning > HALF:  # no column so far
                meaning -= ONE
                table[place, 1] = meaning
                if U(0) - meaning < U(least):
                    continue
                column = sizes[FEATURES]
                sizes[FEATURES] = column + 1
                table[place, 1] = U(column + 1)
                seen[column] = least - 1
                if parts.size:
                    keep_prefix(k, row, parts, prefixes, prefix_ends, sizes, names)
                keep_name(column, low, starts[k], lengths[k], sizes, ends, names)
            else:
                if meaning > U(sizes[FEATURES]):  # compared without a sign: 2^63 has none
                    continue
                column = np.int64(meaning - ONE)
            prefetch(seen, column)
            columns[U(size)] = column
            values[U(size)] = counts[U(k)]
            size += 1
        for k in range(begin, size):  # by itself, as each would wait for memory above
            seen[U(columns[U(k)])] += 1
        scale(values, begin, size, normalize)
        out_indptr[row - first + 1] = size
    return rows


def look_up_rows(
    tokens: Tokens, normalize: bool, unknown: int, table: Any, features: int, out: OutputRows
) -> None:
    """Turn rows of fingerprints into rows of columns; unknown ones get `unknown`, if >= 0."""
    indptr, keys = tokens.indptr, tokens.keys
    out_indptr, columns, values = out
    mask = U(table.shape[0] - 1)
    size = 0
    out_indptr[0] = 0
    ended = indptr[indptr.size - 1]
    for row in range(indptr.size - 1):
        start, stop = indptr[row], indptr[row + 1]
        begin = size
        for k in range(start, stop):
            place = place_of(table, keys, k, ended)
            key = keys[U(k)]
            tries = U(0)
            while table[place, 0] != key and table[place, 0] != U(0) and tries < mask:
                place = (place + ONE) & mask
                tries += ONE
            column = np.int64(unknown)
            if table[place, 0] == key and U(0) < table[place, 1] <= U(features):
                column = np.int64(table[place, 1]) - 1
            if column >= 0:
                columns[U(size)] = column
                values[U(size)] = tokens.values[U(k)]
                size += 1
        scale(values, begin, size, normalize)
        out_indptr[row + 1] = size


def count_taken(table: Any, has_place: Any) -> int:
    """How many places of a table are taken; -1 if it cannot have come from entering rows.

    It has one place for each column, which `has_place`, at first all False, records; all other
    places are empty or those of features that wait for a column.
    """
    taken = 0
    for place in range(table.shape[0]):
        key, meaning = table[place, 0], table[place, 1]
        if key == U(0):
            if meaning != U(0):
                return -1
            continue
        taken += 1
        if meaning == U(0) or meaning > HALF:
            continue
        if meaning > U(has_place.size) or has_place[meaning - ONE]:
            return -1
        has_place[meaning - ONE] = True
    return taken if has_place.all() else -1


def count_taken_signature(real: Any) -> Any:
    """The signature of `count_taken`."""
    return i8(given(types.uint64, 2), array(flag))


def enlarge(table: Any, larger: Any) -> int:
    """Move all entries to an empty table with more places; returns how many there were.

    It gives up, and returns -1, where entries do not spread as fingerprints do: with keys that
    someone has chosen it would take for ever.
    """
    mask = larger.shape[0] - 1
    moved, left = 0, TRIES * larger.shape[0]
    for old in range(table.shape[0]):
        ahead = table[min(old + AHEAD, table.shape[0] - 1), 0]
        prefetch(larger, np.int64(ahead) & mask)
        key = table[old, 0]
        if key == U(0):
            continue
        place = np.int64(key) & mask
        while larger[place, 0] != U(0):
            place = (place + 1) & mask
            left -= 1
            if left < 0:
                return -1
        larger[place, 0], larger[place, 1] = key, table[old, 1]
        moved += 1
        if 2 * moved > larger.shape[0]:
            return moved
    return moved


def enlarge_signature(real: Any) -> Any:
    """The signature of `enlarge`."""
    return i8(given(types.uint64, 2), array(types.uint64, 2))


def prune(table: Any, places: Any, fresh: Any) -> None:
    """Fill an empty table with the features that keep a column, under their new numbers.

    ``places[column]`` is the new number, or -1; features without a column are dropped.
    """
    mask = fresh.shape[0] - 1
    for old in range(table.shape[0]):
        key, meaning = table[old, 0], table[old, 1]
        if key == U(0) or meaning == U(0) or meaning > U(places.size):
            continue
        column = places[np.int64(meaning) - 1]
        if column < 0:
            continue
        place = np.int64(key) & mask
        while fresh[place, 0] != U(0):
            place = (place + 1) & mask
        fresh[place, 0], fresh[place, 1] = key, U(column + 1)


def prune_signature(real: Any) -> Any:
    """The signature of `prune`."""
    u8 = types.uint64
    return types.void(given(u8, 2), given(i8), array(u8, 2))


def fold_rows(
    tokens: Tokens, first: int, normalize: bool, most: int, named: NamedColumns, out: OutputRows
) -> int:
    """Turn rows of folded fingerprints, which are columns, into rows; remember names of new ones.

    `named` has a bit per column, unless no names are wanted. Once there have been as many as may
    be, or one for most columns, only one text in a few gives names: what is common comes again, and
    what is rare would soon be forgotten. Returns the row before which it stopped, because there
    may be too little memory for its features or because there are `most` names.
    """
    indptr, keys, counts = tokens.indptr, tokens.keys, tokens.values
    starts, lengths, low = tokens.starts, tokens.lengths, tokens.low
    parts, prefixes, prefix_ends = tokens.parts, tokens.prefixes, tokens.prefix_ends
    most_letters = 1 + longest_prefix(prefix_ends)
    has_name, name_columns, sizes, (ends, names) = named
    out_indptr, columns, values = out
    size = out_indptr[0]
    rows: int = indptr.size - 1
    for row in range(first, rows):
        start, stop = indptr[row], indptr[row + 1]
        if has_name.size > 0 and 0 < most <= sizes[FEATURES]:
            return row
        naming = has_name.size > 0 and sizes[SINCE] % ONE_IN == 0
        if naming:
            letters = (stop - start) * most_letters
            for k in range(start, stop):
                letters += abs(lengths[U(k)])
            if (
                sizes[FEATURES] + stop - start > min(ends.size, name_columns.size)
                or sizes[NAMED] + letters > names.size
            ):
                return row
            for k in range(start, stop):
                column = keys[U(k)]
                byte, bit = column >> U(3), np.uint8(1) << np.uint8(column & U(7))
                if not has_name[byte] & bit:
                    has_name[byte] |= bit
                    number = sizes[FEATURES]
                    sizes[FEATURES] = number + 1
                    name_columns[number] = column
                    if parts.size:
                        keep_prefix(k, row, parts, prefixes, prefix_ends, sizes, names)
                    keep_name(number, low, starts[k], lengths[k], sizes, ends, names)
        if sizes[SINCE] > 0 or sizes[FEATURES] > 4 * has_name.size:
            sizes[SINCE] += 1
        begin = size
        size += stop - start
        for k in range(stop - start):
            columns[U(begin + k)] = keys[U(start + k)]
            values[U(begin + k)] = counts[U(start + k)]
        scale(values, begin, size, normalize)
        out_indptr[row - first + 1] = size
    return rows


ENTER_ROWS = Kernel(
    enter_rows, lambda real: i8(TOKENS, i8, flag, i8, i8, VOCABULARY, output_rows(real))
)
LOOK_UP_ROWS = Kernel(
    look_up_rows,
    lambda real: types.void(TOKENS, flag, i8, given(types.uint64, 2), i8, output_rows(real)),
)
COUNT_TAKEN = Kernel(count_taken, count_taken_signature)
ENLARGE = Kernel(enlarge, enlarge_signature)
PRUNE = Kernel(prune, prune_signature)
FOLD_ROWS = Kernel(
    fold_rows, lambda real: i8(TOKENS, i8, flag, i8, NAMED_COLUMNS, output_rows(real))
)
