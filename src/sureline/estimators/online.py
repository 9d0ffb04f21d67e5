"""The face that all online classifiers share: parameters, checks, fit, partial_fit, predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sureline.errors import DataError, InvalidParameter
from sureline.estimators.describing import described
from sureline.estimators.learner import Floats, Learner, choose_covariance
from sureline.estimators.rows import Rows, as_rows
from sureline.model import State
from sureline.rules import Parameter, Rule, rules

F = TypeVar("F")

FRACTION = Parameter("validation_fraction", 0.1, 0.0, 1.0, "")
MEMORY = Parameter("memory_limit_gb", 4.0, 0.0, np.inf, "")


def _keeps_variance(estimator: OnlineClassifier) -> bool:
    return hasattr(estimator, "covariance")


def with_variance(method: F) -> F:
    """Offer `method` only by classifiers that keep variances, so that hasattr tells."""
    return cast(F, available_if(_keeps_variance)(method))


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineClassifier(ClassifierMixin, BaseEstimator):
    """What every online classifier does; the rule comes from the registry."""

    max_iter: int = described(5, "How many passes `fit` makes over the examples, at most.")
    shuffle: bool = described(
        True,
        "Whether `fit` takes the examples in a new random order each pass, or in the order given. "
        "`partial_fit` never shuffles.",
    )
    random_state: int | np.random.RandomState | None = described(
        None, "Where the random orders come from; a number makes every run the same."
    )
    fit_intercept: bool = described(
        True, "Whether to add a constant feature 1, with its own mean and variance."
    )
    early_stopping: bool = described(
        False,
        "Whether to hold examples back, stop when the accuracy on them no longer rises, and keep "
        "the best pass.",
    )
    validation_fraction: float = described(
        0.1, "The share of examples that early stopping holds back."
    )
    n_iter_no_change: int = described(
        2, "How many passes without a new best accuracy early stopping waits for."
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = described(
        None,
        "A factor on the weight of each class's examples, by label; 'balanced' makes every class "
        "weigh the same in `fit`. CW and NHERD read weights relative to the "
        "largest, the others as factors on the cost of missing an example.",
    )
    dtype: Literal["float32", "float64"] = described(
        "float32", "The kind of number the model is kept in; sums are always taken in float64."
    )
    memory_limit_gb: float = described(
        4.0, "The most memory the model may take, in GB of 2^30 bytes; more is refused."
    )

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
        X, y = self._checked(X, y, reset=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"{self._name}.fit needs examples of two classes; y holds one class only, "
                f"{classes[0]!r}. To learn from a stream that starts with one class, use "
                "partial_fit"
            )
        _refuse_more_than_two(classes)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if learner.rule.weight != "cost":
            weight = weight / max(1.0, weight.max())
        weight = weight * self._class_weights(classes, y, learner.rule)[codes]
        rows, sign = as_rows(X), np.where(codes == 1, 1.0, -1.0)
        rng = check_random_state(self.random_state)
        if not weight.any():
            raise DataError(f"{self._name}.fit: no example has a weight above 0")
        train, held = self._split(np.flatnonzero(weight > 0), codes, rng)

        state = self._allocate(learner, X.shape[1])
        best, accuracies = state, list[float]()
        judged, answers = rows.take(held), codes[held] == 1
        for _ in range(self.max_iter):
            order = rng.permutation(train) if self.shuffle else train
            learner.learn(state, rows, sign, weight, order)
            if self.early_stopping:
                right = (learner.scores(state, judged) > 0) == answers
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
        self.classes_ = classes
        self._state = best
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
            Their labels.
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
        learner = self._learner()
        if self.early_stopping:
            raise InvalidParameter(
                f"{self._name}: partial_fit cannot hold examples back; set early_stopping=False"
            )
        if self.class_weight == "balanced":
            raise InvalidParameter(
                f"{self._name}: partial_fit cannot know how frequent classes will be; give "
                "class_weight as a dictionary"
            )
        first = not self.__sklearn_is_fitted__()
        X, y = self._checked(X, y, reset=first)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if learner.rule.weight != "cost" and weight.max() > 1.0:
            raise InvalidParameter(
                f"{self._name}: partial_fit takes weights from 0 to 1, got "
                f"{weight.max():g}; divide the weights by the largest that will come"
            )
        kept = np.flatnonzero(weight > 0)
        known = np.empty(0, y.dtype) if first else self.classes_
        if classes is not None:
            known = np.union1d(known, np.asarray(classes))
        if known.size and (known.dtype.kind in "USO") != (y.dtype.kind in "USO"):
            before, now = ("text", "numbers") if known.dtype.kind in "USO" else ("numbers", "text")
            raise DataError(f"{self._name}: labels were {before} before and are {now} now")
        labels = np.union1d(known, y[kept])
        _refuse_more_than_two(labels)
        rows = as_rows(X)
        state = self._allocate(learner, X.shape[1]) if first else self._state.writeable()
        if state.layout != learner.layout:
            raise InvalidParameter(
                f"{self._name}: partial_fit goes on with a model of {state.layout}, which "
                f"set_params has changed to {learner.layout}; fit anew, or change it back"
            )
        codes = np.searchsorted(labels, y)
        if known.size < 2:  # rows before the second class has come teach nothing
            others = np.flatnonzero(y[kept] != (known[0] if known.size else y[kept[:1]]))
            alone = int(others[0]) if others.size else kept.size
            state.clock += alone
            state.counts[1] += int(alone > 0 and known.size == 0)
            state.counts[2] += alone
            kept = kept[alone:]
        weight = weight * self._class_weights(labels, y, learner.rule)[codes]
        kept = kept[weight[kept] > 0]
        learner.learn(state, rows, np.where(codes == 1, 1.0, -1.0), weight, kept)
        self.classes_ = labels
        self._state = state
        if first:
            self.n_iter_ = 1
        return self

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """The mean score of each row; positive speaks for ``classes_[1]``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,)
            The scores.
        """
        rows = self._rows(X)
        return self._learner().scores(self._state, rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row, by the sign of its mean score.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,)
            The labels; a score of exactly 0 gives ``classes_[0]``.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    @with_variance
    def decision_distribution(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the variance of each row's score under the distribution of weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        mean, variance : arrays of shape (n_samples,)
            The score is Gaussian with these moments.
        """
        mean, deviation = self._moments(X)
        return mean, np.square(deviation)

    @with_variance
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class: how probable it is that the score has its sign.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Φ(m/√v) in the second column, for a score of mean m and variance v.
        """
        mean, deviation = self._moments(X)
        if self.classes_.size == 1:
            return np.ones((mean.size, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(mean == 0, 0.0, mean / deviation)
        return np.column_stack([ndtr(-z), ndtr(z)])

    # -- what was learned ----------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[Any]:
        """The mean of every weight, of shape (1, n_features)."""
        return np.array(self._learner().weights(self._fitted("coef_"))[1:].T, order="C")

    @property
    def intercept_(self) -> NDArray[Any]:
        """The mean of the constant feature's weight, of shape (1,)."""
        return np.array(self._learner().weights(self._fitted("intercept_"))[0])

    @property
    def variance_(self) -> NDArray[Any]:
        """The variance of every weight, of shape (1, n_features)."""
        return np.array(self._variances("variance_")[1:].T, order="C")

    @property
    def intercept_variance_(self) -> NDArray[Any]:
        """The variance of the constant feature's weight, of shape (1,)."""
        return np.array(self._variances("intercept_variance_")[0] * bool(self.fit_intercept))

    @property
    def covariance_(self) -> NDArray[Any]:
        """The covariance of the weights, of shape (1, n_features, n_features); `full` only."""
        state = self._fitted("covariance_")
        if not state.covariance.size:
            raise AttributeError(
                f"{self._name} has covariance_ only with covariance='full'; see variance_"
            )
        return state.covariance[:, 1:, 1:].copy()

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

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _fitted(self, attribute: str) -> State:
        """The state, or the error that Python raises where `attribute` does not exist."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{self._name} has no {attribute} before it is fitted")
        return self._state

    def _variances(self, attribute: str) -> NDArray[Any]:
        """The variances of all weights, row 0 the intercept's, one column a weight vector."""
        state = self._fitted(attribute)
        if state.covariance.size:
            return np.diagonal(state.covariance, axis1=1, axis2=2).T
        if not _keeps_variance(self):
            raise AttributeError(f"{self._name} keeps no variances, so it has no {attribute}")
        return state.table[:, 1]

    def __sklearn_is_fitted__(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def _rule(self) -> Rule:
        """The registered rule that this class offers under its present parameters."""
        names = {cls.__name__ for cls in type(self).__mro__}
        offered = [rule for rule in rules().values() if rule.estimator in names]
        for rule in offered:
            if all(getattr(self, key) == value for key, value in rule.settings.items()):
                return rule
        key = next(iter(offered[0].settings))
        allowed = " or ".join(repr(rule.settings[key]) for rule in offered)
        raise InvalidParameter(f"{self._name}: {key} must be {allowed}, got {getattr(self, key)!r}")

    def _learner(self) -> Learner:
        """The learner for the present parameters, all of which are checked here."""
        rule = self._rule()
        for name in ("max_iter", "n_iter_no_change"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise InvalidParameter(
                    f"{self._name}: {name} must be a whole number of at least 1, got {value!r}"
                )
        for name in ("shuffle", "fit_intercept", "early_stopping"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InvalidParameter(
                    f"{self._name}: {name} must be True or False, got {getattr(self, name)!r}"
                )
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(
                f"{self._name}: dtype must be 'float32' or 'float64', got {self.dtype!r}"
            )
        FRACTION.check(self.validation_fraction, self._name)
        MEMORY.check(self.memory_limit_gb, self._name)
        values = {p.name: p.check(getattr(self, p.name), self._name) for p in rule.parameters}
        covariance = choose_covariance(rule, getattr(self, "covariance", None), self._name)
        return Learner(rule, values, covariance, self.dtype, bool(self.fit_intercept))

    def _allocate(self, learner: Learner, features: int) -> State:
        return learner.layout.allocate(features, 1, self.memory_limit_gb, self._name)

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return as_rows(self._checked(X, "no_validation", reset=False))

    def _checked(self, X: Any, y: Any, reset: bool) -> Any:
        """What scikit-learn makes of the input: finite numbers of our dtype, or its error."""
        with np.errstate(over="ignore"):  # a number too large for float32 becomes an error anyway
            return validate_data(self, X, y, accept_sparse="csr", dtype=self.dtype, reset=reset)

    def _moments(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of each row's score."""
        rows, learner = self._rows(X), self._learner()
        return learner.scores(self._state, rows), learner.deviations(self._state, rows)

    def _class_weights(self, classes: NDArray[Any], y: NDArray[Any], rule: Rule) -> Floats:
        """The weight of each class; where weights are relative, at most 1."""
        if self.class_weight is None or classes.size < 2:
            return np.ones(classes.size)
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise InvalidParameter(
                f"{self._name}: class_weight must be 'balanced', a dictionary by label or None, "
                f"got {self.class_weight!r}"
            )
        if isinstance(self.class_weight, Mapping):
            weights = np.array([float(self.class_weight.get(label, 1.0)) for label in classes])
        else:
            weights = compute_class_weight(self.class_weight, classes=classes, y=y)
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise InvalidParameter(
                f"{self._name}: class_weight must hold finite weights of at least 0, got {weights}"
            )
        if rule.weight != "cost":
            weights = weights / max(1.0, weights.max())
        return np.asarray(weights, np.float64)

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


def _refuse_more_than_two(classes: NDArray[Any]) -> None:
    if classes.size > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{classes.size} classes, {classes[:3].tolist()}, ..."
        )
