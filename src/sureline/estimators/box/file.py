"""A box classifier as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sureline.errors import ModelFileError
from sureline.estimators.box.state import BoxState
from sureline.estimators.file import FileMixin, name_tensors, take_names
from sureline.estimators.parameter_file import (
    parameters_from_json,
    parameters_to_json,
    stored_parameters,
)
from sureline.kernels.box.solvers import StreamArrays
from sureline.model.serialize.fields import (
    LARGEST,
    Array,
    Json,
    Tensors,
    check_size,
    is_finite,
    member,
    whole,
)
from sureline.model.serialize.labels import labels_from_json, labels_to_json


class BoxFileMixin(FileMixin):
    """A box classifier that can be saved."""

    def to_parts(self, mapped: bool = False) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the model file; where a warm start begins is left out."""
        model: Any = self
        metadata: dict[str, Json] = {
            "estimator": type(model).__name__,
            "parameters": parameters_to_json(model),
            "labels": labels_to_json(model.classes_),
            "constant": model.box_.constant,
            "C": model.C_,
            "D": model.D_,
            "n_iter": int(model.n_iter_),
        }
        tensors: Tensors = {}
        state = model.box_
        if state.boxes is not None:
            tensors["boxes"] = state.boxes
        if state.stream is not None:
            tensors |= {f"stream_{name}": each for name, each in state.stream._asdict().items()}
        if state.seen is not None:
            examples, lengths, counts = state.seen
            metadata["seen"] = [examples, lengths]
            tensors["seen"] = counts
        for name in ("objective", "dual_gap"):
            if hasattr(model, f"{name}_"):
                metadata[name] = np.asarray(getattr(model, f"{name}_")).tolist()
        return metadata, tensors | name_tensors(model)

    @classmethod
    def from_parts(
        cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array], limit_gb: float
    ) -> Self:
        """The model whose file has these metadata and tensors; it may take so much memory."""
        parameters = member(metadata, "parameters", dict)
        model: Any = parameters_from_json(cls, parameters)
        old = "eta" not in parameters  # it has the largest squared length in place of their sum
        with stored_parameters():
            solver = model.make_solver()
        constant = solver.constant
        if metadata.get("constant") != constant:
            raise ModelFileError("its constant feature is not what its parameters say")
        labels = labels_from_json(metadata.get("labels"), limit_gb)
        if labels.size < 1 or not np.array_equal(labels, np.unique(labels)):
            raise ModelFileError("its labels are not sorted")
        several = 1 if labels.size <= 2 else labels.size
        first = tensors.get("boxes", tensors.get("stream_boxes"))
        if first is None or first.ndim != 3 or not first.size:
            raise ModelFileError("it has no boxes")
        check_size(sum(each.nbytes for each in tensors.values()), limit_gb)
        rows = int(first.shape[1])
        shape = (several, rows, 2)
        state = BoxState(constant, _tensor(tensors, "boxes", shape) if "boxes" in tensors else None)
        model.classes_, model.box_ = labels, state
        model.C_, model.D_ = (metadata.get(name, getattr(solver, name)) for name in "CD")
        if not all(is_finite(each) and each > 0.0 for each in (model.C_, model.D_)):
            raise ModelFileError("its C or D is no number above 0")
        model.n_features_in_ = rows - 1
        model.n_iter_ = whole(metadata, "n_iter", 0, LARGEST)
        if "stream_boxes" in tensors:
            shapes: Any = StreamArrays((3,), (rows,), (rows,), shape, shape)._asdict().items()
            arrays = (_tensor(tensors, f"stream_{name}", size) for name, size in shapes)
            state.stream = StreamArrays(*arrays)
            if old:
                clocks = state.stream.clocks.copy()
                clocks[2] = clocks[0] * _length(clocks[1], clocks[2], state.stream.counts)
                state.stream = state.stream._replace(clocks=clocks)
        if "seen" in tensors:
            seen = member(metadata, "seen", list)
            if len(seen) != 2 or not all(isinstance(each, float) for each in seen):
                raise ModelFileError("what it has seen is not two numbers")
            examples, lengths = seen
            counts = _tensor(tensors, "seen", (rows,))
            if old:
                lengths = examples * _length(examples, lengths, counts)
            state.seen = (examples, lengths, counts)
        elif state.stream is None:
            raise ModelFileError("it has neither a stream nor a description of the examples seen")
        for name in ("objective", "dual_gap"):
            if name in metadata:
                setattr(model, f"{name}_", _figure(metadata[name], several, name))
        take_names(model, tensors, rows - 1)
        restored: Self = model
        return restored


def _length(examples: float, largest: float, counts: Array) -> float:
    """About how long rows were on average, whose longest has the square `largest`.

    It is exact where all values are 1, or all rows equally long.
    """
    return float(np.sqrt(min(largest, counts.sum() / max(examples, 1.0))))


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
    if not np.isfinite([found.min(), found.max()]).all():
        raise ModelFileError(f"its tensor {name!r} has numbers that are not finite")
    if name.endswith("boxes") and found[..., 1].min() < 0.0:
        raise ModelFileError(f"its tensor {name!r} has widths below 0")
    return found
