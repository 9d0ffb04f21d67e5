"""What a model predicts and has counted, and how scores become labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[Any]


class Counts(NamedTuple):
    """How many examples were learned, changed the model, and were wrong just before."""

    seen: int = 0
    updates: int = 0
    mistakes: int = 0


class Predictions(NamedTuple):
    """What a model predicts for some rows: the class of the highest mean score, and how certain.

    `margin` is the mean score of that class; of two classes, by how much it leads. `probabilities`
    has a column for every class, in the order of ``classes``. Where the rule keeps no variances,
    there are no probabilities either. `novelty` is the share of training rows that were less
    unlike what the model knew before it learned them; calibrated models have it.
    """

    label: Labels
    probability: Floats | None
    margin: Floats
    variance: Floats | None
    probabilities: Floats | None
    novelty: Floats | None = None


class Prediction(NamedTuple):
    """What a model predicts for one text; see `Predictions`.

    `probabilities` are by label; `label` is None where the model abstains.
    """

    label: Any
    probability: float | None
    margin: float
    variance: float | None
    probabilities: dict[Any, float] | None
    novelty: float | None


def join_predictions(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of several chunks of rows, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*parts, strict=True)
    return Predictions(
        *(None if some[0] is None else np.concatenate(some) for some in columns)  # type: ignore[arg-type]
    )


def winners(scores: Floats) -> NDArray[np.intp]:
    """The class of the highest score in each row, as reported or by class; the first of equals."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        return (scores.reshape(-1) > 0).astype(np.intp)
    return np.asarray(np.argmax(scores, axis=1))


def reported(scores: Floats) -> Floats:
    """Scores as they are reported: one per row for one or two classes."""
    if scores.shape[1] == 2:
        return scores[:, 1] - scores[:, 0]
    return scores[:, 0] if scores.shape[1] == 1 else scores
