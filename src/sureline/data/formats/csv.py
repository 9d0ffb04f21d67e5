"""CSV, with quotes as spreadsheets write them.

A field that begins with a quote ends at the next single quote and may hold delimiters and newlines;
a doubled quote in it means one. After the closing quote must come a delimiter or the end of the
line: a stray quote is then reported as a bad row, and does not swallow the rows after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import is_utf8
from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.byte_streams import ByteStream, Utf8Stream
from sureline.data.columns import SelectedColumns, has_header, select_columns
from sureline.data.formats import Format, Sample
from sureline.data.formats import line_blocks as blocks
from sureline.data.formats.byte_scan import NEWLINE, QUOTE, RETURN, find_byte, find_either
from sureline.data.formats.field_copy import gather_fields
from sureline.data.raw_batch import NAME_ENCODING, RawBatch, RowErrors
from sureline.data.read_options import ReadOptions
from sureline.errors import DataError

GOOD, FIELD_COUNT, UNCLOSED_QUOTE, AFTER_QUOTE = range(4)
_NO_QUOTES = "if quotes are plain characters in this file, read them as such (quotes=False)"


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
    block: Any, final: Any, dialect: Any, slots: Any, fields: Any, rows: Any, line: Any
) -> Any:
    """Find the fields of all whole rows of a block.

    `slots[c]` is the row of `fields` for column c, or -1 if the column is not read. At most as many
    rows are found as `rows` can hold. Returns the number of rows, where the next row starts, and
    its line.
    """
    delimiter, quote = dialect
    size = block.shape[0]
    columns = slots.shape[0]
    row = 0
    at = 0
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
        if status != GOOD:
            # The quotes cannot be trusted: the bad row is one line, the next line is a new row.
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
    return row, at, line


@cache
def _compiled_split() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    signature = types.UniTuple(i8, 3)(
        given(types.uint8),
        flag,
        types.NamedUniTuple(i8, 2, Dialect),
        given(i8),
        types.NamedTuple((array(i8, 2), array(i8, 2), array(flag, 2)), Fields),
        types.NamedUniTuple(array(i8), 3, Rows),
        i8,
    )
    return compiled(split_rows, signature, (find_byte, find_either))


class _Table:
    """The whole rows at the beginning of a block."""

    def __init__(
        self,
        buffer: _Buffer,
        dialect: Dialect,
        slots: NDArray[np.int64],
        line: int,
        most: int | None = None,
    ) -> None:
        self.block = buffer.block
        size = blocks.count_lines(self.block) if most is None else most
        shape = (int((slots >= 0).sum()), size)
        fields = Fields(
            np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.bool_)
        )
        rows = Rows(*(np.empty(size, np.int64) for _ in range(3)))
        n, self.used, self.next_line = _compiled_split()(
            self.block, buffer.final, dialect, slots, fields, rows, line
        )
        self.fields = Fields._make(each[:, :n] for each in fields)
        self.rows = Rows._make(each[:n] for each in rows)

    def __len__(self) -> int:
        return len(self.rows.lines)

    def column(self, slot: int) -> pa.LargeStringArray:
        """The strings of one column."""
        starts, ends, doubled = self.fields
        return gather_fields(self.block, starts[slot], ends[slot], doubled[slot])

    def reason(self, row: int | np.integer[Any], expected: int) -> str:
        """What is wrong with a row."""
        if self.rows.status[row] == UNCLOSED_QUOTE:
            return "a quote is opened and never closed"
        if self.rows.status[row] == AFTER_QUOTE:
            return "something follows the closing quote of a field"
        count = int(self.rows.counts[row])
        return f"{count} field{'s' if count != 1 else ''} where the first line has {expected}"


class _Buffer:
    """The bytes that have been read and not parsed yet, and whether these are the last ones."""

    def __init__(self, source: Utf8Stream) -> None:
        self.source = source
        self.final = False
        self.block = np.empty(0, np.uint8)
        self._space = self.block

    def drop(self, used: int) -> None:
        """Drop the first `used` bytes."""
        self.block = self.block[used:]

    def fill(self, size: int, line: int) -> None:
        """Read `size` bytes more, or as many as there are already if these are more."""
        kept = len(self.block)
        if kept > blocks.LONGEST_ROW:
            raise blocks.row_too_long(self.source.name, line)
        chunk = self.source.read(max(size, kept))
        self.final = not chunk
        needed = kept + len(chunk)
        space = self._space if needed <= len(self._space) else np.empty(needed * 5 // 4, np.uint8)
        space[:kept] = self.block
        space[kept:needed] = np.frombuffer(chunk, np.uint8)
        self._space, self.block = space, space[:needed]


def read(
    stream: ByteStream, options: ReadOptions, bad: BadRows, delimiter: str = ","
) -> Iterator[RawBatch]:
    """Read a CSV file as raw batches."""
    delimiter = options.delimiter or delimiter
    dialect = Dialect(ord(delimiter), QUOTE if options.quotes else -1)
    buffer = _Buffer(Utf8Stream(stream, options.encoding))
    first = _first_row(buffer, dialect, options)
    if first is None:
        return
    values, used, line = first
    header = has_header(values, options) if options.header is None else options.header
    names = values if header else [str(number) for number in range(len(values))]
    hint = _hint(values, delimiter, header, options)
    columns = select_columns(stream.name, names, options, hint)
    if header:
        buffer.drop(used)
    else:
        line = 1
    slots = np.full(len(names), -1, np.int64)
    for slot, column in enumerate(columns.positions(options.keep)):
        slots[column] = slot
    while True:
        table = _Table(buffer, dialect, slots, line)
        if len(table):
            yield _raw_batch(table, columns, slots, options, bad, stream.name)
        # A row that goes on beyond the block begins the next one.
        buffer.drop(table.used)
        line = table.next_line
        if buffer.final:
            return
        buffer.fill(options.batch_bytes, line)


def _first_row(
    buffer: _Buffer, dialect: Dialect, options: ReadOptions
) -> tuple[list[str], int, int] | None:
    """The fields of the first row, its length, and the line after it; None if there is no row."""
    while True:
        table = _Table(buffer, dialect, np.empty(0, np.int64), 1, most=1)
        if len(table) or buffer.final:
            break
        buffer.fill(options.batch_bytes, 1)
    if not len(table):
        return None
    where = f"{buffer.source.name}, line {table.rows.lines[0]}"
    if table.rows.status[0] in (UNCLOSED_QUOTE, AFTER_QUOTE):
        raise DataError(f"{where}: {table.reason(0, 0)}; {_NO_QUOTES}")
    slots = np.arange(table.rows.counts[0])
    table = _Table(buffer, dialect, slots, 1, most=1)
    fields = [table.column(slot) for slot in slots]
    if not all(is_utf8(field) for field in fields):
        encoding = options.encoding.upper()
        raise DataError(f"{where}: the first line is not valid {encoding}; {NAME_ENCODING}")
    return [field[0].as_py() for field in fields], table.used, table.next_line


def _hint(first: list[str], delimiter: str, header: bool, options: ReadOptions) -> str:
    """What else may be wrong if a column is not found."""
    if len(first) == 1 and options.delimiter is None:
        for other in (";", "\t", ",", "|"):
            if other != delimiter and other in first[0]:
                return f", or the field delimiter (delimiter={other!r})"
    if header and options.header is None:
        return ", or give positions if the first line is not a header (header=False)"
    return ""


def _raw_batch(
    table: _Table,
    columns: SelectedColumns,
    slots: NDArray[np.int64],
    options: ReadOptions,
    bad: BadRows,
    file: str,
) -> RawBatch:
    """The rows of a block without the bad ones."""
    errors = RowErrors(options, bad, file)
    for row in np.flatnonzero(table.rows.status):
        remedy = ""
        if table.rows.status[row] != FIELD_COUNT:
            remedy = f"fix the line, or {_NO_QUOTES}"
        errors.add(row, table.reason(row, len(slots)), remedy)
    strings = {column: table.column(int(slot)) for column, slot in enumerate(slots) if slot >= 0}
    read = {role: strings[column] for role, column in columns.roles.items()}
    weight = read.get("weight")
    errors.check_text(weight, "weight")
    others = None
    if options.keep:
        for column in columns.others:
            errors.check_text(strings[column], f"column {columns.names[column]!r}")
        others = columns.table(strings)
    if weight is not None and not is_utf8(weight):
        values = weight.cast(pa.large_binary()).to_pylist()
        weight = pa.array([value.decode("utf-8", "replace") for value in values])
    rows = Batch(
        text=read["text"],
        label=read.get("label"),
        weight=errors.check_weight(weight),
        table=others,
    )
    return errors.good_rows(rows, table.rows.lines, "untyped", columns)


def matches(sample: Sample, delimiter: bytes = b",") -> bool:
    """Whether a first line has fields with this delimiter, rather than with a comma or a tab."""
    for candidate in (b"\t", b","):
        if sample.columns & {field.strip(b'"') for field in sample.line.split(candidate)}:
            return candidate == delimiter
    return delimiter == (b"\t" if b"\t" in sample.line else b",") and delimiter in sample.line


FORMAT = Format("csv", ("csv",), matches, read, has_columns=True)
