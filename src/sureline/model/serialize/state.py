"""A state as metadata and tensors, without its untouched rows, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sureline.errors import ModelFileError
from sureline.kernels.calibration import (
    HIGH,
    INTERVALS,
    LEAST_TAU,
    LOG_A,
    LOG_TAU,
    LOW,
    MOST_TAU,
    WIDE,
    B,
)
from sureline.kernels.class_counts import MOST
from sureline.model.serialize.calibrator import calibrator_of
from sureline.model.serialize.checks import (
    WHOLE,
    are_numbers,
    check_distinct,
    check_exponents,
    check_layout,
    check_numbers,
    check_shapes,
    layout_fields,
    stored_rows,
)
from sureline.model.serialize.encoding import (
    SAVED,
    SHORT_ROW,
    equal_rows,
    from_half,
    narrow,
    to_half,
    whole_numbers,
)
from sureline.model.serialize.fields import (
    LARGEST,
    MOST_FEATURES,
    Array,
    Json,
    Tensors,
    check_size,
    is_whole,
    member,
    short,
    whole,
)
from sureline.model.serialize.pairs import SPARSE, pair_parts, pairs_from_parts
from sureline.model.serialize.rows import differing_rows, may_grow, usual_row
from sureline.model.sparse_state import SparseState
from sureline.model.state import Layout, Places, State, first_fits, matrix_block, repeated

BY_ROW = ("table", "stamps", "tallies")  # the tensors with a row for each feature


def state_parts(
    state: State,
    features: int | None = None,
    expected: int | None = None,
    mapped: bool = False,
    compact: bool = False,
) -> tuple[dict[str, Json], Tensors]:
    """A state as metadata and tensors, without the rows that nothing was learned of.

    Most features of a large model are alike: as they began, or as merging or a third class has
    left what began so. Such rows are left out where that halves the file at least. With many
    classes, other equal rows are stored once, too: features that only one text has had are as the
    others of that text. The state that `state_from_parts` will make of a file is not out of
    proportion to it. Where all rows are stored, opening the file maps the table. The tensors are
    views of the state where they can be.

    Whole numbers are stored in as few bytes as they need, unless all shall be as it is in memory,
    to be `mapped`. A state is `compact` where no learning continues from it: a diagonal covariance
    and the means are then stored in half precision, and counts of all classes together.

    Rows beyond so many `features` are spare capacity. A file may always grow to the number of
    features that is `expected` by what the model is, such as 2^bits; `state_from_parts` must be
    given the same.
    """
    if features is not None:
        state = state.trimmed(features)
    if isinstance(state, SparseState):
        return pair_parts(state)
    layout, used = state.layout, state.used
    fields = {
        **layout_fields(layout),
        "features": state.features,
        "wide": bool(state.wide),
        "used": int(used),
        "clock": int(state.clock),
        "counts": [int(count) for count in state.counts],
        "merged": int(state.merged),
        "calibrator": [float(value) for value in state.calibrator],
        "errors": [float(value) for value in state.noise_sums],
    }
    rest, rest_changed = usual_row(state)
    differing = differing_rows(state, rest, rest_changed)
    part, everything = int(np.count_nonzero(differing)), state.features + 1
    tensors: Tensors = {}
    rows: Places = slice(None)
    halved = 2 * layout.size(part, used) <= layout.size(everything, used)
    if halved and may_grow(layout, part, everything, used, expected):
        rows = np.flatnonzero(differing)
        tensors = {"row_gaps": narrow(np.diff(rows)), "rest": rest}
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
    if layout.multilabel:
        tensors["fits"] = state.fits[:used]
    if state.outcomes.any():
        tensors["outcomes"] = state.outcomes[:, : state.classes]
        tensors["novelty"] = state.novelty
    check_numbers(layout, tensors)
    if compact and layout.covariance != "full":
        names = [name for name in ("table", "rest") if name in tensors]
        halves, fields["exponents"] = to_half(*(tensors[name] for name in names))
        tensors.update(zip(names, halves, strict=True))
        if layout.counted:
            counted = slice(1 if layout.multilabel else None)  # the first column counts all rows
            total = tensors["tallies"][:, counted].sum(axis=1, dtype=np.int64, keepdims=True)
            tensors["tallies"] = np.minimum(total, MOST)
    if mapped:
        return fields, tensors
    for name in WHOLE:
        if name in tensors:
            tensors[name] = narrow(tensors[name])
    first_and_which = _equal_rows(layout, tensors)
    if first_and_which is not None:
        first, which = first_and_which
        if may_grow(layout, first.size, everything, used, expected):
            tensors |= {name: tensors[name][first] for name in BY_ROW if name in tensors}
            tensors["which"] = which
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
    fit, as a clause about "it", the file. Arrays that hold every row are used as they are. No state
    may take more than `limit_gb`, whatever limit the file names. Earlier versions kept a full
    covariance and its means in float32, too.
    """
    if member({SPARSE: False, **fields}, SPARSE, bool):
        return pairs_from_parts(layout, fields, tensors, limit_gb)
    written = layout
    if layout.covariance == "full" and fields.get("dtype") == "float32":
        written = replace(layout, dtype="float32")
    check_layout(written, fields)
    features = whole(fields, "features", 0, MOST_FEATURES)
    used, wide = whole(fields, "used", 1, MOST_FEATURES), member(fields, "wide", bool)
    counts = member(fields, "counts", list)
    if len(counts) != 3 or not all(is_whole(count, 0, LARGEST) for count in counts):
        raise ModelFileError(f"its counts are {short(counts)}, expected three whole numbers")
    calibrator = calibrator_of(layout, fields)
    noise_sums = fields.get("errors", [0.0, 0.0])
    if not are_numbers(noise_sums, 2):
        raise ModelFileError(f"its errors are {short(noise_sums)}, expected two numbers")
    if min(noise_sums) < 0.0:
        raise ModelFileError(f"its errors are {short(noise_sums)}, expected none below 0")
    clock, merged = whole(fields, "clock", 0, LARGEST), whole(fields, "merged", 1, LARGEST)
    everything, classes = features + 1, used if wide else 2
    rows = stored_rows(tensors, everything)
    listed = everything if rows is None else rows.size
    which = whole_numbers(tensors, "which", listed) if "which" in tensors else None
    stored = listed if which is None else check_distinct(layout, tensors, which)
    exponents = check_exponents(layout, fields)
    check_shapes(written, tensors, stored, used, classes, half=exponents is not None)
    if stored < everything and not may_grow(layout, stored, everything, used, expected):
        raise ModelFileError(
            f"its {stored:,} stored features stand for {features:,}, which would take "
            f"{layout.size_gb(features, used):.3g} GB: more than such a file may ask for"
        )
    check_size(layout.size(everything, used), limit_gb)
    tensors = _as_learned(layout, tensors, exponents)
    check_numbers(layout, tensors)
    if which is not None:
        tensors = {**tensors, **{name: tensors[name][which] for name in BY_ROW if name in tensors}}

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
    outcomes = np.zeros((layout.outcome_lines, max(used, 2)))
    if "outcomes" in tensors:
        outcomes[:, :classes] = tensors["outcomes"]
    if layout.counted:
        class_tokens[:classes] = tensors["tokens"]
        counted = tensors["tallies"]
        if rows is None and counted.shape == class_counts.shape:
            class_counts = counted
        else:
            class_counts[slice(None) if rows is None else rows, : counted.shape[1]] = counted
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
        calibrator=calibrator,
        noise_sums=np.array(noise_sums, np.float64),
        outcomes=outcomes,
        novelty=np.array(tensors.get("novelty", np.zeros(INTERVALS))),
        fits=_limited(tensors["fits"]) if layout.multilabel else first_fits(0, False),
    )


