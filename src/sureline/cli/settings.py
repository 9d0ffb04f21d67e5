"""From ``--rule`` and ``--set`` to an estimator: each value gets its type and is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sureline.cli.rules import find_rule
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import OnlineClassifier, TextClassifier, TextFeatures, classifier_for
from sureline.estimators.text.classifier import UNUSED
from sureline.estimators.validation import choose_rule
from sureline.rules import Rule, rules

# What has an option of its own, or no meaning for a stream.
OWN_OPTIONS = {
    "max_iter": "--passes",
    "shuffle": "--no-shuffle",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "estimator": "--rule",
    "ngrams": "--ngrams",
    "chars": "--chars",
    "char_scope": "--char-scope",
    "lowercase": "--no-lowercase",
    "stop_words": "--stop-words",
    "counts": "--counts",
    "weighting": "--weighting",
    "counts_first": "--count-first",
    "normalize": "--no-normalize",
    "features": "--features",
    "bits": "--bits",
    "min_count": "--min-count",
    "max_features": "--max-features",
}
NOT_FOR_STREAMS = ("early_stopping", "validation_fraction", "n_iter_no_change")


@dataclass(frozen=True)
class Settings:
    """What is to be trained: the rule, what was set of it, and how texts become features.

    `texts` holds the parameters of `TextClassifier` that have an option of their own, where these
    differ from the default.
    """

    rule: str | None = None
    pairs: Sequence[str] = ()
    texts: Mapping[str, Any] = field(default_factory=dict)
    steering: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what cannot be trained, before any row is read."""
        self.text_model()._begin()

    def text_model(self) -> TextClassifier:
        """A classifier of texts, which has learned nothing."""
        default = TextClassifier()._chosen()
        estimator, own = self._estimator(default, UNUSED)
        return TextClassifier(estimator=estimator, **{**self.texts, **own, **self.steering})

    def number_model(self, source: str) -> OnlineClassifier:
        """A classifier of svmlight rows, which has learned nothing."""
        default = type(TextClassifier()._chosen())()
        estimator, own = self._estimator(default)
        texts = [OWN_OPTIONS[name] for name in self.texts] + [f"--set {name}" for name in own]
        if texts:
            raise InvalidParameter(
                f"{texts[0]} is about texts, but {source} holds svmlight rows; leave it out"
            )
        made: OnlineClassifier = estimator.set_params(**self.steering)
        return made

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
        for pair in self.pairs:
            name, value = _split(pair, known, rule)
            if name in own or name in texts:
                raise InvalidParameter(f"--set {name} was given twice")
            place = own if name in set(estimator.get_params()) - set(elsewhere) else texts
            place[name] = parse_value(value, known[name], f"--set {name}")
        estimator.set_params(**own)
        return estimator, texts


def text_parameters(
    given: Mapping[str, Any], of: type[TextClassifier] | type[TextFeatures] = TextClassifier
) -> dict[str, Any]:
    """What options say of the reading of texts, where it is not the default of this class."""
    hints, default = get_type_hints(of), of()
    made = dict[str, Any]()
    for name, value in given.items():
        if name == "stop_words":
            value = None if value is None else read_words(value)
        elif name in ("ngrams", "chars", "weighting"):
            value = parse_value(value, hints[name], OWN_OPTIONS[name])
        if value != getattr(default, name):
            made[name] = value
    return made


def read_words(path: str) -> list[str]:
    """The words of a file, one a line."""
    from pathlib import Path

    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"--stop-words {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"--stop-words {path} is not UTF-8 text; convert it first") from None
    return [line.strip() for line in lines if line.strip()]


def settable(rule: Rule) -> dict[str, Any]:
    """The parameters that ``--set`` takes for a rule, with their types."""
    cls: Any = classifier_for(rule.name)
    reading: Any = TextClassifier()
    hints, texts = get_type_hints(cls), get_type_hints(TextClassifier)
    left_out = {*OWN_OPTIONS, *NOT_FOR_STREAMS, *rule.settings}
    first = [*(parameter.name for parameter in rule.parameters), *rule.choices, "covariance"]
    own = [name for name in cls().get_params() if name not in left_out]
    own.sort(key=lambda name: first.index(name) if name in first else len(first))
    others = [name for name in reading.get_params(deep=False) if name not in left_out]
    return {name: hints[name] for name in own} | {name: texts[name] for name in others}


def _split(pair: str, known: Mapping[str, Any], rule: Rule) -> tuple[str, str]:
    """The name and the value of ``name=value``; the name must be known."""
    name, equals, value = pair.partition("=")
    name = name.strip()
    if not equals:
        raise InvalidParameter(f"--set takes name=value, such as --set r=0.3, got {pair!r}")
    if name in OWN_OPTIONS:
        raise InvalidParameter(f"--set {name}: use {OWN_OPTIONS[name]} instead")
    if name not in known:
        raise InvalidParameter(
            f"--set {name}: the rule {rule.name} has no such parameter; it has {', '.join(known)}"
        )
    return name, value.strip()


def parse_value(value: str, hint: Any, what: str) -> Any:
    """The value that a text means for a parameter of this type."""
    for kind in _alternatives(hint):
        try:
            return _parse(value, kind)
        except ValueError:
            continue
    raise InvalidParameter(f"{what} must be {describe_type(hint)}, got {value!r}")


def describe_type(hint: Any) -> str:
    """What a parameter may be, in words."""
    words = list[str]()
    for kind in _alternatives(hint):
        if _is_choice(kind):
            words += map(str, get_args(kind))
        else:
            words.append(_NAMES.get(get_origin(kind) or kind, "a value"))
    return " or ".join(dict.fromkeys(words))


_NAMES: dict[Any, str] = {
    NoneType: "none",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "two numbers such as 1,2",
    Mapping: 'JSON such as {"spam": 2}',
}
_NAMES[get_origin(Mapping[str, float])] = _NAMES[Mapping]


def _alternatives(hint: Any) -> list[Any]:
    """The types that a parameter may have, those first that fewer texts fit."""
    kinds: list[Any] = list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]
    kinds = [kind for kind in kinds if getattr(kind, "__module__", "") != "numpy.random.mtrand"]
    return sorted(kinds, key=lambda kind: (kind is not NoneType, not _is_choice(kind)))


def _is_choice(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal


def _parse(value: str, kind: Any) -> Any:
    """`value` as this one type, or a ValueError."""
    if _is_choice(kind):
        for choice in get_args(kind):
            if str(choice).lower() == value.lower():
                return choice
        raise ValueError(value)
    if kind is NoneType:
        if value.lower() != "none":
            raise ValueError(value)
        return None
    if kind is bool:
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return value.lower() == "true"
    if kind in (int, float, str):
        return kind(value)
    if get_origin(kind) is tuple:
        low, _, high = value.partition(",")
        return int(low), int(high)
    return _parse_weights(value)


def _parse_weights(value: str) -> dict[str, float]:
    """A JSON object of numbers by label; labels get the type of the input's once it is known."""
    read = json.loads(value)
    if not isinstance(read, dict) or not all(type(each) in (int, float) for each in read.values()):
        raise ValueError(value)
    return {key: float(weight) for key, weight in read.items()}
