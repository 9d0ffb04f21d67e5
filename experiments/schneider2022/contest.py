"""The learners of the slides, how they are kept from overfitting, and what is measured of each."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import scipy.sparse
from experiments.cells import Cell, Record, Settings
from experiments.folds import open_task
from experiments.learners import Learner, grid, make_ours
from experiments.protocol import learn, pack
from experiments.tasks import NEWS, NEWS_PAIRS, Task, drop_copies, find_file, keep_headers
from experiments.tasks import TASKS as INFOS
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

TASKS = ("enron/b", "amazon/3", "reuters/topics", "sentiment/books", "spam/b")
POSTS = "news/comp"  # whose features are left out block by block
QUICK_TASKS = ("reuters/topics",)
PASSES = 20  # of a perceptron that nothing stops
TESTED = 0.25  # of the rows, where there is no standard test set
HELD = 0.2  # of the training rows, on which parameters and passes are chosen
BLOCKS = ("From", "Subject", "words", "pairs of words")  # features of a newsgroup post


def make_naive_bayes(alpha: float, random_state: int | None = None) -> Any:
    """Multinomial naive Bayes; nothing is random."""
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB(alpha=alpha)


def make_majority(random_state: int | None = None) -> Any:
    """The most frequent class, always."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


def make_maxent(C: float, random_state: int | None = None) -> Any:
    """Maximum entropy with an l2 penalty of 1/C."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=200, tol=1e-3, random_state=random_state)


def make_sparse_maxent(C: float, random_state: int | None = None) -> Any:
    """Logistic regression with an l1 penalty of 1/C, each class against the rest."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(
        LogisticRegression(
            C=C, l1_ratio=1.0, solver="liblinear", tol=1e-3, random_state=random_state
        )
    )


def make_svm(C: float, random_state: int | None = None) -> Any:
    """A linear SVM, each class against the rest."""
    from sklearn.svm import LinearSVC

    return LinearSVC(loss="hinge", C=C, random_state=random_state)


PENALTIES = grid(C=tuple(10.0**k for k in range(-3, 3)))
LEARNERS = {
    one.name: one
    for one in (
        Learner("majority", "majority", make_majority, online=False),
        Learner(
            "naive-bayes",
            "naive Bayes",
            make_naive_bayes,
            grid(
                alpha=(10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 1e-4, 3e-5, 1e-5)
            ),
            online=False,
        ),
        Learner(
            "perceptron", "perceptron", partial(make_ours, "PerceptronClassifier", average=False)
        ),
        Learner(
            "averaged",
            "averaged perceptron",
            partial(make_ours, "PerceptronClassifier", average=True),
        ),
        Learner("maxent-free", "maxent, no penalty", make_maxent, grid(C=(1e4,)), online=False),
        Learner("maxent-l2", "maxent, l2", make_maxent, PENALTIES, online=False),
        Learner(
            "maxent-l1",
            "maxent, l1",
            make_sparse_maxent,
            grid(C=tuple(10.0**k for k in range(-3, 6))),
            online=False,
        ),
        Learner(
            "svm",
            "SVM",
            make_svm,
            grid(C=tuple(10.0**k for k in range(-5, 2))),
            online=False,
        ),
    )
}
STOPPED = ("perceptron", "averaged")  # these are also stopped early
ABLATED = (
    "naive-bayes",
    "perceptron",
    "averaged",
    "maxent-l2",
    "svm",
)  # these also learn without a block of features


def list_cells(tasks: tuple[str, ...] = TASKS) -> list[Cell]:
    """All the work, the longest first."""
    names = sorted(LEARNERS, key=lambda name: not name.startswith("maxent"))
    cells = [Cell(task, name, "test") for task in tasks for name in names]
    cells += [Cell(task, name, "stopped") for task in tasks for name in STOPPED]
    blocks = ("nothing", *BLOCKS)
    return cells + [Cell(POSTS, name, f"without {block}") for name in ABLATED for block in blocks]


def grid_of(cell: Cell) -> object:
    """The grid of a cell's learner."""
    return LEARNERS[cell.learner].grid


def work(cell: Cell, settings: Settings) -> Record:
    """What the results file holds of a cell."""
    learner, seed = LEARNERS[cell.learner], int(settings["seed"])
    without = cell.stage.removeprefix("without ")
    if without != cell.stage:
        folder = settings.get("data")
        task = read_posts(Path(str(folder)) if folder else None, without)
    else:
        task = open_task(cell.task, settings)
    return measure(task, learner, cell.stage == "stopped", seed)


