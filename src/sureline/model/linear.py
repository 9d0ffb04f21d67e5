"""The fitted linear model: state, learner and labels behind one read-write lock.

Everything above uses this class: estimators, command line, Spark, reports and merging. Columns of
the state are in order of arrival; results are in the order of ``classes``, the sorted labels. Two
classes are always reported as one score for the second, whether they share a column or not.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter, show
from sureline.features.rows import Rows
from sureline.kernels.compiling import defer_signals
from sureline.model.drift import Monitor
from sureline.model.learner import Floats, Learner, chances
from sureline.model.learning import LearningMixin
from sureline.model.lock import ReadWriteLock
from sureline.model.outcomes import label_sets, novelty_of, thresholds
from sureline.model.predictions import Counts, Labels, Predictions, reported, winners
from sureline.model.scorer import Known, two_chances
from sureline.model.sparse_state import SparseState, fresh_sparse_state
from sureline.model.state import State

INTERCEPT = np.zeros(1, np.int64)  # the row of the constant feature
NO_LABELS: Labels = np.zeros(0, np.int64)


class LinearModel(LearningMixin):
    """A linear classifier of sparse rows that learns online and keeps its uncertainty.

    Parameters
    ----------
    learner : Learner
        The rule with its constants, covariance and scheme.
    memory_limit_gb : float
        The most memory the state may take.
    owner : str
        The class that error messages name.

    Attributes
    ----------
    state : State
        The learned arrays.
    labels : array
        The label of each column of the state, in order of arrival; empty before the first.
    classes : array
        The labels, sorted.
    lock : ReadWriteLock
        Readers take ``lock.read()``; learning takes ``lock.write()`` in short chunks.
    monitor : Monitor or None
        Watches for change in the stream that is learned, if anything does.
    """

    def __init__(self, learner: Learner, memory_limit_gb: float, owner: str) -> None:
        self.learner, self.memory_limit_gb, self.owner = learner, memory_limit_gb, owner
        self.state = self.fresh_state(0, 0)
        self.labels = self.classes = NO_LABELS
        self.lock = ReadWriteLock()
        self.monitor: Monitor | None = None

    def fresh_state(self, features: int, classes: int) -> State:
        """A state that has learned nothing, for so many features and classes."""
        columns = classes if classes > 2 else 1
        layout = self.learner.layout
        if classes > self.learner.most_dense:
            return fresh_sparse_state(layout, features, classes, self.memory_limit_gb)
        state = layout.allocate(features, columns, self.memory_limit_gb, self.owner)
        state.wide, state.used = classes > 2, columns
        return state

    def on(self, state: State, labels: Labels | None = None) -> Self:
        """A model of the same kind on another state, with the same labels unless others are given.

        It has a lock of its own, and nothing watches it for change.
        """
        model = copy(self)
        model.state, model.lock, model.monitor = state, ReadWriteLock(), None
        if labels is not None:
            model.labels, model.classes = labels, np.sort(labels)
        return model

    def fresh(self) -> Self:
        """A model with the same classes and features that has learned nothing."""
        labels = self.labels if self.labels.size > 2 else self.classes
        return self.on(self.fresh_state(self.state.features, labels.size), labels)

    def padded(self, features: int) -> Self:
        """The model, or a copy with capacity for at least so many features.

        Unknown features count as in a model that has learned nothing: they move no score and make
        it less certain.
        """
        if features <= self.state.features:
            return self
        return self.on(self.state.resized(features, self.memory_limit_gb, self.owner))

    @property
    def constant(self) -> float:
        """The value of the constant feature: 1, or 0 without an intercept."""
        return self.learner.constant

    @property
    def fitted(self) -> bool:
        """Whether at least one class is known."""
        return self.labels.size > 0

    @property
    def has_variance(self) -> bool:
        """Whether the rule keeps a variance for every weight."""
        return self.learner.has_variance

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities are calibrated."""
        return self.learner.calibrated

    @property
    def n_features(self) -> int:
        """How many features have been seen, or have capacity."""
        return self.state.features

    @property
    def counts(self) -> Counts:
        """How many examples were learned, changed the model, and were wrong just before."""
        updates, mistakes, seen = self.state.counts.tolist()
        return Counts(seen, updates, mistakes)

    # -- classes and features -------------------------------------------------------------------

    def forget(self, label: Any) -> None:
        """Remove a class and all that was learned of it alone."""
        if label not in self.classes.tolist():
            raise InvalidParameter(
                f"{self.owner}: there is no class {show(label)} to forget; there are "
                f"{', '.join(map(repr, self.classes.tolist()))}"
            )
        if self.classes.size == 1:
            raise InvalidParameter(
                f"{self.owner}: the last class, {show(label)}, cannot be forgotten"
            )
        with self.lock.learning:
            state = self.state
            if self.monitor is not None:
                self.monitor.clear()
            if not state.wide:
                state = self.learner.widen(state, self.memory_limit_gb, self.owner)
            place = self.labels.tolist().index(label)
            pooled = int(self.learner.multilabel)
            rest = state.without(place + pooled), np.delete(self.labels, place)
            with defer_signals(), self.lock.write():
                self.publish(*rest)

    def trim(self, features: int) -> None:
        """Give back the memory reserved for features beyond so many."""
        if self.state.features > features:
            with self.lock.write():
                self.state = self.state.trimmed(features).copy()

    # -- predicting ----------------------------------------------------------------------------

    def weighted(self, rows: Rows) -> Rows:
        """Rows as they are scored: scaled by inverse document frequencies, if they are."""
        return self.learner.weighted(self.state, rows)

    def scores(self, rows: Rows) -> Floats:
        """The mean scores by class; where two classes share a column, that of the second."""
        return self.by_class(self.learner.scores(self.state, rows))

    def reported(self, scores: Floats) -> Floats:
        """Scores by class as they are reported."""
        return reported(scores)

    def predict(self, rows: Rows) -> Labels:
        """The label of the highest mean score of each row."""
        if self.classes.size == 1:
            return np.repeat(self.classes, len(rows))
        return np.asarray(self.classes[winners(self.scores(rows))])

    def moments(self, rows: Rows) -> tuple[Floats, Floats]:
        """The means and standard deviations of scores, of shape (n,) or (n, n_classes)."""
        return self._moments(rows)[:2]

    def _moments(self, rows: Rows) -> tuple[Floats, Floats, Known | None]:
        """The same, and how much of every row is known, if the model is calibrated."""
        counted = np.empty((len(rows) if self.is_calibrated else 0, 3))
        means, deviations = self.learner.moments(self.state, rows, counted)
        deviation = self.by_class(deviations)
        if deviation.shape[1] == 2:
            deviation = np.hypot(deviation[:, :1], deviation[:, 1:])
        spread = deviation[:, 0] if deviation.shape[1] == 1 else deviation
        known = Known(*counted.T) if self.is_calibrated else None
        return reported(self.by_class(means)), spread, known

    def predict_proba(self, rows: Rows) -> Floats:
        """The probability of each class for each row."""
        state = self.state
        if self.is_calibrated and isinstance(state, SparseState):
            return self.probabilities(*self._scores_and_known(state, rows))
        return self.probabilities(*self._moments(rows))

    def _scores_and_known(self, state: SparseState, rows: Rows) -> tuple[Floats, Floats, Known]:
        """The mean scores by class, twice, and how much of every row is known."""
        counted = np.empty((len(rows), 3))
        scores = self.learner.pairs.scores(state, self.weighted(rows), counted)
        means = self.by_class(scores)
        return means, means, Known(*counted.T)

    def probabilities(self, mean: Floats, deviation: Floats, known: Known | None) -> Floats:
        """The probability of each class, from moments and what is known of the rows."""
        if known is None or self.classes.size == 1:
            return self.win_probabilities(mean, deviation)
        scores = mean if mean.ndim == 2 else np.column_stack([-mean, mean])
        intercept = self.constant * self.coefficients(INTERCEPT)[0].astype(np.float64)
        intercepts = intercept if intercept.size > 1 else np.concatenate([-intercept, intercept])
        return self.learner.calibrate(self.state, scores, intercepts, known, self.class_rows)

    def label_sets(
        self, probabilities: Floats, coverage: float, per_class: bool
    ) -> list[tuple[Any, ...]]:
        """The labels of every row that are probable enough, the most probable first."""
        least = self.by_class(thresholds(self.state, coverage, per_class))
        return label_sets(probabilities, self.classes.tolist(), least)

    @property
    def class_rows(self) -> Floats:
        """How many rows of each class were learned, where the model is calibrated."""
        return self.by_class(self.state.outcomes[0, : self.classes.size])

    def win_probabilities(self, mean: Floats, deviation: Floats) -> Floats:
        """The probability of each class to have the highest score, by quadrature."""
        if self.classes.size == 1:
            return np.ones((len(mean), 1))
        return chances(mean, deviation) if mean.ndim == 2 else two_chances(mean, deviation)

    def predictions(self, rows: Rows) -> Predictions:
        """Labels with probabilities, margins and variances."""
        count, every = self.classes.size, np.arange(len(rows))
        deviation = known = None
        state = self.state
        if self.is_calibrated and isinstance(state, SparseState):
            mean, deviation, known = self._scores_and_known(state, rows)
            columns = np.argsort(self.labels)[winners(mean)]
            spread = self.learner.pairs.spread(state, self.weighted(rows), columns)
            deviation = np.repeat(spread[:, np.newaxis], count, axis=1) if count > 2 else spread
        elif self.has_variance:
            mean, deviation, known = self._moments(rows)
        else:
            mean = reported(self.scores(rows))
        best = np.zeros(every.size, np.intp) if count == 1 else winners(mean)
        margin = mean[every, best] if count > 2 else np.abs(mean) if count == 2 else mean
        label = self.classes[best]
        if deviation is None:
            return Predictions(label, None, margin, None, None)
        chance = self.probabilities(mean, deviation, known)
        spread = deviation[every, best] if count > 2 else deviation
        novelty = None if known is None else novelty_of(self.state, known.unknown)
        return Predictions(label, chance[every, best], margin, np.square(spread), chance, novelty)

    # -- what was learned ----------------------------------------------------------------------

    def by_class(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Columns, on the last axis, in the order of ``classes``."""
        return columns[..., np.argsort(self.labels)] if self.state.wide else columns

    def combined(self, columns: NDArray[Any], sign: float) -> NDArray[Any]:
        """Columns by class; of two, the second plus `sign` times the first."""
        columns = self.by_class(columns)
        if columns.shape[-1] != 2:
            return columns
        return np.asarray(columns[..., 1:] + np.asarray(sign, columns.dtype) * columns[..., :1])

    def coefficients(self, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The means of the weights in some rows of the table or all; row 0 is the intercept's."""
        return self.combined(self.learner.weights(self.state, rows), -1.0)

    def variances(self, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The variances of the weights, as `coefficients` gives the means."""
        return self.combined(self.learner.variances(self.state, rows), 1.0)

    def weights(self, features: NDArray[Any]) -> tuple[Floats, Floats | None]:
        """Means and variances of some features' weights, -1 for the intercept, by class.

        Of two classes, the first has the second's mean with its sign turned. Rules without
        variances give None for them.
        """
        rows = np.asarray(features) + 1
        means = self.coefficients(rows).astype(np.float64)
        variances = self.variances(rows).astype(np.float64) if self.has_variance else None
        if self.classes.size == 2:
            means = np.column_stack([-means[:, 0], means[:, 0]])
            variances = None if variances is None else np.repeat(variances, 2, axis=1)
        return means, variances

    def name(self, feature: int) -> str:
        """The name of a feature: its number, where rows are numbers."""
        return str(feature)
