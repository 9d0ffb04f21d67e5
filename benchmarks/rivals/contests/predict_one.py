"""Classifying one text per call."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, messages
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

LIMIT = 100.0


def tasks(setting: Setting) -> Iterator[Task]:
    """Text messages."""
    split = messages(setting)
    yield Task(
        f"SMS Spam Collection: {len(split.test.labels):,} messages, models of "
        f"{len(split.train.labels):,} others",
        split,
    )


def goals(tables: list[Results]) -> list[Goal]:
    """How long a call may take."""
    (found,) = tables
    said = f"`predict_one`: 99 % of the calls within {LIMIT:.0f} µs"
    ours = found.of("sureline")
    if not ours:
        return [Goal(said, "", None)]
    late = ours[0].figures["99 % below, µs"]
    return [Goal(said, f"{late:.0f} µs", late < LIMIT)]


CONTEST = Contest(
    name="predict-one",
    title="Classifying one text per call",
    about="Every call is timed; the figures are those of the repeat that took the least time.",
    tasks=tasks,
    ratios=(Ratio("÷ sureline", "sureline"),),
    goals=goals,
)
