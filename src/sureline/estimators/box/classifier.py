"""The box of weights as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sureline.errors import DataError, InvalidParameter
from sureline.estimators.box.bounds import PACBayesBound, bound_error
from sureline.estimators.box.file import box_from_parts, box_parts
from sureline.estimators.box.solver import BoxSolver, Floats, Sample, Stream, spread
from sureline.estimators.file import FileMixin
from sureline.estimators.input_rows import as_rows
from sureline.estimators.validation import check_whole, choose_class_weights
from sureline.features.rows import Rows
from sureline.kernels.box.probability import DEVIATE, SHARE
from sureline.kernels.box.solvers import StreamRows
from sureline.model.learner import chances
from sureline.rules import Parameter, batch_rules
from sureline.rules.box.problem import LOSSES, C, D

F = TypeVar("F")
TOL = Parameter("tol", 1e-3, 0.0, np.inf, "")
# Rows of up to so many features have their probability from the integral; so have wider ones in
# which fewer than ENOUGH features, in effect, share the variance.
KEPT = 32
ENOUGH = 64.0
# The stochastic solver looks at its gap after passes that grow by this factor.
PATIENCE = 1.2


def _streams(estimator: Any) -> bool:
    """Whether `partial_fit` exists."""
    if estimator.solver == "comid":
        return True
    raise AttributeError("partial_fit exists with solver='comid' only: the dual needs all examples")


def with_streams(method: F) -> F:
    """Offer `method` only where rows can be learned as they come, so that hasattr tells."""
    return cast(F, available_if(_streams)(method))


class BoxClassifier(FileMixin, ClassifierMixin, BaseEstimator):
    """A box of weight vectors, as large as may be, of which even the worst does well.

    Learning finds the box that minimises the average loss of its worst weight vector on every
    example, less what its volume is worth, plus what large weights cost. Wide intervals belong to
    features that the data say little about. It is solved over all examples at once, and the
    distance to the optimum is known. More than two classes are told apart one against the rest.

    Parameters
    ----------
    regularizer : {'max', 'sum'}, default='max'
        What large weights cost: the larger square of each interval's two ends (BoW-M), which makes
        centres exactly 0, or the sum of both (BoW-S), which is smooth.
    C : float in (0, inf), default=1e-06
        The value of volume: a large C gives a wide box, whose worst member must still be right, and
        so tolerates wrong labels.
    D : float in (0, inf), default=0.0001
        The cost of large weights: a large D keeps the box close to the origin.
    loss : {'hinge', 'squared-hinge', 'huber'}, default='hinge'
        What a margin below 1 costs: the distance, its square, or the distance with the kink
        rounded off between 1/2 and 3/2.
    solver : {'dual', 'comid'}, default='dual'
        Dual coordinate ascent, which reaches the optimum, or the paper's stochastic method, which
        comes near it and has `partial_fit`.
    tol : float in (0, inf), default=0.001
        `fit` stops when the objective is proved to be within `tol` of the optimum, in units of the
        average loss.
    max_iter : int, default=1000
        How many rounds, each with one pass over all examples, `fit` makes at most; more would be
        needed if a ConvergenceWarning comes.
    fit_intercept : bool, default=True
        Whether to add a constant feature 1, which has its own interval in the box and costs like
        any other.
    warm_start : bool, default=False
        Whether `fit` begins where the last `fit` ended; of use along a path of C or D on the same
        examples. Where the numbers of examples, features or classes differ, it begins anew.
    random_state : int, RandomState or None, default=None
        Where the random orders come from; a number makes every run the same.
    class_weight : dict, 'balanced' or None, default=None
        A factor on the weight of each class's examples, by label; 'balanced' makes every class
        weigh the same in `fit`.
    dtype : {'float32', 'float64'}, default='float64'
        The kind of number that X is read as and that weights are told in; the box itself is always
        kept in float64.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The centre of the box. Two classes have one row, in which positive speaks for
        ``classes_[1]``; more have a row each, against the rest.
    width_ : array of shape (1, n_features) or (n_classes, n_features)
        Half the width of every interval: how unsure the model is of the weight. Features that
        occur in no example have the same, largest one.
    lower_, upper_ : array of shape (1, n_features) or (n_classes, n_features)
        The ends of every interval, ``coef_ - width_`` and ``coef_ + width_``.
    intercept_, intercept_width_ : array of shape (1,) or (n_classes,)
        Centre and half width of the constant feature's interval; 0 without an intercept.
    objective_ : float or array of shape (n_classes,)
        The value of the objective at the box; an array with more than two classes, one a class.
    dual_gap_ : float or array of shape (n_classes,)
        How far `objective_` is, at most, above the optimum. Neither exists after `partial_fit`,
        which does not have all examples.
    n_iter_ : int
        The number of rounds made; with more than two classes, the largest.
    n_features_in_ : int
        The number of features.

    Examples
    --------
    >>> from sureline import BoxClassifier
    >>> X = [[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]]
    >>> model = BoxClassifier(random_state=0).fit(X, ["spam", "ham", "spam", "ham"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['spam']
    >>> model.dual_gap_ <= model.tol
    True
    >>> bool((model.lower_ < model.upper_).all())
    True
    """

    classes_: NDArray[Any]
    n_iter_: int
    objective_: float | Floats
    dual_gap_: float | Floats

    def __init__(
        self,
        *,
        regularizer: Literal["max", "sum"] = "max",
        C: float = C.default,
        D: float = D.default,
        loss: Literal["hinge", "squared-hinge", "huber"] = "hinge",
        solver: Literal["dual", "comid"] = "dual",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        dtype: Literal["float32", "float64"] = "float64",
    ) -> None:
        self.regularizer = regularizer
        self.C = C
        self.D = D
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.class_weight = class_weight
        self.dtype = dtype

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Find the box for these examples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            Their labels, of any type that can be sorted.
        sample_weight : array of shape (n_samples,), default=None
            How many times each example counts; 0 leaves it out. The loss is averaged by weight, so
            that a common factor changes nothing.

        Returns
        -------
        self
            The fitted classifier.
        """
        solver = self._solver()
        X, y = self._checked(X, y, reset=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = weight * choose_class_weights(self.class_weight, classes, y, self._name)[codes]
        kept = np.flatnonzero(weight > 0)
        present = np.unique(codes[kept])
        if present.size < 2:
            held = "no class" if not present.size else f"one class only, {classes[present[0]]!r}"
            raise DataError(
                f"{self._name}.fit needs examples of two classes; those with a weight above 0 hold "
                f"{held}"
            )
        rows = as_rows(X)
        if kept.size < codes.size:
            rows, codes, weight = rows.take(kept), codes[kept], weight[kept]
        sample = Sample.of(rows, weight, X.shape[1], solver.constant)
        codes = codes.astype(np.int64)
        if not self._continues(classes, X.shape[1], solver):
            self._forget()
        if self.solver == "dual":
            self._fit_dual(solver, sample, codes, classes)
        else:
            self._fit_comid(solver, sample, codes, classes)
        self._constant, self.classes_ = solver.constant, classes
        return self

    def _fit_dual(
        self, solver: BoxSolver, sample: Sample, codes: NDArray[np.int64], classes: NDArray[Any]
    ) -> None:
        """Solve the problem of every class against the rest; of two classes, one will do."""
        rng = check_random_state(self.random_state)
        signs = self._signs(codes, classes.size)
        begun = getattr(self, "_duals", None)
        if begun is None or begun.shape != signs.shape:
            begun = np.zeros(signs.shape)
        found = [
            solver.solve(sample, sign, a, rng, self.tol, self.max_iter)
            for sign, a in zip(signs, begun, strict=True)
        ]
        self._boxes = np.array([each.box for each in found])
        self._stream, self._seen = None, sample.summary()
        self._duals = np.array([each.a for each in found]) if self.warm_start else None
        self._tell(
            [each.objective for each in found],
            [each.gap for each in found],
            max(each.passes for each in found),
        )

    def _fit_comid(
        self, solver: BoxSolver, sample: Sample, codes: NDArray[np.int64], classes: NDArray[Any]
    ) -> None:
        """Stochastic passes until the gap to the averaged dual is small."""
        rng = check_random_state(self.random_state)
        signs = self._signs(codes, classes.size)
        if hasattr(self, "_stream"):
            stream = self._going_on().copy()
        else:
            stream = solver.begin(sample.counts.size - 1, len(signs))
        stream.counts, stream.clocks[1] = sample.counts, float(codes.size)
        answers, begun = np.zeros(signs.shape), stream.clocks[0]
        weight = sample.weight * (codes.size / sample.total)
        passes, look = 0, 1
        gaps = [np.inf]
        while passes < self.max_iter and max(gaps) > self.tol:
            order = rng.permutation(codes.size)
            solver.descend(stream, StreamRows(sample.rows, codes, weight, order), False, answers)
            passes += 1
            if passes == look or passes == self.max_iter:
                look = max(look + 1, int(look * PATIENCE))
                now = stream.clocks[0]
                held = 0.5 * (now * (now + 1.0) - begun * (begun + 1.0))
                boxes = stream.averages()
                found = [
                    solver.certify(sample, sign, a / held, box)
                    for sign, a, box in zip(signs, answers, boxes, strict=True)
                ]
                gaps = [gap for _, _, gap in found]
        self._boxes, self._stream, self._seen = boxes, stream, sample.summary()
        self._duals = np.array([a for a, _, _ in found]) if self.warm_start else None
        self._tell([objective for _, objective, _ in found], gaps, passes)

    def _tell(self, objectives: list[float], gaps: list[float], passes: int) -> None:
        """What the solvers found, and a warning where they were not done."""
        single = len(gaps) == 1
        self.objective_ = objectives[0] if single else np.array(objectives)
        self.dual_gap_ = gaps[0] if single else np.array(gaps)
        self.n_iter_ = passes
        if max(gaps) > self.tol:
            warnings.warn(
                f"{self._name}: after max_iter={self.max_iter} rounds the objective may be "
                f"{max(gaps):.2g} above its optimum, more than tol={self.tol:g}. Raise max_iter, "
                "tol or D, scale the features, or choose loss='huber', which is easier to solve",
                ConvergenceWarning,
                stacklevel=4,
            )

    @with_streams
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more examples, one stochastic step each, in the order given; ``solver="comid"``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            Their labels; new ones may appear at any time. A class that comes late does not know
            that earlier examples were not of it.
        classes : array, default=None
            Labels to know beforehand. Without it a class exists from the first row that shows it;
            rows before the second class has come teach nothing.
        sample_weight : array of shape (n_samples,), default=None
            How many times the loss of each example counts; 0 leaves it out.

        Returns
        -------
        self
            The classifier, further trained.
        """
        solver = self._solver()
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise InvalidParameter(
                f"{self._name}: partial_fit cannot know how frequent classes will be; give "
                "class_weight as a dictionary"
            )
        first = not hasattr(self, "classes_")
        X, y = self._checked(X, y, reset=first)
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            raise ValueError(f"Unknown label type: continuous numbers such as {y[y % 1 != 0][0]!r}")
        if not first and solver.constant != self._constant:
            raise InvalidParameter(
                f"{self._name}: fit_intercept was {bool(self._constant)} before partial_fit and "
                f"is {bool(solver.constant)} now; fit anew, or change it back"
            )
        weight = _check_sample_weight(
            sample_weight,
            X,
            dtype=np.float64,
            ensure_non_negative=True,
            allow_all_zero_weights=True,
        )
        present, codes = np.unique(y, return_inverse=True)
        weight = weight * choose_class_weights(self.class_weight, present, y, self._name)[codes]
        known = y[:0] if first else self.classes_
        named = np.asarray([] if classes is None else classes)
        for some in (known, named):
            if some.size and (some.dtype.kind in "USO") != (y.dtype.kind in "USO"):
                raise DataError(f"{self._name}: labels are partly numbers and partly text")
        rows, kept = as_rows(X), np.flatnonzero(weight > 0).astype(np.int64)
        stream = solver.begin(X.shape[1], 1) if first else self._going_on()
        if not all(array.flags.writeable for array in vars(stream).values()):
            stream = stream.copy()
        labels = np.unique(known)
        for label in np.setdiff1d(named, labels):
            labels, stream = _with_class(labels, label, stream, solver)
        while kept.size:
            strange = np.flatnonzero(np.isin(y[kept], labels, invert=True))
            until = int(strange[0]) if strange.size else kept.size
            if labels.size > 1 and until:
                places = np.minimum(np.searchsorted(labels, y), labels.size - 1)
                examples = StreamRows(rows, places.astype(np.int64), weight, kept[:until])
                solver.descend(stream, examples, True, np.zeros((0, 0)))
            kept = kept[until:]
            if kept.size:
                labels, stream = _with_class(labels, y[kept[0]], stream, solver)
        self.classes_, self._constant, self._stream = labels, solver.constant, stream
        self._boxes, self._duals = None, None
        self.n_iter_ = getattr(self, "n_iter_", 1)
        for stale in ("objective_", "dual_gap_"):
            vars(self).pop(stale, None)
        return self

    # -- answers -------------------------------------------------------------------------------

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
        return _told(self._spread(X)[0])

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
        means = self._spread(X)[0]
        if self.classes_.size == 1:
            return np.repeat(self.classes_, len(means))
        if means.shape[1] == 1:
            return np.asarray(self.classes_[(means[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(means, axis=1)])

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
        rows, boxes = self._rows(X), self._table()
        if self.classes_.size == 1:
            return np.ones((len(rows), 1))
        if len(boxes) == 1:
            second = self._shares(rows, KEPT)
            return np.column_stack([1.0 - second, second])
        means, _ = spread(rows, boxes, self._constant)
        return chances(means, self._deviations(rows))

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
        means, _ = spread(rows, self._table(), self._constant)
        return _told(means), np.square(_told(self._deviations(rows)))

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
        signs = self._signs(self._codes(y, len(means)), self.classes_.size)
        return _told(signs.T * means - reach)

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
            this very bound, but for D. None stands for a grid from 1/16 to 64.

        Returns
        -------
        PACBayesBound
            The bound and all that went into it; ``float()`` gives its value.
        """
        check_is_fitted(self)
        if self.classes_.size != 2:
            raise InvalidParameter(
                f"{self._name}: pac_bayes_bound is for two classes; this model has "
                f"{self.classes_.size}. Learn one class against the rest to bound its error"
            )
        rows = self._rows(X)
        codes = self._codes(y, len(rows))
        second = self._shares(rows, rows.longest + 1)
        error = float(np.where(codes == 1, 1.0 - second, second).mean())
        box = self._table()[0]
        box = box if self._constant else box[1:]
        return bound_error(error, len(rows), box, delta, radius, gamma, self._name)

    # -- what was learned ----------------------------------------------------------------------

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
        return (self._constant * self._part("intercept_")[:, 0, 0]).astype(self.dtype)

    @property
    def intercept_width_(self) -> NDArray[Any]:
        """Half the width of the constant feature's interval, shaped as ``intercept_``."""
        return (self._constant * self._part("intercept_width_")[:, 0, 1]).astype(self.dtype)

    # -- inside --------------------------------------------------------------------------------

    _boxes: Floats | None
    _duals: Floats | None
    _stream: Stream | None
    _seen: tuple[float, float, Floats]  # of the last fit: examples, largest norm², by feature
    _constant: float

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The metadata and tensors of the model file."""
        return box_parts(self)

    @classmethod
    def from_parts(cls, metadata: Any, tensors: Any) -> Self:
        """The classifier whose file has these metadata and tensors."""
        return cast(Self, box_from_parts(cls, metadata, tensors))

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __sklearn_is_fitted__(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _solver(self) -> BoxSolver:
        """The solver for the present parameters, all of which are checked here."""
        rules = {rule.settings["regularizer"]: rule for rule in batch_rules().values()}
        choices: dict[str, tuple[Any, ...]] = {
            "regularizer": tuple(rules),
            "loss": tuple(LOSSES),
            "solver": ("dual", "comid"),
            "dtype": ("float32", "float64"),
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                among = " or ".join(map(repr, allowed))
                raise InvalidParameter(f"{self._name}: {name} must be {among}, got {value!r}")
        for name in ("fit_intercept", "warm_start"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise InvalidParameter(f"{self._name}: {name} must be True or False, got {value!r}")
        check_whole(self.max_iter, "max_iter", self._name)
        TOL.check(self.tol, self._name)
        rule = rules[self.regularizer]
        values = {p.name: p.check(getattr(self, p.name), self._name) for p in rule.parameters}
        return BoxSolver(
            rule, values["C"], values["D"], self.loss, self.dtype, float(bool(self.fit_intercept))
        )

    def _checked(self, X: Any, y: Any, reset: bool) -> Any:
        """What scikit-learn makes of the input: finite numbers of our dtype, or its error."""
        with np.errstate(over="ignore"):  # a number too large for float32 becomes an error anyway
            return validate_data(self, X, y, accept_sparse="csr", dtype=self.dtype, reset=reset)

    def _signs(self, codes: NDArray[np.int64], classes: int) -> Floats:
        """±1 by problem and example: one problem for two classes, else one a class."""
        if classes <= 2:
            return np.where(codes == 1, 1.0, -1.0)[None, :]
        return np.where(codes == np.arange(classes)[:, None], 1.0, -1.0)

    def _continues(self, classes: NDArray[Any], features: int, solver: BoxSolver) -> bool:
        """Whether a warm start can go on from what is there."""
        if not self.warm_start or not hasattr(self, "classes_"):
            return False
        return (
            np.array_equal(self.classes_, classes)
            and self._table().shape[1] == features + 1
            and self._constant == solver.constant
        )

    def _forget(self) -> None:
        """Drop what a warm start would go on from."""
        vars(self).pop("_stream", None)
        vars(self).pop("_duals", None)

    def _going_on(self) -> Stream:
        """The stream; after the exact solver, one that has stood at its boxes for one pass."""
        if self._stream is not None:
            return self._stream
        (steps, largest, counts), boxes = self._seen, self._table()
        stamps = np.where(counts > 0, steps, 0.0)
        sums = (0.5 * stamps * (stamps - 1.0))[:, None] * boxes
        return Stream(np.array([steps, steps, largest]), counts, stamps, boxes.copy(), sums)

    def _table(self) -> Floats:
        """The boxes by class; row 0 is the constant feature's, slots are centre and half width."""
        check_is_fitted(self)
        if self._boxes is None:
            self._boxes = self._going_on().averages()
        return self._boxes

    def _part(self, attribute: str) -> Floats:
        """The boxes, or the error that Python raises where `attribute` does not exist."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{self._name} has no {attribute} before it is fitted")
        return self._table()

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return as_rows(self._checked(X, "no_validation", reset=False))

    def _spread(self, X: Any) -> tuple[Floats, Floats]:
        """x·μ and |x|·σ of every row, by class."""
        rows = self._rows(X)
        return spread(rows, self._table(), self._constant)

    def _codes(self, y: Any, count: int) -> NDArray[np.int64]:
        """The positions of the labels `y`, one for each of `count` rows, in ``classes_``."""
        y = np.asarray(y)
        if y.shape != (count,):
            raise DataError(f"{self._name}: y has shape {y.shape}, but X has {count} rows")
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise DataError(
                f"{self._name}: y holds labels that were not learned, such as {unknown[0]!r}"
            )
        return np.asarray(np.searchsorted(self.classes_, y), np.int64)

    def _shares(self, rows: Rows, kept: int) -> Floats:
        """The share of the box that scores each row above zero."""
        out, widths = np.empty(len(rows)), np.empty(rows.longest + 1)
        top = np.empty(kept + 1)
        SHARE.loop(self.dtype)(
            rows, self._table()[0], self._constant, kept, ENOUGH, widths, top, out
        )
        return out

    def _deviations(self, rows: Rows) -> Floats:
        """The standard deviations of the scores, by class."""
        boxes = self._table()
        out = np.empty((len(rows), len(boxes)))
        DEVIATE.loop(self.dtype)(rows, boxes, self._constant, out)
        return out


def _told(columns: Floats) -> Floats:
    """Columns as they are told: one for two classes, else one a class."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _with_class(
    labels: NDArray[Any], label: Any, stream: Stream, solver: BoxSolver
) -> tuple[NDArray[Any], Stream]:
    """One more class, in its place among the sorted ones; from the third on, each has a box."""
    labels = np.unique(np.append(labels, label))
    if labels.size == 3:
        stream = stream.with_both_sides()
    if labels.size >= 3:
        stream = stream.with_column(int(np.searchsorted(labels, label)), solver.start)
    return labels, stream
