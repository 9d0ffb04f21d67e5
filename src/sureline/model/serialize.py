"""A state, labels and names as metadata and tensors, and back.

What is read back is checked against what it should be before anything is allocated: whoever wrote
the file may have been careless, unlucky or hostile. Features that nothing was learned of are left
out where that makes the file much smaller.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.model.state import CURVE, Layout, State, repeated

Json = Any
Array = NDArray[Any]
Tensors = dict[str, Array]

# A file that leaves out features may grow to this when it is opened, or to so many times its size.
ALLOWANCE = 256 * 2**20
GROWTH = 1024
MOST_FEATURES = 2**31 - 2  # feature numbers are int32
LARGEST = 2**53  # counters
LETTERS = 2**22  # what an array of labels may hold, however short they are
ROWS_AT_ONCE = 2**20  # numbers compared at a time
SAMPLE = 64  # rows looked at to find the commonest
INTEGERS = ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8")


# -- the state ---------------------------------------------------------------------------------


def state_parts(
    state: State, limit_gb: float, features: int | None = None, expected: int | None = None
) -> tuple[dict[str, Json], Tensors]:
    """A state as metadata and tensors, without the rows that nothing was learned of.

    Most features of a large model are alike: as they began, or as merging or a third class has
    left what began so. Such rows are stored once where that halves the file at least, and the state
    that `state_from_parts` will make of it is neither larger than `limit_gb` nor out of proportion
    to the file. Otherwise all rows are stored, and opening the
    file maps them. The tensors are views of the state where they can be.

    Parameters
    ----------
    state : State
        What to take apart.
    limit_gb : float
        The most memory that the model may take.
    features : int, default=None
        How many features count; rows beyond them are room for more. None means all.
    expected : int, default=None
        How many features the model has by what it is, such as 2^bits: a file may always grow to so
        many. `state_from_parts` must be told the same.

    Returns
    -------
    fields, tensors : dict
        What JSON can hold, and arrays by name.
    """
    if features is not None:
        state = state.trimmed(features)
    layout, used, everything = state.layout, state.used, state.features + 1
    fields = {
        **_layout_fields(layout),
        "features": state.features,
        "wide": bool(state.wide),
        "used": int(used),
        "clock": int(state.clock),
        "counts": [int(count) for count in state.counts],
        "merged": int(state.merged),
        "curve": [float(value) for value in state.curve],
        "errors": [float(value) for value in state.errors],
    }
    rest, stamped = _rest(state)
    differing = _differing(state, rest, stamped)
    part = _bytes(layout, int(np.count_nonzero(differing)), used)
    whole_ = _bytes(layout, everything, used)
    tensors: Tensors
    if 2 * part <= whole_ and _may_grow(part, whole_, limit_gb, _allowed(layout, expected, used)):
        rows = np.flatnonzero(differing)
        tensors = {
            "rows": rows.astype(np.int32),
            "table": state.table[rows, :, :used],
            "rest": rest,
        }
        if layout.stamps:
            tensors |= {"stamps": state.stamps[rows, :used], "rest_stamps": stamped}
        if layout.covariance == "full":
            tensors["covariance"] = state.covariance[:used][:, rows[:, np.newaxis], rows]
        if layout.counted:
            tensors["tallies"] = state.tallies[rows, : state.classes]
    else:
        tensors = {"table": state.table[:, :, :used]}
        if layout.counted:
            tensors["tallies"] = state.tallies[:, : state.classes]
        if layout.stamps:
            tensors["stamps"] = state.stamps[:, :used]
        if layout.covariance == "full":
            tensors["covariance"] = state.covariance[:used]
    if layout.counted:
        tensors["tokens"] = state.tokens[: state.classes]
    return fields, tensors


def state_from_parts(
    layout: Layout,
    fields: Mapping[str, Json],
    tensors: Mapping[str, Array],
    limit_gb: float,
    expected: int | None = None,
) -> State:
    """The state that `state_parts` took apart, if it is one of this layout.

    Nothing is allocated before everything has been checked. Arrays that hold every row are used as
    they are.

    Parameters
    ----------
    layout : Layout
        What the parameters of the model imply.
    fields, tensors : dict
        What `state_parts` returned, or anything else that a file may hold.
    limit_gb : float
        The most memory that a state with rows left out may take.
    expected : int, default=None
        How many features the model has by what it is.

    Returns
    -------
    State
        The state.

    Raises
    ------
    ModelFileError
        If anything does not fit; the message is a clause about "it", the file.
    """
    _check_layout(layout, fields)
    features = whole(fields, "features", 0, MOST_FEATURES)
    used = whole(fields, "used", 1, MOST_FEATURES)
    counts = member(fields, "counts", list)
    if len(counts) != 3 or not all(is_whole(count, 0, LARGEST) for count in counts):
        raise ModelFileError(f"its counts are {short(counts)}, expected three whole numbers")
    settled: dict[str, Any] = {
        "wide": flag(fields, "wide"),
        "used": used,
        "clock": whole(fields, "clock", 0, LARGEST),
        "counts": np.array(counts, np.int64),
        "merged": whole(fields, "merged", 1, LARGEST),
    }
    curve = fields.get("curve", list(CURVE))
    if type(curve) is not list or len(curve) != len(CURVE) or not all(map(is_finite, curve)):
        raise ModelFileError(f"its curve is {short(curve)}, expected {len(CURVE)} numbers")
    settled["curve"] = np.array(curve, np.float64)
    errors = fields.get("errors", [0.0, 0.0])
    if type(errors) is not list or len(errors) != 2 or not all(map(is_finite, errors)):
        raise ModelFileError(f"its errors are {short(errors)}, expected two numbers")
    if min(errors) < 0.0:
        raise ModelFileError(f"its errors are {short(errors)}, expected none below 0")
    settled["errors"] = np.array(errors, np.float64)
    everything, slots = features + 1, 1 if layout.covariance == "full" else len(layout.initial)
    rows = tensors.get("rows")
    stored = everything if rows is None else _check_rows(rows, everything)
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "table": ((stored, slots, used), layout.dtype)
    }
    if layout.stamps:
        shapes["stamps"] = ((stored, used), "int64")
    if layout.covariance == "full":
        shapes["covariance"] = ((used, stored, stored), layout.dtype)
    classes = used if settled["wide"] else 2
    if layout.counted:
        shapes["tallies"] = ((stored, classes), "int32")
        shapes["tokens"] = ((classes,), "int64")
    if rows is not None:
        shapes["rest"] = ((len(layout.initial), used), layout.dtype)
        if layout.stamps:
            shapes["rest_stamps"] = ((used,), "int64")
    for name, (shape, dtype) in shapes.items():
        found = tensors.get(name)
        if found is None:
            raise ModelFileError(f"it has no tensor {name!r}")
        if found.shape != shape or found.dtype != np.dtype(dtype):
            raise ModelFileError(
                f"its tensor {name!r} is {found.dtype} of shape {found.shape}, expected {dtype} of "
                f"shape {shape}"
            )
    stamps: Array = np.zeros((0, used), np.int64)
    tallies: Array = np.zeros((0, max(used, 2)), np.int32)
    settled["tokens"] = np.zeros(max(used, 2), np.int64)
    if layout.counted:
        settled["tokens"][:classes] = tensors["tokens"]
    covariance: Array = np.zeros((0, 0, 0), layout.dtype)
    if rows is None:
        return State(
            layout,
            tensors["table"],
            tensors["covariance"] if layout.covariance == "full" else covariance,
            tensors["stamps"] if layout.stamps else stamps,
            tallies=_at_least_two(tensors["tallies"]) if layout.counted else tallies,
            **settled,
        )
    part, whole_ = _bytes(layout, stored, used), _bytes(layout, everything, used)
    if not _may_grow(part, whole_, limit_gb, _allowed(layout, expected, used)):
        raise ModelFileError(
            f"its {stored:,} stored features stand for {features:,}, which would take "
            f"{whole_ / 2**30:.3g} GB: more than such a file may ask for"
        )
    rest = tensors["rest"]
    table = repeated(rest[:slots], everything)
    table[rows] = tensors["table"]
    if layout.stamps:
        stamps = repeated(tensors["rest_stamps"], everything)
        stamps[rows] = tensors["stamps"]
    if layout.covariance == "full":
        covariance = np.zeros((used, everything, everything), layout.dtype)
        covariance[:, np.arange(everything), np.arange(everything)] = rest[1][:, np.newaxis]
        covariance[:, rows[:, np.newaxis], rows] = tensors["covariance"]
    if layout.counted:
        tallies = np.zeros((everything, max(used, 2)), np.int32)
        tallies[rows, :classes] = tensors["tallies"]
    return State(layout, table, covariance, stamps, tallies=tallies, **settled)


def is_finite(value: Json) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float) and math.isfinite(value)


def _at_least_two(tallies: Array) -> Array:
    """Counts of at least two classes, the second of which may not have come."""
    if tallies.shape[1] > 1:
        return tallies
    return np.ascontiguousarray(np.column_stack([tallies, np.zeros_like(tallies)]))


def _rest(state: State) -> tuple[Array, Array]:
    """The row that is the commonest among some, and its stamps; of a full covariance, with Σ_pp."""
    used, layout = state.used, state.layout
    some = np.linspace(1, state.features, min(SAMPLE, state.features)).astype(np.intp)
    seen: dict[bytes, list[int]] = {}
    for row in some:
        values, stamps = _row(state, row)
        seen.setdefault(values.tobytes() + stamps.tobytes(), []).append(row)
    if seen:
        return _row(state, max(seen.values(), key=len)[0])
    initial = np.asarray(layout.initial, layout.dtype)
    return np.repeat(initial[:, np.newaxis], used, axis=1), np.zeros(used, np.int64)


def _row(state: State, row: int) -> tuple[Array, Array]:
    """A row's slots, followed by its variances if the covariance is full, and its stamps."""
    used = state.used
    values = state.table[row, :, :used]
    if state.layout.covariance == "full":
        values = np.stack([values[0], state.covariance[:used, row, row]])
    stamps = state.stamps[row, :used] if state.layout.stamps else np.zeros(used, np.int64)
    return np.ascontiguousarray(values), stamps


