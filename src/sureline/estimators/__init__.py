"""The scikit-learn estimators: validation, fit, partial_fit, predictions, files and merging."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from sureline.declaration import declared, option
from sureline.errors import InvalidParameter
from sureline.estimators import families
from sureline.estimators.box.bounds import PACBayesBound
from sureline.estimators.box.classifier import BoxClassifier
from sureline.estimators.documentation import by_rule, documented
from sureline.estimators.families import (
    AdaGradClassifier,
    AROWClassifier,
    CWClassifier,
    NHERDClassifier,
    PAClassifier,
    PerceptronClassifier,
    SCWClassifier,
    SOPClassifier,
)
from sureline.estimators.file import load, save
from sureline.estimators.model_merge import merge
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.text.classifier import TextClassifier
from sureline.estimators.text.vectorizer import TextFeatures
from sureline.options import Covariance, CovarianceOptions
from sureline.rules import batch_rules, rules

__all__ = [
    "AROWClassifier",
    "AdaGradClassifier",
    "BoxClassifier",
    "CWClassifier",
    "NHERDClassifier",
    "OnlineClassifier",
    "PACBayesBound",
    "PAClassifier",
    "PerceptronClassifier",
    "SCWClassifier",
    "SOPClassifier",
    "TextClassifier",
    "TextFeatures",
    "classifier_for",
    "load",
    "merge",
    "save",
]


@cache
def classifier_for(name: str) -> type[OnlineClassifier]:
    """The class that offers the rule `name`.

    A rule that names no class written by hand gets one made of what its file declares, so that
    adding a rule is adding one file. The class is importable from here under the name that the
    rule gives it, and so can be pickled.

    Parameters
    ----------
    name : str
        A rule's name, as `sureline rules` lists them.

    Returns
    -------
    type
        A subclass of `OnlineClassifier`. Where a class offers several rules, the rule's
        ``settings`` are the parameters that choose it.

    Examples
    --------
    >>> from sureline.estimators import classifier_for
    >>> classifier_for("arow").__name__
    'AROWClassifier'
    """
    known = rules()
    if name in batch_rules():
        raise InvalidParameter(
            f"the rule {name!r} is solved over all examples at once and is no online rule; use "
            f"{batch_rules()[name].estimator}"
        )
    if name not in known:
        raise InvalidParameter(f"there is no rule named {name!r}; there are {', '.join(known)}")
    estimator = known[name].estimator
    written = getattr(families, estimator, None)
    return written if written is not None else _made(estimator)


@cache
def _made(estimator: str) -> type[OnlineClassifier]:
    """A class for the rules that name one which nobody wrote."""
    offered = [rule for rule in rules().values() if rule.estimator == estimator]
    annotations: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for rule in offered:
        for key in rule.settings:
            choices = {each.settings[key]: each.name for each in offered}
            annotations[key] = Literal[tuple(choices)]
            meaning = ", ".join(f"{choice!r} for {name}" for choice, name in choices.items())
            body.setdefault(key, option(rule.settings[key], f"Which rule: {meaning}."))
        for key, words in rule.choices.items():
            annotations[key] = Literal[words]
            body.setdefault(key, option(words[0], "A choice that the rule's page explains."))
        for parameter in rule.parameters:
            annotations[parameter.name] = float
            body[parameter.name] = by_rule()
        if rule.step and "identity" not in rule.covariances:
            meaning = declared(CovarianceOptions)["covariance"].meaning
            annotations["covariance"] = Covariance
            body.setdefault("covariance", option(rule.covariances[0], meaning))
    title = " ".join(f"{rule.title}." for rule in offered)
    body |= {"__annotations__": annotations, "__doc__": title, "__module__": __name__}
    return documented(type(estimator, (OnlineClassifier,), body))


def __getattr__(name: str) -> type[OnlineClassifier]:
    for rule in rules().values():
        if rule.estimator == name:
            return classifier_for(rule.name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
