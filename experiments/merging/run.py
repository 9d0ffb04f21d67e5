"""Models trained on disjoint parts of the data, merged: average, uniform, weighted, and rounds.

The training texts are dealt to n shards, each shard trains a model in one pass, and the models are
merged in every way there is. Prints Markdown and writes ours.csv; README.md discusses both.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from experiments.defaults.texts import find_text_copies
from experiments.tasks import find_or_leave
from numpy.typing import NDArray

from sureline import AROWClassifier, CWClassifier, TextClassifier, merge

HERE = Path(__file__).resolve().parent
SHARDS = (10, 50, 100)
PASSES = 5
JUDGED = 10  # so many shards of each n are tested; all are merged
HOWS = {"mean": "uniform", "kl": "weighted", "product-prior": "prior once"}


@dataclass(frozen=True)
class Task:
    """Texts with labels, in a training and a test set."""

    name: str
    file: str
    label: str
    ngrams: tuple[int, int]


# The papers' own large sets cannot be had. Single words keep 20 News, with its 20 classes, small.
TASKS = (
    Task("IMDb", "imdb.parquet", "label", (1, 2)),
    Task("20 News", "20news-bydate.parquet", "group", (1, 1)),
)
# The papers': CW with the variance constraint on plain features. Ours: the default for texts.
LEARNERS = {
    "CW": {"estimator": CWClassifier(constraint="variance", confidence=0.84), "normalize": False},
    "AROW": {"estimator": AROWClassifier(r=0.1)},
}


@dataclass(frozen=True)
class Result:
    """The test accuracy of one model, or the mean of those of several."""

    task: str
    learner: str
    shards: int
    model: str
    seed: int
    accuracy: float


@dataclass(frozen=True)
class Texts:
    """Texts and their labels."""

    text: pa.LargeStringArray
    label: NDArray[Any]

    def take(self, rows: NDArray[np.intp]) -> Texts:
        """Some of them, in this order."""
        return Texts(self.text.take(pa.array(rows)), self.label[rows])


def load(task: Task, path: Path) -> tuple[Texts, Texts]:
    """The training and the test set, each text once."""
    table = pyarrow.parquet.read_table(path, columns=["split", "text", task.label])
    split = np.array(table["split"].to_pylist())
    text = table["text"].combine_chunks().cast(pa.large_string())
    every = Texts(text, np.array(table[task.label].to_pylist()))
    kept = np.unique(find_text_copies(text.to_pylist(), split == "test"))
    train, test = (every.take(kept[split[kept] == part]) for part in ("train", "test"))
    return train, test


def contest(task: Task, learner: str, train: Texts, test: Texts, seed: int) -> Iterator[Result]:
    """All models of one learner on one random order of the training set."""
    classes = np.unique(train.label)
    shuffled = train.take(np.random.RandomState(seed).permutation(len(train.label)))
    settings = {"ngrams": task.ngrams, "shuffle": False, **LEARNERS[learner]}
    settings |= {"weighting": None, "calibration": None}

    def score(model: TextClassifier) -> float:
        return float(np.mean(model.predict(test.text) == test.label))

    def result(shards: int, model: str, accuracy: float) -> Result:
        return Result(task.name, learner, shards, model, seed, accuracy)

    for passes in (1, PASSES):
        one = TextClassifier(**settings, max_iter=passes).fit(shuffled.text, shuffled.label)
        yield result(1, f"{passes} passes" if passes > 1 else "one", score(one))
    for many in SHARDS:
        models = []
        for k in range(many):
            part = shuffled.take(np.arange(k, len(shuffled.label), many))
            model = TextClassifier(**settings)
            models.append(model.partial_fit(part.text, part.label, classes=classes))
        alone = [score(model) for model in models[:JUDGED]]
        yield result(many, "average", float(np.mean(alone)))
        for how, name in HOWS.items():
            yield result(many, name, score(merge(models, how)))
        del models
        rounds = TextClassifier(**settings, max_iter=PASSES, n_jobs=many)
        yield result(many, "rounds", score(rounds.fit(shuffled.text, shuffled.label)))


def tables(results: list[Result]) -> Iterator[str]:
    """Mean accuracies over seeds, in per cent, with their deviation where there are several."""
    names = ("average", *HOWS.values(), "rounds")

    def cell(task: str, learner: str, shards: int, model: str) -> str:
        found = [
            100.0 * r.accuracy
            for r in results
            if (r.task, r.learner, r.shards, r.model) == (task, learner, shards, model)
        ]
        spread = f" ± {np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
        return f"{np.mean(found):.2f}{spread}"

    yield f"| | n | {' | '.join(names[:-1])} | {PASSES} rounds | one model | {PASSES} passes |"
    yield "|---|---:" + "|---:" * (len(names) + 2) + "|"
    for task in dict.fromkeys(r.task for r in results):
        for learner in LEARNERS:
            ones = [cell(task, learner, 1, name) for name in ("one", f"{PASSES} passes")]
            for many in SHARDS:
                cells = [cell(task, learner, many, name) for name in names]
                yield f"| {task}, {learner} | {many} | {' | '.join([*cells, *ones])} |"


def write(path: Path, results: list[Result]) -> None:
    """All that the table says; the same seeds give the same file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("task", "learner", "shards", "model", "seed", "accuracy"))
        for r in results:
            out.writerow((r.task, r.learner, r.shards, r.model, r.seed, f"{r.accuracy:.6f}"))


def main() -> None:
    """Run everything, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder that holds the data")
    parser.add_argument("--seeds", type=int, default=1, help="random orders (default 1)")
    arguments = parser.parse_args()
    results: list[Result] = []
    sets = {task: load(task, find_or_leave(task.file, arguments.data)) for task in TASKS}
    for seed in range(arguments.seeds):
        for task, (train, test) in sets.items():
            for learner in LEARNERS:
                for each in contest(task, learner, train, test, seed):
                    results.append(each)
                    print(*vars(each).values(), file=sys.stderr)
    print("\n".join(tables(results)))
    write(HERE / "ours.csv", results)


if __name__ == "__main__":
    main()
