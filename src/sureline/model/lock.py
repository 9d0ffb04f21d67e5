"""A read-write lock: any number of readers at once, or one writer, with short waits for readers.

A learner writes in chunks of about a millisecond and lets waiting readers in before the next chunk:
so no prediction waits long, and none sees a half-finished update.

Each thread reads under a lock of its own; a writer closes the model to new readers and takes each
thread's lock once, to wait for those inside. Every block ends by the release of one lock, which is
written in C: an exception from a signal handler can come between any two steps of Python code, and
leaves nothing locked. There are no counters that it could leave wrong. For the same reason, locks
are released by statements here and not by a function: a signal could come at its begin. That raises
RuntimeError where the lock was not acquired, since the signal came before.
"""

# ruff: noqa: SIM105

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Condition, Lock, RLock, get_ident, local
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet, ref

PATIENCE = 0.02  # seconds in which a writer lets waiting readers in; they need microseconds
NOBODY = 0


class _Guard(type(RLock())):  # type: ignore[misc]
    """A lock that is taken by `begin`, and released, as locks are, at the end of the block."""

    begin: Callable[[_Guard], None]

    def __enter__(self) -> None:
        self.begin(self)


class ReadWriteLock:
    """One writer or any number of readers.

    ``with lock.read():`` guards a look at the model, ``with lock.write():`` a change; a write
    within a write is part of it, and reads do not nest. `learning` may be held over many writes: it
    excludes other learners, but not readers. A copied or unpickled lock is a new, free one, and so
    is that of a forked process, which is forked between two writes.
    """

    def __init__(self) -> None:
        self.learning = RLock()
        self._write = _Guard()
        self._write.begin = self._begin_write
        self._admitted = Condition(self._write)
        # The thread that has written, if no other has read since. Readers reset it, under the
        # lock of the writer, so that a writer need not do so at its end.
        self._writer = NOBODY
        self._waiting: set[int] = set()  # threads that wait to read
        self._own = local()
        self._readers: list[ref[_Guard]] = []
        self._registering = Lock()
        with _LISTING:
            _LOCKS.add(self)

    def __reduce__(self) -> tuple[type[ReadWriteLock], tuple[()]]:
        return ReadWriteLock, ()

    def read(self) -> Any:
        """Look at the model; it does not change until the end of the block."""
        try:
            return self._own.guard
        except AttributeError:
            return self._register()

    def write(self) -> Any:
        """Change the model; nobody reads until the end of the block."""
        return self._write

    @property
    def has_waiting_readers(self) -> bool:
        """Whether a thread waits to read."""
        return bool(self._waiting)

    def admit_readers(self) -> None:
        """Within a write: let waiting readers in, as if it had ended and the next begun."""
        deadline = monotonic() + PATIENCE
        while self._waiting and (rest := deadline - monotonic()) > 0:
            self._admitted.wait(rest)
        self._waiting.clear()  # of those interrupted while they waited
        self._close()

    def _register(self) -> _Guard:
        """The guard of this thread, from now on."""
        guard = _Guard()
        guard.begin = self._begin_read
        with self._registering:
            alive = [each for each in self._readers if each() is not None]
            self._readers = [*alive, ref(guard)]
        self._own.guard = guard
        return guard

    def _begin_read(self, guard: _Guard) -> None:
        me = get_ident()
        try:
            guard.acquire()
            if self._writer not in (NOBODY, me):
                guard.release()
                self._wait_to_read(guard, me)
        except BaseException:
            try:
                guard.release()
            except RuntimeError:
                pass
            raise

    def _wait_to_read(self, guard: _Guard, me: int) -> None:
        """Take the guard once no write is in progress, before the next one begins."""
        try:
            self._waiting.add(me)
            self._write.acquire()
            self._writer = NOBODY
            guard.acquire()
            self._waiting.discard(me)
            self._admitted.notify()
        finally:
            try:
                self._write.release()
            except RuntimeError:
                pass

    def _begin_write(self, guard: _Guard) -> None:
        if self._waiting and not self._is_writing():
            deadline = monotonic() + PATIENCE
            while self._waiting and monotonic() < deadline:
                sleep(0)
            self._waiting.clear()
        try:
            guard.acquire()
            self._close()
        except BaseException:
            try:
                guard.release()
            except RuntimeError:
                pass
            raise

    def _is_writing(self) -> bool:
        """Whether this thread is within a write."""
        try:
            self._admitted.notify(0)
        except RuntimeError:  # it does not hold the lock
            return False
        return True

    def _close(self) -> None:
        """Keep new readers out, and wait until those inside have left."""
        me = get_ident()
        if self._writer == me:  # so it has been since the last write
            return
        try:
            self._writer = me
            for each in self._readers:
                reader = each()
                if reader is not None:
                    try:
                        reader.acquire()
                    finally:
                        try:
                            reader.release()
                        except RuntimeError:
                            pass
        except BaseException:
            self._writer = NOBODY
            raise

    def before_fork(self) -> None:
        """Wait for the end of a write in another thread."""
        self._write.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._write.release()

    def after_fork_in_child(self) -> None:
        """Free what threads held that do not exist in this process."""
        self._write.release()
        self._own, self._readers, self._writer = local(), [], NOBODY
        self._waiting.clear()
        self._registering = Lock()
        if self.learning.acquire(blocking=False):
            self.learning.release()
        else:
            self.learning = RLock()


_LOCKS: WeakSet[ReadWriteLock] = WeakSet()
_LISTING = Lock()
_HELD: list[ReadWriteLock] = []  # while the process is forked


def _before_fork() -> None:
    _LISTING.acquire()
    _HELD[:] = _LOCKS
    for lock in _HELD:
        lock.before_fork()


def _after_fork_in_parent() -> None:
    while _HELD:
        _HELD.pop().after_fork_in_parent()
    _LISTING.release()


def _after_fork_in_child() -> None:
    while _HELD:
        _HELD.pop().after_fork_in_child()
    _LISTING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
