"""Where rules and kernels meet: one object that learns rows into a state and scores them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError, InvalidParameter
from sureline.estimators.rows import Rows
from sureline.kernels.compiling import EXACT, REAL, STEP, compiled, own_score, own_update
from sureline.kernels.diagonal import LEARN_DIAGONAL, LEARN_EXACT
from sureline.kernels.full import LEARN_FULL, SPREAD_FULL
from sureline.kernels.own import LEARN_OWN, SCORE_OWN
from sureline.kernels.scoring import SCORE, SPREAD
from sureline.kernels.spherical import LEARN_SPHERICAL
from sureline.model import Layout, State
from sureline.rules import OwnKernel, Rule

Floats = NDArray[np.float64]

# A diagonal variance never falls below this share of the initial one, nor one on the diagonal of a
# full covariance below the second; a scale-free full covariance is rescaled at the third.
FLOOR = 1e-12
FULL_FLOOR = 1e-30
RESCALE = 1e-20


class Learner:
    """A rule with its constants, a covariance and a kind of number, ready to learn two classes."""

    def __init__(
        self,
        rule: Rule,
        parameters: Mapping[str, float],
        covariance: str,
        dtype: str,
        fit_intercept: bool,
    ) -> None:
        self.rule = rule
        self.dtype = dtype
        self.constant = float(fit_intercept)
        self.constants = rule.constants(**parameters)
        self.a, self.b = (*self.constants, 0.0, 0.0)[:2]
        self.p = np.array(self.constants, np.float64)
        self.initial_variance = float(parameters.get("initial_variance", 1.0))
        if rule.kernel is not None:
            initial = tuple(rule.kernel.initial(*self.constants))
        elif covariance == "identity":
            initial = (0.0, 0.0) if rule.average else (0.0,)
        else:
            initial = (0.0, self.initial_variance)
        stamps = rule.kernel is not None and rule.kernel.stamps
        self.layout = Layout(rule.name, covariance, dtype, fit_intercept, initial, stamps)

    @cached_property
    def _step(self) -> Any:
        return compiled(self.rule.step, STEP)

    def _own(self, kernel: OwnKernel) -> tuple[Any, Any]:
        """The rule's own score and update, compiled."""
        real = REAL[self.dtype]
        return (
            compiled(kernel.score, own_score(real), kernel.inlined),
            compiled(kernel.update, own_update(real), kernel.inlined),
        )

    def learn(
        self,
        state: State,
        rows: Rows,
        sign: Floats,
        weight: Floats,
        order: NDArray[np.int64],
    ) -> None:
        """Learn the rows named by `order`, one after the other."""
        examples = (*rows, sign, weight, order)
        table = state.table[:, :, 0]
        share = self.rule.weight == "share"
        floor = FLOOR * self.initial_variance
        failed: int
        if self.rule.kernel is not None:
            score, update = self._own(self.rule.kernel)
            failed = LEARN_OWN.compiled(self.dtype)(
                *examples,
                state.table,
                state.stamps,
                state.clock,
                self.constant,
                self.p,
                score,
                update,
                state.counts,
            )
        elif state.layout.covariance == "identity":
            failed = LEARN_SPHERICAL.compiled(self.dtype)(
                *examples,
                table,
                self.constant,
                self._step,
                self.a,
                self.b,
                self.rule.average,
                state.clock,
                state.counts,
            )
        elif state.layout.covariance == "full":
            size = state.table.shape[0]
            failed = LEARN_FULL.compiled(self.dtype)(
                *examples,
                table[:, 0],
                state.covariance[0],
                self.constant,
                self._step,
                self.a,
                self.b,
                share,
                FULL_FLOOR * self.initial_variance,
                RESCALE * self.initial_variance if self.rule.scale_free else 0.0,
                np.empty(size),
                np.empty(size, self.dtype),
                state.counts,
            )
        elif state.layout.covariance == "diagonal-exact":
            failed = LEARN_EXACT.compiled(self.dtype)(
                *examples,
                table,
                self.constant,
                self._step,
                compiled(self.rule.exact, EXACT),
                self.a,
                self.b,
                share,
                floor,
                np.empty(rows.longest + 1),
                state.counts,
            )
        else:
            failed = LEARN_DIAGONAL.compiled(self.dtype)(
                *examples,
                table,
                self.constant,
                self._step,
                self.a,
                self.b,
                share,
                state.layout.covariance == "diagonal-l2",
                floor,
                np.empty(rows.longest),
                state.counts,
            )
        state.clock += order.size
        state.counts[2] += order.size
        if failed >= 0:
            raise DataError(
                f"learning row {failed} overflowed {self.dtype}: its values, or those of rows "
                "before it, are too large or too small; scale the features to about 1, for "
                "example with sklearn.preprocessing.MaxAbsScaler, and fit again"
            )

    def scores(self, state: State, rows: Rows) -> Floats:
        """The mean score of every row; positive speaks for the second class."""
        out = np.empty(len(rows))
        if self.rule.kernel is not None:
            score, _ = self._own(self.rule.kernel)
            SCORE_OWN.compiled(self.dtype)(
                *rows,
                state.table,
                state.stamps,
                state.clock,
                self.constant,
                self.p,
                score,
                out,
            )
        else:
            shift = -1.0 / state.clock if self.rule.average and state.clock else 0.0
            SCORE.compiled(self.dtype)(*rows, state.table[:, :, 0], self.constant, shift, out)
        return out

    def deviations(self, state: State, rows: Rows) -> Floats:
        """The standard deviation of every row's score."""
        out = np.empty(len(rows))
        if state.layout.covariance == "full":
            room = np.empty(state.table.shape[0])
            SPREAD_FULL.compiled(self.dtype)(*rows, state.covariance[0], self.constant, room, out)
        else:
            SPREAD.compiled(self.dtype)(*rows, state.table[:, :, 0], self.constant, out)
        return out

    def weights(self, state: State) -> NDArray[Any]:
        """The linear weights, row 0 the intercept's, one column a weight vector."""
        if self.rule.kernel is not None:
            columns = range(state.table.shape[2])
            skipped = state.stamps if self.rule.kernel.stamps else np.zeros((1, len(columns)))
            weights = np.stack(
                [
                    self.rule.kernel.weights(
                        state.table[:, :, k].astype(np.float64), skipped[:, k], state.clock, self.p
                    )
                    for k in columns
                ],
                axis=1,
            )
        elif self.rule.average and state.clock:
            weights = state.table[:, 0].astype(np.float64) - state.table[:, 1] / state.clock
        else:
            weights = state.table[:, 0]
        return np.asarray(weights + 0.0, self.dtype)  # + 0.0: no negative zeros


def choose_covariance(rule: Rule, covariance: str | None, owner: str) -> str:
    """The covariance to keep, or an error that names those the rule has."""
    if covariance is None:
        return "identity"
    if covariance not in rule.covariances:
        allowed = ", ".join(repr(name) for name in rule.covariances)
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} has no covariance={covariance!r}; "
            f"choose one of {allowed}"
        )
    return covariance
