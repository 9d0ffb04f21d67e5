"""The parts of Vowpal Wabbit lines, found by one compiled loop over the bytes of a block."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import string_array
from sureline.data.formats.byte_scan import (
    SPACE,
    TAB,
    byte_set,
    copy_bytes,
    copy_words,
    find_byte,
    find_either,
    find_member,
    next_line,
    parse_number,
    skip_members,
)
from sureline.data.formats.field_copy import gather_fields
from sureline.data.formats.line_blocks import LineBlock

BAR, COLON, APOSTROPHE, CARET, ONE, POINT, ZERO = 124, 58, 39, 94, 49, 46, 48
GOOD, NO_BAR, HEAD, NAMELESS = range(4)
# Rows of the bounds of a line's head.
LABEL, WEIGHT, BASE, TAG = range(4)
# Columns of the bounds of a feature: its namespace, its name, its value.
SPACE_START, SPACE_END, NAME_START, NAME_END, VALUE_START, VALUE_END = range(6)
# The bytes between features, those that end a feature, and those that end a name.
BYTE_SETS = np.array(
    [byte_set(SPACE, TAB), byte_set(SPACE, TAB, BAR), byte_set(SPACE, TAB, BAR, COLON)]
)


class Lines(NamedTuple):
    """The head of each line, its words, and how many features with a value come before it.

    `starts` and `ends` have the bounds of label, weight, base and tag. The words of line i are at
    ``offsets[i]:offsets[i + 1]`` of `text`, its features at ``features[i]:features[i + 1]``.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    numbers: NDArray[np.int64]
    status: NDArray[np.int64]
    offsets: NDArray[np.int64]
    text: NDArray[np.uint8]
    features: NDArray[np.int64]


class Features(NamedTuple):
    """The features with a value: bounds, values, line, and namespace scale (-1: none).

    `exact` is false for a value that `parse_number` cannot parse exactly.
    """

    bounds: NDArray[np.int64]
    values: NDArray[np.float64]
    exact: NDArray[np.bool_]
    rows: NDArray[np.int64]
    scales: NDArray[np.int64]


def split_lines(
    block: Any, byte_sets: Any, lines: Any, features: Any, scales: Any, number: Any
) -> Any:
    """Split lines into their parts.

    A row of `scales` has the bounds of a namespace's scale, and its line. Returns the numbers of
    lines, of features with a value, and of scales.
    """
    gap, stop, ending = byte_sets[0], byte_sets[1], byte_sets[2]
    row = 0
    at = 0
    out = 0
    feature = 0
    scale = 0
    lines.offsets[0] = 0
    lines.features[0] = 0
    while at < block.shape[0]:
        i, end, at = next_line(block, at, gap)
        if i == end:
            number += 1
            continue
        status = GOOD
        for k in range(4):
            lines.starts[k, row] = 0
            lines.ends[k, row] = 0
        # The head: up to three numbers, then a tag if it has an apostrophe or touches the bar.
        count = 0
        tagged = False
        while i < end and block[i] != BAR:
            begin = i
            i = find_member(block, i, end, stop)
            if block[begin] == APOSTROPHE or (i < end and block[i] == BAR):
                if tagged:
                    status = HEAD
                tagged = True
                lines.starts[TAG, row] = begin + 1 if block[begin] == APOSTROPHE else begin
                lines.ends[TAG, row] = i
            elif count == 3 or tagged:
                status = HEAD
            else:
                lines.starts[count, row] = begin
                lines.ends[count, row] = i
                count += 1
            i = skip_members(block, i, end, gap)
        if i == end:
            status = NO_BAR
        first = out
        while i < end and status == GOOD:
            # A namespace: its name comes directly after the bar.
            name = i + 1
            name_end = i = find_member(block, name, end, ending)
            scaled = False
            if i < end and block[i] == COLON:
                begin = i + 1
                i = find_member(block, begin, end, stop)
                # A scale of 1, written 1 or 1.0, changes nothing.
                scaled = begin == i or block[begin] != ONE
                for j in range(begin + 1, i):
                    if block[j] != (POINT if j == begin + 1 else ZERO):
                        scaled = True
                if scaled:
                    scales[scale, 0] = begin
                    scales[scale, 1] = i
                    scales[scale, 2] = row
                    scale += 1
            if not scaled:
                bare = find_either(block, i, end, BAR, COLON)
                if bare == end or block[bare] == BAR:
                    out = copy_words(block, i, bare, gap, lines.text, first, out)
                    i = bare
            i = skip_members(block, i, end, gap)
            while i < end and block[i] != BAR:
                begin = i
                colon = find_member(block, i, end, ending)
                valued = colon < end and block[colon] == COLON
                i = find_member(block, colon, end, stop) if valued else colon
                if not valued and not scaled:
                    if out > first:
                        lines.text[out] = SPACE
                        out += 1
                    out = copy_bytes(block, begin, i, lines.text, out)
                else:
                    if colon == begin:
                        status = NAMELESS
                    features.bounds[feature, SPACE_START] = name
                    features.bounds[feature, SPACE_END] = name_end
                    features.bounds[feature, NAME_START] = begin
                    features.bounds[feature, NAME_END] = colon
                    features.bounds[feature, VALUE_START] = colon + 1
                    features.bounds[feature, VALUE_END] = i
                    features.rows[feature] = row
                    features.scales[feature] = scale - 1 if scaled else -1
                    features.values[feature] = 1.0
                    features.exact[feature] = True
                    if valued:
                        value, exact = parse_number(block, colon + 1, i)
                        features.values[feature] = value
                        features.exact[feature] = exact
                    feature += 1
                i = skip_members(block, i, end, gap)
        lines.numbers[row] = number
        lines.status[row] = status
        row += 1
        number += 1
        lines.offsets[row] = out
        lines.features[row] = feature
    return row, feature, scale


