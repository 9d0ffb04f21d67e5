"""From ``--rule`` and ``--set`` to an estimator: each value gets its type and is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_type_hints

import numpy as np

from sureline.cli.groups import FLAGS
from sureline.cli.rules import find_rule
from sureline.cli.values import parse_value
from sureline.data.label_values import typed_labels
from sureline.errors import InvalidParameter
from sureline.estimators import OnlineClassifier, TextClassifier, classifier_for
from sureline.estimators.text.classifier import REPLACED, default_estimator
from sureline.estimators.validation import choose_rule
from sureline.rules import Rule, rules

NOT_FOR_STREAMS = ("early_stopping", "validation_fraction", "n_iter_no_change")


@dataclass(frozen=True)
class Settings:
    """The settings of a model: its rule, what ``--set`` says of it, and what other options say.

    `texts` has the parameters of `TextClassifier` that differ from the default, `learning` those
    that a classifier of numbers has, too, `memory` those that only the online classifier has.
    """

    rule: str | None = None
    pairs: Sequence[str] = ()
    texts: Mapping[str, Any] = field(default_factory=dict)
    learning: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what cannot be trained, before any row is read."""
        model = self.text_model
        model.adopt(*model.begin(), 1)  # what has been checked is what learns

    @cached_property
    def text_model(self) -> TextClassifier:
        """A classifier of texts, which has learned nothing; there is one for all callers."""
        estimator, own = self._estimator(default_estimator(), REPLACED)
        return TextClassifier(estimator=estimator, **{**self.texts, **own, **self.learning})

    def number_model(self, source: str) -> OnlineClassifier:
        """A classifier of svmlight rows, which has learned nothing."""
        estimator, own = self._estimator(type(default_estimator())())
        texts = [FLAGS[name] for name in self.texts] + [f"--set {name}" for name in own]
        if texts:
            raise InvalidParameter(
                f"{texts[0]} is about texts, but {source} holds svmlight rows; leave it out"
            )
        learning = dict(self.learning)
        if learning.get("max_iter") == "auto":  # which is about texts
            learning["max_iter"] = 1
        if learning.pop("threshold", "f1") != "f1":
            raise InvalidParameter(
                f"--threshold is about texts, but {source} holds svmlight rows; leave it out"
            )
        made: OnlineClassifier = estimator.set_params(**learning)
        return made

    def type_class_weights(self, model: Any, kind: np.dtype[Any]) -> None:
        """Give the labels that class weights are for the type that the rows' labels have."""
        weights = getattr(model, "estimator_", model).class_weight
        if isinstance(weights, dict):
            set_class_weights(model, type_labels(weights, kind))

    def _estimator(self, default: Any, elsewhere: Sequence[str] = ()) -> tuple[Any, dict[str, Any]]:
        """The online classifier, and what was set of the classifier of texts around it.

        To name the default rule changes nothing. The parameters `elsewhere` are those of the
        classifier of texts, though the online classifier has them too.
        """
        usual = choose_rule(default)
        rule = usual if self.rule is None else find_rule(self.rule, rules())
        estimator = default
        if rule is not usual:
            cls: Any = classifier_for(rule.name)
            estimator = cls(**rule.settings)
        own, texts = dict[str, Any](), dict[str, Any]()
        known = settable(rule)
        for name, value in split_pairs(self.pairs).items():
            if name not in known:
                raise InvalidParameter(
                    f"--set {name}: the rule {rule.name} has no such parameter; it has "
                    f"{', '.join(known)}"
                )
            place = own if name in set(estimator.get_params()) - set(elsewhere) else texts
            place[name] = parse_value(value, known[name], f"--set {name}")
        estimator.set_params(**own, **self.memory)
        return estimator, texts


def is_balanced(model: Any) -> bool:
    """Whether the classes of a model are to be balanced by rows that are not counted yet."""
    return bool(getattr(model, "estimator_", model).class_weight == "balanced")


def set_class_weights(model: Any, weights: Mapping[Any, float]) -> None:
    """Set the class weights of a model that has learned nothing from the rows to come."""
    online = getattr(model, "estimator_", model)
    online.class_weight = weights
    if online is not model:
        if model.estimator is not None:
            model.estimator.class_weight = weights
        model.adopt(online, model.model_, model.n_iter_)


def settable(rule: Rule) -> dict[str, Any]:
    """The parameters that ``--set`` takes for a rule, with their types."""
    cls: Any = classifier_for(rule.name)
    reading: Any = TextClassifier()
    hints, texts = get_type_hints(cls), get_type_hints(TextClassifier)
    left_out = {*FLAGS, *NOT_FOR_STREAMS, *rule.settings}
    first = [*(parameter.name for parameter in rule.parameters), *rule.choices, "covariance"]
    own = [name for name in cls().get_params() if name not in left_out]
    own.sort(key=lambda name: first.index(name) if name in first else len(first))
    others = [name for name in reading.get_params(deep=False) if name not in left_out]
    return {name: hints[name] for name in own} | {name: texts[name] for name in others}


def split_pairs(
    pairs: Sequence[str], option: str = "--set", example: str = "r=0.3"
) -> dict[str, str]:
    """The values of ``NAME=VALUE``, by name, as they are written."""
    values = dict[str, str]()
    for pair in pairs:
        name, _, value = (part.strip() for part in pair.partition("="))
        if not value:
            raise InvalidParameter(f"{option} takes name=value, such as {example}, got {pair!r}")
        if name in FLAGS:
            raise InvalidParameter(f"{option} {name}: use {FLAGS[name]} instead")
        if name in values:
            raise InvalidParameter(f"{option} {name} was given twice")
        values[name] = value
    return values


def type_labels(weights: Mapping[str, float], kind: np.dtype[Any]) -> dict[Any, float]:
    """Class weights by labels of the type that the rows' labels have, instead of text."""
    labels = typed_labels(list(weights), kind)
    return dict(zip(labels.tolist(), weights.values(), strict=True))
