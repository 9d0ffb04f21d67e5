"""The classifiers by name: each adds its own parameters; the rest is `OnlineClassifier`'s."""

from __future__ import annotations

from typing import Literal

from sureline.declaration import option
from sureline.estimators.documentation import by_rule, documented
from sureline.estimators.online import OnlineClassifier
from sureline.options import CovarianceOptions


@documented
class CWClassifier(CovarianceOptions, OnlineClassifier):
    """Confidence-weighted learning: change as little as makes the example right with confidence.

    It learns fast, often from a single pass, and trusts every label: on noisy labels prefer
    `AROWClassifier` or `SCWClassifier`.

    Examples
    --------
    >>> from sureline import CWClassifier
    >>> X = [[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]]
    >>> model = CWClassifier(random_state=0).fit(X, ["spam", "ham", "spam", "ham"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['spam']
    >>> model.predict_proba([[1, 0, 0]]).round(2).tolist()
    [[0.06, 0.94]]
    """

    constraint: Literal["stdev", "variance"] = option(
        "stdev",
        "What the margin is compared with: the standard deviation of the score, as the probability "
        "requires, or its variance, the first paper's simplification.",
    )
    confidence: float = by_rule()
    initial_variance: float = by_rule()


@documented
class AROWClassifier(CovarianceOptions, OnlineClassifier):
    """Adaptive regularization of weights: confidence-weighted learning that tolerates noisy labels.

    Examples
    --------
    >>> from sureline import AROWClassifier
    >>> X = [[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]]
    >>> model = AROWClassifier(r=0.1, random_state=0).fit(X, [1, 0, 1, 0])
    >>> model.predict([[1, 0, 0]]).tolist()
    [1]
    >>> model.variance_.shape
    (1, 3)
    """

    r: float | Literal["auto"] = by_rule()

    @property
    def r_(self) -> float:
        """The value of r: as given, or with ``r="auto"`` as estimated from the rows so far."""
        model = self._fitted("r_")
        return model.learner.constant_of(model.state)


@documented
class SCWClassifier(CovarianceOptions, OnlineClassifier):
    """Soft confidence-weighted learning: CW with a price on missing the constraint."""

    variant: Literal[1, 2] = option(
        1, "Whether the miss costs in proportion (SCW-I) or by its square (SCW-II)."
    )
    confidence: float = by_rule()
    C: float = by_rule()


@documented
class NHERDClassifier(CovarianceOptions, OnlineClassifier):
    """Normal herding: move the whole distribution of weights towards a margin of 1."""

    C: float = by_rule()


@documented
class PAClassifier(OnlineClassifier):
    """Passive-aggressive learning: the smallest change that gives each example a margin of 1."""

    variant: Literal[0, 1, 2] = option(
        1, "Hard margin (0, PA), linear slack (1, PA-I) or squared slack (2, PA-II)."
    )
    C: float = by_rule()
    slack: Literal["shared", "each"] = option(
        "shared",
        'With PA-I and ``scheme="exact"``, whether the constraints of all rivals have one slack '
        "together or one each.",
    )


@documented
class PerceptronClassifier(OnlineClassifier):
    """The perceptron, by default averaged over all its weight vectors."""

    average: bool = option(
        True, "Whether to predict with the average of all weight vectors, or with the last."
    )


@documented
class SOPClassifier(OnlineClassifier):
    """The diagonal second-order perceptron: rare features move further than frequent ones."""

    a: float = by_rule()


@documented
class AdaGradClassifier(OnlineClassifier):
    """AdaGrad with the hinge loss: a step size per feature, and weights of exactly 0 on request."""

    eta: float = by_rule()
    l1: float = by_rule()
    delta: float = by_rule()
    variant: Literal["comid", "rda"] = option(
        "comid", "Composite mirror descent, or regularized dual averaging."
    )
