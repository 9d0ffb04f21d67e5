"""Texts on their way into a model: read, assign columns, learn; by one thread or by two.

A chunk of texts is read, its features get columns, its rows are learned. Of two threads one assigns
columns and the other learns, each in the order of the chunks. Chunks may be read ahead, by the
thread that would have to wait. The model is the same, bit for bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from functools import partial
from threading import Condition, Lock
from typing import Any, NamedTuple

import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sureline.data import NamedFeatures
from sureline.estimators.parallel.thread_pool import ThreadPool
from sureline.features.rows import Rows
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import (
    CHUNK_BYTES,
    TokenizedTexts,
    TokenizerBuffers,
    chunk_texts,
)
from sureline.model.learner import NEW, Floats, Turn
from sureline.model.text import TextModel

READ_AHEAD = 4  # chunks read, or being given columns, at a time
ROWS_AHEAD = 2  # chunks that have columns and wait to be learned


class TextPipeline:
    """The three stages from texts, in the order in which they are learned, to a model.

    The caller holds ``model.lock.learning``. By their `turn`, texts that were counted before give
    no new feature a column and are not counted again. `classes` are labels to know beforehand.
    """

    def __init__(
        self,
        model: TextModel,
        texts: pa.LargeStringArray,
        y: NDArray[Any],
        weight: Floats,
        classes: ArrayLike | None = None,
        turn: Turn = NEW,
        named: NamedFeatures | None = None,
    ) -> None:
        self.model, self.turn = model, turn
        if isinstance(model.tokenizer, TableTokenizer) and not turn.counted:
            texts = model.tokenizer.learned(texts, weight > 0.0)
        self._texts, self._named = texts, named
        self._y, self._weight, self._classes = y, weight, classes
        many = len(classes) if classes is not None else 2  # type: ignore[arg-type]
        if many > model.learner.most_dense:
            many = 2
        self.chunks = list(chunk_texts(texts, int(CHUNK_BYTES / (1.0 + many / 16.0))))

    def run(self, pool: ThreadPool | None = None) -> None:
        """Learn all texts, with a second thread where a pool is given."""
        if pool is not None:
            _TwoThreads(self).run(pool)
            return
        for chunk in self.chunks:
            tokens, begin = self.read(chunk), 0
            while begin < len(tokens):
                capacity = self.reserve(tokens, begin)
                self.grow(capacity)
                with self.model.lock.write():
                    rows, stop = self.assign_columns(tokens, begin)
                self.learn(rows, slice(chunk.start + begin, chunk.start + stop), capacity)
                if self.model.columns.full:
                    self.model.prune()
                begin = stop

    # -- the stages ----------------------------------------------------------------------------

    def read(self, chunk: slice, buffers: TokenizerBuffers | None = None) -> TokenizedTexts:
        """Find the features of a chunk, in the buffers given or in the thread's own."""
        return self.model.tokenizer.read_chunk(self._texts, self._named, chunk, buffers)

    def reserve(self, tokens: TokenizedTexts, begin: int) -> int:
        """Reserve columns for texts from `begin` on; return how many there may be then."""
        columns = self.model.columns
        return columns.features if self.turn.counted else columns.reserve(tokens, begin)

    def has_weights(self, capacity: int) -> bool:
        """Whether the state has a row for so many columns, and one for unknown features."""
        model = self.model
        return self.turn.counted or (model.fitted and capacity < model.state.features)

    def grow(self, capacity: int) -> None:
        """Give the state a row for so many columns, and one for unknown features."""
        model = self.model
        if not self.turn.counted and model.fitted:
            limit = model.memory_limit_gb
            model.state = model.state.with_features(capacity + 1, limit, model.owner)

    def assign_columns(self, tokens: TokenizedTexts, begin: int) -> tuple[Rows, int]:
        """Rows of the texts from `begin` on, and where it stopped."""
        model = self.model
        normalize, dtype = model.normalize, model.learner.dtype
        if self.turn.counted:
            return model.columns.look_up(tokens, normalize, dtype, -1), len(tokens)
        return model.columns.enter(tokens, begin, normalize, dtype)

    def learn(self, rows: Rows, part: slice, capacity: int) -> None:
        """Learn rows, those of the texts in `part`."""
        y, weight = self._y[part], self._weight[part]
        self.model.learn(rows, y, weight, self._classes, capacity + 1, self.turn)


