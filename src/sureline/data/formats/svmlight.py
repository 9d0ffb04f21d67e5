"""svmlight lines: ``+1 3:0.5 17:2 # comment``; a feature's index is its column."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.batch import Batch
from sureline.data.formats import Format
from sureline.data.formats.byte_scan import (
    NUMBER,
    RETURN,
    SPACE,
    TAB,
    byte_set,
    find_byte,
    find_either,
    find_member,
    next_line,
    parse_number,
    read_number,
    shorten,
    skip_members,
)
from sureline.data.formats.line_blocks import LineBlock, read_lines
from sureline.data.raw_batch import RawBatch, RowErrors

COMMA, HASH, COLON = 44, 35, 58
GOOD, NO_LABEL, LABELS, FEATURE, ORDER, INDEX = range(6)
LARGEST = 2**31 - 2
_BLANK = byte_set(SPACE, TAB, RETURN, 11, 12)
_REASONS = {
    NO_LABEL: "the line does not begin with a label",
    LABELS: "the line has several labels, but a row is learned with one",
    FEATURE: "a feature is not written as index:value",
    ORDER: "the indices of features are not in ascending order",
    INDEX: f"the index of a feature is above {LARGEST}",
}
_FEATURE = rb"\d+:" + NUMBER
_LINE = re.compile(
    rb"(?:%b(?:[ \t]+qid:\d+)?|%b)(?:[ \t]+%b)+[ \t]*(?:#.*)?$" % (NUMBER, _FEATURE, _FEATURE)
)


class Lines(NamedTuple):
    """The label, the line number and the status of each line.

    `unparsed` has the bounds of a label that `parse_number` cannot parse exactly; else it is -1.
    """

    labels: NDArray[np.float64]
    unparsed: NDArray[np.int64]
    numbers: NDArray[np.int64]
    status: NDArray[np.int64]


class Features(NamedTuple):
    """The features of all lines, as a sparse matrix has them.

    A row of `unparsed` is for a value that `parse_number` cannot parse exactly: the position of the
    feature, the bounds of its value, and its row.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    unparsed: NDArray[np.int64]


def split_lines(
    block: Any, labelled: Any, blank: Any, lines: Any, features: Any, number: Any
) -> Any:
    """Read labels and features; returns the numbers of rows and of unparsed values."""
    after = 0
    row = 0
    feature = 0
    left = 0
    features.indptr[0] = 0
    while after < block.shape[0]:
        at, end, after = next_line(block, after, blank)
        end = find_byte(block, at, end, HASH)
        if at == end:
            number += 1
            continue
        status = GOOD
        first = feature
        before = -1
        stop = find_member(block, at, end, blank)
        lines.labels[row] = 0.0
        lines.unparsed[row, 0] = -1
        if find_byte(block, at, stop, COLON) < stop:
            if labelled:
                status = NO_LABEL
        else:
            if find_byte(block, at, stop, COMMA) < stop:
                status = LABELS
            value, exact = parse_number(block, at, stop)
            lines.labels[row] = value
            if not exact:
                lines.unparsed[row, 0] = at
                lines.unparsed[row, 1] = stop
            at = skip_members(block, stop, end, blank)
        while at < end and status == GOOD:
            stop = find_member(block, at, end, blank)
            colon = find_byte(block, at, stop, COLON)
            query = colon - at == 3 and block[at] == 113 and block[at + 1] == 105
            query = query and block[at + 2] == 100 and colon + 1 < stop
            for i in range(colon + 1, stop):
                query = query and 48 <= block[i] <= 57
            if not query:
                index = 0
                for i in range(at, colon):
                    if not 48 <= block[i] <= 57:
                        status = FEATURE
                        break
                    index = index * 10 + int(block[i]) - 48
                    if index > LARGEST:
                        status = INDEX
                        break
                if colon == at or colon + 1 >= stop:
                    status = FEATURE
                elif status == GOOD and index <= before:
                    status = ORDER
                if status == GOOD:
                    value, exact = parse_number(block, colon + 1, stop)
                    features.indices[feature] = index
                    features.values[feature] = value
                    if not exact:
                        features.unparsed[left, 0] = feature
                        features.unparsed[left, 1] = colon + 1
                        features.unparsed[left, 2] = stop
                        features.unparsed[left, 3] = row
                        left += 1
                    feature += 1
                    before = index
            at = skip_members(block, stop, end, blank)
        if status != GOOD:
            feature = first
            while left > 0 and features.unparsed[left - 1, 0] >= first:
                left -= 1
        lines.numbers[row] = number
        lines.status[row] = status
        row += 1
        features.indptr[row] = feature
        number += 1
    return row, left


@cache
def _compiled_split() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, f8, flag, given, i8

    lines = types.NamedTuple((array(f8), array(i8, 2), array(i8), array(i8)), Lines)
    features = types.NamedTuple((array(i8), array(types.int32), array(f8), array(i8, 2)), Features)
    return compiled(
        split_lines,
        types.UniTuple(i8, 2)(given(types.uint8), flag, given(flag), lines, features, i8),
        (find_byte, find_either, find_member, skip_members, next_line, parse_number),
    )


def parse(block: LineBlock, errors: RowErrors) -> RawBatch:
    """The rows of some lines."""
    from scipy.sparse import csr_array

    size = block.n_lines
    # A feature such as 1:2 takes three bytes, and a blank before it.
    most = min(block.data.count(b":"), len(block.data) // 4 + 1)
    lines = Lines(
        np.empty(size),
        np.empty((size, 2), np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    features = Features(
        np.empty(size + 1, np.int64),
        np.empty(most, np.int32),
        np.empty(most),
        np.empty((most, 4), np.int64),
    )
    labelled = errors.options.labelled
    rows, left = _compiled_split()(block.bytes, labelled, _BLANK, lines, features, block.first_line)
    for row in np.flatnonzero(lines.status[:rows]):
        errors.add(row, _REASONS[int(lines.status[row])])
    for row in np.flatnonzero(lines.unparsed[:rows, 0] >= 0):
        token = block.data[slice(*lines.unparsed[row])]
        lines.labels[row] = read_number(token)
        if not np.isfinite(lines.labels[row]):
            errors.add(row, f"the label {shorten(token)} is not a number")
    for feature, start, stop, row in features.unparsed[:left]:
        token = block.data[start:stop]
        features.values[feature] = read_number(token)
        if not np.isfinite(features.values[feature]):
            errors.add(row, f"the value {shorten(token)} is not a number")
    used = int(features.indptr[rows])
    indices = features.indices[:used]
    matrix = csr_array(
        (features.values[:used], indices, features.indptr[: rows + 1].astype(np.int32)),
        shape=(rows, int(indices.max()) + 1 if used else 1),
    )
    label = pa.array(lines.labels[:rows]) if labelled else None
    return errors.good_rows(Batch(matrix=matrix, label=label), lines.numbers[:rows], "numeric")


FORMAT = Format(
    name="svmlight",
    extensions=("svm", "svmlight", "libsvm", "tf"),
    matches=lambda sample: _LINE.match(sample.line) is not None,
    read=partial(read_lines, parse),
)
