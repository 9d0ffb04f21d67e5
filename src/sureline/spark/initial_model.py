"""The model that training starts from: it knows all classes and has learned nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.data import Batch
from sureline.errors import InvalidParameter
from sureline.estimators import TextClassifier, classifier_for
from sureline.estimators.stream import StreamTrainer
from sureline.estimators.text.classifier import default_estimator
from sureline.model.learner import AGAIN
from sureline.rules import rules
from sureline.spark.batches import as_texts
from sureline.spark.params import DEFAULT_RULE, RULE, TEXT, Parameters


def initial_model(
    stage: Parameters, classes: NDArray[Any], features: int | None, several: bool = False
) -> Any:
    """A classifier with the parameters of a stage that knows all classes.

    `features` is how many numbers a vector has, None for texts, which may have `several` labels.
    """
    online = _online_classifier(stage)
    if features is not None and several:
        raise InvalidParameter(
            f"{type(stage).__name__}: vectors are learned with one label each, and labelCol holds "
            "arrays; several labels are for texts (textCol, textCols)"
        )
    if features is not None:
        return add_classes(online.set_params(class_storage="dense"), classes, features)
    options = stage.given(TEXT)
    if stage.isSet("calibration"):
        options["calibration"] = online.calibration
    if stage.columns:
        options["columns"] = stage.columns
    texts = TextClassifier(estimator=online, class_storage="dense", **options)
    return add_classes(texts, classes, several=several)


def add_classes(
    classifier: Any, classes: NDArray[Any], features: int = 1, several: bool = False
) -> Any:
    """Make classes known to a classifier, by a row of weight 0, from which nothing is learned.

    `features` is how many numbers a vector has, for a new classifier that takes vectors; `several`
    whether a new one learns any number of labels per text.
    """
    several = several or bool(getattr(classifier, "is_multilabel", False))
    y: Any = [[]] if several else classes[:1]
    row: Any = [""]
    if isinstance(classifier, TextClassifier):
        columns = getattr(classifier, "columns_", classifier.columns)
        if columns is not None:  # missing values are features, which must not get columns
            table = as_texts(pa.array([dict.fromkeys(columns)]), "", columns)
            labels = pa.array([[]], pa.list_(pa.from_numpy_dtype(classes.dtype))) if several else y
            batch = Batch(text=table, label=labels, weight=np.zeros(1))
            StreamTrainer(classifier, labels=classes.tolist()).learn(batch, AGAIN)
            return classifier
    else:
        row = csr_array((1, getattr(classifier, "n_features_in_", features)), dtype=np.float32)
    return classifier.partial_fit(row, y, classes=classes, sample_weight=[0.0])


def _online_classifier(stage: Parameters) -> Any:
    """The online classifier that a stage describes."""
    named = stage.isSet("rule")
    name = stage.getOrDefault("rule") if named else DEFAULT_RULE
    online: Any = classifier_for(name)()
    online.set_params(**rules()[name].settings)
    if stage.reads_texts and not named:
        online = default_estimator()
    known, given = online.get_params(deep=False), stage.given(RULE)
    own = _parameters_of(name)
    others = set[str]().union(*map(_parameters_of, rules())) - own
    for parameter in given:
        if parameter not in known or parameter in others:
            raise InvalidParameter(
                f"{type(stage).__name__}: the rule {name} has no parameter "
                f"{RULE[parameter].name}; it has "
                f"{', '.join(sorted(RULE[each].name for each in own)) or 'none of its own'}"
            )
    return online.set_params(**given)


def _parameters_of(name: str) -> set[str]:
    """The parameters that a rule declares."""
    rule = rules()[name]
    return {each.name for each in rule.parameters} | set(rule.choices)
