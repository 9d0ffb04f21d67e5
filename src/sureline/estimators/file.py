"""Saving and loading models: `save`, `load`, and the parts of a model file.

A file holds all that predictions depend on, bit for bit: the parameters, the labels, the counters
and the arrays. Untouched features are left out where that makes the file much smaller. What is read
is checked against what the parameters imply before anything is allocated.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Mapping
from contextlib import nullcontext
from copy import copy
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sureline.declaration import declared
from sureline.errors import InvalidParameter, ModelFileError
from sureline.estimators.parameter_file import (
    class_named,
    name_of,
    parameters_from_json,
    parameters_to_json,
    stored_parameters,
)
from sureline.estimators.validation import check_layout, choose_learner
from sureline.model.compact import compact_model
from sureline.model.drift import watch
from sureline.model.file import Opened, read, write
from sureline.model.linear import LinearModel
from sureline.model.serialize.drift import drift_into, drift_parts
from sureline.model.serialize.fields import (
    LARGEST,
    Array,
    Json,
    Tensors,
    member,
    short,
    whole,
)
from sureline.model.serialize.labels import (
    check_labels,
    labels_from_json,
    labels_to_json,
    strings_from_tensors,
    strings_to_tensors,
)
from sureline.model.serialize.state import state_from_parts, state_parts
from sureline.model.sparse_state import SparseState
from sureline.options import MEMORY_LIMIT_GB, Drift, OnlineOptions

LIMIT = declared(OnlineOptions)["memory_limit_gb"]


def save(
    model: Any,
    path: str | os.PathLike[str],
    notes: Mapping[str, Json] | None = None,
    compact: bool = False,
    mapped: bool = False,
) -> None:
    """Write a fitted model to a file, from which `load` makes the same model.

    Parameters
    ----------
    model : estimator
        A fitted sureline classifier.
    path : str or path
        Where to write; ``.sureline`` is the usual ending. An existing file is replaced once the
        new one is complete.
    notes : dict, default=None
        Anything else to store in the file's metadata, as JSON. `load` ignores it;
        ``sureline.model.file.read(path).metadata["notes"]`` returns it.
    compact : bool, default=False
        Keep what predictions need and no more, in half precision: the loaded model can neither
        learn nor be merged, and does not know the names of its features.
    mapped : bool, default=False
        Keep all arrays as they are in memory. The file is larger; processes that open it share its
        memory.

    Raises
    ------
    ModelFileError
        If the model cannot be saved as it is, or the file not be written.

    Examples
    --------
    >>> import tempfile
    >>> from sureline import AROWClassifier, load
    >>> from sureline.estimators import save
    >>> model = AROWClassifier(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.sureline")
    ...     load(f"{folder}/model.sureline").predict([[2.0, 0.0]]).tolist()
    ['yes']
    """
    if not isinstance(model, FileMixin):
        raise ModelFileError(
            f"cannot save {reprlib.repr(model)}: it is not a sureline model; give a fitted "
            "classifier such as AROWClassifier"
        )
    check_is_fitted(model)
    fitted = vars(model).get("model_")  # that of a box is made when it is asked for
    with fitted.lock.learning if fitted else nullcontext():  # others may predict, but not learn
        made = model.compacted() if compact else model
        metadata, tensors = made.to_parts(mapped)
        write(path, metadata if notes is None else {**metadata, "notes": dict(notes)}, tensors)


def load(path: str | os.PathLike[str], memory_limit_gb: float = MEMORY_LIMIT_GB) -> Any:
    """The model that was saved in a file.

    Nothing in the file is executed, and it is checked before it is used: a damaged or foreign file
    gives an error. Large arrays are mapped, not copied, and learning further leaves the file alone.

    Parameters
    ----------
    path : str or path
        A file that `save` wrote.
    memory_limit_gb : float, default=4.0
        The most memory the model may take, in GB of 2^30 bytes; more is refused, whatever limit
        the file names. It is the limit of the loaded model, too, unless the model's own is lower.

    Returns
    -------
    estimator
        A fitted classifier of the class that was saved. It predicts the same, bit for bit, and
        goes on learning as the saved one would have.

    Raises
    ------
    ModelFileError
        If there is no such file, or it holds no model that can be trusted.
    """
    LIMIT.check(memory_limit_gb, "load: memory_limit_gb")
    return restore(path, read(path), memory_limit_gb)


def restore(path: str | os.PathLike[str], opened: Opened, limit_gb: float) -> Any:
    """The model in a file that is open; it may take so much memory."""
    try:
        cls = class_named(member(opened.metadata, "estimator", str))
        return cls.from_parts(opened.metadata, opened.tensors, limit_gb)
    except ModelFileError as problem:
        raise ModelFileError(f"{path} cannot be loaded: {problem}") from None


class FileMixin:
    """A model that can be saved."""

    def save(self, path: str | os.PathLike[str], compact: bool = False) -> None:
        """Write the fitted model to a file, from which `sureline.load` makes the same model.

        Parameters
        ----------
        path : str or path
            Where to write; ``.sureline`` is the usual ending. An existing file is replaced once
            the new one is complete.
        compact : bool, default=False
            Keep what predictions need and no more, in half precision: the file is several times
            smaller. Every weight differs by 0.05 % at most, and labels and probabilities hardly.
            The loaded model can neither learn nor be merged, and does not know the names of its
            features.
        """
        save(self, path, compact=compact)

    def compacted(self) -> Self:
        """A copy that holds only what predictions need."""
        made: Any = copy(self)
        if isinstance(getattr(vars(made).get("model_"), "state", None), SparseState):
            raise ModelFileError(
                f"cannot save {type(self).__name__} as a compact file, since its weights are kept "
                "with class_storage='sparse'; leave compact out"
            )
        if not isinstance(vars(made).get("model_"), LinearModel):
            raise ModelFileError(
                f"cannot save {type(self).__name__} as a compact file, only online classifiers and "
                "TextClassifier; leave compact out"
            )
        made.model_ = compact_model(made.model_)
        return cast(Self, made)

    def to_parts(self, mapped: bool = False) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the model file; if `mapped`, as they are in memory."""
        model: Any = self
        metadata, tensors = classifier_parts(model, model.model_, mapped=mapped)
        if hasattr(model, "validation_scores_"):
            metadata["validation_scores"] = [float(score) for score in model.validation_scores_]
        return metadata, tensors | name_tensors(model)

    @classmethod
    def from_parts(
        cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array], limit_gb: float
    ) -> Self:
        """The model whose file has these metadata and tensors; it may take so much memory."""
        older = {"class_storage": "dense"}  # files from before it existed
        made: Any = parameters_from_json(cls, {**older, **member(metadata, "parameters", dict)})
        with stored_parameters():
            learner = choose_learner(made, compact=is_compact(metadata))
        model = LinearModel(learner, math.inf, cls.__name__)
        state_into(model, metadata, tensors, limit_gb, made.drift)
        model.memory_limit_gb = made.memory_limit_gb = min(made.memory_limit_gb, limit_gb)
        made.adopt(model, whole(metadata, "n_iter", 0, LARGEST))
        made.n_features_in_ = model.state.features
        if "validation_scores" in metadata:
            scores = member(metadata, "validation_scores", list)
            if not all(isinstance(score, float) for score in scores):
                raise ModelFileError(f"its validation_scores are {short(scores)}")
            made.validation_scores_ = scores
        take_names(made, tensors, model.state.features)
        restored: Self = made
        return restored


