"""Who can be compared and tuned: every online rule, and the baselines that scikit-learn has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sureline.errors import InvalidParameter
from sureline.estimators import TextClassifier, classifier_for
from sureline.rules import Rule, rules

COSTS = (0.1, 1.0, 10.0, 100.0)
SMOOTHINGS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
DIAGONAL = "diagonal-kl"


@dataclass(frozen=True)
class Candidate:
    """A learner and the settings among which it is tuned.

    Parameters
    ----------
    name : str
        What it is called in tables.
    make : function of settings and a seed
        Gives an estimator that has learned nothing. It must be importable, as other processes call
        it.
    grid : tuple of dict
        The settings to try, the usual ones first.
    passes : bool
        Whether it learns online, so that the number of passes is tuned as well.
    baseline : bool
        Whether it comes from scikit-learn.
    negative : bool
        Whether it can learn from negative features.
    """

    name: str
    make: Callable[[Mapping[str, Any], int], Any]
    grid: tuple[Mapping[str, Any], ...]
    passes: bool
    baseline: bool = False
    negative: bool = True


@dataclass(frozen=True)
class MakeRule:
    """Makes the classifier of a rule, with what is always set."""

    rule: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, settings: Mapping[str, Any], seed: int) -> Any:
        """A classifier that has learned nothing."""
        cls: Any = classifier_for(self.rule)
        given = {**rules()[self.rule].settings, **self.fixed, **settings}
        return cls(**given, random_state=seed)


@dataclass(frozen=True)
class MakeText:
    """Makes a classifier of texts around the classifier of a rule."""

    rule: Callable[[Mapping[str, Any], int], Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, settings: Mapping[str, Any], seed: int) -> Any:
        """A classifier that has learned nothing."""
        estimator, cls = self.rule(settings, seed), TextClassifier
        made: Any = cls(estimator=estimator, **self.options)
        return made.set_params(shuffle=estimator.shuffle, random_state=seed)


def rule_candidates(
    names: Iterable[str] | None = None,
    covariances: Sequence[str] = (DIAGONAL,),
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    tried: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
) -> list[Candidate]:
    """The online rules as candidates, each with the covariances of these that it has.

    Parameters
    ----------
    names : iterable of str, default=None
        Which rules; by default all.
    covariances : sequence of str, default=("diagonal-kl",)
        Which covariances; rules that keep none are taken once.
    fixed : dict, default=None
        By rule, parameters that are set and not searched.
    tried : dict, default=None
        By rule, the values to search of a parameter, in place of those the rule declares.
    """
    known = rules()
    made = list[Candidate]()
    for name in known if names is None else names:
        rule = known[name]
        own, wanted = dict((fixed or {}).get(name, {})), dict((tried or {}).get(name, {}))
        keeps = rule.step is not None and "identity" not in rule.covariances
        asked: Sequence[str | None] = (None,)
        if keeps and "covariance" not in own and "covariance" not in wanted:
            asked = [each for each in covariances if each in rule.covariances]
            if not asked:
                raise InvalidParameter(
                    f"the rule {name} has no covariance {' or '.join(covariances)}; it has "
                    f"{', '.join(rule.covariances)}"
                )
        for covariance in asked:
            extra = {} if covariance is None else {"covariance": covariance}
            shown = name if len(asked) == 1 else f"{name} {covariance}"
            made.append(
                Candidate(
                    name=shown,
                    make=MakeRule(name, {**own, **extra}),
                    grid=rule_grid(rule, own, wanted),
                    passes=True,
                )
            )
    return made


def rule_grid(
    rule: Rule, fixed: Mapping[str, Any], tried: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, Any], ...]:
    """Every combination of the values that a rule's parameters are searched over.

    Parameters that are neither declared to have more than one value nor asked for are left alone.
    """
    values = {
        each.name: (*each.trials, "auto") if each.auto else each.trials
        for each in rule.parameters
        if each.name not in fixed and len(each.trials) > 1
    }
    values.update({name: tuple(some) for name, some in tried.items()})
    usual = {each.name: each.default for each in rule.parameters}
    combined = [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]
    # A stable sort: what is nearest to the defaults comes first, and so wins ties.
    combined.sort(key=lambda each: sum(usual.get(name) != value for name, value in each.items()))
    return tuple(combined)


def _multinomial_nb(settings: Mapping[str, Any], seed: int) -> Any:
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB(**settings)


def _complement_nb(settings: Mapping[str, Any], seed: int) -> Any:
    from sklearn.naive_bayes import ComplementNB

    return ComplementNB(**settings)


def _logistic_l2(settings: Mapping[str, Any], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(**settings, max_iter=1000, random_state=seed)


def _logistic_l1(settings: Mapping[str, Any], seed: int) -> Any:
    from sklearn._config import config_context
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    two = LogisticRegression(**settings, l1_ratio=1, solver="liblinear", random_state=seed)
    with config_context(enable_metadata_routing=True):
        return OneVsRestClassifier(two.set_fit_request(sample_weight=True))


def _linear_svm(settings: Mapping[str, Any], seed: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(**settings, max_iter=10_000, random_state=seed)


def _sgd(settings: Mapping[str, Any], seed: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(**settings, tol=None, random_state=seed)


def _each(name: str, values: Sequence[float], usual: float) -> tuple[dict[str, float], ...]:
    """A grid of one parameter, its usual value first."""
    return tuple({name: value} for value in sorted(values, key=lambda value: value != usual))


BASELINES = {
    each.name: each
    for each in (
        Candidate(
            "multinomial-nb",
            _multinomial_nb,
            _each("alpha", SMOOTHINGS, 1.0),
            passes=False,
            baseline=True,
            negative=False,
        ),
        Candidate(
            "complement-nb",
            _complement_nb,
            _each("alpha", SMOOTHINGS, 1.0),
            passes=False,
            baseline=True,
            negative=False,
        ),
        Candidate("logistic-l2", _logistic_l2, _each("C", COSTS, 1.0), passes=False, baseline=True),
        Candidate(
            "logistic-l1",
            _logistic_l1,
            _each("C", COSTS, 1.0),
            passes=False,
            baseline=True,
        ),
        Candidate(
            "linear-svm",
            _linear_svm,
            _each("C", (0.01, 0.1, 1.0, 10.0), 1.0),
            passes=False,
            baseline=True,
        ),
        Candidate(
            "sgd",
            _sgd,
            _each("alpha", (1e-6, 1e-5, 1e-4, 1e-3), 1e-4),
            passes=True,
            baseline=True,
        ),
    )
}
