"""Where the rule of a box and its kernels meet: the exact solver and the stochastic one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError
from sureline.estimators.box.state import Floats
from sureline.features.rows import Rows
from sureline.kernels.box.solvers import (
    ASCEND,
    CERTIFY,
    COST,
    DESCEND,
    GATHER,
    INTERVAL,
    SPREAD_BOX,
    UNFOLD,
    WEIGH,
    DualProblem,
    DualRows,
    StreamArrays,
    StreamProblem,
    StreamRows,
)
from sureline.kernels.compiling import pointer
from sureline.rules import BatchRule
from sureline.rules.box.problem import LOSSES

Integers = NDArray[np.int64]

# After a pass over all examples, so many over those that are neither at 0 nor at their cap.
INNER = 5
# That, and an extrapolation, more than once in samples so small that it costs nothing.
TURNS = 5
SMALL = 500

TOO_LARGE = (
    "the numbers in X are too large: a margin is no longer finite. Scale the features, for "
    "instance with sklearn.preprocessing.MaxAbsScaler"
)


@dataclass(frozen=True)
class Sample:
    """Rows, all different, with the codes of their classes and their weights, all above 0.

    Equal rows of one class are one row with the sum of their weights, and the order of rows depends
    on the rows alone: a weight of 2 is the same as the row twice, to the bit.
    """

    rows: Rows
    codes: Integers
    weight: Floats  # 1 on average
    total: float  # how many examples the rows stand for: the sum of the weights that were given
    counts: Floats  # by feature, the weight of the rows that have it; first the constant one
    norms: Floats  # by row, squared, with the constant feature
    constant: float

    @classmethod
    def of(
        cls, rows: Rows, codes: Integers, weight: Floats, features: int, constant: float
    ) -> Sample:
        """Add up equal rows, and count the features."""
        rows, codes, weight = merge_equal(rows, codes, weight)
        total, sizes = float(weight.sum()), np.diff(rows.indptr)
        weight = weight * (len(rows) / total)
        counts = np.empty(features + 1)
        counts[0] = constant * weight.sum()
        counts[1:] = np.bincount(rows.indices, np.repeat(weight, sizes), features)
        norms = np.full(len(rows), constant)
        with np.errstate(over="ignore"):
            squares = np.square(rows.data, dtype=np.float64)
            norms[sizes > 0] += np.add.reduceat(squares, rows.indptr[:-1][sizes > 0])
        if not np.isfinite(norms).all():
            raise DataError(TOO_LARGE)
        return cls(rows, codes, weight, total, counts, norms, constant)

    @cached_property
    def touched(self) -> Integers:
        """The features that occur, the constant one among them."""
        return np.flatnonzero(self.counts).astype(np.int64)

    @property
    def length(self) -> float:
        """The average length of the rows, without the constant feature; 1 if all are empty."""
        return float(np.average(np.sqrt(self.norms - self.constant), weights=self.weight)) or 1.0

    def summary(self) -> tuple[float, float, Floats]:
        """The number of rows, the sum of their lengths and the counts by feature."""
        return float(len(self.rows)), float(self.weight @ np.sqrt(self.norms)), self.counts


def merge_equal(rows: Rows, codes: Integers, weight: Floats) -> tuple[Rows, Integers, Floats]:
    """The different rows of each class, in an order of their own, and the sums of their weights."""
    indices, data = rows.indices, rows.data
    keys = [
        blake2b(
            indices[begin:end].tobytes() + data[begin:end].tobytes() + code.to_bytes(8),
            digest_size=16,
        ).digest()
        for begin, end, code in zip(rows.indptr[:-1], rows.indptr[1:], codes.tolist(), strict=True)
    ]
    _, first, place = np.unique(np.array(keys), return_index=True, return_inverse=True)
    return rows.take(first), codes[first], np.bincount(place, weight).astype(np.float64)


@dataclass(frozen=True)
class Solution:
    """A box, the dual point that bounds its distance from the optimum, and the values of both."""

    box: Floats
    a: Floats
    objective: float
    gap: float
    passes: int


@dataclass(frozen=True)
class BoxSolver:
    """A rule with its parameters, a loss and a kind of number, ready to solve."""

    rule: BatchRule
    C: float
    D: float
    eta: float
    loss: str
    dtype: str
    constant: float  # 1.0 with an intercept, else 0.0

    @cached_property
    def _problem(self) -> DualProblem:
        primal = pointer(self.rule.primal, INTERVAL, self.rule.inlined)
        cost = pointer(self.rule.cost, COST, self.rule.inlined)
        level = LOSSES[self.loss][0]
        return DualProblem(primal, cost, self.C, self.D, level, self.constant)

    @property
    def start(self) -> tuple[float, float]:
        """The interval of a feature that no example has touched."""
        return 0.0, self.rule.start(self.C, self.D)

    def fresh_box(self, features: int) -> Floats:
        """A box that has seen nothing."""
        return np.tile(np.array(self.start), (features + 1, 1))

    # -- the exact solver ----------------------------------------------------------------------

    def solve(
        self,
        sample: Sample,
        sign: Floats,
        a: Floats,
        rng: np.random.RandomState,
        tol: float,
        max_iter: int,
    ) -> Solution:
        """Dual coordinate ascent from `a` until the duality gap is at most `tol`."""
        examples = self._examples(sample, sign)
        cap = examples.cap
        a = np.clip(a, 0.0, cap)
        dual, box = self._gather(sample, sign, a), self.fresh_box(sample.counts.size - 1)
        objective, gap, rounds = np.inf, np.inf, 0
        while rounds < max_iter and gap > tol:
            rounds += 1
            order = rng.permutation(sign.size)
            seen = self._ascend(sample, examples, order, a, dual, np.empty((1, 0)))
            if seen <= tol or rounds == max_iter:
                dual = self._gather(sample, sign, a)
                UNFOLD.loop(self.dtype)(sample.touched, self._problem, dual, box)
                objective, gap = self._certify(sample, examples, a, dual, box)
            turns = 0 if gap <= tol or rounds == max_iter else 1 if order.size > SMALL else TURNS
            for _ in range(turns):
                free = order[(a[order] > 0.0) & (a[order] < cap[order])]
                if not free.size:
                    break
                trail = np.empty((INNER + 1, a.size))
                trail[0] = a
                self._ascend(sample, examples, free, a, dual, trail[1:])
                a, dual = self._leap(sample, examples, trail, dual)
        return Solution(box, a, objective, gap, rounds)

    def _examples(self, sample: Sample, sign: Floats) -> DualRows:
        """The sample with the cap and the κ of every example in the average loss."""
        _, kappa, cap = LOSSES[self.loss]
        share = sample.weight / sample.weight.sum()
        return DualRows(sample.rows, sign, cap * share, kappa / share)

    def _ascend(
        self,
        sample: Sample,
        examples: DualRows,
        order: Integers,
        a: Floats,
        dual: Floats,
        trail: Floats,
    ) -> float:
        """A pass over the examples in `order` for each row of `trail`; see the kernel."""
        curvature = sample.norms * self.rule.steepest(self.D) + examples.kappa
        ascend = ASCEND.loop(self.dtype)
        seen = float(ascend(examples, self._problem, curvature, order, a, dual, trail))
        if not np.isfinite(seen):
            raise DataError(TOO_LARGE)
        return seen

    def _leap(
        self, sample: Sample, examples: DualRows, trail: Floats, dual: Floats
    ) -> tuple[Floats, Floats]:
        """Extrapolate the last passes, if that leads higher than they do (Anderson acceleration).

        On one face of the feasible points passes in a fixed order are nearly a linear map, whose
        fixed point is a combination of the points on the way.
        """
        last, steps = trail[-1].copy(), np.diff(trail, axis=0)
        square = steps @ steps.T
        square[np.diag_indices_from(square)] += 1e-10 * np.trace(square)
        try:
            shares = np.linalg.solve(square, np.ones(len(steps)))
        except np.linalg.LinAlgError:
            return last, dual
        far = np.clip((shares / shares.sum()) @ trail[1:], 0.0, examples.cap)
        if not np.isfinite(far).all():
            return last, dual
        there = self._gather(sample, examples.sign, far)
        # The difference of the two values, but for the features that no example touches.
        higher = LOSSES[self.loss][0] * (far - last).sum()
        higher -= 0.5 * examples.kappa @ (np.square(far) - np.square(last))
        higher += WEIGH.loop(self.dtype)(sample.touched, self._problem, there, dual)
        return (far, there) if higher > 0.0 else (last, dual)

    def _gather(self, sample: Sample, sign: Floats, a: Floats) -> Floats:
        """The dual sums of every feature at `a`; see the kernel."""
        dual = np.zeros((sample.counts.size, 2))
        GATHER.loop(self.dtype)(sample.rows, sign, a, self.constant, dual)
        return dual

    def _certify(
        self, sample: Sample, examples: DualRows, a: Floats, dual: Floats, box: Floats
    ) -> tuple[float, float]:
        """The objective at `box` and how far it is, at most, above the optimum."""
        out = np.empty(3)
        CERTIFY.loop(self.dtype)(examples, self._problem, sample.touched, a, dual, box, out)
        if not np.isfinite(out).all():
            raise DataError(TOO_LARGE)
        features = sample.counts.size - 1 + int(self.constant)
        untouched = self.rule.cost(*self.start, self.C, self.D)
        untouched *= features - sample.touched.size
        return float(out[0] + out[1] + untouched), max(0.0, float(out[2]))

    # -- the stochastic solver -----------------------------------------------------------------

    def begin(self, features: int, columns: int) -> StreamArrays:
        """A stream that has seen nothing."""
        boxes = np.tile(self.fresh_box(features), (columns, 1, 1))
        counts, stamps = np.zeros(features + 1), np.zeros(features + 1)
        return StreamArrays(np.zeros(3), counts, stamps, boxes, np.zeros_like(boxes))

    def descend(
        self,
        stream: StreamArrays,
        examples: StreamRows,
        counting: bool = True,
        turn: int = 1,
        slopes: Floats | None = None,
    ) -> None:
        """One step per example, in order; see the kernel."""
        level, kappa, cap = LOSSES[self.loss]
        prox = pointer(self.rule.prox, INTERVAL, self.rule.inlined)
        problem = StreamProblem(prox, self.C, self.D, self.eta, level, kappa, cap, self.constant)
        collected = np.zeros((0, 0)) if slopes is None else slopes
        descend = DESCEND.loop(self.dtype)
        failed = descend(examples, problem, counting, float(turn), stream, collected)
        if failed >= 0:
            raise DataError(f"row {failed}: {TOO_LARGE}")

    def certify(
        self, sample: Sample, sign: Floats, slopes: Floats, box: Floats
    ) -> tuple[Floats, float, float]:
        """A dual point from averaged slopes, the objective at `box` and the gap between them."""
        examples = self._examples(sample, sign)
        a = np.clip(slopes, 0.0, examples.cap)
        dual = self._gather(sample, sign, a)
        return (a, *self._certify(sample, examples, a, dual, box))


def spread(rows: Rows, boxes: Floats, constant: float) -> tuple[Floats, Floats]:
    """x·μ and |x|·σ of every row, by class; `boxes` has their centres and half widths."""
    means, reach = np.empty((len(rows), len(boxes))), np.empty((len(rows), len(boxes)))
    SPREAD_BOX.loop(rows.data.dtype.name)(rows, boxes, constant, means, reach)
    return means, reach
