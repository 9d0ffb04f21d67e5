"""Figures 1 and 2: how frequent the informative features are, and a Gaussian over two weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from experiments.crammer2012cw.contest import AMAZON
from experiments.tables import make_table
from experiments.tasks import TASKS, Task, at_hand, load
from numpy.typing import NDArray
from scipy.stats import norm

TASK = "sentiment/books"  # whose features are drawn
RARE, OFTEN = 5, 1000  # occurrences


@dataclass(frozen=True)
class Features:
    """The counts of a task's features in the top quartile, by falling mutual information.

    Negative features are those that are more frequent under the first label, positive ones those
    that are more frequent under the second.
    """

    task: str
    negative: NDArray[np.float64]
    positive: NDArray[np.float64]


def find_features(quick: bool, folder: Path | None) -> list[Features]:
    """Those of every sentiment task that is at hand, or of none in a short trial."""
    return [] if quick else [rank_features(load(t, folder)) for t in AMAZON if at_hand(t, folder)]


def rank_features(task: Task) -> Features:
    """The top quartile of a task's features, by the mutual information of presence and label."""
    second = task.y == np.unique(task.y)[1]
    present = [np.diff(task.X[rows].tocsc().indptr).astype(float) for rows in (~second, second)]
    sizes = [float((~second).sum()), float(second.sum())]
    information = measure_information(present, sizes)
    counts = np.asarray(task.X.sum(axis=0)).ravel()
    favours = present[1] / sizes[1] > present[0] / sizes[0]
    sides = []
    for side in (~favours, favours):
        columns = np.flatnonzero(side)
        best = columns[np.argsort(-information[columns], kind="stable")]
        sides.append(counts[best[: columns.size // 4]])
    return Features(task.name, *sides)


def measure_information(
    present: Sequence[NDArray[np.float64]], sizes: Sequence[float]
) -> NDArray[np.float64]:
    """The mutual information, in bits, of every feature's presence with the label.

    `present` has for each label the number of its rows that have the feature.
    """
    rows = sum(sizes)
    total = np.zeros_like(present[0])
    share = sum(present) / rows
    for count, size in zip(present, sizes, strict=True):
        for cell, alone in ((count, share), (size - count, 1.0 - share)):
            joint = cell / rows
            with np.errstate(divide="ignore", invalid="ignore"):
                term = joint * np.log2(joint / (alone * size / rows))
            total += np.where(joint > 0, term, 0.0)
    return total


def count_rare(features: Sequence[Features]) -> tuple[int, int, int]:
    """How many features of the top quartiles are rare, how many frequent, and all of them."""
    counts = np.concatenate([np.concatenate([one.negative, one.positive]) for one in features])
    return int((counts <= RARE).sum()), int((counts >= OFTEN).sum()), counts.size


def show_features(features: Sequence[Features]) -> str:
    """Figure 1 in figures: how many of the top quartile occur how often."""
    bands = ((1, 1), (2, RARE), (RARE + 1, 99), (100, OFTEN - 1), (OFTEN, np.inf))
    rows = []
    for one in features:
        counts = np.concatenate([one.negative, one.positive])
        shares = [100 * np.mean((counts >= low) & (counts <= high)) for low, high in bands]
        cells = (f"{share:.1f} %" if share >= 0.1 else f"{share:.3f} %" for share in shares)
        rows.append((TASKS[one.task].title, f"{counts.size:,}", *cells))
    head = ("occurrences", "features", "1", "2 to 5", "6 to 99", "100 to 999", "1,000 and more")
    return make_table(head, rows) if rows else "The data is not at hand."


def _plots() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw_features(path: Path, features: Sequence[Features]) -> None:
    """Figure 1: count against rank by mutual information, both logarithmic."""
    one = next((each for each in features if each.task == TASK), None)
    if one is None:
        return
    plots = _plots()
    figure, axes = plots.subplots(1, 2, figsize=(8.4, 3.3), layout="constrained", sharey=True)
    for ax, name, counts in zip(
        axes, ("negative", "positive"), (one.negative, one.positive), strict=True
    ):
        ax.loglog(np.arange(1, counts.size + 1), counts, ".", color="0.2", markersize=2)
        ax.set_title(f"{TASKS[one.task].title}: {name} features", fontsize=9)
        ax.set_xlabel("rank by mutual information", fontsize=9)
        ax.tick_params(labelsize=8)
    axes[0].set_ylabel("occurrences", fontsize=9)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plots.close(figure)


# The paper prints neither mean nor covariance; these give a picture like its own.
MEAN, COVARIANCE = np.array([2.0, 1.0]), np.array([[4.0, -2.0], [-2.0, 9.0]])
EXAMPLE = np.array([0.5, 1.0])


def describe_gaussian() -> str:
    """How probable a right prediction is, by the formula and by samples."""
    mean, variance = float(EXAMPLE @ MEAN), float(EXAMPLE @ COVARIANCE @ EXAMPLE)
    right = float(np.mean(sample_weights(100_000) @ EXAMPLE > 0))
    return (
        f"The margin has the mean {mean:g} and the variance {variance:g}, so that the example is "
        f"classified rightly with probability {norm.cdf(mean / np.sqrt(variance)):.3f}; of 100,000 "
        f"sampled weight vectors {right:.3f} do."
    )


def sample_weights(count: int) -> NDArray[np.float64]:
    """Weight vectors drawn from the Gaussian."""
    return np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, count)


def draw_gaussian(path: Path) -> None:
    """Figure 2: sampled weights, on either side of the example's line."""
    plots = _plots()
    weights = sample_weights(600)
    right = weights @ EXAMPLE > 0
    figure, ax = plots.subplots(figsize=(4.2, 3.6), layout="constrained")
    ax.plot(*weights[right].T, "x", color="tab:blue", markersize=4, label="right")
    ax.plot(*weights[~right].T, ".", color="tab:green", markersize=4, label="wrong")
    x = np.array([-10.0, 12.0])
    ax.plot(x, -EXAMPLE[0] / EXAMPLE[1] * x, color="black", linewidth=1.2)
    ax.plot(*MEAN, "o", color="black", markersize=7)
    ax.set(xlim=(-6, 10), ylim=(-10, 12), xlabel="w₁", ylabel="w₂")
    ax.legend(fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plots.close(figure)
