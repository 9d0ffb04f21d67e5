"""The multi-class learners with their grids, and what is measured of one learner on one task."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from experiments.cells import Cell, Record, Settings
from experiments.folds import COPIES, open_task, thin
from experiments.learners import (
    C_OF_PA,
    Learner,
    grid,
    make_cw,
    make_maxent,
    make_ours,
)
from experiments.protocol import judge, learn, pack, split_folds, tune
from numpy.typing import NDArray

from sureline.evaluation import label_entropy

TASKS = ("news/all", "amazon/7", "amazon/3", "enron/a", "enron/b", "reuters/topics")
QUICK_TASKS = ("enron/b", "reuters/topics")
CURVES = "amazon/7"  # the task of Figure 1, which shows all CW learners
DOUBTS = "enron/b"  # the task of Figure 2
BINS = 10  # of the probability of what is predicted, in Figure 2
SWEEPS = 5  # over the rivals of a row, where projections are repeated
SAMPLES = 100  # of the weights, where a prediction is their vote
WAYS = ("means", "probability", "samples")  # to predict from means and variances

PHI = grid(phi=(0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0))
SIX_PHI = grid(phi=(0.03, 0.1, 0.3, 1.0, 3.0, 8.0))
C_OF_SVM = grid(C=tuple(10.0**k for k in range(-4, 1)))
C_OF_PAIRS = grid(C=tuple(10.0**k for k in range(-4, 2)))


def make_paired_svm(C: float, random_state: int | None = None) -> Any:
    """A linear SVM for every two classes, by LibLinear: the same problem as LibSVM's, but faster.

    Every pair's classifier has one vote.
    """
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import LinearSVC

    return OneVsOneClassifier(LinearSVC(loss="hinge", C=C, random_state=random_state))


def make_joint_svm(C: float, random_state: int | None = None) -> Any:
    """Crammer and Singer's SVM for many classes, at LibLinear's own tolerance."""
    from sklearn.svm import LinearSVC

    return LinearSVC(
        multi_class="crammer_singer", C=C, tol=0.1, max_iter=200, random_state=random_state
    )


def rivals(competitors: int | str, scheme: str = "sequential", **others: Any) -> Any:
    """How to make CW with the variance constraint and that many rivals."""
    return partial(make_cw, competitors=competitors, scheme=scheme, **others)


class RepeatedCW:
    """CW that updates against all rivals of a row in turn, and goes over them SWEEPS times."""

    def __init__(self, **settings: Any) -> None:
        self._model = make_cw(competitors="all", **settings)

    def partial_fit(self, X: Any, y: NDArray[Any], classes: NDArray[Any]) -> None:
        """Learn these rows: each is there SWEEPS times in succession."""
        for start in range(0, y.size, 1000):
            rows = np.repeat(np.arange(start, min(start + 1000, y.size)), SWEEPS)
            self._model.partial_fit(X[rows], y[rows], classes=classes)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of these rows."""
        return np.asarray(self._model.predict(X))


