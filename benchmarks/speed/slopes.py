"""How time and memory grow: with examples, features, classes, rivals and text, one at a time.

Each line doubles or quadruples one number and leaves the others alone. The slope is that of a
straight line through the logarithms: 1 where cost grows in proportion, 0 where it stays the same.
Times are the best of several whole calls of `fit`, one pass, compiled code warm, divided by the
nonzeros, or megabytes, that were learned. Memory is that of the arrays of the fitted model, the
including the capacity that it reserves for new features. It prints Markdown.

    python benchmarks/speed/slopes.py imdb.parquet
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from text import read
from timing import best
from zipf import count_once, draw_words

from sureline import AROWClassifier, TextClassifier

LENGTH, DIFFERENT = 125, 55  # words of a row, and how many of them are different, about
AT_ONCE = 100_000  # rows are drawn
LARGEST = 100_000_000


class Line(NamedTuple):
    """One measurement: what was varied, the work that was done, and what it took."""

    value: int
    work: float
    seconds: float
    megabytes: float


def rows_of(nonzeros: int, features: int, classes: int = 2) -> tuple[Any, np.ndarray]:
    """About so many nonzeros, in rows with labels from a linear concept, 5 % wrong."""
    rng = np.random.default_rng(0)
    rows = max(nonzeros // DIFFERENT, 1)
    parts = [
        count_once(draw_words(rng, min(AT_ONCE, rows - begin), LENGTH, features), features)
        for begin in range(0, rows, AT_ONCE)
    ]
    X = scipy.sparse.vstack(parts, format="csr")
    concept = rng.standard_normal((features, classes if classes > 2 else 1), np.float32)
    scores = np.asarray(X @ concept)
    y = scores.argmax(axis=1) if classes > 2 else (scores[:, 0] > 0).astype(np.int64)
    wrong = rng.random(rows) < 0.05
    y[wrong] = rng.integers(classes, size=int(wrong.sum()))
    return X, y


def take(value: int, work: float, fit: Callable[[], Any], repeats: int) -> Line:
    """Time a fit, and see how large the model is."""
    model = fit()
    held: list[Any] = [*vars(model.model_.state).values()]
    if isinstance(model, TextClassifier):
        held += [*model.model_.columns.arrays, *model.model_.columns.arrays.names]
    size = sum(each.nbytes for each in held if isinstance(each, np.ndarray))
    return Line(value, work, best(repeats, fit), size / 1e6)


def fit_rows(X: Any, y: np.ndarray, **settings: Any) -> Callable[[], Any]:
    """A pass of AROW over rows."""
    return lambda: AROWClassifier(r=0.1, max_iter=1, shuffle=False, **settings).fit(X, y)


def by_examples(repeats: int, most: int) -> Iterator[Line]:
    """More and more rows of 2^20 features."""
    X, y = rows_of(most, 2**20)
    part = len(y) // 64
    while part <= len(y):
        some = X[:part]
        yield take(part, some.nnz, fit_rows(some, y[:part]), repeats)
        part *= 4


def by_features(repeats: int, most: int) -> Iterator[Line]:
    """The same number of rows over more and more features."""
    for bits in (16, 18, 20, 22, 24):
        X, y = rows_of(most // 10, 2**bits)
        yield take(2**bits, X.nnz, fit_rows(X, y), repeats)


def by_classes(scheme: str) -> Callable[[int, int], Iterator[Line]]:
    """The same number of rows of more and more classes."""

    def measure(repeats: int, most: int) -> Iterator[Line]:
        for classes in (5, 10, 20, 40, 80, 160):
            X, y = rows_of(most // 50, 2**16, classes)
            yield take(classes, X.nnz, fit_rows(X, y, scheme=scheme), repeats)

    return measure


def by_rivals(repeats: int, most: int) -> Iterator[Line]:
    """The same rows of 40 classes, each learned against more and more rivals."""
    X, y = rows_of(most // 50, 2**16, 40)
    for rivals in (1, 2, 4, 8, 16, 39):
        yield take(rivals, X.nnz, fit_rows(X, y, competitors=rivals), repeats)


def by_text(path: str) -> Callable[[int, int], Iterator[Line]]:
    """More and more text, with a column for every word and pair."""

    def measure(repeats: int, most: int) -> Iterator[Line]:
        texts, labels = read(path, "text", "label")
        part = len(labels) // 16
        while part <= len(labels):
            some, known = texts[:part], labels[:part]
            size = sum(len(text.encode()) for text in some.to_pylist()) / 1e6

            def fit(some: Any = some, known: Any = known) -> Any:
                return TextClassifier(shuffle=False).fit(some, known)

            yield take(part, size, fit, repeats)
            part *= 2

    return measure


def slope(lines: list[Line], figure: Callable[[Line], float]) -> float:
    """That of the straight line through the logarithms."""
    x = np.log([line.value for line in lines])
    return float(np.polyfit(x, np.log([figure(line) for line in lines]), 1)[0])


def show(title: str, varied: str, unit: str, scale: float, lines: list[Line]) -> None:
    """Print the lines of one table, and their slopes."""
    print(f"\n**{title}**\n")
    each = "ms per MB" if scale == 1.0 else "ns per nonzero"
    print(f"| {varied} | {unit} | seconds | {each} | MB of the model |")
    print("|---:|---:|---:|---:|---:|")
    for line in lines:
        one = line.seconds / line.work * (1e3 if scale == 1.0 else 1e9)
        print(
            f"| {line.value:,} | {line.work / scale:,.1f} | {line.seconds:.3f} | {one:.1f} "
            f"| {line.megabytes:,.1f} |"
        )
    time = slope(lines, lambda line: line.seconds)
    memory = slope(lines, lambda line: line.megabytes)
    print(f"\nSlope of time {time:.2f}, of memory {memory:.2f}.", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "file", nargs="?", help="texts with the columns text and label, for the last table"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--nonzeros", type=int, default=LARGEST, help="of the largest table (default 100 million)"
    )
    found = parser.parse_args()
    million = "million nonzeros"
    for title, varied, measure in (
        ("Examples, in 2^20 columns", "examples", by_examples),
        ("Features", "features", by_features),
        ("Classes, against the strongest rival", "classes", by_classes("sequential")),
        ("Classes, one-vs-rest", "classes", by_classes("one-vs-rest")),
        ("Rivals, 40 classes", "rivals", by_rivals),
    ):
        show(title, varied, million, 1e6, list(measure(found.repeats, found.nonzeros)))
    if found.file:
        lines = list(by_text(found.file)(found.repeats, found.nonzeros))
        show("Text, a column for every word and pair", "texts", "MB of text", 1.0, lines)


if __name__ == "__main__":
    main()
