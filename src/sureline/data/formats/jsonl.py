"""JSON lines: one object per line; or an array of objects, which is read as such lines.

Arrow reads whole blocks. A block in which it finds anything unusual is read again line by line with
Python's parser, which decides what is a bad row and replaces lone surrogates.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import is_utf8, string_array
from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.byte_streams import ByteStream, Utf8Stream
from sureline.data.columns import SelectedColumns, select_columns
from sureline.data.formats import Format
from sureline.data.formats.byte_scan import RETURN
from sureline.data.formats.json_array import ArrayLines
from sureline.data.formats.line_blocks import LineBlock, Lines, line_bounds, read_line_blocks
from sureline.data.raw_batch import NAME_ENCODING, RawBatch, RowErrors
from sureline.data.read_options import COLUMN, ReadOptions
from sureline.data.surrogates import replace_surrogates
from sureline.data.table import NUMBER
from sureline.errors import DataError

# The names of columns are those of so many first lines, which begin within so many bytes.
_FIRST_LINES, _FIRST_BYTES = 100, 2**20
_ARROW_TYPES = {str: pa.large_string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_LIST = pa.large_list(pa.large_string())
_MISSING = object()
_NOT_UTF8 = "not valid UTF-8"
_MOST_VALUES = 2**24  # rows times keys of a block that are kept as columns
_DEEPEST = 500  # nested objects and arrays: Python's own limit depends on who calls
_DECODER = json.JSONDecoder(strict=False)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


class _Lines(NamedTuple):
    """The lines of a block that are not blank: their bounds and their numbers."""

    block: LineBlock
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def texts(self) -> Iterator[bytes]:
        """The bytes of each line."""
        for start, end in zip(self.starts, self.ends, strict=True):
            yield self.block.data[start:end]


def read(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """Read JSON lines as raw batches."""
    is_array = _begins_array(stream, options)
    source: Any = Utf8Stream(stream, options.encoding)
    if is_array:
        source = ArrayLines(source)
    blocks = map(_filled_lines, read_line_blocks(source, options, bad))
    head, first = _first_lines(blocks, options)
    if not first:
        return
    columns, label_type = _select(first, options, source)
    for lines in chain(head, blocks):
        errors = RowErrors(options, bad, stream.name)
        # Arrow would read numbers as text of another spelling than that of the file.
        by_line = options.keep or (options.label_as_text and label_type != pa.large_string())
        by_line = by_line or label_type == _LIST
        rows = None if by_line else _read_block(lines, columns, label_type, options)
        if rows is not None:
            rows["weight"] = errors.check_weight(rows.get("weight"))
            rows = _with_table(rows, errors)
            yield errors.good_rows(Batch(**rows), lines.numbers, "typed", columns, source.unit)
            continue
        objects = [_parse(text) for text in lines.texts()]
        together = options.label_as_text or label_type == _LIST or options.label_sets
        for part in _runs(objects, None if together else columns.label_name):
            errors = RowErrors(options, bad, stream.name)
            rows = _read_objects(objects[part], columns, errors, options)
            if "label" in rows:
                lists = label_type == _LIST or options.label_sets
                labels = _plain_labels(rows["label"], errors, options, lists)
                rows["label"] = _label_array(labels, label_type, errors)
            rows["weight"] = errors.check_weight(rows.get("weight"))
            rows = _with_table(rows, errors)
            numbers = lines.numbers[part]
            yield errors.good_rows(Batch(**rows), numbers, "typed", columns, source.unit)


def _filled_lines(block: LineBlock) -> _Lines:
    starts, ends = line_bounds(block)
    numbers = np.arange(len(starts)) + block.first_line
    # The shortest object is {}: a blank line is shorter, or begins with white space.
    suspects = (ends - starts < 2) | (block.bytes[np.minimum(starts, len(block.data) - 1)] <= 32)
    filled = np.ones(len(starts), np.bool_)
    for row in np.flatnonzero(suspects):
        filled[row] = bool(block.data[starts[row] : ends[row]].strip())
    if filled.all():
        return _Lines(block, starts, ends, numbers)
    return _Lines(block, starts[filled], ends[filled], numbers[filled])


def _begins_array(stream: ByteStream, options: ReadOptions) -> bool:
    """Whether a file begins as an array, rather than with an object."""
    head = stream.peek()
    if not options.is_utf8:
        head = head.decode(options.encoding, "replace").encode()
    return head.removeprefix(BOM_UTF8).lstrip().startswith(b"[")


def _first_lines(
    blocks: Iterator[_Lines], options: ReadOptions
) -> tuple[list[_Lines], list[tuple[int, bytes]]]:
    """The first blocks, and their first lines with their numbers.

    Which lines these are does not depend on where blocks end. Where texts alone are read, the first
    line that has one is enough: a pipe may be slow.
    """
    texts_alone = not (options.labelled or options.keep)
    head: list[_Lines] = []
    first: list[tuple[int, bytes]] = []
    size = 0
    for lines in blocks:
        if not (first or lines.starts.size):  # blank lines before the first
            continue
        head.append(lines)
        begin = 0 if first else int(lines.starts[0])
        for start, number, text in zip(lines.starts, lines.numbers, lines.texts(), strict=True):
            if len(first) >= _FIRST_LINES or size + start - begin >= _FIRST_BYTES:
                break
            first.append((int(number), text))
            if (
                texts_alone
                and isinstance(row := _parse(text), dict)
                and options.text in row
                and not options.table
            ):
                return head, first
        size += len(lines.block.data) - begin
        if len(first) >= _FIRST_LINES or size >= _FIRST_BYTES:
            break
    return head, first


def _select(
    first: list[tuple[int, bytes]], options: ReadOptions, source: Lines
) -> tuple[SelectedColumns, pa.DataType]:
    """The columns to read, and the type of the first label."""
    rows = [_parse(line) for _, line in first]
    objects = [row for row in rows if isinstance(row, dict)]
    if not objects:
        raise DataError(
            f"{source.name}, {source.unit} {first[0][0]}: not a JSON object ({rows[0]}); name the "
            "format if it is another (format=...)"
        )
    names = list(dict.fromkeys(name for row in objects for name in row))
    columns = select_columns(source.name, names, options)
    if columns.label_name is not None:
        for row in objects:
            value = row.get(columns.label_name)
            if type(value) is list:
                return columns, _LIST
            if type(value) in _ARROW_TYPES:
                return columns, _ARROW_TYPES[type(value)]
    return columns, pa.large_string()


def _parse(line: bytes) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it."""
    if line.count(b"{") + line.count(b"[") > _DEEPEST and _depth(line) > _DEEPEST:
        return "nested too deeply"
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError:
        return _NOT_UTF8
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return str(error)
    return value if isinstance(value, dict) else f"a {type(value).__name__}, not an object"


