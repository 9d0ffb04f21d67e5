"""Explanations of predictions: what each feature adds to each class's score."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError
from sureline.features.rows import Rows


@dataclass(frozen=True)
class FeatureWeight:
    """A feature, its weight for a class and the weight's variance.

    `variance` is None for rules that keep none.
    """

    feature: str
    weight: float
    variance: float | None


@dataclass(frozen=True)
class Contribution(FeatureWeight):
    """What a feature of a text adds to a score: its weight times its value there.

    `places` are the first and the last + 1 character of every occurrence of the feature's words;
    character n-grams have none.
    """

    value: float
    share: float
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ClassExplanation:
    """A class's probability, and where its score comes from: intercept, top features, the rest."""

    probability: float | None
    score: float
    variance: float | None
    constant: float
    features: tuple[Contribution, ...]
    rest: float


@dataclass(frozen=True)
class Explanation:
    """Why a text was given a label.

    Of two classes, each has the whole score, the first with its sign turned. Where texts have
    several labels, `label` is the most probable one and `labels` those that were predicted.
    """

    text: str
    label: Any
    probability: float | None
    classes: dict[Any, ClassExplanation]
    labels: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        """The contributions to the label's score, as a table."""

        def signed(number: float) -> str:  # adding 0 turns a negative zero into a positive one
            return f"{round(number, 4) + 0.0:+.4f}"

        chance = "" if self.probability is None else f" (probability {self.probability:.3f})"
        chosen = self.classes[self.label]
        lines = [f"{self.label}{chance}, score {signed(chosen.score)}"]
        for each in chosen.features:
            spread = "" if each.variance is None else f" ± {each.variance**0.5:.4f}"
            lines.append(
                f"  {signed(each.share)}  {each.feature}  (weight {signed(each.weight)}{spread})"
            )
        lines.append(f"  {signed(chosen.rest)}  other features")
        lines.append(f"  {signed(chosen.constant)}  constant")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The text with its words marked, and the contributions, for notebooks."""
        chosen = self.classes[self.label]
        features = [each for each in chosen.features if each.share]
        strongest = max((abs(each.share) for each in features), default=1.0)
        chance = "" if self.probability is None else f" (probability {self.probability:.3f})"
        rows = [
            f"<tr><td style='text-align:right'>{each.share:+.4f}</td>"
            f"<td style='text-align:left;background:{_colour(each.share / strongest)}'>"
            f"{escape(each.feature)}</td></tr>"
            for each in features
        ]
        others = (("other features", chosen.rest), ("constant", chosen.constant))
        rows += [
            f"<tr><td style='text-align:right'>{share:+.4f}</td>"
            f"<td style='text-align:left'><i>{name}</i></td></tr>"
            for name, share in others
        ]
        return (
            f"<div><p><b>{escape(str(self.label))}</b>{chance}, score {chosen.score:+.4f}</p>"
            f"<p style='white-space:pre-wrap'>{_marked(self.text, features, strongest)}</p>"
            f"<table>{''.join(rows)}</table></div>"
        )


def _colour(strength: float) -> str:
    """Blue for what speaks for the label, orange for what speaks against it."""
    hue = "31, 119, 180" if strength > 0 else "255, 127, 14"
    return f"rgba({hue}, {0.6 * min(abs(strength), 1.0):.2f})"


def _marked(text: str, features: Sequence[Contribution], strongest: float) -> str:
    """A text as HTML, each word coloured by what it adds, as `features` say."""
    places = sorted({place for each in features for place in each.places})
    starts = sorted({start for start, _ in places})
    ends = {start: min(stop for begin, stop in places if begin == start) for start in starts}
    shares, _ = spread_over_words(starts, ((each.share, False, each.places) for each in features))
    parts, reached = list[str](), 0
    for start, share in zip(starts, shares, strict=True):
        if start < reached:
            continue
        word = f"<span style='background:{_colour(share / strongest)}'>"
        parts += [escape(text[reached:start]), word, escape(text[start : ends[start]]), "</span>"]
        reached = ends[start]
    return "".join([*parts, escape(text[reached:])])


def explain_row(
    model: Any,
    rows: Rows,
    names: Sequence[str],
    top: int,
    text: str = "",
    places: dict[str, tuple[tuple[int, int], ...]] | None = None,
) -> Explanation:
    """What each feature of one row adds to each class's score.

    The model is a `LinearModel`, or one that is read like it. `names` are those of the row's
    features; per class, the `top` ones that add or subtract most are listed. Where the row comes
    from a `text`, `places` has where in it each feature occurs.
    """
    weighted = model.weighted(rows)
    size = int(rows.indptr[1])
    indices, values = rows.indices[:size], weighted.data[:size].astype(np.float64)
    means, variances = model.weights(indices)
    start, start_variance = model.weights(np.array([-1]))
    if not np.isfinite(means * values[:, np.newaxis]).all():
        raise DataError("the model's weights are too large to explain a row by them; train it anew")
    constant, classes = model.constant, model.classes.tolist()
    label, labels = model.predict(rows).tolist()[0], None
    probabilities: list[Any] = [None] * len(classes)
    if model.has_variance:
        probabilities = model.predict_proba(rows)[0].tolist()
    if getattr(getattr(model, "learner", None), "multilabel", False):  # a box has no learner
        labels, label = label, classes[int(np.argmax(probabilities))]
    explained = dict[Any, ClassExplanation]()
    for k, name in enumerate(classes):
        shares = means[:, k] * values
        order = np.argsort(-np.abs(shares), kind="stable")[:top]
        features = tuple(
            Contribution(
                names[j],
                float(means[j, k]),
                None if variances is None else float(variances[j, k]),
                float(values[j]),
                float(shares[j]),
                (places or {}).get(names[j], ()),
            )
            for j in order
        )
        variance = None
        if variances is not None and start_variance is not None:
            spread = variances[:, k] @ values**2
            variance = float(spread + start_variance[0, k] * constant)
        begin = float(start[0, k]) * constant
        explained[name] = ClassExplanation(
            probability=probabilities[k],
            score=float(shares.sum() + begin),
            variance=variance,
            constant=begin,
            features=features,
            rest=float(shares.sum() - shares[order].sum()),
        )
    return Explanation(text, label, explained[label].probability, explained, labels)


def spread_over_words(
    starts: Sequence[int], shares: Iterable[tuple[float, bool, Sequence[tuple[int, int]]]]
) -> tuple[list[float], list[bool]]:
    """What each word of a text adds, and whether most of that is uncertain.

    `starts` has the first character of each word, in order; `shares` of each feature what it adds,
    whether that is uncertain, and where it occurs. The share of a feature that occurs several times
    is split evenly between its occurrences, and that of an n-gram evenly between its words.
    """
    parts, certain, uncertain = ([0.0] * len(starts) for _ in range(3))
    for share, doubtful, places in shares:
        for start, stop in places:
            inside = range(bisect_left(starts, start), bisect_left(starts, stop))
            for k in inside:
                part = share / (len(inside) * len(places))
                parts[k] += part
                (uncertain if doubtful else certain)[k] += abs(part)
    return parts, [bad > good for good, bad in zip(certain, uncertain, strict=True)]


def lower_bound(weights: NDArray[Any], deviations: NDArray[Any]) -> NDArray[Any]:
    """Weights less one standard deviation, as a ranking of how certainly they are positive.

    Those whose bound is not above 0 are ranked by their number of deviations from 0, so that a
    weight of nearly nothing does not come first because it is well known.
    """
    least = weights - deviations
    return np.asarray(np.where(least > 0.0, least, weights / deviations - 1.0))
