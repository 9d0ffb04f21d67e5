"""The documentation of an estimator, made from the options and the rules that it declares."""

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

from sureline.declaration import declared
from sureline.options import OnlineOptions
from sureline.rules import BatchRule, Parameter, Rule, batch_rules, rules

C = TypeVar("C", bound=type)

ATTRIBUTES = """
Attributes
----------
classes_ : array of shape (n_classes,)
    The labels, sorted.
coef_ : array of shape (1, n_features) or (n_classes, n_features)
    The mean of every weight. Two classes have one row, in which positive weights favour
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
EXAMPLE = """
Examples
--------
>>> from sureline import {name}
>>> X = [[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]]
>>> model = {name}(random_state=0).fit(X, [1, 0, 1, 0])
>>> model.predict([[1, 0, 0]]).tolist()
[1]
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


def by_rule() -> Any:
    """The value of a field whose default, range and sentence are those of the rule's parameter."""
    return dataclasses.field(metadata={"by_rule": True})


@dataclass_transform(kw_only_default=True, eq_default=False)
def documented(cls: C) -> C:
    """Make `cls` a keyword-only dataclass whose documentation lists its parameters and an example.

    The parameters that a class declares itself come first, in its signature as in the
    documentation. Numbers that a rule declares take their default, range and sentence from the
    registry.
    """
    every: list[Rule | BatchRule] = [*rules().values(), *batch_rules().values()]
    offered = [rule for rule in every if rule.estimator == cls.__name__]
    of_rules = {each.name: each for rule in offered for each in rule.parameters}
    for name, value in vars(cls).items():
        if isinstance(value, dataclasses.Field) and "by_rule" in value.metadata:
            value.default = of_rules[name].preset
    made: Any = dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)
    covariances = dict.fromkeys(each for rule in offered for each in rule.covariances)
    hints, shared = get_type_hints(cls), declared(OnlineOptions)
    texts = "estimator" in hints
    own_first = sorted(
        dataclasses.fields(made),
        key=lambda each: (each.name in shared and not texts, each.name not in cls.__annotations__),
    )
    signature = inspect.signature(made.__init__)
    ordered = [signature.parameters[name] for name in ("self", *(each.name for each in own_first))]
    made.__init__.__signature__ = signature.replace(parameters=ordered)
    lines = ["Parameters", "----------"]
    for field in own_first:
        parameter = of_rules.get(field.name)
        hint = Literal[tuple(covariances)] if field.name == "covariance" else hints[field.name]
        kind = _kind(parameter, hint)
        meaning = parameter.meaning if parameter else field.metadata["meaning"]
        if field.metadata.get("none"):
            meaning += f" None: {field.metadata['none']}"
        lines += [f"{field.name} : {kind}, default={field.default!r}", f"    {meaning}"]
    attributes = ""
    doc = inspect.cleandoc(cls.__doc__ or "")
    if issubclass(cls, ClassifierMixin) and "Attributes\n" not in doc:
        attributes = ATTRIBUTES.format(
            variances=VARIANCES if texts or "covariance" in hints else "",
            features="n_features_" if texts else "n_features_in_",
        )
        attributes += "" if texts else STOPPED
    sections = "\n".join(lines) + "\n" + attributes
    following = "Attributes\n" if "Attributes\n" in doc else "Examples\n"
    head, heading, tail = doc.partition(following)
    example = "" if heading else EXAMPLE.format(name=cls.__name__)
    made.__doc__ = f"{head.rstrip()}\n\n{sections}{example}\n{heading}{tail}"
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