def _depth(line: bytes) -> int:
    """How deeply objects and arrays are nested in a line."""
    marks = np.frombuffer(_STRING.sub(b"", line), np.uint8)
    opened, closed = np.isin(marks, [*b"{["]), np.isin(marks, [*b"}]"])
    return int(np.cumsum(opened.astype(np.int64) - closed).max(initial=0))


def _is_plain(lines: _Lines) -> bool:
    """Whether Arrow and Python's parser must agree on how many objects there are, and where.

    Every line begins and ends as an object does, and none is nested deeply. (Arrow accepts two
    objects on one line, and one on two lines; at other values it may crash.)
    """
    block, last = lines.block, lines.ends - 1
    last = last - (block.bytes[last] == RETURN)
    if (block.bytes[lines.starts] != ord("{")).any() or (block.bytes[last] != ord("}")).any():
        return False
    opened = block.data.count(b"{") + block.data.count(b"[")
    if opened - lines.starts.size < _DEEPEST:
        return True
    marks = np.cumsum((block.bytes == ord("{")) | (block.bytes == ord("[")), dtype=np.int64)
    return bool((marks[last] - marks[lines.starts]).max(initial=0) < _DEEPEST)


def _read_block(
    lines: _Lines, columns: SelectedColumns, label_type: pa.DataType, options: ReadOptions
) -> dict[str, Any] | None:
    """The columns of a block as Arrow reads them; None if it finds anything unusual."""
    from pyarrow import json as arrow_json

    size = len(lines.block.data)
    if not _is_plain(lines) or not is_utf8(string_array(np.array([0, size]), lines.block.bytes)):
        return None
    types = {"text": pa.large_string(), "label": label_type, "weight": pa.float64()}
    for name, kind in options.table:
        types[f"{COLUMN}{name}"] = pa.float64() if kind == NUMBER else pa.large_string()
    fields: dict[str, pa.DataType] = {}
    for role, column in columns.roles.items():
        fields.setdefault(columns.names[column], types[role])
    try:
        table = arrow_json.read_json(
            pa.BufferReader(lines.block.data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=size + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(fields.items())),
                unexpected_field_behavior="ignore",
            ),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    # Arrow accepts two objects on one line, and one object on two lines; we report both.
    if table.num_rows != len(lines.numbers):
        return None
    rows = {
        role: table.column(columns.names[column]).combine_chunks()
        for role, column in columns.roles.items()
    }
    # Arrow does not distinguish a key that is missing from one that is null.
    needed = [array for role, array in rows.items() if not role.startswith(COLUMN)]
    return None if any(array.null_count for array in needed) else rows


