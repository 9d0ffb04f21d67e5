"""Learning one sparse row per call, with twenty classes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, as_rows, newsgroups
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

from sureline import TextFeatures

CALLS, TIMES = 500, 20


def tasks(setting: Setting) -> Iterator[Task]:
    """Posts to 20 newsgroups, words only, so that there are not too many columns."""
    features = TextFeatures(ngrams=(1, 1), min_count=2)
    rows = as_rows(newsgroups(setting), "newsgroups-words", features)
    calls = min(CALLS, rows.X.shape[0])
    yield Task(f"20 Newsgroups: {calls:,} posts, {rows.X.shape[1]:,} columns", (rows, calls))


def goals(tables: list[Results]) -> list[Goal]:
    """Against scikit-learn."""
    (found,) = tables
    ours, theirs = found.fastest("sureline"), found.fastest("scikit_learn")
    said = f"`partial_fit` of one row: at least {TIMES} × faster than scikit-learn's"
    if ours is None or theirs is None:
        return [Goal(said, "", None)]
    return [Goal(said, f"{theirs / ours:.1f} ×", theirs / ours >= TIMES)]


CONTEST = Contest(
    name="one-row",
    title="Learning one sparse row per call, 20 classes",
    about=(
        "The same rows in the same order; the first call names all classes. So few rows are "
        "not enough to be accurate; the accuracy only shows that both learn."
    ),
    tasks=tasks,
    ratios=(Ratio("÷ sureline", "sureline"),),
    goals=goals,
)
