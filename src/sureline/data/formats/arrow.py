"""Arrow IPC files and streams."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sureline.data.arrow_arrays import count_bytes
from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import ByteStream
from sureline.data.columns import SelectedColumns, select_columns
from sureline.data.formats import Format
from sureline.data.formats.tables import TableRows, read_rows, rows_per_batch
from sureline.data.raw_batch import RawBatch
from sureline.data.read_options import ReadOptions

# From this size on, record batches are mapped rather than read.
MAPPED_BYTES = 2**26
_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"


def read(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """Read an Arrow file or stream as raw batches."""
    read_tables = _read_file if stream.peek(len(_FILE)) == _FILE else _read_stream
    return read_rows(read_tables(stream, options), stream, "an Arrow", options, bad)


def _read_stream(stream: ByteStream, options: ReadOptions) -> Iterator[TableRows]:
    """The columns to read from a stream, some rows at a time."""
    from pyarrow import ipc

    with ipc.open_stream(stream.as_arrow()) as batches:
        columns = select_columns(stream.name, batches.schema.names, options)
        positions = columns.positions(options.keep)
        for batch in batches:
            yield from _split(columns, positions, batch.select(positions), options)


def _read_file(stream: ByteStream, options: ReadOptions) -> Iterator[TableRows]:
    """The columns to read from a file, some rows at a time."""
    from pyarrow import ipc

    source = stream.on_disk(options)
    with ipc.open_file(source) as file:
        columns = select_columns(stream.name, file.schema.names, options)
        count = file.num_record_batches
    if stream.path is not None and source.size() > MAPPED_BYTES * count:
        source.close()
        source = pa.memory_map(stream.path)
    positions = columns.positions(options.keep)
    only = ipc.IpcReadOptions(included_fields=positions, use_threads=False)
    with source, ipc.open_file(source, options=only) as file:
        for number in range(count):
            yield from _split(columns, positions, file.get_batch(number), options)
            stream.fraction_read = (number + 1) / count


def _split(
    columns: SelectedColumns, positions: list[int], batch: pa.RecordBatch, options: ReadOptions
) -> Iterator[TableRows]:
    """A record batch in slices of about `options.batch_bytes`."""
    for column in batch.columns:
        _validate(column)
    rows = rows_per_batch(batch.num_rows, count_bytes(batch), options)
    for start in range(0, batch.num_rows, rows):
        part = batch.slice(start, rows)
        yield TableRows(columns, dict(zip(positions, part.columns, strict=True)), part.num_rows)


def _validate(column: pa.Array) -> None:
    """Raise what Arrow raises for offsets out of bounds; bad UTF-8 is reported by row, later."""
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.view(pa.large_binary())
    column.validate(full=True)


FORMAT = Format(
    name="arrow",
    extensions=("arrow", "arrows", "feather", "ipc"),
    matches=lambda sample: sample.head.startswith((_FILE, _STREAM)),
    read=read,
    has_columns=True,
)
