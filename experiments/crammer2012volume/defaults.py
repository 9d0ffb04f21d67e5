"""Where the "auto" of BoxClassifier's C and D comes from: nine text data sets, with label noise.

C is taken as c/n and D as dℓ²/n, for n training rows of average length ℓ. Four domains of Amazon
reviews, text messages, film reviews and folders of mail as tf-idf of words and pairs, two of the
domains as counts, too; 0, 10 and 20 % of the training labels are flipped. Every pair (c, d) is
trained and judged on held-out rows. The pair is chosen whose error is nearest to the best, over all
data sets and both regularizers; of about equal ones, that with the widest box. Then the default is
judged on newsgroups, which had no part in the choice. Writes defaults.csv and the tables in
README.md.
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
from experiments.defaults.texts import find_text_copies
from experiments.tables import fill_in, make_table
from experiments.tasks import IMDB, NEWS, NEWS_PAIRS, MissingData, find_file, load
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from sureline import AROWClassifier, BoxClassifier
from sureline.data import sms_spam
from sureline.rules.box.problem import VOLUME, WEIGHTS

Regularizer = Literal["max", "sum"]

HERE = Path(__file__).resolve().parent
NOISE = (0.0, 0.1, 0.2)
C = (1e-4, 1e-3, 1e-2)
D = (0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
REGULARIZERS: tuple[Regularizer, ...] = ("max", "sum")
EQUAL = 0.5  # a difference of errors, in %, that does not count
FILMS = 8000  # training rows of IMDb that are split again; its test rows have no part

Task = tuple[str, Any, NDArray[Any], Any, NDArray[Any]]  # name, X, y, X and y to judge by


def vectors(name: str, train: tuple[Any, Any], test: tuple[Any, Any], counts: bool = False) -> Task:
    """Texts and labels to learn and to judge by, as tf-idf or counts of words and pairs."""
    words: Any = CountVectorizer(ngram_range=(1, 2))
    if not counts:
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    X, asked = words.fit_transform(train[0]), words.transform(test[0])
    return name, X, np.asarray(train[1]), asked, np.asarray(test[1])


def once(rows: list[int], texts: list[str]) -> list[int]:
    """The rows without those whose text is a copy of another one's."""
    return [rows[k] for k in np.unique(find_text_copies([texts[row] for row in rows]))]


