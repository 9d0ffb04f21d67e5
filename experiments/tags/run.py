"""Several labels per text: F1 and time of `TextClassifier` and of others, in one run.

Learns the training texts and predicts the test texts once with each learner, one after the other,
each with one thread. Writes ours.csv and the tables of README.md and docs/tags.md. With --held-out,
a part of the training texts takes the place of the test texts, and nothing is written: that is what
settings are chosen by.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

from experiments.tables import (
    Figure,
    Figures,
    fill_in,
    make_table,
    publish,
    read_figures,
    write_figures,
)
from experiments.tags.learners import LEARNERS, missing
from experiments.tags.texts import TASKS, TaggedTexts, hold_out, read_task

from sureline import TextClassifier
from sureline.data.label_sets import as_label_sets
from sureline.evaluation.label_sets import LabelSetEvaluator

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
MEASURES = ("micro F1", "macro F1", "whole sets", "seconds")
NAMES = {task: task.split(", ")[1].replace(" ", "-") for task in TASKS}


def measure(name: str, train: TaggedTexts, test: TaggedTexts) -> dict[str, float]:
    """How well a learner predicts the test texts, and how long it takes with the training."""
    begun = perf_counter()
    found = LEARNERS[name](train, test.text)
    seconds = perf_counter() - begun
    truth = as_label_sets(test.labels)
    guess = as_label_sets([*found]).indicator(truth.labels)
    strange = [sum(x not in set(truth.labels) for x in each) for each in found]
    evaluator = LabelSetEvaluator(truth.labels)
    evaluator.add(truth, guess)
    result = evaluator.evaluation()
    # Labels that no test text has are wrong wherever they are predicted.
    right = int((truth.indicator(truth.labels) & guess).sum())
    said = int(guess.sum()) + sum(strange)
    return {
        "micro F1": 2.0 * right / max(said + int(truth.counts.sum()), 1),
        "macro F1": result.macro_f1,
        "whole sets": result.subset_accuracy,
        "seconds": seconds,
    }


def table(figures: Mapping[tuple[str, str, str], Figure], task: str) -> str:
    """The learners of a task; the best of each measure of accuracy in bold."""
    values = {
        name: [figures[name, task, each].value or 0.0 for each in MEASURES] for name in LEARNERS
    }
    best = [round(max(one[k] for one in values.values()), 3) for k in range(3)]
    rows = []
    for name, own in values.items():
        cells = [
            f"**{own[k]:.3f}**" if round(own[k], 3) == best[k] else f"{own[k]:.3f}"
            for k in range(3)
        ]
        rows.append((name, *cells, f"{own[3]:.1f}"))
    return make_table((task, *MEASURES), rows)


def main() -> None:
    """Measure all learners of all tasks."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the folder of the data sets")
    parser.add_argument("--held-out", action="store_true", help="leave the test texts alone")
    parser.add_argument("--only", nargs="*", default=list(LEARNERS), help="only these learners")
    options = parser.parse_args()
    if missing():
        raise SystemExit(f"install {' and '.join(missing())} first")
    TextClassifier(random_state=0, max_iter=2).fit(["a b", "b c", "c"], [["x"], ["y"], []]).predict(
        ["a"]
    )  # loads the compiled code, which others have in their libraries
    figures: Figures = {}
    for task in TASKS:
        train, test = read_task(task, options.data)
        if options.held_out:
            train, test = hold_out(train, 0)
        labels = len({x for each in train.labels for x in each})
        print(f"{task}: {len(train.text):,} and {len(test.text):,} texts, {labels} labels")
        for name in options.only:
            for measured, value in measure(name, train, test).items():
                figures[name, task, measured] = Figure(value)
            shown = [figures[name, task, each].value or 0.0 for each in MEASURES]
            print(f"  {name:42}", *(f"{value:7.3f}" for value in shown), flush=True)
    if options.held_out or set(options.only) != set(LEARNERS):
        return
    write_figures(HERE / "ours.csv", figures, 4)
    figures = read_figures(HERE / "ours.csv")  # rounded, as the tables are made from it
    texts = {name: table(figures, task) for task, name in NAMES.items()}
    publish(HERE, texts)
    for name, text in texts.items():
        fill_in(DOCS / "tags.md", f"tags {name}", text)


if __name__ == "__main__":
    main()
