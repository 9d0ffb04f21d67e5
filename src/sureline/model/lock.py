"""A read-write lock: any number of readers at once, or one writer, with short waits for readers.

A learner writes in chunks of about a millisecond and lets waiting readers in before the next chunk:
so no prediction waits long, and none sees a half-finished update.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, RLock
from time import sleep


class ReadWriteLock:
    """One writer or any number of readers.

    ``with lock.read():`` guards a look at the model, ``with lock.write():`` a change; a write
    within a write is part of it. `learning` may be held over many writes: it excludes other
    writers, but not readers. A copied or unpickled lock is a new, free one.
    """

    def __init__(self) -> None:
        self.learning = RLock()
        self._entrance = Lock()
        self._counting = Lock()
        self._empty = Lock()  # held while there are readers
        self._readers = self._waiting = self._admitted = 0
        self._writing = False  # by the thread that holds `learning`
        self._nested = 0  # writes begun by it and not ended
        # Every text that is learned or classified on its own takes one of these. They keep no
        # state of their own, so one of each serves all threads.
        self._read = _Guard(self._begin_read, self._end_read)
        self._write = _Guard(self._begin_write, self._end_write)

    def __reduce__(self) -> tuple[type[ReadWriteLock], tuple[()]]:
        return ReadWriteLock, ()

    def read(self) -> _Guard:
        """Look at the model; it does not change until the end of the block."""
        return self._read

    def write(self) -> _Guard:
        """Change the model; nobody reads until the end of the block."""
        return self._write

    @property
    def has_waiting_readers(self) -> bool:
        """Whether a thread waits to read."""
        return self._waiting > 0

    def admit_readers(self) -> None:
        """Within a write: let waiting readers in, as if it had ended and the next begun."""
        self._open()
        self._close()

    def _begin_read(self) -> None:
        with self._counting:
            self._waiting += 1
        with self._entrance, self._counting:
            self._waiting -= 1
            self._admitted += 1
            self._readers += 1
            if self._readers == 1:
                self._empty.acquire()

    def _end_read(self) -> None:
        with self._counting:
            self._readers -= 1
            if self._readers == 0:
                self._empty.release()

    def _begin_write(self) -> None:
        self.learning.acquire()
        if not self._writing:
            try:
                self._close()
            except BaseException:  # the user has interrupted
                self.learning.release()
                raise
        self._nested += 1

    def _end_write(self) -> None:
        try:
            self._nested -= 1
            if not self._nested and self._writing:
                self._open()
        finally:
            self.learning.release()

    def _close(self) -> None:
        """Keep new readers out, and wait until those inside have left."""
        self._entrance.acquire()
        try:
            self._empty.acquire()  # released by the last reader
        except BaseException:  # the user has interrupted
            self._entrance.release()
            raise
        self._writing = True

    def _open(self) -> None:
        """Let readers in again, those who wait before the next write."""
        self._writing = False
        self._empty.release()
        self._entrance.release()
        goal = self._admitted + self._waiting
        while self._waiting and self._admitted < goal:
            sleep(0)


class _Guard:
    """A context manager of two functions."""

    __slots__ = ("_begin", "_end")

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end

    def __enter__(self) -> None:
        self._begin()

    def __exit__(self, *_: object) -> None:
        self._end()
