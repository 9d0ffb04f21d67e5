"""Several threads for one model: each learns a part of the rows into a copy; then they rejoin.

Row i of a round goes to shard i mod n, and shards are rejoined in order. So the result depends on
the rows, on the number of jobs and on where rounds end, but neither on how the rows are cut into
batches nor on which thread is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from numbers import Integral
from typing import Any, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from sureline.errors import InvalidParameter
from sureline.features.rows import Rows
from sureline.model import State
from sureline.model.learner import NEW, Examples, Floats, Learner, Turn
from sureline.model.merge.shards import Copies

A = TypeVar("A")
B = TypeVar("B")


def count_jobs(n_jobs: Any, owner: str) -> int:
    """How many threads `n_jobs` asks for, as scikit-learn reads it."""
    if n_jobs is not None and (
        not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
    ):
        raise InvalidParameter(
            f"{owner}: n_jobs must be None or a whole number other than 0 (-1 for all cores), got "
            f"{n_jobs!r}"
        )
    count: Any = effective_n_jobs
    return int(count(None if n_jobs is None else int(n_jobs)))


class Crew:
    """Threads that work side by side; they end with the `with` block, or with the crew.

    Parameters
    ----------
    jobs : int
        How many.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="sureline")

    def start(self, work: Callable[..., B], *arguments: Any) -> Future[B]:
        """Let a thread begin to work; the future has what it makes."""
        return self._threads.submit(work, *arguments)

    def run(self, work: Callable[[A], B], things: Iterable[A]) -> list[B]:
        """What `work` makes of each thing, in order. Of several errors the first one is raised."""
        futures = [self._threads.submit(work, thing) for thing in things]
        wait(futures)
        return [future.result() for future in futures]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()


class Rounds:
    """Rows that lie in memory, learned in rounds of all threads.

    Parameters
    ----------
    learner : Learner
        What learns.
    state : State
        What is learned; it changes at the end of each round.
    crew : Crew
        The threads.
    """

    def __init__(self, learner: Learner, state: State, crew: Crew) -> None:
        self.learner, self.crew = learner, crew
        self.copies = Copies(state, crew.jobs, crew.run)

    def learn(self, given: Examples, turn: Turn = NEW) -> None:
        """Learn examples as `Learner.learn` does, in one round."""
        jobs, states = self.crew.jobs, self.copies.states

        def learn(number: int) -> None:
            own = np.ascontiguousarray(given.order[number::jobs])
            self.learner.learn(states[number], *given._replace(order=own), turn)

        # To learn nothing compiles what is needed, once for all threads.
        self.learner.learn(self.copies.state, *given._replace(order=given.order[:0]), turn)
        self.crew.run(learn, range(jobs))
        self.copies.rejoin(self.learner, self.learner.floor)


def check_copies(state: State, jobs: int, limit_gb: float, owner: str) -> None:
    """Refuse more copies of a state than there may be memory for."""
    one = state.layout.size_gb(state.features, state.table.shape[2])
    if jobs > 1 and one * (jobs + 1) > limit_gb:
        raise InvalidParameter(
            f"{owner}: n_jobs={jobs} learns in as many copies of the model, which would take "
            f"{one * (jobs + 1):.3g} GB with it, more than memory_limit_gb={limit_gb:g}; use fewer "
            "jobs, or raise memory_limit_gb"
        )


