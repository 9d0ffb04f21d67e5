"""Parameters of estimators: what is allowed, and the learner that they describe."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from sureline.declaration import validate
from sureline.errors import DataError, InvalidParameter, show
from sureline.model.learner import Learner
from sureline.model.linear import LinearModel
from sureline.options import Drift
from sureline.rules import BatchRule, Rule, batch_rules, rules

R = TypeVar("R", bound=Rule | BatchRule)
EVERY = 2**31  # competitors="all"
FEW_LABELS = 50  # so many labels are never too many


def choose_learner(
    estimator: Any,
    weighting: str | None = None,
    normalize: bool = False,
    compact: bool = False,
    multilabel: bool = False,
) -> Learner:
    """The learner of an estimator's parameters, all of which are checked.

    `weighting` is how counts of rows weigh features; rows are then scaled to length 1 on request.
    A `compact` one predicts from weights themselves, and cannot learn. A `multilabel` one learns
    sets of labels, each label against the rest, whatever the scheme.
    """
    owner, rule = type(estimator).__name__, choose_rule(estimator)
    validate(estimator)
    for name, allowed in rule.choices.items():
        value = getattr(estimator, name)
        if value not in allowed:
            raise InvalidParameter(
                f"{owner}: {name} must be {' or '.join(map(repr, allowed))}, got {show(value)}"
            )
    values = {p.name: p.check(getattr(estimator, p.name), owner) for p in rule.parameters}
    for name, allowed in rule.choices.items():
        values[name] = float(allowed.index(getattr(estimator, name)))
    covariance = choose_covariance(estimator, rule)
    if estimator.calibration is not None and covariance == "identity":
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} keeps no variances and has no probabilities, so that "
            "there is nothing to calibrate; set calibration=None"
        )
    if multilabel:
        check_multilabel(estimator, rule, covariance)
    return Learner(
        rule,
        values,
        covariance,
        estimator.dtype,
        bool(estimator.fit_intercept),
        EVERY if estimator.competitors == "all" else int(estimator.competitors),
        "one-vs-rest" if multilabel else estimator.scheme,
        weighting,
        normalize,
        estimator.calibration is not None,
        any(p.auto and getattr(estimator, p.name) == "auto" for p in rule.parameters),
        compact,
        half_life := choose_half_life(estimator, rule, covariance),
        multilabel,
        choose_class_storage(estimator, rule, covariance, half_life, compact, multilabel),
        choose_device(estimator, covariance),
    )


def check_multilabel(estimator: Any, rule: Rule, covariance: str) -> None:
    """Refuse what cannot learn several labels per text."""
    owner = type(estimator).__name__
    if rule.kernel is not None or covariance != "diagonal-kl":
        able = [name for name, each in rules().items() if "diagonal-kl" in each.covariances]
        raise InvalidParameter(
            f"{owner}: several labels per text need covariance='diagonal-kl', got the rule "
            f"{rule.name} with {show(covariance)}; these rules have it: {', '.join(able)}"
        )
    if estimator.class_weight is not None:
        raise InvalidParameter(
            f"{owner}: class_weight is for texts with one label each, as a text with several would "
            "have several weights; set it to None, or give texts a sample_weight"
        )


def choose_class_storage(
    estimator: Any,
    rule: Rule,
    covariance: str,
    half_life: int | None,
    compact: bool,
    multilabel: bool,
) -> str:
    """How the weights of many classes are kept: 'auto' is 'dense' where there is no other way."""
    why = {
        f"the rule {rule.name}": rule.kernel is not None,
        f"covariance={covariance!r}": covariance == "full",
        f"half_life={half_life}": half_life is not None,
        "several labels per text": multilabel,
        "competitors='all'": estimator.competitors == "all",
    }
    storage: str = estimator.class_storage
    reasons = [reason for reason, holds in why.items() if holds]
    if storage == "sparse" and reasons:
        raise InvalidParameter(
            f"{type(estimator).__name__}: {reasons[0]} needs a weight of every feature for every "
            "class; choose class_storage='auto' or 'dense', or leave that out"
        )
    return "dense" if reasons or compact else storage


def warn_of_ids(classes: NDArray[Any], rows: int, owner: str) -> None:
    """Warn of labels most of which label one row alone, as ids do."""
    if classes.size > FEW_LABELS and 2 * classes.size > rows:
        first, second, third = map(show, classes[:3].tolist())
        warnings.warn(
            f"{owner}.fit: there are {classes.size:,} different labels in {rows:,} rows, such as "
            f"{first}, {second} and {third}: they seem to be ids, not classes",
            UserWarning,
            stacklevel=3,
        )


def dense_learner(learner: Learner, owner: str) -> Learner:
    """The learner of copies of a model that are merged, which have a column for every class."""
    if learner.class_storage == "sparse":
        raise InvalidParameter(
            f"{owner}: with class_storage='sparse' one thread learns, or two of texts; use fewer "
            "jobs, or class_storage='dense'"
        )
    return replace(learner, class_storage="dense")


def choose_device(estimator: Any, covariance: str) -> str:
    """Where products with the covariance are made; others than a full one have none."""
    device: str = getattr(estimator, "device", "cpu")
    if device != "cpu" and covariance != "full":
        raise InvalidParameter(
            f"{type(estimator).__name__}: device={device!r} is for covariance='full', but "
            f"covariance is {covariance!r}; choose device='cpu'"
        )
    return device


def choose_half_life(estimator: Any, rule: Rule, covariance: str) -> int | None:
    """With which half-life a model forgets, if it does and the rule can."""
    drift = estimator.drift
    half_life: int | None = drift.half_life if isinstance(drift, Drift) else None
    if half_life is None:
        return None
    owner = type(estimator).__name__
    if covariance == "full":
        raise InvalidParameter(
            f"{owner}: half_life={half_life} needs a diagonal covariance, which forgets feature by "
            "feature, but covariance is 'full'"
        )
    if rule.kernel is not None or rule.average:
        able = [name for name, each in rules().items() if each.kernel is None and not each.average]
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} cannot forget with half_life={half_life}; these can: "
            f"{', '.join(able)}"
        )
    return half_life


def check_order(learner: Learner, ordered: bool, owner: str) -> None:
    """Refuse to forget the older rows where rows have no order."""
    if learner.half_life is not None and not ordered:
        raise InvalidParameter(
            f"{owner}: half_life={learner.half_life} is about examples in their order, learned "
            "once; use partial_fit, or fit with shuffle=False, one pass and one thread"
        )


def check_layout(estimator: Any, model: LinearModel, owner: str) -> None:
    """Refuse a model that set_params has made another one than was trained."""
    weighting, normalize = model.state.layout.weighting, model.learner.normalize
    kind = model.learner.compact, model.learner.multilabel
    layout = choose_learner(estimator, weighting, normalize, *kind).layout
    if layout != model.state.layout:
        raise InvalidParameter(
            f"{owner} was trained as {model.state.layout}, which set_params has changed to "
            f"{layout}; change it back, or fit again"
        )


def check_whole(value: object, name: str, owner: str) -> None:
    """Refuse what is not a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise InvalidParameter(
            f"{owner}: {name} must be a whole number of at least 1, got {show(value)}"
        )


