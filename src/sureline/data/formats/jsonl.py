"""JSON lines: one object a line.

Arrow reads whole blocks. Where it finds anything odd, Python's own reader goes through the block
line by line: it is the judge of what is bad, and mends texts with half an emoji.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import Utf8
from sureline.data.column_choice import Columns, choose_columns
from sureline.data.formats.blocks import LineBlock, line_blocks, line_bounds
from sureline.data.formats.raw_rows import Ask, Faults, Part
from sureline.data.formats.string_slices import holds_utf8
from sureline.data.surrogates import mend_surrogates
from sureline.errors import DataError

# So many lines, if they begin in so many bytes, are looked at for the names of columns.
_LOOK, _LOOK_BYTES = 100, 2**20
_ARROW = {str: pa.large_string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_MISSING = object()
_NOT_UTF8 = "not valid UTF-8"


def read_jsonlines(source: Utf8, ask: Ask, bad: BadRows) -> Iterator[Part]:
    """Read JSON lines as parts of about `ask.batch_bytes`."""
    blocks = line_blocks(source, ask.batch_bytes)
    head, first = _first_lines(blocks)
    if not first:
        return
    columns, kind = _choose(first, ask, source.name)
    for lines in chain(head, blocks):
        starts, ends, numbers = _filled_lines(lines)
        if not len(starts):
            continue
        faults = Faults()
        rows = None
        if not ask.keep and holds_utf8(lines.data):
            rows = _read_block(lines.data, len(starts), columns, kind)
        if rows is None:
            rows = _read_lines(lines.data, starts, ends, columns, faults, ask)
            if columns.label is not None:
                rows["label"] = _typed(rows["label"], kind, numbers, faults, ask, source.name)
        text, label = rows["text"], rows.get("label")
        faults.check_text(text, "text", ask.encoding)
        if label is not None and pa.types.is_large_string(label.type):
            faults.check_text(label, "label", ask.encoding)
        faults.check_label(label)
        part = Part(
            numbers,
            text=text,
            label=label,
            labels="typed",
            weight=faults.check_weight(rows.get("weight")),
            table=rows.get("table"),
            text_name=columns.names[columns.text],
            label_name=columns.label_name,
        )
        yield faults.settle(part, bad, source.name)


def _filled_lines(
    lines: LineBlock,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The bounds and the numbers of the lines that are not blank."""
    starts, ends = line_bounds(lines.data)
    numbers = np.arange(len(starts)) + lines.first_line
    # The shortest object is {}: only shorter lines, and rarely longer ones, are blank.
    blank = ends - starts < 2
    block = np.frombuffer(lines.data, np.uint8)
    for row in np.flatnonzero(~blank & (block[np.minimum(starts, len(block) - 1)] <= 32)):
        blank[row] = not lines.data[starts[row] : ends[row]].strip()
    for row in np.flatnonzero(blank):
        blank[row] = not lines.data[starts[row] : ends[row]].strip()
    if blank.any():
        starts, ends, numbers = starts[~blank], ends[~blank], numbers[~blank]
    return starts, ends, numbers


def _first_lines(blocks: Iterator[LineBlock]) -> tuple[list[LineBlock], list[tuple[int, bytes]]]:
    """The first blocks, and the first lines of them with their numbers.

    Which lines these are does not depend on where blocks end.
    """
    head: list[LineBlock] = []
    first: list[tuple[int, bytes]] = []
    size = 0
    for lines in blocks:
        head.append(lines)
        for start, end, number in zip(*_filled_lines(lines), strict=True):
            if len(first) < _LOOK and size + start < _LOOK_BYTES:
                first.append((int(number), lines.data[start:end]))
        size += len(lines.data)
        if len(first) >= _LOOK or size >= _LOOK_BYTES:
            break
    return head, first


def _choose(first: list[tuple[int, bytes]], ask: Ask, file: str) -> tuple[Columns, pa.DataType]:
    """The columns to use, and the type of the first label."""
    number, line = first[0]
    if line.lstrip().startswith(b"["):
        raise DataError(f"{file} holds a JSON array; write one object a line, without brackets")
    rows = [_parse(line) for _, line in first]
    objects = [row for row in rows if isinstance(row, dict)]
    if not objects:
        raise DataError(
            f"{file}, line {number}: not a JSON object ({rows[0]}); name the format if it is "
            "another (format=, --format)"
        )
    names = list(dict.fromkeys(name for row in objects for name in row))
    columns = choose_columns(file, names, ask)
    kind = pa.large_string()
    if columns.label is not None:
        for row in objects:
            value = row.get(names[columns.label])
            if type(value) in _ARROW:
                kind = _ARROW[type(value)]
                break
    return columns, kind


