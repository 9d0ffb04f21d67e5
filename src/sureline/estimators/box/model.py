"""The boxes of a fitted classifier, with the methods by which a linear model is read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sureline.estimators.box.solver import spread
from sureline.estimators.box.state import Floats
from sureline.features.rows import Rows
from sureline.kernels.box.probability import DEVIATE, SHARE
from sureline.model.learner import chances
from sureline.model.predictions import Labels, Predictions, reported, winners

# Rows of up to so many features have their probability from the integral; so have wider ones in
# which fewer than ENOUGH features, in effect, share the variance.
KEPT = 32
ENOUGH = 64.0


@dataclass(frozen=True)
class BoxModel:
    """The boxes of all classes, read by commands and reports as a `LinearModel` is.

    `boxes` has one per problem, with the interval of the constant feature first; `unknown` is the
    interval of a feature that no example has had: its centre is 0 and its width the largest.
    """

    classes: Labels
    boxes: Floats
    constant: float
    unknown: tuple[float, float]
    dtype: str

    has_variance = True

    @property
    def n_features(self) -> int:
        """How many features there are, the constant one aside."""
        return int(self.boxes.shape[1]) - 1

    def padded(self, features: int) -> BoxModel:
        """The model, or a copy with at least so many features; new ones are unknown."""
        new = features - self.n_features
        if new <= 0:
            return self
        widest = np.broadcast_to(self.unknown, (len(self.boxes), new, 2))
        return replace(self, boxes=np.concatenate([self.boxes, widest], axis=1))

    # -- predicting ----------------------------------------------------------------------------

    def weighted(self, rows: Rows) -> Rows:
        """Rows as they are scored: as they are."""
        return rows

    def predict(self, rows: Rows) -> Labels:
        """The label of the highest score of each row, at the centre of the box."""
        means, _ = spread(rows, self.boxes, self.constant)
        if self.classes.size == 1:
            return np.repeat(self.classes, len(means))
        return np.asarray(self.classes[winners(means)])

    def predict_proba(self, rows: Rows) -> Floats:
        """The probability of each class under a weight vector drawn from the box."""
        if self.classes.size == 1:
            return np.ones((len(rows), 1))
        if len(self.boxes) == 1:
            second = self.shares(rows, KEPT)
            return np.column_stack([1.0 - second, second])
        means, _ = spread(rows, self.boxes, self.constant)
        return chances(means, self.deviations(rows))

    def predictions(self, rows: Rows) -> Predictions:
        """Labels with probabilities, margins and variances."""
        means, _ = spread(rows, self.boxes, self.constant)
        mean, deviation = reported(means), reported(self.deviations(rows))
        chance, every = self.predict_proba(rows), np.arange(len(rows))
        best = np.zeros(every.size, np.intp) if self.classes.size == 1 else winners(means)
        margin, spread_ = np.abs(mean), deviation
        if mean.ndim == 2:
            margin, spread_ = mean[every, best], deviation[every, best]
        label = self.classes[best]
        return Predictions(label, chance[every, best], margin, np.square(spread_), chance)

    def shares(self, rows: Rows, kept: int) -> Floats:
        """The share of the box that scores each row above zero."""
        out, widths, top = np.empty(len(rows)), np.empty(rows.longest + 1), np.empty(kept + 1)
        SHARE.loop(self.dtype)(rows, self.boxes[0], self.constant, kept, ENOUGH, widths, top, out)
        return out

    def deviations(self, rows: Rows) -> Floats:
        """The standard deviations of the scores, by class."""
        out = np.empty((len(rows), len(self.boxes)))
        DEVIATE.loop(self.dtype)(rows, self.boxes, self.constant, out)
        return out

    # -- what was learned ----------------------------------------------------------------------

    def weights(self, features: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Centres and variances of some features' weights, -1 for the intercept, by class.

        Of two classes, the first has the second's centre with its sign turned.
        """
        chosen = self.boxes[:, np.asarray(features) + 1]
        means, variances = chosen[..., 0].T, np.square(chosen[..., 1].T) / 3.0
        if len(self.boxes) == 1:
            means = np.column_stack([-means, means][-self.classes.size :])
            variances = np.repeat(variances, self.classes.size, axis=1)
        return means, variances

    def name(self, feature: int) -> str:
        """The name of a feature: its number."""
        return str(feature)