class Shards:
    """Copies of an online classifier that learn a stream in turns, row by row.

    Parameters
    ----------
    online : OnlineClassifier
        What learns. It may have learned before; it changes when the shards are gathered.
    learner : Learner
        Its learner.
    crew : Crew
        The threads, one a shard.
    owner : str
        Who is named in messages.
    """

    def __init__(self, online: Any, learner: Learner, crew: Crew, owner: str) -> None:
        self.online, self.learner, self.crew, self.owner = online, learner, crew, owner
        self.onlines = list[Any]()
        self._copies: Copies | None = None
        self._dealt = 0

    @property
    def busy(self) -> bool:
        """Whether anything was learned since the shards were gathered."""
        return bool(self.onlines)

    @property
    def begun(self) -> list[Any]:
        """The shards that have learned anything."""
        return [online for online in self.onlines if online.__sklearn_is_fitted__()]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The updates, mistakes and examples of all together."""
        before = np.zeros(3, np.int64)
        if self.online.__sklearn_is_fitted__():
            before = self.online._state.counts
        return np.asarray(before + sum(each._state.counts - before for each in self.begun))

    @property
    def classes(self) -> int:
        """How many classes are known."""
        known = [self.online] if self.online.__sklearn_is_fitted__() else self.begun
        return int(known[0].classes_.size) if known else 0

    @property
    def features(self) -> int:
        """How many features there are."""
        return int(getattr(self.online, "n_features_in_", 0))

    def learn(
        self,
        rows: Rows,
        y: NDArray[Any],
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
                self.onlines[number]._learn_rows(
                    self.learner, rows.take(own), y[own], weight[own], classes, width, turn
                )

        self.crew.run(learn, range(self.crew.jobs))
        self.deal(y.size)

    def begin(self) -> None:
        """Make the copies, if there are none."""
        if self.onlines:
            return
        online, jobs = self.online, self.crew.jobs
        self._dealt = 0
        self.onlines = [clone(online) for _ in range(jobs)]
        if not online.__sklearn_is_fitted__():
            self._copies = None
            return
        if self._copies is None or self._copies.state is not online._state:
            check_copies(online._state, jobs, online.memory_limit_gb, self.owner)
            online._state = online._state.writeable()
            self._copies = Copies(online._state, jobs, self.crew.run)
        for shard, state in zip(self.onlines, self._copies.states, strict=True):
            shard._state, shard._labels, shard.classes_ = state, online._labels, online.classes_

    def turns(self, number: int, rows: int) -> NDArray[np.intp]:
        """Which of the next rows a shard takes."""
        return np.arange((number - self._dealt) % self.crew.jobs, rows, self.crew.jobs)

    def deal(self, rows: int) -> None:
        """So many more rows have been taken."""
        self._dealt += rows

    def gather(self) -> None:
        """Let the model have all that its shards have learned; the next rows begin a new round."""
        states = [online._state for online in self.begun]
        if states:
            features = max(state.features for state in states)
            self.rejoin(self.begin_with(features), [None] * len(states))
        self.onlines = []

    def begin_with(self, features: int) -> State:
        """What all shards began as, with so many features."""
        if not self.online.__sklearn_is_fitted__():
            like = self.begun[0]._state
            fresh: State = like.layout.allocate(features, like.table.shape[2], np.inf, "")
            fresh.wide, fresh.used = like.wide, like.used
            return fresh
        state: State = self.online._state
        if state.features == features:
            return state
        rows = state.layout.allocate(features, state.table.shape[2], np.inf, "")
        have = min(state.features, features) + 1
        rows.table[:have] = state.table[:have]
        rows.stamps[:have] = state.stamps[:have]
        rows.covariance[:, :have, :have] = state.covariance[:, :have, :have]
        rows.tallies[:have] = state.tallies[:have]
        return replace(
            state,
            table=rows.table,
            stamps=rows.stamps,
            covariance=rows.covariance,
            tallies=rows.tallies,
        )

    def rejoin(
        self,
        start: State,
        places: Sequence[NDArray[np.intp] | None],
        publish: Callable[[], None] | None = None,
    ) -> None:
        """Rejoin the shards, whose features have these places in `start`.

        `publish` lets everybody see what else has changed, in the same moment.
        """
        states, copies = [online._state for online in self.begun], self._copies
        with self.online._gate.change():
            if copies is None or any(
                state is not copy for state, copy in zip(states, copies.states, strict=True)
            ):
                learned = list(zip(states, places, strict=True))
                copies = Copies(start, len(states), self.crew.run, learned)
                self._copies = None
            copies.rejoin(self.learner, self.learner.floor)
            self.online._publish(copies.state, self.begun[0]._labels)
            if publish is not None:
                publish()
        if not hasattr(self.online, "n_iter_"):
            self.online.n_iter_ = 1
