"""A state as metadata and tensors, without its untouched rows, and back."""

from __future__ import annotations

from collections.abc import Mapping

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
    is_finite,
    is_whole,
    member,
    short,
    whole,
)
from sureline.model.state import CALIBRATOR, Layout, Places, State, matrix_block, repeated

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
    to the file. Otherwise all rows are stored, and opening the file maps them. The tensors are
    views of the state where they can be.

    Rows beyond so many `features` are spare capacity. A file may always grow to the number of
    features that is `expected` by what the model is, such as 2^bits; `state_from_parts` must be
    given the same.
    """
    if features is not None:
        state = state.trimmed(features)
    layout, used = state.layout, state.used
    fields = {
        **_layout_fields(layout),
        "features": state.features,
        "wide": bool(state.wide),
        "used": int(used),
        "clock": int(state.clock),
        "counts": [int(count) for count in state.counts],
        "merged": int(state.merged),
        "curve": [float(value) for value in state.calibrator],
        "errors": [float(value) for value in state.noise_sums],
    }
    rest, rest_changed = _rest(state)
    differing = _differing(state, rest, rest_changed)
    part, everything = int(np.count_nonzero(differing)), state.features + 1
    tensors: Tensors = {}
    rows: Places = slice(None)
    halved = 2 * layout.size(part, used) <= layout.size(everything, used)
    if halved and _may_grow(layout, part, everything, used, limit_gb, expected):
        rows = np.flatnonzero(differing)
        tensors = {"rows": rows.astype(np.int32), "rest": rest}
        if layout.last_changed:
            tensors["rest_stamps"] = rest_changed
    tensors["table"] = state.table[rows, :, :used]
    if layout.last_changed:
        tensors["stamps"] = state.last_changed[rows, :used]
    if layout.covariance == "full":
        tensors["covariance"] = state.covariance[:used][matrix_block(rows)]
    if layout.counted:
        tensors["tallies"] = state.class_counts[rows, : state.classes]
        tensors["tokens"] = state.class_tokens[: state.classes]
    _check_numbers(layout, tensors)
    return fields, tensors


def state_from_parts(
    layout: Layout,
    fields: Mapping[str, Json],
    tensors: Mapping[str, Array],
    limit_gb: float,
    expected: int | None = None,
) -> State:
    """The state that `state_parts` took apart, if it is one of the layout that parameters imply.

    Nothing is allocated before everything has been checked; a ModelFileError says what does not
    fit, as a clause about "it", the file. Arrays that hold every row are used as they are. A state
    with rows left out may take `limit_gb` of memory.
    """
    _check_layout(layout, fields)
    features = whole(fields, "features", 0, MOST_FEATURES)
    used, wide = whole(fields, "used", 1, MOST_FEATURES), member(fields, "wide", bool)
    counts = member(fields, "counts", list)
    if len(counts) != 3 or not all(is_whole(count, 0, LARGEST) for count in counts):
        raise ModelFileError(f"its counts are {short(counts)}, expected three whole numbers")
    calibrator = fields.get("curve", list(CALIBRATOR))
    if not _are_numbers(calibrator, len(CALIBRATOR)):
        raise ModelFileError(
            f"its curve is {short(calibrator)}, expected {len(CALIBRATOR)} numbers"
        )
    noise_sums = fields.get("errors", [0.0, 0.0])
    if not _are_numbers(noise_sums, 2):
        raise ModelFileError(f"its errors are {short(noise_sums)}, expected two numbers")
    if min(noise_sums) < 0.0:
        raise ModelFileError(f"its errors are {short(noise_sums)}, expected none below 0")
    clock, merged = whole(fields, "clock", 0, LARGEST), whole(fields, "merged", 1, LARGEST)
    everything, classes = features + 1, used if wide else 2
    rows = tensors.get("rows")
    stored = everything if rows is None else _check_rows(rows, everything)
    _check_tensors(layout, tensors, stored, used, classes)
    if rows is not None and not _may_grow(layout, stored, everything, used, limit_gb, expected):
        raise ModelFileError(
            f"its {stored:,} stored features stand for {features:,}, which would take "
            f"{layout.size_gb(features, used):.3g} GB: more than such a file may ask for"
        )

    def all_rows(name: str, rest: Array) -> Array:
        """A tensor with every row; those that were left out are like `rest`."""
        if rows is None:
            return tensors[name]
        made = repeated(rest, everything)
        made[rows] = tensors[name]
        return made

    rest = tensors.get("rest", np.zeros((len(layout.initial), 0)))
    last_changed: Array = np.zeros((0, used), np.int64)
    if layout.last_changed:
        last_changed = all_rows("stamps", tensors.get("rest_stamps", last_changed))
    covariance: Array = np.zeros((0, 0, 0), layout.dtype)
    if layout.covariance == "full":
        covariance = tensors["covariance"]
    if covariance.size and rows is not None:
        covariance = np.zeros((used, everything, everything), layout.dtype)
        covariance[:, np.arange(everything), np.arange(everything)] = rest[1][:, np.newaxis]
        covariance[matrix_block(rows)] = tensors["covariance"]
    class_counts: Array = np.zeros((everything if layout.counted else 0, max(classes, 2)), np.int32)
    class_tokens = np.zeros(max(used, 2), np.int64)
    if layout.counted:
        class_tokens[:classes] = tensors["tokens"]
        if rows is None and classes > 1:
            class_counts = tensors["tallies"]
        else:
            class_counts[slice(None) if rows is None else rows, :classes] = tensors["tallies"]
    return State(
        layout,
        all_rows("table", rest[: layout.slots]),
        covariance,
        last_changed,
        wide=wide,
        used=used,
        clock=clock,
        counts=np.array(counts, np.int64),
        merged=merged,
        class_counts=class_counts,
        class_tokens=class_tokens,
        calibrator=np.array(calibrator, np.float64),
        noise_sums=np.array(noise_sums, np.float64),
    )


def _are_numbers(values: Json, count: int) -> bool:
    """Whether this is a list of so many finite numbers."""
    return type(values) is list and len(values) == count and all(map(is_finite, values))


def _check_tensors(
    layout: Layout, tensors: Mapping[str, Array], stored: int, used: int, classes: int
) -> None:
    """Refuse tensors that are missing, or not of the shape and dtype that the layout implies."""
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "table": ((stored, layout.slots, used), layout.dtype)
    }
    if layout.last_changed:
        shapes["stamps"] = ((stored, used), "int64")
    if layout.covariance == "full":
        shapes["covariance"] = ((used, stored, stored), layout.dtype)
    if layout.counted:
        shapes["tallies"] = ((stored, classes), "int32")
        shapes["tokens"] = ((classes,), "int64")
    if "rows" in tensors:
        shapes["rest"] = ((len(layout.initial), used), layout.dtype)
        if layout.last_changed:
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
    _check_numbers(layout, tensors)


def _check_numbers(layout: Layout, tensors: Mapping[str, Array]) -> None:
    """Refuse numbers that learning cannot have left: infinite ones, variances below 0."""
    for name in ("table", "rest", "covariance"):
        found = tensors.get(name)
        if found is not None and found.size and not np.isfinite([found.min(), found.max()]).all():
            raise ModelFileError(f"its tensor {name!r} has numbers that are not finite")
    if layout.covariance == "identity":
        return
    variances = [tensors["table"][:, 1]] if layout.slots > 1 else []
    if "rest" in tensors:
        variances.append(tensors["rest"][1])
    if "covariance" in tensors:
        variances.append(np.diagonal(tensors["covariance"], axis1=1, axis2=2))
    if any(each.size and each.min() < 0.0 for each in variances):
        raise ModelFileError("it has variances below 0")


def _rest(state: State) -> tuple[Array, Array]:
    """The row that is the commonest among some, and when its weights were last changed."""
    used, layout = state.used, state.layout
    some = np.linspace(1, state.features, min(SAMPLE, state.features)).astype(np.intp)
    seen: dict[bytes, list[int]] = {}
    for row in some:
        values, changed = _row(state, row)
        seen.setdefault(values.tobytes() + changed.tobytes(), []).append(row)
    if seen:
        return _row(state, max(seen.values(), key=len)[0])
    initial = np.asarray(layout.initial, layout.dtype)
    return np.repeat(initial[:, np.newaxis], used, axis=1), np.zeros(used, np.int64)


def _row(state: State, row: int) -> tuple[Array, Array]:
    """A row's slots, its variances too if the covariance is full, and when it was last changed."""
    used = state.used
    values = state.table[row, :, :used]
    if state.layout.covariance == "full":
        values = np.stack([values[0], state.covariance[:used, row, row]])
    changed = (
        state.last_changed[row, :used] if state.layout.last_changed else np.zeros(used, np.int64)
    )
    return np.ascontiguousarray(values), changed


