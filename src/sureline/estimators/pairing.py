"""Texts on their way into a model, by one thread or by two; the model is the same to the bit.

A piece of the texts is read, its features get columns, its rows are learned. Two threads work on
three pieces at a time: while one is learned, the next gets its columns, and whoever is done first
reads the one behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

from sureline.estimators.gate import Gate
from sureline.estimators.sharding import Crew
from sureline.features.rows import Rows
from sureline.features.scheme import Found, Room


class Work(NamedTuple):
    """What is to be done with every piece.

    ``read(piece, room)`` finds its features, in the room given or in the thread's own.
    ``reserve(found, begin)`` makes room for the columns of those from a row on, and tells for how
    many; ``grow(room)`` does so for their weights. ``enter(found, begin)`` gives them columns, and
    tells how far it came. ``learn(rows, part, room)`` learns the rows. ``full()`` tells whether
    there are as many columns as may be, and ``prune()`` makes them fewer.
    """

    read: Callable[[slice, Room | None], Found]
    reserve: Callable[[Found, int], int]
    grow: Callable[[int], None]
    enter: Callable[[Found, int], tuple[Rows, int]]
    learn: Callable[[Rows, slice, int], None]
    full: Callable[[], bool]
    prune: Callable[[], None]


def learn_in_turn(work: Work, pieces: Sequence[slice], gate: Gate) -> None:
    """Read, enter and learn one piece after the other.

    Parameters
    ----------
    work : Work
        What to do.
    pieces : sequence of slice
        The texts of each piece.
    gate : Gate
        Keeps others from looking while columns or weights change.
    """
    for piece in pieces:
        found, begin = work.read(piece, None), 0
        while begin < len(found):
            features = work.reserve(found, begin)
            work.grow(features)
            with gate.change():
                rows, stop = work.enter(found, begin)
            work.learn(rows, slice(piece.start + begin, piece.start + stop), features)
            if work.full():
                work.prune()
            begin = stop


def learn_in_pairs(work: Work, pieces: Sequence[slice], gate: Gate, crew: Crew) -> None:
    """The same with a second thread, of the crew.

    Parameters
    ----------
    work : Work
        What to do.
    pieces : sequence of slice
        The texts of each piece.
    gate : Gate
        Keeps others from looking while columns or weights change.
    crew : Crew
        Has the second thread.
    """
    rooms = Room(), Room()
    ready: tuple[Rows, slice, int] | None = None
    reserved: int | None = None
    found = work.read(pieces[0], rooms[0]) if pieces else None
    for number, piece in enumerate(pieces):
        behind = _Once(work, pieces, number + 1, rooms)
        begin = 0
        while found is not None and begin < len(found):
            features = work.reserve(found, begin) if reserved is None else reserved
            work.grow(features)
            with gate.change():
                entering = crew.start(_enter, work, found, begin, behind)
                try:
                    if ready is not None:
                        work.learn(*ready)
                    behind.read()
                finally:
                    rows, stop, reserved = entering.result()
            ready = rows, slice(piece.start + begin, piece.start + stop), features
            if work.full():
                work.learn(*ready)
                work.prune()
                ready = reserved = None
            begin = stop
        found = behind.read()
    if ready is not None:
        work.learn(*ready)


def _enter(work: Work, found: Found, begin: int, behind: _Once) -> tuple[Rows, int, int | None]:
    """What the second thread does: at the end of a piece, it makes room for the next as well."""
    rows, stop = work.enter(found, begin)
    after = behind.read()
    if after is None or stop < len(found):
        return rows, stop, None
    return rows, stop, work.reserve(after, 0)


class _Once:
    """A piece that is read by the first who has time; there may be none."""

    def __init__(
        self, work: Work, pieces: Sequence[slice], number: int, rooms: tuple[Room, Room]
    ) -> None:
        self._work, self._pieces, self._number, self._rooms = work, pieces, number, rooms
        self._lock = Lock()
        self._found: Found | None = None
        self._done = number >= len(pieces)

    def read(self) -> Found | None:
        """What was found in the piece; whoever comes second waits for it."""
        with self._lock:
            if not self._done:
                room = self._rooms[self._number % 2]
                self._found = self._work.read(self._pieces[self._number], room)
                self._done = True
            return self._found
