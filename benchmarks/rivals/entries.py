"""What takes part in a contest, and what is known of it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


class Missing(Exception):
    """A rival or a data set is not at hand; the message is a sentence for the reader."""


@dataclass(frozen=True)
class Clocked:
    """What a run returns that measured itself: seconds, what it made, and further figures."""

    seconds: float
    made: Any = None
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One way of doing a contest's work.

    `run` is what is timed; `accuracy` is given what it returned, and is not timed. `warm` says
    whether a run that does not count comes first, which is pointless for programs of their own;
    `once`, that one run is enough, as for one that takes long and is compared with seconds.
    """

    name: str
    work: str
    run: Callable[[], Any]
    threads: int = 1  # 0: unknown
    accuracy: Callable[[Any], float] | None = None
    tag: str = ""
    warm: bool = True
    once: bool = False
    count: int = 0  # of calls in a run, where single calls are what matters
    figures: Callable[[], dict[str, float]] | None = None


@dataclass
class Row:
    """What was measured of an entry. `problem` is a sentence if it could not be."""

    rival: str
    entry: Entry
    seconds: float | None = None
    accuracy: float | None = None
    figures: dict[str, float] = field(default_factory=dict)
    problem: str = ""


@dataclass
class Results:
    """The rows of one table, the rivals that are not in it, and how to find a row again."""

    caption: str
    rows: list[Row]
    absent: list[str] = field(default_factory=list)

    def of_rival(self, rival: str) -> list[Row]:
        """All rows of a rival, measured or not."""
        return [row for row in self.rows if row.rival == rival]

    def of(self, rival: str, *tags: str) -> list[Row]:
        """The measured rows of a rival, or only those with one of the tags, fastest first."""
        found = [
            row
            for row in self.of_rival(rival)
            if row.seconds is not None and (not tags or row.entry.tag in tags)
        ]
        return sorted(found, key=lambda row: row.seconds or 0.0)

    def fastest(self, rival: str, *tags: str) -> float | None:
        """The shortest time of a rival, or None if it was not measured."""
        found = self.of(rival, *tags)
        return found[0].seconds if found else None


@dataclass(frozen=True)
class Goal:
    """A goal, what was measured of it, and whether it was reached; None: it was not measured."""

    text: str
    measured: str
    reached: bool | None


@dataclass(frozen=True)
class Task:
    """The work of one table: what is given to all, and a line that says what it is."""

    caption: str
    given: Any


@dataclass(frozen=True)
class Ratio:
    """A column: every time divided by the shortest of a rival, or of those rows with a tag."""

    heading: str
    rival: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contest:
    """A kind of work: its tables, the columns of ratios, and the goals.

    Each rival has a function called `name` if it takes part, which is given a task's `given`
    and returns its entries.
    """

    name: str
    title: str
    about: str
    tasks: Callable[[Any], Iterable[Task]]
    ratios: tuple[Ratio, ...]
    goals: Callable[[list[Results]], list[Goal]]