LEARNERS = {
    one.name: one
    for one in (
        Learner(
            "perceptron",
            "perceptron",
            partial(make_ours, "PerceptronClassifier", average=False),
        ),
        Learner("pa-1", "PA k=1", partial(make_ours, "PAClassifier"), C_OF_PA),
        Learner(
            "pa-5",
            "PA k=5",
            partial(make_ours, "PAClassifier", competitors=5, scheme="exact"),
            C_OF_PA,
        ),
        Learner("cw-1", "CW k=1", rivals(1), PHI),
        Learner("cw-5", "CW k=5", rivals(5), PHI),
        Learner("cw-all", "CW k=all sequential", rivals("all"), PHI),
        Learner("cw-all-parallel", "CW k=all parallel", rivals("all", "parallel"), PHI),
        Learner("cw-all-projected", "CW k=all projected", rivals("all", "exact"), PHI),
        Learner("svm-pairs", "SVM 1 vs 1", make_paired_svm, C_OF_PAIRS, online=False),
        Learner("svm-joint", "SVM multi-class", make_joint_svm, C_OF_SVM, online=False),
        Learner(
            "maxent",
            "maxent",
            make_maxent,
            grid(variance=tuple(10.0**k for k in range(-3, 3))),
            online=False,
        ),
        Learner(
            "cw-all-exact",
            "CW k=all exact",
            rivals("all", "exact", covariance="diagonal-exact"),
            PHI,
        ),
        Learner("cw-all-repeated", "CW k=all repeated", RepeatedCW, SIX_PHI),
    )
}
CW = ("cw-1", "cw-5", "cw-all")
ONLINE_BASELINES = ("perceptron", "pa-1", "pa-5")
BASELINES = (*ONLINE_BASELINES, "svm-pairs", "svm-joint", "maxent")
DOUBTERS = ("cw-1", "maxent")  # whose probabilities are looked at
ONCE = ("cw-1", "cw-5")  # compared with a parameter that is chosen for a single pass
COPIED = ("amazon/7", "amazon/3", "enron/a", "enron/b")  # one row in a hundred or more is a copy
WITH_COPIES = ("pa-1", "cw-1", "cw-5", "cw-all")


def list_cells(tasks: tuple[str, ...] = TASKS) -> list[Cell]:
    """All the work, the longest first."""
    slow = ("cw-all-exact", "cw-all-repeated", "svm-joint", "maxent")
    order = [*slow, *(name for name in LEARNERS if name not in slow)]
    cells = [Cell(task, name) for task in tasks for name in order]
    cells += [Cell(task, name, "once") for task in tasks for name in ONCE]
    cells += [Cell(task, "cw-1", "predictions") for task in tasks]
    cells += [Cell(task, name, COPIES) for task in tasks if task in COPIED for name in WITH_COPIES]
    return cells + [Cell(DOUBTS, name, "doubts") for name in DOUBTERS]


def grid_of(cell: Cell) -> object:
    """The grid of a cell's learner."""
    return LEARNERS[cell.learner].grid


def work(cell: Cell, settings: Settings) -> Record:
    """What the results file holds of a cell."""
    task = open_task(cell.task, settings, cell.stage == COPIES)
    learner = thin(LEARNERS[cell.learner], settings["grid"])
    facts = {"folds": settings["folds"], "passes": settings["passes"], "seed": settings["seed"]}
    if cell.stage == "doubts":
        return doubt(task.X, task.y, learner, **facts)
    if cell.stage == "predictions":
        return predict_in_ways(task.X, task.y, learner, **facts)
    if cell.stage == "once":
        facts["passes"] = 1
    curve = cell.task == CURVES and cell.learner.startswith("cw-")
    return compare(task.X, task.y, learner, curve, **facts)


def compare(
    X: Any, y: NDArray[Any], learner: Learner, curve: bool, folds: int, passes: int, seed: int
) -> Record:
    """Tune on one split, then judge in folds: accuracy, passes, times, marks of every row.

    With `curve` every number of passes is judged in the folds, else only those up to the chosen.
    """
    choice = tune(learner, X, y, passes, seed)
    found = judge(learner, choice, X, y, split_folds(y, folds, seed), seed, passes if curve else 1)
    return {
        "rows": int(y.size),
        "features": int(X.shape[1]),
        "labels": int(np.unique(y).size),
        "spread": _spread(y),
        "accuracy": 100.0 - found.error,
        "setting": choice.setting,
        "passes": choice.passes if learner.online else None,
        "tuning": [min(errors) for errors in choice.errors],
        "curve": [float(each) for each in np.mean(found.curves, axis=0)],
        "seconds": float(np.mean(found.seconds)),
        "right": pack(found.right),
    }


def _spread(y: NDArray[Any]) -> float:
    """How many times as many rows the most frequent label has as the rarest."""
    counts = np.unique(y, return_counts=True)[1]
    return float(counts.max() / counts.min())


