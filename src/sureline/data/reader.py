"""Reading files of any known format as batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.byte_streams import ByteStream, check_encoding, file_size, is_seekable_file
from sureline.data.formats import FORMATS, Format, load_format
from sureline.data.formats.detect import detect_format
from sureline.data.labels import LabelConverter
from sureline.data.paths import find_files, list_files
from sureline.data.raw_batch import RawBatch
from sureline.data.read_options import EXPANSION_LIMIT, ROW_LIMIT_MB, ReadOptions
from sureline.errors import DataError, InvalidParameter

# The type of labels is inferred from the rows of so many first bytes.
LABEL_SAMPLE_BYTES = 2**20


class Reader:
    r"""Reads files, patterns, folders and stdin as batches of rows; each loop over it is a pass.

    Parameters
    ----------
    inputs : path-like or sequence of path-like
        Files, patterns such as ``"logs/*.csv"``, folders, and ``"-"`` for standard input.
    format : str, default=None
        ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"parquet"``, ``"arrow"``, ``"svmlight"``,
        ``"fasttext"``, ``"vw"`` or ``"lines"``, for all inputs. By default it is inferred from the
        extension of the file name, or else from the first bytes.
    text, label : str or int, default=None
        The columns of text and label, by name or by position counted from 0; by default those
        named ``text`` and ``label``.
    weight : str or int, default=None
        The column of sample weights; by default all rows count the same.
    header : bool, default=None
        Whether the first line of a CSV or TSV file is a header. By default it is, unless all
        columns are given by position.
    delimiter : str, default=None
        The field delimiter of CSV and TSV files, if not a comma or a tab.
    quotes : bool, default=True
        Whether a field of a CSV or TSV file that begins with ``"`` is quoted.
    label_type : str, default="auto"
        ``"text"``, ``"int"``, ``"float"`` or ``"bool"``. By default typed files keep their type;
        in text files labels are int if the first are all whole numbers, and text otherwise.
    label_separator : str, default=None
        What stands between the labels of a row that may have several, such as ``";"``; spaces
        around labels are left out. By default a label is a whole field.
    label_sets : bool, default=False
        Whether rows have any number of labels, also where each has one. By default they do where
        `label_separator` is given, a column holds lists, or one of the first lines of a fastText
        file has several.
    encoding : str, default="utf-8"
        The encoding of text files.
    skip_bad : bool, default=False
        Skip bad rows and count them in `bad`, rather than stop at the first.
    labelled : bool, default=True
        Whether rows must have a label. If not, no labels are read.
    keep : bool, default=False
        Whether to keep the other columns too, in `Batch.table`.
    batch_bytes : int, default=2**20
        About how large a batch is, in bytes.
    row_limit_mb : float, default=16.0
        The largest row, in MB of 2^20 bytes; a larger one is a bad row. It bounds the memory that
        reading takes.
    expansion_limit : float, default=100.0
        How many times its size a Parquet file, or an Arrow file that is compressed as a whole, may
        expand; a file that expands to more is an error. 256 MB are always allowed. Other files are
        read as a stream, whatever they expand to.
    columns : dict, default=None
        The columns of a table, ``"text"``, ``"category"`` or ``"number"`` by name, instead of one
        column of texts: `Batch.text` is then an array of structs.

    Attributes
    ----------
    bytes_total : int or None
        The size of all inputs as stored; None if one of them is a stream.
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
        label_separator: str | None = None,
        label_sets: bool = False,
        encoding: str = "utf-8",
        skip_bad: bool = False,
        labelled: bool = True,
        keep: bool = False,
        batch_bytes: int = 2**20,
        row_limit_mb: float = ROW_LIMIT_MB,
        expansion_limit: float = EXPANSION_LIMIT,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        if format is not None and format not in FORMATS:
            raise InvalidParameter(
                f"format {format!r} does not exist; it can be {', '.join(FORMATS)}"
            )
        self._labels = LabelConverter(label_type, label_sets)
        self._options = ReadOptions(
            text="text" if text is None else text,
            label="label" if label is None else label,
            weight=weight,
            header=header,
            delimiter=delimiter,
            quotes=quotes,
            encoding=check_encoding(encoding),
            labelled=labelled,
            label_as_text=label_type == "text",
            label_separator=label_separator,
            label_sets=label_sets,
            keep=keep,
            batch_bytes=batch_bytes,
            row_limit_mb=row_limit_mb,
            expansion_limit=expansion_limit,
            table=tuple((columns or {}).items()),
        )
        self.files = find_files(inputs)
        self.format = format
        self.skip_bad = skip_bad
        self.bad = BadRows(skip_bad)
        self.text_name: str | None = None
        self.label_name: str | None = None
        self._streams = [file for file in self.files if not is_seekable_file(file)]
        self._passes = 0
        self._read_before = 0
        self._stream: ByteStream | None = None

    @property
    def bytes_total(self) -> int | None:
        """The size of all inputs as stored; None if one of them is a stream."""
        return None if self._streams else sum(map(file_size, self.files))

    @property
    def bytes_read(self) -> int:
        """How much of the inputs, as stored, has been read in this pass."""
        return self._read_before + (0 if self._stream is None else self._stream.position)

    def __iter__(self) -> Iterator[Batch]:
        if self._streams and self._passes:
            raise DataError(
                f"{list_files(self._streams)} can be read only once; save it to a file to read it "
                "again"
            )
        self._passes += 1
        self.bad = BadRows(self.skip_bad)
        self._read_before = 0
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        first: RawBatch | None = None
        for raw in self._with_label_type():
            if first is None:
                first = raw
                self.text_name, self.label_name = raw.text_name, raw.label_name
            _check_same_kind(first, raw)
            batch = replace(raw.rows, label=self._labels.convert(raw, raw.rows.source))
            size = self._options.batch_bytes
            yield from [batch] if batch.row_bytes.sum() <= 2 * size else batch.split(size)
        if first is None:
            raise self._no_rows()

    def _no_rows(self) -> DataError:
        """The error of inputs without any good row."""
        names = list_files(self.files, limit=5)
        if not self.bad.count:
            return DataError(f"no rows in {names}; give a file that has some")
        file, line, reason = self.bad.first[0]
        many = f"all {self.bad.count:,} are bad, the first"
        many = "the only one is bad," if self.bad.count == 1 else many
        return DataError(f"no good rows in {names}: {many} at {file}, line {line}: {reason}")

    def _with_label_type(self) -> Iterator[RawBatch]:
        """The raw batches of all files; the first once the type of labels is known."""
        held: list[RawBatch] = []
        sample: list[RawBatch] = []
        size = 0
        for each in self._raw_batches():
            if self._labels.kind is not None or not self._options.labelled:
                yield each
                continue
            held.append(each)
            ends = np.cumsum(each.rows.row_bytes) + size
            size = int(ends[-1])
            # Which rows are in the sample does not depend on where batches end.
            sampled = int(np.searchsorted(ends, LABEL_SAMPLE_BYTES)) + 1
            sample.append(each.take(np.arange(min(sampled, len(ends)))))
            if size >= LABEL_SAMPLE_BYTES:
                self._labels.infer(sample)
                yield from held
                held, sample = [], []
        self._labels.infer(sample)
        yield from held

    def _raw_batches(self) -> Iterator[RawBatch]:
        """The raw batches of all files that have any rows."""
        for file in self.files:
            stream, rows = ByteStream(file), 0
            self._stream = stream
            try:
                head = stream.peek()
                if head:
                    for raw in self._detect(stream, head).read(stream, self._options, self.bad):
                        if len(raw):
                            placed = replace(raw.rows, source=stream.name, first_row=rows)
                            yield replace(raw, rows=placed)
                            rows += len(raw)
            finally:
                stream.close()
            self._read_before += stream.position
            self._stream = None

    def _detect(self, stream: ByteStream, head: bytes) -> Format:
        options = self._options
        if self.format is not None:
            found = load_format(self.format)
        else:
            if not options.is_utf8:
                head = head.decode(options.encoding, "replace").encode("utf-8", "replace")
            names = [column for column in options.columns.values() if isinstance(column, str)]
            found = detect_format(stream.name, head, names, stream.member)
        if options.table and not found.has_columns:
            raise DataError(
                f"{stream.name} is in the format {found.name}, which has no columns; give CSV, "
                "TSV, JSONL, Parquet or Arrow, or read texts alone"
            )
        if options.weight is not None and not found.has_columns:
            raise DataError(
                f"{stream.name} is in the format {found.name}, which has no columns: weights "
                f"cannot be read from column {options.weight!r}; leave it out (weight=...)"
            )
        return found


def _check_same_kind(first: RawBatch, other: RawBatch) -> None:
    """Raise a DataError unless both have texts, or both have a matrix."""
    if (first.rows.matrix is None) == (other.rows.matrix is None):
        return
    texts, matrix = sorted((first.rows, other.rows), key=lambda rows: rows.matrix is not None)
    raise DataError(
        f"{matrix.source} holds numbered features (svmlight) and {texts.source} holds texts; they "
        "cannot be read together"
    )
