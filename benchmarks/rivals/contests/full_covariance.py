"""One pass with a full covariance over dense rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.rivals.data import Setting, dense
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

FEATURES, LARGE, ROWS, TIMES = 1_024, 4_096, 500, 3
SPARE = 0.5  # of the covariance: what may be used beyond it, where no copy of it is made


def tasks(setting: Setting) -> Iterator[Task]:
    """Drawn numbers, in both kinds, and a few wide rows to see memory with."""
    rows = min(ROWS, setting.rows or ROWS)
    given: dict[str, Any] = {"large": {}}
    for dtype in ("float64", "float32"):
        X, y = dense(2 * rows, FEATURES, dtype)
        given[dtype] = X[:rows], y[:rows], X[rows:], y[rows:]
        given["large"][dtype] = dense(3, LARGE, dtype)
    yield Task(f"{rows} drawn rows of {FEATURES:,} numbers, and as many to test on", given)


def goals(tables: list[Results]) -> list[Goal]:
    """Time against NumPy in the same kind of number, and memory."""
    (found,) = tables
    made = []
    for dtype in ("float64", "float32"):
        ours, theirs = found.of("sureline", dtype), found.fastest("plain_numpy", dtype)
        said = f"{dtype}: at least {TIMES} × faster than NumPy at its fastest"
        if not ours or theirs is None:
            made.append(Goal(said, "", None))
            continue
        times = theirs / (ours[0].seconds or 1.0)
        made.append(Goal(said, f"{times:.1f} ×", times >= TIMES))
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
