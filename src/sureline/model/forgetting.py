"""Forgetting with a half-life: what an example taught counts half after so many more examples.

The time is `State.clock`, in steps of a sixteenth of the half-life. A feature forgets what is due
when an example that has it is learned; where a model is read, copies of its features do. So nothing
ever walks over the whole model, but results are those of a model that forgets everywhere at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.features.rows import Rows
from sureline.kernels.forgetting import FORGET, Pace
from sureline.kernels.label_sets import NOISE
from sureline.model.state import Layout, State

STEPS = 16  # per half-life
NOTHING_LEFT = 64 * STEPS  # after so many steps
NO_ROWS = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
NO_ORDER = np.zeros(0, np.int64)


class Forgetting(NamedTuple):
    """How a model forgets: in steps of so many examples.

    `shares` are what is left after 0, 1, … steps; counts are halved once in `every` steps.
    """

    layout: Layout
    size: int
    shares: NDArray[np.float64]
    every: int

    def remaining(self, state: State) -> int:
        """How many more examples the present step has."""
        return self.size - state.clock % self.size

    def forget(self, state: State, rows: Rows, order: NDArray[np.int64]) -> None:
        """Let a state forget what is due before the rows in `order` are learned in one step."""
        step, before = state.clock // self.size, int(state.last_changed[0, 0])
        if step > before:
            share = self.shares[min(step - before, self.shares.size - 1)]
            state.outcomes *= share
            state.noise_sums *= share
            state.fits[:, NOISE:] *= share
            for _ in range(min(step // self.every - before // self.every, 63)):
                state.class_tokens += (state.class_tokens >> 1) & 1
                state.class_tokens >>= 1
        self._run(state, rows, order, step, everything=False)

    def settle(self, state: State) -> None:
        """Let all weights of a state forget what is due."""
        self._run(state, NO_ROWS, NO_ORDER, int(state.last_changed[0, 0]), everything=True)

    def settled(self, state: State) -> State:
        """A copy of a state in which all weights have forgotten what is due."""
        made = state.copy()
        self.settle(made)
        return made

    def restart(self, state: State) -> None:
        """Let a state that several were merged into forget from now on."""
        state.last_changed[:] = 0
        state.last_changed[:, 0] = state.clock // self.size

    def part(self, state: State, features: NDArray[Any]) -> State:
        """A state that has these features alone, in this order, as they are now."""
        made = state.with_rows(np.asarray(features, np.intp))
        self.settle(made)
        return made

    def read(self, state: State, rows: Rows) -> tuple[State, Rows]:
        """The features of some rows as they are now, and the rows with these features."""
        begin, end = int(rows.indptr[0]), int(rows.indptr[-1])
        features, places = np.unique(rows.indices[begin:end], return_inverse=True)
        indices = places.astype(np.int32)
        return self.part(state, features), Rows(rows.indptr - begin, indices, rows.data[begin:end])

    def read_table(
        self, state: State, numbers: NDArray[Any] | None
    ) -> tuple[State, NDArray[Any] | None]:
        """Some rows of the table as they are now, or all, and their numbers in this state."""
        if numbers is None:
            return self.settled(state), None
        features = numbers[numbers > 0] - 1
        return self.part(state, features), np.where(numbers > 0, np.cumsum(numbers > 0), 0)

    def _run(
        self, state: State, rows: Rows, order: NDArray[np.int64], step: int, everything: bool
    ) -> None:
        initial = float(np.dtype(self.layout.dtype).type(self.layout.initial_variance))
        if rows is NO_ROWS:
            rows = Rows(rows.indptr, rows.indices, rows.data.astype(self.layout.dtype))
        FORGET.loop(self.layout.dtype)(
            rows,
            order,
            everything,
            state.table,
            state.class_counts,
            state.last_changed,
            state.used,
            Pace(step, self.shares, self.every),
            initial,
        )


def forgetting(layout: Layout, half_life: float) -> Forgetting:
    """How a model with such a state forgets with a half-life in examples."""
    size = max(1, int(half_life / STEPS))
    shares = np.exp2(np.arange(NOTHING_LEFT + 1, dtype=np.float64) * (-size / half_life))
    return Forgetting(layout, size, shares, max(1, round(half_life / size)))
