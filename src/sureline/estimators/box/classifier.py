"""The box of weights as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from sureline.declaration import option, validate
from sureline.errors import DataError, InvalidParameter, show
from sureline.estimators.box.file import BoxFileMixin
from sureline.estimators.box.prediction import BoxPrediction, signs_of
from sureline.estimators.box.solver import BoxSolver, Sample
from sureline.estimators.box.state import (
    BoxState,
    Floats,
    averages,
    copy_of,
    with_both_sides,
    with_column,
)
from sureline.estimators.documentation import by_rule, documented
from sureline.estimators.input_rows import as_rows, validate_rows, validate_weights
from sureline.estimators.prediction import offered_if
from sureline.estimators.validation import check_stream_parameters, choose_class_weights
from sureline.kernels.box.solvers import StreamArrays, StreamRows
from sureline.rules import batch_rules
from sureline.rules.box.problem import estimate

# The stochastic solver computes its gap after numbers of passes that grow by this factor.
PATIENCE = 1.2


def _streams(estimator: Any) -> bool:
    """Whether rows can be learned as they come."""
    if estimator.solver == "comid":
        return True
    raise AttributeError("partial_fit exists with solver='comid' only: the dual needs all examples")


@documented
class BoxClassifier(BoxFileMixin, BoxPrediction):
    """A box of weight vectors, as large as possible, of which even the worst does well.

    Learning finds the box that minimises the average loss of its worst weight vector on every
    example, less what its volume is worth, plus what large weights cost. Wide intervals belong to
    features that the data say little about. It is solved over all examples at once, and the
    distance to the optimum is known. More than two classes are learned one against the rest.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The centre of the box. Two classes have one row, in which positive weights favour
        ``classes_[1]``; more have a row each, against the rest.
    width_ : array of shape (1, n_features) or (n_classes, n_features)
        Half the width of every interval: how uncertain the weight is. Features that
        occur in no example have the same, largest one.
    lower_, upper_ : array of shape (1, n_features) or (n_classes, n_features)
        The ends of every interval, ``coef_ - width_`` and ``coef_ + width_``.
    intercept_, intercept_width_ : array of shape (1,) or (n_classes,)
        Centre and half width of the constant feature's interval; 0 without an intercept.
    C_, D_ : float
        The values of C and D: as given, or as estimated.
    objective_ : float or array of shape (n_classes,)
        The value of the objective at the box; an array with more than two classes, one per class.
    dual_gap_ : float or array of shape (n_classes,)
        How far `objective_` is, at most, above the optimum. Neither exists after `partial_fit`,
        which does not have all examples.
    n_iter_ : int
        The number of rounds made; with more than two classes, the largest.
    n_features_in_ : int
        The number of features.
    box_ : BoxState
        The boxes of all classes as one table, and where learning can go on from.

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

    C: float | Literal["auto"] = by_rule()
    D: float | Literal["auto"] = by_rule()
    regularizer: Literal["max", "sum"] = option(
        "max",
        "What large weights cost: the larger square of each interval's two ends (BoW-M), which "
        "makes centres exactly 0, or the sum of both (BoW-S), which is smooth.",
    )
    loss: Literal["hinge", "squared-hinge", "huber"] = option(
        "hinge",
        "What a margin below 1 costs: the distance, its square, or the distance with the kink "
        "rounded off between 1/2 and 3/2.",
    )
    solver: Literal["dual", "comid"] = option(
        "dual",
        "Dual coordinate ascent, which reaches the optimum, or the paper's stochastic method, "
        "which comes near it and has `partial_fit`.",
    )
    eta: float = option(
        20.0,
        "How far the first steps of solver='comid' go: what the gradient step of an example of "
        "average length would add to its margin. Steps become shorter, in the end as 1/(4Dt).",
        low=0.0,
    )
    tol: float = option(
        1e-3,
        "`fit` stops when the objective is proved to be within `tol` of the optimum, in units of "
        "the average loss.",
        low=0.0,
    )
    max_iter: int = option(
        1000,
        "How many rounds, each with one pass over all examples, `fit` makes at most; a "
        "ConvergenceWarning says that more are needed.",
        low=1,
    )
    fit_intercept: bool = option(
        True,
        "Whether to add a constant feature 1, which has its own interval in the box and costs like "
        "any other.",
    )
    warm_start: bool = option(
        False,
        "Whether `fit` begins where the last `fit` ended; useful along a path of C or D on the "
        "same examples. Where the numbers of examples, features or classes differ, it starts anew.",
    )
    random_state: int | np.random.RandomState | None = option(
        None,
        "The random seed, or a generator; a number makes every run the same.",
        low=0,
        high=2**32 - 1,
        none="another order each time.",
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        None,
        "A factor on the weight of each class's examples, by label; 'balanced' gives every class "
        "the same total weight in `fit`.",
        none="all classes weigh the same.",
    )
    dtype: Literal["float32", "float64"] = option(
        "float64",
        "The type of the numbers that X is read as and that weights are returned in; the box "
        "itself is always float64.",
    )

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
            How many times each example counts: 2 is the same as the example twice, and 0 leaves it
            out. The loss is averaged by weight, so that a common factor changes nothing but what
            "auto" takes for C and D.

        Returns
        -------
        self
            The fitted classifier.
        """
        owner, solver = type(self).__name__, self.make_solver()
        X, y = validate_rows(self, X, y, reset=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        weight = validate_weights(sample_weight, X.shape[0])
        weight = weight * choose_class_weights(self.class_weight, classes, y, owner)[codes]
        kept = np.flatnonzero(weight > 0)
        present = np.unique(codes[kept])
        if present.size < 2:
            held = (
                "no class" if not present.size else f"one class only, {show(classes[present][0])}"
            )
            raise DataError(
                f"{owner}.fit needs examples of two classes; those with a weight above 0 hold "
                f"{held}"
            )
        rows = as_rows(X)
        if kept.size < codes.size:
            rows, codes, weight = rows.take(kept), codes[kept], weight[kept]
        sample = Sample.of(rows, codes, weight, X.shape[1], solver.constant)
        solver = self.make_solver(sample)
        continues = (
            self.warm_start
            and self.__sklearn_is_fitted__()
            and np.array_equal(self.classes_, classes)
            and self.box_.table().shape[1] == X.shape[1] + 1
            and self.box_.constant == solver.constant
        )
        before = self.box_ if continues else None
        signs, rng = signs_of(sample.codes, classes.size), check_random_state(self.random_state)
        solve = self._fit_dual if self.solver == "dual" else self._fit_comid
        self.box_ = solve(solver, sample, signs, rng, before)
        self.classes_, self.C_, self.D_ = classes, solver.C, solver.D
        return self

    def _fit_dual(
        self, solver: BoxSolver, sample: Sample, signs: Floats, rng: Any, before: BoxState | None
    ) -> BoxState:
        """Solve the problem of every class against the rest; two classes have one problem."""
        begun = None if before is None else before.duals
        if begun is None or begun.shape != signs.shape:
            begun = np.zeros(signs.shape)
        found = [
            solver.solve(sample, sign, a, rng, self.tol, self.max_iter)
            for sign, a in zip(signs, begun, strict=True)
        ]
        self._set_results(
            [each.objective for each in found],
            [each.gap for each in found],
            max(each.passes for each in found),
        )
        boxes = np.array([each.box for each in found])
        duals = np.array([each.a for each in found]) if self.warm_start else None
        return BoxState(solver.constant, boxes, None, sample.summary(), duals)

    def _fit_comid(
        self,
        solver: BoxSolver,
        sample: Sample,
        signs: Floats,
        rng: Any,
        before: BoxState | None,
    ) -> BoxState:
        """Stochastic passes until the gap to the averaged dual is small."""
        if before is not None:
            stream = copy_of(before.continued())
        else:
            stream = solver.begin(sample.counts.size - 1, len(signs))
        stream = stream._replace(counts=sample.counts)
        count = len(sample.rows)
        stream.clocks[1], slopes = float(count), np.zeros(signs.shape)
        passes, look = 0, 1
        gaps = [np.inf]
        while passes < self.max_iter and max(gaps) > self.tol:
            passes += 1
            examples = StreamRows(sample.rows, sample.codes, sample.weight, rng.permutation(count))
            solver.descend(stream, examples, False, passes, slopes)
            if passes == look or passes == self.max_iter:
                look = max(look + 1, int(look * PATIENCE))
                held = 0.5 * passes * (passes + 1.0) * count
                boxes = averages(stream)
                found = [
                    solver.certify(sample, sign, a / held, box)
                    for sign, a, box in zip(signs, slopes, boxes, strict=True)
                ]
                gaps = [gap for _, _, gap in found]
        self._set_results([objective for _, objective, _ in found], gaps, passes)
        duals = np.array([a for a, _, _ in found]) if self.warm_start else None
        return BoxState(solver.constant, boxes, stream, sample.summary(), duals)

    def _set_results(self, objectives: list[float], gaps: list[float], passes: int) -> None:
        """Set what the solvers report, and warn where they have not converged."""
        single = len(gaps) == 1
        self.objective_ = objectives[0] if single else np.array(objectives)
        self.dual_gap_ = gaps[0] if single else np.array(gaps)
        self.n_iter_ = passes
        if max(gaps) > self.tol:
            warnings.warn(
                f"{type(self).__name__}: after max_iter={self.max_iter} rounds the objective may "
                f"be {max(gaps):.2g} above its optimum, more than tol={self.tol:g}. Raise "
                "max_iter, tol or D, scale the features, or choose loss='huber', which is easier "
                "to solve",
                ConvergenceWarning,
                stacklevel=4,
            )

    @offered_if(_streams)
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
            nothing is learned from rows before the second class arrives.
        sample_weight : array of shape (n_samples,), default=None
            How many times each example counts; 0 leaves it out.

        Returns
        -------
        self
            The classifier, further trained.
        """
        owner, solver = type(self).__name__, self.make_solver()
        check_stream_parameters(self)
        first = not self.__sklearn_is_fitted__()
        X, y = validate_rows(self, X, y, reset=first)
        known = y[:0] if first else self.classes_
        named = np.asarray([] if classes is None else classes)
        check_labels(y, known, owner)
        check_labels(y, named, owner)
        if not first and solver.constant != self.box_.constant:
            raise InvalidParameter(
                f"{owner}: fit_intercept was {bool(self.box_.constant)} before partial_fit and "
                f"is {bool(solver.constant)} now; fit anew, or change it back"
            )
        weight = validate_weights(sample_weight, X.shape[0], allow_zero=True)
        present, codes = np.unique(y, return_inverse=True)
        weight = weight * choose_class_weights(self.class_weight, present, y, owner)[codes]
        rows, kept = as_rows(X), np.flatnonzero(weight > 0).astype(np.int64)
        stream = solver.begin(X.shape[1], 1) if first else self.box_.continued()
        if not all(array.flags.writeable for array in stream):  # mapped from a file for reading
            stream = copy_of(stream)
        labels = np.unique(known)
        for label in np.setdiff1d(named, labels):
            labels, stream = _with_class(labels, label, stream, solver)
        while kept.size:
            unknown = np.flatnonzero(np.isin(y[kept], labels, invert=True))
            until = int(unknown[0]) if unknown.size else kept.size
            if labels.size > 1 and until:
                places = np.minimum(np.searchsorted(labels, y), labels.size - 1)
                examples = StreamRows(rows, places.astype(np.int64), weight, kept[:until])
                solver.descend(stream, examples)
            kept = kept[until:]
            if kept.size:
                labels, stream = _with_class(labels, y[kept[0]], stream, solver)
        before = BoxState(solver.constant) if first else self.box_
        self.classes_, self.C_, self.D_ = labels, solver.C, solver.D
        self.box_ = replace(before, boxes=None, stream=stream, duals=None)
        self.n_iter_ = getattr(self, "n_iter_", 1)
        for stale in ("objective_", "dual_gap_"):
            vars(self).pop(stale, None)
        return self

    # -- inside --------------------------------------------------------------------------------

    def make_solver(self, sample: Sample | None = None) -> BoxSolver:
        """The solver for the present parameters, all of which are checked here.

        ``"auto"`` is estimated from the `sample`; without one it is what it was before, if there
        was any, or the rule's default.
        """
        validate(self)
        owner, constant = type(self).__name__, float(bool(self.fit_intercept))
        rules = {rule.settings["regularizer"]: rule for rule in batch_rules().values()}
        rule = rules[self.regularizer]
        values = {
            each.name: each.check(getattr(self, each.name), owner) for each in rule.parameters
        }
        known = {name: vars(self)[f"{name}_"] for name in values if f"{name}_" in vars(self)}
        if sample is not None:
            known = estimate(sample.total, sample.length)
        values |= {name: known[name] for name in known if getattr(self, name) == "auto"}
        return BoxSolver(rule, values["C"], values["D"], self.eta, self.loss, self.dtype, constant)


def check_labels(y: NDArray[Any], others: NDArray[Any], owner: str) -> None:
    """Refuse numbers that are no labels, and text among numbers."""
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        raise ValueError(f"Unknown label type: continuous numbers such as {show(y[y % 1 != 0][0])}")
    if others.size and (others.dtype.kind in "USO") != (y.dtype.kind in "USO"):
        raise DataError(f"{owner}: labels are partly numbers and partly text")


def _with_class(
    labels: NDArray[Any], label: Any, stream: StreamArrays, solver: BoxSolver
) -> tuple[NDArray[Any], StreamArrays]:
    """One more class, in its place among the sorted ones; from the third on, each has a box."""
    labels = np.unique(np.append(labels, label))
    if labels.size == 3:
        stream = with_both_sides(stream)
    if labels.size >= 3:
        stream = with_column(stream, int(np.searchsorted(labels, label)), solver.start)
    return labels, stream
