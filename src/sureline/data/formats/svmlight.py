"""svmlight lines: ``+1 3:0.5 17:2 # comment``; a feature's index is its column."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import Utf8
from sureline.data.formats.blocks import line_blocks
from sureline.data.formats.byte_scan import (
    NEWLINE,
    RETURN,
    SPACE,
    TAB,
    find_byte,
    find_either,
    find_marked,
    parse_number,
    read_number,
    skip_marked,
)
from sureline.data.formats.raw_rows import Ask, Faults, Part

COMMA, HASH, COLON = 44, 35, 58
GOOD, NO_LABEL, LABELS, FEATURE, ORDER, INDEX = range(6)
LARGEST = 2**31 - 2
_BLANK = np.isin(np.arange(256), (SPACE, TAB, RETURN, 11, 12))
_FAULTS = {
    NO_LABEL: "the line does not begin with a label",
    LABELS: "the line has several labels, and a row is learned with one",
    FEATURE: "a feature is not written as index:value",
    ORDER: "the indices of features do not rise from left to right",
    INDEX: f"the index of a feature is above {LARGEST}",
}


def split_lines(
    block: Any,
    labelled: Any,
    blank: Any,
    labels: Any,
    bounds: Any,
    lines: Any,
    status: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    odd: Any,
    line: Any,
) -> Any:
    """Read rows: labels, and features as a compressed sparse matrix.

    Numbers that the loop cannot read exactly are left to the caller: `bounds[i]` is where the label
    of row i stands if so, and a row of `odd` a feature's place and where its value stands. Returns
    the numbers of rows and of odd values.
    """
    size = block.shape[0]
    at = 0
    row = 0
    feature = 0
    left = 0
    indptr[0] = 0
    while at < size:
        after = find_byte(block, at, size, NEWLINE) + 1
        end = find_byte(block, at, after - 1, HASH)
        at = skip_marked(block, at, end, blank)
        if at == end:
            at = after
            line += 1
            continue
        fault = GOOD
        first = feature
        before = -1
        stop = find_marked(block, at, end, blank)
        labels[row] = 0.0
        bounds[row, 0] = -1
        if find_byte(block, at, stop, COLON) < stop:
            if labelled:
                fault = NO_LABEL
        else:
            if find_byte(block, at, stop, COMMA) < stop:
                fault = LABELS
            value, exact = parse_number(block, at, stop)
            labels[row] = value
            if not exact:
                bounds[row, 0] = at
                bounds[row, 1] = stop
            at = skip_marked(block, stop, end, blank)
        while at < end and fault == GOOD:
            stop = find_marked(block, at, end, blank)
            colon = find_byte(block, at, stop, COLON)
            query = colon - at == 3 and block[at] == 113 and block[at + 1] == 105
            if not (query and block[at + 2] == 100):
                index = 0
                for i in range(at, colon):
                    if not 48 <= block[i] <= 57:
                        fault = FEATURE
                        break
                    index = index * 10 + int(block[i]) - 48
                    if index > LARGEST:
                        fault = INDEX
                        break
                if colon == at or colon + 1 >= stop:
                    fault = FEATURE
                elif fault == GOOD and index <= before:
                    fault = ORDER
                if fault == GOOD:
                    value, exact = parse_number(block, colon + 1, stop)
                    indices[feature] = index
                    values[feature] = value
                    if not exact:
                        odd[left, 0] = feature
                        odd[left, 1] = colon + 1
                        odd[left, 2] = stop
                        odd[left, 3] = row
                        left += 1
                    feature += 1
                    before = index
            at = skip_marked(block, stop, end, blank)
        if fault != GOOD:
            feature = first
            while left > 0 and odd[left - 1, 0] >= first:
                left -= 1
        lines[row] = line
        status[row] = fault
        row += 1
        indptr[row] = feature
        at = after
        line += 1
    return row, left


@cache
def _split_lines() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, f8, flag, given, i8

    signature = types.UniTuple(i8, 2)(
        *(given(types.uint8), flag, given(flag), array(f8), array(i8, 2), array(i8), array(i8)),
        *(array(i8), array(types.int32), array(f8), array(i8, 2), i8),
    )
    return compiled(
        split_lines, signature, (find_byte, find_either, find_marked, skip_marked, parse_number)
    )


def read_svmlight(source: Utf8, ask: Ask, bad: BadRows) -> Iterator[Part]:
    """Read svmlight lines as parts of about `ask.batch_bytes`."""
    from scipy.sparse import csr_array

    for lines in line_blocks(source, ask.batch_bytes):
        data = lines.data
        size, most = data.count(b"\n") + 1, data.count(b":")
        labels, bounds = np.empty(size), np.empty((size, 2), np.int64)
        numbers, status = np.empty(size, np.int64), np.empty(size, np.int64)
        indptr, indices = np.empty(size + 1, np.int64), np.empty(most, np.int32)
        values, odd = np.empty(most), np.empty((most, 4), np.int64)
        rows, left = _split_lines()(
            *(np.frombuffer(data, np.uint8), ask.labelled, _BLANK, labels, bounds, numbers),
            *(status, indptr, indices, values, odd, lines.first_line),
        )
        if not rows:
            continue
        faults = Faults()
        for row in np.flatnonzero(status[:rows]):
            faults.add(int(row), _FAULTS[int(status[row])])
        for row in np.flatnonzero(bounds[:rows, 0] >= 0):
            labels[row] = read_number(data[slice(*bounds[row])])
            if not np.isfinite(labels[row]):
                faults.add(int(row), f"the label {_shown(data, *bounds[row])} is not a number")
        for feature, start, stop, row in odd[:left]:
            values[feature] = read_number(data[start:stop])
            if not np.isfinite(values[feature]):
                faults.add(int(row), f"the value {_shown(data, start, stop)} is not a number")
        used = int(indptr[rows])
        width = int(indices[:used].max()) + 1 if used else 1
        matrix = csr_array(
            (values[:used], indices[:used], indptr[: rows + 1].astype(np.int32)),
            shape=(rows, width),
        )
        part = Part(
            numbers[:rows],
            matrix=matrix,
            label=pa.array(labels[:rows]) if ask.labelled else None,
            labels="numbers",
        )
        yield faults.settle(part, bad, source.name)


def _shown(data: bytes, start: int, stop: int) -> str:
    """A piece of a line, short enough for a message."""
    return repr(data[start:stop][:40].decode("utf-8", "replace"))