def _parse(line: bytes) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it."""
    try:
        value = json.loads(line.decode("utf-8"), strict=False)
    except UnicodeDecodeError:
        return _NOT_UTF8
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return str(error)
    return value if isinstance(value, dict) else f"a {type(value).__name__}, not an object"


def _read_block(
    data: bytes, rows: int, columns: Columns, kind: pa.DataType
) -> dict[str, Any] | None:
    """The columns of a block as Arrow reads them; None where it finds anything odd."""
    from pyarrow import json as arrow_json

    fields = {columns.names[columns.text]: pa.large_string()}
    if columns.label is not None:
        fields[columns.names[columns.label]] = kind
    if columns.weight is not None:
        fields.setdefault(columns.names[columns.weight], pa.float64())
    try:
        table = arrow_json.read_json(
            pa.BufferReader(data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(fields.items())),
                unexpected_field_behavior="ignore",
            ),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    # Arrow does not mind two objects on a line, or one on two lines; each is a fault to report.
    if table.num_rows != rows:
        return None
    found = {"text": columns.text, "label": columns.label, "weight": columns.weight}
    read = {
        what: table.column(columns.names[column]).combine_chunks()
        for what, column in found.items()
        if column is not None
    }
    # A key that is missing and one that is null look the same here.
    return None if any(array.null_count for array in read.values()) else read


def _read_lines(
    data: bytes,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    columns: Columns,
    faults: Faults,
    ask: Ask,
) -> dict[str, Any]:
    """The columns of a block line by line; labels and weights as they are, in lists."""
    wanted = {"text": columns.text, "label": columns.label, "weight": columns.weight}
    names = {what: columns.names[at] for what, at in wanted.items() if at is not None}
    objects: list[dict[str, Any]] = []
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        parsed = _parse(data[start:end])
        if isinstance(parsed, str):
            remedy = ""
            if parsed == _NOT_UTF8:
                remedy = "say which encoding the file has (encoding=, --encoding latin-1)"
            faults.add(row, f"not a JSON object ({parsed})", remedy)
            parsed = {}
        for what, name in names.items():
            value = parsed.get(name, _MISSING)
            if value is _MISSING:
                faults.add(row, f"the key {name!r} is missing")
            elif value is None:
                faults.add(row, f"the {what} is missing (null)")
            elif what == "text" and not isinstance(value, str):
                faults.add(row, f"the text {_short(value)} is not a string")
        objects.append(parsed)
    texts = [row.get(names["text"]) for row in objects]
    read: dict[str, Any] = {
        "text": pa.array(
            [mend_surrogates(text) if isinstance(text, str) else "" for text in texts],
            pa.large_string(),
        )
    }
    if "label" in names:
        read["label"] = [row.get(names["label"]) for row in objects]
    if "weight" in names:
        weights = [row.get(names["weight"]) for row in objects]
        for row, weight in enumerate(weights):
            if isinstance(weight, str | bool | list | dict):
                faults.add(row, f"the weight {_short(weight)} is not a number from 0 up")
        read["weight"] = pa.array([_plain_number(weight) for weight in weights], pa.float64())
    if ask.keep:
        read["table"] = _others(objects, columns, set(names.values()))
    return read


def _plain_number(value: Any) -> float | None:
    """A JSON number as a float; 0 stands in for what has been found to be bad."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _typed(
    labels: list[Any],
    kind: pa.DataType,
    numbers: NDArray[np.int64],
    faults: Faults,
    ask: Ask,
    file: str,
) -> pa.Array:
    """Labels from JSON values as an array, `kind` being the type of the file's first label."""
    plain: list[Any] = []
    for row, label in enumerate(labels):
        value = label
        if label is not None and type(label) not in _ARROW:
            faults.add(row, f"the label {_short(label)} is neither text nor a number")
            value = None
        elif isinstance(label, str):
            value = mend_surrogates(label)
        elif type(label) is int and not ask.label_as_text and not -(2**63) <= label < 2**63:
            faults.add(row, f"the label {_short(label)} does not fit in 64 bits")
            value = None
        if ask.label_as_text and value is not None and not isinstance(value, str):
            value = json.dumps(value)
        plain.append(value)
    kinds = {type(value) for value in plain if value is not None}
    if len(kinds) > 1 and kinds != {int, float}:
        for row, value in enumerate(plain):
            if value is not None and _ARROW[type(value)] != kind and row not in faults.found:
                raise DataError(
                    f"{file}, line {int(numbers[row])}: the label {value!r} is not of the type of "
                    "those before it; read labels as text (label_type='text', --label-type text)"
                )
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in plain], pa.float64())
    return pa.array(plain, _ARROW[kinds.pop()] if kinds else kind)


def _others(objects: list[dict[str, Any]], columns: Columns, used: set[str]) -> Any:
    """The other keys of a block as columns; a key whose values differ in type becomes JSON text."""
    names = [name for name in columns.names if name not in used]
    seen = set(names) | used
    for row in objects:
        if not row.keys() <= seen:
            names += [name for name in row if name not in seen]
            seen |= row.keys()
    arrays = []
    for name in names:
        values = [row.get(name) for row in objects]
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowException, UnicodeEncodeError, OverflowError):
            shown = [None if value is None else json.dumps(value) for value in values]
            arrays.append(pa.array(shown, pa.large_string()))
    if not names:
        return None
    return pa.RecordBatch.from_arrays(arrays, names=[mend_surrogates(name) for name in names])


def _short(value: Any) -> str:
    """A JSON value, short enough for a message."""
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
