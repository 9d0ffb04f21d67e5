"""Compare the speed of two source trees, run in turns so that a busy machine slows both alike.

``python -m benchmarks.speed.before_after OLD_SRC NEW_SRC`` starts a process for each tree, several
times in turns, and prints the best processor time of each workload and the ratio new / old.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROUNDS = 5
REPEATS = 5


def workloads() -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Name, number of examples and call of each workload, in the tree that is imported."""
    import numpy as np
    import scipy.sparse

    from sureline import AROWClassifier, CWClassifier, PAClassifier, TextClassifier
    from sureline.data import sms_spam

    texts, labels = sms_spam()
    texts, labels = list(texts), list(labels)

    def learn_one() -> None:
        model = TextClassifier(random_state=0)
        for text, label in zip(texts, labels, strict=True):
            model.learn_one(text, label)

    fitted = TextClassifier(random_state=0).fit(texts, labels)

    def predict_one() -> None:
        for text in texts:
            fitted.predict_one(text)

    yield "learn_one", len(texts), learn_one
    yield "predict_one", len(texts), predict_one
    yield "text fit", len(texts), lambda: TextClassifier(random_state=0).fit(texts, labels)
    yield "text predict_proba", len(texts), lambda: fitted.predict_proba(texts)

    rng = np.random.default_rng(0)
    many = [f"{label}{number % 5}" for number, label in enumerate(labels)]
    yield (
        "text fit, 10 classes",
        len(texts),
        lambda: TextClassifier(random_state=0, max_iter=1).fit(texts, many),
    )
    rows, features = 50_000, 2**18
    columns = (features * rng.random((rows, 60)) ** 3).astype(np.int32)
    indptr = np.arange(rows + 1) * 60
    X = scipy.sparse.csr_matrix(
        (np.ones(rows * 60, np.float32), columns.ravel(), indptr), shape=(rows, features)
    )
    X.sum_duplicates()
    truth = rng.normal(size=(features, 8)).astype(np.float32)
    scores = X @ truth
    two, classes = (scores[:, 0] > 0).astype(int), scores.argmax(axis=1)
    once: dict[str, Any] = {"max_iter": 1, "shuffle": False}
    for name, model in {
        "AROW": AROWClassifier(**once),
        "AROW r=auto": AROWClassifier(**once, r="auto"),
        "AROW calibrated": AROWClassifier(**once, calibration="online"),
        "CW exact": CWClassifier(**once, covariance="diagonal-exact"),
        "PA": PAClassifier(**once),
    }.items():
        yield f"{name}, two classes", rows, lambda model=model: model.fit(X, two)
    for name, model in {
        "AROW": AROWClassifier(**once),
        "AROW one-vs-rest": AROWClassifier(**once, scheme="one-vs-rest"),
        "CW parallel": CWClassifier(**once, scheme="parallel", competitors=3),
        "AROW calibrated": AROWClassifier(**once, calibration="online"),
    }.items():
        yield f"{name}, 8 classes", rows, lambda model=model: model.fit(X, classes)
    known = AROWClassifier(**once).fit(X, classes)
    yield "decision_function, 8 classes", rows, lambda: known.decision_function(X)
    full = AROWClassifier(**once, covariance="full")
    for width, rows in {100: 1000, 256: 4096, 1024: 512, 4096: 128}.items():
        dense = rng.normal(size=(rows, width)).astype(np.float32) / np.float32(np.sqrt(width))
        side = (dense[:, 0] > 0).astype(int)
        yield (
            f"AROW full, {width} features",
            rows,
            lambda dense=dense, side=side: full.fit(dense, side),
        )
    dense = rng.normal(size=(512, 1024)).astype(np.float32) / np.float32(32)
    kinds = (dense @ rng.normal(size=(1024, 20))).argmax(axis=1)
    for scheme in ("sequential", "one-vs-rest"):
        model = AROWClassifier(**once, covariance="full", scheme=scheme)
        yield f"AROW full, 20 classes, {scheme}", 512, lambda model=model: model.fit(dense, kinds)
    known = full.fit(dense, kinds > 9)
    yield "AROW full, predict_proba", 512, lambda: known.predict_proba(dense)


def measure(only: str) -> dict[str, float]:
    """The best time of each workload in microseconds per example."""
    found = {}
    for name, count, call in workloads():
        if only not in name:
            continue
        call()
        times = []
        for _ in range(REPEATS):
            begin = time.process_time()
            call()
            times.append(time.process_time() - begin)
        found[name] = 1e6 * min(times) / count
    return found


def main() -> None:
    """Measure both trees in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="part of a workload's name")
    given = parser.parse_args()
    best: dict[Path, dict[str, float]] = {given.old: {}, given.new: {}}
    for number in range(given.rounds):
        for tree in (given.old, given.new) if number % 2 else (given.new, given.old):
            done = subprocess.run(  # noqa: S603, ours
                [sys.executable, __file__, "--measure", given.only],
                env={**os.environ, "PYTHONPATH": str(tree.resolve())},
                capture_output=True,
                text=True,
                check=True,
            )
            for name, value in json.loads(done.stdout.splitlines()[-1]).items():
                best[tree][name] = min(value, best[tree].get(name, value))
    print(f"{'µs per example':34}{'old':>9}{'new':>9}{'new/old':>9}")
    for name, old in best[given.old].items():
        new = best[given.new][name]
        print(f"{name:34}{old:9.3f}{new:9.3f}{new / old:9.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main()