def choose_class_weights(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], owner: str
) -> NDArray[np.float64]:
    """The weight of each class, as the parameter `class_weight` gives it."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, Mapping):
        weights = np.array([float(class_weight.get(label, 1.0)) for label in classes])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        weights = compute_class_weight("balanced", classes=classes, y=y)
    else:
        raise InvalidParameter(
            f"{owner}: class_weight must be 'balanced', a dictionary by label or None, got "
            f"{show(class_weight)}"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidParameter(
            f"{owner}: class_weight must hold finite weights of at least 0, got {weights}"
        )
    return np.asarray(weights, np.float64)


def balanced_weights(counts: Mapping[Any, int]) -> dict[Any, float]:
    """The weights of ``class_weight="balanced"`` by label, from the number of examples of each."""
    examples = sum(counts.values())
    return {label: examples / (len(counts) * counts[label]) for label in sorted(counts)}


def check_stream_parameters(estimator: Any) -> None:
    """Refuse parameters that need all examples at once."""
    owner = type(estimator).__name__
    if getattr(estimator, "early_stopping", False):
        raise InvalidParameter(
            f"{owner}: partial_fit cannot hold examples back; set early_stopping=False"
        )
    if isinstance(estimator.class_weight, str) and estimator.class_weight == "balanced":
        raise InvalidParameter(
            f"{owner}: partial_fit cannot know how frequent classes will be; give class_weight as "
            "a dictionary"
        )


def stream_weights(
    estimator: Any, rule: Rule, y: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Examples' weights times those of their classes, where more examples may follow."""
    owner = type(estimator).__name__
    if rule.weight != "cost" and weight.max(initial=0.0) > 1.0:
        raise InvalidParameter(
            f"{owner}: partial_fit takes weights from 0 to 1, got {weight.max():g}; divide the "
            "weights by the largest that will come"
        )
    if estimator.class_weight is None:
        return weight
    present, codes = np.unique(y, return_inverse=True)
    return weight * _class_weights(estimator, rule, present, y)[codes]