def doubt(X: Any, y: NDArray[Any], learner: Learner, folds: int, passes: int, seed: int) -> Record:
    """How undecided and how wrong a learner is, over the test rows of all folds.

    The stages of an online learner are its passes, with the chosen setting; those of another one
    are the settings of its grid.
    """
    choice = tune(learner, X, y, passes, seed)
    settings = [choice.setting] if learner.online else list(learner.grid)
    stages: list[list[Any]] = [[] for _ in range(passes if learner.online else len(settings))]
    for turn, (known, judged) in enumerate(split_folds(y, folds, seed)):
        runs = (learn(learner, each, X[known], y[known], passes, seed + turn) for each in settings)
        for stage, (model, _) in zip(stages, chain.from_iterable(runs), strict=True):
            stage.append(_ask(model, X[judged], y[judged]))
    return {
        "setting": choice.setting,
        "passes": choice.passes if learner.online else None,
        "chosen": choice.passes - 1 if learner.online else settings.index(choice.setting),
        "settings": settings,
        "stages": [_sum_up(*map(np.concatenate, zip(*stage, strict=True))) for stage in stages],
        "tuning": [min(errors) for errors in choice.errors],
    }


def predict_in_ways(
    X: Any, y: NDArray[Any], learner: Learner, folds: int, passes: int, seed: int
) -> Record:
    """Which rows are right, by the way to predict.

    The label is that of the highest mean, of the highest probability, or the vote of sampled
    weights.
    """
    choice = tune(learner, X, y, passes, seed)
    right = {way: np.zeros(y.size, bool) for way in WAYS}
    for turn, (known, judged) in enumerate(split_folds(y, folds, seed)):
        *_, (model, _) = learn(
            learner, choice.setting, X[known], y[known], choice.passes, seed + turn
        )
        mean, variance = model.decision_distribution(X[judged])
        scores = np.random.default_rng(seed + turn).normal(
            mean, np.sqrt(variance), (SAMPLES, *mean.shape)
        )
        votes = np.apply_along_axis(np.bincount, 0, scores.argmax(axis=2), minlength=mean.shape[1])
        for way, best in (
            ("means", mean.argmax(axis=1)),
            ("probability", model.predict_proba(X[judged]).argmax(axis=1)),
            ("samples", votes.argmax(axis=0)),
        ):
            right[way][judged] = model.classes_[best] == y[judged]
    return {way: pack(marks) for way, marks in right.items()} | {
        "setting": choice.setting,
        "passes": choice.passes,
        "tuning": [min(errors) for errors in choice.errors],
    }


def _ask(model: Any, X: Any, y: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """The likeliest label's probability, whether it is right, the normalized entropy.

    The last is whether the prediction by means, which ignores variances, is right.
    """
    chances = model.predict_proba(X)
    likeliest = model.classes_[chances.argmax(axis=1)]
    doubts = label_entropy(chances) / np.log(model.classes_.size)
    return chances.max(axis=1), likeliest == y, doubts, model.predict(X) == y


def _sum_up(
    chance: NDArray[Any], right: NDArray[Any], doubts: NDArray[Any], mean_right: NDArray[Any]
) -> Record:
    """The facts of Figure 2."""
    bins = np.minimum((chance * BINS).astype(int), BINS - 1)
    return {
        "error": 100.0 * float(np.mean(~right)),
        "error_of_means": 100.0 * float(np.mean(~mean_right)),
        "entropy": float(doubts.mean()),
        "sure_when_right": _mean(chance[right]),
        "sure_when_wrong": _mean(chance[~right]),
        "rows": np.bincount(bins, minlength=BINS).tolist(),
        "mistakes": np.bincount(bins[~right], minlength=BINS).tolist(),
    }


def _mean(values: NDArray[Any]) -> float | None:
    """The mean, or None where there is nothing to average."""
    return float(values.mean()) if values.size else None
