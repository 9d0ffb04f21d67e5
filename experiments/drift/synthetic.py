"""Rows of numbers in any amount: a change after a million of them, and ten million without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline import AROWClassifier, CWClassifier, Drift, NHERDClassifier, SCWClassifier
from sureline.estimators import OnlineClassifier

FEATURES, NONZEROS = 1000, 10
BEFORE, AFTER, TESTED = 1_000_000, 5_000, 20_000
STATIONARY = 10_000_000
NOISE = 0.05
CHUNK = 100_000
CLASSIFIERS: dict[str, type[OnlineClassifier]] = {
    "AROW": AROWClassifier,
    "CW": CWClassifier,
    "NHERD": NHERDClassifier,
    "SCW": SCWClassifier,
}
Labels = NDArray[np.int64]


def draw(rng: np.random.Generator, weights: Any, count: int, noise: float) -> tuple[Any, Labels]:
    """Sparse rows of ±1 and labels, a share of which is wrong."""
    indices = rng.integers(0, FEATURES, (count, NONZEROS), dtype=np.int32)
    data = rng.choice(np.array([-1.0, 1.0], np.float32), (count, NONZEROS))
    scores = (weights[indices] * data).sum(axis=1)
    wrong = rng.random(count) < noise
    indptr = np.arange(0, count * NONZEROS + 1, NONZEROS)
    X = csr_array((data.ravel(), indices.ravel(), indptr), shape=(count, FEATURES))
    X.sum_duplicates()
    return X, ((scores > 0) != wrong).astype(np.int64)


def change(name: str, seed: int, flip: bool) -> dict[str, float]:
    """The accuracy on rows after a change of a model that has learned a million before it.

    After a `flip` the labels are the opposite, else they have nothing to do with those before.
    """
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(FEATURES)
    make = CLASSIFIERS[name]
    models = {"auto": make(drift="auto"), "None": make(), "fresh": make()}
    for _ in range(BEFORE // CHUNK):
        X, y = draw(rng, weights, CHUNK, NOISE)
        for which in ("auto", "None"):
            models[which].partial_fit(X, y)
    weights = -weights if flip else rng.standard_normal(FEATURES)
    later = draw(rng, weights, AFTER, NOISE)
    tests = draw(rng, weights, TESTED, 0.0)
    found = dict[str, float]()
    for which, model in models.items():
        model.partial_fit(*later)
        found[which] = 100.0 * float(model.score(*tests))
    found["rows"] = float(models["auto"].changes_[-1].at - BEFORE if models["auto"].changes_ else 0)
    return found


def stationary(name: str, seed: int, rows: int = STATIONARY) -> dict[str, float]:
    """How many alarms there are without change, in one long stream and in a thousand short ones."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(FEATURES)
    make, rate = CLASSIFIERS[name], 1e-4
    model, short, alarms = make(drift=Drift(false_alarms=rate)), rows // 2000, 0
    for _ in range(rows // 2 // CHUNK):
        model.partial_fit(*draw(rng, weights, CHUNK, NOISE))
    for X, y in _short_streams(rng, rows // 2, short):
        alarms += len(make(drift=Drift(false_alarms=rate)).partial_fit(X, y).changes_)
    return {"long": float(len(model.changes_)), "short": float(alarms), "rows": float(rows)}


def _short_streams(rng: np.random.Generator, rows: int, short: int) -> Iterator[tuple[Any, Labels]]:
    for _ in range(rows // short):
        yield draw(rng, rng.standard_normal(FEATURES), short, rng.uniform(0.0, 0.4))