def copy_names(block: Any, bounds: Any, offsets: Any, out: Any) -> Any:
    """Write the name of each feature: ``ns^name``, or ``name`` if the namespace has no name."""
    at = 0
    offsets[0] = 0
    for k in range(bounds.shape[0]):
        if bounds[k, SPACE_END] > bounds[k, SPACE_START]:
            at = copy_bytes(block, bounds[k, SPACE_START], bounds[k, SPACE_END], out, at)
            out[at] = CARET
            at += 1
        at = copy_bytes(block, bounds[k, NAME_START], bounds[k, NAME_END], out, at)
        offsets[k + 1] = at


@cache
def _compiled_split() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, f8, flag, given, i8

    u1, ints, table = types.uint8, array(i8), array(i8, 2)
    lines = types.NamedTuple((table, table, ints, ints, ints, array(u1), ints), Lines)
    features = types.NamedTuple((table, array(f8), array(flag), ints, ints), Features)
    inlined = (find_byte, find_either, find_member, skip_members, next_line)
    return compiled(
        split_lines,
        types.UniTuple(i8, 3)(given(u1), given(flag, 2), lines, features, table, i8),
        (*inlined, copy_bytes, copy_words, parse_number),
    )


@cache
def _compiled_names() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, given, i8

    u1 = types.uint8
    signature = types.void(given(u1), given(i8, 2), array(i8), array(u1))
    return compiled(copy_names, signature, (copy_bytes,))


class Split(NamedTuple):
    """A block of lines split into their parts."""

    block: LineBlock
    lines: Lines
    features: Features
    scales: NDArray[np.int64]

    def token(self, what: int, row: int | np.integer[Any]) -> bytes:
        """A part of the head of a line."""
        return self.block.data[self.lines.starts[what, row] : self.lines.ends[what, row]]

    @property
    def name_bytes(self) -> NDArray[np.int64]:
        """The bytes of each feature's name, its namespace included."""
        bounds = self.features.bounds
        spaces = bounds[:, SPACE_END] - bounds[:, SPACE_START]
        made: NDArray[np.int64] = (
            spaces + (spaces > 0) + bounds[:, NAME_END] - bounds[:, NAME_START]
        )
        return made

    def strings(self, what: int) -> pa.LargeStringArray:
        """A part of the head of all lines."""
        return gather_fields(self.block.bytes, self.lines.starts[what], self.lines.ends[what])


def split_block(block: LineBlock) -> Split:
    """Split the lines of a block."""
    size, most, most_scales = block.n_lines, 0, 0
    if b":" in block.data:
        most_scales = block.data.count(b"|")
        most = int(np.count_nonzero(block.bytes <= SPACE)) + most_scales + size
    lines = Lines(
        starts=np.empty((4, size), np.int64),
        ends=np.empty((4, size), np.int64),
        numbers=np.empty(size, np.int64),
        status=np.empty(size, np.int64),
        offsets=np.empty(size + 1, np.int64),
        text=np.empty(len(block.data) + 1, np.uint8),
        features=np.empty(size + 1, np.int64),
    )
    features = Features(
        bounds=np.empty((most, 6), np.int64),
        values=np.empty(most),
        exact=np.empty(most, np.bool_),
        rows=np.empty(most, np.int64),
        scales=np.empty(most, np.int64),
    )
    scales = np.empty((most_scales, 3), np.int64)
    n, n_features, n_scales = _compiled_split()(
        block.bytes, BYTE_SETS, lines, features, scales, block.first_line
    )
    lines = Lines(
        starts=lines.starts[:, :n],
        ends=lines.ends[:, :n],
        numbers=lines.numbers[:n],
        status=lines.status[:n],
        offsets=lines.offsets[: n + 1],
        text=lines.text[: lines.offsets[n]].copy(),
        features=lines.features[: n + 1],
    )
    features = Features._make(each[:n_features] for each in features)
    return Split(block, lines, features, scales[:n_scales])


def feature_names(block: LineBlock, bounds: NDArray[np.int64], size: int) -> pa.LargeStringArray:
    """The names of features, each with its namespace, which take so many bytes."""
    offsets = np.empty(len(bounds) + 1, np.int64)
    out = np.empty(size, np.uint8)
    _compiled_names()(block.bytes, bounds, offsets, out)
    return string_array(offsets, out)
