"""AROW with a full covariance as one writes it down in NumPy: one rank-one update per row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from benchmarks.rivals.entries import Entry
from benchmarks.speed.timing import memory_above
from threadpoolctl import threadpool_info, threadpool_limits

NAME = "NumPy"


def missing() -> str:
    """Nothing to say: NumPy is at hand."""
    return ""


def version() -> str:
    """The version that runs."""
    return str(np.__version__)


def learn(X: np.ndarray, y: np.ndarray, r: float = 1.0) -> np.ndarray:
    """The mean of the weights after one pass over the rows."""
    mean = np.zeros(X.shape[1], X.dtype)
    covariance = np.eye(X.shape[1], dtype=X.dtype)
    for x, label in zip(X, y.astype(X.dtype), strict=True):
        direction = covariance @ x
        margin, variance = label * (mean @ x), x @ direction
        if margin < 1:
            share = X.dtype.type(1 / (variance + r))
            mean += (1 - margin) * share * label * direction
            covariance -= share * np.outer(direction, direction)
    return mean


def full_covariance(given: dict[str, Any]) -> list[Entry]:
    """On one thread, and on as many as NumPy takes by itself."""
    usual = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    entries = []
    for threads in sorted({1, usual}):

        def run(threads: int = threads) -> np.ndarray:
            with threadpool_limits(threads):  # type: ignore[no-untyped-call]
                return learn(*given["train"])

        def accuracy(mean: np.ndarray) -> float:
            X, y = given["test"]
            return float(np.mean(np.where(X @ mean > 0, 1, -1) == y))

        entries.append(
            Entry(
                f"NumPy, threads: {threads}",
                "the same update, written with @ and np.outer",
                run,
                threads=threads,
                accuracy=accuracy,
                figures=partial(_memory, *given["large"]),
            )
        )
    return entries


def _memory(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Memory beyond the covariance itself, as a share of it."""
    above = memory_above(lambda: learn(X, y))
    size = X.shape[1] ** 2 * X.itemsize / 1e6
    return {} if above is None else {"memory ÷ covariance": above / size - 1.0}
