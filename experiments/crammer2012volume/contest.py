"""Boxes of weights and their rivals with their grids, and how they are judged on one task."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from experiments.cells import Cell, Record, Settings
from experiments.folds import COPIES, open_task, thin
from experiments.learners import Learner, Setting, grid, make_maxent, make_ours, make_sgd
from experiments.protocol import PASSES, judge, learn, pack, split_folds, tune
from experiments.tasks import DOMAINS, Task
from numpy.typing import NDArray

TEXTS = (
    *(f"sentiment/{domain}" for domain in DOMAINS),
    *(f"news/{pair}" for pair in ("comp", "sci", "talk")),
    *(f"rcv1/{pair}" for pair in ("business", "insurance", "retail")),
    *(f"domain/{first}-{second}" for first, second in combinations(DOMAINS, 2)),
    *(f"spam/{user}" for user in "abc"),
)
DIGITS = tuple(f"usps/{first}-{second}" for first, second in combinations(range(10), 2))
NOISE = (0.0, 0.1, 0.2, 0.3)
DRAWS = 1  # of the noise
FIXED_PASSES = (1, 5)  # that AROW makes on text where they are not chosen
# Within this of the optimum, in units of the average loss, test errors no longer change.
TOL = 1e-2


def make_box(
    C: float, D: float, regularizer: str, loss: str = "hinge", random_state: int | None = None
) -> Any:
    """A box solved to within TOL of the optimum, without an intercept."""
    from sureline import BoxClassifier

    return BoxClassifier(
        regularizer=regularizer,  # type: ignore[arg-type]
        loss=loss,  # type: ignore[arg-type]
        C=C,
        D=D,
        tol=TOL,
        fit_intercept=False,
        random_state=random_state,
    )


def make_svm(C: float, random_state: int | None = None) -> Any:
    """A linear SVM with the hinge loss, without an intercept."""
    from sklearn.svm import LinearSVC

    return LinearSVC(loss="hinge", C=C, fit_intercept=False, random_state=random_state)


def contestants(
    boxes: tuple[Setting, ...], svm: tuple[float, ...], arow: tuple[float, ...]
) -> dict[str, Learner]:
    """The four learners, with the settings of boxes, the C of SVM and the r of AROW.

    Strong regularisation comes first in every grid: of equals the first is taken.
    """
    found = (
        Learner("bow-m", "BoW-M", partial(make_box, regularizer="max"), boxes, online=False),
        Learner("bow-s", "BoW-S", partial(make_box, regularizer="sum"), boxes, online=False),
        Learner("svm", "SVM", make_svm, grid(C=svm), online=False),
        Learner("arow", "AROW", partial(make_ours, "AROWClassifier"), grid(r=arow)),
    )
    return {one.name: one for one in found}


def decades(low: int, high: int, steps: int = 1) -> tuple[float, ...]:
    """Powers of ten from 10^low to 10^high, so many a decade."""
    return tuple(10.0 ** (k / steps) for k in range(low * steps, high * steps + 1))


# Texts have long rows and many features, digits short rows and few, so that other values serve.
ON_TEXT = contestants(
    grid(D=decades(-5, 0)[::-1], C=decades(-8, -2)[::-1]),
    decades(-5, 1, 2),
    decades(-2, 6)[::-1],
)
# What the paper says it tried without figures.
TRIED = {
    one.name: one
    for one in (
        Learner(
            "bow-m-huber",
            "BoW-M, Huber",
            partial(make_box, regularizer="max", loss="huber"),
            ON_TEXT["bow-m"].grid,
            online=False,
        ),
        Learner(
            "bow-s-huber",
            "BoW-S, Huber",
            partial(make_box, regularizer="sum", loss="huber"),
            ON_TEXT["bow-s"].grid,
            online=False,
        ),
        Learner(
            "adagrad",
            "AdaGrad",
            partial(make_ours, "AdaGradClassifier"),
            grid(eta=decades(-4, 2, 2)),
        ),
        Learner("maxent", "maxent", make_maxent, grid(variance=decades(-5, 3)), online=False),
        Learner("sgd", "SGD, Huber", make_sgd, grid(eta=decades(-7, 1, 2))),
    )
}
COPIED = (  # of the text tasks: those in which one row in twenty or more is a copy
    "sentiment/video",
    *(f"domain/{domain}-video" for domain in DOMAINS[:-1]),
)
ON_DIGITS = contestants(
    grid(D=(3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003), C=(0.1, 1e-2, 1e-3, 1e-4, 1e-5)),
    decades(-6, 1, 2),
    decades(-1, 8)[::-1],
) | {
    # Without choosing; it may be what the paper compared with.
    "svm-1": Learner("svm-1", "SVM, C = 1", make_svm, grid(C=(1.0,)), online=False),
    "arow-1": Learner(
        "arow-1", "AROW, r = 1", partial(make_ours, "AROWClassifier"), grid(r=(1.0,))
    ),
}


def list_cells(
    texts: tuple[str, ...] = TEXTS, digits: tuple[str, ...] = DIGITS, draws: int = DRAWS
) -> list[Cell]:
    """All the work, the longest first."""
    cells = [Cell(task, name) for name in (*ON_TEXT, *TRIED) for task in texts]
    cells += [Cell(task, name, COPIES) for name in ON_TEXT for task in texts if task in COPIED]
    cells += [Cell(task, "arow", f"passes {n}") for n in FIXED_PASSES for task in texts]
    for draw in range(draws):
        cells += [Cell(task, name, f"draw {draw}") for name in ON_DIGITS for task in digits]
    return cells


def grid_of(cell: Cell) -> object:
    """The grid of a cell's learner."""
    return find_learner(cell).grid


