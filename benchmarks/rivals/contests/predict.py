"""Classifying many raw texts at once."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, imdb
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

TIMES = 20


def tasks(setting: Setting) -> Iterator[Task]:
    """Film reviews."""
    split = imdb(setting)
    yield Task(
        f"IMDb: {len(split.test.labels):,} reviews, {split.test.megabytes:.1f} MB, with models of "
        f"{len(split.train.labels):,} others",
        split,
    )


def goals(tables: list[Results]) -> list[Goal]:
    """Against scikit-learn's pipeline, which is given the same list of strings."""
    (found,) = tables
    ours, theirs = found.of("sureline", "list"), found.fastest("scikit_learn")
    said = f"Batch prediction: at least {TIMES} × faster than scikit-learn's pipeline"
    if not ours or theirs is None:
        return [Goal(said, "", None)]
    times = theirs / (ours[0].seconds or 1.0)
    return [Goal(said, f"{times:.1f} × by {ours[0].entry.name}", times >= TIMES)]


CONTEST = Contest(
    name="predict",
    title="Classifying many raw texts",
    about=(
        "Models are fitted beforehand. Vowpal Wabbit reads a file with words in lower case and "
        "without punctuation, and also loads its model and writes its predictions."
    ),
    tasks=tasks,
    ratios=(Ratio("÷ sureline", "sureline"),),
    goals=goals,
)
