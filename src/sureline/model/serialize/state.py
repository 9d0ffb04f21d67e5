"""A state as metadata and tensors, without its untouched rows, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.model.serialize.fields import (
    GROWTH,
    LARGEST,
    MOST_FEATURES,
    Array,
    Json,
    Tensors,
    flag,
    is_finite,
    is_whole,
    member,
    short,
    whole,
)
from sureline.model.state import CURVE, Layout, State, repeated

# A file without its untouched rows may expand to this when it is opened, whatever its size.
ALLOWANCE = 256 * 2**20
ROWS_AT_ONCE = 2**20  # numbers compared at a time
SAMPLE = 64  # rows in which the most frequent one is looked for


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
        How many features count; rows beyond them are spare capacity. None means all.
    expected : int, default=None
        How many features the model has by what it is, such as 2^bits: a file may always grow to so
        many. `state_from_parts` must be given the same.

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
