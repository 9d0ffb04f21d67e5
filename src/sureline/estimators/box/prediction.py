"""What a fitted box predicts, and what is known about its error."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sureline.errors import DataError, InvalidParameter
from sureline.estimators.box.bounds import PACBayesBound, bound_error
from sureline.estimators.box.model import BoxModel
from sureline.estimators.box.solver import spread
from sureline.estimators.box.state import BoxState, Floats
from sureline.estimators.input_rows import as_rows, validate_rows
from sureline.features.rows import Rows
from sureline.model.predictions import reported


class BoxPrediction(ClassifierMixin, BaseEstimator):
    """The methods and attributes of a fitted box classifier."""

    box_: BoxState
    classes_: NDArray[Any]
    n_iter_: int
    objective_: float | Floats
    dual_gap_: float | Floats
    dtype: Any

    # -- predictions -------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """The score of each row at the centre of the box.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of ``classes_[1]``, else that of each class.
        """
        return reported(self._spread(X)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class of the highest score at the centre of the box.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,)
            The labels; of equal scores, the first in the order of ``classes_`` wins.
        """
        rows = self._rows(X)
        return self.model_.predict(rows)

    def predict_proba(self, X: Any) -> Floats:
        """How probable each class is under a weight vector drawn from the box.

        For two classes this is the share of the box that scores the row above zero. Rows of up to
        32 features have it exactly, by the integral of the characteristic function. In a longer
        row the score is taken as normal where at least 64 features, in effect, share its variance
        (off by less than 0.0005); else the 32 widest are exact and the others together normal. For
        more classes all scores are taken as normal, and the probability of each to be the highest
        follows by quadrature.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities; a row without any feature, and no intercept, has equal ones.
        """
        rows = self._rows(X)
        return self.model_.predict_proba(rows)

    def decision_distribution(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the variance of the scores when the weights are drawn from the box.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        mean, variance : arrays of shape (n_samples,) or (n_samples, n_classes)
            The mean is the `decision_function`.
        """
        rows = self._rows(X)
        means, _ = spread(rows, self.box_.table(), self.box_.constant)
        return reported(means), np.square(reported(self.model_.deviations(rows)))

    def worst_margin(self, X: Any, y: Any) -> Floats:
        """The margin of each example under the weight vector of the box that does worst on it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            Their labels.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            ``y x·μ − |x|·σ``, where y is ±1; above 0 all of the box is right. With more than two
            classes, the margins in the problem of each class against the rest.
        """
        means, reach = self._spread(X)
        signs = signs_of(self._codes(y, len(means)), self.classes_.size)
        return reported(signs.T * means - reach)

    def pac_bayes_bound(
        self,
        X: Any,
        y: Any,
        delta: float = 0.05,
        radius: float | ArrayLike | None = None,
        gamma: float | ArrayLike | None = None,
    ) -> PACBayesBound:
        """A bound on the error, on new examples, of weight vectors drawn from the box.

        With probability 1 − `delta` over samples of independent examples, the Gibbs error on new
        examples is at most (1 − exp(−γ·e − (KL + log(1/δ))/n)) / (1 − exp(−γ)), where e is the
        Gibbs error on the sample and KL the divergence of the box from a ball of radius `radius`.
        The centre of the box errs at most twice as often. The bound is vacuous, 1, unless there
        are many more examples than features: every weight counts, also of features never seen.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The sample that the box was learned from, or another.
        y : array of shape (n_samples,)
            Its labels.
        delta : float in (0, 1), default=0.05
            The chance that the bound may fail.
        radius : float, several, or None, default=None
            The radius of the prior ball, which must be fixed before the data are seen and must
            hold the box; of several, the best is taken and `delta` divided by their number. None
            stands for a fixed grid around the square root of the number of weights.
        gamma : float, several, or None, default=None
            The bound's γ, to be fixed beforehand likewise. Learning with ``C = 1/(n·γ)`` minimises
            exactly this bound, except for D. None stands for a grid from 1/16 to 64.

        Returns
        -------
        PACBayesBound
            The bound and all that went into it; ``float()`` gives its value.
        """
        check_is_fitted(self)
        if self.classes_.size != 2:
            raise InvalidParameter(
                f"{type(self).__name__}: pac_bayes_bound is for two classes; this model has "
                f"{self.classes_.size}. Learn one class against the rest to bound its error"
            )
        rows = self._rows(X)
        codes = self._codes(y, len(rows))
        second = self.model_.shares(rows, rows.longest + 1)
        error = float(np.where(codes == 1, 1.0 - second, second).mean())
        box = self.box_.table()[0]
        box = box if self.box_.constant else box[1:]
        return bound_error(error, len(rows), box, delta, radius, gamma, type(self).__name__)

    # -- what was learned ----------------------------------------------------------------------

    @property
    def model_(self) -> BoxModel:
        """The boxes, with the methods by which the fitted model of other classifiers is read."""
        boxes, start = self._part("model_"), cast(Any, self).make_solver().start
        return BoxModel(self.classes_, boxes, self.box_.constant, start, self.dtype)

    @property
    def has_variance(self) -> bool:
        """Whether there is a variance for every weight, from its interval."""
        return True

    @property
    def coef_(self) -> NDArray[Any]:
        """The centre of the box, of shape (1, n_features) or (n_classes, n_features)."""
        return self._part("coef_")[:, 1:, 0].astype(self.dtype)

    @property
    def width_(self) -> NDArray[Any]:
        """Half the width of every interval, shaped as ``coef_``."""
        return self._part("width_")[:, 1:, 1].astype(self.dtype)

    @property
    def lower_(self) -> NDArray[Any]:
        """The lower end of every interval, shaped as ``coef_``."""
        box = self._part("lower_")[:, 1:]
        return (box[..., 0] - box[..., 1]).astype(self.dtype)

    @property
    def upper_(self) -> NDArray[Any]:
        """The upper end of every interval, shaped as ``coef_``."""
        box = self._part("upper_")[:, 1:]
        return (box[..., 0] + box[..., 1]).astype(self.dtype)

    @property
    def intercept_(self) -> NDArray[Any]:
        """The centre of the constant feature's interval, of shape (1,) or (n_classes,)."""
        box = self._part("intercept_")
        return (self.box_.constant * box[:, 0, 0]).astype(self.dtype)

    @property
    def intercept_width_(self) -> NDArray[Any]:
        """Half the width of the constant feature's interval, shaped as ``intercept_``."""
        box = self._part("intercept_width_")
        return (self.box_.constant * box[:, 0, 1]).astype(self.dtype)

    # -- inside --------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _part(self, attribute: str) -> Floats:
        """The boxes, or the error that Python raises where `attribute` does not exist."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self.box_.table()

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return as_rows(validate_rows(self, X))

    def _spread(self, X: Any) -> tuple[Floats, Floats]:
        """x·μ and |x|·σ of every row, by class."""
        rows = self._rows(X)
        return spread(rows, self.box_.table(), self.box_.constant)

    def _codes(self, y: Any, count: int) -> NDArray[np.int64]:
        """The positions of the labels `y`, one for each of `count` rows, in ``classes_``."""
        owner, y = type(self).__name__, np.asarray(y)
        if y.shape != (count,):
            raise DataError(f"{owner}: y has shape {y.shape}, but X has {count} rows")
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise DataError(
                f"{owner}: y holds labels that were not learned, such as {unknown.tolist()[0]!r}"
            )
        return np.asarray(np.searchsorted(self.classes_, y), np.int64)


def signs_of(codes: NDArray[np.int64], classes: int) -> Floats:
    """±1 by problem and example: one problem for two classes, else one per class."""
    if classes <= 2:
        return np.where(codes == 1, 1.0, -1.0)[None, :]
    return np.where(codes == np.arange(classes)[:, None], 1.0, -1.0)
