"""The model that training begins from: it has learned nothing, and knows all classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.errors import InvalidParameter
from sureline.estimators import TextClassifier, classifier_for
from sureline.estimators.text.classifier import default_estimator
from sureline.rules import rules
from sureline.spark.params import DEFAULT_RULE, RULE, TEXT, Parameters


def begin(stage: Parameters, classes: NDArray[Any], features: int | None) -> Any:
    """A model with the parameters of a stage, that knows all classes and nothing else.

    Parameters
    ----------
    stage : Parameters
        The stage.
    classes : array
        All labels.
    features : int or None
        How many numbers a vector has; None for texts.

    Returns
    -------
    TextClassifier or OnlineClassifier
        The model.
    """
    online = _online(stage)
    if features is not None:
        return know(online, classes, features)
    options = stage.given(TEXT)
    if stage.isSet("calibration"):
        options["calibration"] = online.calibration
    return know(TextClassifier(estimator=online, **options), classes)


def know(model: Any, classes: NDArray[Any], features: int = 1) -> Any:
    """Let a model know classes; a row of weight 0 brings them, and teaches nothing.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model, which is changed.
    classes : array
        The labels.
    features : int, default=1
        How many numbers a vector has, where examples are vectors.
    """
    row: Any = [""]
    if not isinstance(model, TextClassifier):
        row = csr_array((1, getattr(model, "n_features_in_", features)), dtype=np.float32)
    return model.partial_fit(row, classes[:1], classes=classes, sample_weight=[0.0])


def _online(stage: Parameters) -> Any:
    """The online classifier that a stage asks for."""
    owner, given = type(stage).__name__, stage.given(RULE)
    name = stage.getOrDefault("rule") if stage.isSet("rule") else DEFAULT_RULE
    online: Any = classifier_for(name)()
    online.set_params(**rules()[name].settings)
    if stage.reads_texts and not stage.isSet("rule"):
        online = default_estimator()
    known = online.get_params(deep=False)
    for parameter in given:
        rule = rules()[name]
        declared = {each.name for each in rule.parameters} | set(rule.choices)
        if parameter not in known or (parameter in _OF_RULES and parameter not in declared):
            raise InvalidParameter(
                f"{owner}: the rule {name} has no parameter {RULE[parameter].name}; it has "
                f"{', '.join(sorted(RULE[each].name for each in declared)) or 'none of its own'}"
            )
    return online.set_params(**given)


_OF_RULES = {each.name for rule in rules().values() for each in rule.parameters} | {
    name for rule in rules().values() for name in rule.choices
}
