"""Several threads for one model: each learns part of the rows into a copy; then they are merged.

Row i of a round goes to shard i mod n, and shards are merged in order. So the result depends on the
rows, on the number of threads and on where rounds end, but neither on how the rows are cut into
batches nor on which thread is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sureline.errors import InvalidParameter
from sureline.estimators.parallel.thread_pool import ThreadPool
from sureline.estimators.validation import dense_learner
from sureline.features.rows import Rows
from sureline.model.learner import NEW, Examples, Floats, Learner, Turn
from sureline.model.linear import LinearModel
from sureline.model.merge.shards import ShardStates
from sureline.model.predictions import Labels
from sureline.model.sparse_state import SparseState
from sureline.model.state import State

M = TypeVar("M", bound=LinearModel)


def check_copies(state: State, threads: int, limit_gb: float, owner: str) -> None:
    """Refuse more copies of a state than memory allows."""
    one = state.layout.size_gb(state.features, state.table.shape[2])
    if threads > 1 and one * (threads + 1) > limit_gb:
        raise InvalidParameter(
            f"{owner}: n_jobs={threads} learns in as many copies of the model, which with the model"
            f" would take {one * (threads + 1):.3g} GB, more than memory_limit_gb={limit_gb:g}; use"
            " fewer jobs, or raise memory_limit_gb"
        )


def learn_in_shards(
    learner: Learner, shards: ShardStates, pool: ThreadPool, examples: Examples, turn: Turn
) -> None:
    """Learn examples as `Learner.learn` does, each shard its part, and merge."""

    def learn(number: int) -> None:
        own = np.ascontiguousarray(examples.order[number :: pool.threads])
        learner.learn(shards.states[number], examples._replace(order=own), turn)

    # Learning nothing compiles what is needed, once for all threads.
    learner.learn(shards.state, examples._replace(order=examples.order[:0]), turn)
    pool.run(learn, range(pool.threads))
    shards.merge(learner)


class Shards(Generic[M]):
    """Copies of a model, one per thread of a pool, that learn a stream row by row, in turn.

    The model may have learned before; it changes when the shards are merged.
    """

    def __init__(self, model: M, pool: ThreadPool) -> None:
        self.model, self.pool = model, pool
        self.shards = list[M]()
        self._states: ShardStates | None = None
        self._dealt = 0

    @property
    def busy(self) -> bool:
        """Whether anything was learned since the shards were merged."""
        return bool(self.shards)

    @property
    def fitted(self) -> list[M]:
        """The shards that have learned anything."""
        return [shard for shard in self.shards if shard.fitted]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The updates, mistakes and examples of all together."""
        before = self.model.state.counts if self.model.fitted else np.zeros(3, np.int64)
        return np.asarray(before + sum(shard.state.counts - before for shard in self.fitted))

    @property
    def n_classes(self) -> int:
        """How many classes are known."""
        known = [self.model] if self.model.fitted else self.fitted
        return int(known[0].classes.size) if known else 0

    def learn(
        self,
        rows: Rows,
        y: Labels,
        weight: Floats,
        classes: ArrayLike | None,
        width: int,
        turn: Turn = NEW,
    ) -> None:
        """Learn rows whose labels are all known or among `classes`."""
        self.begin()

        def learn(number: int) -> None:
            own = self.turns(number, y.size)
            if own.size:
                shard = self.shards[number]
                shard.learn(rows.take(own), y[own], weight[own], classes, width, turn)

        self.run(learn, y.size)

    def begin(self) -> None:
        """Make the copies, if there are none."""
        if self.shards:
            return
        model, threads = self.model, self.pool.threads
        model.learner = dense_learner(model.learner, model.owner)
        if isinstance(model.state, SparseState):
            raise InvalidParameter(
                f"{model.owner}: the model has {model.labels.size:,} classes whose weights are "
                f"sparse, and {threads} threads cannot share it; use fewer jobs"
            )
        self._dealt = 0
        if not model.fitted:
            self._states = None
            self.shards = [model.on(model.fresh_state(0, 0)) for _ in range(threads)]
            return
        if self._states is None or self._states.state is not model.state:
            check_copies(model.state, threads, model.memory_limit_gb, model.owner)
            model.state = model.state.writeable()
            self._states = ShardStates(model.state, threads, self.pool.run)
        self.shards = [model.on(state) for state in self._states.states]

    def turns(self, number: int, rows: int) -> NDArray[np.intp]:
        """Which of the next rows a shard learns."""
        return np.arange((number - self._dealt) % self.pool.threads, rows, self.pool.threads)

    def run(self, learn: Callable[[int], None], rows: int) -> None:
        """Let every shard learn its part of so many rows."""
        self.pool.run(learn, range(self.pool.threads))
        self._dealt += rows

    def merge(self) -> None:
        """Let the model have all that its shards have learned; the next rows begin a new round."""
        states = [shard.state for shard in self.fitted]
        if states:
            features = max(state.features for state in states)
            self.merge_states(self.common_start(features), [None] * len(states))
        self.shards = []

    def common_start(self, features: int) -> State:
        """What all shards began as, with exactly so many features."""
        if not self.model.fitted:
            like = self.fitted[0].state
            fresh = like.layout.allocate(features, like.table.shape[2], np.inf, "")
            fresh.wide, fresh.used = like.wide, like.used
            return fresh
        return self.model.state.resized(features)

    def merge_states(
        self,
        start: State,
        places: Sequence[NDArray[np.intp] | None],
        publish: Callable[[], None] | None = None,
    ) -> None:
        """Merge the shards, whose features have these places in `start`.

        `publish` makes what else has changed visible at the same moment.
        """
        states, merged = [shard.state for shard in self.fitted], self._states
        with self.model.lock.write():
            if merged is None or any(
                state is not copy for state, copy in zip(states, merged.states, strict=True)
            ):
                learned = list(zip(states, places, strict=True))
                merged = ShardStates(start, len(states), self.pool.run, learned)
                self._states = None
            merged.merge(self.model.learner)
            self.model.publish(merged.state, self.fitted[0].labels)
            if publish is not None:
                publish()
