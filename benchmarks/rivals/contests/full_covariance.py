"""One pass with a full covariance over dense rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.rivals.data import Setting, dense
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

FEATURES, LARGE, ROWS, TIMES = 1_024, 4_096, 500, 3
SPARE = 0.5  # of the covariance: what may be used beyond it, where no copy of it is made


def tasks(setting: Setting) -> Iterator[Task]:
    """Drawn numbers, and a few wide rows to see memory with."""
    rows = min(ROWS, setting.rows or ROWS)
    X, y = dense(2 * rows, FEATURES)
    given: dict[str, Any] = {
        "train": (X[:rows], y[:rows]),
        "test": (X[rows:], y[rows:]),
        "large": dense(3, LARGE),
    }
    yield Task(f"{rows} drawn rows of {FEATURES:,} numbers, and as many to test on", given)


def goals(tables: list[Results]) -> list[Goal]:
    """Time against NumPy, and memory."""
    (found,) = tables
    ours, theirs = found.of("sureline"), found.fastest("plain_numpy")
    said = f"At least {TIMES} × faster than NumPy at its fastest"
    made = [Goal(said, "", None)]
    if ours and theirs is not None:
        times = theirs / (ours[0].seconds or 1.0)
        made = [Goal(said, f"{times:.1f} ×", times >= TIMES)]
    shares = [
        row.figures["memory ÷ covariance"]
        for row in found.of("sureline")
        if "memory ÷ covariance" in row.figures
    ]
    listed = ", ".join(f"{share:.2f}" for share in shares)
    said = "No temporary of the size of the covariance"
    made.append(
        Goal(said, f"memory ÷ covariance: {listed}", max(shares) < SPARE)
        if shares
        else Goal(said, "", None)
    )
    return made


CONTEST = Contest(
    name="full-covariance",
    title="One pass with a full covariance, dense rows",
    about=(
        "AROW with r = 1 and no intercept, on both sides, in the same order. Memory is the "
        f"peak beyond the model, measured with {LARGE:,} features, where it is visible."
    ),
    tasks=tasks,
    ratios=(Ratio("÷ sureline", "sureline"),),
    goals=goals,
)
