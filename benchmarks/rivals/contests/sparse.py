"""One pass over sparse rows of two classes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, as_rows, imdb
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

from sureline import TextFeatures

LIMITS = {18: 1.3, 22: 1.0, 24: 1.0}  # of the time of pa1, by bits
FLOOR = 2.2


def tasks(setting: Setting) -> Iterator[Task]:
    """The words and pairs of reviews, hashed into three numbers of columns."""
    split = imdb(setting)
    for bits in LIMITS:
        rows = as_rows(split, f"imdb-{bits}", TextFeatures(features="hash", bits=bits))
        yield Task(
            f"IMDb in 2^{bits} columns: {rows.X.shape[0]:,} rows, {rows.X.nnz / 1e6:.1f} million "
            f"nonzeros, {rows.X_test.shape[0]:,} rows to test on",
            rows,
        )


def goals(tables: list[Results]) -> list[Goal]:
    """Against PA-I and the floor, for AROW and CW."""
    made = []
    for (bits, limit), found in zip(LIMITS.items(), tables, strict=True):
        against = (
            (f"At most {limit} × scikit-learn's pa1", limit, found.fastest("scikit_learn", "pa1")),
            (f"At most {FLOOR} × the fastest read-only sweep", FLOOR, found.fastest("floor")),
        )
        for said, most, theirs in against:
            shares = {
                row.entry.name: (row.seconds or 0.0) / theirs
                for row in (found.of("sureline") if theirs else [])
                if theirs
            }
            made.append(
                Goal(
                    f"2^{bits} columns: {said}, for each of AROW and CW",
                    ", ".join(f"{share:.2f} × by {name}" for name, share in shares.items()),
                    max(shares.values()) <= most if shares else None,
                )
            )
    return made


CONTEST = Contest(
    name="sparse",
    title="One pass over sparse rows, two classes",
    about=(
        "The reviews of the contest above as CSR rows of float32, in memory for all but "
        "LIBLINEAR, which reads them from a text file. The floor is the fastest of a few compiled "
        "loops that read each row and the weights of its features, and learn nothing. "
        "AROW and CW keep a mean and a variance per feature, PA-I a weight."
    ),
    tasks=tasks,
    ratios=(Ratio("÷ pa1", "scikit_learn", ("pa1",)), Ratio("÷ floor", "floor")),
    goals=goals,
)