def _read_objects(
    objects: list[dict[str, Any] | str],
    columns: SelectedColumns,
    errors: RowErrors,
    options: ReadOptions,
) -> dict[str, Any]:
    """The columns of parsed lines; labels are still a list of JSON values."""
    names = {role: columns.names[column] for role, column in columns.roles.items()}
    rows: list[dict[str, Any]] = []
    for row, parsed in enumerate(objects):
        if isinstance(parsed, str):
            remedy = NAME_ENCODING if parsed == _NOT_UTF8 else ""
            errors.add(row, f"not a JSON object ({parsed})", remedy)
            parsed = {}
        for role, name in names.items():
            value = parsed.get(name, _MISSING)
            if role.startswith(COLUMN):  # read as a column
                continue
            if value is _MISSING:
                errors.add(row, f"the key {name!r} is missing")
            elif value is None:
                errors.add(row, f"the {role} is missing (null)")
            elif role == "text" and not isinstance(value, str):
                errors.add(row, f"the text {_shorten(value)} is not a string")
            elif role == "weight" and not _is_number(value):
                errors.add(row, f"the weight {_shorten(value)} is not a number from 0 up")
        rows.append(parsed)
    values = {role: [row.get(name) for row in rows] for role, name in names.items()}
    read: dict[str, Any] = values
    if "text" in values:
        texts = [
            replace_surrogates(text) if isinstance(text, str) else "" for text in values["text"]
        ]
        read["text"] = pa.array(texts, pa.large_string())
    if "weight" in read:
        read["weight"] = pa.array([_as_float(weight) for weight in read["weight"]], pa.float64())
    if options.keep:
        read["table"] = _other_columns(rows, columns, set(names.values()), errors.file)
    return read


