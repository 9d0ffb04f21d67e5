"""The pairs of a sparse state as tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sureline.errors import ModelFileError
from sureline.kernels.calibration import INTERVALS
from sureline.kernels.class_counts import MOST
from sureline.kernels.sparse_classes import COMMON
from sureline.model.serialize.calibrator import calibrator_of
from sureline.model.serialize.checks import are_numbers, check_layout, check_numbers, layout_fields
from sureline.model.serialize.encoding import narrow, whole_numbers
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
from sureline.model.sparse_state import SparseState, fresh_sparse_state
from sureline.model.state import Layout

SPARSE = "sparse"  # the field that says that a state is one of pairs


def pair_parts(state: SparseState) -> tuple[dict[str, Json], Tensors]:
    """A sparse state as metadata and tensors: its pairs by feature, and then by class.

    ``pair_lengths`` has the number of pairs of each feature plus one, and 0 where none are kept.
    """
    layout, used, old = state.layout, state.used, state.pairs
    fields = {
        **layout_fields(layout),
        SPARSE: True,
        "features": state.features,
        "used": int(used),
        "clock": int(state.clock),
        "counts": [int(count) for count in state.counts],
        "merged": int(state.merged),
        "calibrator": [float(value) for value in state.calibrator],
        "errors": [float(value) for value in state.noise_sums],
    }
    _, place = state.expanded()
    lengths = np.where(old.starts == COMMON, 0, old.lengths.astype(np.int64) + 1)[1:]
    tensors: Tensors = {
        "table": state.table[:, :, :used],
        "pair_lengths": narrow(lengths),
        "pair_classes": narrow(old.classes[place]),
        "pairs": old.values[place],
    }
    if layout.counted:
        tensors["pair_totals"] = narrow(old.totals[:, 0])
        tensors["tallies"] = narrow(state.class_counts[0, :used])
        tensors["tokens"] = narrow(state.class_tokens[:used])
    if layout.weighting == "nb":
        tensors["pair_tallies"] = narrow(old.counts[place])
    if state.outcomes.any():
        tensors["outcomes"] = state.outcomes[:, :used]
        tensors["novelty"] = state.novelty
    check_numbers(layout, {name: tensors[name] for name in ("table",)})
    return fields, tensors


def pairs_from_parts(
    layout: Layout, fields: Mapping[str, Json], tensors: Mapping[str, Array], limit_gb: float
) -> SparseState:
    """The state that `pair_parts` took apart; a ModelFileError says what does not fit."""
    check_layout(layout, fields)
    features = whole(fields, "features", 0, MOST_FEATURES)
    used = whole(fields, "used", 1, MOST_FEATURES)
    counts, noise_sums = member(fields, "counts", list), fields.get("errors", [0.0, 0.0])
    if len(counts) != 3 or not all(is_whole(count, 0, LARGEST) for count in counts):
        raise ModelFileError(f"its counts are {short(counts)}, expected three whole numbers")
    if not are_numbers(noise_sums, 2) or min(noise_sums) < 0.0:
        raise ModelFileError(f"its errors are {short(noise_sums)}, expected two numbers")
    lengths = whole_numbers(tensors, "pair_lengths", features)
    kept = np.maximum(lengths - 1, 0)
    if lengths.max(initial=0) > used + 1:
        raise ModelFileError(f"it has features with more pairs than its {used:,} classes")
    many = int(kept.sum())
    check_size(many * (layout.slots * np.dtype(layout.dtype).itemsize + 8), limit_gb)
    classes = whole_numbers(tensors, "pair_classes", many)
    if classes.max(initial=0) >= used:
        raise ModelFileError(f"it has pairs with classes beyond its {used:,}")
    row = np.repeat(np.arange(1, features + 1), kept)
    if ((row[1:] == row[:-1]) & (classes[1:] <= classes[:-1])).any():
        raise ModelFileError("the classes of a feature's pairs do not ascend")
    table = _numbers(layout, tensors, "table", (1, layout.slots, used))
    values = _numbers(layout, tensors, "pairs", (many, layout.slots))
    state = fresh_sparse_state(layout, features, used, limit_gb)
    state.table[:, :, :used] = table
    state.pairs.starts[1:][lengths == 0] = COMMON
    if layout.counted:
        state.pairs.totals[:, 0] = _counts(tensors, "pair_totals", features + 1)
        state.class_counts[0, :used] = _counts(tensors, "tallies", used)
        state.class_tokens[:used] = whole_numbers(tensors, "tokens", used)
    tallies = _counts(tensors, "pair_tallies", many) if layout.weighting == "nb" else classes[:0]
    state.fill(row, classes, values, tallies)
    if "outcomes" in tensors or "novelty" in tensors:
        for name, shape in (("outcomes", (1 + INTERVALS, used)), ("novelty", (INTERVALS,))):
            found = tensors.get(name)
            if found is None or found.shape != shape or found.dtype != np.float64:
                raise ModelFileError(f"its tensor {name!r} is missing, or has another shape")
        check_numbers(layout, {"table": table, **{n: tensors[n] for n in ("outcomes", "novelty")}})
        state.outcomes[:, :used], state.novelty = tensors["outcomes"], np.array(tensors["novelty"])
    state.clock = whole(fields, "clock", 0, LARGEST)
    state.merged = whole(fields, "merged", 1, LARGEST)
    state.counts = np.array(counts, np.int64)
    state.calibrator = calibrator_of(layout, fields)
    state.noise_sums = np.array(noise_sums, np.float64)
    return state


def _numbers(
    layout: Layout, tensors: Mapping[str, Array], name: str, shape: tuple[int, ...]
) -> Array:
    """A tensor of weights, if it has this shape and numbers that learning can have left."""
    found = tensors.get(name)
    if found is None or found.shape != shape or found.dtype != np.dtype(layout.dtype):
        raise ModelFileError(f"its tensor {name!r} is missing, or has another shape or type")
    if found.size and not np.isfinite([found.min(), found.max()]).all():
        raise ModelFileError(f"its tensor {name!r} has numbers that are not finite")
    if layout.covariance != "identity" and found.size and found[:, 1].min() < 0.0:
        raise ModelFileError("it has variances below 0")
    return found


def _counts(tensors: Mapping[str, Array], name: str, size: int) -> Array:
    """A tensor of counts of rows."""
    found = whole_numbers(tensors, name, size)
    if found.max(initial=0) > MOST:
        raise ModelFileError(f"its tensor {name!r} has numbers that are no counts")
    return found
