"""Tables in text: CSV and TSV, with quotes as spreadsheets write them.

A field that begins with a quote goes on to the next single quote, over delimiters and newlines; a
doubled quote in it stands for one. What follows the closing quote must be a delimiter or the end
of the line: a stray quote then shows as a bad row, and does not swallow the rows after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import Utf8
from sureline.data.column_choice import Columns, choose_columns, has_header
from sureline.data.formats.blocks import LONGEST_ROW, too_long
from sureline.data.formats.byte_scan import NEWLINE, QUOTE, RETURN, find_byte, find_either
from sureline.data.formats.raw_rows import Ask, Faults, Part
from sureline.data.formats.string_slices import gather, is_utf8
from sureline.errors import DataError

GOOD, FIELDS, OPEN, AFTER = 0, 1, 2, 3
_NO_QUOTES = "if quotes are plain characters in this file say so (quotes=False, --no-quotes)"
DELIMITERS = {"csv": ",", "tsv": "\t"}


def split_rows(
    block: Any,
    final: Any,
    delimiter: Any,
    quote: Any,
    slots: Any,
    starts: Any,
    ends: Any,
    doubled: Any,
    lines: Any,
    fields: Any,
    status: Any,
    line: Any,
) -> Any:
    """Find the fields of all whole rows of a block.

    `slots[c]` is where the bounds of column c go, or -1. Rows are found up to the length of
    `lines`. Returns the number of rows, where the next row starts, and its line.
    """
    size = block.shape[0]
    columns = slots.shape[0]
    row = 0
    at = 0
    while at < size and row < lines.shape[0]:
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
        fault = GOOD
        whole = False
        while True:
            begin = at
            twice = False
            if at < size and block[at] == quote:
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
                        fault = OPEN
                    break
                end = at
                at += 1
                if at == size:
                    # The next block may begin with a second quote, which changes all.
                    if not final:
                        break
                    whole = True
                elif block[at] == NEWLINE:
                    at += 1
                    whole = True
                elif block[at] == RETURN:
                    if at + 1 == size:
                        if not final:
                            break
                        at += 1
                        whole = True
                    elif block[at + 1] == NEWLINE:
                        at += 2
                        whole = True
                    else:
                        fault = AFTER
                        break
                elif block[at] == delimiter:
                    at += 1
                else:
                    fault = AFTER
                    break
            else:
                at = end = find_either(block, at, size, delimiter, NEWLINE)
                if at == size:
                    if not final:
                        break
                    whole = True
                elif block[at] == NEWLINE:
                    at += 1
                    whole = True
                else:
                    at += 1
                if whole and end > begin and block[end - 1] == RETURN:
                    end -= 1
            if column < columns and slots[column] >= 0:
                slot = slots[column]
                starts[slot, row] = begin
                ends[slot, row] = end
                doubled[slot, row] = twice
            column += 1
            if whole:
                break
        if fault != GOOD:
            # The quotes cannot be trusted: the bad row is one line, the next row the line after.
            at = find_byte(block, first, size, NEWLINE)
            if at == size and not final:
                at = first
                break
            at = min(at + 1, size)
            inside = 0
        elif not whole:
            at = first
            break
        elif column != columns:
            fault = FIELDS
        lines[row] = line
        fields[row] = column
        status[row] = fault
        if fault != GOOD:
            for slot in range(starts.shape[0]):
                starts[slot, row] = 0
                ends[slot, row] = 0
                doubled[slot, row] = False
        line += inside + 1
        row += 1
    return row, at, line


@cache
def _split_rows() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    u1 = types.uint8
    signature = types.UniTuple(i8, 3)(
        *(given(u1), flag, i8, i8, given(i8), array(i8, 2), array(i8, 2), array(flag, 2)),
        *(array(i8), array(i8), array(i8), i8),
    )
    return compiled(split_rows, signature, (find_byte, find_either))


class _Rows:
    """The rows of a block: the bounds of the fields asked for, and what is wrong."""

    def __init__(
        self,
        data: bytes,
        final: bool,
        marks: tuple[int, int],
        slots: NDArray[np.int64],
        line: int,
        most: int | None = None,
    ) -> None:
        self.block = np.frombuffer(data, np.uint8)
        size = data.count(b"\n") + 1 if most is None else most
        kept = int((slots >= 0).sum())
        starts = np.empty((kept, size), np.int64)
        ends = np.empty((kept, size), np.int64)
        doubled = np.empty((kept, size), np.bool_)
        lines, fields, status = (np.empty(size, np.int64) for _ in range(3))
        n, self.used, self.next_line = _split_rows()(
            *(self.block, final, *marks, slots, starts, ends, doubled, lines, fields, status, line)
        )
        self.starts, self.ends, self.doubled = starts[:, :n], ends[:, :n], doubled[:, :n]
        self.lines, self.fields, self.status = lines[:n], fields[:n], status[:n]

    def column(self, slot: int) -> pa.LargeStringArray:
        """The strings of one column."""
        return gather(self.block, self.starts[slot], self.ends[slot], self.doubled[slot])


class _Buffer:
    """What has been read and not yet used, and whether more is to come."""

    def __init__(self, source: Utf8) -> None:
        self.source = source
        self.data = b""
        self.final = False

    def fill(self, size: int, line: int) -> None:
        """Read on; twice as much as is held, where that is more than `size`."""
        if len(self.data) > LONGEST_ROW:
            raise too_long(self.source.name, line)
        piece = self.source.read(max(size, len(self.data)))
        self.final = not piece
        self.data += piece


def read_delimited(source: Utf8, kind: str, ask: Ask, bad: BadRows) -> Iterator[Part]:
    """Read a CSV or TSV file as parts of about `ask.batch_bytes`."""
    delimiter = ask.delimiter or DELIMITERS[kind]
    marks = (ord(delimiter), QUOTE if ask.quotes else -1)
    buffer = _Buffer(source)
    first = _first_row(buffer, marks, ask)
    if first is None:
        return
    cells, used, next_line = first
    header = has_header(cells, ask) if ask.header is None else ask.header
    names = cells if header else [str(number) for number in range(len(cells))]
    columns = choose_columns(source.name, names, ask, _hint(cells, delimiter, header, ask))
    line = 1
    if header:
        line, buffer.data = next_line, buffer.data[used:]
    order = [each for each in (columns.text, columns.label, columns.weight) if each is not None]
    if ask.keep:
        order += columns.others
    slots = np.full(len(names), -1, np.int64)
    for slot, column in enumerate(dict.fromkeys(order)):
        slots[column] = slot
    while True:
        rows = _Rows(buffer.data, buffer.final, marks, slots, line)
        if len(rows.lines):
            yield _part(rows, columns, slots, ask, bad, source.name)
        # A block that ends inside a row: what is left is the beginning of the next block.
        buffer.data = buffer.data[rows.used :]
        line = rows.next_line
        if buffer.final:
            return
        buffer.fill(ask.batch_bytes, line)


def _first_row(
    buffer: _Buffer, marks: tuple[int, int], ask: Ask
) -> tuple[list[str], int, int] | None:
    """The fields of the first row, its length, and the line after; None: no row."""
    nothing = np.empty(0, np.int64)
    while True:
        rows = _Rows(buffer.data, buffer.final, marks, nothing, 1, most=1)
        if len(rows.lines) or buffer.final:
            break
        buffer.fill(ask.batch_bytes, 1)
    if not len(rows.lines):
        return None
    line = int(rows.lines[0])
    name = buffer.source.name
    if rows.status[0] in (OPEN, AFTER):
        raise DataError(f"{name}, line {line}: {_reason(rows, 0, 0)}; {_NO_QUOTES}")
    slots = np.arange(rows.fields[0])
    rows = _Rows(buffer.data, buffer.final, marks, slots, 1, most=1)
    cells = [rows.column(slot) for slot in slots]
    if not all(is_utf8(cell) for cell in cells):
        raise DataError(
            f"{name}, line {line}: the first line is not valid {ask.encoding.upper()}; say which "
            "encoding the file has (encoding=, --encoding latin-1)"
        )
    return [cell[0].as_py() for cell in cells], rows.used, rows.next_line


def _hint(cells: list[str], delimiter: str, header: bool, ask: Ask) -> str:
    """What else may be wrong where a column is not found."""
    if len(cells) == 1 and ask.delimiter is None:
        for other in (";", "\t", ",", "|"):
            if other != delimiter and other in cells[0]:
                return f", or the delimiter, if it is {other!r} (delimiter=, --delimiter)"
    if header and ask.header is None:
        return ", or give positions if the first line is no header (header=False, --no-header)"
    return ""


def _reason(rows: _Rows, row: int, expected: int) -> str:
    """What is wrong with a row."""
    if rows.status[row] == OPEN:
        return "a quote is opened and never closed"
    if rows.status[row] == AFTER:
        return "something follows the closing quote of a field"
    count = int(rows.fields[row])
    return f"{count} field{'s' if count != 1 else ''} where the first line has {expected}"


def _part(
    rows: _Rows, columns: Columns, slots: NDArray[np.int64], ask: Ask, bad: BadRows, file: str
) -> Part:
    """The rows of a block as arrays, without the bad ones."""
    faults = Faults()
    for row in np.flatnonzero(rows.status):
        remedy = "" if rows.status[row] == FIELDS else f"mend the line, or {_NO_QUOTES}"
        faults.add(int(row), _reason(rows, int(row), len(slots)), remedy)
    strings = {column: rows.column(int(slot)) for column, slot in enumerate(slots) if slot >= 0}
    text = strings[columns.text]
    label = None if columns.label is None else strings[columns.label]
    weight = None if columns.weight is None else strings[columns.weight]
    faults.check_text(text, "text", ask.encoding)
    faults.check_text(label, "label", ask.encoding)
    faults.check_label(label)
    table = None
    if ask.keep and columns.others:
        for column in columns.others:
            faults.check_text(strings[column], f"column {columns.names[column]!r}", ask.encoding)
        table = pa.RecordBatch.from_arrays(
            [strings[column] for column in columns.others],
            names=[columns.names[column] for column in columns.others],
        )
    if weight is not None and not is_utf8(weight):
        faults.check_text(weight, "weight", ask.encoding)
        weight = pa.array(
            [each.decode("utf-8", "replace") for each in weight.cast(pa.large_binary()).to_pylist()]
        )
    part = Part(
        lines=rows.lines,
        text=text,
        label=label,
        weight=faults.check_weight(weight),
        table=table,
        text_name=columns.names[columns.text],
        label_name=columns.label_name,
    )
    return faults.settle(part, bad, file)