def _with_table(rows: dict[str, Any], errors: RowErrors) -> dict[str, Any]:
    """The columns of a batch, those of a table as one."""
    if not errors.options.table:
        return rows
    others = {role: each for role, each in rows.items() if not role.startswith(COLUMN)}
    return {**others, "text": errors.read_table(rows)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    """A JSON number as a float; 0 for what has been found to be bad."""
    try:
        return float(value) if _is_number(value) else 0.0
    except OverflowError:
        return float("inf")


def _plain_labels(
    labels: list[Any], errors: RowErrors, options: ReadOptions, lists: bool = False
) -> list[Any]:
    """Labels as strings, numbers and booleans, or `lists`; None for those that cannot be labels."""
    plain: list[Any] = []
    for row, label in enumerate(labels):
        value = label
        if lists and type(label) is list:
            own = RowErrors(options, errors.bad, errors.file)
            plain.append(_plain_labels(label, own, options))
            for reason, remedy in own.found.values():
                errors.add(row, reason, remedy)
            if None in label:
                errors.add(row, "one of the labels is missing (null)")
            continue
        if label is not None and type(label) not in _ARROW_TYPES:
            errors.add(row, f"the label {_shorten(label)} is neither text nor a number")
            value = None
        elif isinstance(label, float) and not math.isfinite(label):
            errors.add(row, f"the label is missing ({_shorten(label)})")
            value = None
        elif isinstance(label, str):
            value = replace_surrogates(label)
        elif type(label) is int and not options.label_as_text and not -(2**63) <= label < 2**63:
            errors.add(row, f"the label {_shorten(label)} does not fit in 64 bits")
            value = None
        if options.label_as_text and value is not None and not isinstance(value, str):
            value = json.dumps(value)
        plain.append(value)
    return plain


def _runs(objects: list[dict[str, Any] | str], label: str | None) -> Iterator[slice]:
    """Rows in a row whose labels can share an array: all are text, numbers, or truth values."""
    begin, kind = 0, None
    for row, parsed in enumerate(objects):
        value = parsed.get(label) if isinstance(parsed, dict) and label is not None else None
        found = float if type(value) is int else type(value)
        if found in _ARROW_TYPES and found is not kind:
            if kind is not None:
                yield slice(begin, row)
                begin = row
            kind = found
    yield slice(begin, len(objects))


def _label_array(labels: list[Any], label_type: pa.DataType, errors: RowErrors) -> pa.Array:
    """Labels as an array, null in bad rows; `label_type` is that of the file's first label."""
    good = [None if row in errors.found else value for row, value in enumerate(labels)]
    if any(type(value) is list for value in good):
        sets = [
            value if type(value) is list else [] if value is None else [value] for value in good
        ]
        flat = [each for values in sets for each in values]
        kinds = {type(each) for each in flat}
        if len(kinds) > 1 and not kinds <= {int, float}:
            flat = [each if isinstance(each, str) else json.dumps(each) for each in flat]
        ends = np.cumsum([0, *map(len, sets)])
        values = _label_array(flat, pa.large_string(), RowErrors(errors.options, errors.bad, ""))
        return pa.LargeListArray.from_arrays(ends, values)
    types = {type(value) for value in good if value is not None}
    if types == {int, float} or (types == {int} and label_type == pa.float64()):
        return pa.array([None if value is None else float(value) for value in good], pa.float64())
    return pa.array(good, _ARROW_TYPES[types.pop()] if types else label_type)


def _other_columns(
    rows: list[dict[str, Any]], columns: SelectedColumns, used: set[str], file: str
) -> pa.RecordBatch | None:
    """The other keys of a block as columns; a key whose values differ in type becomes JSON text."""
    names = [name for name in dict.fromkeys(chain(columns.names, *rows)) if name not in used]
    if len(names) * len(rows) > _MOST_VALUES:
        raise DataError(
            f"{file} has {len(names):,} different keys in {len(rows):,} rows, too many to keep as "
            "columns; read the text and the label alone"
        )
    arrays = []
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowException, UnicodeEncodeError, OverflowError):
            shown = [None if value is None else json.dumps(value) for value in values]
            arrays.append(pa.array(shown, pa.large_string()))
    if not names:
        return None
    return pa.RecordBatch.from_arrays(arrays, names=[replace_surrogates(name) for name in names])


def _shorten(value: Any) -> str:
    """A JSON value as errors show it."""
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."


FORMAT = Format(
    name="jsonl",
    extensions=("jsonl", "ndjson", "json"),
    matches=lambda sample: re.match(rb"\{|\[\s*(\{|\]|$)", sample.line) is not None,
    read=read,
    has_columns=True,
)
