"""How much faster fit is with several threads, on sparse rows and on texts, with accuracies.

One run measures all: whole calls of `fit` with one thread and with several, in turns, so that both
meet the same machine. The time is the best of several, compiled code warm; on a machine with other
work it shows little. Without a file, the texts are the messages that come with sureline, which are
too few to gain much.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from text import read

from sureline import AROWClassifier, TextClassifier, TextFeatures

HEAD = f"{'fit':<28} {'jobs':>4} {'seconds':>8} {'times as fast':>13} {'CPU s':>7} {'accuracy':>9}"


class Taken(NamedTuple):
    """What one call took: time, and the time of all cores."""

    seconds: float
    cores: float


def take(work: Callable[[], Any]) -> Taken:
    """Do the work, and return what it took."""
    start, begun = perf_counter(), process_time()
    work()
    return Taken(perf_counter() - start, process_time() - begun)


def compare(
    name: str,
    fit: Callable[[int], Any],
    test: tuple[Any, Any],
    numbers: list[int],
    repeats: int,
) -> None:
    """Print a line for each number of jobs, all of which do the same work in turns."""
    rows, truth = test
    right = {jobs: np.mean(fit(jobs).predict(rows) == truth) for jobs in numbers}  # warms up, too
    taken: dict[int, list[Taken]] = {jobs: [] for jobs in numbers}
    for _ in range(repeats):
        for jobs in numbers:
            taken[jobs].append(take(lambda jobs=jobs: fit(jobs)))
    one = min(taken[numbers[0]]).seconds
    for jobs in numbers:
        best = min(taken[jobs])
        cores = min(each.cores for each in taken[jobs])
        print(
            f"{name:<28} {jobs:>4} {best.seconds:>8.3f} {one / best.seconds:>13.2f} {cores:>7.3f} "
            f"{100 * right[jobs]:>8.2f}%",
            flush=True,
        )


def main() -> None:
    """Print a line for everything that is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="a CSV, Parquet or other file with texts")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--label", default="label", metavar="COLUMN")
    parser.add_argument("--jobs", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--passes", default="1,5", help="numbers of passes (default 1,5)")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    numbers = [int(each) for each in options.jobs.split(",")]
    texts, labels = read(options.file, options.text, options.label)
    half = len(texts) // 2
    train, test = texts.slice(0, half), texts.slice(half)
    y, truth = np.array(labels[:half]), np.array(labels[half:])
    features = TextFeatures().fit(train)
    X, X_test = features.transform(train), features.transform(test)
    print(
        f"{half:,} texts, {train.nbytes / 1e6:.1f} MB; best of {options.repeats}; "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(HEAD)
    for passes in (int(each) for each in options.passes.split(",")):
        settings: dict[str, Any] = {"max_iter": passes, "random_state": 0}

        def fit_rows(jobs: int, settings: dict[str, Any] = settings) -> AROWClassifier:
            return AROWClassifier(r=0.1, n_jobs=jobs, **settings).fit(X, y)

        compare(f"rows, passes: {passes}", fit_rows, (X_test, truth), numbers, options.repeats)
        for kind in ("vocabulary", "hash"):

            def fit_texts(
                jobs: int, kind: str = kind, settings: dict[str, Any] = settings
            ) -> TextClassifier:
                made = TextClassifier(features=kind, n_jobs=jobs, **settings)
                return made.fit(train, y)

            name = f"texts, {kind}, passes: {passes}"
            compare(name, fit_texts, (test, truth), numbers, options.repeats)


if __name__ == "__main__":
    main()
