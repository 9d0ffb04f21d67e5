"""Vowpal Wabbit text lines: ``1 2.0 'tag |ns word word price:2.5``.

Bare features become words of the text; features with a value become `Given` features.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.bad_rows import BadRows
from sureline.data.batch import Given
from sureline.data.byte_streams import Utf8
from sureline.data.formats.blocks import line_blocks
from sureline.data.formats.byte_scan import (
    NEWLINE,
    RETURN,
    SPACE,
    TAB,
    copy_bytes,
    find_byte,
    find_either,
    find_marked,
    parse_number,
    read_number,
    skip_marked,
)
from sureline.data.formats.raw_rows import Ask, Faults, Part
from sureline.data.formats.string_slices import gather, rows_not_utf8, strings

GOOD, NO_BAR, HEAD, NAMELESS = 0, 1, 2, 3
LABEL, WEIGHT, BASE, TAG = 0, 1, 2, 3
BAR, COLON, APOSTROPHE, CARET, ONE, POINT, ZERO = 124, 58, 39, 94, 49, 46, 48
# Bytes between features, bytes that end one, and bytes that end the name of a namespace.
_GAP = np.isin(np.arange(256), (SPACE, TAB))
_END = np.isin(np.arange(256), (SPACE, TAB, BAR))
_STOP = np.isin(np.arange(256), (SPACE, TAB, BAR, COLON))


def split_lines(
    block: Any,
    marks: Any,
    starts: Any,
    ends: Any,
    lines: Any,
    status: Any,
    offsets: Any,
    text: Any,
    features: Any,
    values: Any,
    scales: Any,
    bounds: Any,
    line: Any,
) -> Any:
    """Take lines apart.

    `starts` and `ends` get the bounds of label, weight, base and tag; `text` gets the words. A row
    of `features` is a feature with a value: where its namespace, its name and its value stand, the
    number of its scale (-1: none), its line, and whether its value is left to the caller to read. A
    row of `scales` is where a scale stands, and its line. `bounds[i]` is how many features come
    before line i. Returns the numbers of lines, features and scales.
    """
    gap, stop, ending = marks[0], marks[1], marks[2]
    size = block.shape[0]
    row = 0
    at = 0
    out = 0
    feature = 0
    scale = 0
    offsets[0] = 0
    bounds[0] = 0
    while at < size:
        end = find_byte(block, at, size, NEWLINE)
        after = end + 1
        while end > at and block[end - 1] == RETURN:
            end -= 1
        i = skip_marked(block, at, end, gap)
        if i == end:
            at = after
            line += 1
            continue
        fault = GOOD
        for k in range(4):
            starts[k, row] = 0
            ends[k, row] = 0
        # The head: up to three numbers, then a tag if it has an apostrophe or touches the bar.
        count = 0
        tagged = False
        while i < end and block[i] != BAR:
            begin = i
            i = find_marked(block, i, end, stop)
            if block[begin] == APOSTROPHE or (i < end and block[i] == BAR):
                if tagged:
                    fault = HEAD
                tagged = True
                starts[TAG, row] = begin + 1 if block[begin] == APOSTROPHE else begin
                ends[TAG, row] = i
            elif count == 3 or tagged:
                fault = HEAD
            else:
                starts[count, row] = begin
                ends[count, row] = i
                count += 1
            i = skip_marked(block, i, end, gap)
        if i == end:
            fault = NO_BAR
        first = out
        while i < end and fault == GOOD:
            # A namespace: its name follows the bar at once.
            name = i + 1
            name_end = i = find_marked(block, name, end, ending)
            scaled = False
            if i < end and block[i] == COLON:
                begin = i + 1
                i = find_marked(block, begin, end, stop)
                # A scale of 1, written 1 or 1.0, is no scale.
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
                    out = copy_words(block, i, bare, gap, text, first, out)
                    i = bare
            i = skip_marked(block, i, end, gap)
            while i < end and block[i] != BAR:
                begin = i
                colon = find_marked(block, i, end, ending)
                valued = colon < end and block[colon] == COLON
                i = find_marked(block, colon, end, stop) if valued else colon
                if not valued and not scaled:
                    if out > first:
                        text[out] = SPACE
                        out += 1
                    out = copy_bytes(block, begin, i, text, out)
                else:
                    if colon == begin:
                        fault = NAMELESS
                    features[feature, 0] = name
                    features[feature, 1] = name_end
                    features[feature, 2] = begin
                    features[feature, 3] = colon
                    features[feature, 4] = colon + 1
                    features[feature, 5] = i
                    features[feature, 6] = scale - 1 if scaled else -1
                    features[feature, 7] = row
                    features[feature, 8] = 0
                    values[feature] = 1.0
                    if valued:
                        value, exact = parse_number(block, colon + 1, i)
                        values[feature] = value
                        features[feature, 8] = 0 if exact else 1
                    feature += 1
                i = skip_marked(block, i, end, gap)
        lines[row] = line
        status[row] = fault
        row += 1
        line += 1
        offsets[row] = out
        bounds[row] = feature
        at = after
    return row, feature, scale


def copy_words(block: Any, start: Any, stop: Any, gap: Any, out: Any, first: Any, at: Any) -> Any:
    """Copy words to `out`, whose text begins at `first`, with one space before each but the first.

    Returns where they end there.
    """
    while start < stop and gap[block[start]]:
        start += 1
    while stop > start and gap[block[stop - 1]]:
        stop -= 1
    source = block[start:stop]
    # Most texts have single spaces already, which takes but a look (on vectors) and a copy.
    odd = 0
    for i in range(source.shape[0] - 1):
        odd |= int(source[i] == TAB) | (int(source[i] == SPACE) & int(source[i + 1] == SPACE))
    if not odd:
        if at > first and source.shape[0] > 0:
            out[at] = SPACE
            at += 1
        return copy_bytes(block, start, stop, out, at)
    target = out[first:]
    written = at - first
    apart = True
    for i in range(source.shape[0]):
        if gap[source[i]]:
            apart = True
            continue
        if apart and written > 0:
            target[written] = SPACE
            written += 1
        apart = False
        target[written] = source[i]
        written += 1
    return first + written


def name_features(block: Any, features: Any, offsets: Any, out: Any) -> Any:
    """Write the name of each feature, ``ns^name`` or ``name`` in the namespace without a name."""
    at = 0
    offsets[0] = 0
    for k in range(features.shape[0]):
        if features[k, 1] > features[k, 0]:
            at = copy_bytes(block, features[k, 0], features[k, 1], out, at)
            out[at] = CARET
            at += 1
        at = copy_bytes(block, features[k, 2], features[k, 3], out, at)
        offsets[k + 1] = at


@cache
def _split_lines() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, f8, flag, given, i8

    u1 = types.uint8
    signature = types.UniTuple(i8, 3)(
        *(given(u1), given(flag, 2), array(i8, 2), array(i8, 2), array(i8), array(i8), array(i8)),
        *(array(u1), array(i8, 2), array(f8), array(i8, 2), array(i8), i8),
    )
    inlined = (find_byte, find_either, find_marked, skip_marked)
    return compiled(split_lines, signature, (*inlined, copy_bytes, copy_words, parse_number))


@cache
def _name_features() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, given, i8

    u1 = types.uint8
    signature = types.void(given(u1), given(i8, 2), array(i8), array(u1))
    return compiled(name_features, signature, (copy_bytes,))


_MARKS = np.array([_GAP, _END, _STOP])


class _Lines(NamedTuple):
    """A block of lines taken apart; see `split_lines`."""

    block: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    numbers: NDArray[np.int64]
    status: NDArray[np.int64]
    text: pa.LargeStringArray
    features: NDArray[np.int64]
    values: NDArray[np.float64]
    scales: NDArray[np.int64]
    bounds: NDArray[np.int64]


def _split(data: bytes, first_line: int) -> _Lines:
    """Take a block of lines apart."""
    size = data.count(b"\n") + 1
    tokens = 0
    scaled = 0
    block = np.frombuffer(data, np.uint8)
    if b":" in data:
        scaled = data.count(b"|")
        tokens = int(np.count_nonzero(block <= SPACE)) + scaled + size
    starts, ends = np.empty((4, size), np.int64), np.empty((4, size), np.int64)
    numbers, status = np.empty(size, np.int64), np.empty(size, np.int64)
    offsets, bounds = np.empty(size + 1, np.int64), np.empty(size + 1, np.int64)
    text = np.empty(len(data) + 1, np.uint8)
    features, values = np.empty((tokens, 9), np.int64), np.empty(tokens)
    scales = np.empty((scaled, 3), np.int64)
    n, found, several = _split_lines()(
        *(block, _MARKS, starts, ends, numbers, status, offsets, text),
        *(features, values, scales, bounds, first_line),
    )
    return _Lines(
        block,
        starts[:, :n],
        ends[:, :n],
        numbers[:n],
        status[:n],
        strings(offsets[: n + 1], text[: offsets[n]].copy()),
        features[:found],
        values[:found],
        scales[:several],
        bounds[: n + 1],
    )


def read_vw(source: Utf8, ask: Ask, bad: BadRows) -> Iterator[Part]:
    """Read VW lines as parts of about `ask.batch_bytes`."""
    for lines in line_blocks(source, ask.batch_bytes):
        split = _split(lines.data, lines.first_line)
        if not len(split.numbers):
            continue
        faults = Faults()
        for row in np.flatnonzero(split.status):
            faults.add(int(row), _complaint(int(split.status[row])))
        faults.check_text(split.text, "text", ask.encoding)
        label = None
        if ask.labelled:
            label = gather(split.block, split.starts[LABEL], split.ends[LABEL])
            faults.check_text(label, "label", ask.encoding)
            faults.check_label(label)
        table = None
        if ask.keep:
            tag = gather(split.block, split.starts[TAG], split.ends[TAG])
            faults.check_text(tag, "tag", ask.encoding)
            table = pa.RecordBatch.from_arrays([tag], names=["tag"])
        part = Part(
            split.numbers,
            text=split.text,
            given=_given(split, faults, ask.encoding),
            label=label,
            labels="numbers",
            weight=_weights(split, faults),
            table=table,
        )
        yield faults.settle(part, bad, source.name)


def _complaint(status: int) -> str:
    """What is wrong with a line."""
    if status == NO_BAR:
        return "the line has no '|' before its features"
    if status == HEAD:
        return "before the '|' come more than a label, an importance, a base and a tag"
    return "a feature has a value and no name"


def _weights(split: _Lines, faults: Faults) -> NDArray[np.float64] | None:
    """The importance of each line, 1 where none is written; None where no line has one."""
    # The base is not used, but a line whose base is no number is damaged.
    for row in np.flatnonzero(split.ends[BASE]):
        if not np.isfinite(_number(split, BASE, int(row))):
            faults.add(int(row), "the base before the '|' is not a number")
    written = np.flatnonzero(split.ends[WEIGHT])
    if not len(written):
        return None
    weights = np.ones(len(split.numbers))
    known: dict[bytes, float] = {}
    for row in written:
        token = bytes(split.block[split.starts[WEIGHT, row] : split.ends[WEIGHT, row]])
        if token not in known:
            known[token] = read_number(token)
        weights[row] = known[token]
        if not (np.isfinite(weights[row]) and weights[row] >= 0.0):
            shown = token.decode("utf-8", "replace")
            faults.add(int(row), f"the importance {shown!r} is not a number from 0 up")
    return weights


def _number(split: _Lines, what: int, row: int) -> float:
    """The number that stands in the head of a line."""
    return read_number(bytes(split.block[split.starts[what, row] : split.ends[what, row]]))


def _given(split: _Lines, faults: Faults, encoding: str) -> Given | None:
    """The features with a value."""
    features, values, block = split.features, split.values, split.block
    scales = np.empty(len(split.scales))
    for number, (start, stop, row) in enumerate(split.scales):
        scales[number] = read_number(bytes(block[start:stop]))
        if not np.isfinite(scales[number]):
            faults.add(int(row), "the scale of a namespace is not a finite number")
    if not len(features):
        return None
    for feature in np.flatnonzero(features[:, 8]):
        _, _, _, _, start, stop, _, row, _ = features[feature]
        values[feature] = read_number(bytes(block[start:stop]))
    scaled = features[:, 6] >= 0
    values[scaled] *= scales[features[scaled, 6]]
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    for feature in np.flatnonzero(~np.isfinite(narrow)):
        _, _, _, _, start, stop, _, row, _ = features[feature]
        shown = bytes(block[start:stop][:40]).decode("utf-8", "replace")
        faults.add(int(row), f"the value {shown!r} of a feature is not a finite number in 32 bits")
    offsets = np.empty(len(features) + 1, np.int64)
    spaces = features[:, 1] - features[:, 0]
    lengths = spaces + (spaces > 0) + features[:, 3] - features[:, 2]
    out = np.empty(int(lengths.sum()), np.uint8)
    _name_features()(block, features, offsets, out)
    names = strings(offsets, out)
    for broken in rows_not_utf8(names):
        said = "UTF-8" if encoding in ("utf-8", "utf-8-sig") else encoding
        faults.add(int(features[broken, 7]), f"the name of a feature is not valid {said}")
    return Given(split.bounds, names, narrow)
