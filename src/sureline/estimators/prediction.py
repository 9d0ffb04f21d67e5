"""Predictions of fitted classifiers: labels, scores, probabilities, weights, counters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sureline.errors import InvalidParameter, show
from sureline.estimators.parallel.thread_pool import ThreadPool, count_threads
from sureline.estimators.validation import check_whole
from sureline.features.rows import Rows
from sureline.model.drift import Change
from sureline.model.learner import Floats
from sureline.model.linear import INTERCEPT, LinearModel
from sureline.model.lock import ReadWriteLock
from sureline.model.predictions import winners

F = TypeVar("F")
A = TypeVar("A")
# Prepares a chunk of the input; the result gives its rows, and is called while the model is read.
Chunk = Callable[[], Callable[[], Rows]]


def offered_if(check: Callable[[Any], bool]) -> Callable[[F], F]:
    """Offer a method only where `check` holds, so that ``hasattr`` is right."""
    return cast(Callable[[F], F], available_if(check))


with_variance = offered_if(attrgetter("has_variance"))


class PredictionMixin(ClassifierMixin, BaseEstimator):
    """Predictions from the fitted ``model_``; subclasses learn it."""

    model_: LinearModel
    n_jobs: int | None
    n_iter_: int
    n_features_in_: int

    @property
    def has_variance(self) -> bool:
        """Whether the rule keeps a variance for every weight."""
        return hasattr(self, "covariance")

    def _chunks(self, model: LinearModel, X: Any) -> list[Chunk]:
        """X in chunks of rows."""
        raise NotImplementedError

    # -- labels and scores ---------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """The mean score of each row: for two classes that of ``classes_[1]``, else of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or texts
            The examples: rows of numbers, or for `TextClassifier` a list or column of str.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        scores = np.concatenate(self._predicted(X, _scores)[1])
        return self.model_.reported(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class of the highest mean score.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or texts
            The examples: rows of numbers, or for `TextClassifier` a list or column of str.

        Returns
        -------
        array of shape (n_samples,)
            The labels; of equal scores, the first in the order of ``classes_`` wins.
        """
        return np.concatenate(self._predicted(X, LinearModel.predict)[1])

    def predict_ranking(self, X: Any, k: int) -> tuple[NDArray[Any], Floats]:
        """The k best classes of each row with their mean scores, best first.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or texts
            The examples: rows of numbers, or for `TextClassifier` a list or column of str.
        k : int
            How many classes; more than there are means all.

        Returns
        -------
        labels, scores : arrays of shape (n_samples, k)
            The classes and their scores. Of two classes, each has half the margin, with its sign.
        """
        check_whole(k, "k", type(self).__name__)
        classes, parts = self._predicted(X, _scores)
        scores = self.model_.reported(np.concatenate(parts))
        if scores.ndim == 1:
            scores = np.column_stack([-scores / 2.0, scores / 2.0][-classes.size :])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return classes[order], np.take_along_axis(scores, order, axis=1)

    # -- uncertainty ---------------------------------------------------------------------------

    @with_variance
    def decision_distribution(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the variance of each row's scores under the distribution of weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or texts
            The examples: rows of numbers, or for `TextClassifier` a list or column of str.

        Returns
        -------
        mean, variance : arrays of shape (n_samples,) or (n_samples, n_classes)
            The scores are independent Gaussians with these moments; two classes have one score.
        """
        mean, deviation, _ = self._moments(X)
        return mean, np.square(deviation)

    @with_variance
    def predict_proba(
        self,
        X: Any,
        method: Literal["integral", "sampling"] = "integral",
        n_samples: int = 100,
        random_state: Any = None,
    ) -> Floats:
        """The probability of each class to have the highest score.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or texts
            The examples: rows of numbers, or for `TextClassifier` a list or column of str.
        method : {"integral", "sampling"}, default="integral"
            By quadrature, which is deterministic, or by drawing weight vectors and counting their
            votes, as the multi-class paper does.
        n_samples : int, default=100
            The number of draws per row, for ``method="sampling"``.
        random_state : int, RandomState or None, default=None
            The random seed, for ``method="sampling"``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            For two classes Φ(m/√v) in the second column, for a score of mean m and variance v.
            With ``calibration="online"``, the result of ``method="integral"`` is calibrated.
        """
        if method == "sampling":
            return self._sampled(X, n_samples, random_state)
        if method != "integral":
            raise InvalidParameter(
                f"{type(self).__name__}: method must be 'integral' or 'sampling', got {method!r}"
            )
        return np.concatenate(self._predicted(X, _predict_proba)[1])

    @with_variance
    def predict_set(
        self, X: Any, coverage: float = 0.95, per_class: bool = False
    ) -> list[tuple[Any, ...]]:
        """A set of labels for each row that contains the right one as often as asked.

        The sets follow from how probable the model found the right labels of training rows, each
        just before it was learned, with most weight on the latest ones. They need
        ``calibration="online"`` and at least 1 / (1 - `coverage`) examples; with fewer, they have
        every label.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or texts
            The examples: rows of numbers, or for `TextClassifier` a list or column of str.
        coverage : float, default=0.95
            The share of rows whose set contains the right label.
        per_class : bool, default=False
            Whether the coverage holds for the rows of every class, or for all rows together.

        Returns
        -------
        list of tuple
            The labels of each row, the most probable first. A set may be empty: where the model is
            right more often than asked, no label is certain enough for the rest.
        """
        name = type(self).__name__
        check_is_fitted(self)
        if not 0.0 < float(coverage) < 1.0:
            raise InvalidParameter(
                f"{name}: coverage must be a share between 0 and 1, got {show(coverage)}"
            )
        if not self.model_.is_calibrated:
            raise InvalidParameter(
                f"{name}: predict_set needs what the model predicted before it learned each "
                "example, which it keeps with calibration='online'; set that and fit again"
            )
        predict = partial(_predict_set, coverage=float(coverage), per_class=bool(per_class))
        return [labels for part in self._predicted(X, predict)[1] for labels in part]

    def _moments(self, X: Any) -> tuple[Floats, Floats, NDArray[Any]]:
        """The means and the standard deviations of scores, and the classes."""
        classes, parts = self._predicted(X, _moments)
        mean, deviation = (np.concatenate(some) for some in zip(*parts, strict=True))
        return mean, deviation, classes

    def _sampled(self, X: Any, n_samples: int, random_state: Any) -> Floats:
        """The share of draws in which each class has the highest score."""
        check_whole(n_samples, "n_samples", type(self).__name__)
        mean, deviation, classes = self._moments(X)
        rng, count = check_random_state(random_state), classes.size
        votes = np.zeros((len(mean), count))
        every = np.arange(len(mean))
        for _ in range(n_samples):
            draw = mean + deviation * rng.standard_normal(mean.shape)
            won = winners(draw.reshape(len(mean), -1)) if count > 1 else 0
            votes[every, won] += 1.0
        return votes / n_samples

    def _predicted(self, X: Any, predict: Callable[[Any, Rows], A]) -> tuple[NDArray[Any], list[A]]:
        """The classes, and the prediction of each chunk of X; learning may go on between chunks.

        All predictions are about the same classes: when a new one arrives, they begin again.
        """
        check_is_fitted(self)
        while True:
            model = self.model_
            classes = model.classes
            chunks, read = self._chunks(model, X), partial(_predict, model, classes, predict)
            threads = 1
            if len(chunks) > 1:
                threads = min(count_threads(self.n_jobs, type(self).__name__), len(chunks))
            if threads == 1:
                found = [read(chunk) for chunk in chunks]
            else:
                with ThreadPool(threads) as pool:
                    found = pool.run(read, chunks)
            parts = [each[0] for each in found if each is not None]
            if len(parts) == len(chunks):
                return classes, parts

    # -- what was learned ----------------------------------------------------------------------

    @property
    def changes_(self) -> list[Change]:
        """The alarms in the stream that was learned, and what followed from each."""
        monitor = self._fitted("changes_").monitor
        return list(monitor.changes) if monitor else []

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._fitted("classes_").classes

    @property
    def coef_(self) -> NDArray[Any]:
        """The mean of every weight, of shape (1, n_features) or (n_classes, n_features)."""
        model = self._fitted("coef_")
        with model.lock.read():
            return model.coefficients()[1 : model.n_features + 1].T.copy()

    @property
    def intercept_(self) -> NDArray[Any]:
        """The mean of the constant feature's weight, of shape (1,) or (n_classes,)."""
        model = self._fitted("intercept_")
        with model.lock.read():
            return np.array(model.coefficients(INTERCEPT)[0])

    @property
    def variance_(self) -> NDArray[Any]:
        """The variance of every weight, shaped as ``coef_``."""
        model = self._uncertain("variance_")
        with model.lock.read():
            return model.variances()[1 : model.n_features + 1].T.copy()

    @property
    def intercept_variance_(self) -> NDArray[Any]:
        """The variance of the constant feature's weight, shaped as ``intercept_``."""
        model = self._uncertain("intercept_variance_")
        with model.lock.read():
            first = model.variances(INTERCEPT)[0]
            return np.array(first * bool(model.state.layout.fit_intercept))

    @property
    def covariance_(self) -> NDArray[Any]:
        """The covariance of the weights, (1 or n_classes, n_features, n_features); `full` only."""
        model = self._fitted("covariance_")
        if not model.state.covariance.size:
            raise AttributeError(
                f"{type(self).__name__} has covariance_ only with covariance='full'; see variance_"
            )
        with model.lock.read():
            state, stop = model.state, model.n_features + 1
            matrices = np.moveaxis(state.covariance[: state.used, 1:stop, 1:stop], 0, 2)
            return np.moveaxis(model.combined(matrices, 1.0), 2, 0).copy()

    @property
    def n_seen_(self) -> int:
        """How many examples have been learned from, over all passes."""
        return self._fitted("n_seen_").counts.seen

    @property
    def n_updates_(self) -> int:
        """How many examples changed the model."""
        return self._fitted("n_updates_").counts.updates

    @property
    def n_mistakes_(self) -> int:
        """How many examples were classified wrong just before they were learned."""
        return self._fitted("n_mistakes_").counts.mistakes

    def _fitted(self, attribute: str) -> LinearModel:
        """The model, or the error that Python raises where `attribute` does not exist."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self.model_

    def _uncertain(self, attribute: str) -> LinearModel:
        """The same where the rule keeps variances."""
        model = self._fitted(attribute)
        if not model.has_variance:
            raise AttributeError(f"{type(self).__name__} keeps no variances, so has no {attribute}")
        return model

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
        self.model_.forget(label)
        return self

    # -- scikit-learn's protocol ---------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self, "model_") and self.model_.fitted

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _lock(self) -> ReadWriteLock:
        """The lock of all models of this estimator, one after the other."""
        lock: ReadWriteLock | None = self.__dict__.get("_own_lock")
        return lock or cast(ReadWriteLock, self.__dict__.setdefault("_own_lock", ReadWriteLock()))


# What models are asked for, each by its own class's method.
def _scores(model: LinearModel, rows: Rows) -> Floats:
    return model.scores(rows)


def _moments(model: LinearModel, rows: Rows) -> tuple[Floats, Floats]:
    return model.moments(rows)


def _predict_proba(model: LinearModel, rows: Rows) -> Floats:
    return model.predict_proba(rows)


def _predict_set(
    model: LinearModel, rows: Rows, coverage: float, per_class: bool
) -> list[tuple[Any, ...]]:
    return model.label_sets(model.predict_proba(rows), coverage, per_class)


def _predict(
    model: LinearModel, classes: NDArray[Any], predict: Callable[[Any, Rows], A], chunk: Chunk
) -> tuple[A] | None:
    """The prediction of a chunk, or None where a class has arrived in the meantime."""
    rows = chunk()
    with model.lock.read():
        return (predict(model, rows()),) if model.classes is classes else None
