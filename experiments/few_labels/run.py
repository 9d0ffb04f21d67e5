"""Learning curves from 50 labels to all of them: max_iter="auto", fixed passes, and LinearSVC.

A draw is a random part of a task's training texts; all learners get the same. With all labels, a
draw is another order. Writes ours.csv, curves.png and what README.md and docs/defaults.md say
between their markers. With --quick it writes to the cache and leaves these as they are.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Cell, Record, Settings, read_arguments, run_cells, start
from experiments.few_labels.texts import LOOKED_AT, NAMES, NEW, OWN, open_task
from experiments.figures import draw_curves
from experiments.tables import Figure, Figures, fill_in, make_table, publish, write_figures
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from sureline import TextClassifier

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
SIZES = (50, 100, 200, 500, 1000, 3000, 0)  # 0: all
DRAWS = 5
PASSES: tuple[Any, ...] = ("auto", 1, 2, 3, 5, 10)
SVM = "LinearSVC"
LEARNERS = (*map(str, PASSES), SVM)
SHOWN = {"auto": "auto", "1": "1 pass", "10": "10 passes", SVM: SVM}
GOALS = {50: 3.0, 200: 2.0, 1000: 1.5, 3000: 1.5}  # points above LinearSVC
PARTS = ("curves", "tasks", "goals")

Table = NDArray[np.float64]


def work(cell: Cell, settings: Settings) -> Record:
    """The accuracy of every learner on one draw of a task, in per cent, and the passes made."""
    train, test = open_task(cell.task, settings.get("data"))
    size, draw = map(int, cell.stage.split())
    if size >= train.label.size:
        return {}
    rows = np.random.RandomState(1000 * draw + size).permutation(train.label.size)
    part = train.take(rows[:size] if size else rows)
    found: Record = {"labels": int(part.label.size)}
    for passes in PASSES:
        if not size and passes not in ("auto", 1, 10):
            continue
        model = TextClassifier(max_iter=passes, random_state=draw).fit(part.text, part.label)
        found[str(passes)] = 100.0 * float(np.mean(model.predict(test.text) == test.label))
        if passes == "auto":
            found["passes"] = model.n_iter_
    if size or not draw:  # it does not depend on the order
        vectorizer = TfidfVectorizer(ngram_range=(1, 2))
        fitted = LinearSVC().fit(vectorizer.fit_transform(part.text.to_pylist()), part.label)
        labels = fitted.predict(vectorizer.transform(test.text.to_pylist()))
        found[SVM] = 100.0 * float(np.mean(labels == test.label))
    return found


def mean_accuracy(found: Mapping[Cell, Record], task: str, size: int, learner: str) -> float:
    """The mean over draws; NaN where there is none."""
    values = [
        record[learner]
        for cell, record in found.items()
        if cell.task == task and cell.stage.startswith(f"{size} ") and learner in record
    ]
    return float(np.mean(values)) if values else float("nan")


def tabulate(found: Mapping[Cell, Record], tasks: Sequence[str], sizes: Sequence[int]) -> Table:
    """Mean accuracies by size, task and learner."""
    return np.array(
        [
            [[mean_accuracy(found, task, size, name) for name in LEARNERS] for task in tasks]
            for size in sizes
        ]
    )


def show_size(size: int) -> str:
    """A number of labels as a row's name."""
    return f"{size:,}" if size else "all"


def table_curves(table: Table, tasks: Sequence[str], sizes: Sequence[int]) -> str:
    """Mean accuracies over the tasks that have so many labels."""
    rows = []
    for size, by_task in zip(sizes, table, strict=True):
        have = ~np.isnan(by_task[:, 0])
        if not have.any():
            continue
        means = by_task[have].mean(axis=0)
        cells = ["–" if np.isnan(mean) else f"{mean:.1f}" for mean in means]
        gap = means[0] - means[LEARNERS.index(SVM)]
        rows.append((show_size(size), str(have.sum()), *cells, f"{gap:+.1f}"))
    head = [name if name in SHOWN else f"{name} passes" for name in LEARNERS]
    head = [SHOWN.get(name, name) for name in head]
    return make_table(("labels", "tasks", *head, f"auto − {SVM}"), rows)


def table_tasks(table: Table, tasks: Sequence[str], sizes: Sequence[int]) -> str:
    """One pass, ten passes, auto and LinearSVC, by task."""
    kept = [size for size in sizes if size in (50, 200, 1000, 3000, 0)]
    rows = []
    for k, task in enumerate(tasks):
        cells = []
        for size in kept:
            values = dict(zip(LEARNERS, table[sizes.index(size), k], strict=True))
            shown = [f"{values[name]:.1f}" for name in SHOWN]
            cells.append("–" if np.isnan(values["auto"]) else " / ".join(shown))
        rows.append((NAMES[task] + (" ◦" if task in LOOKED_AT else ""), *cells))
    return make_table((" / ".join(SHOWN.values()), *map(show_size, kept)), rows)