class _Task(NamedTuple):
    """What the thread that assigns columns hands to the other; `exclusive`: it waits meanwhile."""

    do: Callable[[], None]
    exclusive: bool


class _Stopped(Exception):
    """The other thread has failed."""


class _TwoThreads:
    """What two threads share: chunks that were read, and a queue of tasks for the learner."""

    def __init__(self, pipeline: TextPipeline) -> None:
        self._pipeline, self._chunks = pipeline, pipeline.chunks
        self._buffers = [TokenizerBuffers() for _ in range(READ_AHEAD)]
        self._assigning = Lock()  # held while columns change
        self._changed = Condition()  # its lock guards all that follows
        self._tokens: dict[int, TokenizedTexts | Exception] = {}
        self._begun = self._assigned = 0  # chunks whose reading has begun; that have columns
        self._tasks: deque[_Task | None] = deque()
        self._submitted = self._done = 0  # tasks
        self._stopped = False

    def run(self, pool: ThreadPool) -> None:
        """Run all stages, the columns in a thread of the pool."""
        assigning = pool.submit(self._assign)
        try:
            self._learn()
        finally:
            with self._changed:
                self._stopped = True
                self._changed.notify()
            wait([assigning])
        assigning.result()

    def _assign(self) -> None:
        """Assign columns to all chunks and submit them to be learned."""
        pipeline = self._pipeline
        try:
            for number, chunk in enumerate(self._chunks):
                tokens, begin = self._take(number), 0
                while begin < len(tokens):
                    capacity = pipeline.reserve(tokens, begin)
                    if not pipeline.has_weights(capacity):
                        self._submit(partial(pipeline.grow, capacity), exclusive=True)
                    with self._assigning:
                        rows, stop = pipeline.assign_columns(tokens, begin)
                    part = slice(chunk.start + begin, chunk.start + stop)
                    self._submit(partial(pipeline.learn, rows, part, capacity))
                    if pipeline.model.columns.full:
                        self._submit(pipeline.model.prune, exclusive=True)
                    begin = stop
                with self._changed:
                    self._assigned += 1
                    self._changed.notify()
        except _Stopped:
            pass
        finally:
            with self._changed:
                self._tasks.append(None)
                self._changed.notify()

    def _learn(self) -> None:
        """Do the tasks that the other thread submits, to the last."""
        lock = self._pipeline.model.lock
        task: _Task | None
        while True:
            with lock.write():
                while (task := self._next_task()) is not None and not task.exclusive:
                    task.do()
                    self._finish_task()
                    if lock.has_waiting_readers:
                        with self._assigning:
                            lock.admit_readers()
            if task is None:
                return
            task.do()
            self._finish_task()

    def _take(self, number: int) -> TokenizedTexts:
        """The features of a chunk."""
        self._read_until(lambda: number in self._tokens)
        tokens = self._tokens.pop(number)
        if isinstance(tokens, Exception):
            raise tokens
        return tokens

    def _submit(self, do: Callable[[], None], exclusive: bool = False) -> None:
        """Hand a task to the learner; return when the next may be prepared."""
        with self._changed:
            self._tasks.append(_Task(do, exclusive))
            self._submitted += 1
            self._changed.notify()
        left = 0 if exclusive else ROWS_AHEAD
        self._read_until(lambda: self._submitted - self._done <= left)

    def _next_task(self) -> _Task | None:
        """The next task; None at the end."""
        self._read_until(lambda: bool(self._tasks))
        return self._tasks.popleft()

    def _finish_task(self) -> None:
        with self._changed:
            self._done += 1
            self._changed.notify()

    def _read_until(self, ready: Callable[[], bool]) -> None:
        """Wait until something is `ready`, and read chunks in the meantime."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or ready() or self._may_read())
                if self._stopped:
                    raise _Stopped
                if ready():
                    return
                number = self._begun
                self._begun += 1
            tokens: TokenizedTexts | Exception
            try:
                buffers = self._buffers[number % READ_AHEAD]
                tokens = self._pipeline.read(self._chunks[number], buffers)
            except Exception as error:  # raised when its turn comes, after all chunks before it
                tokens = error
            with self._changed:
                self._tokens[number] = tokens
                self._changed.notify()

    def _may_read(self) -> bool:
        """Whether there is a chunk to read and buffers that are free."""
        return self._begun < len(self._chunks) and self._begun - self._assigned < READ_AHEAD
