"""A box classifier as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sureline.errors import InvalidParameter, ModelFileError
from sureline.estimators.box.state import BoxState, Stream
from sureline.estimators.file import (
    name_tensors,
    parameters_from_json,
    parameters_to_json,
    take_names,
)
from sureline.model.serialize.fields import LARGEST, Array, Json, Tensors, member, whole
from sureline.model.serialize.labels import labels_from_json, labels_to_json

if TYPE_CHECKING:
    from sureline.estimators.box.classifier import BoxClassifier

STREAM = ("clocks", "counts", "stamps", "boxes", "sums")


def box_parts(model: BoxClassifier) -> tuple[dict[str, Json], Tensors]:
    """What the file of a box classifier holds; the start for a warm start is left out."""
    metadata: dict[str, Json] = {
        "estimator": type(model).__name__,
        "parameters": parameters_to_json(model),
        "labels": labels_to_json(model.classes_),
        "constant": model.box_.constant,
        "n_iter": int(model.n_iter_),
    }
    tensors: Tensors = {}
    state = model.box_
    if state.boxes is not None:
        tensors["boxes"] = state.boxes
    if state.stream is not None:
        tensors |= {f"stream_{name}": getattr(state.stream, name) for name in STREAM}
    if state.seen is not None:
        examples, largest, counts = state.seen
        metadata["seen"] = [examples, largest]
        tensors["seen"] = counts
    for name in ("objective", "dual_gap"):
        if hasattr(model, f"{name}_"):
            metadata[name] = np.asarray(getattr(model, f"{name}_")).tolist()
    return metadata, tensors | name_tensors(model)


def box_from_parts(
    cls: type[BoxClassifier], metadata: Mapping[str, Json], tensors: Mapping[str, Array]
) -> BoxClassifier:
    """The box classifier whose file holds these metadata and tensors."""
    model: BoxClassifier = parameters_from_json(cls, member(metadata, "parameters", dict))
    try:
        constant = model.make_solver().constant
    except (InvalidParameter, TypeError) as problem:
        raise ModelFileError(f"its parameters do not exist: {problem}") from None
    if metadata.get("constant") != constant:
        raise ModelFileError("its constant feature is not what its parameters say")
    labels = labels_from_json(metadata.get("labels"))
    if labels.size < 1 or not np.array_equal(labels, np.unique(labels)):
        raise ModelFileError("its labels are not sorted")
    several = 1 if labels.size <= 2 else labels.size
    first = tensors.get("boxes", tensors.get("stream_boxes"))
    if first is None or first.ndim != 3:
        raise ModelFileError("it has no boxes")
    rows = int(first.shape[1])
    shape = (several, rows, 2)
    state = BoxState(constant, _tensor(tensors, "boxes", shape) if "boxes" in tensors else None)
    model.classes_, model.box_ = labels, state
    vars(model)["n_features_in_"] = rows - 1  # which scikit-learn declares nowhere
    model.n_iter_ = whole(metadata, "n_iter", 0, LARGEST)
    if "stream_boxes" in tensors:
        shapes: dict[str, tuple[int, ...]] = {
            "clocks": (3,),
            "counts": (rows,),
            "stamps": (rows,),
            "boxes": shape,
            "sums": shape,
        }
        state.stream = Stream(
            **{name: _tensor(tensors, f"stream_{name}", shapes[name]) for name in STREAM}
        )
    if "seen" in tensors:
        seen = member(metadata, "seen", list)
        if len(seen) != 2 or not all(isinstance(each, float) for each in seen):
            raise ModelFileError("what it has seen is not two numbers")
        state.seen = (seen[0], seen[1], _tensor(tensors, "seen", (rows,)))
    elif state.stream is None:
        raise ModelFileError("it has neither a stream nor a description of the examples seen")
    for name in ("objective", "dual_gap"):
        if name in metadata:
            setattr(model, f"{name}_", _figure(metadata[name], several, name))
    take_names(model, tensors, rows - 1)
    return model


def _figure(stored: Json, several: int, name: str) -> Any:
    """A number, or one per class."""
    if several == 1 and isinstance(stored, float):
        return stored
    if (
        isinstance(stored, list)
        and len(stored) == several
        and all(isinstance(each, float) for each in stored)
    ):
        return np.array(stored)
    raise ModelFileError(f"its {name} is not a number for every box")


def _tensor(tensors: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """A tensor of float64 of a given shape."""
    found = tensors.get(name)
    if found is None or found.shape != shape or found.dtype != np.float64:
        raise ModelFileError(f"its tensor {name!r} is missing, or not float64 of shape {shape}")
    return found
