"""The learners that can be compared and tuned: all of sureline's, and scikit-learn's baselines."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn import config_context  # type: ignore[attr-defined]
from sklearn.base import clone

from sureline.errors import InvalidParameter
from sureline.estimators import BoxClassifier, TextClassifier, classifier_for
from sureline.estimators.text.classifier import default_estimator
from sureline.evaluation.search import BASELINES, DEFAULT
from sureline.rules import Rule, batch_rules, rules

Settings = Mapping[str, Any]
COSTS = (0.1, 1.0, 10.0, 100.0)
BOX_COSTS = (1e-5, 1e-4, 1e-3, 1e-2)
SMOOTHINGS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Candidate:
    """A learner and the settings among which it is tuned."""

    name: str
    estimator: Any  # unfitted
    grid: Sequence[Settings] = ({},)  # the settings to try, the defaults first
    online: bool = True  # whether the number of passes is tuned as well
    baseline: bool = False  # whether it comes from scikit-learn
    negative: bool = True  # whether it can learn from negative features
    prefix: str = ""  # where `estimator` has the parameters of `grid`, such as "estimator__"

    def build(self, settings: Settings, seed: int) -> Any:
        """Return an unfitted classifier with these settings and this random seed."""
        model = clone(self.estimator)
        model.set_params(**{f"{self.prefix}{name}": value for name, value in settings.items()})
        return model.set_params(
            **{name: seed for name in model.get_params() if name.endswith("random_state")}
        )

    @property
    def reads_texts(self) -> bool:
        """Whether it learns from texts, rather than from a matrix."""
        return isinstance(self.estimator, TextClassifier)

    def around_texts(self, options: Mapping[str, Any]) -> Candidate:
        """The same learner inside a `TextClassifier` with these parameters."""
        online = self.estimator
        classifier = TextClassifier(estimator=online, shuffle=online.shuffle, **options)
        return replace(self, estimator=classifier, prefix="estimator__")


def rule_candidates(
    names: Iterable[str] | None = None,
    covariances: Sequence[str] = ("diagonal-kl",),
    fixed: Mapping[str, Settings] | None = None,
    tried: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
) -> list[Candidate]:
    """The online rules as candidates, one for each covariance that a rule supports.

    By rule, `fixed` has parameters that are set and not searched, and `tried` the values of a
    parameter to search in place of those that the rule declares. `names` defaults to all rules.
    """
    made = list[Candidate]()
    for name in rules() if names is None else names:
        rule = rules()[name]
        own, values = dict((fixed or {}).get(name, {})), dict((tried or {}).get(name, {}))
        supported: Sequence[str | None] = (None,)
        keeps_variances = rule.step is not None and "identity" not in rule.covariances
        if keeps_variances and "covariance" not in {*own, *values}:
            supported = [each for each in covariances if each in rule.covariances]
            if not supported:
                raise InvalidParameter(
                    f"the rule {name} has no covariance {' or '.join(covariances)}; it has "
                    f"{', '.join(rule.covariances)}"
                )
        for covariance in supported:
            extra = {} if covariance is None else {"covariance": covariance}
            cls: Any = classifier_for(name)
            made.append(
                Candidate(
                    name if len(supported) == 1 else f"{name} {covariance}",
                    cls(**{**rule.settings, **own, **extra}),
                    rule_grid(rule, own, values),
                )
            )
    return made


def rule_grid(
    rule: Rule, fixed: Settings, tried: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, Any], ...]:
    """Every combination of the values over which a rule's parameters are searched.

    A parameter is searched if it is in `tried` or if the rule declares several values for it.
    """
    values = {
        each.name: (*each.trials, "auto") if each.auto else each.trials
        for each in rule.parameters
        if each.name not in fixed and len(each.trials) > 1
    }
    values.update({name: tuple(some) for name, some in tried.items()})
    defaults = {each.name: each.default for each in rule.parameters}
    # Not scikit-learn's ParameterGrid, which sorts the parameters by name.
    combined = [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]
    # A stable sort: what is nearest to the defaults comes first, and so wins ties.
    combined.sort(key=lambda each: sum(defaults.get(name) != value for name, value in each.items()))
    return tuple(combined)


def default_candidate(
    texts: bool, options: Mapping[str, Any], limits: Mapping[str, Any]
) -> Candidate:
    """What sureline learns from texts, or from numbers, if nothing is set; nothing is tuned.

    `options` are the parameters of `TextClassifier` that are set for all learners, and `limits`
    those of the estimator.
    """
    if not texts:
        return Candidate(DEFAULT, type(default_estimator())(**limits), online=False)
    model = TextClassifier(**options)
    if limits:
        model.set_params(**{f"estimator__{name}": value for name, value in limits.items()})
    return Candidate(DEFAULT, model, online=False)


def box_candidates(names: Iterable[str]) -> list[Candidate]:
    """Boxes of weights as candidates: C is estimated, D and the loss are searched."""
    made = list[Candidate]()
    for name in names:
        rule = batch_rules()[name]
        grid = [
            {"D": cost, "loss": loss}
            for cost in ("auto", *BOX_COSTS)
            for loss in rule.choices["loss"]
        ]
        cls: Any = BoxClassifier
        made.append(Candidate(name, cls(**rule.settings), grid, online=False))
    return made


def baseline_candidates(names: Iterable[str] = BASELINES) -> list[Candidate]:
    """Some of scikit-learn's classifiers as candidates."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import ComplementNB, MultinomialNB
    from sklearn.svm import LinearSVC

    with config_context(enable_metadata_routing=True):  # OneVsRestClassifier passes weights on
        sparse = LogisticRegression(solver="liblinear")
        # Before scikit-learn 1.8, a penalty has a name.
        named = sparse.get_params().get("penalty") == "l2"
        sparse.set_params(**({"penalty": "l1"} if named else {"l1_ratio": 1}))
        one_vs_rest = OneVsRestClassifier(sparse.set_fit_request(sample_weight=True))
    smoothings, costs = _grid("alpha", SMOOTHINGS, 1.0), _grid("C", COSTS, 1.0)
    every = (
        Candidate("multinomial-nb", MultinomialNB(), smoothings, online=False, negative=False),
        Candidate("complement-nb", ComplementNB(), smoothings, online=False, negative=False),
        Candidate("logistic-l2", LogisticRegression(max_iter=1000), costs, online=False),
        Candidate("logistic-l1", one_vs_rest, costs, online=False, prefix="estimator__"),
        Candidate(
            "linear-svm",
            LinearSVC(max_iter=10_000),
            _grid("C", (0.01, 0.1, 1.0, 10.0), 1.0),
            online=False,
        ),
        Candidate("sgd", SGDClassifier(tol=None), _grid("alpha", (1e-6, 1e-5, 1e-4, 1e-3), 1e-4)),
    )
    by_name = {each.name: replace(each, baseline=True) for each in every}
    return [by_name[name] for name in names]


def _grid(name: str, values: Sequence[float], default: float) -> tuple[dict[str, float], ...]:
    """A grid of one parameter, its default first."""
    return tuple({name: value} for value in sorted(values, key=lambda value: value != default))