# -- classifiers on numbers --------------------------------------------------------------------


def classifier_parts(
    estimator: Any,
    model: LinearModel,
    features: int | None = None,
    expected: int | None = None,
    n_iter: int | None = None,
    mapped: bool = False,
) -> tuple[dict[str, Json], Tensors]:
    """The metadata and tensors of an online classifier and its model.

    `features`, `expected` and `mapped` are those of `state_parts`; `n_iter` is the estimator's
    unless given.
    """
    try:
        check_layout(estimator, model, "it")
    except InvalidParameter as problem:
        raise ModelFileError(f"cannot save {type(estimator).__name__}: {problem}") from None
    compact = model.learner.compact
    fields, tensors = state_parts(model.state, features, expected, mapped, compact)
    drift, others = ({}, {}) if compact else drift_parts(model, expected, mapped)
    metadata = {
        "estimator": name_of(estimator),
        "parameters": parameters_to_json(estimator),
        "labels": labels_to_json(model.labels),
        "state": fields,
        "n_iter": int(estimator.n_iter_ if n_iter is None else n_iter),
        **({"compact": True} if compact else {}),
        **({"drift": drift} if drift else {}),
    }
    return metadata, tensors | others


def is_compact(metadata: Mapping[str, Json]) -> bool:
    """Whether metadata of `classifier_parts` are those of a model that can only predict."""
    return member({"compact": False, **metadata}, "compact", bool)


def name_tensors(model: Any) -> Tensors:
    """The names of the columns that a model was fitted on, where they had any."""
    if not hasattr(model, "feature_names_in_"):
        return {}
    return strings_to_tensors("feature_names", model.feature_names_in_)


def take_names(model: Any, tensors: Mapping[str, Array], features: int) -> None:
    """Give a model the names of its columns, where there are any."""
    if "feature_names" in tensors:
        names = strings_from_tensors("feature_names", tensors)
        if len(names) != features:
            raise ModelFileError(f"it names {len(names):,} features and has {features:,} of them")
        model.feature_names_in_ = np.array(names, object)


def state_into(
    model: LinearModel,
    metadata: Mapping[str, Json],
    tensors: Mapping[str, Array],
    limit_gb: float,
    drift: Drift | Literal["auto"] | None,
    expected: int | None = None,
) -> None:
    """Give a model the state and the labels of a file; `drift` is the parameter.

    `limit_gb` and `expected` are those of `state_from_parts`.
    """
    labels = labels_from_json(metadata.get("labels"), limit_gb)
    fields = member(metadata, "state", dict)
    state = state_from_parts(model.learner.layout, fields, tensors, limit_gb, expected)
    check_labels(labels, state)
    model.publish(state, labels)
    watch(model, None if model.learner.compact else drift)
    if "drift" in metadata:
        drift_into(model, member(metadata, "drift", dict), tensors, limit_gb)
