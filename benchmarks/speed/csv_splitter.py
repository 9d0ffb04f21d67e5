"""How fast CSV files are read: sureline's own splitter and `pyarrow.csv`, on the same files.

Both make the same batches of the same files, in turns, on one thread, and both check what they read
(UTF-8, empty labels). The time is the least processor time of several repeats, so that other
programs on the machine matter little. Then each reads small files with one fault or peculiarity
each: what it makes of them is printed side by side, with the line that an error names.

The files are film reviews (long quoted texts with newlines and doubled quotes) and short messages
without quotes, or with ``SURELINE_DATA`` set the reviews of ``imdb.parquet`` in that folder.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from rich.console import Console
from rich.table import Table

from sureline.data import BadRows, Batch, sms_spam
from sureline.data.byte_streams import ByteStream
from sureline.data.formats import load_format
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions
from sureline.errors import SurelineError

PECULIAR = {
    "a quoted text of two lines": 'text,label\n"a\nb",x\n',
    "a quote inside a field": 'text,label\n5" pipe,x\n',
    "a carriage return inside a field": "text,label\na\rb,x\n",
    "a row with too few fields": "text,label\na,x\nb\nc,x\n",
    "the same after a text of two lines": 'text,label\n"a\nb",x\nc\nd,x\n',
    "something after a closing quote": 'text,label\na,x\n"b" b,x\nc,x\n',
    "a quote that is never closed": 'text,label\na,x\n"b,x\nc,x\nd,x\n',
    "bytes that are not UTF-8": b"text,label\na,x\n\xff,x\nc,x\n",
    "an empty label": "text,label\na,x\nb,\nc,x\n",
    "the header alone": "text,label\n",
}


def own_splitter(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """The raw batches of sureline's splitter."""
    return load_format("csv").read(stream, options, bad)


def pyarrow_csv(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """The same raw batches from `pyarrow.csv`; their lines are the numbers of rows."""
    names = [str(options.text), str(options.label)]
    source = stream.as_arrow() if stream.path is None else stream.path
    reader = arrow_csv.open_csv(
        source,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=options.batch_bytes),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            include_columns=names,
            strings_can_be_null=False,
        ),
    )
    done = 1
    for table in reader:
        text, label = table.columns
        lines = np.arange(done + 1, done + len(text) + 1)
        done += len(text)
        errors = RowErrors(options, bad, stream.name)
        errors.check_label(label)  # Arrow has checked the texts
        for row, (reason, remedy) in sorted(errors.found.items()):
            bad.add(stream.name, int(lines[row]), reason, remedy)
        yield RawBatch(Batch(text=text, label=label), lines)


READERS = {"own splitter": own_splitter, "pyarrow.csv": pyarrow_csv}


def read(file: Path, reader: Any, keep: bool) -> list[Batch]:
    """The batches of a file, if they are to be kept."""
    stream = ByteStream(str(file))
    try:
        raws = reader(stream, ReadOptions(), BadRows(skip=False))
        return [raw.rows for raw in raws if keep]
    finally:
        stream.close()


def columns(batches: list[Batch]) -> tuple[pa.Array, pa.Array]:
    """All texts and all labels."""
    return (
        pa.concat_arrays([batch.text for batch in batches]),
        pa.concat_arrays([batch.label for batch in batches]),
    )


def outcome(file: Path, reader: Any) -> str:
    """What a reader makes of a small file: rows, or an error."""
    try:
        batches = read(file, reader, keep=True)
    except (SurelineError, pa.ArrowException, UnicodeDecodeError) as error:
        return " ".join(str(error).replace(f"{file}, ", "").split())
    texts, labels = columns(batches) if batches else ([], [])
    return repr(list(zip(map(str, texts), map(str, labels), strict=True)))


def reviews(rows: int) -> tuple[list[str], list[str]]:
    """Long texts with newlines and quotes: of IMDb, or made of messages."""
    folder = os.environ.get("SURELINE_DATA")
    if folder and Path(folder, "imdb.parquet").exists():
        table = parquet.read_table(Path(folder, "imdb.parquet")).slice(0, rows)
        text, label = (table.column(name) for name in ("text", "label"))
        return text.to_pylist(), [str(each) for each in label.to_pylist()]
    messages, labels = sms_spam()
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(messages), (rows, 15))
    return ['\n"quoted" '.join(messages[k] for k in row) for row in picks], [
        labels[row[0]] for row in picks
    ]


def write(file: Path, texts: list[str], labels: list[str]) -> Path:
    """Write a CSV file as Python does, with quotes where they are needed."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, labels, strict=True))
    return file


def speed(file: Path, title: str, repeats: int) -> Table:
    """How fast each reader is."""
    size = file.stat().st_size / 1e6
    found = [columns(read(file, reader, keep=True)) for reader in READERS.values()]
    if not (found[0][0].equals(found[1][0]) and found[0][1].equals(found[1][1])):
        raise SystemExit(f"{file.name}: the two readers do not agree")
    times: dict[str, list[float]] = {name: [] for name in READERS}
    for _ in range(repeats):
        for name, reader in READERS.items():
            start = process_time()
            read(file, reader, keep=False)
            times[name].append(process_time() - start)
    page = Table(title=f"{title}, {size:.0f} MB", caption=f"{len(found[0][0]):,} equal rows")
    for heading in ("", "seconds", "MB/s", "ratio"):
        page.add_column(heading, justify="right" if heading else "left")
    own = min(times["own splitter"])
    for name, taken in times.items():
        best = min(taken)
        page.add_row(name, f"{best:.4f}", f"{size / best:.0f}", f"{own / best:.2f}")
    return page


def differences(folder: Path) -> Table:
    """What each reader makes of peculiar files."""
    page = Table(title="peculiar files", show_lines=True)
    for heading in ("file", *READERS):
        page.add_column(heading)
    file = folder / "small.csv"
    for title, data in PECULIAR.items():
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        page.add_row(title, *(outcome(file, reader) for reader in READERS.values()))
    return page


def main() -> None:
    """Print a table for each file, and one of the differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=25_000, help="how many long texts")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts, labels = reviews(options.rows)
        console = Console()
        file = write(Path(folder, "reviews.csv"), texts, labels)
        console.print(speed(file, "long quoted texts", options.repeats))
        messages, kinds = sms_spam()
        times = max(1, options.rows // 500)
        plain = [message.replace('"', "'").replace(",", ";") for message in messages]
        file = write(Path(folder, "messages.csv"), plain * times, kinds * times)
        console.print(speed(file, "short plain texts", options.repeats))
        console.print(differences(Path(folder)))


if __name__ == "__main__":
    main()
