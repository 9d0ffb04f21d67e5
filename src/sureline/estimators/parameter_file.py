"""The class and the parameters of an estimator as JSON, and back."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from numbers import Real
from typing import Any

import numpy as np

from sureline.declaration import declared
from sureline.errors import InvalidParameter, ModelFileError
from sureline.model.serialize.fields import Json, is_whole, member, short
from sureline.model.serialize.labels import as_bytes
from sureline.options import Drift
from sureline.rules import rules

DEEPEST = 6  # how deep parameters may be nested


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


@contextmanager
def stored_parameters() -> Iterator[None]:
    """Blame the file for parameters that are not valid."""
    try:
        yield
    except (InvalidParameter, TypeError, ValueError) as problem:
        raise ModelFileError(f"its parameters do not exist: {problem}") from None


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


def parameters_from_json(cls: Any, stored: Mapping[str, Json], depth: int = 0) -> Any:
    """An unfitted estimator of class `cls` with the stored parameters; others keep their default.

    Only what every online classifier needs to know is checked here; the learner checks the rest.
    """
    known = set(cls().get_params(deep=False))
    unknown = sorted(set(stored) - known)
    if unknown:
        raise ModelFileError(
            f"{cls.__name__} has no parameter {short(unknown[0])} in this sureline; upgrade it"
        )
    values = {name: value_from_json(value, depth) for name, value in stored.items()}
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
    if isinstance(value, Drift):
        return {"drift": asdict(value)}
    if depth < DEEPEST:
        if isinstance(value, Mapping):
            return {"mapping": [[_key(key), value_to_json(value[key], depth + 1)] for key in value]}
        if isinstance(value, (list, tuple)):
            items = [value_to_json(item, depth + 1) for item in value]
            return {"tuple": items} if isinstance(value, tuple) else items
        if hasattr(type(value), "to_parts"):
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
        return parameters_from_json(cls, member(stored, "parameters", dict), depth + 1)
    kind, content = next(iter(stored.items())) if len(stored) == 1 else ("", None)
    if kind == "tuple" and isinstance(content, list):
        return tuple(value_from_json(item, depth + 1) for item in content)
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind == "drift" and isinstance(content, dict) and set(content) <= set(declared(Drift)):
        with stored_parameters():
            return Drift(**content)
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
