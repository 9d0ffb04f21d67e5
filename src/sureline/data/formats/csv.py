"""CSV, with quotes as spreadsheets write them.

A field that begins with a quote ends at the next single quote and may hold delimiters and newlines;
a doubled quote in it means one. After the closing quote must come a delimiter or the end of the
line: a stray quote is then reported as a bad row, and does not swallow the rows after it. Nor does
one that no other quote follows: a row that is too long is bad, and the next line is a new row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from sureline.data.formats.byte_scan import QUOTE
from sureline.data.formats.csv_rows import (
    AFTER_QUOTE,
    FIELD_COUNT,
    TOO_LONG,
    UNCLOSED_QUOTE,
    Dialect,
    Fields,
    Rows,
    compiled_split,
)
from sureline.data.formats.field_copy import gather_fields
from sureline.data.raw_batch import NAME_ENCODING, RawBatch, RowErrors
from sureline.data.read_options import ReadOptions
from sureline.errors import DataError

MOST_COLUMNS = 2**16
MOST_FIELDS = 2**22  # of a batch: rows times columns that are read, also of rows that have fewer
_NO_QUOTES = "if quotes are plain characters in this file, read them as such (quotes=False)"


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
        columns = int((slots >= 0).sum())
        size = blocks.count_lines(self.block) if most is None else most
        size = max(1, min(size, MOST_FIELDS // max(columns, 1)))
        shape = (columns, size)
        fields = Fields(
            np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.bool_)
        )
        rows = Rows(*(np.empty(size, np.int64) for _ in range(3)))
        n, self.used, self.next_line, self.cut = compiled_split()(
            self.block, buffer.final, buffer.limit, dialect, slots, fields, rows, line
        )
        self.full = n == size  # there may be more rows in the block
        self.fields = Fields._make(each[:, :n] for each in fields)
        self.rows = Rows._make(each[:n] for each in rows)

    def __len__(self) -> int:
        return len(self.rows.lines)

    def column(self, slot: int) -> pa.LargeStringArray:
        """The strings of one column."""
        starts, ends, doubled = self.fields
        return gather_fields(self.block, starts[slot], ends[slot], doubled[slot])

    def reason(self, row: int | np.integer[Any], expected: int, options: ReadOptions) -> str:
        """What is wrong with a row."""
        if self.rows.status[row] == TOO_LONG:
            return options.too_long[0]
        if self.rows.status[row] == UNCLOSED_QUOTE:
            return "a quote is opened and never closed"
        if self.rows.status[row] == AFTER_QUOTE:
            return "something follows the closing quote of a field"
        count = int(self.rows.counts[row])
        return f"{count} field{'s' if count != 1 else ''} where the first line has {expected}"


class _Buffer:
    """The bytes that have been read and not parsed yet, and whether these are the last ones."""

    def __init__(self, source: Utf8Stream, options: ReadOptions) -> None:
        self.source = source
        self.limit = options.row_limit
        self.final = False
        self._chunk_bytes = options.batch_bytes
        self.block = np.empty(0, np.uint8)
        self._space = self.block

    def drop(self, used: int) -> None:
        """Drop the first `used` bytes."""
        self.block = self.block[used:]

    def fill(self) -> None:
        """Read more: as much as there is already, so that long rows are not scanned many times."""
        kept, size = len(self.block), self._chunk_bytes
        chunk = self.source.read(max(size, min(kept, self.limit + size - kept)))
        self.final = not chunk
        needed = kept + len(chunk)
        space = self._space if needed <= len(self._space) else np.empty(needed * 5 // 4, np.uint8)
        space[:kept] = self.block
        space[kept:needed] = np.frombuffer(chunk, np.uint8)
        self._space, self.block = space, space[:needed]

    def skip_line(self) -> None:
        """Drop what comes before the next line; nothing else is in the buffer."""
        end, chunk = 0, b""
        while not (end or self.final):
            chunk = self.source.read(self._chunk_bytes)
            end, self.final = chunk.find(b"\n") + 1, not chunk
        self.block = np.frombuffer(chunk, np.uint8)[end:]


def read(
    stream: ByteStream, options: ReadOptions, bad: BadRows, delimiter: str = ","
) -> Iterator[RawBatch]:
    """Read a CSV file as raw batches."""
    delimiter = options.delimiter or delimiter
    dialect = Dialect(ord(delimiter), QUOTE if options.quotes else -1)
    buffer = _Buffer(Utf8Stream(stream, options.encoding), options)
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
        if table.cut:
            buffer.skip_line()
        elif not table.full:
            if buffer.final:
                return
            buffer.fill()


def _first_row(
    buffer: _Buffer, dialect: Dialect, options: ReadOptions
) -> tuple[list[str], int, int] | None:
    """The fields of the first row, its length, and the line after it; None if there is no row."""
    while True:
        table = _Table(buffer, dialect, np.empty(0, np.int64), 1, most=1)
        if len(table) or buffer.final:
            break
        buffer.fill()
    if not len(table):
        return None
    where = f"{buffer.source.name}, line {table.rows.lines[0]}"
    if table.rows.status[0] in (UNCLOSED_QUOTE, AFTER_QUOTE, TOO_LONG):
        raise DataError(f"{where}: {table.reason(0, 0, options)}; {_NO_QUOTES}")
    if table.rows.counts[0] > MOST_COLUMNS:
        raise DataError(
            f"{where}: there are {table.rows.counts[0]:,} columns, more than {MOST_COLUMNS:,}; "
            "name the field delimiter if it is another (delimiter=...)"
        )
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
    if not options.labelled:
        return ", or read every line as a text (format='lines')"
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
        if table.rows.status[row] == TOO_LONG:
            remedy = f"look for a quote that is never closed; {options.too_long[1]}"
        elif table.rows.status[row] != FIELD_COUNT:
            remedy = f"fix the line, or {_NO_QUOTES}"
        errors.add(row, table.reason(row, len(slots), options), remedy)
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
        text=errors.read_table(read) if options.table else read["text"],
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
