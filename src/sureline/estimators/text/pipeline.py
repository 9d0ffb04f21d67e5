"""Texts on their way into a model, by one thread or by two; the model is the same to the bit.

A piece of the texts is read, its features get columns, its rows are learned. Of two threads one
gives columns and the other learns, each in the order of the pieces. Pieces may be read in advance,
and whoever would have to wait for the other reads the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import partial
from threading import Condition, Lock
from typing import NamedTuple

from sureline.estimators.parallel.shards import Crew
from sureline.features.rows import Rows
from sureline.features.tokenizer import Found, Room
from sureline.model.lock import Gate

READ_AHEAD = 4  # so many pieces are read, or being given columns, at a time
ENTERED_AHEAD = 2  # so many have columns, and wait to be learned


class Work(NamedTuple):
    """What is to be done with every piece.

    ``read(piece, room)`` finds its features, in the room given or in the thread's own.
    ``reserve(found, begin)`` makes room for the columns of those from a row on, and tells for how
    many; ``holds(room)`` tells whether there are weights for so many, and ``grow(room)`` makes
    them. ``enter(found, begin)`` gives columns, and tells how far it came. ``learn(rows, part,
    room)`` learns the rows. ``full()`` tells whether there are as many columns as may be, and
    ``prune()`` makes them fewer.
    """

    read: Callable[[slice, Room | None], Found]
    reserve: Callable[[Found, int], int]
    holds: Callable[[int], bool]
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
    pair = _Pair(work, pieces)
    entering = crew.start(pair.enter)
    try:
        pair.learn(gate)
    finally:
        pair.stop()
        wait([entering])
    entering.result()


class _Order(NamedTuple):
    """What the thread that gives columns asks of the other; `alone`, while it stands still."""

    do: Callable[[], None]
    alone: bool


class _Stopped(Exception):
    """The other thread has failed."""


class _Pair:
    """What two threads share: pieces that were read, and orders to learn what has columns."""

    def __init__(self, work: Work, pieces: Sequence[slice]) -> None:
        self._work, self._pieces = work, pieces
        self._rooms = [Room() for _ in range(READ_AHEAD)]
        self._entering = Lock()  # held while columns change
        self._changed = Condition()  # its lock guards all that follows
        self._found: dict[int, Found | Exception] = {}
        self._begun = self._entered = 0  # pieces that someone reads or has read; that have columns
        self._orders: deque[_Order | None] = deque()
        self._given = self._done = 0  # orders
        self._stopped = False

    def enter(self) -> None:
        """Give columns to all pieces, and have them learned; to be called by one thread."""
        work = self._work
        try:
            for number, piece in enumerate(self._pieces):
                found, begin = self._take(number), 0
                while begin < len(found):
                    features = work.reserve(found, begin)
                    if not work.holds(features):
                        self._order(partial(work.grow, features), alone=True)
                    with self._entering:
                        rows, stop = work.enter(found, begin)
                    part = slice(piece.start + begin, piece.start + stop)
                    self._order(partial(work.learn, rows, part, features))
                    if work.full():
                        self._order(work.prune, alone=True)
                    begin = stop
                with self._changed:
                    self._entered += 1
                    self._changed.notify()
        except _Stopped:
            pass
        finally:
            with self._changed:
                self._orders.append(None)
                self._changed.notify()

    def learn(self, gate: Gate) -> None:
        """Do what the other thread orders, to its end."""
        order: _Order | None
        while True:
            with gate.change():
                while (order := self._next_order()) is not None and not order.alone:
                    order.do()
                    self._tick()
                    if gate.awaited:
                        with self._entering:
                            gate.let_in()
            if order is None:
                return
            order.do()
            self._tick()

    def stop(self) -> None:
        """Let the other thread end."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _take(self, number: int) -> Found:
        """What was found in a piece."""
        self._read_until(lambda: number in self._found)
        found = self._found.pop(number)
        if isinstance(found, Exception):
            raise found
        return found

    def _order(self, do: Callable[[], None], alone: bool = False) -> None:
        """Ask the other thread to do something; return when it may go on."""
        with self._changed:
            self._orders.append(_Order(do, alone))
            self._given += 1
            self._changed.notify()
        left = 0 if alone else ENTERED_AHEAD
        self._read_until(lambda: self._given - self._done <= left)

    def _next_order(self) -> _Order | None:
        """What is to be done next; None at the end."""
        self._read_until(lambda: bool(self._orders))
        return self._orders.popleft()

    def _tick(self) -> None:
        """Tell that an order is done."""
        with self._changed:
            self._done += 1
            self._changed.notify()

    def _read_until(self, ready: Callable[[], bool]) -> None:
        """Wait until something is `ready`, and read pieces in the meantime, if there is room."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or ready() or self._may_read())
                if self._stopped:
                    raise _Stopped
                if ready():
                    return
                number = self._begun
                self._begun += 1
            found: Found | Exception
            try:
                found = self._work.read(self._pieces[number], self._rooms[number % READ_AHEAD])
            except Exception as error:  # of those who enter this piece, after those before it
                found = error
            with self._changed:
                self._found[number] = found
                self._changed.notify()

    def _may_read(self) -> bool:
        """Whether there is a piece to read and a room that is free."""
        return self._begun < len(self._pieces) and self._begun - self._entered < READ_AHEAD
