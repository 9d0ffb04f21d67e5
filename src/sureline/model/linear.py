"""The fitted linear model: state, learner and labels behind one read-write lock.

Everything above uses this class: estimators, command line, Spark, reports and merging. Columns of
the state are in order of arrival; results are in the order of ``classes``, the sorted labels. Two
classes are always reported as one score for the second, whether they share a column or not.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sureline.errors import DataError, InvalidParameter, show
from sureline.features.rows import Rows
from sureline.model.arrivals import (
    check_characters,
    check_label_kind,
    columns_of,
    find_arrivals,
)
from sureline.model.learner import NEW, Examples, Floats, Integers, Learner, Turn, chances
from sureline.model.lock import ReadWriteLock
from sureline.model.outcomes import adjust_to_weights, label_sets, novelty_of, thresholds
from sureline.model.predictions import Counts, Labels, Predictions, reported, winners
from sureline.model.scorer import Known, two_chances
from sureline.model.state import State

# How many nonzeros of two classes are learned or scored in about a millisecond.
NONZEROS_PER_CHUNK = 2.0**15
INTERCEPT = np.zeros(1, np.int64)  # the row of the constant feature
NO_LABELS: Labels = np.zeros(0, np.int64)


class LinearModel:
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
    """

    def __init__(self, learner: Learner, memory_limit_gb: float, owner: str) -> None:
        self.learner, self.memory_limit_gb, self.owner = learner, memory_limit_gb, owner
        self.state = self.fresh_state(0, 0)
        self.labels = self.classes = NO_LABELS
        self.lock = ReadWriteLock()

    def fresh_state(self, features: int, classes: int) -> State:
        """A state that has learned nothing, for so many features and classes."""
        columns = classes if classes > 2 else 1
        layout = self.learner.layout
        state = layout.allocate(features, columns, self.memory_limit_gb, self.owner)
        state.wide, state.used = classes > 2, columns
        return state

    def on(self, state: State, labels: Labels | None = None) -> Self:
        """A model of the same kind on another state, with the same labels unless others are given.

        It has a lock of its own.
        """
        model = copy(self)
        model.state, model.lock = state, ReadWriteLock()
        if labels is not None:
            model.labels, model.classes = labels, np.sort(labels)
        return model

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

    # -- learning ------------------------------------------------------------------------------

    def publish(self, state: State, labels: Labels) -> None:
        """Make a state and the labels of its columns the current ones; within a write."""
        self.state = state
        if not np.array_equal(self.labels, labels):
            self.labels, self.classes = labels, np.sort(labels)

    def learn(
        self,
        rows: Rows,
        y: Labels,
        weight: Floats,
        classes: ArrayLike | None = None,
        features: int = 0,
        turn: Turn = NEW,
    ) -> None:
        """Learn rows in order, in chunks between which others may predict.

        Parameters
        ----------
        rows : Rows
            The examples.
        y : array of shape (n,)
            Their labels. A class exists from the first row with a weight above 0 that shows it.
        weight : float64 array of shape (n,)
            How much each row counts; 0 leaves it out.
        classes : array, default=None
            Labels to know beforehand.
        features : int, default=0
            The capacity for features that is needed.
        turn : Turn, default=NEW
            Whether the rows were counted or learned before, and whether they are learned now.
        """
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            wrong = y[y != np.floor(y)].tolist()[0]
            raise DataError(f"Unknown label type: continuous numbers such as {wrong!r}")
        self.learner.check_learns(self.owner)
        labels = self.labels if self.fitted else y[:0]
        named = np.setdiff1d(np.asarray(classes), labels) if classes is not None else labels[:0]
        for known in (labels, named):
            check_label_kind(known, y, self.owner)
        check_characters(named, self.owner)
        state = self.state.writeable() if self.fitted else self.fresh_state(features, 0)
        kept = np.flatnonzero(weight > 0)
        arrivals = find_arrivals(np.concatenate([labels, named]), y[kept])
        check_characters([label for _, each in arrivals for label in each.tolist()], self.owner)
        # Refused before anything is learned.
        limit, total = self.memory_limit_gb, labels.size + named.size + len(arrivals)
        columns = total if total > 2 else 1
        self.learner.layout.check(features, columns, limit, self.owner)
        state = state.with_features(features, limit, self.owner)
        begin, late = 0, None
        coming = [*((0, named[k : k + 1]) for k in range(named.size)), *arrivals]
        beforehand = labels.size + named.size
        while coming and not state.wide:  # up to the third, each class changes how to learn
            row, label = coming[0]
            self._learn_known(state, labels, rows, y, weight, kept[begin:row], turn, late)
            begin, late = row, None
            if labels.size == 2:
                state = self.learner.widen(state, limit, self.owner)
                break
            labels = np.sort(np.concatenate([labels, label]))
            if labels.size == 2:
                swapped = labels[1] != label
                if swapped:
                    state.swap()
                late = (1.0 if swapped else -1.0), int(state.counts[2])
            # The first label of a stream could not be predicted.
            state.counts[1] += labels.size == 1 and named.size == 0
            del coming[0]
        before = labels.size
        labels = np.concatenate([labels, *(label for _, label in coming)])
        if state.wide:
            # Other classes begin with the row that shows them.
            state.used = max(state.used, beforehand)
            state = state.with_columns(labels.size, limit, self.owner)
            for column, (row, _) in enumerate(coming, before):
                self.learner.begin_class(state, column, -1.0, int(state.counts[2]) + row - begin)
        self._learn_known(state, labels, rows, y, weight, kept[begin:], turn, late)

    def _learn_known(
        self,
        state: State,
        labels: Labels,
        rows: Rows,
        y: Labels,
        weight: Floats,
        kept: Integers,
        turn: Turn,
        late: tuple[float, int] | None = None,
    ) -> None:
        """Learn the `kept` rows, all of whose labels are among `labels`, in order.

        `late` is what the second class begins with, together with its first row: nobody may see the
        one without the other.
        """
        if not labels.size:
            return
        if not state.wide and labels.size < 2:  # one class: nothing to separate
            with self.lock.write():
                state.clock += kept.size
                state.counts[2] += kept.size
                if not turn.counted:
                    self.learner.count(state, rows, np.zeros(y.size, np.int64), kept)
                if self.learner.calibrated and not turn.learned:
                    state.outcomes[0, 0] += kept.size
                self.publish(state, labels)
            return
        rank = np.empty(labels.size, np.int64)
        rank[np.argsort(labels)] = np.arange(labels.size)
        codes = columns_of(y, labels)
        for chunk in rows.chunks(self.chunk_size(state)):
            begin, stop = np.searchsorted(kept, [chunk.start, chunk.stop])
            order = kept[begin:stop] - chunk.start
            part = rows.part(chunk.start, chunk.stop)
            with self.lock.write():
                if late is not None and (order.size or chunk.stop == len(rows)):
                    self.learner.begin_class(state, 0, *late)
                    late = None
                if turn.learning:
                    some = Examples(part, codes[chunk], weight[chunk], order, rank, chunk.start)
                    self.learner.learn(state, some, turn)
                elif not turn.counted:
                    self.learner.count(state, part, codes[chunk], order)
                self.publish(state, labels[: state.used] if state.wide else labels)

    def end_pass(self, again: bool) -> None:
        """Keep probabilities calibrated when a pass ends; `again` if rows were learned before."""
        if self.is_calibrated:
            with self.lock.write():
                adjust_to_weights(self.learner, self.state, again)

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
            if not state.wide:
                state = self.learner.widen(state, self.memory_limit_gb, self.owner)
            column = self.labels.tolist().index(label)
            with self.lock.write():
                self.publish(state.without(column), np.delete(self.labels, column))

    def trim(self, features: int) -> None:
        """Give back the memory reserved for features beyond so many."""
        if self.state.features > features:
            with self.lock.write():
                self.state = self.state.trimmed(features).copy()

    def chunk_size(self, state: State) -> float:
        """About how many nonzeros can be learned or scored in a millisecond."""
        columns = state.table.shape[2]
        if state.covariance.size:
            return float(NONZEROS_PER_CHUNK**2 / (columns * state.covariance[0].size))
        speed = 1.0 if state.layout.weighting == "nb" else 4.0
        return float(speed * NONZEROS_PER_CHUNK / (1.0 + columns / 8.0))

    # -- predicting ----------------------------------------------------------------------------

    def weighted(self, rows: Rows) -> Rows:
        """Rows as they are scored: scaled by inverse document frequencies, if they are."""
        return self.learner.weighted(self.state, rows)

    def scores(self, rows: Rows) -> Floats:
        """The mean scores by class; where two classes share a column, that of the second."""
        return self.by_class(self.learner.scores(self.state, rows))

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
        return self.probabilities(*self._moments(rows))

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
        if self.has_variance:
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
