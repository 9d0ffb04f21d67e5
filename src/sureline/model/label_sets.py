"""The fitted model of texts that have any number of labels each.

Its state has a column for every label, and a first one that belongs to none; `kernels.label_sets`
explains both. Labels are decided one by one: a text has those whose probability reaches the label's
threshold, a given one or the one that would have given the best F1 so far.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from sureline.data.label_sets import Form, LabelSets, in_form, without_labels
from sureline.errors import InvalidParameter
from sureline.features.rows import Rows
from sureline.kernels.calibration import (
    FARTHEST,
    HALF,
    INTERVALS,
    LOG_A,
    LOG_TAU,
    NO_TAU,
    SCALED,
    WEIGHT,
    B,
)
from sureline.model.arrivals import check_characters, check_label_kind, columns_of
from sureline.model.learner import Floats, Turn
from sureline.model.outcomes import label_sets, least_of, novelty_of
from sureline.model.predictions import Labels, Predictions
from sureline.model.scorer import Known, two_chances
from sureline.model.state import State
from sureline.model.text import TextModel

Threshold = Literal["f1", "micro-f1"] | float
SHRINKAGE = 5.0  # rows with a label that those of all labels together count for
EVEN = 0.5  # the threshold where nothing is known


class LabelSetModel(TextModel):
    """A linear classifier of texts with sets of labels.

    Attributes
    ----------
    threshold : float or {"f1", "micro-f1"}
        From which probability on a text has a label.
    form : {"sets", "dense", "sparse"}
        How labels were given first, and predictions are returned.
    """

    threshold: Threshold = "f1"
    form: Form = "sets"

    def fresh_state(self, features: int, classes: int) -> State:
        """A state that has learned nothing, for so many features and labels."""
        layout = self.learner.layout
        state = layout.allocate(features, classes + 1, self.memory_limit_gb, self.owner)
        state.wide, state.used = True, classes + 1
        return state

    # -- learning ------------------------------------------------------------------------------

    def encoded(self, y: Any, labels: Labels) -> Any:
        """The columns of each row's labels."""
        codes = np.zeros(y.labels.size, np.int64)
        if labels.size:
            codes = 1 + columns_of(y.labels, labels)
        return cast(LabelSets, y).coded(codes)

    def know(self, labels: Labels) -> None:
        """Know these labels, too, from now on."""
        if np.setdiff1d(labels, self.labels).size:
            empty = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, self.learner.dtype)
            nothing: Any = without_labels(1, labels)
            self.learn(Rows(*empty), nothing, np.zeros(1), classes=labels)

    def _learn_until_replaced(
        self,
        rows: Rows,
        y: Any,
        weight: Floats,
        classes: ArrayLike | None,
        features: int,
        turn: Turn,
        first: int,
    ) -> int:
        """As in `LearningMixin`; a label exists from the first row that shows it."""
        self.learner.check_learns(self.owner)
        labels, sets = self.labels, cast(LabelSets, y)
        if not labels.size:
            labels = sets.labels[:0] if classes is None else np.asarray(classes)[:0]
        named = np.setdiff1d(np.asarray(classes), labels) if classes is not None else labels[:0]
        if sets.labels.size:
            for known in (labels, named):
                check_label_kind(known, sets.labels, self.owner)
        check_characters(named, self.owner)
        kept = np.flatnonzero(weight > 0)
        known = _joined(labels, named)
        arrivals = _arrivals(known, sets[kept])
        new = np.array([label for _, label in arrivals], sets.labels.dtype)
        check_characters(new.tolist(), self.owner)
        limit, seen = self.memory_limit_gb, int(self.state.counts[2])
        every = _joined(known, new)
        self.learner.layout.check(features, every.size + 1, limit, self.owner)
        state = self.state.writeable().with_features(features, limit, self.owner)
        if every.size > labels.size:
            state = copy(state.with_columns(every.size + 1, limit, self.owner))
            state.used = max(state.used, known.size + 1)
            begun = [0] * named.size + [row for row, _ in arrivals]
            for column, row in enumerate(begun, 1 + labels.size):
                self.learner.begin_class(state, column, -1.0, seen + row)
        return self._learn_known(state, every, rows, y, weight, kept, turn, first)

    # -- scores --------------------------------------------------------------------------------

    def by_class(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Columns, on the last axis, in the order of ``classes``."""
        return columns[..., 1 + np.argsort(self.labels)]

    def combined(self, columns: NDArray[Any], sign: float) -> NDArray[Any]:
        """Columns by class."""
        return self.by_class(columns)

    def weights(self, features: NDArray[Any]) -> tuple[Floats, Floats | None]:
        """Means and variances of some features' weights, -1 for the intercept, by class."""
        rows = np.asarray(features) + 1
        means = self.coefficients(rows).astype(np.float64)
        return means, self.variances(rows).astype(np.float64)

    def _moments(self, rows: Rows) -> tuple[Floats, Floats, Known | None]:
        """Means and deviations of the scores of all labels, and how much of every row is known."""
        counted = np.empty((len(rows) if self.is_calibrated else 0, 3))
        means, deviations = self.learner.moments(self.state, rows, counted)
        known = Known(*counted.T) if self.is_calibrated else None
        return self.by_class(means), self.by_class(deviations), known

    def probabilities(self, mean: Floats, deviation: Floats, known: Known | None) -> Floats:
        """The probability of each label, from moments and what is known of the rows."""
        if known is None:
            return two_chances(mean.ravel(), deviation.ravel())[:, 1].reshape(mean.shape)
        state = self.state
        scores = mean
        if state.calibrator[SCALED]:
            intercepts = self.constant * self.by_class(self.learner.weights(state, FIRST_ROW))[0]
            part = np.where(known.part > 0.0, known.part, 1.0)[:, np.newaxis]
            scores = intercepts + (mean - intercepts) / np.sqrt(part)
        fits = self.by_class(state.fits.T)
        tau = np.where(fits[LOG_TAU] == NO_TAU, 0.0, np.exp(fits[LOG_TAU]))
        found = known.features[:, np.newaxis]
        g = found / np.where(found + tau > 0.0, found + tau, 1.0)
        having, total = self.class_rows, state.outcomes[0, 0]
        prior = np.log((having + HALF) / (np.maximum(total - having, 0.0) + HALF))
        odds = g * (np.exp(fits[LOG_A]) * scores + fits[B]) + (1.0 - g) * prior
        return np.asarray(expit(odds))

    @property
    def class_rows(self) -> Floats:
        """How many rows with each label were learned, where the model is calibrated."""
        return self.by_class(self.state.outcomes[0])

    def reported(self, scores: Floats) -> Floats:
        """Scores by class as they are reported: as they are."""
        return scores

    # -- predicting ----------------------------------------------------------------------------

    def thresholds(self) -> Floats:
        """From which probability on a text has each of the labels."""
        count = self.classes.size
        if isinstance(self.threshold, float | int):
            return np.full(count, float(self.threshold))
        if not self.is_calibrated:
            raise InvalidParameter(
                f"{self.owner}: threshold={self.threshold!r} is found from what the model predicted"
                " before it learned each text, which it keeps with calibration='online'; set that "
                "and fit again, or set threshold=0.5"
            )
        counts = self.state.outcomes[1:] / self.state.calibrator[WEIGHT]
        pooled = counts[:, :1] / max(float(counts[:INTERVALS, 0].sum()), 1e-9)
        if self.threshold == "micro-f1":
            return np.repeat(best_for_f1(counts[:, :1]), count)
        return best_for_f1(self.by_class(counts) + SHRINKAGE * pooled)

    def chosen(self, probabilities: Floats) -> NDArray[np.bool_]:
        """Which rows have which labels."""
        return np.asarray(probabilities >= self.thresholds())

    def predict(self, rows: Rows) -> Labels:
        """The labels of each row, as tuples."""
        chosen = self.chosen(self.predict_proba(rows))
        return np.asarray(in_form(chosen, self.classes, "sets"))

    def label_sets(
        self, probabilities: Floats, coverage: float, per_class: bool
    ) -> list[tuple[Any, ...]]:
        """The labels of every row that are probable enough, the most probable first."""
        counts = self.state.outcomes[1 : 1 + INTERVALS] / self.state.calibrator[WEIGHT]
        columns = self.by_class(counts).T if per_class else [counts[:, 0]] * self.classes.size
        least = np.array([least_of(each, coverage) for each in columns])
        return label_sets(probabilities, self.classes.tolist(), least)

    def predictions(self, rows: Rows) -> Predictions:
        """Sets of labels, how probable each set is, and the score of the most probable label."""
        mean, deviation, known = self._moments(rows)
        chances = self.probabilities(mean, deviation, known)
        chosen, every = self.chosen(chances), np.arange(len(rows))
        best = chances.argmax(axis=1) if chances.size else np.zeros(len(rows), np.intp)
        exact = np.where(chosen, chances, 1.0 - chances).prod(axis=1)
        novelty = None if known is None else novelty_of(self.state, known.unknown)
        label = in_form(chosen, self.classes, "sets")
        spread = np.square(deviation[every, best])
        return Predictions(label, exact, mean[every, best], spread, chances, novelty)


FIRST_ROW = np.zeros(1, np.int64)


def best_for_f1(counts: Floats) -> Floats:
    """For each column, the probability from which on F1 would have been best.

    `counts` has rows with the label by the interval of its log-odds, and then rows without it.
    """
    having = np.cumsum(counts[:INTERVALS][::-1], axis=0)  # from the most probable interval down
    lacking = np.cumsum(counts[INTERVALS:][::-1], axis=0)
    total = having[-1]
    f1 = 2.0 * having / np.maximum(having + lacking + total, 1e-300)
    place = f1.argmax(axis=0)
    odds = FARTHEST - (place + 1) * (2.0 * FARTHEST / INTERVALS)
    return np.where(total > 0.0, expit(odds), EVEN)


def _joined(some: Labels, more: Labels) -> Labels:
    """Labels and more of them; none have no type that the others would take."""
    return np.concatenate([some, more]) if some.size and more.size else more if more.size else some


def best_labels(probabilities: Floats, top: int) -> NDArray[np.bool_]:
    """The so many most probable labels of each row; of equal ones, the first."""
    chosen = np.zeros(probabilities.shape, np.bool_)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen


def _arrivals(known: Labels, sets: LabelSets) -> list[tuple[int, Any]]:
    """The labels of some rows that are not known, in order, each with its first row."""
    new = ~np.isin(sets.labels, known) if known.size else np.ones(sets.labels.size, np.bool_)
    places = np.flatnonzero(new[sets.codes])
    if not places.size:
        return []
    codes, first = np.unique(sets.codes[places], return_index=True)
    rows = np.searchsorted(sets.starts, places[first], side="right") - 1
    order = np.lexsort((codes, rows))
    return [(int(rows[k]), sets.labels[codes[k]]) for k in order.tolist()]
