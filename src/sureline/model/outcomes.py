"""What calibrated models said of rows before they learned them: prediction sets, and novelty.

In later passes a model has seen the rows, so that its scores are no longer those of unknown ones,
and the calibrator does not follow them. But weights, and with them scores, still grow, those of
unknown rows in proportion: `adjust_to_weights` divides a, the slope, by as much.

The counts are those of `kernels.calibration`. A prediction set has every class whose probability is
at least a threshold: the one that the asked share of rows, weighted towards recent ones, reached
with their own class before they were learned (split conformal prediction, on progressive scores in
place of a held-out part).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sureline.kernels.calibration import (
    FARTHEST,
    HIGH,
    INTERVALS,
    LOG_A,
    LOW,
    SCALE,
    WEIGHT,
)
from sureline.model.scorer import Scorer
from sureline.model.sparse_state import SparseState
from sureline.model.state import State

Floats = NDArray[np.float64]


def adjust_to_weights(scorer: Scorer, state: State, again: bool) -> None:
    """After a pass: note the size of the weights, and if rows were learned `again`, adjust a."""
    if state.layout.multilabel:
        _adjust_labels(scorer, state, again)
        return
    size = weight_size(scorer, state)
    before = float(state.calibrator[SCALE])
    if again and before > 0.0 and size > 0.0:
        slope = float(state.calibrator[LOG_A]) - np.log(size / before)
        state.calibrator[LOG_A] = min(max(slope, LOW), HIGH)
    state.calibrator[SCALE] = size


def _adjust_labels(scorer: Scorer, state: State, again: bool) -> None:
    """The same for every label by itself."""
    squares = np.square(scorer.weights(state)[1:].astype(np.float64))
    if state.layout.counted:
        rows = state.class_counts[1:, :1].astype(np.float64)
        squares *= np.square(rows - 1.0) / np.maximum(rows, 1.0)
    fits = state.fits[: state.used]
    size = np.sqrt(np.cumsum(squares, axis=0)[-1]) if len(squares) else np.zeros(state.used)
    some = (fits[:, SCALE] > 0.0) & (size > 0.0) & again
    slopes = fits[some, LOG_A] - np.log(size[some] / fits[some, SCALE])
    fits[some, LOG_A] = np.clip(slopes, LOW, HIGH)
    fits[:, SCALE] = size


def weight_size(scorer: Scorer, state: State) -> float:
    """How large the scores of unknown rows are, up to a factor: √(Σ_j n_j w_j²).

    n_j counts the rows with feature j where rows are counted; of a weight that one of them has
    learned, other rows know the part (n_j − 1)/n_j. Of many classes, the differences count.
    """
    if isinstance(state, SparseState):
        return scorer.pairs.weight_size(state)
    weights = scorer.weights(state)[1:].astype(np.float64)
    if state.wide:
        weights -= weights.mean(axis=1, keepdims=True)
    squares = np.square(weights).sum(axis=1)
    if state.layout.counted:
        rows = state.class_counts[1:, : state.classes].sum(axis=1, dtype=np.float64)
        squares *= np.square(rows - 1.0) / np.maximum(rows, 1.0)
    # One after the other: the sum must not depend on how many features there is capacity for.
    return float(np.sqrt(np.cumsum(squares)[-1])) if squares.size else 0.0


def thresholds(state: State, coverage: float, per_class: bool) -> Floats:
    """The least probability of each class of a state that puts it into a prediction set.

    Parameters
    ----------
    state : State
        The state of a calibrated model.
    coverage : float
        The share of rows whose own class should be in the set.
    per_class : bool
        Whether that is to hold for the rows of every class, or for all rows together.
    """
    counts = state.outcomes[1:, : state.classes] / state.calibrator[WEIGHT]
    if not per_class:
        return np.full(state.classes, least_of(counts.sum(axis=1), coverage))
    return np.array([least_of(of_class, coverage) for of_class in counts.T])


def least_of(counts: Floats, coverage: float) -> float:
    """The probability that a share of counted rows reached, interpolated within an interval.

    The row to come counts as one that reached nothing, so that few rows give large sets.
    """
    wanted = coverage * (counts.sum() + 1.0)
    reached = np.cumsum(counts[::-1])  # from the most probable down
    place = int(np.searchsorted(reached, wanted))
    if place >= reached.size:
        return 0.0
    before = reached[place - 1] if place else 0.0
    share = (wanted - before) / (reached[place] - before)
    odds = FARTHEST - (place + share) * (2.0 * FARTHEST / INTERVALS)
    return float(expit(odds)) if place + share < INTERVALS else 0.0


def label_sets(probabilities: Floats, classes: list[Any], least: Floats) -> list[tuple[Any, ...]]:
    """The classes of every row that are at least so probable, the most probable first."""
    order = np.argsort(-probabilities, axis=1, kind="stable").tolist()
    chosen = (probabilities >= least[: len(classes)]).tolist()
    return [
        tuple(classes[k] for k in ranked if row[k])
        for ranked, row in zip(order, chosen, strict=True)
    ]


def novelty_of(state: State, unknown: Floats) -> Floats:
    """The share of learned rows that had less unknown in them, before they were learned.

    Parameters
    ----------
    state : State
        The state of a calibrated model.
    unknown : array of shape (n_samples,)
        The share of each row that is unknown.
    """
    counts = state.novelty
    total = counts.sum()
    if total == 0.0:
        return np.ones(unknown.size)
    below = np.concatenate([[0.0], np.cumsum(counts)]) / total
    place = np.minimum((unknown * INTERVALS).astype(np.intp), INTERVALS - 1)
    within = np.clip(unknown * INTERVALS - place, 0.0, 1.0)
    rank: Floats = below[place] + within * (below[place + 1] - below[place])
    return np.minimum(rank, 1.0)
