"""How near the stochastic solver comes to the optimum, pass by pass, on the paper's text tasks.

Every task is taken twice, as the paper's counts and with rows of length 1. The dual solver finds
the optimum on four fifths of the rows, and `solver="comid"` makes so many passes over them with
each eta; the other fifth shows the error. Writes steps.csv and the tables in README.md.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments.crammer2012volume.contest import TEXTS
from experiments.protocol import HELD
from experiments.tables import fill_in, make_table
from experiments.tasks import TASKS, at_hand, load
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from sureline import BoxClassifier

HERE = Path(__file__).resolve().parent
PASSES = (1, 2, 5, 10, 20)
ETAS = (2.0, 20.0, 200.0)
CHOSEN = BoxClassifier().eta
KINDS = {"counts": "counts", "length 1": "rows of length 1"}
ALMOST = 1e-4  # how far the dual solver may be from the optimum


class Run(NamedTuple):
    """One run of the stochastic solver; the excess is that of the objective over the optimum."""

    task: str
    kind: str
    eta: float
    passes: int
    optimum: float
    excess: float
    gap: float
    error: float
    best_error: float


def run_task(name: str, folder: Path | None) -> list[Run]:
    """All runs on one task."""
    task = load(name, folder)
    kept, held = train_test_split(
        np.arange(task.y.size), test_size=HELD, stratify=task.y, random_state=0
    )
    runs = []
    for kind in KINDS:
        X: Any = normalize(task.X) if kind == "length 1" else task.X
        X, y, asked, answers = X[kept], task.y[kept], X[held], task.y[held]

        def error(model: Any, asked: Any = asked, answers: Any = answers) -> float:
            return 100.0 * float(np.mean(model.predict(asked) != answers))

        best = BoxClassifier(tol=ALMOST, random_state=0).fit(X, y)
        optimum = float(best.objective_) - float(best.dual_gap_)  # or a little more
        for eta in ETAS:
            for passes in PASSES:
                model = BoxClassifier(
                    solver="comid", eta=eta, max_iter=passes, tol=ALMOST, random_state=0
                ).fit(X, y)
                excess, gap = float(model.objective_) - optimum, float(model.dual_gap_)
                lost = error(model), error(best)
                runs.append(Run(name, kind, eta, passes, optimum, excess, gap, *lost))
    return runs


def table_by_task(runs: list[Run]) -> str:
    """The excess and the error of the default eta, task by task."""
    head = ["excess over the optimum after passes"]
    for kind in KINDS:
        head += [f"{kind}: 1", "5", "20", "error after 5, %", "of the optimum, %"]
    rows = []
    for name in dict.fromkeys(each.task for each in runs):
        row = [TASKS[name].title]
        for kind in KINDS:
            some = {
                each.passes: each
                for each in runs
                if (each.task, each.kind, each.eta) == (name, kind, CHOSEN)
            }
            row += [f"{some[passes].excess:.3f}" for passes in (1, 5, 20)]
            row += [f"{some[5].error:.2f}", f"{some[5].best_error:.2f}"]
        rows.append(row)
    return make_table(head, rows)


def table_by_eta(runs: list[Run]) -> str:
    """The geometric mean of the excess over all tasks, by eta and passes."""
    rows = []
    for kind, words in KINDS.items():
        for eta in ETAS:
            row = [f"{words}, eta = {eta:g}"]
            for passes in PASSES:
                some = [
                    each.excess
                    for each in runs
                    if (each.kind, each.eta, each.passes) == (kind, eta, passes)
                ]
                row.append(f"{np.exp(np.mean(np.log(some))):.3f}")
            rows.append(row)
    return make_table(["mean excess after passes", *map(str, PASSES)], rows)


def main() -> None:
    """Run all tasks and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder that holds the data files")
    folder = parser.parse_args().data
    warnings.simplefilter("ignore", ConvergenceWarning)
    runs: list[Run] = []
    for name in TEXTS:
        if at_hand(name, folder):
            print(name, file=sys.stderr)
            runs += run_task(name, folder)
    if not runs:
        print("no data set is at hand: name their folder with --data", file=sys.stderr)
        raise SystemExit(2)
    for name, text in (("steps", table_by_task(runs)), ("steps-eta", table_by_eta(runs))):
        print(f"{text}\n")
        fill_in(HERE / "README.md", name, text)
    with (HERE / "steps.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(Run._fields)
        for each in runs:
            numbers = (f"{value:.6g}" if isinstance(value, float) else value for value in each)
            out.writerow(tuple(numbers))


if __name__ == "__main__":
    main()
