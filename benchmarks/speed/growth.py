"""What many classes cost: growing into them one example at a time, and one pass over them.

The first table learns short rows one call at a time, the classes appearing one after another, and
compares with the same calls when the first one names all classes. The second makes one pass over
the same kind of rows with more and more classes, and divides the time by nonzeros times classes:
where that stays level, the cost grows no faster than the number of classes. scikit-learn's PA-I
is measured on the same rows in the same order. Times are the best of several repeats,
compiled code warm.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier
from timing import best
from zipf import count_once, draw_words

from sureline import AROWClassifier, CWClassifier

TOPIC = 60  # words that a class has of its own; classes may share some
SHARE = 0.06  # of a row's words are its class's


def documents(
    rows: int, length: int, features: int, labels: np.ndarray, seed: int = 0
) -> scipy.sparse.csr_array:
    """Rows of `length` words, repeats counted once: a few of the row's class, the rest Zipf's.

    The words of a class depend on the class alone, so that calls with other seeds draw further
    rows of the same classes.
    """
    rng = np.random.default_rng(seed)
    own = np.random.default_rng(99).integers(features, size=(int(labels.max()) + 1, TOPIC))
    common = draw_words(rng, rows, length, features)
    topical = own[labels[:, np.newaxis], rng.integers(TOPIC, size=(rows, length))]
    words = np.where(rng.random((rows, length)) < SHARE, topical, common)
    return count_once(words, features)


def one_at_a_time(
    model: Any, rows: list[scipy.sparse.csr_array], y: np.ndarray, classes: np.ndarray | None
) -> Any:
    """Learn the rows one call each; `classes` are named in the first."""
    for position, row in enumerate(rows):
        named = classes if position == 0 else None
        model.partial_fit(row, y[position : position + 1], classes=named)
    return model


def growth(classes: int, length: int, features: int, repeats: int) -> Table:
    """Growing to that many classes, against knowing them from the first call."""
    page = Table()
    page.add_column("row by row", no_wrap=True)
    page.add_column("a new class")
    for heading in ("calls", "named, s", "growing, s", "ratio", "µs per call"):
        page.add_column(heading, justify="right")
    for every in (1, 10):  # calls from one new class to the next
        y = np.repeat(np.arange(classes), every)
        X = documents(y.size, length, features, y)
        page.title = (
            f"2 to {classes} classes, {X.nnz / y.size:.0f} of {features:,} features per call, "
            f"best of {repeats}"
        )
        rows = [X[i : i + 1] for i in range(y.size)]
        for name, make in learners().items():
            known = best(repeats, lambda: one_at_a_time(make(), rows, y, np.arange(classes)))  # noqa: B023
            grown = best(repeats, lambda: one_at_a_time(make(), rows, y, None))  # noqa: B023
            page.add_row(
                name,
                "each call" if every == 1 else f"each {every}th",
                f"{y.size:,}",
                f"{known:.4f}",
                f"{grown:.4f}",
                f"{grown / known:.2f}",
                f"{1e6 * grown / y.size:.0f}",
            )
    return page


def learners() -> dict[str, Callable[[], Any]]:
    """The learners of both tables, for one ordered pass."""
    return {
        "AROW, k = 1": lambda: AROWClassifier(r=10.0, max_iter=1, shuffle=False),
        "CW variance, k = 1": lambda: CWClassifier(
            constraint="variance", max_iter=1, shuffle=False
        ),
    }


def one_pass(counts: list[int], rows: int, length: int, features: int, repeats: int) -> Table:
    """One pass of `fit` at each number of classes."""
    page = Table()
    page.add_column("one pass of fit()", no_wrap=True)
    for heading in ("classes", "seconds", "ns a nz x class", "times faster", "accuracy"):
        page.add_column(heading, justify="right")
    everyone: dict[str, Callable[[], Any]] = {
        "scikit-learn SGD pa1": lambda: SGDClassifier(
            learning_rate="pa1", eta0=1.0, penalty=None, max_iter=1, tol=None, shuffle=False
        ),
        **learners(),
    }
    held = 5_000
    for classes in counts:
        rng = np.random.default_rng(classes)
        y = rng.integers(classes, size=rows)
        y[:classes] = rng.permutation(classes)  # every class is there
        y_held = rng.integers(classes, size=held)
        X = documents(rows, length, features, y)
        X_held = documents(held, length, features, y_held, seed=1)
        page.title = (
            f"one pass over {rows:,} rows, {X.nnz / rows:.0f} of {features:,} features each, "
            f"best of {repeats}"
        )
        rival = 0.0
        for name, make in everyone.items():
            model = make()
            time = best(repeats, lambda: model.fit(X, y))  # noqa: B023
            rival = rival or time  # the first is scikit-learn's
            page.add_row(
                name,
                str(classes),
                f"{time:.4f}",
                f"{1e9 * time / (X.nnz * classes):.3f}",
                f"{rival / time:.1f}",
                f"{model.score(X_held, y_held):.4f}",
                end_section=name == list(everyone)[-1],
            )
    return page


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grow-to", type=int, default=200, help="classes at the end of growing")
    parser.add_argument("--classes", type=int, nargs="+", default=[20, 100, 400])
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the one pass")
    parser.add_argument(
        "--length", type=int, default=110, help="words drawn per row, repeats included"
    )
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if min(options.grow_to, *options.classes) < 3 or options.rows < max(options.classes):
        parser.error(
            "--grow-to and --classes need at least 3 classes, and --rows one row per class"
        )
    shape = (options.length, options.features, options.repeats)
    console = Console()
    console.print(growth(options.grow_to, *shape))
    console.print(one_pass(options.classes, options.rows, *shape))


if __name__ == "__main__":
    main()
