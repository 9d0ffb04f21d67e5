"""How online classifiers learn: parameters and their checks, fit, partial_fit, forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from sureline.errors import DataError, InvalidParameter
from sureline.estimators.file import Saving
from sureline.estimators.input_rows import as_rows
from sureline.estimators.model_merge import Merging
from sureline.estimators.parallel.shards import Crew, Rounds, check_copies, count_jobs
from sureline.estimators.prediction import Predicting
from sureline.estimators.validation import choose_class_weights, choose_learner
from sureline.features.rows import Rows
from sureline.model import State
from sureline.model.learner import AGAIN, NEW, Examples, Floats, Integers, Learner, Turn
from sureline.options import OnlineOptions
from sureline.rules import Rule


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineClassifier(OnlineOptions, Merging, Saving, Predicting):
    """What every online classifier does; the rule comes from the registry."""

    # How counts of rows weigh features, "idf" or "nb", and whether rows then get the length 1.
    _weighting = cast("tuple[str | None, bool]", (None, False))  # no parameter

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, in `max_iter` passes over the examples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            Their labels, of any type that can be sorted.
        sample_weight : array of shape (n_samples,), default=None
            How much each example counts; 0 leaves it out. CW and NHERD read weights relative to
            the largest.

        Returns
        -------
        self
            The fitted classifier.
        """
        learner = self._learner()
        X, y = self._checked(X, y, reset=True, finite=False)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"{self._name}.fit needs examples of two classes; y holds one class only, "
                f"{classes[0]!r}. To learn from a stream that starts with one class, use "
                "partial_fit"
            )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = self._batch_weights(learner, classes, y, weight)
        rows, rank = as_rows(X), np.arange(classes.size)
        rng = check_random_state(self.random_state)
        train, held = self._split(np.flatnonzero(weight > 0), codes, rng)

        state = self._begin(learner, X.shape[1], classes.size)
        best, accuracies = state, list[float]()
        judged = rows.take(held) if held.size else rows.part(0, 0)
        answers = codes[held]
        with Crew(count_jobs(self.n_jobs, self._name)) as crew:
            check_copies(state, crew.jobs, self.memory_limit_gb, self._name)
            rounds = Rounds(learner, state, crew) if crew.jobs > 1 else None
            for number in range(self.max_iter):
                order = rng.permutation(train) if self.shuffle else train
                given = Examples(rows, codes, weight, order, rank)
                turn = AGAIN if number else NEW
                if rounds is None:
                    learner.learn(state, *given, turn)
                else:
                    rounds.learn(given, turn)
                if self.early_stopping:
                    right = self._winners(learner.scores(state, judged)) == answers
                    accuracies.append(float(np.average(right, weights=weight[held])))
                    leading = int(np.argmax(accuracies)) + 1
                    if leading == len(accuracies):
                        best = state.copy()
                    elif len(accuracies) - leading >= self.n_iter_no_change:
                        break
        self.n_iter_ = self.max_iter
        if self.early_stopping:
            best.counts = state.counts
            self.validation_scores_, self.n_iter_ = accuracies, len(accuracies)
        with self._gate.change():
            self._publish(best, classes)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more examples, in the order given, on top of what is known.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            Their labels; new ones may appear at any time.
        classes : array, default=None
            Labels to know beforehand. Without it a class exists from the first row that shows it;
            rows before the second class has come teach nothing.
        sample_weight : array of shape (n_samples,), default=None
            How much each example counts; 0 leaves it out.

        Returns
        -------
        self
            The classifier, further trained.
        """
        with self._gate.writing:
            learner = self._stream_learner()
            first = not self.__sklearn_is_fitted__()
            X, y = self._checked(X, y, reset=first, finite=False)
            weight = np.ones(X.shape[0])
            if sample_weight is not None:
                weight = _check_sample_weight(
                    sample_weight,
                    X,
                    dtype=np.float64,
                    ensure_non_negative=True,
                    allow_all_zero_weights=True,
                )
            weight = self._stream_weights(learner, y, weight)
            self._learn_rows(learner, as_rows(X), y, weight, classes, X.shape[1])
        return self

    def forget_class(self, label: Any) -> Self:
        """Remove a class and all that was learned of it alone.

        Parameters
        ----------
        label : label
            One of ``classes_``; the last one cannot be forgotten.

        Returns
        -------
        self
            The classifier; with one class left, it always predicts that one.
        """
        check_is_fitted(self)
        if label not in self.classes_.tolist():
            raise InvalidParameter(
                f"{self._name}: there is no class {label!r} to forget; there are "
                f"{', '.join(map(repr, self.classes_.tolist()))}"
            )
        if self.classes_.size == 1:
            raise InvalidParameter(f"{self._name}: the last class, {label!r}, cannot be forgotten")
        with self._gate.writing:
            state = self._state
            if not state.wide:
                state = self._learner().widen(state, self.memory_limit_gb, self._name)
            column = self._labels.tolist().index(label)
            state = state.without(column)
            with self._gate.change():
                self._publish(state, np.delete(self._labels, column))
        return self

    # -- inside --------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _learner(self) -> Learner:
        """The learner for the present parameters, all of which are checked."""
        given = [self.__dict__[name] for name in self.__dataclass_fields__]
        given += self._weighting
        kept: tuple[list[Any], Learner] | None = self.__dict__.get("_kept_learner")
        if kept is None or not all(map(is_, given, kept[0])):
            kept = self.__dict__["_kept_learner"] = given, choose_learner(self)
        return kept[1]

    def _stream_learner(self) -> Learner:
        """The learner, if the parameters allow to learn from a stream."""
        learner = self._learner()
        self._check_stream()
        return learner

    def _check_stream(self) -> None:
        """Refuse parameters that only make sense where all examples are known."""
        if self.early_stopping:
            raise InvalidParameter(
                f"{self._name}: partial_fit cannot hold examples back; set early_stopping=False"
            )
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise InvalidParameter(
                f"{self._name}: partial_fit cannot know how frequent classes will be; give "
                "class_weight as a dictionary"
            )

    def _stream_weights(self, learner: Learner, y: NDArray[Any], weight: Floats) -> Floats:
        """Examples' weights with those of their classes, where more examples may follow."""
        if learner.rule.weight != "cost" and weight.max(initial=0.0) > 1.0:
            raise InvalidParameter(
                f"{self._name}: partial_fit takes weights from 0 to 1, got "
                f"{weight.max():g}; divide the weights by the largest that will come"
            )
        if self.class_weight is None:
            return weight
        present, codes = np.unique(y, return_inverse=True)
        return weight * self._class_weights(present, y, learner.rule)[codes]

    def _batch_weights(
        self, learner: Learner, classes: NDArray[Any], y: NDArray[Any], weight: Floats
    ) -> Floats:
        """Examples' weights with those of their classes, where these are all examples."""
        if learner.rule.weight != "cost":
            weight = weight / max(1.0, weight.max(initial=0.0))
        weight = weight * self._class_weights(classes, y, learner.rule)[np.searchsorted(classes, y)]
        if not weight.any():
            raise DataError(f"{self._name}.fit: no example has a weight above 0")
        return weight

    def _learn_rows(
        self,
        learner: Learner,
        rows: Rows,
        y: NDArray[Any],
        weight: Floats,
        classes: ArrayLike | None,
        features: int,
        turn: Turn = NEW,
        learning: bool = True,
    ) -> None:
        """Learn rows on top of what is known, which anybody may look at in the meantime.

        `features` says how many there must be room for; `turn` whether the rows have come
        before; `learning` whether they are learned, or only counted.
        """
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            raise ValueError(f"Unknown label type: continuous numbers such as {y[y % 1 != 0][0]!r}")
        first = not self.__sklearn_is_fitted__()
        labels = y[:0] if first else self._labels
        named = np.setdiff1d(np.asarray(classes), labels) if classes is not None else labels[:0]
        for some in (labels, named):
            self._same_kind(some, y)
        state = self._begin(learner, features, 1) if first else self._state.writeable()
        if state.layout != learner.layout:
            raise InvalidParameter(
                f"{self._name}: partial_fit goes on with a model of {state.layout}, which "
                f"set_params has changed to {learner.layout}; fit anew, or change it back"
            )
        kept = np.flatnonzero(weight > 0)
        arrivals = self._arrivals(np.concatenate([labels, named]), y[kept])
        # Refused here, before anything is learned.
        limit = self.memory_limit_gb
        total = labels.size + named.size + len(arrivals)
        columns = total if total > 2 else 1
        learner.layout.check(features, columns, limit, self._name)
        state = state.with_features(features, limit, self._name)
        begun, doing = 0, (turn, learning)
        for row, label in [*((0, named[k : k + 1]) for k in range(named.size)), *arrivals]:
            if not state.wide:  # up to the third, each class changes how the model learns
                self._learn_on(learner, state, labels, rows, y, weight, kept[begun:row], *doing)
                begun = row
                if labels.size == 2:
                    state = learner.widen(state, limit, self._name)
            labels = np.concatenate([labels, label])
            if not state.wide:
                if labels.size == 2 and labels[1] < labels[0]:
                    state.swap()
                labels = np.sort(labels)
                state.counts[1] += labels.size == 1 and named.size == 0  # nobody could know it
            elif label in named:
                state.used = labels.size  # others are let in by the row that shows them
        if state.wide:
            state = state.with_room(labels.size, limit, self._name)
        self._learn_on(learner, state, labels, rows, y, weight, kept[begun:], *doing)
        if first:
            self.n_iter_ = 1

    def _publish(self, state: State, labels: NDArray[Any]) -> None:
        """Let everybody see a state and the labels of its columns; to be called inside a change."""
        self._state = state
        if not hasattr(self, "_labels") or not np.array_equal(self._labels, labels):
            self._labels, self.classes_ = labels, np.sort(labels)

    def _begin(self, learner: Learner, features: int, classes: int) -> State:
        """A state that has seen nothing, wide if there are more than two classes."""
        columns = classes if classes > 2 else 1
        state = learner.layout.allocate(features, columns, self.memory_limit_gb, self._name)
        state.wide, state.used = classes > 2, columns
        return state

    def _arrivals(self, known: NDArray[Any], y: NDArray[Any]) -> list[tuple[int, NDArray[Any]]]:
        """The labels in `y` that are not `known`, in order, each with its first row."""
        if y.size == 1 and y.item() in known.tolist():
            return []
        strange = np.arange(y.size)
        if known.size:
            strange = np.flatnonzero(known[_columns_of(y, known)] != y)
        if not strange.size:
            return []
        new, first_rows = np.unique(y[strange], return_index=True)
        order = np.argsort(first_rows)
        return [(int(strange[first_rows[k]]), new[k : k + 1]) for k in order]

    def _learn_on(
        self,
        learner: Learner,
        state: State,
        labels: NDArray[Any],
        rows: Rows,
        y: NDArray[Any],
        weight: Floats,
        kept: Integers,
        turn: Turn,
        learning: bool,
    ) -> None:
        """Learn the `kept` rows, all of whose labels are among `labels`, in order."""
        if not labels.size:
            return
        if not state.wide and labels.size < 2:  # nothing to tell apart
            with self._gate.change():
                state.clock += kept.size
                state.counts[2] += kept.size
                if not turn.read:
                    learner.count(state, rows, np.zeros(y.size, np.int64), kept)
                self._publish(state, labels)
            return
        rank = np.empty(labels.size, np.int64)
        rank[np.argsort(labels)] = np.arange(labels.size)
        codes = _columns_of(y, labels)
        for piece in rows.pieces(self._at_once(state)):
            begin, stop = np.searchsorted(kept, [piece.start, piece.stop])
            part = rows.part(piece.start, piece.stop)
            some = kept[begin:stop] - piece.start
            with self._gate.change():
                if learning:
                    learner.learn(
                        *(state, part, codes[piece], weight[piece], some, rank),
                        *(piece.start, turn),
                    )
                elif not turn.read:
                    learner.count(state, part, codes[piece], some)
                self._publish(state, labels[: state.used] if state.wide else labels)

    def _same_kind(self, labels: NDArray[Any], y: NDArray[Any]) -> None:
        """Refuse text among numbers and numbers among text."""
        kinds = ["text" if array.dtype.kind in "USO" else "numbers" for array in (labels, y)]
        if labels.size and kinds[0] != kinds[1]:
            raise DataError(f"{self._name}: labels were {kinds[0]} before and are {kinds[1]} now")

    def _class_weights(self, classes: NDArray[Any], y: NDArray[Any], rule: Rule) -> Floats:
        """The weight of each class; where weights are relative, at most 1."""
        weights = choose_class_weights(self.class_weight, classes, y, self._name)
        if rule.weight != "cost":
            # All that are given count, also those of classes that have not come yet.
            given = (
                self.class_weight.values() if isinstance(self.class_weight, Mapping) else weights
            )
            weights = weights / max([1.0, *map(float, given)])
        return weights

    def _split(
        self, kept: NDArray[np.intp], codes: NDArray[np.intp], rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The examples to learn from and, for early stopping, those to judge each pass by."""
        if not self.early_stopping:
            return kept, kept[:0]
        train, held = train_test_split(
            kept, test_size=self.validation_fraction, stratify=codes[kept], random_state=rng
        )
        return np.sort(train), np.sort(held)


def _columns_of(y: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Where each of `y` stands among some labels; one that is not among them, anywhere."""
    order = np.argsort(labels)
    return order[np.minimum(np.searchsorted(labels, y, sorter=order), labels.size - 1)]
