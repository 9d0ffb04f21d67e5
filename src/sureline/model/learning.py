"""How the fitted model learns: rows in order, in chunks between which others may predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from copy import copy
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sureline.errors import DataError
from sureline.features.rows import Rows
from sureline.kernels.compiling import defer_signals
from sureline.model.arrivals import (
    check_characters,
    check_label_kind,
    columns_of,
    find_arrivals,
)
from sureline.model.drift import Monitor
from sureline.model.learner import NEW, Examples, Floats, Integers, Learner, Turn
from sureline.model.lock import ReadWriteLock
from sureline.model.outcomes import adjust_to_weights
from sureline.model.predictions import Labels
from sureline.model.sparse_state import SparseState, sparse_state
from sureline.model.state import State

if TYPE_CHECKING:
    from sureline.model.linear import LinearModel

# How many nonzeros of two classes are learned or scored in about a millisecond.
NONZEROS_PER_CHUNK = 2.0**15


class LearningMixin:
    """What `LinearModel` learns, and how others can predict meanwhile."""

    learner: Learner
    memory_limit_gb: float
    owner: str
    state: State
    labels: Labels
    classes: Labels
    lock: ReadWriteLock
    monitor: Monitor | None

    if TYPE_CHECKING:

        @property
        def fitted(self) -> bool: ...  # noqa: D102

        @property
        def is_calibrated(self) -> bool: ...  # noqa: D102

        def fresh_state(self, features: int, classes: int) -> State: ...  # noqa: D102

    def publish(self, state: State, labels: Labels) -> None:
        """Make a state and the labels of its columns the current ones; within a write.

        The last line calls nothing, so that no handler of a signal comes between its parts.
        """
        classes = self.classes
        if np.array_equal(self.labels, labels):
            labels = self.labels
        else:
            classes = np.sort(labels)
        self.state, self.labels, self.classes = state, labels, classes

    def learn(
        self,
        rows: Rows,
        y: Labels,
        weight: Floats,
        classes: ArrayLike | None = None,
        features: int = 0,
        turn: Turn = NEW,
    ) -> None:
        """Learn rows in order, in chunks between which others may predict.

        Parameters
        ----------
        rows : Rows
            The examples.
        y : array of shape (n,)
            Their labels. A class exists from the first row with a weight above 0 that shows it.
        weight : float64 array of shape (n,)
            How much each row counts; 0 leaves it out.
        classes : array, default=None
            Labels to know beforehand.
        features : int, default=0
            The capacity for features that is needed.
        turn : Turn, default=NEW
            Whether the rows were counted or learned before, and whether they are learned now.
        """
        first = self._learn_until_replaced(rows, y, weight, classes, features, turn, 0)
        while first < len(rows):  # the monitor has made another model the current one
            rest = rows.part(first, len(rows)), y[first:], weight[first:]
            first += self._learn_until_replaced(*rest, None, features, turn, first)

    def _learn_until_replaced(
        self,
        rows: Rows,
        y: Labels,
        weight: Floats,
        classes: ArrayLike | None,
        features: int,
        turn: Turn,
        first: int,
    ) -> int:
        """Learn rows until another model becomes the current one; return how many were learned.

        The caller has learned `first` rows before these, for messages.
        """
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            wrong = y[y != np.floor(y)].tolist()[0]
            raise DataError(f"Unknown label type: continuous numbers such as {wrong!r}")
        self.learner.check_learns(self.owner)
        labels = self.labels if self.fitted else y[:0]
        named = np.setdiff1d(np.asarray(classes), labels) if classes is not None else labels[:0]
        for known in (labels, named):
            check_label_kind(known, y, self.owner)
        check_characters(named, self.owner)
        state = self.state.writeable() if self.fitted else self.fresh_state(features, 0)
        kept = np.flatnonzero(weight > 0)
        arrivals = find_arrivals(np.concatenate([labels, named]), y[kept])
        check_characters([label for _, each in arrivals for label in each.tolist()], self.owner)
        # Refused before anything is learned.
        limit, total = self.memory_limit_gb, labels.size + named.size + len(arrivals)
        columns = total if total > 2 else 1
        most = self.learner.most_dense
        if total <= most:
            self.learner.layout.check(features, columns, limit, self.owner)
        state = state.with_features(features, limit, self.owner)
        begin, late = 0, None
        coming = [*((0, named[k : k + 1]) for k in range(named.size)), *arrivals]
        beforehand = labels.size + named.size
        while coming and not state.wide:  # up to the third, each class changes how to learn
            row, label = coming[0]
            some = kept[begin:row]
            done = self._learn_known(state, labels, rows, y, weight, some, turn, first, late)
            if done < len(rows):
                return done
            begin, late = row, None
            if labels.size == 2:
                state = self.learner.widen(state, limit, self.owner)
                break
            labels = np.sort(np.concatenate([labels, label]))
            if labels.size == 2:
                swapped = labels[1] != label
                if swapped:
                    state = copy(state)  # the current one is swapped together with its labels
                    state.swap()
                late = (1.0 if swapped else -1.0), int(state.counts[2])
            # The first label of a stream could not be predicted.
            state.counts[1] += labels.size == 1 and named.size == 0
            del coming[0]
        if total > most and not isinstance(state, SparseState):
            # From the row with the first class too many on, weights are pairs.
            few = max(most - labels.size, 0)
            row = coming[few][0] if few < len(coming) else begin
            if row > begin:
                early, coming = coming[:few], coming[few:]
                state, labels = self._with_classes(state, labels, early, begin, beforehand)
                some = kept[begin:row]
                done = self._learn_known(state, labels, rows, y, weight, some, turn, first, late)
                if done < len(rows):
                    return done
                begin, late = row, None
            state = sparse_state(state, limit)
            if self.monitor is not None:
                self.monitor.clear()
        if state.wide and coming:
            state, labels = self._with_classes(state, labels, coming, begin, beforehand)
        elif coming:
            labels = np.concatenate([labels, *(label for _, label in coming)])
        return self._learn_known(state, labels, rows, y, weight, kept[begin:], turn, first, late)

    def _with_classes(
        self,
        state: State,
        labels: Labels,
        coming: list[tuple[int, Labels]],
        begin: int,
        beforehand: int,
    ) -> tuple[State, Labels]:
        """A wide state with more classes, each of which begins with the row that shows it."""
        before = labels.size
        labels = np.concatenate([labels, *(label for _, label in coming)])
        if coming:
            state = copy(state.with_columns(labels.size, self.memory_limit_gb, self.owner))
            state.used = max(state.used, min(beforehand, labels.size))
            for column, (row, _) in enumerate(coming, before):
                self.learner.begin_class(state, column, -1.0, int(state.counts[2]) + row - begin)
        return state, labels

    def _learn_known(
        self,
        state: State,
        labels: Labels,
        rows: Rows,
        y: Labels,
        weight: Floats,
        kept: Integers,
        turn: Turn,
        first: int,
        late: tuple[float, int] | None = None,
    ) -> int:
        """Learn the `kept` rows, whose labels are among `labels`, as `_learn_until_replaced` does.

        `late` is what the second class begins with, together with its first row: nobody may see the
        one without the other.
        """
        pooled = int(self.learner.multilabel)  # columns that belong to no label
        if not labels.size and not pooled:
            return len(rows)
        if not state.wide and labels.size < 2:  # one class: nothing to separate
            with self.lock.write():
                state.clock += kept.size
                state.counts[2] += kept.size
                if not turn.counted:
                    self.learner.count(state, rows, np.zeros(y.size, np.int64), kept)
                if self.learner.calibrated and not turn.learned:
                    state.outcomes[0, 0] += kept.size
                self.publish(state, labels)
            return len(rows)
        rank = np.empty(labels.size, np.int64)
        rank[np.argsort(labels)] = np.arange(labels.size)
        codes = self.encoded(y, labels)
        watched = turn.learning and turn.ordered and not turn.learned
        monitor = self.monitor if watched and not isinstance(state, SparseState) else None
        remaining = self._remaining(state, monitor)
        for chunk, order in _pieces(self.chunks(rows, state), kept, remaining):
            part, mistakes = rows.part(chunk.start, chunk.stop), state.counts.item(1)
            arriving = state.wide and state.used < pooled + labels.size
            # A class whose rows are learned before it has a label would be taken for the next one.
            with defer_signals() if arriving else nullcontext(), self.lock.write():
                if late is not None and (order.size or chunk.stop == len(rows)):
                    self.learner.begin_class(state, 0, *late)
                    late = None
                if turn.learning:
                    before = first + chunk.start
                    some = Examples(part, codes[chunk], weight[chunk], order, rank, before)
                    self.learner.learn(state, some, turn)
                elif not turn.counted:
                    self.learner.count(state, part, codes[chunk], order)
                self.publish(state, labels[: state.used - pooled] if state.wide else labels)
            if monitor is not None and order.size:
                due = monitor.count(order.size, state.counts.item(1) - mistakes)
                model = cast("LinearModel", self)
                if due and monitor.act(model, part, y[chunk], weight[chunk], order):
                    return int(chunk.stop)
        return len(rows)

    def _remaining(self, state: State, monitor: Monitor | None) -> Callable[[], int] | None:
        """How many rows may be learned before something else is to be done, if anything is."""
        forgetting = self.learner.forgetting
        if forgetting is None:
            return None if monitor is None else lambda: monitor.remaining
        if monitor is None:
            return lambda: forgetting.remaining(state)
        return lambda: min(monitor.remaining, forgetting.remaining(state))

    def encoded(self, y: Labels, labels: Labels) -> NDArray[np.int64]:
        """The column of each of `y`, of those that have these labels."""
        return columns_of(y, labels)

    def know(self, labels: Labels) -> None:
        """Know these labels, too, from now on."""
        if np.setdiff1d(labels, self.labels).size:
            empty = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, self.learner.dtype)
            self.learn(Rows(*empty), labels[:1], np.zeros(1), classes=labels)

    def end_pass(self, again: bool) -> None:
        """Keep probabilities calibrated when a pass ends; `again` if rows were learned before."""
        if self.is_calibrated:
            with self.lock.write():
                adjust_to_weights(self.learner, self.state, again)

    def chunks(self, rows: Rows, state: State) -> list[slice]:
        """Consecutive rows that are learned or scored at once: in about a millisecond, or a block.

        A block of a full covariance takes longer, but less than its rows would one at a time.
        """
        if isinstance(state, SparseState):
            return rows.chunks(NONZEROS_PER_CHUNK / 8.0)
        columns, at_once = state.table.shape[2], self.learner.rows_at_once(state)
        if at_once > 1:
            stop = len(rows)
            return [slice(at, min(at + at_once, stop)) for at in range(0, stop, at_once)]
        if state.layout.covariance == "full":
            return rows.chunks(NONZEROS_PER_CHUNK**2 / (columns * (state.features + 1) ** 2))
        speed = 1.0 if state.layout.weighting == "nb" else 4.0
        return rows.chunks(speed * NONZEROS_PER_CHUNK / (1.0 + columns / 8.0))


def _pieces(
    chunks: list[slice], kept: Integers, remaining: Callable[[], int] | None
) -> Iterator[tuple[slice, Integers]]:
    """Chunks of rows that are learned at once, and which of their rows are `kept`.

    They are cut where there would be more rows than are `remaining` until something else is to be
    done.
    """
    for chunk in chunks:
        start = chunk.start
        begin, stop = np.searchsorted(kept, [start, chunk.stop]).tolist()
        while remaining is not None and stop - begin > remaining():
            last = begin + remaining()
            end = int(kept[last - 1]) + 1
            yield slice(start, end), kept[begin:last] - start
            start, begin = end, last
        yield slice(start, chunk.stop), kept[begin:stop] - start
