"""The papers' protocol: parameters and passes from one random split, then ten folds.

Online learners are trained pass by pass with partial_fit, every pass in a new random order. That
gives, bit for bit, what fit gives with max_iter set to the number of passes and the same seed, so
one run judges every number of passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from experiments.learners import Learner, Setting
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

PASSES = 10  # at most, as in the papers
HELD = 0.2  # of the rows judge the parameters

Marks = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Choice:
    """What one random split says a learner should be."""

    setting: Setting
    passes: int
    errors: list[list[float]]  # by setting and pass, in %


def learn(
    learner: Learner,
    setting: Setting,
    X: Any,
    y: NDArray[Any],
    passes: int = 1,
    seed: int = 0,
) -> Iterator[tuple[Any, float]]:
    """The model after each pass and the CPU seconds its learning has taken so far.

    A learner that is not online gives its model once.
    """
    model = learner.make(**setting, random_state=seed)
    if not learner.online:
        start = process_time()
        model.fit(X, y)
        yield model, process_time() - start
        return
    classes, spent = np.unique(y), 0.0
    rng = np.random.RandomState(seed)
    for _ in range(passes):
        order = rng.permutation(y.size)
        rows, labels = X[order], y[order]
        start = process_time()
        model.partial_fit(rows, labels, classes=classes)
        spent += process_time() - start
        yield model, spent


def tune(
    learner: Learner,
    X: Any,
    y: NDArray[Any],
    passes: int = PASSES,
    seed: int = 0,
    fixed: bool = False,
) -> Choice:
    """The setting and number of passes of the lowest error on a random part of the rows.

    With `fixed`, the number of passes is `passes` and only the setting is chosen. Of settings that
    are equally good, the one is taken that errs least over all passes, then the first in the grid;
    of equally good numbers of passes the smallest.
    """
    kept, held = train_test_split(np.arange(y.size), test_size=HELD, stratify=y, random_state=seed)
    known = (X[kept], y[kept])
    judged, answers = X[held], y[held]
    errors = [
        [
            100.0 * float(np.mean(model.predict(judged) != answers))
            for model, _ in learn(learner, setting, *known, passes, seed)
        ]
        for setting in learner.grid
    ]
    lowest = [some[-1] if fixed else min(some) for some in errors]
    best = min(range(len(errors)), key=lambda k: (lowest[k], np.mean(errors[k]), k))
    chosen = len(errors[best]) if fixed else int(np.argmin(errors[best])) + 1
    return Choice(learner.grid[best], chosen, errors)


def split_folds(y: NDArray[Any], folds: int, seed: int) -> list[tuple[Places, Places]]:
    """Training and test rows of every fold."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(y.size), y))


@dataclass(frozen=True)
class Judged:
    """A learner on a task: which test rows it gets right, and how it got there.

    `right` is over all test rows of all folds. The other lists have one entry a fold: CPU seconds
    of the chosen passes, training accuracy after them (of online learners), and test accuracy
    after each pass.
    """

    right: Marks
    seconds: list[float]
    training: list[float]
    curves: list[list[float]]

    @property
    def error(self) -> float:
        """The test error in %."""
        return 100.0 * float(1.0 - self.right.mean())


def judge(
    learner: Learner,
    choice: Choice,
    X: Any,
    y: NDArray[Any],
    splits: list[tuple[Places, Places]],
    seed: int = 0,
    passes: int = PASSES,
) -> Judged:
    """Train on every split with what was chosen, for `passes` to see the curve, and test."""
    right = np.zeros(y.size, bool)
    seconds, training, curves = [], [], []
    for turn, (known, judged) in enumerate(splits):
        rows, labels, asked = X[known], y[known], X[judged]
        curve = []
        run = learn(learner, choice.setting, rows, labels, max(passes, choice.passes), seed + turn)
        for count, (model, spent) in enumerate(run, start=1):
            marks = model.predict(asked) == y[judged]
            curve.append(100.0 * float(marks.mean()))
            if count == choice.passes:
                right[judged] = marks
                seconds.append(spent)
                if learner.online:
                    training.append(100.0 * float(np.mean(model.predict(rows) == labels)))
        curves.append(curve)
    tested = np.concatenate([judged for _, judged in splits])
    return Judged(right[np.sort(tested)], seconds, training, curves)


def pack(right: Marks) -> str:
    """Marks as hexadecimal digits, for a results file."""
    return f"{right.size}:{np.packbits(right).tobytes().hex()}"


def unpack(text: str) -> Marks:
    """The marks that `pack` wrote."""
    size, _, digits = text.partition(":")
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8), count=int(size))
    return bits.astype(bool)
