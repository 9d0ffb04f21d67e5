"""From raw text to a trained model."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, imdb
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task


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
    return [
        *(_beat_vw(found, bits) for bits in (18, 22)),
        _times(found, "scikit-learn's fastest pipeline", 15, found.fastest("scikit_learn")),
        _times(found, "fastText with 5 epochs", 30, found.fastest("fasttext", "epochs 5")),
    ]


def _beat_vw(found: Results, bits: int) -> Goal:
    """Faster than VW with as many columns, and not less accurate."""
    said = f"At most 0.6 × the time of VW with 2^{bits} columns as well, and at least its accuracy"
    ours, theirs = (found.of(rival, f"{bits} bits") for rival in ("sureline", "vowpal_wabbit"))
    if not ours or not theirs:
        return Goal(said, "", None)
    right = max(row.accuracy or 0.0 for row in theirs)
    good = [row for row in ours if (row.accuracy or 0.0) >= right]
    shown = good[0] if good else ours[0]
    share = (shown.seconds or 0.0) / (theirs[0].seconds or 1.0)
    return Goal(
        said,
        f"{share:.2f} × by {shown.entry.name} (accuracy {shown.accuracy:.4f}, VW's {right:.4f})",
        bool(good) and share <= 0.6,
    )


def _times(found: Results, whom: str, times: float, theirs: float | None) -> Goal:
    """So many times faster, doing no more than they do; and with the defaults."""
    said = f"At least {times} × faster than {whom}"
    bare, usual = (found.of("sureline", tag) for tag in ("22 bits", "usual"))
    if not bare or not usual or theirs is None:
        return Goal(said, "", None)
    measured = [
        f"{theirs / (row.seconds or 1.0):.1f} × by {row.entry.name}" for row in (bare[0], usual[0])
    ]
    return Goal(said, ", ".join(measured), theirs / (bare[0].seconds or 1.0) >= times)


CONTEST = Contest(
    name="text",
    title="Raw text to a trained model",
    about=(
        "All learn the same reviews in the same order. sureline and scikit-learn find words in "
        "raw text. Vowpal Wabbit and fastText read files that are tokenized: words are in lower "
        "case, punctuation is removed, and the time to write the files is not included. fastText "
        "is a separate process, timed from its start until it reports that it has learned."
    ),
    tasks=tasks,
    ratios=(
        Ratio("÷ VW, 18 bits", "vowpal_wabbit", ("18 bits",)),
        Ratio("÷ VW, 22 bits", "vowpal_wabbit", ("22 bits",)),
        Ratio("÷ sureline", "sureline"),
    ),
    goals=goals,
)
