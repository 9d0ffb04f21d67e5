"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import ByteStream
from sureline.data.columns import select_columns
from sureline.data.formats import Format
from sureline.data.formats.tables import TableRows, read_rows, rows_per_batch
from sureline.data.raw_batch import RawBatch
from sureline.data.read_options import ReadOptions


def read(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """Read a Parquet file as raw batches."""
    return read_rows(_tables(stream, options), stream, "a Parquet", options, bad)


def _tables(stream: ByteStream, options: ReadOptions) -> Iterator[TableRows]:
    """The columns to read, some rows at a time."""
    from pyarrow import parquet

    # Prefetching whole row groups would take as much memory as they do.
    source = stream.on_disk()
    with source, parquet.ParquetFile(source, pre_buffer=False, buffer_size=2**18) as file:
        names, metadata = file.schema_arrow.names, file.metadata
        columns = select_columns(stream.name, names, options)
        positions = columns.positions(options.keep)
        if len(set(names)) < len(names):  # Arrow reads columns by name: read them all
            positions = list(range(len(names)))
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        total, done = max(metadata.num_rows, 1), 0
        for batch in file.iter_batches(
            batch_size=rows_per_batch(metadata.num_rows, size, options),
            columns=None if len(positions) == len(names) else [names[at] for at in positions],
            use_threads=False,
        ):
            done += batch.num_rows
            stream.fraction_read = done / total
            arrays = dict(zip(positions, batch.columns, strict=True))
            yield TableRows(columns, arrays, batch.num_rows)


FORMAT = Format(
    name="parquet",
    extensions=("parquet", "pq"),
    matches=lambda sample: sample.head.startswith(b"PAR1"),
    read=read,
    has_columns=True,
)
