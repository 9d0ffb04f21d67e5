"""What a threshold does: how many rows reach it, and precision against recall of two classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.report.statistics import BINS_PER_UNIT, SCALE_END, on_scale

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)


class ThresholdPoint(NamedTuple):
    """The rows whose labels reach a probability; of two classes, how many of each and how right."""

    threshold: float
    rows: int
    wrong: int
    predicted: tuple[int, ...]
    right: tuple[int, ...]


class ThresholdCounts:
    """Counts the rows that are predicted with at least some usual probabilities."""

    def __init__(self, classes: Sequence[Any]) -> None:
        self._classes = list(classes)
        self._counts = np.zeros((len(self._classes), 2, len(THRESHOLDS)), np.int64)

    def add(self, probability: Floats, labels: Sequence[Any], right: Flags) -> None:
        """Count some more rows: the probability of each label, and whether it is right."""
        reached = np.searchsorted(THRESHOLDS, probability, side="right") - 1
        codes = {label: code for code, label in enumerate(self._classes)}
        code = np.array([codes[label] for label in labels], np.intp)
        np.add.at(self._counts, (code, right.astype(np.intp), reached), 1)

    def points(self) -> list[ThresholdPoint]:
        """The counts at each threshold that some rows reach, the lowest first."""
        reached = np.cumsum(self._counts[:, :, ::-1], axis=2)[:, :, ::-1]
        total = reached.sum(axis=0)
        two = len(self._classes) == 2
        return [
            ThresholdPoint(
                threshold,
                int(total[:, k].sum()),
                int(total[0, k]),
                tuple(reached[:, :, k].sum(axis=1).tolist()) if two else (),
                tuple(reached[:, 1, k].tolist()) if two else (),
            )
            for k, threshold in enumerate(THRESHOLDS)
            if total[:, k].any()
        ]


class PrecisionRecall(NamedTuple):
    """Precision at each recall of a class, as its threshold is lowered.

    `average` is the mean precision over the recall: the area below the curve.
    """

    label: Any
    recall: list[float]
    precision: list[float]
    average: float


class ScoreCounts:
    """Counts the rows of two classes, and of others, in narrow bins of the second one's score."""

    def __init__(self, classes: Sequence[Any], probabilities: bool) -> None:
        self._classes, self._probabilities = list(classes), probabilities
        end = SCALE_END * BINS_PER_UNIT
        self._edges = np.arange(-end, end + 1) / BINS_PER_UNIT
        self._counts = np.zeros((3, self._edges.size), np.int64)

    def add(self, score: Floats, truth: Sequence[Any]) -> None:
        """Count some more rows: the probability of the second class, or its score; the labels."""
        scale = on_scale(score, self._probabilities)
        bins = np.clip(np.searchsorted(self._edges, scale, side="right") - 1, 0, None)
        codes = {label: code for code, label in enumerate(self._classes)}
        code = np.array([codes.get(label, 2) for label in truth], np.intp)
        np.add.at(self._counts, (code, bins), 1)

    def curves(self) -> list[PrecisionRecall]:
        """The curve of each class that occurs."""
        found = list[PrecisionRecall]()
        for code, label in enumerate(self._classes):
            counts = self._counts[:, ::-1] if code else self._counts
            counts = counts[:, counts.any(axis=0)]
            hits, every = np.cumsum(counts[code]), np.cumsum(counts.sum(axis=0))
            if not hits.size or not hits[-1]:
                continue
            recall, precision = hits / hits[-1], hits / every
            average = float(np.diff(recall, prepend=0.0) @ precision)
            found.append(PrecisionRecall(label, recall.tolist(), precision.tolist(), average))
        return found
