"""Saving and loading models: `save`, `load`, and the parts of a model file.

A file holds all that predictions depend on, bit for bit: the parameters, the labels, the counters
and the arrays. Untouched features are left out where that makes the file much smaller. What is read
is checked against what the parameters imply before anything is allocated.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sureline.errors import InvalidParameter, ModelFileError
from sureline.estimators.validation import check_layout, choose_learner
from sureline.model.file import Opened, read, write
from sureline.model.linear import LinearModel
from sureline.model.serialize.fields import (
    LARGEST,
    Array,
    Json,
    Tensors,
    is_whole,
    member,
    short,
    whole,
)
from sureline.model.serialize.labels import (
    as_bytes,
    check_labels,
    labels_from_json,
    labels_to_json,
    strings_from_tensors,
    strings_to_tensors,
)
from sureline.model.serialize.state import state_from_parts, state_parts
from sureline.rules import rules

DEEPEST = 6  # how deep parameters may be nested


def save(model: Any, path: str | os.PathLike[str], notes: Mapping[str, Json] | None = None) -> None:
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
    fitted = getattr(model, "model_", None)
    with fitted.lock.learning if fitted else nullcontext():  # others may predict, but not learn
        metadata, tensors = model.to_parts()
        write(path, metadata if notes is None else {**metadata, "notes": dict(notes)}, tensors)


def load(path: str | os.PathLike[str]) -> Any:
    """The model that was saved in a file.

    Nothing in the file is executed, and it is checked before it is used: a damaged or foreign file
    gives an error. Large arrays are mapped, not copied, and learning further leaves the file alone.

    Parameters
    ----------
    path : str or path
        A file that `save` wrote.

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
    return restore(path, read(path))


def restore(path: str | os.PathLike[str], opened: Opened) -> Any:
    """The model in a file that is open."""
    try:
        cls = class_named(member(opened.metadata, "estimator", str))
        return cls.from_parts(opened.metadata, opened.tensors)
    except ModelFileError as problem:
        raise ModelFileError(f"{path} cannot be loaded: {problem}") from None