def table_goals(table: Table, tasks: Sequence[str], sizes: Sequence[int]) -> str:
    """What was to be reached, on all tasks and on those that took no part in making the rule."""
    auto, one, ten, svm = (LEARNERS.index(name) for name in SHOWN)
    rows = []
    groups = {
        "all": list(tasks),
        "whole texts": [task for task in tasks if task not in OWN],
        "took no part": [task for task in tasks if task in NEW],
    }
    for title, group in groups.items():
        places = [list(tasks).index(task) for task in group]
        for size, by_task in zip(sizes, table, strict=True):
            part = by_task[places]
            part = part[~np.isnan(part[:, auto])]
            if not part.size:
                continue
            means = part.mean(axis=0)
            above = means[auto] - means[svm]
            goal = GOALS.get(size)
            worst = (part[:, auto] - part[:, one]).min()
            better = means[auto] - max(means[one], means[ten])
            rows.append(
                (
                    f"{title}, {len(part)} tasks",
                    show_size(size),
                    f"{above:+.1f}" + ("" if goal is None else f" of {goal:+.1f}"),
                    "" if goal is None else "yes" if above >= goal else "no",
                    f"{better:+.2f}",
                    "yes" if better >= 0 else "no",
                    f"{worst:+.1f}",
                    "yes" if worst >= -1.0 else "no",
                )
            )
    head = (
        "tasks", "labels", f"above {SVM}", "reached", "above the better of 1 and 10", "reached",
        "worst task against 1 pass", "at most 1 below",
    )  # fmt: skip
    return make_table(head, rows)


def list_figures(found: Mapping[Cell, Record]) -> Figures:
    """Every figure of every run."""
    return {
        (f"{cell.stage.replace(' ', ' labels, draw ')}", cell.task, name): Figure(value)
        for cell, record in found.items()
        for name, value in record.items()
        if name in LEARNERS or name == "passes"
    }


def draw(table: Table, tasks: Sequence[str], sizes: Sequence[int], path: Path) -> None:
    """Learning curves: the mean over tasks that have 3,000 labels, and each task."""
    across = [size for size in sizes if size]
    panels, x = dict[str, dict[str, list[float]]](), dict[str, list[float]]()
    for k, task in enumerate(tasks):
        count = sum(not np.isnan(table[j, k, 0]) for j in range(len(across)))
        panels[NAMES[task]] = {
            title: [float(table[j, k, LEARNERS.index(name)]) for j in range(count)]
            for name, title in SHOWN.items()
        }
        x[NAMES[task]] = [float(np.log10(size)) for size in across[:count]]
    draw_curves(path, panels, x, "labels (10 to the power of)", "accuracy in %", columns=4)


def main() -> None:
    """Run what is left, then write the results."""
    options = read_arguments(__doc__, HERE, PARTS)
    tasks, sizes, draws = tuple(NAMES), SIZES, DRAWS
    if options.quick:
        tasks, sizes, draws = ("sms", "mr", "titles"), (50, 200), 2
    settings = {"data": options.data and str(options.data)}
    cells = [
        Cell(task, "all", f"{size} {draw}")
        for size in sizes
        for task in tasks
        for draw in range(draws)
    ]
    found = run_cells(cells, work, options.results, settings, options.jobs)
    missing = {record["missing"] for record in found.values() if "missing" in record}
    if missing:
        raise SystemExit(f"sureline: {'; '.join(sorted(missing))}")
    table = tabulate(found, tasks, sizes)
    texts = {
        "curves": table_curves(table, tasks, sizes),
        "tasks": table_tasks(table, tasks, sizes),
        "goals": table_goals(table, tasks, sizes),
    }
    write_figures(options.output / "ours.csv", list_figures(found), 4)
    draw(table, tasks, sizes, options.output / "curves.png")
    publish(options.output, texts)
    if options.output == HERE:
        shutil.copyfile(HERE / "curves.png", DOCS / "_static" / "few-labels.png")
        for name in ("curves", "goals"):
            fill_in(DOCS / "defaults.md", f"few {name}", texts[name])
    print("\n\n".join(texts.values()))
    print(f"written to {options.output}", file=sys.stderr)


if __name__ == "__main__":
    start(main)
