"""From raw text to a trained model."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, imdb
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Row, Task


def tasks(setting: Setting) -> Iterator[Task]:
    """Film reviews."""
    split = imdb(setting)
    yield Task(
        f"IMDb: {len(split.train.labels):,} reviews, {split.train.megabytes:.1f} MB, to learn, "
        f"{len(split.test.labels):,} to test on",
        split,
    )


def goals(tables: list[Results]) -> list[Goal]:
    """Against Vowpal Wabbit, scikit-learn and fastText."""
    (found,) = tables
    ours = found.of("sureline")
    return [
        _beat_vw(ours, found.of("vowpal_wabbit")),
        _times(ours, "scikit-learn's fastest pipeline", 15, found.fastest("scikit_learn")),
        _times(ours, "fastText with 5 epochs", 30, found.fastest("fasttext", "epochs 5")),
    ]


def _beat_vw(ours: list[Row], theirs: list[Row]) -> Goal:
    """Faster than every way of running VW, and not less accurate than any."""
    said = "At most 0.6 × the time of VW's fastest run, with at least the accuracy of its best"
    if not ours or not theirs:
        return Goal(said, "", None)
    limit = theirs[0].seconds or 0.0
    right = max(row.accuracy or 0.0 for row in theirs)
    good = [row for row in ours if (row.accuracy or 0.0) >= right]
    shown = good[0] if good else ours[0]
    share = (shown.seconds or 0.0) / limit
    return Goal(
        said,
        f"{share:.2f} × by {shown.entry.name} (accuracy {shown.accuracy:.4f}, VW's {right:.4f})",
        bool(good) and share <= 0.6,
    )


def _times(ours: list[Row], whom: str, times: float, theirs: float | None) -> Goal:
    """So many times faster, by our run with the best time."""
    said = f"At least {times} × faster than {whom}"
    if not ours or theirs is None:
        return Goal(said, "", None)
    measured = theirs / (ours[0].seconds or 1.0)
    return Goal(said, f"{measured:.1f} × by {ours[0].entry.name}", measured >= times)


CONTEST = Contest(
    name="text",
    title="Raw text to a trained model",
    about=(
        "All learn the same reviews in the same order. sureline and scikit-learn find words in "
        "raw text. Vowpal Wabbit and fastText are given files in which that work is done: words "
        "are lower-case already, punctuation is gone, and writing the files is not counted. "
        "fastText is a process of its own, timed from its start until it says that it has learned."
    ),
    tasks=tasks,
    ratios=(
        Ratio("÷ VW", "vowpal_wabbit"),
        Ratio("÷ sureline", "sureline"),
    ),
    goals=goals,
)
