"""Models trained apart on parts of the data, then combined: the papers' large-scale experiment."""

from __future__ import annotations

from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
from experiments.cells import Cell, Record, Settings
from experiments.folds import open_task, thin
from experiments.learners import LEARNERS, Setting
from experiments.protocol import learn
from numpy.typing import NDArray

import sureline

HOWS = {"uniform": "mean", "weighted": "kl", "prior-corrected": "product-prior"}


def grids_of(cell: Cell) -> object:
    """The grids that the parameters of the single models are chosen from."""
    return [LEARNERS[name].grid for name in ("cw-var-kl", "pa")]


def combine_cell(cell: Cell, settings: Settings) -> Record:
    """One random split of a large task: single models, and models of n parts combined.

    The stage of the cell is ``split K``. The settings are ``seed``, ``test`` and ``tuning`` (how
    many rows judge the models, and how many teach the models that choose the parameters),
    ``parts`` (the numbers of parts), ``steps`` (points of the learning curve), ``grid``, ``data``.
    """
    task = open_task(cell.task, settings)
    turn = int(cell.stage.split(" ")[1])
    seed = int(settings["seed"])
    order = np.random.default_rng([seed, turn]).permutation(task.y.size)
    size = min(int(settings["test"]), task.y.size // 4)
    judged, known = order[:size], order[size:]
    test = (task.X[judged], task.y[judged])
    X, y = task.X[known], task.y[known]
    teach = min(int(settings["tuning"]), y.size // 3)
    grid = int(settings["grid"])
    cw = _choose("cw-var-kl", X, y, teach, size, grid)
    pa = _choose("pa", X, y, teach, size, grid)
    seconds, single = {}, {}
    for name, setting in (("cw-var-kl", cw), ("pa", pa)):
        model, start = LEARNERS[name].make(**setting), process_time()
        model.partial_fit(X, y, classes=np.unique(y))
        seconds[name] = process_time() - start
        single[name] = _accuracy(model, test)
    parts = {str(n): _train_parts(n, cw, X, y, test) for n in settings["parts"]}
    return {
        "settings": {"cw-var-kl": cw, "pa": pa},
        "rows": int(y.size),
        "tested": int(size),
        "features": int(X.shape[1]),
        "single": single,
        "seconds": seconds,
        "parts": parts,
        "curve": _curve(cw, X, y, test, int(settings["steps"])),
    }


def _accuracy(model: Any, test: tuple[Any, NDArray[Any]]) -> float:
    """Test accuracy in %."""
    return 100.0 * float(np.mean(model.predict(test[0]) == test[1]))


def _choose(name: str, X: Any, y: NDArray[Any], teach: int, judge: int, grid: int) -> Setting:
    """The setting that does best after one pass over `teach` rows, on the `judge` next ones."""
    held = (X[teach : teach + judge], y[teach : teach + judge])
    learner = thin(LEARNERS[name], grid)

    def error(setting: Setting) -> float:
        ((model, _),) = learn(learner, setting, X[:teach], y[:teach], 1, 0)
        return -_accuracy(model, held)

    return min(learner.grid, key=error)


def _train_parts(
    n: int, setting: Setting, X: Any, y: NDArray[Any], test: tuple[Any, NDArray[Any]]
) -> dict[str, float]:
    """The mean accuracy of n models trained on disjoint parts, and that of their combinations."""
    classes = np.unique(y)
    bounds = np.linspace(0, y.size, n + 1).astype(int)
    models = [
        LEARNERS["cw-var-kl"].make(**setting).partial_fit(X[a:b], y[a:b], classes=classes)
        for a, b in pairwise(bounds.tolist())
    ]
    found = {"average": float(np.mean([_accuracy(model, test) for model in models]))}
    for name, how in HOWS.items():
        found[name] = _accuracy(sureline.merge(models, how=how), test)  # type: ignore[arg-type]
    return found


def _curve(
    setting: Setting, X: Any, y: NDArray[Any], test: tuple[Any, NDArray[Any]], steps: int
) -> list[tuple[int, float]]:
    """Rows learned in a single pass, and the accuracy after them."""
    model, classes = LEARNERS["cw-var-kl"].make(**setting), np.unique(y)
    bounds = np.linspace(0, y.size, steps + 1).astype(int)
    found = []
    for a, b in pairwise(bounds.tolist()):
        model.partial_fit(X[a:b], y[a:b], classes=classes)
        found.append((b, _accuracy(model, test)))
    return found
