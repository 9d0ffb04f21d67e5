"""What Parquet and Arrow have in common: tables with typed columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.arrow_arrays import decode, is_binary, is_string, value_sizes, without_views
from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch, split_sizes
from sureline.data.byte_streams import ByteStream
from sureline.data.columns import SelectedColumns
from sureline.data.labels import AS_TEXT, cast_label
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions
from sureline.errors import DataError

# The least and the most rows of a batch.
_ROWS = (16, 2**16)


class TableRows(NamedTuple):
    """Some rows of a table: the columns that were read, by their position."""

    columns: SelectedColumns
    arrays: dict[int, pa.Array]
    n_rows: int


def read_rows(
    tables: Iterator[TableRows], stream: ByteStream, kind: str, options: ReadOptions, bad: BadRows
) -> Iterator[RawBatch]:
    """Convert the rows of a Parquet or Arrow file to raw batches.

    `tables` may raise what Arrow raises for a damaged file; `kind` is what messages call the
    format, with its article.
    """
    done = 0
    while True:
        try:
            table = next(tables, None)
        except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
            message = " ".join(str(error).split())[:200]
            raise DataError(
                f"{stream.name} is damaged, truncated or not {kind} file ({message}); get it again"
            ) from None
        if table is None:
            return
        for part, sizes in _parts(table, options):
            if len(sizes) == 1 and sizes[0] > options.row_limit:  # it is not even decoded
                bad.add(stream.name, done + 1, *options.too_long, unit="row")
            else:
                errors = RowErrors(options, bad, stream.name)
                for row in np.flatnonzero(sizes > options.row_limit):
                    errors.add(row, *options.too_long)
                yield _raw_batch(part, done, errors)
            done += part.n_rows


def _parts(table: TableRows, options: ReadOptions) -> Iterator[tuple[TableRows, NDArray[np.int64]]]:
    """The rows in parts that are not too large once they are decoded, and the size of each row.

    A dictionary holds a text once, however many rows have it.
    """
    columns, arrays, n_rows = table
    every = [arrays[column] for column in columns.positions(options.keep)]
    sizes = sum(map(value_sizes, every), np.zeros(n_rows, np.int64))
    if sizes.sum() <= 2 * options.batch_bytes:
        if n_rows:
            yield table, sizes
        return
    for start, stop in split_sizes(sizes, options.batch_bytes):
        cut = {column: array.slice(start, stop - start) for column, array in arrays.items()}
        yield TableRows(columns, cut, stop - start), sizes[start:stop]


def rows_per_batch(rows: int, size: int, options: ReadOptions) -> int:
    """How many rows make a batch, if `rows` of them take `size` bytes."""
    return int(min(max(options.batch_bytes * rows // max(size, 1), _ROWS[0]), _ROWS[1]))


def _raw_batch(table: TableRows, done: int, errors: RowErrors) -> RawBatch:
    """The rows of a table without the bad ones."""
    columns, arrays, n_rows = table
    options, file = errors.options, errors.file
    read = {role: arrays[column] for role, column in columns.roles.items()}
    if options.table:
        arrays_of = {role: without_views(decode(array)) for role, array in read.items()}
        text = errors.read_table(arrays_of)
    else:
        text = _as_text(read["text"], str(columns.text_name), file)
    label = weight = others = None
    if "label" in read:
        label = _as_label(read["label"], str(columns.label_name), options, file)
    if "weight" in read:
        weight = errors.check_weight(decode(read["weight"]))
    if options.keep:
        kept = {column: without_views(decode(arrays[column])) for column in columns.others}
        for column, array in kept.items():
            if is_string(array.type):
                errors.check_utf8(array, f"the column {columns.names[column]!r}")
        others = columns.table(kept)
    rows = Batch(text=text, label=label, weight=weight, table=others)
    numbers = np.arange(done + 1, done + n_rows + 1)
    return errors.good_rows(rows, numbers, "typed", columns, "row")


def _as_text(array: pa.Array, name: str, file: str) -> pa.LargeStringArray:
    """A column as texts, whichever of Arrow's types of strings it has."""
    array = decode(array)
    if is_binary(array.type):
        # Some writers do not declare that their bytes are UTF-8; this is checked later.
        return array.cast(pa.large_binary()).view(pa.large_string())
    if is_string(array.type) or pa.types.is_null(array.type):
        return array.cast(pa.large_string())
    raise DataError(
        f"column {name!r} of {file} holds {array.type}, not text; name the text column (text=...)"
    )


def _as_label(array: pa.Array, name: str, options: ReadOptions, file: str) -> pa.Array:
    label = None
    try:
        label = cast_label(array)
        if label is None and options.label_as_text:
            label = pc.cast(array, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        label = None
    if label is None:
        raise DataError(
            f"column {name!r} of {file} holds {array.type}, which cannot be a label: labels are "
            f"text, whole numbers, numbers or true and false, or lists of these; name another "
            f"column (label=...) or {AS_TEXT}"
        )
    return label
