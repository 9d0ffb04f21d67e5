"""Where rules and kernels meet to predict: scores, their deviations, and weights of a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sureline.errors import DataError
from sureline.features.rows import Rows
from sureline.kernels import arguments
from sureline.kernels.arguments import REAL, CustomRule, ModelArrays, custom_score, custom_update
from sureline.kernels.calibration import (
    CALIBRATE,
    COUNT_KNOWN,
    PRIOR_VARIANCE,
    SCALED,
)
from sureline.kernels.class_counts import WEIGH_ROWS
from sureline.kernels.compiling import pointer
from sureline.kernels.custom_rule import SCORE_CUSTOM
from sureline.kernels.full import SPREAD_FULL
from sureline.kernels.informed_prior import (
    OPEN_ENTRIES,
    SCORE_MANY,
    SCORE_TWO,
    open_buffers,
    rest_buffers,
    two_buffers,
)
from sureline.kernels.probability import BENDS, NODES, WEIGHTS, WIN
from sureline.kernels.scores import SCORE, SCORE_FULL, SCORE_FULL_ONE, SCORE_ONE, SPREAD
from sureline.model import Layout, State
from sureline.model.forgetting import forgetting
from sureline.model.matrices import FEWEST_FEATURES, spread_blocks
from sureline.model.sparse_scores import PairScores
from sureline.model.sparse_state import SparseState
from sureline.rules import OwnKernel, Rule

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A diagonal variance never falls below this share of the initial one.
FLOOR = 1e-12
NOTHING = np.zeros((0, 3))
INDEFINITE = (
    "the full covariance is no longer positive definite: its variances differ by more than float64 "
    "can hold. Scale the features to about 1, for example with "
    "sklearn.preprocessing.StandardScaler, or choose a diagonal covariance, and fit again"
)


class Known(NamedTuple):
    """For each row: how many features are known, Σx² of these, and Σx² of all.

    A feature is known if its variance differs from the initial one.
    """

    features: Floats
    part: Floats
    every: Floats

    @property
    def unknown(self) -> Floats:
        """The share of each row that is unknown; 1 if it is empty."""
        some = self.every > 0.0
        return np.where(some, 1.0 - self.part / np.where(some, self.every, 1.0), 1.0)


@dataclass(eq=False)
class Scorer:
    """A rule with its constants, a covariance and a type of number, ready to score rows.

    `parameters` are those of the rule. `dtype` is that of the rows, and of what is learned unless
    the covariance is full. An example is compared with so many `competitors` at most,
    and `scheme` says how the steps against several are combined. `weighting` and `normalize` are
    about texts: how class counts weight features, and whether rows are then scaled to length 1.
    With a `half_life`, what was learned counts half after so many more examples. `class_storage`
    says when weights are kept as pairs of feature and class.
    A model that is `calibrated` has a calibrator, which learns from a row before the model does;
    one that is `adaptive` estimates the rule's first constant from the rows. A `compact` one has a
    state that holds the weights themselves, and cannot learn. A `multilabel` one learns rows with
    sets of labels; the first column of its state belongs to no label. Products with full
    covariances are made on the `device`.
    """

    rule: Rule
    parameters: Mapping[str, float]
    covariance: str
    dtype: str
    fit_intercept: bool
    competitors: int
    scheme: str
    weighting: str | None = None
    normalize: bool = False
    calibrated: bool = False
    adaptive: bool = False
    compact: bool = False
    half_life: float | None = None
    multilabel: bool = False
    class_storage: str = "dense"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.compact and (self.rule.kernel is None or self.rule.kernel.linear):
            # What the rule or the prior would compute is what the state holds.
            self.rule = replace(self.rule, kernel=None, average=False)
        rule, covariance = self.rule, self.covariance
        self.constant = float(self.fit_intercept)
        self.constants = rule.constants(**self.parameters)
        self.p = np.array(self.constants, np.float64)
        self.initial_variance = float(self.parameters.get("initial_variance", 1.0))
        self.floor = FLOOR * self.initial_variance
        self.informed = self.weighting == "nb" and not self.compact
        if rule.kernel is not None:
            initial = tuple(rule.kernel.initial(*self.constants))
        elif covariance == "identity":
            initial = (0.0, 0.0) if rule.average else (0.0,)
        else:
            initial = (0.0, self.initial_variance)
        stamps = rule.kernel is not None and rule.kernel.stamps
        forgets = self.half_life is not None and not self.compact
        # Rank-one products are subtracted from a full covariance: in float32 its smallest variances
        # would soon be rounding errors, and negative.
        dtype = "float64" if covariance == "full" else self.dtype
        counting = None if self.weighting == "nb" and self.compact else self.weighting
        self.layout = Layout(
            rule.name,
            covariance,
            dtype,
            self.fit_intercept,
            initial,
            stamps or forgets,
            counting,
            self.normalize,
            self.multilabel,
        )
        self.forgetting = forgetting(self.layout, self.half_life or 0.0) if forgets else None
        self.pairs = PairScores(
            self.dtype, self.constant, self.informed, self.initial_variance, self.normalize,
            rule.average,
        )  # fmt: skip

    @property
    def has_variance(self) -> bool:
        """Whether there is a variance for every weight."""
        return self.layout.covariance != "identity"

    @cached_property
    def _custom(self) -> CustomRule:
        """The rule's own row functions, compiled."""
        kernel, real = cast(OwnKernel, self.rule.kernel), REAL[self.dtype]
        score = pointer(kernel.score, custom_score(real), kernel.inlined)
        update = pointer(kernel.update, custom_update(real), kernel.inlined)
        return CustomRule(score, update, self.p, self.constant)

    # -- rows ----------------------------------------------------------------------------------

    def weighted(self, state: State, rows: Rows) -> Rows:
        """Rows as they are scored: scaled by inverse document frequencies, if they are."""
        if state.layout.weighting != "idf":
            return rows
        if self.forgetting is not None:
            state, found = self.forgetting.read(state, rows)
            return Rows(found.indptr, rows.indices, self._weighted(state, found).data)
        return self._weighted(state, rows)

    def _weighted(self, state: State, rows: Rows) -> Rows:
        """The same for a state in which nothing is to be forgotten."""
        if state.layout.weighting != "idf":
            return rows
        if isinstance(state, SparseState):
            return self.pairs.weighted(state, rows)
        codes, order = np.zeros(0, np.int64), np.arange(len(rows))
        return self._weight_rows(state.writeable(), rows, codes, order, counting=False)

    def _weight_rows(
        self,
        state: State,
        rows: arguments.Rows,
        codes: Integers,
        order: Integers,
        counting: bool,
    ) -> Rows:
        """Rows scaled by inverse document frequencies, in `order`, and counted if `counting`."""
        values = np.zeros(int(rows.indptr[-1]), self.dtype)
        classes = slice(1 if self.multilabel else None)  # the first column counts all rows
        WEIGH_ROWS.loop(self.dtype)(
            rows,
            codes,
            order,
            state.class_counts,
            state.class_tokens[classes],
            counting,
            self.normalize,
            values,
        )
        return Rows(rows.indptr, rows.indices, values)

    # -- scores --------------------------------------------------------------------------------

    def scores(self, state: State, rows: Rows) -> Floats:
        """The mean scores of every row, by column; where two classes share one, of the second."""
        if self.forgetting is not None:
            state, rows = self.forgetting.read(state, rows)
        return self._scores(state, self._weighted(state, rows))

    def _scores(self, state: State, rows: Rows) -> Floats:
        """The same for weighted rows and a state in which nothing is to be forgotten."""
        if isinstance(state, SparseState):
            return self.pairs.scores(state, rows)
        out = np.empty((len(rows), state.used))
        if self.informed:
            self._score_informed(state, rows, out, out[:0])
        elif self.rule.kernel is not None:
            model = _readable(state)
            SCORE_CUSTOM.loop(self.dtype)(rows, model, self._custom, state.clock, out)
        else:
            shift = -1.0 / state.clock if self.rule.average and state.clock else 0.0
            kernel = SCORE if state.wide else SCORE_ONE
            if state.layout.covariance == "full":
                kernel = SCORE_FULL if state.wide else SCORE_FULL_ONE
            kernel.loop(self.dtype)(rows, state.table, self.constant, shift, out)
        return out

    def moments(self, state: State, rows: Rows, known: Floats = NOTHING) -> tuple[Floats, Floats]:
        """The mean scores of every row and their standard deviations, by column.

        `known`, if it has a row for each, gets the three numbers of `Known`.
        """
        if self.forgetting is not None:
            state, rows = self.forgetting.read(state, rows)
        if isinstance(state, SparseState):
            state, rows = state.part_of(rows)
        means, spread = np.empty((2, len(rows), state.used))
        if self.informed:
            self._score_informed(state, rows, means, spread, known)
            return means, np.sqrt(spread)
        rows = self._weighted(state, rows)
        means = self._scores(state, rows)
        if len(known):
            self._count_known(state, rows, known)
        if state.layout.covariance == "full":
            self._spread_full(state, rows, spread)
        else:
            SPREAD.loop(self.dtype)(rows, state.table, self.constant, spread)
        return means, spread

    def _spread_full(self, state: State, rows: Rows, spread: Floats) -> None:
        """Write the deviations of every row's scores with a full covariance."""
        parts = [slice(0, len(rows))]
        many = len(rows) > 1 and state.features >= FEWEST_FEATURES
        if many or state.is_on_device:
            matrices = state.matrices()
            odd = spread_blocks(matrices, rows, self.constant, self.dtype, spread)
            parts = [slice(row, row + 1) for row in np.flatnonzero(odd).tolist()]
        spread_full, scale_free = SPREAD_FULL.loop(self.dtype), bool(self.rule.scale_free)
        constant, buffer = self.constant, np.empty(state.features + 1)
        for part in parts:
            some = rows.part(part.start, part.stop)
            if not spread_full(some, state.covariance, constant, scale_free, buffer, spread[part]):
                raise DataError(INDEFINITE)

    def _score_informed(
        self,
        state: State,
        rows: Rows,
        means: Floats,
        variances: Floats,
        known: Floats = NOTHING,
    ) -> None:
        """The means and the variances of every row's scores under the informed prior."""
        model, inverse = _readable(state), 1.0 / self.initial_variance
        prior = float(state.calibrator[PRIOR_VARIANCE])
        if state.wide:
            wide = rest_buffers(rows.longest, means.shape[1], pooled=self.multilabel)
            SCORE_MANY.loop(self.dtype)(
                rows, model, inverse, self.constant, wide, means, variances, prior, known
            )
        else:
            two = two_buffers(rows.longest)
            SCORE_TWO.loop(self.dtype)(
                rows, model, inverse, self.constant, two, means, variances, prior, known
            )

    def _count_known(self, state: State, rows: Rows, out: Floats) -> None:
        """Count how much of every row is known; `rows` are weighted already."""
        table = state.table
        if state.covariance.size:
            variances = np.diagonal(state.covariance, axis1=1, axis2=2)
            table = np.repeat(variances.T[:, np.newaxis], 2, axis=1).astype(self.dtype)
        slot, prior = 1, float(state.calibrator[PRIOR_VARIANCE])
        if self.compact and not state.covariance.size:  # variances are rounded, and under a prior
            slot, prior = 0, 0.0
        COUNT_KNOWN.loop(self.dtype)(rows, table, slot, state.used, prior, out)

    def calibrate(
        self, state: State, scores: Floats, intercepts: Floats, known: Known, frequencies: Floats
    ) -> Floats:
        """Probabilities of classes from their scores, by the state's calibrator.

        `intercepts` are what the constant feature adds to the score of each class, `frequencies`
        the rows of each class.
        """
        if state.calibrator[SCALED]:
            part = np.where(known.part > 0.0, known.part, 1.0)[:, np.newaxis]
            scores = intercepts + (scores - intercepts) / np.sqrt(part)
        out, parts = np.empty(scores.shape), np.empty((4, scores.shape[1]))
        CALIBRATE.compiled("float64")(
            np.ascontiguousarray(scores),
            np.ascontiguousarray(known.features),
            state.calibrator,
            np.ascontiguousarray(frequencies),
            parts,
            out,
        )
        return out

    # -- weights -------------------------------------------------------------------------------

    def _informed_weights(self, state: State, rows: NDArray[Any] | None = None) -> Floats:
        """Means and variances of the weights in some rows or all, under the informed prior."""
        numbers = np.arange(state.features + 1) if rows is None else np.asarray(rows, np.int64)
        out = np.empty((numbers.size, 2, state.used))
        buffers = open_buffers(state.used, self.multilabel)
        OPEN_ENTRIES.loop(self.dtype)(
            numbers, _readable(state), 1.0 / self.initial_variance, buffers, out
        )
        return out

    def variances(self, state: State, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The variances of the weights, by column, as `weights` gives the weights."""
        if self.forgetting is not None:
            state, rows = self.forgetting.read_table(state, rows)
        if isinstance(state, SparseState):
            state, rows = state.part_table(rows)
        chosen: Any = slice(None) if rows is None else rows
        if state.covariance.size:
            diagonals = np.diagonal(state.covariance[: state.used], axis1=1, axis2=2)
            return np.asarray(diagonals.T[chosen])
        if self.informed:
            variances = np.asarray(self._informed_weights(state, rows)[:, 1], self.dtype)
            # Rounding may leave less than 0 where they are huge.
            return np.asarray(np.maximum(variances, 0.0))
        return np.asarray(state.table[chosen, 1, : state.used])

    def weights(self, state: State, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The linear weights, by column, of some rows of the table or of all; row 0 is the 1's."""
        if self.forgetting is not None:
            state, rows = self.forgetting.read_table(state, rows)
        if isinstance(state, SparseState):
            state, rows = state.part_table(rows)
        if self.rule.kernel is not None:
            weights = self._custom_weights(state, rows)
        elif self.informed:
            weights = self._informed_weights(state, rows)[:, 0]
        else:
            chosen: Any = slice(None) if rows is None else rows
            weights = state.table[chosen, 0]
            if self.rule.average and state.clock:
                weights = weights.astype(np.float64) - state.table[chosen, 1] / state.clock
        weights = weights[:, : state.used] + 0.0  # no negative zeros
        return np.asarray(weights, self.layout.dtype)

    def _custom_weights(self, state: State, rows: NDArray[Any] | None) -> NDArray[Any]:
        """The weights of a rule with its own row functions, which takes row 0 for the constant."""
        kernel, columns = cast(OwnKernel, self.rule.kernel), state.used
        added = rows is not None and (not rows.size or rows[0] != 0)
        every: Any = np.concatenate([[0], rows]) if added else slice(None) if rows is None else rows
        table = state.table[every, :, :columns].astype(np.float64)
        last_changed = state.last_changed[every] if kernel.stamps else np.zeros((1, columns))
        return custom_weights(kernel, table, last_changed, state.clock, self.p)[int(added) :]


def custom_weights(
    kernel: OwnKernel, table: Floats, last_changed: NDArray[Any], clock: int, p: Floats
) -> Floats:
    """The weights in some rows of a custom rule's table, the first of which is the constant's."""
    columns = range(table.shape[2])
    weights = [kernel.weights(table[:, :, k], last_changed[:, k], clock, p) for k in columns]
    return np.stack(weights, axis=1)


def _readable(state: State) -> ModelArrays:
    """The arrays of a state, for loops that only read them."""
    return ModelArrays(
        state.table,
        state.covariance,
        state.last_changed,
        state.counts,
        state.class_counts,
        state.class_tokens[: state.classes],
        state.calibrator,
        state.noise_sums,
        state.outcomes,
        state.novelty,
    )


def chances(mean: Floats, deviation: Floats) -> Floats:
    """The probability of each of many classes to have the highest score, by quadrature."""
    out = np.empty(mean.shape)
    WIN.compiled("float64")(
        np.ascontiguousarray(mean), np.ascontiguousarray(deviation), NODES, WEIGHTS, BENDS, out
    )
    return out


def two_chances(mean: Floats, deviation: Floats) -> Floats:
    """The same for two classes, which share one score."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(mean == 0, 0.0, mean / deviation)
    return np.column_stack([ndtr(-z), ndtr(z)])