def find_learner(cell: Cell) -> Learner:
    """The learner of a cell, with the grid that it has on digits or on text."""
    return (ON_DIGITS if cell.stage.startswith("draw ") else ON_TEXT | TRIED)[cell.learner]


def work(cell: Cell, settings: Settings) -> Record:
    """What the results file holds of a cell."""
    task = open_task(cell.task, settings, cell.stage == COPIES)
    _, _, draw = cell.stage.partition("draw ")
    learner = thin(find_learner(cell), settings["grid"])
    if draw:
        return {"runs": contend_on_digits(task, learner, int(draw), settings["seed"])}
    _, _, passes = cell.stage.partition("passes ")
    return contend_on_text(
        task, learner, settings["folds"], settings["seed"], int(passes) if passes else None
    )


def contend_on_text(
    task: Task, learner: Learner, folds: int, seed: int, passes: int | None = None
) -> Record:
    """Choose on one split, then judge in folds; with `passes`, that number is not chosen."""
    fixed = passes is not None
    choice = tune(learner, task.X, task.y, passes or PASSES, seed, fixed)
    found = judge(learner, choice, task.X, task.y, split_folds(task.y, folds, seed), seed, 1)
    return {
        "error": found.error,
        "setting": choice.setting,
        "passes": choice.passes if learner.online else None,
        "seconds": float(np.mean(found.seconds)),
        "right": pack(found.right),
        "tuning": [min(errors) for errors in choice.errors],
    }


def contend_on_digits(task: Task, learner: Learner, draw: int, seed: int) -> list[Record]:
    """For each level of noise, choose on the noisy training set and test."""
    X, y, digits = task.X[~task.test], task.y[~task.test], np.unique(task.y)
    asked, answers = task.X[task.test], task.y[task.test]
    # Higher levels flip the labels that lower ones flip, and more.
    chance = np.random.default_rng([seed, draw, *map(ord, task.name)]).random(y.size)
    flipped = np.where(y == digits[0], digits[1], digits[0])
    return [
        {"noise": noise}
        | _test(learner, X, np.where(chance < noise, flipped, y), asked, answers, seed + draw)
        for noise in NOISE
    ]


def _test(
    learner: Learner,
    X: Any,
    y: NDArray[Any],
    asked: Any,
    answers: NDArray[Any],
    seed: int,
) -> Record:
    """Choose on one split of the training set, train on all of it, test on the test set."""
    setting: Setting = learner.grid[0]
    passes = 5 if learner.online else 1
    tuning: list[float] = []
    if len(learner.grid) > 1:
        choice = tune(learner, X, y, seed=seed)
        setting, passes = choice.setting, choice.passes
        tuning = [min(errors) for errors in choice.errors]
    *_, (model, spent) = learn(learner, setting, X, y, passes, seed)
    wrong = float(np.mean(model.predict(asked) != answers))
    return {
        "error": 100.0 * wrong,
        "setting": setting,
        "passes": passes if learner.online else None,
        "seconds": spent,
        "tuning": tuning,
    }