def _differing(state: State, rest: Array, stamped: Array) -> NDArray[np.bool_]:
    """Which rows differ, in any bit, from the row `rest`; row 0 always counts."""
    layout, used = state.layout, state.used
    slots = state.table.shape[1]
    bits = np.dtype(f"u{state.table.dtype.itemsize}")
    table, usual = state.table.view(bits), rest[:slots].view(bits)
    differs = np.zeros(state.features + 1, bool)
    step = max(1, ROWS_AT_ONCE // usual.size)
    for start in range(0, differs.size, step):
        part = slice(start, start + step)
        differs[part] = (table[part, :, :used] != usual).any(axis=(1, 2))
        if layout.stamps:
            differs[part] |= (state.stamps[part, :used] != stamped).any(axis=1)
        if layout.counted:
            differs[part] |= (state.tallies[part, : state.classes] != 0).any(axis=1)
    if layout.covariance == "full":
        for matrix, variance in zip(state.covariance[:used], rest[1], strict=True):
            _mark_differing(matrix, variance, differs)
    differs[0] = True
    return differs


def _mark_differing(matrix: Array, variance: float, differs: NDArray[np.bool_]) -> None:
    """Mark the rows and columns that have more than this variance on the diagonal."""
    bits = np.dtype(f"u{matrix.dtype.itemsize}")
    size = differs.size
    step = max(1, ROWS_AT_ONCE // size)
    for start in range(0, size, step):
        stop = min(size, start + step)
        usual = np.zeros((stop - start, size), matrix.dtype)
        usual[np.arange(stop - start), np.arange(start, stop)] = variance
        found = np.ascontiguousarray(matrix[start:stop]).view(bits) != usual.view(bits)
        differs[start:stop] |= found.any(axis=1)
        differs |= found.any(axis=0)


def _bytes(layout: Layout, rows: int, columns: int) -> int:
    """The bytes of a state with so many rows, the constant feature's among them."""
    item = np.dtype(layout.dtype).itemsize
    slots = 1 if layout.covariance == "full" else len(layout.initial)
    matrices = rows * item if layout.covariance == "full" else 0
    counted = 4 * layout.counted * rows * max(columns, 2)
    return int(rows * columns * (slots * item + 8 * layout.stamps + matrices)) + counted


def _allowed(layout: Layout, expected: int | None, columns: int) -> int:
    """To how many bytes a file may grow, however small it is."""
    return max(ALLOWANCE, _bytes(layout, expected + 1, columns) if expected is not None else 0)


def _may_grow(part: int, everything: int, limit_gb: float, allowed: int) -> bool:
    """Whether a file with `part` bytes of state may ask for `everything` when it is opened."""
    return everything <= limit_gb * 2**30 and everything <= max(allowed, GROWTH * part)


def _layout_fields(layout: Layout) -> dict[str, Json]:
    """A layout as JSON can hold it."""
    return {
        "rule": layout.rule,
        "covariance": layout.covariance,
        "dtype": layout.dtype,
        "fit_intercept": bool(layout.fit_intercept),
        "initial": [float(value) for value in layout.initial],
        "stamps": bool(layout.stamps),
        **({"weighting": layout.weighting} if layout.weighting else {}),
    }


def _check_layout(layout: Layout, fields: Mapping[str, Json]) -> None:
    """Refuse a state of another layout than the parameters imply."""
    for name, value in _layout_fields(layout).items():
        found = fields.get(name)
        if type(found) is not type(value) or found != value:
            raise ModelFileError(
                f"its state has {name}={short(found)}, its parameters imply {value!r}"
            )


def _check_rows(rows: Array, everything: int) -> int:
    """How many rows are stored, if they ascend from 0 and exist."""
    if rows.ndim != 1 or rows.dtype != np.int32 or not 1 <= rows.size <= everything:
        raise ModelFileError(
            f"its rows are {rows.dtype} of shape {rows.shape}, expected int32, one for each of up "
            f"to {everything:,} features"
        )
    if rows[0] != 0 or rows[-1] >= everything or not (rows[1:] > rows[:-1]).all():
        raise ModelFileError(f"its rows do not ascend from 0 to at most {everything - 1:,}")
    return int(rows.size)


# -- labels and names --------------------------------------------------------------------------


def labels_to_json(labels: Array) -> dict[str, Json]:
    """An array of labels, its dtype included."""
    kind = labels.dtype
    values: Sequence[Any] = labels.tolist()
    if kind.kind in "US":
        longest = max(map(len, values), default=1)
        width = kind.itemsize // (4 if kind.kind == "U" else 1)
        if not _may_be_wide(width, values):
            width = max(1, longest)
        if not _may_be_wide(width, values):
            raise ModelFileError(
                f"cannot save labels of up to {longest:,} letters among {len(values):,}; use "
                "shorter ones"
            )
        if kind.kind == "S":
            return {"dtype": f"|S{width}", "values": [value.decode("latin-1") for value in values]}
        return {"dtype": f"<U{width}", "values": values}
    if kind.kind in "iub" or (kind.kind == "f" and kind.itemsize <= 8):
        return {"dtype": kind.newbyteorder("<").str, "values": values}
    if kind.kind == "O":
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        if _same_sort(values):
            return {"dtype": "|O", "values": values}
    example = reprlib.repr(values[0]) if values else ""
    raise ModelFileError(
        f"cannot save labels of dtype {kind}, such as {example}; use text, whole numbers, floats "
        "or booleans"
    )


def labels_from_json(stored: Json) -> Array:
    """The array of distinct labels that `labels_to_json` wrote."""
    if not isinstance(stored, dict) or set(stored) != {"dtype", "values"}:
        raise ModelFileError(f"its labels are {short(stored)}")
    name, values = text_of(stored, "dtype"), member(stored, "values", list)
    if not values:
        raise ModelFileError("it has no labels")
    if not _same_sort(values):
        raise ModelFileError(f"its labels are of several kinds: {short(values)}")
    labels = _labels(name, values)
    if labels is None:
        raise ModelFileError(f"its labels {short(values)} are not of dtype {short(name)}")
    if np.unique(labels).size != labels.size:
        raise ModelFileError(f"its labels repeat: {short(values)}")
    return labels


def _labels(name: str, values: list[Any]) -> Array | None:
    """The labels of the dtype that `name` means, or None if they are none of it."""
    texts = isinstance(values[0], str)
    made: Array | None = None
    if name == "|O":
        made = np.empty(len(values), object)
        made[:] = values
    elif name[:2] in ("<U", "|S") and name[2:].isascii() and name[2:].isdigit() and texts:
        end: Any = "\0"
        items = values
        if name[0] == "|":
            end, items = b"\0", [as_bytes(value) for value in values]
        if len(name) < 12 and int(name[2:]) >= 1 and _may_be_wide(int(name[2:]), items):
            made = np.array(items, name)
            items = [item.rstrip(end) for item in items]
            return made if made.tolist() == items else None
    elif name == "|b1" and isinstance(values[0], bool):
        made = np.array(values, bool)
    elif name in ("<f2", "<f4", "<f8") and isinstance(values[0], float):
        made = np.array(values, "<f8").astype(name)
    elif name in INTEGERS and isinstance(values[0], int) and not isinstance(values[0], bool):
        bounds = np.iinfo(name)
        if all(bounds.min <= value <= bounds.max for value in values):
            made = np.array(values, name)
    return made if made is not None and made.tolist() == values else None


def _may_be_wide(width: int, values: Sequence[Any]) -> bool:
    """Whether an array of text may be so wide, given the labels that it holds."""
    letters = sum(map(len, values))
    return width * len(values) <= max(LETTERS, GROWTH * letters)


def _same_sort(values: Sequence[Any]) -> bool:
    """Whether labels are all text, all booleans, or all finite numbers."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        return all(
            abs(value) < 2**64 if type(value) is int else math.isfinite(value) for value in values
        )
    return kinds <= {str} or kinds <= {bool}


def as_bytes(text: str) -> bytes:
    """The bytes that are written as the letters of the same numbers."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise ModelFileError(f"{short(text)} does not stand for bytes") from None


def strings_to_tensors(name: str, strings: Iterable[str]) -> Tensors:
    """Many strings as two tensors: their UTF-8, and where each ends."""
    encoded = [str(string).encode("utf-8", "surrogatepass") for string in strings]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return {
        name: np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}.ends": np.cumsum(lengths, dtype=np.int64),
    }


def strings_from_tensors(name: str, tensors: Mapping[str, Array]) -> list[str]:
    """The strings that `strings_to_tensors` made tensors of."""
    letters, ends = tensors.get(name), tensors.get(f"{name}.ends")
    if (
        letters is None
        or ends is None
        or letters.dtype != np.uint8
        or ends.dtype != np.int64
        or letters.ndim != 1
        or ends.ndim != 1
        or (ends[-1:] != letters.size).any()
        or (np.diff(ends, prepend=0) < 0).any()
        or (not ends.size and letters.size)
    ):
        raise ModelFileError(f"its tensors {name!r} and '{name}.ends' do not fit each other")
    whole_, begin, strings = letters.tobytes(), 0, []
    try:
        for end in ends.tolist():
            strings.append(whole_[begin:end].decode("utf-8", "surrogatepass"))
            begin = end
    except UnicodeDecodeError:
        raise ModelFileError(f"its tensor {name!r} is not UTF-8") from None
    return strings


def check_labels(labels: Array, state: State) -> None:
    """Refuse labels that do not fit the columns of `state`."""
    fits = labels.size == state.used if state.wide else labels.size <= 2 and state.used == 1
    if not fits:
        raise ModelFileError(
            f"it has {labels.size:,} labels and {state.used:,} columns of "
            f"{'one class each' if state.wide else 'two classes'}"
        )
    if not state.wide and (np.sort(labels) != labels).any():
        raise ModelFileError("its two labels are not sorted")


# -- single fields of the metadata -------------------------------------------------------------


def member(fields: Mapping[str, Json], name: str, kind: type) -> Any:
    """The field `name`, which must be of this kind."""
    value = fields.get(name)
    if type(value) is not kind:
        raise ModelFileError(f"its {name} is {short(value)}, expected a {kind.__name__}")
    return value


def text_of(fields: Mapping[str, Json], name: str) -> str:
    """The field `name`, which must be text."""
    return str(member(fields, name, str))


def flag(fields: Mapping[str, Json], name: str) -> bool:
    """The field `name`, which must be true or false."""
    return bool(member(fields, name, bool))


def whole(fields: Mapping[str, Json], name: str, low: int, high: int) -> int:
    """The field `name`, which must be a whole number from `low` to `high`."""
    value: Any = fields.get(name)
    if not is_whole(value, low, high):
        raise ModelFileError(
            f"its {name} is {short(value)}, expected a whole number from {low} to {high}"
        )
    return int(value)


def is_whole(value: Any, low: int, high: int) -> bool:
    """Whether `value` is a whole number from `low` to `high`; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def short(value: Any) -> str:
    """`value` as it is told in a message, however large or deep it is."""
    return reprlib.repr(value)