def fit_weights(
    estimator: Any,
    rule: Rule,
    classes: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Examples' weights times those of their classes, where these are all examples."""
    if rule.weight != "cost":
        weight = weight / max(1.0, weight.max(initial=0.0))
    weight = weight * _class_weights(estimator, rule, classes, y)[np.searchsorted(classes, y)]
    if not weight.any():
        raise DataError(f"{type(estimator).__name__}.fit: no example has a weight above 0")
    return weight


def _class_weights(
    estimator: Any, rule: Rule, classes: NDArray[Any], y: NDArray[Any]
) -> NDArray[np.float64]:
    """The weight of each class; where weights are relative, at most 1."""
    given = estimator.class_weight
    weights = choose_class_weights(given, classes, y, type(estimator).__name__)
    if rule.weight != "cost":
        # All weights given count, also those of classes that have not come yet.
        every = given.values() if isinstance(given, Mapping) else weights
        weights = weights / max([1.0, *map(float, every)])
    return weights


def choose_rule(estimator: Any) -> Rule:
    """The registered rule that the estimator's class offers under its present parameters."""
    return _offered(estimator, rules())


def _offered(estimator: Any, among: Mapping[str, R]) -> R:
    names = {cls.__name__ for cls in type(estimator).__mro__}
    offered = [rule for rule in among.values() if rule.estimator in names]
    for rule in offered:
        if all(getattr(estimator, key) == value for key, value in rule.settings.items()):
            return rule
    key = next(iter(offered[0].settings))
    allowed = " or ".join(repr(rule.settings[key]) for rule in offered)
    raise InvalidParameter(
        f"{type(estimator).__name__}: {key} must be {allowed}, got {show(getattr(estimator, key))}"
    )


def settings_of(estimator: Any) -> tuple[Rule | BatchRule, dict[str, Any]]:
    """The rule of a classifier, and the values of what belongs to the rule."""
    every: dict[str, Rule | BatchRule] = {**rules(), **batch_rules()}
    rule = _offered(estimator, every)
    names = [parameter.name for parameter in rule.parameters] + list(rule.choices)
    if rule.covariances and rule.covariances != ("identity",):
        names.append("covariance")
    return rule, {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def choose_covariance(estimator: Any, rule: Rule) -> str:
    """The covariance, if the rule has it with the scheme; or which combinations there are."""
    owner, scheme = type(estimator).__name__, estimator.scheme
    covariance: str = getattr(estimator, "covariance", "identity")
    if covariance not in (rule.covariances or ("identity",)):
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} has no covariance={show(covariance)}; "
            f"choose one of {', '.join(map(repr, rule.covariances))}"
        )
    if scheme == "one-vs-rest":
        if estimator.competitors != 1:
            raise InvalidParameter(
                f"{owner}: scheme='one-vs-rest' compares every class with all others, so that "
                f"competitors must be left at 1, got {show(estimator.competitors)}"
            )
    elif not rule.several and (estimator.competitors != 1 or scheme != "sequential"):
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} compares an example with its strongest rival "
            f"only, so that competitors must be 1 and scheme 'sequential' or 'one-vs-rest', got "
            f"{show(estimator.competitors)} and {show(scheme)}"
        )
    if covariance not in rule.schemes[scheme]:
        exist = "; ".join(
            f"{each!r} with {' or '.join(map(repr, kinds))}"
            for each, kinds in rule.schemes.items()
            if kinds
        )
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} has no scheme={show(scheme)} with "
            f"covariance={show(covariance)}; there is {exist}"
        )
    return covariance
