"""Learning one text per call."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, messages
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

RATE, TIMES = 30_000, 50


def tasks(setting: Setting) -> Iterator[Task]:
    """Text messages."""
    split = messages(setting)
    size = 1e6 * split.train.megabytes / len(split.train.labels)
    yield Task(
        f"SMS Spam Collection: {len(split.train.labels):,} messages of {size:.0f} bytes on "
        f"average to learn, {len(split.test.labels):,} to test on",
        split,
    )


def goals(tables: list[Results]) -> list[Goal]:
    """A rate, and the rate of River's fastest classifier."""
    (found,) = tables
    ours, theirs = found.of("sureline"), found.of("river")
    said = f"`learn_one`: at least {RATE:,} texts per second"
    against = f"At least {TIMES} × faster than River's fastest classifier"
    if not ours:
        return [Goal(said, "", None), Goal(against, "", None)]
    best = ours[0]
    rate = best.entry.count / (best.seconds or 1.0)
    made = [Goal(said, f"{rate:,.0f} per second by {best.entry.name}", rate >= RATE)]
    if not theirs:
        return [*made, Goal(against, "", None)]
    times = (theirs[0].seconds or 0.0) / (best.seconds or 1.0)
    measured = f"{times:.2f} × {theirs[0].entry.name}, by {best.entry.name}"
    return [*made, Goal(against, measured, times >= TIMES)]


CONTEST = Contest(
    name="learn-one",
    title="Learning one text per call",
    about=(
        "A new model learns messages one per call, in the same order. All find "
        "words and pairs in raw text. River counts them in a dictionary; not all of its "
        "classifiers keep a variance or support a third class, as sureline's does."
    ),
    tasks=tasks,
    ratios=(Ratio("÷ River's fastest", "river"),),
    goals=goals,
)
