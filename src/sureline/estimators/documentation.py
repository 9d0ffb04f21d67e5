"""One sentence a parameter, written once: it becomes the class's documentation."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import (
    Any,
    Literal,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from sklearn.base import ClassifierMixin

from sureline.rules import Parameter, rules

T = TypeVar("T")
C = TypeVar("C", bound=type)

ATTRIBUTES = """
Attributes
----------
classes_ : array of shape (n_classes,)
    The labels, sorted.
coef_ : array of shape (1, n_features) or (n_classes, n_features)
    The mean of every weight. Two classes have one row, in which positive speaks for
    ``classes_[1]``; more have a row each.
intercept_ : array of shape (1,) or (n_classes,)
    The mean of the constant feature's weight.
{variances}{features} : int
    The number of features.
n_iter_ : int
    The number of passes made.
n_seen_, n_updates_, n_mistakes_ : int
    How many examples were learned from, changed the model, and were classified wrong just before
    they were learned; over all passes.
"""
STOPPED = """validation_scores_ : list of float
    With early stopping, the accuracy on the held-out examples after each pass.
"""
VARIANCES = """variance_ : array of shape (1, n_features) or (n_classes, n_features)
    The variance of every weight: how unsure the model is of it.
intercept_variance_ : array of shape (1,) or (n_classes,)
    The variance of the constant feature's weight.
covariance_ : array of shape (1, n_features, n_features) or (n_classes, n_features, n_features)
    The whole covariance, with ``covariance="full"``; classes do not depend on each other.
"""


def described(default: T, meaning: str, *, positional: bool = False) -> T:
    """A parameter with its default and a sentence on what it means."""
    field: T = dataclasses.field(
        default=default, metadata={"meaning": meaning}, kw_only=not positional
    )
    return field


@dataclass_transform(kw_only_default=True, eq_default=False)
def documented(cls: C) -> C:
    """Make `cls` a keyword-only dataclass whose documentation lists its parameters.

    Numbers that a rule declares take their range and their sentence from the registry.
    """
    made: Any = dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)
    offered = [rule for rule in rules().values() if rule.estimator == cls.__name__]
    declared = {each.name: each for rule in offered for each in rule.parameters}
    covariances = dict.fromkeys(each for rule in offered for each in rule.covariances)
    hints = get_type_hints(cls)
    own_first = sorted(
        dataclasses.fields(made), key=lambda field: field.name not in cls.__annotations__
    )
    lines = ["Parameters", "----------"]
    for field in own_first:
        parameter = declared.get(field.name)
        hint = Literal[tuple(covariances)] if field.name == "covariance" else hints[field.name]
        kind = _kind(parameter, hint)
        meaning = parameter.meaning if parameter else field.metadata["meaning"]
        lines += [f"{field.name} : {kind}, default={field.default!r}", f"    {meaning}"]
    attributes = ""
    if issubclass(cls, ClassifierMixin):
        texts = "estimator" in hints
        attributes = ATTRIBUTES.format(
            variances=VARIANCES if texts or "covariance" in hints else "",
            features="n_features_" if texts else "n_features_in_",
        )
        attributes += "" if texts else STOPPED
    sections = "\n".join(lines) + "\n" + attributes
    head, examples, tail = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n")
    made.__doc__ = f"{head.rstrip()}\n\n{sections}\n{examples}{tail}"
    return cast(C, made)


def _kind(parameter: Parameter | None, hint: Any) -> str:
    """How the documentation names what a parameter may be."""
    if parameter:
        return f"float in {parameter.allowed}"
    if hint is type(None):
        return "None"
    choices = get_args(hint)
    if choices and all(isinstance(choice, (str, int)) for choice in choices):
        return "{" + ", ".join(repr(choice) for choice in choices) + "}"
    if get_origin(hint) is tuple:
        return f"({', '.join(_kind(None, choice) for choice in choices)})"
    if get_origin(hint) is Sequence:
        return f"list of {_kind(None, choices[0])}"
    if choices and get_origin(hint) is not None and not isinstance(hint, type):
        names = [_kind(None, choice) for choice in choices]
        return " or ".join(names) if "Mapping" not in str(get_origin(hint)) else "dict"
    return getattr(hint, "__name__", str(hint))