class FileMixin:
    """A model that can be saved."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, from which `sureline.load` makes the same model.

        Parameters
        ----------
        path : str or path
            Where to write; ``.sureline`` is the usual ending. An existing file is replaced once
            the new one is complete.
        """
        save(self, path)

    def to_parts(self) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the model file."""
        model: Any = self
        metadata, tensors = classifier_parts(model, model.model_)
        if hasattr(model, "validation_scores_"):
            metadata["validation_scores"] = [float(score) for score in model.validation_scores_]
        return metadata, tensors | name_tensors(model)

    @classmethod
    def from_parts(cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array]) -> Self:
        """The model whose file has these metadata and tensors."""
        made: Any = parameters_from_json(cls, member(metadata, "parameters", dict))
        with stored_parameters():
            learner = choose_learner(made)
        model = LinearModel(learner, made.memory_limit_gb, cls.__name__)
        state_into(model, metadata, tensors)
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


def class_named(name: str) -> Any:
    """The class of sureline that has this name and whose models can be saved."""
    from sureline import estimators

    for rule in rules().values():
        if rule.estimator == name:
            return estimators.classifier_for(rule.name)
    if name in ("BoxClassifier", "TextClassifier", "TextFeatures"):
        return getattr(estimators, name)
    raise ModelFileError(
        f"it holds a model of the class {short(name)}, which this sureline does not have; "
        "upgrade sureline, or add the rule that brings the class"
    )


# -- classifiers on numbers --------------------------------------------------------------------


def classifier_parts(
    estimator: Any,
    model: LinearModel,
    features: int | None = None,
    expected: int | None = None,
    n_iter: int | None = None,
) -> tuple[dict[str, Json], Tensors]:
    """The metadata and tensors of an online classifier and its model.

    `features` and `expected` are those of `state_parts`; `n_iter` is the estimator's unless given.
    """
    try:
        check_layout(estimator, model, "it")
    except InvalidParameter as problem:
        raise ModelFileError(f"cannot save {type(estimator).__name__}: {problem}") from None
    fields, tensors = state_parts(model.state, estimator.memory_limit_gb, features, expected)
    metadata = {
        "estimator": name_of(estimator),
        "parameters": parameters_to_json(estimator),
        "labels": labels_to_json(model.labels),
        "state": fields,
        "n_iter": int(estimator.n_iter_ if n_iter is None else n_iter),
    }
    return metadata, tensors


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


@contextmanager
def stored_parameters() -> Iterator[None]:
    """Blame the file for parameters that are not valid."""
    try:
        yield
    except (InvalidParameter, TypeError, ValueError) as problem:
        raise ModelFileError(f"its parameters do not exist: {problem}") from None


def state_into(
    model: LinearModel,
    metadata: Mapping[str, Json],
    tensors: Mapping[str, Array],
    expected: int | None = None,
) -> None:
    """Give a model the state and the labels of a file; `expected` is that of `state_from_parts`."""
    labels = labels_from_json(metadata.get("labels"))
    fields = member(metadata, "state", dict)
    layout, limit = model.learner.layout, model.memory_limit_gb
    state = state_from_parts(layout, fields, tensors, limit, expected)
    check_labels(labels, state)
    model.publish(state, labels)


# -- parameters --------------------------------------------------------------------------------


def name_of(model: Any) -> str:
    """The name under which `load` finds the class of `model`."""
    name = type(model).__name__
    try:
        known = class_named(name) is type(model)
    except ModelFileError:
        known = False
    if not known:
        raise ModelFileError(
            f"cannot save {name}: load() makes only classes that sureline has; save a model of "
            "the class that it was derived from"
        )
    return name


def parameters_to_json(model: Any) -> dict[str, Json]:
    """The parameters of an estimator; a random generator is kept as None."""
    owner, made = type(model).__name__, {}
    for name, value in model.get_params(deep=False).items():
        if name == "random_state" and not isinstance(value, (int, np.integer)):
            value = None
        try:
            made[name] = value_to_json(value)
        except ModelFileError as problem:
            raise ModelFileError(f"cannot save {owner}: {name}={problem}") from None
    return made


def parameters_from_json(cls: Any, stored: Mapping[str, Json]) -> Any:
    """An unfitted estimator of class `cls` with the stored parameters; others keep their default.

    Only what every online classifier needs to know is checked here; the learner checks the rest.
    """
    known = set(cls().get_params(deep=False))
    unknown = sorted(set(stored) - known)
    if unknown:
        raise ModelFileError(
            f"{cls.__name__} has no parameter {short(unknown[0])} in this sureline; upgrade it"
        )
    values = {name: value_from_json(value) for name, value in stored.items()}
    seed = values.get("random_state")
    if not (seed is None or is_whole(seed, 0, 2**32 - 1)):
        raise ModelFileError(f"its random_state is {short(seed)}")
    weights = values.get("class_weight")
    if isinstance(weights, dict):
        if not all(isinstance(each, Real) for each in weights.values()):
            raise ModelFileError(f"its class_weight is {short(weights)}")
    elif weights is not None and weights != "balanced":
        raise ModelFileError(f"its class_weight is {short(weights)}")
    return cls(**values)


def value_to_json(value: Any, depth: int = 0) -> Json:
    """A parameter's value as JSON; what JSON has no word for becomes an object that names it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if depth < DEEPEST:
        if isinstance(value, Mapping):
            return {"mapping": [[_key(key), value_to_json(value[key], depth + 1)] for key in value]}
        if isinstance(value, (list, tuple)):
            items = [value_to_json(item, depth + 1) for item in value]
            return {"tuple": items} if isinstance(value, tuple) else items
        if isinstance(value, FileMixin):
            return {"estimator": name_of(value), "parameters": parameters_to_json(value)}
    raise ModelFileError(
        f"{reprlib.repr(value)} cannot be kept in a file; numbers, text, lists and dictionaries can"
    )


def _key(key: Any) -> Json:
    """The key of a dictionary: a label of any kind."""
    if not isinstance(key, (str, bytes, int, float, np.generic)):
        raise ModelFileError(f"{reprlib.repr(key)} as a key cannot be kept in a file")
    return value_to_json(key)


def value_from_json(stored: Json, depth: int = 0) -> Any:
    """The parameter's value that `value_to_json` wrote."""
    if depth > DEEPEST:
        raise ModelFileError("its parameters are nested too deeply")
    if isinstance(stored, list):
        return [value_from_json(item, depth + 1) for item in stored]
    if isinstance(stored, int) and abs(stored) >= 2**63:
        raise ModelFileError(f"a parameter is {short(stored)}")
    if not isinstance(stored, dict):
        return stored
    if set(stored) == {"estimator", "parameters"}:
        cls = class_named(member(stored, "estimator", str))
        return parameters_from_json(cls, member(stored, "parameters", dict))
    kind, content = next(iter(stored.items())) if len(stored) == 1 else ("", None)
    if kind == "tuple" and isinstance(content, list):
        return tuple(value_from_json(item, depth + 1) for item in content)
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind == "bytes" and isinstance(content, str):
        return as_bytes(content)
    if kind == "mapping" and isinstance(content, list):
        made = {}
        for pair in content:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ModelFileError(f"a parameter has the entry {short(pair)}")
            key = value_from_json(pair[0], depth + 1)
            if not isinstance(key, (str, bytes, int, float)):
                raise ModelFileError(f"a parameter has the key {short(key)}")
            made[key] = value_from_json(pair[1], depth + 1)
        return made
    raise ModelFileError(f"a parameter is {short(stored)}")
