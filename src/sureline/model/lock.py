"""Who may touch a model when: many may read it at once, learning excludes them for a moment.

Learning goes through the gate in pieces of about a millisecond, and lets everybody in who waits
before it takes the next: so no prediction waits for long, and none sees half a step.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
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
        self._changes = 0  # begun by it and not ended, one within the other
        # Every text that is learned or classified by itself goes through one of these. All they
        # know is kept above, so one of each serves everybody.
        self._look, self._change = _Look(self), _Change(self)

    def read(self) -> AbstractContextManager[None]:
        """Look at the model; it does not change until the end."""
        return self._look

    def change(self) -> AbstractContextManager[None]:
        """Change the model; nobody looks until the end. Those who wait come in before the next.

        A change within a change is part of it.
        """
        return self._change

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


class _Look:
    """What `Gate.read` is."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        gate = self._gate
        with gate._counting:
            gate._waiting += 1
        with gate._entrance, gate._counting:
            gate._waiting -= 1
            gate._entered += 1
            gate._inside += 1
            if gate._inside == 1:
                gate._empty.acquire()

    def __exit__(self, *_: object) -> None:
        gate = self._gate
        with gate._counting:
            gate._inside -= 1
            if gate._inside == 0:
                gate._empty.release()


class _Change:
    """What `Gate.change` is."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        gate = self._gate
        gate.writing.acquire()
        if not gate._changing:
            try:
                gate._close()
            except BaseException:  # the user has interrupted
                gate.writing.release()
                raise
        gate._changes += 1

    def __exit__(self, *_: object) -> None:
        gate = self._gate
        try:
            gate._changes -= 1
            if not gate._changes and gate._changing:
                gate._open()
        finally:
            gate.writing.release()
