"""One pass over sparse rows of twenty classes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, as_rows, newsgroups
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

from sureline import TextFeatures


def tasks(setting: Setting) -> Iterator[Task]:
    """Posts to 20 newsgroups."""
    rows = as_rows(newsgroups(setting), "newsgroups", TextFeatures(min_count=2))
    yield Task(
        f"20 Newsgroups: {rows.X.shape[0]:,} posts, {rows.X.nnz / 1e6:.1f} million nonzeros in "
        f"{rows.X.shape[1]:,} columns, {rows.X_test.shape[0]:,} later posts to test on",
        rows,
    )


def goals(tables: list[Results]) -> list[Goal]:
    """Against PA-I and Vowpal Wabbit's one-against-all."""
    (found,) = tables
    return [
        _goal(found, 10, "scikit-learn's pa1", "scikit_learn", "pa1"),
        _goal(found, 3, "VW --oaa 20, at its fastest", "vowpal_wabbit", "oaa"),
    ]


def _goal(found: Results, times: float, whom: str, rival: str, tag: str) -> Goal:
    """So many times faster, by our fastest run that is not less accurate."""
    said = f"At least {times} × faster than {whom}, accuracy not lower"
    ours, theirs = found.of("sureline"), found.of(rival, tag)
    if not ours or not theirs:
        return Goal(said, "", None)
    right = max(row.accuracy or 0.0 for row in theirs)
    good = [row for row in ours if (row.accuracy or 0.0) >= right]
    shown = (good or ours)[0]
    measured = (theirs[0].seconds or 0.0) / (shown.seconds or 1.0)
    return Goal(
        said,
        f"{measured:.1f} × by {shown.entry.name} (accuracy {shown.accuracy:.4f}, theirs "
        f"{right:.4f})",
        bool(good) and measured >= times,
    )


CONTEST = Contest(
    name="classes",
    title="One pass over sparse rows, 20 classes",
    about=(
        "Words and pairs that occur in at least two posts, one float32 CSR matrix for all. "
        "Vowpal Wabbit reads the same rows from a text file, or from a binary cache that it wrote "
        "beforehand, and LIBLINEAR from a text file."
    ),
    tasks=tasks,
    ratios=(
        Ratio("÷ pa1", "scikit_learn", ("pa1",)),
        Ratio("÷ VW", "vowpal_wabbit", ("oaa",)),
        Ratio("÷ sureline", "sureline"),
    ),
    goals=goals,
)
