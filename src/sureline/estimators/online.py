"""Online classifiers of rows: parameters, fit, partial_fit, forgetting a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from sureline.errors import InvalidParameter
from sureline.estimators.file import FileMixin
from sureline.estimators.input_rows import as_dense, as_rows, validate_rows, validate_weights
from sureline.estimators.model_merge import MergeMixin
from sureline.estimators.parallel.shards import check_copies, learn_in_shards
from sureline.estimators.parallel.thread_pool import ThreadPool, count_threads
from sureline.estimators.prediction import Chunk, PredictionMixin
from sureline.estimators.validation import (
    check_order,
    check_stream_parameters,
    choose_learner,
    dense_learner,
    fit_weights,
    stream_weights,
)
from sureline.features.rows import Rows
from sureline.model.arrivals import check_characters
from sureline.model.drift import watch
from sureline.model.learner import AGAIN, NEW, Examples, Floats, Learner, Turn
from sureline.model.linear import LinearModel
from sureline.model.merge.shards import ShardStates
from sureline.model.outcomes import adjust_to_weights
from sureline.model.predictions import winners
from sureline.options import OnlineOptions


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineClassifier(OnlineOptions, MergeMixin, FileMixin, PredictionMixin):
    """What every online classifier does; the rule comes from the registry."""

    # How counts of rows weigh features, and whether rows are then scaled to length 1; no parameter.
    row_weighting = cast("tuple[str | None, bool]", (None, False))

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
        learner, name = self.learner(), type(self).__name__
        X, y = validate_rows(self, X, y, reset=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"{name}.fit needs examples of two classes; y holds one class only, "
                f"{classes.tolist()[0]!r}. To learn from a stream that starts with one class, use "
                "partial_fit"
            )
        check_characters(classes, name)
        weight = validate_weights(sample_weight, X.shape[0])
        weight = fit_weights(self, learner.rule, classes, y, weight)
        alone = count_threads(self.n_jobs, name) == 1
        dense = learner.takes_dense and alone and self.drift is None and not self.early_stopping
        rows, rank = as_dense(X) if dense else as_rows(X), np.arange(classes.size)
        ordered = alone and self.max_iter == 1 and not (self.shuffle or self.early_stopping)
        check_order(learner, ordered, name)
        if self.drift is not None and ordered:
            return self._fit_stream(rows, y, weight, learner, X.shape[1])
        rng = check_random_state(self.random_state)
        train, held = self._split(np.flatnonzero(weight > 0), codes, rng)

        if not alone:
            learner = dense_learner(learner, name)
        model = LinearModel(learner, self.memory_limit_gb, name)
        state = best = model.fresh_state(X.shape[1], classes.size)
        accuracies = list[float]()
        validation = rows.take(held) if held.size else rows.part(0, 0)
        with ThreadPool(count_threads(self.n_jobs, name)) as pool:
            check_copies(state, pool.threads, self.memory_limit_gb, name)
            learn: Callable[[Examples, Turn], None] = partial(learner.learn, state)
            if pool.threads > 1:
                shards = ShardStates(state, pool.threads, pool.run)
                learn = partial(learn_in_shards, learner, shards, pool)
            for number in range(self.max_iter):
                order = rng.permutation(train) if self.shuffle else train
                learn(Examples(rows, codes, weight, order, rank), AGAIN if number else NEW)
                if learner.calibrated and self.max_iter > 1:
                    adjust_to_weights(learner, state, again=number > 0)
                if self.early_stopping:
                    right = winners(learner.scores(state, validation)) == codes[held]
                    accuracies.append(float(np.average(right, weights=weight[held])))
                    leading = int(np.argmax(accuracies)) + 1
                    if leading == len(accuracies):
                        best = state.copy()
                    elif len(accuracies) - leading >= self.n_iter_no_change:
                        break
        n_iter = self.max_iter
        if self.early_stopping:
            best.counts = state.counts
            self.validation_scores_, n_iter = accuracies, len(accuracies)
        model.publish(best, classes)
        self.adopt(model, n_iter)
        return self

    def _fit_stream(self, rows: Rows, y: Any, weight: Floats, learner: Learner, width: int) -> Self:
        """Learn one pass in the order given, watched for change."""
        model = LinearModel(learner, self.memory_limit_gb, type(self).__name__)
        watch(model, self.drift)
        model.learn(rows, y, weight, np.unique(y), width)
        self.adopt(model, 1)
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
            nothing is learned from rows before the second class arrives.
        sample_weight : array of shape (n_samples,), default=None
            How much each example counts; 0 leaves it out.

        Returns
        -------
        self
            The classifier, further trained.
        """
        with self._lock.learning:
            learner = self.learner()
            check_stream_parameters(self)
            first = not self.__sklearn_is_fitted__()
            X, y = validate_rows(self, X, y, reset=first)
            weight = validate_weights(sample_weight, X.shape[0], allow_zero=True)
            weight = stream_weights(self, learner.rule, y, weight)
            dense = learner.takes_dense and self.drift is None
            rows = as_dense(X) if dense else as_rows(X)
            self.model_for(learner).learn(rows, y, weight, classes, X.shape[1])
        return self

    # -- for the classes around it ---------------------------------------------------------------

    def learner(self) -> Learner:
        """The learner of the present parameters, all of which are checked."""
        given = [self.__dict__[name] for name in self.__dataclass_fields__]
        given += self.row_weighting
        kept: tuple[list[Any], Learner] | None = self.__dict__.get("_kept_learner")
        if kept is None or not all(map(is_, given, kept[0])):
            kept = self.__dict__["_kept_learner"] = given, choose_learner(self, *self.row_weighting)
        return kept[1]

    def model_for(self, learner: Learner) -> LinearModel:
        """The model that `partial_fit` continues, with this learner, or a new one."""
        if not self.__sklearn_is_fitted__():
            model = LinearModel(learner, self.memory_limit_gb, type(self).__name__)
            self.adopt(model, 1)
            return model
        model = self.model_
        model.learner.check_learns(type(self).__name__)
        if learner.layout != model.state.layout:
            raise InvalidParameter(
                f"{type(self).__name__}: partial_fit continues a model of {model.state.layout}, "
                f"which set_params has changed to {learner.layout}; fit again, or change it back"
            )
        model.learner, model.memory_limit_gb = learner, self.memory_limit_gb
        watch(model, self.drift)
        return model

    def adopt(self, model: LinearModel, n_iter: int) -> None:
        """Make a model the fitted one; threads that predict finish with the one before."""
        model.lock = self._lock
        watch(model, None if model.learner.compact else self.drift)
        self.model_, self.n_iter_ = model, n_iter

    def _chunks(self, model: LinearModel, X: Any) -> list[Chunk]:
        rows = as_rows(validate_rows(self, X))
        cuts = model.chunks(rows, model.state)
        return [partial(partial, rows.part, cut.start, cut.stop) for cut in cuts]

    def _split(
        self, kept: NDArray[np.intp], codes: NDArray[np.intp], rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The examples to learn from and, for early stopping, those to validate each pass on."""
        if not self.early_stopping:
            return kept, kept[:0]
        train, held = train_test_split(
            kept, test_size=self.validation_fraction, stratify=codes[kept], random_state=rng
        )
        return np.sort(train), np.sort(held)
