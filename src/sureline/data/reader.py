"""Reading inputs of any known format as batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.byte_streams import Stream, Utf8, check_encoding, is_file
from sureline.data.column_choice import LABEL, TEXT, check_column
from sureline.data.formats.columnar import read_columnar
from sureline.data.formats.csv import read_delimited
from sureline.data.formats.detect import COLUMNAR, WITH_COLUMNS, check_format, guess_format
from sureline.data.formats.fasttext import read_fasttext
from sureline.data.formats.jsonl import read_jsonlines
from sureline.data.formats.raw_rows import Ask, Part
from sureline.data.formats.svmlight import read_svmlight
from sureline.data.formats.vw import read_vw
from sureline.data.labels import Labels, check_label_type
from sureline.data.paths import STDIN, find_files
from sureline.data.shuffle import row_bytes
from sureline.errors import DataError, InvalidParameter

# How much text is read before the type of labels is decided.
_DECIDING = 2**20


class Reader:
    r"""Reads files, patterns, folders and stdin as batches of rows, as often as it is asked to.

    Parameters
    ----------
    inputs : path-like or sequence of path-like
        Files, patterns such as ``"logs/*.csv"``, folders, and ``"-"`` for standard input.
    format : str, default=None
        ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"parquet"``, ``"arrow"``, ``"svmlight"``,
        ``"fasttext"`` or ``"vw"``, for all inputs. By default the end of a file's name tells, or
        else its first bytes.
    text, label : str or int, default=None
        The columns of text and label, by name or by position counted from 0; by default those
        named ``text`` and ``label``.
    weight : str or int, default=None
        The column that says how much a row counts; by default all rows count the same.
    header : bool, default=None
        Whether the first line of a CSV or TSV file names the columns. By default it does, unless
        all columns are asked for by position.
    delimiter : str, default=None
        What stands between the fields of a CSV or TSV file, if not a comma or a tab.
    quotes : bool, default=True
        Whether a field of a CSV or TSV file that begins with ``"`` is quoted.
    label_type : str, default="auto"
        ``"text"``, ``"int"``, ``"float"`` or ``"bool"``. By default typed files keep their type;
        in text files labels are int if the first are all whole numbers, and text otherwise.
    encoding : str, default="utf-8"
        The encoding of text files.
    skip_bad : bool, default=False
        Count bad rows in `bad` and go on, rather than stop at the first.
    labelled : bool, default=True
        Whether rows must have a label. If not, no labels are read.
    keep : bool, default=False
        Whether batches hold the other columns too, in `Batch.table`.
    batch_bytes : int, default=2**20
        About how large a batch is.

    Attributes
    ----------
    bytes_total : int or None
        The size of all inputs as stored; None where one of them is a stream.
    bytes_read : int
        How much of that has been read in this pass.
    bad : BadRows
        The bad rows of this pass: `bad.count`, and `bad.first`, the first few of them.
    text_name, label_name : str or None
        The names of the columns in use, once the first batch has been read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sureline.data import Reader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mail.csv")
    ...     _ = file.write_text("text,label\nhello there,ham\nbuy now,spam\n")
    ...     for batch in Reader([file]):
    ...         print(batch.text.to_pylist(), batch.label.to_pylist())
    ['hello there', 'buy now'] ['ham', 'spam']
    """

    def __init__(
        self,
        inputs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        text: str | int | None = None,
        label: str | int | None = None,
        weight: str | int | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        quotes: bool = True,
        label_type: str = "auto",
        encoding: str = "utf-8",
        skip_bad: bool = False,
        labelled: bool = True,
        keep: bool = False,
        batch_bytes: int = 2**20,
    ) -> None:
        check_format(format)
        check_label_type(label_type)
        for what, column in (("text", text), ("label", label), ("weight", weight)):
            check_column(what, column)
        if delimiter is not None and (
            len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'
        ):
            raise InvalidParameter(
                f"delimiter {delimiter!r} cannot be used; give one ASCII character, not a quote"
            )
        if batch_bytes < 1:
            raise InvalidParameter(f"batch_bytes must be 1 or more, not {batch_bytes}")
        self.files = find_files(inputs)
        self.format = format
        self.skip_bad = skip_bad
        self.bad = BadRows(skip_bad)
        self.text_name: str | None = None
        self.label_name: str | None = None
        self._labels = Labels(label_type)
        self._ask = Ask(
            text=text,
            label=label,
            weight=weight,
            header=header,
            delimiter=delimiter,
            quotes=quotes,
            encoding=check_encoding(encoding),
            labelled=labelled,
            label_as_text=label_type == "text",
            keep=keep,
            batch_bytes=batch_bytes,
        )
        self._once = [file for file in self.files if not is_file(file)]
        self._passes = 0
        self._read_before = 0
        self._stream: Stream | None = None
        self._share: float | None = None

    @property
    def bytes_total(self) -> int | None:
        """The size of all inputs as stored; None where one of them is a stream."""
        return None if self._once else sum(map(_size, self.files))

    @property
    def bytes_read(self) -> int:
        """How much of the inputs, as stored, has been read in this pass."""
        if self._stream is None:
            return self._read_before
        if self._share is None:
            return self._read_before + self._stream.position
        return self._read_before + int(self._share * _size(self._stream.file))

    def __iter__(self) -> Iterator[Batch]:
        if self._once and self._passes:
            names = ", ".join("stdin" if file == STDIN else file for file in self._once)
            raise DataError(f"{names} can be read only once; save it to a file to read it again")
        self._passes += 1
        self.bad = BadRows(self.skip_bad)
        self._read_before, self._share = 0, None
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        """The batches of one pass."""
        current, rows, total = -1, 0, 0
        kind: tuple[bool, str] | None = None
        for number, name, part in self._decided():
            if number != current:
                current, rows = number, 0
            if kind is None:
                kind = part.matrix is None, name
                self.text_name, self.label_name = part.text_name, part.label_name
            elif kind[0] != (part.matrix is None):
                texts, numbers = (kind[1], name) if kind[0] else (name, kind[1])
                raise DataError(
                    f"{numbers} holds numbered features (svmlight) and {texts} holds texts; they "
                    "cannot be read together"
                )
            batch = replace(
                _as_batch(part, name), label=self._labels.convert(part, name), first_row=rows
            )
            rows += len(part)
            total += len(part)
            yield from _cut(batch, self._ask.batch_bytes)
        if not total:
            raise self._nothing()

    def _nothing(self) -> DataError:
        """What to say where no row was found."""
        names = ", ".join("stdin" if file == STDIN else file for file in self.files[:5])
        if len(self.files) > 5:
            names += f" and {len(self.files) - 5} more"
        if not self.bad.count:
            return DataError(f"no rows in {names}; give a file that has some")
        file, line, reason = self.bad.first[0]
        return DataError(
            f"no good rows in {names}: all {self.bad.count} are bad, the first at {file}, line "
            f"{line}: {reason}"
        )

    def _decided(self) -> Iterator[tuple[int, str, Part]]:
        """The parts of all files; none is given before the type of labels is known."""
        held: list[tuple[int, str, Part]] = []
        sample: list[Part] = []
        size = 0
        for each in self._parts():
            if self._labels.kind is not None or not self._ask.labelled:
                yield each
                continue
            held.append(each)
            ends = np.cumsum(row_bytes(_as_batch(each[2], ""))) + size
            size = int(ends[-1])
            # Which rows decide does not depend on where batches end.
            deciding = int(np.searchsorted(ends, _DECIDING)) + 1
            sample.append(each[2].take(np.arange(min(deciding, len(ends)))))
            if size >= _DECIDING:
                self._labels.decide(sample)
                yield from held
                held, sample = [], []
        if held:
            self._labels.decide(sample)
            yield from held

    def _parts(self) -> Iterator[tuple[int, str, Part]]:
        """The parts of all files, as their formats give them."""
        for number, file in enumerate(self.files):
            stream = self._stream = Stream(file)
            self._share = None
            try:
                for part in self._read(stream):
                    if len(part):
                        yield number, stream.name, part
            finally:
                stream.close()
            self._read_before += stream.position if self._share is None else _size(file)
            self._stream = None

    def _read(self, stream: Stream) -> Iterator[Part]:
        """The parts of one file."""
        head = stream.peek()
        if not head:
            return iter(())
        ask = self._ask
        if self.format is None:
            if ask.encoding not in ("utf-8", "utf-8-sig"):
                head = head.decode(ask.encoding, "replace").encode("utf-8", "replace")
            wanted = [TEXT if ask.text is None else ask.text]
            wanted += [LABEL if ask.label is None else ask.label] if ask.labelled else []
            names = tuple(each for each in wanted if isinstance(each, str))
            kind = guess_format(stream.name, head, names)
        else:
            kind = self.format
        if kind in COLUMNAR:
            return read_columnar(stream, kind, ask, self.bad, self._note_share)
        if ask.weight is not None and kind not in WITH_COLUMNS:
            raise DataError(
                f"{stream.name} is in the format {kind}, which has no columns: weights cannot be "
                f"read from column {ask.weight!r}; leave it out (weight=, --weight)"
            )
        source = Utf8(stream, ask.encoding)
        if kind in ("csv", "tsv"):
            return read_delimited(source, kind, ask, self.bad)
        lines: Iterator[Part] = _LINES[kind](source, ask, self.bad)
        return lines

    def _note_share(self, share: float) -> None:
        """Note which share of a file has been read, where its position does not tell."""
        self._share = share


_LINES: dict[str, Any] = {
    "jsonl": read_jsonlines,
    "fasttext": read_fasttext,
    "vw": read_vw,
    "svmlight": read_svmlight,
}


def _size(file: str) -> int:
    """The size of a file; 0 where it cannot be known."""
    try:
        return os.stat(file).st_size  # noqa: PTH116
    except OSError:
        return 0


def _as_batch(part: Part, name: str) -> Batch:
    """A part as a batch, its labels as they are."""
    return Batch(
        text=part.text,
        matrix=part.matrix,
        given=part.given,
        label=part.label,
        weight=part.weight,
        source=name,
        table=part.table,
    )


def _cut(batch: Batch, size: int) -> Iterator[Batch]:
    """A batch in pieces of about `size` bytes, if it is much larger."""
    ends = np.cumsum(row_bytes(batch))
    if ends[-1] <= 2 * size:
        yield batch
        return
    start = 0
    while start < len(batch):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + size, side="right")), start + 1)
        yield batch.slice(start, stop)
        start = stop
