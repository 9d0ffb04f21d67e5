"""Scores from pairs of feature and class, and what else is read of all pairs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.features.rows import Rows
from sureline.kernels.calibration import PRIOR_VARIANCE
from sureline.kernels.class_counts import WEIGH_ROWS
from sureline.kernels.sparse_classes import OPEN_PAIRS, SCORE_PAIRS, SPREAD_PAIRS, shares_of
from sureline.model.sparse_state import SparseState

Floats = NDArray[np.float64]
NO_TOKENS, NO_CODES, NOTHING = np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((0, 3))


class PairScores(NamedTuple):
    """What scores depend on besides a state: some of the fields of `Scorer`."""

    dtype: str
    constant: float
    informed: bool
    initial_variance: float
    normalize: bool
    average: bool

    def scores(self, state: SparseState, rows: Rows, known: Floats = NOTHING) -> Floats:
        """The mean scores of every row, by column.

        `known`, if it has a row for each, gets the three numbers of `scorer.Known`.
        """
        out = np.empty((len(rows), state.used))
        shift = -1.0 / state.clock if self.average and state.clock else 0.0
        SCORE_PAIRS.loop(self.dtype)(
            rows,
            state.table,
            state.pairs,
            state.class_tokens,
            self.informed,
            1.0 / self.initial_variance,
            self.constant,
            shift,
            float(state.calibrator[PRIOR_VARIANCE]),
            shares_of(state.used),
            out,
            known,
        )
        return out

    def spread(self, state: SparseState, rows: Rows, columns: NDArray[np.int64]) -> Floats:
        """The standard deviation of the score of one class of every row, that in `columns`."""
        out = np.empty(len(rows))
        SPREAD_PAIRS.loop(self.dtype)(
            rows,
            state.table,
            state.pairs,
            state.class_tokens,
            state.used,
            self.informed,
            1.0 / self.initial_variance,
            self.constant,
            self.initial_variance,
            np.ascontiguousarray(columns, np.int64),
            shares_of(state.used),
            out,
        )
        return np.asarray(np.sqrt(out))

    def weighted(
        self,
        state: SparseState,
        rows: Rows,
        order: NDArray[np.int64] | None = None,
        counting: bool = False,
    ) -> Rows:
        """Rows scaled by inverse document frequencies, in `order`, and counted if `counting`."""
        values = np.zeros(int(rows.indptr[-1]), self.dtype)
        some = np.arange(len(rows)) if order is None else order
        codes = np.zeros(len(rows) if counting else 0, np.int64)
        totals, tokens = state.pairs.totals, NO_TOKENS.copy()
        if not totals.flags.writeable:
            totals = totals.copy()
        WEIGH_ROWS.loop(self.dtype)(
            rows, codes, some, totals, tokens, counting, self.normalize, values
        )
        return Rows(rows.indptr, rows.indices, values)

    def weight_size(self, state: SparseState) -> float:
        """The number that `outcomes.weight_size` has of a dense state, up to rounding."""
        row, place = state.expanded()
        weights = state.pairs.values[place, 0].astype(np.float64)
        if self.informed:
            OPEN_PAIRS.loop(self.dtype)(
                row,
                place.astype(np.int64),
                state.pairs,
                state.class_tokens,
                state.used,
                1.0 / self.initial_variance,
                shares_of(state.used),
                weights,
            )
        elif self.average and state.clock:
            weights -= state.pairs.values[place, 1] / state.clock
        weights = weights.astype(state.layout.dtype).astype(np.float64)
        size = state.features + 1
        sums = np.bincount(row, weights, size)
        squares = np.bincount(row, weights * weights, size) - sums * sums / state.used
        if state.layout.counted:
            rows = state.pairs.totals[:, 0].astype(np.float64)
            squares *= np.square(rows - 1.0) / np.maximum(rows, 1.0)
        return float(np.sqrt(max(np.cumsum(squares[1:])[-1], 0.0))) if size > 1 else 0.0