def _differing(state: State, rest: Array, rest_changed: Array) -> NDArray[np.bool_]:
    """Which rows differ, in any bit, from the row `rest`; row 0 always counts."""
    layout, used = state.layout, state.used
    bits = np.dtype(f"u{state.table.dtype.itemsize}")
    table, usual = state.table.view(bits), rest[: layout.slots].view(bits)
    differs = np.zeros(state.features + 1, bool)
    step = max(1, ROWS_AT_ONCE // usual.size)
    for start in range(0, differs.size, step):
        part = slice(start, start + step)
        differs[part] = (table[part, :, :used] != usual).any(axis=(1, 2))
        if layout.last_changed:
            differs[part] |= (state.last_changed[part, :used] != rest_changed).any(axis=1)
        if layout.counted:
            differs[part] |= (state.class_counts[part, : state.classes] != 0).any(axis=1)
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


def _may_grow(
    layout: Layout, stored: int, everything: int, used: int, limit_gb: float, expected: int | None
) -> bool:
    """Whether a file with some rows of a state may have it expanded to all when it is opened."""
    size, allowed = layout.size(everything, used), ALLOWANCE
    if expected is not None:
        allowed = max(allowed, layout.size(expected + 1, used))
    return size <= limit_gb * 2**30 and size <= max(allowed, GROWTH * layout.size(stored, used))


def _layout_fields(layout: Layout) -> dict[str, Json]:
    """A layout as JSON can hold it."""
    return {
        "rule": layout.rule,
        "covariance": layout.covariance,
        "dtype": layout.dtype,
        "fit_intercept": bool(layout.fit_intercept),
        "initial": [float(value) for value in layout.initial],
        "stamps": bool(layout.last_changed),
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
