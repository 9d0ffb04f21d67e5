"""Tables of answers to stdout or a file: CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from sureline.data.atomic_write import atomic_write
from sureline.errors import DataError, InvalidParameter

KINDS = {"csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl"}
KINDS |= {"parquet": "parquet", "pq": "parquet"}
GROUP = 2**17  # rows of a Parquet row group


class Writer(Protocol):
    """Writes one batch of columns after the other."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Write some more rows."""

    def close(self) -> None:
        """Write what is left."""


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
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(path) as file:
        yield file


def make_writer(kind: str, file: IO[bytes]) -> Writer:
    """A writer of this kind."""
    if kind == "parquet":
        return ParquetWriter(file)
    return CsvWriter(file) if kind == "csv" else JsonWriter(file)


class CsvWriter:
    """Comma-separated, with a header; what is missing is empty."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._names: list[str] | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        """Write some more rows."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._names is None:
            self._names = rows.schema.names
            writer.writerow(self._names)
        check_names(self._names, rows)
        writer.writerows(zip(*(_written(column) for column in rows.columns), strict=True))
        self._file.write(text.getvalue().encode())
        self._file.flush()

    def close(self) -> None:
        """Nothing is left."""


class JsonWriter:
    """One object a line; what is missing is null."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, rows: pa.RecordBatch) -> None:
        """Write some more rows."""
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in rows.to_pylist()]
        self._file.write("".join(f"{line}\n" for line in lines).encode())
        self._file.flush()

    def close(self) -> None:
        """Nothing is left."""


class ParquetWriter:
    """A Parquet file; rows are gathered into large groups."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writer: Any = None
        self._held: list[pa.RecordBatch] = []

    def write(self, rows: pa.RecordBatch) -> None:
        """Write some more rows."""
        if self._writer is None:
            import pyarrow.parquet as pq

            self._writer = pq.ParquetWriter(self._file, rows.schema)
        elif rows.schema != self._writer.schema:
            check_names(self._writer.schema.names, rows)
            try:
                rows = rows.cast(self._writer.schema)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as problem:
                raise DataError(
                    f"a kept column changes its type, which Parquet cannot hold ({problem}); write "
                    "CSV or JSONL instead"
                ) from None
        self._held.append(rows)
        if sum(map(len, self._held)) >= GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
        self._held = []

    def close(self) -> None:
        """Write the last rows and the footer."""
        if self._writer is not None:
            self._flush()
            self._writer.close()


def check_names(names: list[str], rows: pa.RecordBatch) -> None:
    """Refuse rows whose kept columns are not those of the first."""
    if rows.schema.names != names:
        raise DataError(
            f"--keep needs the same columns in all inputs: the first rows have {', '.join(names)}, "
            f"later ones {', '.join(rows.schema.names)}"
        )


def _written(column: pa.Array) -> list[Any]:
    """The values of a column as CSV has them: true and false are words."""
    values = column.to_pylist()
    if pa.types.is_boolean(column.type):
        words = {True: "true", False: "false", None: None}
        return [words[value] for value in values]
    return list(values)
