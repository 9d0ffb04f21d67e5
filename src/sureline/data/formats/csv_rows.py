"""Where the rows and fields of CSV begin and end, found by one compiled loop over the bytes."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.data.formats.byte_scan import NEWLINE, RETURN, find_byte, find_either

GOOD, FIELD_COUNT, UNCLOSED_QUOTE, AFTER_QUOTE, TOO_LONG = range(5)


class Dialect(NamedTuple):
    """The codes of the delimiter and of the quote, which is -1 where quotes are plain."""

    delimiter: int
    quote: int


class Fields(NamedTuple):
    """Where the fields of each column to read start and end, and whether quotes are doubled."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    doubled: NDArray[np.bool_]


class Rows(NamedTuple):
    """The first line of each row, how many fields it has, and its status."""

    lines: NDArray[np.int64]
    counts: NDArray[np.int64]
    status: NDArray[np.int64]


def split_rows(
    block: Any, final: Any, limit: Any, dialect: Any, slots: Any, fields: Any, rows: Any, line: Any
) -> Any:
    """Find the fields of all whole rows of a block.

    `slots[c]` is the row of `fields` for column c, or -1 if the column is not read. At most as many
    rows are found as `rows` can hold; those of more than `limit` bytes are bad. Returns the number
    of rows, where the next row starts, its line, and whether the block ends within a bad line.
    """
    delimiter, quote = dialect
    size = block.shape[0]
    columns = slots.shape[0]
    row = 0
    at = 0
    cut = False
    while at < size and row < rows.lines.shape[0]:
        first = at
        if block[at] == NEWLINE:
            at += 1
            line += 1
            continue
        if block[at] == RETURN:
            if at + 1 == size:
                if final:
                    at += 1
                    continue
                break
            if block[at + 1] == NEWLINE:
                at += 2
                line += 1
                continue
        column = 0
        inside = 0
        status = GOOD
        whole = False
        while True:
            begin = at
            twice = False
            quoted = at < size and block[at] == quote
            if quoted:
                begin = at + 1
                at += 1
                while True:
                    at = find_either(block, at, size, quote, NEWLINE)
                    if at == size:
                        break
                    if block[at] == NEWLINE:
                        inside += 1
                        at += 1
                    elif at + 1 < size and block[at + 1] == quote:
                        twice = True
                        at += 2
                    else:
                        break
                if at == size:
                    if final:
                        status = UNCLOSED_QUOTE
                    break
                end = at
                at += 1
                if at < size and block[at] == RETURN:
                    at += int(at + 1 == size or block[at + 1] == NEWLINE)
                if at < size and block[at] != delimiter and block[at] != NEWLINE:
                    status = AFTER_QUOTE
                    break
            else:
                at = end = find_either(block, at, size, delimiter, NEWLINE)
            if at == size:
                # A quote at the end may be the first of two: the field would go on.
                if not final:
                    break
                whole = True
            else:
                whole = block[at] == NEWLINE
                at += 1
            if whole and not quoted and end > begin and block[end - 1] == RETURN:
                end -= 1
            if column < columns and slots[column] >= 0:
                slot = slots[column]
                fields.starts[slot, row] = begin
                fields.ends[slot, row] = end
                fields.doubled[slot, row] = twice
            column += 1
            if whole:
                break
        reach = at if whole or status == AFTER_QUOTE else size
        if whole and block[at - 1] == NEWLINE:
            reach = at - 1
        if reach - first > limit:
            status = TOO_LONG
        if status != GOOD:
            # The quotes cannot be trusted: the bad row is one line, the next line is a new row.
            at = find_byte(block, first, size, NEWLINE)
            if at - first > limit:
                status = TOO_LONG
            if at == size and not final:
                if status != TOO_LONG:
                    at = first
                    break
                cut = True
            at = min(at + 1, size)
            inside = 0
        elif not whole:
            at = first
            break
        elif column != columns:
            status = FIELD_COUNT
        rows.lines[row] = line
        rows.counts[row] = column
        rows.status[row] = status
        if status != GOOD:
            for slot in range(fields.starts.shape[0]):
                fields.starts[slot, row] = 0
                fields.ends[slot, row] = 0
                fields.doubled[slot, row] = False
        line += inside + 1
        row += 1
    return row, at, line, cut


@cache
def compiled_split() -> Any:
    """The loop, compiled when it is first used."""
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    signature = types.Tuple((i8, i8, i8, flag))(
        given(types.uint8),
        flag,
        i8,
        types.NamedUniTuple(i8, 2, Dialect),
        given(i8),
        types.NamedTuple((array(i8, 2), array(i8, 2), array(flag, 2)), Fields),
        types.NamedUniTuple(array(i8), 3, Rows),
        i8,
    )
    return compiled(split_rows, signature, (find_byte, find_either))