def split(X: Any, y: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """70 % of the rows to learn and the others to judge by."""
    found = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return (found[0], found[2]), (found[1], found[3])


def read(file: str, folder: Path | None, *columns: str) -> list[list[Any]]:
    """Some columns of a data file."""
    table = pyarrow.parquet.read_table(find_file(file, folder), columns=list(columns))
    return [table[name].to_pylist() for name in columns]


def chosen_on(folder: Path | None) -> Iterator[Task]:
    """The data sets that choose the pair."""
    domain, label, text = read("amazon-raw.parquet", folder, "domain", "label", "text")
    for each in sorted(set(domain)):
        rows = once([k for k, d in enumerate(domain) if d == each], text)
        parts = split([text[k] for k in rows], [label[k] for k in rows])
        yield vectors(each, *parts)
        if each in ("dvd", "kitchen"):
            yield vectors(f"{each}, counts", *parts, counts=True)
    text, label = sms_spam()
    rows = once(list(range(len(text))), text)
    yield vectors("sms", *split([text[k] for k in rows], [label[k] for k in rows]))
    part, label, text = read(IMDB, folder, "split", "label", "text")
    rows = np.flatnonzero(np.array(part) == "train")
    rows = once(np.random.default_rng(0).permutation(rows)[:FILMS].tolist(), text)
    yield vectors("imdb", *split([text[k] for k in rows], [label[k] for k in rows]))
    mail = load("enron/a", folder)
    (X, y), (asked, answers) = split(normalize(mail.X), mail.y)
    yield "enron", X, y, asked, answers


def reported_on(folder: Path | None) -> Iterator[Task]:
    """The data sets that the choice is judged on: pairs of groups, and all of them by date."""
    part, group, text = read(NEWS, folder, "split", "group", "text")
    for name, pair in NEWS_PAIRS.items():
        rows = once([k for k, each in enumerate(group) if each in pair], text)
        yield vectors(name, *split([text[k] for k in rows], [group[k] for k in rows]))
    test = np.array(part) == "test"
    kept = np.unique(find_text_copies(text, test))
    both = kept[~test[kept]].tolist(), kept[test[kept]].tolist()
    yield vectors(
        "20 News", *(([text[k] for k in some], [group[k] for k in some]) for some in both)
    )


def spoil(y: NDArray[Any], noise: float) -> NDArray[Any]:
    """Labels that are, with probability `noise`, another than they were."""
    classes, codes = np.unique(y, return_inverse=True)
    rng = np.random.default_rng(0)
    flipped = rng.random(y.size) < noise
    others = (codes + rng.integers(1, classes.size, y.size)) % classes.size
    return np.asarray(classes[np.where(flipped, others, codes)])


def error(model: Any, task: Task, noise: float) -> float:
    """The error of `model` on the rows to judge by."""
    _, X, y, asked, answers = task
    return float((model.fit(X, spoil(y, noise)).predict(asked) != answers).mean())


def box(regularizer: Regularizer, pair: tuple[float, float], task: Task) -> BoxClassifier:
    """A box with the C and D that a pair makes of a task."""
    X = task[1].astype(float)
    n, length = X.shape[0], float(np.sqrt(X.multiply(X).sum(axis=1)).mean())
    c, d = pair
    return BoxClassifier(
        regularizer=regularizer, C=c / n, D=d * length**2 / n, tol=1e-3, random_state=0
    )


def measure(folder: Path | None) -> tuple[dict[tuple[float, float], float], list[tuple[Any, ...]]]:
    """By how many % each pair (c, d) errs more than the best, and the errors behind that."""
    rows: list[tuple[Any, ...]] = []
    logs: dict[tuple[float, float], list[float]] = {pair: [] for pair in product(C, D)}
    for task in chosen_on(folder):
        for noise, regularizer in product(NOISE, REGULARIZERS):
            errors = {pair: error(box(regularizer, pair, task), task, noise) for pair in logs}
            for pair, wrong in errors.items():
                logs[pair].append(float(np.log(wrong / min(errors.values()))))
                rows.append((task[0], noise, regularizer, *pair, f"{wrong:.6f}"))
        print(task[0], file=sys.stderr, flush=True)
    return {pair: 100.0 * float(np.expm1(np.mean(each))) for pair, each in logs.items()}, rows


def describe_choice(worse: dict[tuple[float, float], float]) -> str:
    """The table of all pairs, and the one that is chosen."""
    least = min(worse.values())
    best = max((c, -worse[c, d], d) for c, d in worse if worse[c, d] <= least + EQUAL)
    head = ("error above the best of the grid, %", *(f"D = {d:g}ℓ²/n" for d in D))
    table = make_table(head, [(f"C = {c:g}/n", *(f"{worse[c, d]:.1f}" for d in D)) for c in C])
    says = "which is" if (best[0], best[2]) == (VOLUME, WEIGHTS) else "which is not"
    return f"{table}\n\nChosen: C = {best[0]:g}/n, D = {best[2]:g}ℓ²/n, {says} the default."


def judge_on_news(folder: Path | None) -> str:
    """The defaults compared with those of others, on data that was not used for the choice."""
    models: dict[str, Any] = {
        f"BoW-{r[0].upper()}": BoxClassifier(regularizer=r, random_state=0) for r in REGULARIZERS
    }
    models |= {"SVM, C = 1": LinearSVC(loss="hinge", random_state=0)}
    models |= {"AROW, r = 1": AROWClassifier(random_state=0)}
    columns = [(task, noise) for task in reported_on(folder) for noise in NOISE]
    rows = []
    for name, model in models.items():
        errors = [error(model, task, noise) for task, noise in columns]
        rows.append((name, *(f"{100 * wrong:.2f}" for wrong in errors)))
        print(name, file=sys.stderr, flush=True)
    head = ("test error in %", *(f"{task[0]} {noise:.0%}" for task, noise in columns))
    return make_table(head, rows)


def main() -> None:
    """Choose, then judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder that holds the data files")
    parser.add_argument("--table", choices=("choice", "news"), help="only one of the two tables")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    try:
        if given.table != "news":
            worse, rows = measure(given.data)
            publish("defaults", describe_choice(worse))
            with (HERE / "defaults.csv").open("w", newline="", encoding="utf-8") as file:
                out = csv.writer(file, lineterminator="\n")
                out.writerow(("task", "noise", "regularizer", "c", "d", "error"))
                out.writerows(rows)
        if given.table != "choice":
            publish("defaults-judged", judge_on_news(given.data))
    except MissingData as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


def publish(name: str, text: str) -> None:
    """Print a table and put it into README.md."""
    print(f"{text}\n")
    fill_in(HERE / "README.md", name, text)


if __name__ == "__main__":
    main()
