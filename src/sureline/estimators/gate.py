"""Who may touch a model when: many may read it at once, learning excludes them for a moment.

Learning goes through the gate in pieces of about a millisecond, and lets everybody in who waits
before it takes the next: so no prediction waits for long, and none sees half a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from time import sleep


class Gate:
    """One learner or any number of readers.

    `writing` may be held over many pieces: it keeps other learners out, readers not.
    """

    def __init__(self) -> None:
        self.writing = RLock()
        self._entrance = Lock()
        self._counting = Lock()
        self._empty = Lock()  # held while readers are inside
        self._inside = self._waiting = self._entered = 0
        self._changing = False  # by the thread that holds `writing`

    @contextmanager
    def read(self) -> Iterator[None]:
        """Look at the model; it does not change until the end."""
        with self._counting:
            self._waiting += 1
        with self._entrance, self._counting:
            self._waiting -= 1
            self._entered += 1
            self._inside += 1
            if self._inside == 1:
                self._empty.acquire()
        try:
            yield
        finally:
            with self._counting:
                self._inside -= 1
                if self._inside == 0:
                    self._empty.release()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Change the model; nobody looks until the end. Those who wait come in before the next.

        A change within a change is part of it.
        """
        with self.writing:
            if self._changing:
                yield
                return
            self._close()
            try:
                yield
            finally:
                if self._changing:
                    self._open()

    @property
    def awaited(self) -> bool:
        """Whether somebody waits to look at the model."""
        return self._waiting > 0

    def let_in(self) -> None:
        """Within a change: let those look who wait, as if it had ended and the next begun."""
        self._open()
        self._close()

    def _close(self) -> None:
        """Keep everybody out; those who are inside leave first."""
        self._entrance.acquire()
        try:
            self._empty.acquire()  # the last reader lets us in
        except BaseException:  # the user has interrupted
            self._entrance.release()
            raise
        self._changing = True

    def _open(self) -> None:
        """Let everybody in again, and see to it that those who wait come in before the next."""
        self._changing = False
        self._empty.release()
        self._entrance.release()
        goal = self._entered + self._waiting
        while self._waiting and self._entered < goal:
            sleep(0)
