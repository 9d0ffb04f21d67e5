"""How much faster fit is with several threads, on sparse rows and on texts, accuracy beside it.

One run measures all: whole calls of `fit` with one thread and with several, in turns, so that both
meet the same machine. The time is the best of several, compiled code warm. Without a file, the
texts are the messages that come with sureline, which are too few to gain much.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from text import read

from sureline import AROWClassifier, TextClassifier, TextFeatures


def in_turns(repeats: int, works: dict[int, Callable[[], Any]]) -> dict[int, float]:
    """The shortest time of each work; all are done once before, which does not count."""
    times: dict[int, list[float]] = {jobs: [] for jobs in works}
    for _ in range(repeats + 1):
        for jobs, work in works.items():
            start = perf_counter()
            work()
            times[jobs].append(perf_counter() - start)
    return {jobs: min(taken[1:]) for jobs, taken in times.items()}


def compare(
    page: Table,
    name: str,
    fit: Callable[[int], Any],
    test: Any,
    truth: Any,
    numbers: list[int],
    repeats: int,
) -> None:
    """Rows of the table: the same work with each number of jobs."""
    works = {jobs: (lambda jobs=jobs: fit(jobs)) for jobs in numbers}
    seconds = in_turns(repeats, works)
    for jobs in numbers:
        right = float(np.mean(fit(jobs).predict(test) == truth))
        page.add_row(
            name,
            str(jobs),
            f"{seconds[jobs]:.3f}",
            f"{seconds[numbers[0]] / seconds[jobs]:.2f}",
            f"{100 * right:.2f}",
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="a CSV, Parquet or other file with texts")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--label", default="label", metavar="COLUMN")
    parser.add_argument("--jobs", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    numbers = [int(each) for each in options.jobs.split(",")]
    texts, labels = read(options.file, options.text, options.label)
    half = len(texts) // 2
    train, test = texts.slice(0, half), texts.slice(half)
    y, truth = np.array(labels[:half]), np.array(labels[half:])
    page = Table(
        title=f"{half:,} texts, best of {options.repeats}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    for head in ("fit", "jobs", "seconds", "times as fast", "accuracy in %"):
        page.add_column(head, justify="left" if head == "fit" else "right")
    for passes in (1, 5):
        for kind in ("vocabulary", "hash"):

            def fit_texts(jobs: int, passes: int = passes, kind: str = kind) -> TextClassifier:
                made = TextClassifier(features=kind, max_iter=passes, random_state=0, n_jobs=jobs)
                return made.fit(train, y)

            compare(
                page,
                f"texts, {kind}, passes: {passes}",
                fit_texts,
                test,
                truth,
                numbers,
                options.repeats,
            )
    features = TextFeatures().fit(train)
    X, X_test = features.transform(train), features.transform(test)
    for passes in (1, 5):

        def fit_rows(jobs: int, passes: int = passes) -> AROWClassifier:
            return AROWClassifier(r=0.1, max_iter=passes, random_state=0, n_jobs=jobs).fit(X, y)

        compare(
            page,
            f"sparse rows, passes: {passes}",
            fit_rows,
            X_test,
            truth,
            numbers,
            options.repeats,
        )
    Console().print(page)


if __name__ == "__main__":
    main()
