"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator

from sureline.data.arrow_arrays import check_indices
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

    source = stream.on_disk(options)
    with parquet.ParquetFile(source) as file:
        names, metadata = file.schema_arrow.names, file.metadata
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    options.check_expansion(stream.name, source.size(), size)
    columns = select_columns(stream.name, names, options)
    positions = columns.positions(options.keep)
    # Prefetching whole row groups would take as much memory as they do, and decoding dictionaries
    # far more than the file: a text that many rows share is in it once.
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    strings = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"}
    encoded = [names[at] for at in positions if names[at] in strings]
    with (
        source,
        parquet.ParquetFile(
            source,
            metadata=metadata,
            pre_buffer=False,
            buffer_size=2**18,
            read_dictionary=encoded,
        ) as file,
    ):
        if len(set(names)) < len(names):  # Arrow reads columns by name: read them all
            positions = list(range(len(names)))
        total, done = max(metadata.num_rows, 1), 0
        for batch in file.iter_batches(
            batch_size=rows_per_batch(metadata.num_rows, size, options),
            columns=None if len(positions) == len(names) else [names[at] for at in positions],
            use_threads=False,
        ):
            done += batch.num_rows
            stream.fraction_read = done / total
            arrays = dict(zip(positions, batch.columns, strict=True))
            for array in arrays.values():
                check_indices(array)
            yield TableRows(columns, arrays, batch.num_rows)


FORMAT = Format(
    name="parquet",
    extensions=("parquet", "pq"),
    matches=lambda sample: sample.head.startswith(b"PAR1"),
    read=read,
    has_columns=True,
)
