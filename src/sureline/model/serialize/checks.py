"""What a stored state must be like: its layout, the shapes and types of tensors, their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sureline.errors import ModelFileError
from sureline.kernels.calibration import FIRM, INTERVALS, H
from sureline.kernels.label_sets import FIT
from sureline.model.serialize.encoding import whole_numbers
from sureline.model.serialize.fields import Array, Json, is_finite, is_whole, short
from sureline.model.state import Layout, symmetric

# The tensors of whole numbers, and the types in which they are learned.
WHOLE = {"tallies": "int32", "tokens": "int64", "stamps": "int64", "rest_stamps": "int64"}
MOST_EXPONENT = 2000  # more than any number has
MOST_COUNTED = 1e30


def check_exponents(layout: Layout, fields: Mapping[str, Json]) -> list[int] | None:
    """The exponent of each slot, where numbers are stored in half precision."""
    found = fields.get("exponents")
    if found is None:
        return None
    fits = type(found) is list and len(found) == layout.slots and layout.covariance != "full"
    if not fits or not all(is_whole(each, -MOST_EXPONENT, MOST_EXPONENT) for each in found):
        raise ModelFileError(f"its exponents are {short(found)}, expected {layout.slots} of them")
    return list(found)


def check_distinct(layout: Layout, tensors: Mapping[str, Array], which: Array) -> int:
    """How many distinct rows are stored, if each row is `which` of them."""
    table = tensors.get("table")
    stored = len(table) if table is not None and table.ndim else 0
    if layout.covariance == "full" or which.max(initial=0) >= stored:
        raise ModelFileError(f"its tensor 'which' has numbers beyond the {stored:,} rows stored")
    return stored


def check_shapes(
    layout: Layout,
    tensors: Mapping[str, Array],
    stored: int,
    used: int,
    classes: int,
    half: bool,
) -> None:
    """Refuse tensors that are missing, or not of the shape and dtype that the layout implies.

    Whole numbers may be of any unsigned type, or of the one that they are learned in.
    """
    real = "float16" if half else layout.dtype
    shapes: dict[str, tuple[tuple[int, ...], str]] = {"table": ((stored, layout.slots, used), real)}
    if layout.last_changed:
        shapes["stamps"] = ((stored, used), "int64")
    if layout.covariance == "full":
        shapes["covariance"] = ((used, stored, stored), layout.dtype)
    if layout.counted:
        shapes["tallies"] = ((stored, 1 if half else classes), "int32")
        shapes["tokens"] = ((classes,), "int64")
    if "outcomes" in tensors or "novelty" in tensors:
        shapes["outcomes"] = ((layout.outcome_lines, classes), "float64")
        shapes["novelty"] = ((INTERVALS,), "float64")
    if layout.multilabel:
        shapes["fits"] = ((used, FIT), "float64")
    if "rows" in tensors or "row_gaps" in tensors:
        shapes["rest"] = ((len(layout.initial), used), real)
        if layout.last_changed:
            shapes["rest_stamps"] = ((used,), "int64")
    for name, (shape, dtype) in shapes.items():
        found = tensors.get(name)
        if found is None:
            raise ModelFileError(f"it has no tensor {name!r}")
        narrowed = name in WHOLE and found.dtype.kind == "u"
        if found.shape != shape or (found.dtype != np.dtype(dtype) and not narrowed):
            raise ModelFileError(
                f"its tensor {name!r} is {found.dtype} of shape {found.shape}, expected {dtype} of "
                f"shape {shape}"
            )


def check_numbers(layout: Layout, tensors: Mapping[str, Array]) -> None:
    """Refuse numbers that learning cannot have left: infinite ones, variances or counts below 0."""
    for name in WHOLE:
        counts = tensors.get(name)
        if counts is not None and counts.size and counts.min() < 0:
            raise ModelFileError(f"its tensor {name!r} has numbers below 0")
    for name in ("outcomes", "novelty"):
        found = tensors.get(name)
        if found is not None and not (found.min() >= 0.0 and found.max() <= MOST_COUNTED):
            raise ModelFileError(f"its tensor {name!r} has numbers that are no counts")
    for name in ("table", "rest", "covariance", "fits"):
        found = tensors.get(name)
        if found is not None and found.size and not np.isfinite([found.min(), found.max()]).all():
            raise ModelFileError(f"its tensor {name!r} has numbers that are not finite")
    if layout.multilabel:
        least = np.linalg.eigvalsh(symmetric(tensors["fits"][:, H : H + 6])).min(initial=0.0)
        if least < -FIRM / 2 or tensors["fits"][:, H + 6 :].min(initial=0.0) < 0.0:
            raise ModelFileError("its tensor 'fits' has precisions or sums below 0")
    if layout.covariance == "identity":
        return
    variances = [tensors["table"][:, 1]] if layout.slots > 1 else []
    if "rest" in tensors:
        variances.append(tensors["rest"][1])
    if "covariance" in tensors:
        variances.append(np.diagonal(tensors["covariance"], axis1=1, axis2=2))
    if any(each.size and each.min() < 0.0 for each in variances):
        raise ModelFileError("it has variances below 0")


def are_numbers(values: Json, count: int) -> bool:
    """Whether this is a list of so many finite numbers."""
    return type(values) is list and len(values) == count and all(map(is_finite, values))


def layout_fields(layout: Layout) -> dict[str, Json]:
    """A layout as JSON can hold it."""
    return {
        "rule": layout.rule,
        "covariance": layout.covariance,
        "dtype": layout.dtype,
        "fit_intercept": bool(layout.fit_intercept),
        "initial": [float(value) for value in layout.initial],
        "stamps": bool(layout.last_changed),
        **({"weighting": layout.weighting} if layout.weighting else {}),
        **({"multilabel": True} if layout.multilabel else {}),
    }


def check_layout(layout: Layout, fields: Mapping[str, Json]) -> None:
    """Refuse a state of another layout than the parameters imply."""
    for name, value in layout_fields(layout).items():
        found = fields.get(name)
        if type(found) is not type(value) or found != value:
            raise ModelFileError(
                f"its state has {name}={short(found)}, its parameters imply {value!r}"
            )


def stored_rows(tensors: Mapping[str, Array], everything: int) -> Array | None:
    """Which rows are stored, if they ascend from 0 and exist; None for all."""
    if "row_gaps" in tensors:
        gaps = whole_numbers(tensors, "row_gaps")
        if gaps.size >= everything or gaps.max(initial=0) >= everything:
            raise ModelFileError(f"its row_gaps go beyond its {everything - 1:,} features")
        last = np.cumsum(gaps)
        rows: Array = np.append(0, np.minimum(last, everything)).astype(np.int32)
    elif "rows" in tensors:  # of format 1
        rows = tensors["rows"]
    else:
        return None
    if rows.ndim != 1 or rows.dtype != np.int32 or not 1 <= rows.size <= everything:
        raise ModelFileError(
            f"its rows are {rows.dtype} of shape {rows.shape}, expected int32, one for each of up "
            f"to {everything:,} features"
        )
    if rows[0] != 0 or rows[-1] >= everything or not (rows[1:] > rows[:-1]).all():
        raise ModelFileError(f"its rows do not ascend from 0 to at most {everything - 1:,}")
    return rows