def _limited(fits: Array) -> Array:
    """The calibrators of labels, within their limits."""
    made = np.array(fits)
    limits = ((LOG_A, LOW, HIGH), (B, -WIDE, WIDE), (LOG_TAU, LEAST_TAU, MOST_TAU))
    for place, low, high in limits:
        made[:, place] = np.clip(made[:, place], low, high)
    return made


def _equal_rows(layout: Layout, tensors: Tensors) -> tuple[Array, Array] | None:
    """The first of equal rows, and which each row is equal to, if that saves a quarter at least."""
    several = [tensors[name] for name in BY_ROW if name in tensors]
    size, count = sum(each.nbytes for each in several), len(several[0])
    if layout.covariance == "full" or size < max(SAVED, SHORT_ROW * count):
        return None
    found = equal_rows(several)
    if found is None:
        return None
    first, which = found[0], narrow(found[1])
    folded = which.nbytes + size * first.size // count
    return (first, which) if 4 * folded <= 3 * size else None


def _as_learned(
    layout: Layout, tensors: Mapping[str, Array], exponents: list[int] | None
) -> dict[str, Array]:
    """The tensors in the types that are learned, wherever they were stored in others."""
    made = dict(tensors)
    for name in ("table", "rest", "covariance"):
        if name in made:
            real = made[name]
            made[name] = (
                real.astype(layout.dtype, copy=False)
                if exponents is None
                else from_half(real, exponents, layout.dtype)
            )
    for name, kind in WHOLE.items():
        if name in made:
            made[name] = made[name].astype(kind, copy=False)
    return made
