"""What an explanation of a prediction consists of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Telling:
    """A feature, its weight for a class and how unsure the model is of it.

    `variance` is None for rules that keep none.
    """

    feature: str
    weight: float
    variance: float | None


@dataclass(frozen=True)
class Share(Telling):
    """A feature of a text and what it adds to a score: its weight times its value there.

    `places` are the first and the last + 1 character of every run of words that is the feature;
    there are none for characters.
    """

    value: float
    share: float
    places: tuple[tuple[int, int], ...] = ()


def spread_over_words(
    starts: Sequence[int], shares: Iterable[tuple[float, bool, Sequence[tuple[int, int]]]]
) -> tuple[list[float], list[bool]]:
    """What each word of a text adds, and whether most of that is unsure.

    The share of a feature that occurs several times is split evenly between its places, and that
    of several words evenly between these.

    Parameters
    ----------
    starts : sequence of int
        The first character of each word, in order.
    shares : iterable of tuples
        Of each feature, what it adds, whether that is unsure, and its places.
    """
    parts, sure, unsure = ([0.0] * len(starts) for _ in range(3))
    for share, doubtful, places in shares:
        for start, stop in places:
            inside = range(bisect_left(starts, start), bisect_left(starts, stop))
            for k in inside:
                part = share / (len(inside) * len(places))
                parts[k] += part
                (unsure if doubtful else sure)[k] += abs(part)
    return parts, [bad > good for good, bad in zip(sure, unsure, strict=True)]


@dataclass(frozen=True)
class Reasons:
    """Where a class's score comes from: the constant, the most telling features, and the rest."""

    score: float
    variance: float | None
    constant: float
    features: tuple[Share, ...]
    rest: float


@dataclass(frozen=True)
class Explanation:
    """Why a text was given a label.

    Of two classes, each has the whole score, the first with its sign turned.
    """

    text: str
    label: Any
    probability: float | None
    classes: dict[Any, Reasons]

    def __str__(self) -> str:
        """The reasons for the label, as a table."""

        def told(number: float) -> str:  # adding 0 turns a negative zero into a positive one
            return f"{round(number, 4) + 0.0:+.4f}"

        sure = "" if self.probability is None else f" (probability {self.probability:.3f})"
        reasons = self.classes[self.label]
        lines = [f"{self.label}{sure}, score {told(reasons.score)}"]
        for each in reasons.features:
            spread = "" if each.variance is None else f" ± {each.variance**0.5:.4f}"
            lines.append(
                f"  {told(each.share)}  {each.feature}  (weight {told(each.weight)}{spread})"
            )
        lines.append(f"  {told(reasons.rest)}  other features")
        lines.append(f"  {told(reasons.constant)}  constant")
        return "\n".join(lines)


def surely(weights: NDArray[Any], deviations: NDArray[Any]) -> NDArray[Any]:
    """How surely weights speak for something: the least they may be, if that is above 0.

    Others are ordered by how many deviations they are from it, so that a weight of nothing does not
    come first because it is known well.
    """
    least = weights - deviations
    return np.asarray(np.where(least > 0.0, least, weights / deviations - 1.0))
