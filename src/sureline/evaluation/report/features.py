"""The features that tell classes apart, and those that led to one answer rather than another."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.estimators import TextClassifier
from sureline.estimators.prediction import has_variance
from sureline.estimators.stream import count_features
from sureline.model.explanation import Contribution, FeatureWeight, lower_bound

Floats = NDArray[np.float64]
AT_ONCE = 2**21  # weights that are looked at together
COMPARED = 20_000  # shares of one text that are looked at, of all classes together
FEWEST = 60  # of each class at least


def telling_features(model: Any, n: int) -> list[list[FeatureWeight]]:
    """The features that speak most surely for each class, in the order of ``classes_``.

    They are those that `top_features` tells, if their weight is above 0. All classes are looked at
    in one walk over the features, some at a time.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        A fitted model.
    n : int
        How many for each class, at most.

    Examples
    --------
    >>> from sureline import TextClassifier
    >>> from sureline.evaluation.report.features import telling_features
    >>> texts = ["win a prize", "lunch at noon", "a prize for you", "late for lunch"]
    >>> model = TextClassifier(random_state=0).fit(texts, ["spam", "ham", "spam", "ham"])
    >>> [found[0].feature for found in telling_features(model, 1)]
    ['lunch', 'a']
    """
    features = count_features(model)
    classes = model.classes_.size
    best = [np.zeros((0, 4)) for _ in range(classes)]  # bound, -feature, weight, variance
    least = np.full(classes, -np.inf)
    step = max(1, AT_ONCE // classes)
    for start in range(0, features, step):
        means, variances = model.model_.weights(np.arange(start, min(start + step, features)))
        bound = means if variances is None else lower_bound(means, np.sqrt(variances))
        rows, columns = np.nonzero((means > 0.0) & (bound > least))
        for k in np.unique(columns).tolist():
            chosen = rows[columns == k]
            spread = means[chosen, k] if variances is None else variances[chosen, k]
            new = [bound[chosen, k], -(chosen + start), means[chosen, k], spread]
            held = np.concatenate([best[k], np.column_stack(new)])
            held = held[np.lexsort((-held[:, 1], -held[:, 0]))][:n]
            best[k] = held
            if len(held) == n:
                least[k] = held[-1, 0]
    unsure = has_variance(model)
    return [
        [
            FeatureWeight(
                model.model_.name(int(-feature)),
                float(weight),
                float(variance) if unsure else None,
            )
            for _, feature, weight, variance in held.tolist()
        ]
        for held in best
    ]


@dataclass(frozen=True)
class Pull:
    """A feature of a row and how it draws the score from one class to another.

    `share` is what the feature adds to the lead of the class that was answered over the true one,
    `deviation` how unsure that is, None for rules that keep no variances. `places` are where the
    feature stands in the text, first and last + 1 character.
    """

    feature: str
    share: float
    deviation: float | None
    places: tuple[tuple[int, int], ...] = ()

    @property
    def unsure(self) -> bool:
        """Whether it may as well draw the other way."""
        return self.deviation is not None and self.deviation > abs(self.share)


def find_pulls(model: Any, row: Any, predicted: Any, true: Any) -> list[Pull]:
    """What draws the score of a row towards the class answered and away from the true one.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        A fitted model.
    row : str, or a pair of arrays
        A text, or columns and values.
    predicted, true : label
        The classes to compare; where the model does not know the true one, the score of the other
        is told alone.

    Returns
    -------
    list of Pull
        The strongest first.
    """
    if isinstance(model, TextClassifier):
        pulls = _text_pulls(model, row, predicted, true)
    else:
        pulls = _number_pulls(model, row, predicted, true)
    return sorted(pulls, key=lambda each: -abs(each.share))


def _text_pulls(model: TextClassifier, text: str, predicted: Any, true: Any) -> list[Pull]:
    told = model.explain(text, top=max(FEWEST, COMPARED // model.classes_.size)).classes
    towards = {each.feature: each for each in told[predicted].features}
    # Of two classes each has the whole score, so that one of them tells everything.
    if true not in told or len(told) <= 2:
        return [_pull(each, None) for each in towards.values()]
    away = {each.feature: each for each in told[true].features}
    pulls = [_pull(each, away.pop(name, None)) for name, each in towards.items()]
    return pulls + [_pull(None, each) for each in away.values()]


def _pull(towards: Contribution | None, away: Contribution | None) -> Pull:
    """A feature's share for one class less that for another; what is not listed is next to none."""
    either = [each for each in (towards, away) if each is not None]
    share = (towards.share if towards else 0.0) - (away.share if away else 0.0)
    spread = None
    if either[0].variance is not None:
        spread = sqrt(sum((each.variance or 0.0) * each.value**2 for each in either))
    return Pull(either[0].feature, share, spread, either[0].places)


def _number_pulls(model: Any, row: Any, predicted: Any, true: Any) -> list[Pull]:
    features, values = row
    means, variances = model.model_.weights(features)
    classes = model.classes_.tolist()
    k = classes.index(predicted)
    shares = means[:, k] * values
    spread = None if variances is None else variances[:, k] * values**2
    if true in classes and len(classes) > 2:
        j = classes.index(true)
        shares = shares - means[:, j] * values
        if spread is not None and variances is not None:
            spread = spread + variances[:, j] * values**2
    return [
        Pull(str(feature), float(shares[i]), None if spread is None else sqrt(spread[i]))
        for i, feature in enumerate(features.tolist())
    ]
