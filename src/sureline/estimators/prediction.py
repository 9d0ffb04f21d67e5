"""What a fitted online classifier answers: labels, scores, probabilities, weights, counters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sureline.errors import InvalidParameter
from sureline.estimators.input_rows import as_rows
from sureline.estimators.parallel.shards import Crew, count_jobs
from sureline.estimators.validation import check_whole
from sureline.features.rows import Rows
from sureline.model import State
from sureline.model.learner import Floats, Learner, chances
from sureline.model.lock import Gate

F = TypeVar("F")
A = TypeVar("A")
# Prepares a piece of the input; what it gives has the rows, and is called while the model rests.
Piece = Callable[[], Callable[[], Rows]]
# How many nonzeros are learned or scored in about a millisecond, for two classes.
AT_ONCE = 2.0**15
FIRST = np.zeros(1, np.int64)


def keeps_variance(model: Any) -> bool:
    """Whether a model knows how sure it is of its weights; it need not be fitted.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model.
    """
    return bool(model._has_variance)


def with_variance(method: F) -> F:
    """Offer `method` only by classifiers that keep variances, so that hasattr tells."""
    return cast(F, available_if(keeps_variance)(method))


class Predicting(ClassifierMixin, BaseEstimator):
    """The answers of a model; `OnlineClassifier` adds how it learns.

    Columns of the state stand in order of arrival, answers in the order of ``classes_``. Two
    classes are always told as one score for the second, whether they share a column or not.
    """

    dtype: Literal["float32", "float64"]
    n_jobs: int | None
    classes_: NDArray[Any]
    _state: State
    _labels: NDArray[Any]

    def _learner(self) -> Learner:
        raise NotImplementedError

    @property
    def _has_variance(self) -> bool:
        return hasattr(self, "covariance")

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
        return self._told(self._all_scores(X))

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
        return np.concatenate(self._answers(X, self._best))

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
        scores = self._told(self._all_scores(X))
        if self.classes_.size <= 2:
            scores = np.column_stack([-scores / 2.0, scores / 2.0][-self.classes_.size :])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.classes_[order], np.take_along_axis(scores, order, axis=1)

    # -- how sure ------------------------------------------------------------------------------

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
        mean, deviation = self._moments(X)
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
            By quadrature, which gives the same every time, or by drawing weight vectors and
            counting whom they vote for, as the multi-class paper does.
        n_samples : int, default=100
            How many draws a row, for ``method="sampling"``.
        random_state : int, RandomState or None, default=None
            Where the draws come from, for ``method="sampling"``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            For two classes Φ(m/√v) in the second column, for a score of mean m and variance v.
            With ``calibration="online"``, what ``method="integral"`` gives is calibrated.
        """
        mean, deviation = self._moments(X)
        if method == "sampling":
            return self._sampled(mean, deviation, n_samples, random_state)
        if method != "integral":
            raise InvalidParameter(
                f"{type(self).__name__}: method must be 'integral' or 'sampling', got {method!r}"
            )
        return self._chances(mean, deviation)

    def _chances(self, mean: Floats, deviation: Floats) -> Floats:
        """The probability of each class: calibrated, or that to have the highest score."""
        if not self._learner().calibrated or self.classes_.size == 1:
            return self._integrated(mean, deviation)
        scores = mean if mean.ndim == 2 else np.column_stack([-mean, mean])
        return self._learner().calibrate(self._state, scores)

    def _integrated(self, mean: Floats, deviation: Floats) -> Floats:
        """The probability of each class, by quadrature."""
        if mean.ndim == 2:
            return chances(mean, deviation)
        if self.classes_.size == 1:
            return np.ones((mean.size, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(mean == 0, 0.0, mean / deviation)
        return np.column_stack([ndtr(-z), ndtr(z)])

    def _sampled(
        self, mean: Floats, deviation: Floats, n_samples: int, random_state: Any
    ) -> Floats:
        """The share of draws in which each class has the highest score."""
        check_whole(n_samples, "n_samples", type(self).__name__)
        rng, count = check_random_state(random_state), self.classes_.size
        votes = np.zeros((len(mean), count))
        every = np.arange(len(mean))
        for _ in range(n_samples):
            draw = mean + deviation * rng.standard_normal(mean.shape)
            won = self._winners(draw.reshape(len(mean), -1)) if count > 1 else 0
            votes[every, won] += 1.0
        return votes / n_samples

    # -- what was learned ----------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[Any]:
        """The mean of every weight, of shape (1, n_features) or (n_classes, n_features)."""
        state = self._fitted("coef_")
        return self._combined(self._learner().weights(state), -1.0)[1:].T.copy()

    @property
    def intercept_(self) -> NDArray[Any]:
        """The mean of the constant feature's weight, of shape (1,) or (n_classes,)."""
        state = self._fitted("intercept_")
        return np.array(self._combined(self._learner().weights(state, FIRST), -1.0)[0])

    @property
    def variance_(self) -> NDArray[Any]:
        """The variance of every weight, shaped as ``coef_``."""
        return self._combined(self._variances("variance_"), 1.0)[1:].T.copy()

    @property
    def intercept_variance_(self) -> NDArray[Any]:
        """The variance of the constant feature's weight, shaped as ``intercept_``."""
        first = self._combined(self._variances("intercept_variance_", FIRST), 1.0)[0]
        return np.array(first * bool(self._state.layout.fit_intercept))

    @property
    def covariance_(self) -> NDArray[Any]:
        """The covariance of the weights, (1 or n_classes, n_features, n_features); `full` only."""
        state = self._fitted("covariance_")
        if not state.covariance.size:
            raise AttributeError(
                f"{type(self).__name__} has covariance_ only with covariance='full'; see variance_"
            )
        matrices = np.moveaxis(state.covariance[: state.used, 1:, 1:], 0, 2)
        return np.moveaxis(self._combined(matrices, 1.0), 2, 0).copy()

    @property
    def n_seen_(self) -> int:
        """How many examples have been learned from, over all passes."""
        return int(self._fitted("n_seen_").counts[2])

    @property
    def n_updates_(self) -> int:
        """How many examples changed the model."""
        return int(self._fitted("n_updates_").counts[0])

    @property
    def n_mistakes_(self) -> int:
        """How many examples were classified wrong just before they were learned."""
        return int(self._fitted("n_mistakes_").counts[1])

    # -- inside --------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self, "_state")

    def __getstate__(self) -> dict[str, Any]:
        """All but the gate, which belongs to this process."""
        state = dict(cast(Any, super()).__getstate__())
        state.pop("_own_gate", None)
        state.pop("_kept_learner", None)
        return state

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitted(self, attribute: str) -> State:
        """The state, or the error that Python raises where `attribute` does not exist."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._state

    def _variances(self, attribute: str, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The variances of the weights, by column, of some rows of the table; row 0 is the 1's."""
        state = self._fitted(attribute)
        if not keeps_variance(self):
            raise AttributeError(f"{type(self).__name__} keeps no variances, so has no {attribute}")
        return self._learner().variances(state, rows)

    def _columns_of(self, features: NDArray[Any]) -> tuple[Floats, Floats | None]:
        """Means and variances of some features, -1 for the constant one, by class.

        Of two classes, the first has the second's mean with its sign turned.
        """
        rows = np.asarray(features) + 1
        means = self._combined(self._learner().weights(self._state, rows), -1.0)
        variances = None
        if self._has_variance:
            variances = self._combined(self._variances("variance_", rows), 1.0)
        if self.classes_.size == 2:
            means = np.column_stack([-means[:, 0], means[:, 0]])
            variances = None if variances is None else np.repeat(variances, 2, axis=1)
        return means.astype(np.float64), None if variances is None else variances.astype(np.float64)

    def _combined(self, columns: NDArray[Any], sign: float) -> NDArray[Any]:
        """Columns in the order of ``classes_``; of two, the second with `sign` times the first."""
        columns = self._by_class(columns)
        if columns.shape[-1] != 2:
            return columns
        return np.asarray(columns[..., 1:] + np.asarray(sign, columns.dtype) * columns[..., :1])

    def _pieces(self, X: Any) -> list[Piece]:
        """X in pieces."""
        rows = as_rows(self._checked(X, "no_validation", reset=False, finite=False))
        cuts = rows.pieces(self._at_once(self._state))
        return [partial(partial, rows.part, cut.start, cut.stop) for cut in cuts]

    def _answers(self, X: Any, answer: Callable[[Rows], A]) -> list[A]:
        """What `answer` makes of each piece of X; learning goes on between the pieces.

        All answers are about the same classes: when one arrives, they begin again.
        """
        check_is_fitted(self)
        while True:
            look = partial(self._look, self.classes_, answer)
            pieces = self._pieces(X)
            jobs = count_jobs(self.n_jobs, type(self).__name__) if len(pieces) > 1 else 1
            if jobs == 1:
                found = [look(piece) for piece in pieces]
            else:
                with Crew(min(jobs, len(pieces))) as crew:
                    found = crew.run(look, pieces)
            answers = [each[0] for each in found if each is not None]
            if len(answers) == len(pieces):
                return answers

    def _look(
        self, classes: NDArray[Any], answer: Callable[[Rows], A], piece: Piece
    ) -> tuple[A] | None:
        """The answer about a piece, or None where a class has come in the meantime."""
        view = piece()
        with self._gate.read():
            return (answer(view()),) if self.classes_ is classes else None

    @property
    def _gate(self) -> Gate:
        gate: Gate | None = self.__dict__.get("_own_gate")
        return gate or cast(Gate, self.__dict__.setdefault("_own_gate", Gate()))

    def _at_once(self, state: State) -> float:
        """About how many nonzeros can be learned or scored in a millisecond."""
        columns = state.table.shape[2]
        if state.covariance.size:
            return float(AT_ONCE * AT_ONCE / (columns * state.covariance[0].size))
        fast = 1.0 if state.layout.weighting == "nb" else 4.0
        return float(fast * AT_ONCE / (1.0 + columns / 8.0))

    def _checked(self, X: Any, y: Any, reset: bool, finite: bool = True) -> Any:
        """What scikit-learn makes of the input: finite numbers of our dtype, or its error.

        With ``finite=False``, whether sparse numbers are finite is left to `as_rows`.
        """
        if not reset and self._is_plain(X, finite) and (type(y) is str or _is_plain_answer(y, X)):
            return X if type(y) is str else (X, y)
        with np.errstate(over="ignore"):  # a number too large for float32 becomes an error anyway
            return validate_data(
                *(self, X, y),
                accept_sparse="csr",
                dtype=self.dtype,
                reset=reset,
                ensure_all_finite=finite or not issparse(X) or cast(Any, X).dtype != self.dtype,
            )

    def _is_plain(self, X: Any, finite: bool) -> bool:
        """Whether X is as scikit-learn would make it, so that one row need not wait for its checks.

        What is not, for whatever reason, is left to those.
        """
        return bool(
            type(X) in (csr_array, csr_matrix)
            and X.dtype == self.dtype
            and X.shape[0]
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and not hasattr(self, "feature_names_in_")
            and (not finite or np.isfinite(X.data).all())
        )

    def _all_scores(self, X: Any) -> Floats:
        """The scores of X by class."""
        return np.concatenate(self._answers(X, self._scores))

    def _scores(self, rows: Rows) -> Floats:
        """The scores of rows by class, or, where two classes share a column, for the second."""
        return self._by_class(self._learner().scores(self._state, rows))

    def _best(self, rows: Rows) -> NDArray[Any]:
        """The label of the highest score of each row."""
        if self.classes_.size == 1:
            return np.repeat(self.classes_, len(rows))
        return np.asarray(self.classes_[self._winners(self._scores(rows))])

    def _by_class(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Columns, which come last, in the order of ``classes_``."""
        return columns[..., np.argsort(self._labels)] if self._state.wide else columns

    def _told(self, scores: Floats) -> Floats:
        """Scores as they are told: one a row for two classes, or for one."""
        if scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _winners(self, scores: Floats) -> NDArray[np.intp]:
        """The class of the highest score in each row; of equal ones, the first."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(np.argmax(scores, axis=1))

    def _moments(self, X: Any) -> tuple[Floats, Floats]:
        """The means and the standard deviations of scores, as they are told."""
        parts = self._answers(X, self._moments_of)
        mean, deviation = (np.concatenate(some) for some in zip(*parts, strict=True))
        return mean, deviation

    def _moments_of(self, rows: Rows) -> tuple[Floats, Floats]:
        """The same of rows."""
        means, deviations = self._learner().moments(self._state, rows)
        mean, deviation = self._by_class(means), self._by_class(deviations)
        if deviation.shape[1] == 2:
            return self._told(mean), np.hypot(deviation[:, 0], deviation[:, 1])
        return self._told(mean), deviation[:, 0] if deviation.shape[1] == 1 else deviation


def _is_plain_answer(y: Any, X: Any) -> bool:
    """Whether y is one whole number or one string a row."""
    return bool(type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "iubU")
