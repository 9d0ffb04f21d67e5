"""Where the defaults of BoxClassifier's C and D come from: five text data sets, with label noise.

Four domains of Amazon reviews and the embedded text messages, as tf-idf of words and pairs, with 0,
10 and 20 % of the training labels flipped. Every pair (C, D) is trained and judged on held-out
rows; the defaults are the pair whose error is nearest to the best, over all data sets and both
regularizers. Then the defaults are judged on newsgroups, which had no part in the choice. Writes
defaults.csv and the tables in README.md.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet
from experiments.tables import fill_in, make_table
from experiments.tasks import NEWS, NEWS_PAIRS, MissingData, find_file
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from sureline import AROWClassifier, BoxClassifier
from sureline.data import sms_spam

Regularizer = Literal["max", "sum"]

HERE = Path(__file__).resolve().parent
NOISE = (0.0, 0.1, 0.2)
C = (1e-7, 1e-6, 1e-5, 1e-4)
D = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
REGULARIZERS: tuple[Regularizer, ...] = ("max", "sum")

Task = tuple[str, Any, NDArray[Any], Any, NDArray[Any]]  # name, X, y, X and y to judge by


def vectors(name: str, texts: list[str], y: NDArray[Any]) -> Task:
    """70 % of the rows to learn and the others to judge by, as tf-idf."""
    split = train_test_split(texts, y, test_size=0.3, random_state=0, stratify=y)
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return name, tfidf.fit_transform(split[0]), split[2], tfidf.transform(split[1]), split[3]


def chosen_on(folder: Path | None) -> Iterator[Task]:
    """The data sets that choose the defaults."""
    table = pyarrow.parquet.read_table(find_file("amazon-raw.parquet", folder))
    domain, label, text = (table[name].to_pylist() for name in ("domain", "label", "text"))
    for each in sorted(set(domain)):
        rows = [k for k, d in enumerate(domain) if d == each]
        yield vectors(each, [text[k] for k in rows], np.array([label[k] for k in rows]))
    texts, labels = sms_spam()
    yield vectors("sms", list(texts), np.array(labels))


def reported_on(folder: Path | None) -> Iterator[Task]:
    """The data sets that the defaults are judged on."""
    table = pyarrow.parquet.read_table(find_file(NEWS, folder))
    group, text = (table[name].to_pylist() for name in ("group", "text"))
    for name, pair in NEWS_PAIRS.items():
        rows = [k for k, each in enumerate(group) if each in pair]
        yield vectors(name, [text[k] for k in rows], np.array([group[k] for k in rows]))


def spoil(y: NDArray[Any], noise: float) -> NDArray[Any]:
    """Labels of two classes, each flipped with probability `noise`."""
    classes, codes = np.unique(y, return_inverse=True)
    flipped = np.random.default_rng(0).random(y.size) < noise
    return np.asarray(classes[np.where(flipped, 1 - codes, codes)])


def error(model: Any, task: Task, noise: float) -> float:
    """The error of `model` on the rows to judge by."""
    _, X, y, X_judged, y_judged = task
    return float((model.fit(X, spoil(y, noise)).predict(X_judged) != y_judged).mean())


def box(regularizer: Regularizer, C: float, D: float) -> BoxClassifier:
    """A box, solved as well as it matters here."""
    return BoxClassifier(regularizer=regularizer, C=C, D=D, tol=1e-3, random_state=0)


def choose(folder: Path | None) -> tuple[tuple[float, float], str, list[tuple[Any, ...]]]:
    """The best pair (C, D), the table of all pairs, and the errors behind it."""
    rows: list[tuple[Any, ...]] = []
    logs: dict[tuple[float, float], list[float]] = {pair: [] for pair in product(C, D)}
    for task in chosen_on(folder):
        for noise, regularizer in product(NOISE, REGULARIZERS):
            errors = {pair: error(box(regularizer, *pair), task, noise) for pair in logs}
            for pair, wrong in errors.items():
                logs[pair].append(float(np.log(wrong / min(errors.values()))))
                rows.append((task[0], noise, regularizer, *pair, f"{wrong:.6f}"))
        print(task[0], file=sys.stderr)
    worse = {pair: 100.0 * np.expm1(np.mean(each)) for pair, each in logs.items()}
    head = ("error above the best of the grid, %", *(f"D={d:g}" for d in D))
    table = make_table(head, [(f"C={c:g}", *(f"{worse[c, d]:.1f}" for d in D)) for c in C])
    return min(worse, key=worse.__getitem__), table, rows


def judge_on_news(folder: Path | None, best: tuple[float, float]) -> str:
    """The defaults compared with those of others, on data that was not used for the choice."""
    models: dict[str, Any] = {f"BoW-{r[0].upper()}": box(r, *best) for r in REGULARIZERS}
    models |= {"SVM, C = 1": LinearSVC(loss="hinge", random_state=0)}
    models |= {"AROW, r = 1": AROWClassifier(random_state=0)}
    tasks = list(reported_on(folder))
    rows = []
    for name, model in models.items():
        errors = [error(model, task, noise) for task in tasks for noise in NOISE]
        rows.append((name, *(f"{100 * wrong:.2f}" for wrong in errors)))
    columns = [f"{pair} {noise:.0%}" for pair in NEWS_PAIRS for noise in NOISE]
    return make_table(("test error in %", *columns), rows)


def main() -> None:
    """Choose, then judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder that holds the data files")
    folder = parser.parse_args().data
    warnings.simplefilter("ignore", ConvergenceWarning)
    try:
        best, table, rows = choose(folder)
        judged = judge_on_news(folder, best)
    except MissingData as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    chosen = f"{table}\n\nChosen: `C={best[0]:g}`, `D={best[1]:g}`."
    for name, text in (("defaults", chosen), ("defaults-judged", judged)):
        print(f"{text}\n")
        fill_in(HERE / "README.md", name, text)
    with (HERE / "defaults.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("task", "noise", "regularizer", "C", "D", "error"))
        out.writerows(rows)


if __name__ == "__main__":
    main()
