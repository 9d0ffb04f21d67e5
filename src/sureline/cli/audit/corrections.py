"""Corrections of labels, applied to a file: what is written is a new one."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from rich.console import RenderableType

from sureline.cli.options import LabelledRows
from sureline.cli.paths import check_not_an_input
from sureline.cli.predict.writer import WRITERS, open_output
from sureline.cli.screen import megabytes, named_values, warn_of_bad_rows
from sureline.data import Batch, Reader
from sureline.errors import DataError
from sureline.evaluation.report.text import visible

COLUMNS = ("row", "label", "suggested")
ROW = re.compile("[1-9][0-9]{0,17}")  # a number that fits into 64 bits


class Fix(NamedTuple):
    """A correction: the label as it was and as it should be, and the line of the table."""

    label: str
    corrected: str
    line: int


def apply_fixes(
    files: Sequence[str], reading: LabelledRows, fixes: str, output: str, kind: str
) -> dict[str, Any]:
    """Write the rows of a file with corrected labels; what was done."""
    # A CSV file has no types: its labels stay as they are written.
    label_type = "text" if kind == "csv" else "auto"
    reader = Reader(list(files), **reading.arguments(), label_type=label_type, keep=True)
    if len(reader.files) != 1:
        raise DataError(
            f"--apply corrects one file at a time, but {len(reader.files)} are given; name one"
        )
    check_not_an_input(output, "-o", [*reader.files, fixes])
    wanted = read_fixes(fixes, reader.files[0])
    done, rows = set[int](), 0

    def corrected() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in reader:
            if batch.text is None or batch.named_features is not None:
                raise DataError(f"{batch.source} holds numbers, but audit corrects labels of texts")
            rows += len(batch)
            yield _columns(batch, reader, _correct(batch, wanted, fixes, done))
        missing = sorted(set(wanted) - done)
        if missing:
            raise DataError(
                f"{fixes}, line {wanted[missing[0]].line}: there is no row {missing[0]:,} in "
                f"{reader.files[0]}, which has {rows:,}; give the file that was audited"
            )

    with open_output(output) as file:
        WRITERS[kind](file, corrected())
    warn_of_bad_rows(reader.bad)
    return {"rows": rows, "corrected": len(done), "output": output}


def describe(done: dict[str, Any]) -> RenderableType:
    """What was done, for a screen."""
    path = done["output"]
    size = "" if path == "-" else f" ({megabytes(Path(path).stat().st_size)})"
    return named_values(
        {
            "rows": f"{done['rows']:,}",
            "corrected": f"{done['corrected']:,}",
            "output": f"{path}{size}",
        }
    )


def read_fixes(path: str, file: str) -> dict[int, Fix]:
    """The corrections in a table by row number; of a table with files, those of this one."""
    found, others = dict[int, Fix](), set[str]()
    for line, each in _read_table(path):
        if each.get("file") is not None and not _is_file(each["file"], file):
            others.add(each["file"])
            continue
        number, label, corrected = (each[name] for name in COLUMNS)
        if corrected is None:
            raise DataError(f"{path}, line {line} has fewer fields than the first line names")
        if not ROW.fullmatch(number):
            raise DataError(f"{path}, line {line}: the row must be a number from 1, got {number!r}")
        if int(number) in found:
            raise DataError(f"{path}, line {line}: row {number} is corrected twice")
        found[int(number)] = Fix(label, corrected, line)
    if others and not found:
        raise DataError(
            f"--apply {path} has corrections of {', '.join(sorted(others))}, but none of {file}"
        )
    return found


def _read_table(path: str) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a table of corrections, each with the number of its last line."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as content:
            table = csv.DictReader(content)
            names = table.fieldnames or ()
            rows = [(table.line_num, row) for row in table]
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"--apply {path} is not a CSV file in UTF-8") from None
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DataError(
            f"--apply {path} has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}, as the "
            "page and -o write them"
        )
    return rows


def _is_file(name: str, file: str) -> bool:
    return name == file or Path(name).name == Path(file).name


def _correct(batch: Batch, wanted: dict[int, Fix], fixes: str, done: set[int]) -> pa.Array:
    """The labels of a batch, corrected."""
    assert batch.label is not None  # noqa: S101, rows are read with labels
    labels = batch.label.to_pylist()
    for k in range(len(labels)):
        number = batch.first_row + k + 1
        fix = wanted.get(number)
        if fix is None:
            continue
        before = _write(labels[k])
        if fix.label not in (before, visible(before)):
            raise DataError(
                f"{fixes}, line {fix.line}: row {number:,} of {batch.source} has the label "
                f"{before!r}, not {fix.label!r}; give the file that was audited"
            )
        labels[k] = _read(fix.corrected, batch.label.type, fixes, fix.line)
        done.add(number)
    return pa.array(labels, batch.label.type)


def _write(label: Any) -> str:
    """A label as an audit shows it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def _read(text: str, kind: Any, fixes: str, line: int) -> Any:
    """A corrected label as the file has its labels."""
    if pa.types.is_large_string(kind):
        return text
    try:
        return pa.array([text], pa.string()).cast(kind)[0].as_py()
    except pa.ArrowInvalid:
        raise DataError(
            f"{fixes}, line {line}: {text!r} is no label of type {kind}, as those of the file are"
        ) from None


def _columns(batch: Batch, reader: Reader, labels: pa.Array) -> pa.RecordBatch:
    """The text, the corrected label, and the other columns."""
    columns = {reader.text_name or "text": batch.text, reader.label_name or "label": labels}
    if batch.table is not None:
        for name, values in zip(batch.table.schema.names, batch.table.columns, strict=True):
            columns.setdefault(name, values)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
