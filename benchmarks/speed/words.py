"""How fast texts become sparse rows: TextFeatures compared with scikit-learn's vectorizers.

All look for the same words and pairs of words in the same texts, and must find equally many. The
time is the best of several repeats, compiled code warm. Without a file, the texts are the messages
that come with sureline.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from sureline import TextFeatures
from sureline.data import Reader, sms_spam

BITS = 22


def pairs() -> dict[str, tuple[Any, Any]]:
    """scikit-learn's vectorizers and ours, set to do the same."""
    same: dict[str, Any] = {"ngram_range": (1, 2), "token_pattern": r"\w+", "binary": True}
    hashing = HashingVectorizer(n_features=2**BITS, norm=None, alternate_sign=False, **same)
    ours = TextFeatures(ngrams=(1, 2), chars=None, normalize=False)
    return {
        "a column each": (CountVectorizer(**same), ours),
        f"2^{BITS} columns": (
            hashing,
            TextFeatures(ngrams=(1, 2), chars=None, normalize=False, features="hash", bits=BITS),
        ),
    }


def read(file: str | None, column: str) -> list[str]:
    """The texts of a file, or the messages that come with sureline."""
    if file is None:
        return sms_spam()[0]
    batches = Reader([file], text=column, labelled=False)
    return [text for batch in batches if batch.text is not None for text in batch.text.to_pylist()]


def best(repeats: int, work: Callable[..., Any], texts: list[str]) -> tuple[float, Any]:
    """The shortest of several times, and what was made; a first run does not count."""
    times = []
    for _ in range(repeats + 1):
        start = perf_counter()
        made = work(texts)
        times.append(perf_counter() - start)
    return min(times[1:]), made


def compare(texts: list[str], repeats: int) -> Table:
    """The table; it is an error if the two find different numbers of features."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    page = Table(title=f"{len(texts):,} texts, {size:.1f} MB, best of {repeats}")
    page.add_column("fit_transform()")
    for heading in ("seconds", "MB/s", "times as fast"):
        page.add_column(heading, justify="right")
    for kind, several in pairs().items():
        first, found = 0.0, 0
        for vectorizer in several:
            seconds, rows = best(repeats, vectorizer.fit_transform, texts)
            first, found = first or seconds, found or rows.nnz
            # Hashing makes a few features fall together, and not the same ones in both.
            if abs(rows.nnz - found) > (0.01 * found if "2^" in kind else 0):
                raise SystemExit(f"{vectorizer} found {rows.nnz:,} features, the other {found:,}")
            name = f"{type(vectorizer).__name__}, {kind}"
            page.add_row(name, f"{seconds:.4f}", f"{size / seconds:.1f}", f"{first / seconds:.1f}")
    return page


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="a CSV, Parquet or other file with texts")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    Console().print(compare(read(options.file, options.text), options.repeats))


if __name__ == "__main__":
    main()
