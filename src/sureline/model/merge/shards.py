"""Rejoining: one state again from copies of it that each learned a part of the examples.

All copies begin a round as the same Gaussian, with mean μ₀ and precision P₀. Copy c ends it with
μ_c and P_c. P is the precision that a model begins with, before it has learned anything.

- Precisions add up: P' = P₀ + Σ (P_c − P₀).
- Moves are weighed by precision, the prior counted once, over the copies that have moved a weight:
  μ' = μ₀ + (P + Σ (P_c − P))⁻¹ Σ P_c (μ_c − μ₀). So a weight that one copy alone has moved ends
  where that one has moved it, and a first round gives the product of the copies with one prior.

Later rounds are where this differs from the product: that would take the moves of all copies one
after the other, whatever P₀ has come to, and n copies that each correct the same mistake would
overshoot n times, further each round.

Counts of rows by feature and class add up, too.

Rules without variances average the moves of the copies that made one; sums that a rule keeps, such
as of squared gradients, add up, and so do clocks and counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sureline.kernels.shard_merge import FIND_MOVED, REJOIN_ROWS
from sureline.model.merge.counts import count_more, merge_curves
from sureline.model.merge.states import Floats, Indices, Learning, invert, table_rows
from sureline.model.state import State
from sureline.rules import OwnKernel

# Runs a function on each of some things, in threads, and gives the results in order.
Run = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
CHUNK = 2**15  # weights worked on at a time
PARTS = 4  # a job gets so many parts of a table, so that none waits long for the last


class ShardStates:
    """Copies of one state, to be learned into by one thread each, and rejoined.

    Parameters
    ----------
    state : State
        What all of them begin as; rejoining changes it.
    many : int
        How many.
    run : function
        How to do parts of the work side by side: ``run(function, things)``.
    learned : list of (State, array of int or None), default=None
        States that have learned already, and which feature of `state` each of their features is,
        or None if they have the same numbers; other features are as in `state`. Without it,
        nothing has been learned yet.

    Attributes
    ----------
    states : list of State
        The copies. Their tables lie in one array.
    """

    def __init__(
        self,
        state: State,
        many: int,
        run: Run,
        learned: Sequence[tuple[State, Indices | None]] | None = None,
    ) -> None:
        self.state, self.run = state, run
        self._tables: NDArray[Any] = np.empty((many, *state.table.shape), state.table.dtype)

        def copy(number: int) -> State:
            table = self._tables[number]
            same = 0  # so many rows would be overwritten at once
            if learned is not None and learned[number][1] is None:
                same = learned[number][0].table.shape[0]
            table[same:] = state.table[same:]
            made = state.copy(table)
            if learned is not None:
                _fill(made, *learned[number])
            return made

        self.states: list[State] = run(copy, range(many))

    def merge(self, learner: Learning, floor: float) -> None:
        """Let the state have all that its copies have learned; then all are the same again.

        Parameters
        ----------
        learner : Learner
            What the copies were learned by.
        floor : float
            No variance is to fall below this.
        """
        state, layout, rule = self.state, learner.layout, learner.rule
        clock = state.clock + sum(copy.clock - state.clock for copy in self.states)
        counts = state.counts + sum(copy.counts - state.counts for copy in self.states)
        if layout.covariance == "full":
            self._merge_full(layout.initial[1])
        elif rule.kernel is not None or rule.average:
            self._merge_sums(learner, clock)
        else:
            self._merge_rows(learner, floor)
        self._merge_counts()
        state.clock, state.counts = clock, counts
        state.used = max(state.used, *(copy.used for copy in self.states))
        for copy in self.states:
            copy.clock, copy.counts, copy.used = clock, counts.copy(), state.used

    def _merge_counts(self) -> None:
        """Add up what was counted of rows and of errors, and agree on a curve."""
        state = self.state
        if state.layout.counted:
            added = sum(each.tallies.astype(np.int64) - state.tallies for each in self.states)
            count_more(state.tallies, ..., added)
            state.tokens[:] += sum(each.tokens - state.tokens for each in self.states)
        state.errors[:] += sum(each.errors - state.errors for each in self.states)
        moved = [each.curve for each in self.states if (each.curve != state.curve).any()]
        if moved:
            state.curve[:] = merge_curves(moved)
        for each in self.states:
            each.tallies[:], each.tokens[:] = state.tallies, state.tokens
            each.curve[:], each.errors[:] = state.curve, state.errors

    def _parts(self) -> list[range]:
        """The rows of the table, cut into parts that keep all jobs busy."""
        cuts = np.linspace(0, self.state.table.shape[0], PARTS * len(self.states) + 1).astype(int)
        return [range(a, b) for a, b in pairwise(cuts.tolist()) if a < b]

    def _merge_rows(self, learner: Learning, floor: float) -> None:
        """Rejoin means, or means and variances."""
        table, layout = self.state.table, learner.layout
        prior = 0.0 if layout.covariance == "identity" else 1.0 / layout.initial[1]
        rejoin_rows = REJOIN_ROWS.compiled(layout.dtype)
        # Rows are compared as whole words, since most of them have not been moved.
        kind, word = ("float64", np.uint64) if table[0].nbytes % 8 == 0 else ("float32", np.uint32)
        find_moved = FIND_MOVED.compiled(kind)
        step = max(1, CHUNK // table.shape[2])

        def rejoin(part: range) -> None:
            for begin in range(part.start, part.stop, step):
                rows = slice(begin, min(begin + step, part.stop))
                here, copies = table[rows], self._tables[:, rows]
                moved = np.zeros(len(here), np.uint8)
                for copy in copies:
                    find_moved(_words(here, word), _words(copy, word), moved)
                rejoin_rows(here, copies, moved, prior, floor)

        self.run(rejoin, self._parts())

    def _merge_sums(self, learner: Learning, clock: int) -> None:
        """Rejoin what an averaged perceptron or a rule with its own kernel keeps."""
        kernel, state = learner.rule.kernel, self.state
        step = max(1, CHUNK // state.table.shape[2])

        def rejoin(part: range) -> None:
            for begin in range(part.start, part.stop, step):
                rows = np.arange(begin, min(begin + step, part.stop))
                if kernel is None:
                    _merge_averaged(state, self.states, rows, clock)
                else:
                    _merge_own(kernel, learner.p, state, self.states, rows, clock)
                for copy in self.states:
                    copy.table[rows] = state.table[rows]
                    if state.stamps.size:
                        copy.stamps[rows] = state.stamps[rows]

        # Rules look at row 0 of every part, which is rejoined last, when nobody does.
        first, *others = self._parts()
        self.run(rejoin, [*others, range(1, first.stop)])
        rejoin(range(1))

    def _merge_full(self, variance: float) -> None:
        """Rejoin means and covariances, a column at a time."""
        state = self.state

        def rejoin(column: int) -> None:
            pairs = [
                (each.table[:, 0, column], each.covariance[column])
                for each in (state, *self.states)
            ]
            (before, spread), *others = [(m.astype(float), S.astype(float)) for m, S in pairs]
            moved = [
                (m, S)
                for m, S in others
                if not (np.array_equal(m, before) and np.array_equal(S, spread))
            ]
            if moved:
                one = len(moved) == 1
                mean, covariance = moved[0] if one else _combine(variance, before, spread, moved)
                for m, S in pairs:
                    m[:], S[:] = mean, covariance

        self.run(rejoin, range(state.table.shape[2]))


def _words(rows: NDArray[Any], word: Any) -> NDArray[Any]:
    """The bytes of rows as words, a row each."""
    return rows.reshape(len(rows), -1).view(word)


def _fill(copy: State, learned: State, places: Indices | None) -> None:
    """Put what was learned into a copy, each feature where it has its place."""
    if places is None:
        many = learned.table.shape[0]
        copy.table[:many] = learned.table
        copy.tallies[:many] = learned.tallies
        if copy.stamps.size:
            copy.stamps[:many] = learned.stamps
        if copy.covariance.size:
            copy.covariance[:, :many, :many] = learned.covariance
    else:
        rows = table_rows(places)
        many = rows.size
        copy.table[rows] = learned.table[:many]
        if copy.layout.counted:
            copy.tallies[rows] = learned.tallies[:many]
        if copy.stamps.size:
            copy.stamps[rows] = learned.stamps[:many]
        if copy.covariance.size:
            copy.covariance[:, rows[:, np.newaxis], rows] = learned.covariance[:, :many, :many]
    copy.clock, copy.counts, copy.used = learned.clock, learned.counts.copy(), learned.used
    copy.tokens[:], copy.curve[:], copy.errors[:] = learned.tokens, learned.curve, learned.errors


def _merge_averaged(merged: State, shards: Sequence[State], rows: Indices, clock: int) -> None:
    """Slot 0 is the weight w; slot 1 is u, such that T w − u is the sum of T weights so far."""
    before = merged.table[rows].astype(np.float64)
    total = merged.clock * before[:, 0] - before[:, 1]
    sums, moves, count = total.copy(), np.zeros_like(total), np.zeros(total.shape)
    for shard in shards:
        values = shard.table[rows].astype(np.float64)
        sums += shard.clock * values[:, 0] - values[:, 1] - total
        moves += values[:, 0] - before[:, 0]
        count += (values != before).any(axis=1)
    weights = before[:, 0] + moves / np.maximum(count, 1.0)
    made = np.stack([weights, clock * weights - sums], axis=1)
    merged.table[rows] = np.where((count > 0)[:, np.newaxis], made, before)


def _merge_own(
    kernel: OwnKernel,
    p: Floats,
    merged: State,
    shards: Sequence[State],
    rows: Indices,
    clock: int,
) -> None:
    """Weights are the mean of those that were moved; the slots that gather sums add up."""
    first = rows if rows[0] == 0 else np.concatenate([[0], rows])  # the constant one comes first
    before = merged.table[first].astype(np.float64)
    sums, count = before.copy(), np.zeros((first.size, before.shape[2]))
    weights = np.zeros_like(count)
    for shard in shards:
        values = shard.table[first].astype(np.float64)
        stamps = shard.stamps[first] if kernel.stamps else np.zeros((1, before.shape[2]), np.int64)
        changed = (values != before).any(axis=1)
        sums += values - before
        count += changed
        for k in range(before.shape[2]):
            own = kernel.weights(values[:, :, k], stamps[:, k], shard.clock, p)
            weights[:, k] += np.where(changed[:, k], own, 0.0)
    weights /= np.maximum(count, 1.0)
    made = np.stack(
        [
            kernel.slots(weights[:, k], sums[:, :, k], sums[:, :, k], clock, p)
            for k in range(before.shape[2])
        ],
        axis=2,
    )
    skipped = first.size - rows.size
    moved = count[skipped:] > 0
    made = np.where(moved[:, np.newaxis], made[skipped:], before[skipped:])
    merged.table[rows] = made
    if kernel.stamps:
        merged.stamps[rows] = np.where(moved, clock, merged.stamps[rows])


def _combine(
    variance: float, before: Floats, spread: Floats, moved: list[tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """The mean and the covariance from several that began as `before` and `spread`.

    Where rounding has cost a matrix its inverse, or a copy has changed its scale, they are plain
    averages.
    """
    size, began = len(before), np.trace(spread)
    try:
        if any(np.trace(S) > began * (1.0 + 1e-6) for _, S in moved):
            raise LinAlgError
        start = invert(spread)
        total, weighed, moves = start.copy(), np.eye(size) / variance, np.zeros(size)
        for m, S in moved:
            precision = invert(S)
            total += precision - start
            weighed += precision - np.eye(size) / variance
            moves += precision @ (m - before)
        mean = before + cho_solve(cho_factor(weighed, lower=True), moves)
        return mean, invert(total)
    except LinAlgError:
        return np.mean([m for m, _ in moved], axis=0), np.mean([S for _, S in moved], axis=0)