def read_posts(folder: Path | None, without: str) -> Task:
    """The posts of two newsgroups with the features of all blocks but one."""
    table = pyarrow.parquet.read_table(find_file(NEWS, folder), columns=["split", "group", "text"])
    groups = NEWS_PAIRS[POSTS.partition("/")[2]]
    table = table.filter(pyarrow.array([g in groups for g in table["group"].to_pylist()]))
    texts = table["text"].to_pylist()
    parts = []
    for block in BLOCKS:
        if block == without:
            continue
        header = block in ("From", "Subject")
        some = [
            _header(text, block) if header else keep_headers(text, ()).lstrip("\n")
            for text in texts
        ]
        width = (2, 2) if block == "pairs of words" else (1, 1)
        words = CountVectorizer(binary=True, dtype=np.float32, ngram_range=width)
        parts.append(words.fit_transform(some))
    X = scipy.sparse.hstack(parts).tocsr()
    y, test = np.array(table["group"].to_pylist()), np.array(table["split"].to_pylist()) == "test"
    return drop_copies(Task(INFOS[POSTS], X, y, test))


def _header(text: str, name: str) -> str:
    """What a header of a message says."""
    return keep_headers(text, (f"{name}:",)).partition("\n\n")[0].removeprefix(f"{name}:")


def split(task: Task, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and test rows: the standard ones, or a random part of each label."""
    if task.test.any():
        return np.flatnonzero(~task.test), np.flatnonzero(task.test)
    known, judged = train_test_split(
        np.arange(task.y.size), test_size=TESTED, stratify=task.y, random_state=seed
    )
    return np.asarray(known), np.asarray(judged)


def measure(task: Task, learner: Learner, stopped: bool, seed: int) -> Record:
    """Choose on held-out training rows, learn all training rows, and test.

    An online learner makes `PASSES` passes or, where it is `stopped`, as many as were made on the
    other training rows before the accuracy on the held-out ones ceased to improve.
    """
    known, judged = split(task, seed)
    kept, held = train_test_split(known, test_size=HELD, stratify=task.y[known], random_state=seed)
    passes = PASSES if learner.online else 1
    tuning, curves = [], []
    for setting in learner.grid if len(learner.grid) > 1 or learner.online else ():
        run = learn(learner, setting, task.X[kept], task.y[kept], passes, seed)
        curve = [float(np.mean(model.predict(task.X[held]) == task.y[held])) for model, _ in run]
        curves.append([100.0 * each for each in curve])
        tuning.append(100.0 - curves[-1][-1])
    setting = learner.grid[int(np.argmin(tuning)) if tuning else 0]
    if stopped:
        passes = stop(curves[0])
    *_, (model, spent) = learn(learner, setting, task.X[known], task.y[known], passes, seed)
    right = model.predict(task.X[judged]) == task.y[judged]
    weights = _weights(model)
    return {
        "accuracy": 100.0 * float(right.mean()),
        "right": pack(right),
        "training": 100.0 * float(np.mean(model.predict(task.X[known]) == task.y[known])),
        "setting": setting,
        "tuning": tuning,
        "passes": passes if learner.online else None,
        "curve": curves[0] if learner.online else [],
        "seconds": spent,
        "features": int(task.X.shape[1]),
        "nonzero": None if weights is None else float(np.mean(np.abs(weights) > 0)),
        "zero": count_zero(weights, task.X[known], task.y[known]),
    }


def stop(curve: list[float]) -> int:
    """The pass before the first one that does not improve on it."""
    for count, (before, after) in enumerate(pairwise(curve), start=1):
        if after <= before:
            return count
    return len(curve)


def _weights(model: Any) -> NDArray[Any] | None:
    """A linear model's weights, if it has any."""
    if hasattr(model, "estimators_"):
        return np.concatenate([each.coef_ for each in model.estimators_])
    return getattr(model, "coef_", None)


def count_zero(weights: Any, X: Any, y: NDArray[Any]) -> list[int] | None:
    """Of two classes: the features of weight 0, and those that one class has more often.

    Features that occur in no row are not counted.
    """
    labels = np.unique(y)
    if weights is None or labels.size != 2:
        return None
    often = [np.diff(X[y == label].tocsc().indptr) for label in labels]
    zero = (np.asarray(weights).ravel() == 0) & (often[0] + often[1] > 0)
    return [int(zero.sum()), int((zero & (often[0] != often[1])).sum())]
