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
from scipy.special import ndtr

from sureline.errors import DataError, InvalidParameter
from sureline.features.rows import Rows
from sureline.model.learner import NEW, Examples, Floats, Integers, Learner, Turn, chances
from sureline.model.lock import ReadWriteLock
from sureline.model.predictions import Counts, Labels, Predictions, reported, winners
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
        state = self.state.with_features(features, self.memory_limit_gb, self.owner)
        return self if state is self.state else self.on(state)

    @property
    def fitted(self) -> bool:
        """Whether at least one class is known."""
        return self.labels.size > 0

    @property
    def has_variance(self) -> bool:
        """Whether the rule keeps a variance for every weight."""
        return self.learner.has_variance

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
            raise ValueError(f"Unknown label type: continuous numbers such as {y[y % 1 != 0][0]!r}")
        labels = self.labels if self.fitted else y[:0]
        named = np.setdiff1d(np.asarray(classes), labels) if classes is not None else labels[:0]
        for known in (labels, named):
            self._check_label_kind(known, y)
        state = self.state.writeable() if self.fitted else self.fresh_state(features, 0)
        kept = np.flatnonzero(weight > 0)
        arrivals = find_arrivals(np.concatenate([labels, named]), y[kept])
        # Refused before anything is learned.
        limit, total = self.memory_limit_gb, labels.size + named.size + len(arrivals)
        columns = total if total > 2 else 1
        self.learner.layout.check(features, columns, limit, self.owner)
        state = state.with_features(features, limit, self.owner)
        begin = 0
        for row, label in [*((0, named[k : k + 1]) for k in range(named.size)), *arrivals]:
            if not state.wide:  # up to the third, each class changes how the model learns
                self._learn_known(state, labels, rows, y, weight, kept[begin:row], turn)
                begin = row
                if labels.size == 2:
                    state = self.learner.widen(state, limit, self.owner)
            labels = np.concatenate([labels, label])
            if not state.wide:
                if labels.size == 2 and labels[1] < labels[0]:
                    state.swap()
                labels = np.sort(labels)
                # The first label of a stream could not be predicted.
                state.counts[1] += labels.size == 1 and named.size == 0
            elif label in named:
                state.used = labels.size  # other classes begin with the row that shows them
        if state.wide:
            state = state.with_columns(labels.size, limit, self.owner)
        self._learn_known(state, labels, rows, y, weight, kept[begin:], turn)

    def _learn_known(
        self,
        state: State,
        labels: Labels,
        rows: Rows,
        y: Labels,
        weight: Floats,
        kept: Integers,
        turn: Turn,
    ) -> None:
        """Learn the `kept` rows, all of whose labels are among `labels`, in order."""
        if not labels.size:
            return
        if not state.wide and labels.size < 2:  # one class: nothing to separate
            with self.lock.write():
                state.clock += kept.size
                state.counts[2] += kept.size
                if not turn.counted:
                    self.learner.count(state, rows, np.zeros(y.size, np.int64), kept)
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
                if turn.learning:
                    some = Examples(part, codes[chunk], weight[chunk], order, rank, chunk.start)
                    self.learner.learn(state, some, turn)
                elif not turn.counted:
                    self.learner.count(state, part, codes[chunk], order)
                self.publish(state, labels[: state.used] if state.wide else labels)

    def forget(self, label: Any) -> None:
        """Remove a class and all that was learned of it alone."""
        if label not in self.classes.tolist():
            raise InvalidParameter(
                f"{self.owner}: there is no class {label!r} to forget; there are "
                f"{', '.join(map(repr, self.classes.tolist()))}"
            )
        if self.classes.size == 1:
            raise InvalidParameter(f"{self.owner}: the last class, {label!r}, cannot be forgotten")
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

    def _check_label_kind(self, labels: Labels, y: Labels) -> None:
        """Refuse text among numbers and numbers among text."""
        kinds = ["text" if array.dtype.kind in "USO" else "numbers" for array in (labels, y)]
        if labels.size and kinds[0] != kinds[1]:
            raise DataError(f"{self.owner}: labels were {kinds[0]} before and are {kinds[1]} now")

    # -- predicting ----------------------------------------------------------------------------

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
        means, deviations = self.learner.moments(self.state, rows)
        deviation = self.by_class(deviations)
        if deviation.shape[1] == 2:
            deviation = np.hypot(deviation[:, :1], deviation[:, 1:])
        spread = deviation[:, 0] if deviation.shape[1] == 1 else deviation
        return reported(self.by_class(means)), spread

    def predict_proba(self, rows: Rows) -> Floats:
        """The probability of each class for each row."""
        return self.probabilities(*self.moments(rows))

    def probabilities(self, mean: Floats, deviation: Floats) -> Floats:
        """The probability of each class, from the moments: calibrated where the model is."""
        if not self.learner.calibrated or self.classes.size == 1:
            return self.win_probabilities(mean, deviation)
        scores = mean if mean.ndim == 2 else np.column_stack([-mean, mean])
        return self.learner.calibrate(self.state, scores)

    def win_probabilities(self, mean: Floats, deviation: Floats) -> Floats:
        """The probability of each class to have the highest score, by quadrature."""
        if mean.ndim == 2:
            return chances(mean, deviation)
        if self.classes.size == 1:
            return np.ones((mean.size, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(mean == 0, 0.0, mean / deviation)
        return np.column_stack([ndtr(-z), ndtr(z)])

    def predictions(self, rows: Rows) -> Predictions:
        """Labels with probabilities, margins and variances."""
        count, every = self.classes.size, np.arange(len(rows))
        deviation = None
        if self.has_variance:
            mean, deviation = self.moments(rows)
        else:
            mean = reported(self.scores(rows))
        best = np.zeros(every.size, np.intp) if count == 1 else winners(mean)
        margin = mean[every, best] if count > 2 else np.abs(mean) if count == 2 else mean
        label = self.classes[best]
        if deviation is None:
            return Predictions(label, None, margin, None, None)
        chance = self.probabilities(mean, deviation)
        spread = deviation[every, best] if count > 2 else deviation
        return Predictions(label, chance[every, best], margin, np.square(spread), chance)

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


def columns_of(y: Labels, labels: Labels) -> NDArray[np.intp]:
    """The position of each of `y` among some labels; any position for one that is not there."""
    order = np.argsort(labels)
    return order[np.minimum(np.searchsorted(labels, y, sorter=order), labels.size - 1)]


def find_arrivals(known: Labels, y: Labels) -> list[tuple[int, Labels]]:
    """The labels in `y` that are not `known`, in order, each with its first row."""
    if y.size == 1 and y.item() in known.tolist():
        return []
    unknown = np.arange(y.size)
    if known.size:
        unknown = np.flatnonzero(known[columns_of(y, known)] != y)
    if not unknown.size:
        return []
    new, first_rows = np.unique(y[unknown], return_index=True)
    order = np.argsort(first_rows)
    return [(int(unknown[first_rows[k]]), new[k : k + 1]) for k in order]
