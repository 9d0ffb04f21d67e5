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
        self._changes = 0  # begun and not ended, by the thread that holds `writing`
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

    def __exit__(self, kind: object, *_: object) -> None:
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
        if not gate._changes:
            try:
                gate._entrance.acquire()
                try:
                    gate._empty.acquire()  # the last reader lets us in
                except BaseException:
                    gate._entrance.release()
                    raise
            except BaseException:
                gate.writing.release()
                raise
        gate._changes += 1

    def __exit__(self, kind: object, *_: object) -> None:
        gate = self._gate
        try:
            gate._changes -= 1
            if gate._changes:
                return
            gate._empty.release()
            gate._entrance.release()
            if kind is None:
                goal = gate._entered + gate._waiting
                while gate._waiting and gate._entered < goal:
                    sleep(0)
        finally:
            gate.writing.release()
