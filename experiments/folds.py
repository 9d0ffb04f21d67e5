"""The cells of two-class tables: choose, then judge, one learner on one task."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from experiments.cells import Cell, Record, Settings, run_cells
from experiments.ends import Chosen
from experiments.learners import LEARNERS, Learner, show
from experiments.protocol import judge, learn, pack, split_folds, tune, unpack
from experiments.tables import Figure, Figures, compare
from experiments.tasks import TASKS, Task, at_hand, load

COPIES = "copies"
LABELS, FEATURES = "unbalanced labels", "unbalanced features"

Records = Mapping[Cell, Record]


def judge_cell(cell: Cell, settings: Settings) -> Record:
    """What a learner achieves on a task under the papers' protocol.

    The settings are ``seed``, ``folds``, ``grid`` (how many settings to try at most, 0 for all),
    ``data`` and, for online learners, ``passes`` (at most) and ``fixed`` (exactly that many). A
    task with a standard test set is judged on that. The stage names a variant of the task: with
    `COPIES`, rows that are the same all stay; `LABELS` and `FEATURES` are those of `unbalance`.
    """
    task = open_task(cell.task, settings, cell.stage == COPIES)
    if cell.stage in (LABELS, FEATURES):
        task = unbalance(task, cell.stage)
    learner = thin(LEARNERS[cell.learner], int(settings["grid"]))
    seed, passes = int(settings["seed"]), int(settings.get("passes", 1))
    known = np.flatnonzero(~task.test)
    X = learner.prepare(task.X) if learner.prepare else task.X
    choice = tune(learner, X[known], task.y[known], passes, seed, bool(settings.get("fixed")))
    if task.test.any():
        splits = [(known, np.flatnonzero(task.test))]
    else:
        splits = split_folds(task.y, int(settings["folds"]), seed)
    judged = judge(learner, choice, X, task.y, splits, seed, passes)
    seconds = judged.seconds
    if learner.timed:
        rows, _ = splits[0]
        whole = replace(learner, make=learner.timed)
        seconds = [spent for _, spent in learn(whole, choice.setting, task.X[rows], task.y[rows])]
    return {
        "error": judged.error,
        "right": pack(judged.right),
        "setting": choice.setting,
        "passes": choice.passes,
        "seconds": float(np.mean(seconds)),
        "training": float(np.mean(judged.training)) if judged.training else None,
        "curve": np.mean(judged.curves, axis=0).tolist(),
        "tuning": [min(errors) for errors in choice.errors],
    }


def unbalance(task: Task, what: str) -> Task:
    """A variant of a two-class task in which one label, or its features, are rare.

    `LABELS` keeps a quarter of the rows of the second label. `FEATURES` keeps a quarter of the
    features that are more frequent in rows of the second label than in those of the first. Which
    ones is random and always the same.
    """
    rng = np.random.default_rng(0)
    second = task.y == np.unique(task.y)[1]
    if what == LABELS:
        kept = np.flatnonzero(~second | (rng.random(task.y.size) < 0.25))
        return replace(task, X=task.X[kept], y=task.y[kept], test=task.test[kept])
    often = [np.diff(task.X[rows].tocsc().indptr) / rows.sum() for rows in (~second, second)]
    columns = (often[0] >= often[1]) | (rng.random(task.X.shape[1]) < 0.25)
    return replace(task, X=task.X[:, np.flatnonzero(columns)])


def run_tables(cells: Iterable[Cell], options: Namespace, settings: Settings) -> Records:
    """Run the cells of a paper's tables, those whose data is at hand.

    Learners that make no passes do the same work for every paper, so their results are shared.
    """
    online, batch = list[Cell](), list[Cell]()
    for cell in (one for one in cells if at_hand(one.task, options.data)):
        (online if LEARNERS[cell.learner].online else batch).append(cell)
    general = {name: settings[name] for name in ("seed", "folds", "grid", "data")}
    return {
        **run_cells(batch, judge_cell, options.shared, general, options.jobs, _grid_of),
        **run_cells(online, judge_cell, options.results, settings, options.jobs, _grid_of),
    }


def _grid_of(cell: Cell) -> object:
    return LEARNERS[cell.learner].grid


def known(records: Records, task: str, learner: str, stage: str = "folds") -> Record | None:
    """The record of a cell, or None where its data is missing."""
    record = records.get(Cell(task, learner, stage))
    return None if record is None or "missing" in record else record


def make_figure(
    records: Records, task: str, learner: str, others: Sequence[str] = (), stage: str = "folds"
) -> Figure:
    """A cell's error, marked if it differs from that of each of the others, and its choice."""
    record = known(records, task, learner, stage)
    if record is None:
        info = TASKS[task]
        why = f"{info.file} is not at hand" if info.can_be_had else info.differences
        return Figure(None, None, why)
    rivals = [rival for name in others if (rival := known(records, task, name))]
    level = None
    if others and len(rivals) == len(others):
        level = compare(unpack(record["right"]), [unpack(rival["right"]) for rival in rivals])
    return Figure(record["error"], level, describe_choice(record))


def list_choices(records: Records, most: int) -> list[Chosen]:
    """What was chosen for every cell, from grids of so many settings at most, 0 for all."""
    return [
        Chosen(thin(LEARNERS[cell.learner], most), record["setting"], record["tuning"])
        for cell, record in records.items()
        if "missing" not in record
    ]


def collect_curves(
    part: str, records: Records, tasks: Iterable[str], learners: Sequence[str]
) -> Figures:
    """Test accuracies in % after each pass."""
    found: Figures = {}
    for task in tasks:
        for name in learners:
            record = known(records, task, name)
            for count, accuracy in enumerate(record["curve"] if record else (), start=1):
                found[part, task, f"{name} pass {count}"] = Figure(accuracy)
    return found


def describe_choice(record: Record) -> str:
    """The setting and, of an online learner, the passes of a cell."""
    count = record["passes"]
    passes = f"{count} pass{'es' if count > 1 else ''}" if record["training"] is not None else ""
    return ", ".join(text for text in (show(record["setting"]), passes) if text)


def open_task(name: str, settings: Mapping[str, object], copies: bool = False) -> Task:
    """The task, from the folder of data sets that the settings name."""
    folder = settings.get("data")
    return load(name, Path(str(folder)) if folder else None, copies)


def thin(learner: Learner, most: int) -> Learner:
    """The learner with so many settings of its grid, evenly chosen; with 0, all of them."""
    if not most or len(learner.grid) <= most:
        return learner
    places = np.linspace(0, len(learner.grid) - 1, most + 2).round().astype(int)[1:-1]
    return replace(learner, grid=tuple(learner.grid[k] for k in places))
