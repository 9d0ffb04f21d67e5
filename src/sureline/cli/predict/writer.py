"""Tables of predictions to stdout or a file: CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sureline.cli.controls import escape_controls, without_formula
from sureline.data.atomic_write import atomic_write
from sureline.errors import DataError, InvalidParameter

KINDS = {"csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl"}
KINDS |= {"parquet": "parquet", "pq": "parquet"}
GROUP = 2**17  # rows of a Parquet row group


def choose_kind(output: str | None, asked: str | None) -> str:
    """The format to write: as asked, or by the end of the output's name, or CSV."""
    if asked is not None:
        return asked
    if output is None or output == "-":
        return "csv"
    end = Path(output).suffix[1:].lower()
    if end not in KINDS:
        raise InvalidParameter(
            f"the name -o {output} has no known format; end it in .csv, .jsonl or .parquet, "
            "or give --output-format"
        )
    return KINDS[end]


@contextmanager
def open_output(path: str | None) -> Iterator[IO[bytes]]:
    """Stdout, or a file that takes its place only once it is complete."""
    if path is None or path == "-":
        sys.stdout.flush()
        yield _Terminal() if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(path) as file:
        yield file


class _Terminal(io.BytesIO):
    """Stdout on a terminal: control characters in labels and texts are escaped."""

    def write(self, data: Any) -> int:
        return sys.stdout.buffer.write(escape_controls(bytes(data).decode()).encode())


def write_csv(file: IO[bytes], batches: Iterable[pa.RecordBatch], safe: bool = False) -> None:
    """Comma-separated, with a header; what is missing is empty.

    With `safe`, no field is a formula to a spreadsheet.
    """
    names: list[str] | None = None
    for rows in batches:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if names is None:
            names = rows.schema.names
            writer.writerow(map(without_formula, names) if safe else names)
        check_names(names, rows)
        columns = [_written(column) for column in rows.columns]
        if safe:
            columns = [list(map(without_formula, column)) for column in columns]
        writer.writerows(zip(*columns, strict=True))
        file.write(text.getvalue().encode())
        file.flush()


def write_jsonl(file: IO[bytes], batches: Iterable[pa.RecordBatch]) -> None:
    """One object per line; what is missing is null."""
    for rows in batches:
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in rows.to_pylist()]
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()


def write_parquet(file: IO[bytes], batches: Iterable[pa.RecordBatch]) -> None:
    """A Parquet file; rows are gathered into large groups."""
    import pyarrow.parquet as pq

    writer: Any = None
    held = list[pa.RecordBatch]()
    for rows in batches:
        if writer is None:
            writer = pq.ParquetWriter(file, rows.schema)
        elif rows.schema != writer.schema:
            check_names(writer.schema.names, rows)
            try:
                rows = rows.cast(writer.schema)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as problem:
                raise DataError(
                    f"a kept column changes its type, which Parquet cannot hold ({problem}); write "
                    "CSV or JSONL instead"
                ) from None
        held.append(rows)
        if sum(map(len, held)) >= GROUP:
            writer.write_table(pa.Table.from_batches(held))
            held = []
    if held:
        writer.write_table(pa.Table.from_batches(held))
    if writer is not None:
        writer.close()


WRITERS = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}


def check_names(names: list[str], rows: pa.RecordBatch) -> None:
    """Refuse rows whose kept columns are not those of the first."""
    if rows.schema.names != names:
        raise DataError(
            f"--keep needs the same columns in all inputs: the first rows have {', '.join(names)}, "
            f"later ones {', '.join(rows.schema.names)}"
        )


def _written(column: pa.Array) -> list[Any]:
    """The values of a column as CSV has them: true and false are words."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_boolean(column.type):
        words = {True: "true", False: "false", None: None}
        return [words[value] for value in values]
    return values
