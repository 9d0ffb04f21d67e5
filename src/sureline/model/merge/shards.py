"""Shards: copies of one state that learn in threads of their own and are merged, round by round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.shard_merge import FIND_MOVED, MERGE_ROWS
from sureline.model.learner import Learner
from sureline.model.merge.algebra import (
    Indices,
    add_counts,
    merge_averaged_shards,
    merge_custom_shards,
    merge_gaussian_shards,
)
from sureline.model.merge.calibration import merge_shard_calibration
from sureline.model.state import State, table_rows

# Applies a function to each item, in threads, and returns the results in order.
Run = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
CHUNK = 2**15  # weights worked on at a time
PARTS = 4  # parts of a table per thread, so that none waits long for the last


class ShardStates:
    """Copies of one state, one per thread, to learn into and to merge.

    They begin as `state`, which merging changes, or have `learned` already: then there is a state
    for each, and which feature of `state` each of its features is, or None if they have the same
    numbers; other features are as in `state`. The tables of the copies, `states`, lie in one array.
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

    def merge(self, learner: Learner) -> None:
        """Let the state have all that its shards have learned; then all are equal again."""
        state, layout, rule = self.state, learner.layout, learner.rule
        clock = state.clock + sum(copy.clock - state.clock for copy in self.states)
        counts = state.counts + sum(copy.counts - state.counts for copy in self.states)
        if layout.covariance == "full":
            self._merge_full(layout.initial[1])
        elif rule.kernel is not None or rule.average:
            self._merge_sums(learner, clock)
        else:
            self._merge_rows(learner)
        self._merge_counts()
        state.clock, state.counts = clock, counts
        state.used = max(state.used, *(copy.used for copy in self.states))
        for copy in self.states:
            copy.clock, copy.counts, copy.used = clock, counts.copy(), state.used

    def _merge_counts(self) -> None:
        """Add up class counts, and merge what calibrates."""
        state = self.state
        if state.layout.counted:
            added = sum(
                each.class_counts.astype(np.int64) - state.class_counts for each in self.states
            )
            add_counts(state.class_counts, ..., added)
            state.class_tokens[:] += sum(
                each.class_tokens - state.class_tokens for each in self.states
            )
        merge_shard_calibration(state, self.states)
        for each in self.states:
            each.class_counts[:], each.class_tokens[:] = state.class_counts, state.class_tokens

    def _parts(self) -> list[range]:
        """The rows of the table, cut into parts that keep all threads busy."""
        cuts = np.linspace(0, self.state.table.shape[0], PARTS * len(self.states) + 1).astype(int)
        return [range(a, b) for a, b in pairwise(cuts.tolist()) if a < b]

    def _merge_rows(self, learner: Learner) -> None:
        """Merge means, or means and variances."""
        table, layout = self.state.table, learner.layout
        prior = 0.0 if layout.covariance == "identity" else 1.0 / layout.initial[1]
        merge_rows = MERGE_ROWS.compiled(layout.dtype)
        # Rows are compared as whole words, since most of them have not been moved.
        kind, word = ("float64", np.uint64) if table[0].nbytes % 8 == 0 else ("float32", np.uint32)
        find_moved = FIND_MOVED.compiled(kind)
        step = max(1, CHUNK // table.shape[2])

        def merge(part: range) -> None:
            for begin in range(part.start, part.stop, step):
                rows = slice(begin, min(begin + step, part.stop))
                here, copies = table[rows], self._tables[:, rows]
                moved = np.zeros(len(here), np.uint8)
                for copy in copies:
                    find_moved(_words(here, word), _words(copy, word), moved)
                merge_rows(here, copies, moved, prior, learner.floor)

        self.run(merge, self._parts())

    def _merge_sums(self, learner: Learner, clock: int) -> None:
        """Merge what an averaged perceptron or a custom rule keeps."""
        kernel, state = learner.rule.kernel, self.state
        step = max(1, CHUNK // state.table.shape[2])

        def merge(part: range) -> None:
            for begin in range(part.start, part.stop, step):
                rows = np.arange(begin, min(begin + step, part.stop))
                if kernel is None:
                    merge_averaged_shards(state, self.states, rows, clock)
                else:
                    merge_custom_shards(kernel, learner.p, state, self.states, rows, clock)
                for copy in self.states:
                    copy.table[rows] = state.table[rows]
                    if state.last_changed.size:
                        copy.last_changed[rows] = state.last_changed[rows]

        # Rules look at row 0 of every part, which is merged last, when no thread does.
        first, *others = self._parts()
        self.run(merge, [*others, range(1, first.stop)])
        merge(range(1))

    def _merge_full(self, variance: float) -> None:
        """Merge means and covariances, a column at a time."""
        state = self.state
        for each in (state, *self.states):  # they are changed in place
            each.move_to(None)

        def merge(column: int) -> None:
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
                mean, covariance = (
                    moved[0] if one else merge_gaussian_shards(variance, before, spread, moved)
                )
                for m, S in pairs:
                    m[:], S[:] = mean, covariance

        self.run(merge, range(state.table.shape[2]))


def _words(rows: NDArray[Any], word: Any) -> NDArray[Any]:
    """The bytes of rows as words, a row each."""
    return rows.reshape(len(rows), -1).view(word)


def _fill(copy: State, learned: State, places: Indices | None) -> None:
    """Put what was learned into a copy, each feature where it has its place."""
    rows = slice(0, learned.table.shape[0]) if places is None else table_rows(places)
    many = learned.table.shape[0] if places is None else places.size + 1
    copy.put_rows(rows, learned, slice(0, many))
    copy.clock, copy.counts, copy.used = learned.clock, learned.counts.copy(), learned.used
    copy.class_tokens[:], copy.calibrator[:] = learned.class_tokens, learned.calibrator
    copy.noise_sums[:] = learned.noise_sums
    copy.outcomes[:], copy.novelty[:] = learned.outcomes, learned.novelty
    copy.fits[:] = learned.fits
