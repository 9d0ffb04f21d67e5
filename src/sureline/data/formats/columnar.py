"""Parquet and Arrow files: tables that know their types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import Stream
from sureline.data.column_choice import Columns, choose_columns
from sureline.data.formats.raw_rows import Ask, Faults, Part
from sureline.data.labels import is_stringlike, plain, plain_label
from sureline.errors import DataError

# Rows a batch, at least and at most; and from which size on a record batch is mapped, not read.
_ROWS = (16, 2**16)
_MAPPED = 2**26

Progress = Callable[[float], None]
Found = tuple[Columns, dict[int, pa.Array], int]


def read_columnar(
    stream: Stream, kind: str, ask: Ask, bad: BadRows, progress: Progress
) -> Iterator[Part]:
    """Read a Parquet or Arrow file as parts; `progress` is told the share that has been read."""
    reading = (_read_parquet if kind == "parquet" else _read_arrow)(stream, ask, progress)
    done = 0
    while True:
        try:
            # Pieces of a file that lie elsewhere than it says can fail in many ways.
            found = next(reading, None)
        except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
            raise _damaged(stream.name, kind, error) from None
        if found is None:
            return
        if found[2]:
            yield _part(found, done, ask, bad, stream.name)
            done += found[2]


def _damaged(file: str, kind: str, error: Exception) -> DataError:
    """What to say of a file that Arrow cannot read."""
    said = " ".join(str(error).split())
    name = "a Parquet" if kind == "parquet" else "an Arrow"
    return DataError(f"{file} is damaged, cut off or not {name} file ({said[:200]}); get it again")


def _read_parquet(stream: Stream, ask: Ask, progress: Progress) -> Iterator[Found]:
    """The wanted columns of a Parquet file, some rows at a time."""
    from pyarrow import parquet

    # Reading ahead whole row groups would take as much memory as they do.
    source = stream.on_disk()
    with source, parquet.ParquetFile(source, pre_buffer=False, buffer_size=2**18) as file:
        names = file.schema_arrow.names
        columns = choose_columns(stream.name, names, ask)
        wanted = _wanted(columns, ask)
        asked: list[str] | None = [names[column] for column in wanted]
        if len(set(names)) < len(names):  # names do not tell columns apart
            wanted, asked = list(range(len(names))), None
        total, done = max(file.metadata.num_rows, 1), 0
        for batch in file.iter_batches(
            batch_size=_rows_a_batch(file.metadata, ask),
            columns=asked,
            use_threads=False,
        ):
            done += batch.num_rows
            progress(done / total)
            yield columns, dict(zip(wanted, batch.columns, strict=True)), batch.num_rows


def _rows_a_batch(metadata: Any, ask: Ask) -> int:
    """About how many rows of a Parquet file make a batch."""
    groups = range(metadata.num_row_groups)
    size = sum(metadata.row_group(group).total_byte_size for group in groups)
    rows = ask.batch_bytes * metadata.num_rows // max(size, 1)
    return int(min(max(rows, _ROWS[0]), _ROWS[1]))


def _read_arrow(stream: Stream, ask: Ask, progress: Progress) -> Iterator[Found]:
    """The wanted columns of an Arrow file or stream, a piece of a record batch at a time."""
    from pyarrow import ipc

    if stream.peek(6) != b"ARROW1":
        with ipc.open_stream(stream.as_arrow()) as batches:
            columns = choose_columns(stream.name, batches.schema.names, ask)
            wanted = _wanted(columns, ask)
            for batch in batches:
                yield from _pieces(columns, wanted, batch.select(wanted), ask)
        return
    source = stream.on_disk()
    with ipc.open_file(source) as file:
        columns = choose_columns(stream.name, file.schema.names, ask)
        count = file.num_record_batches
    if stream.path is not None and source.size() > _MAPPED * count:
        source.close()
        source = pa.memory_map(stream.path)
    wanted = _wanted(columns, ask)
    options = ipc.IpcReadOptions(included_fields=wanted, use_threads=False)
    with source, ipc.open_file(source, options=options) as file:
        for number in range(count):
            yield from _pieces(columns, wanted, file.get_batch(number), ask)
            progress((number + 1) / count)


def _pieces(
    columns: Columns, wanted: list[int], batch: pa.RecordBatch, ask: Ask
) -> Iterator[Found]:
    """A record batch in pieces of about `ask.batch_bytes`."""
    for column in batch.columns:
        _check(column)
    rows = ask.batch_bytes * batch.num_rows // max(batch.nbytes, 1)
    rows = min(max(rows, _ROWS[0]), _ROWS[1])
    for start in range(0, batch.num_rows, rows):
        piece = batch.slice(start, rows)
        yield columns, dict(zip(wanted, piece.columns, strict=True)), piece.num_rows


def _check(column: pa.Array) -> None:
    """Raise what Arrow raises where a damaged file points anywhere; bad UTF-8 is seen to later."""
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.view(pa.large_binary())
    column.validate(full=True)


def _wanted(columns: Columns, ask: Ask) -> list[int]:
    """The positions of the columns to read, in the order of the file."""
    used = [columns.text, columns.label, columns.weight]
    return sorted({each for each in used if each is not None} | set(columns.others * ask.keep))


def _part(found: Found, done: int, ask: Ask, bad: BadRows, file: str) -> Part:
    """Rows of a table as arrays, without the bad ones."""
    columns, arrays, rows = found
    faults = Faults()
    text = _text(arrays[columns.text], columns.names[columns.text], file)
    faults.check_text(text, "text", "utf-8")
    label = None
    if columns.label is not None:
        label = _label(arrays[columns.label], columns.names[columns.label], ask, file)
        if pa.types.is_large_string(label.type):
            faults.check_text(label, "label", "utf-8")
        faults.check_label(label)
    weight = None
    if columns.weight is not None:
        weight = plain(arrays[columns.weight])
    table = None
    if ask.keep and columns.others:
        for column in columns.others:
            if is_stringlike(arrays[column].type):
                strings = arrays[column].fill_null("")
                faults.check_text(strings, f"column {columns.names[column]!r}", "utf-8")
        table = pa.RecordBatch.from_arrays(
            [arrays[column] for column in columns.others],
            names=[columns.names[column] for column in columns.others],
        )
    part = Part(
        np.arange(done + 1, done + rows + 1),
        text=text,
        label=label,
        labels="typed",
        weight=faults.check_weight(weight),
        table=table,
        unit="row",
        text_name=columns.names[columns.text],
        label_name=columns.label_name,
    )
    return faults.settle(part, bad, file)


def _text(array: pa.Array, name: str, file: str) -> pa.LargeStringArray:
    """A column as texts, whichever of Arrow's forms of strings it has."""
    array = plain(array)
    kind = array.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        # Some writers leave out that their bytes are UTF-8; whether they are is checked later.
        array = array.cast(pa.large_binary())
        return pa.LargeStringArray.from_buffers(
            len(array), *array.buffers()[1:], array.buffers()[0], array.null_count, array.offset
        )
    if is_stringlike(kind) or pa.types.is_null(kind):
        return array.cast(pa.large_string())
    raise DataError(
        f"column {name!r} of {file} holds {kind}, not text; name the text column (text=, --text)"
    )


def _label(array: pa.Array, name: str, ask: Ask, file: str) -> pa.Array:
    """A column as labels."""
    label = None
    try:
        label = plain_label(array)
        if label is None and ask.label_as_text:
            label = pc.cast(array, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        label = None
    if label is None:
        raise DataError(
            f"column {name!r} of {file} holds {array.type}, which cannot be a label: labels are "
            "text, whole numbers, numbers or true and false; name another column (label=, "
            "--label) or read labels as text (label_type='text', --label-type text)"
        )
    return label
