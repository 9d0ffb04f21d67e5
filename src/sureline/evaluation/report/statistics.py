"""Statistics of predictions that are gathered in memory that does not grow with the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BINS_PER_UNIT = 64  # of the scale by which predictions are ranked
SCALE_END = 40  # on both sides
LEVELS = (1.0, 0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)  # shares of the rows that tables list
MOST_BLOCKS = 128
NOVELTY = (0.0, 0.5, 0.9, 0.95, 0.99, 1.0)  # bands that hold their upper edge


class CoveragePoint(NamedTuple):
    """The rows that are predicted with at least some confidence."""

    share: float  # of all rows: the coverage
    threshold: float  # the confidence: a probability, or a score for rules without probabilities
    rows: int
    wrong: int

    @property
    def error(self) -> float:
        """The share of them that is wrong."""
        return self.wrong / self.rows


class CoverageCounts:
    """The error among the most confident predictions, at each coverage.

    Predictions are counted in narrow bins of log-odds, or of the inverse hyperbolic sine of the
    score where there are no probabilities.
    """

    def __init__(self, probabilities: bool) -> None:
        self._probabilities = probabilities
        end = SCALE_END * BINS_PER_UNIT
        self._edges = np.arange(-end, end + 1) / BINS_PER_UNIT
        self._rows, self._wrong = np.zeros((2, self._edges.size), np.int64)

    def add(self, confidence: Floats, right: Flags) -> None:
        """Count some more predictions: the probability of each predicted class, or its score."""
        scale = on_scale(confidence, self._probabilities)
        bins = np.clip(np.searchsorted(self._edges, scale, side="right") - 1, 0, None)
        self._rows += np.bincount(bins, minlength=self._edges.size)
        self._wrong += np.bincount(bins[~right], minlength=self._edges.size)

    def points(self) -> list[CoveragePoint]:
        """The coverage and the error at each threshold, the highest threshold first."""
        rows, wrong = np.cumsum(self._rows[::-1]), np.cumsum(self._wrong[::-1])
        filled = np.flatnonzero(self._rows[::-1])
        edges = self._edges[::-1][filled]
        lowest = edges == self._edges[0]  # its bin has no lower end
        if self._probabilities:
            thresholds = np.where(lowest, 0.0, 1.0 / (1.0 + np.exp(-edges)))
        else:
            thresholds = np.where(lowest, -np.inf, np.sinh(edges))
        return [
            CoveragePoint(int(rows[k]) / int(rows[-1]), threshold, int(rows[k]), int(wrong[k]))
            for k, threshold in zip(filled.tolist(), thresholds.tolist(), strict=True)
        ]


def on_scale(values: Floats, probabilities: bool) -> Floats:
    """Log-odds of probabilities, or the inverse hyperbolic sine of scores."""
    if not probabilities:
        return np.arcsinh(values)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values) - np.log1p(-np.minimum(values, 1.0)))


def at_usual_shares(points: list[CoveragePoint]) -> list[CoveragePoint]:
    """The first points that reach the usual shares of the rows, the largest share first."""
    reached = (next((p for p in points if p.share >= level - 1e-12), None) for level in LEVELS)
    return list(dict.fromkeys(point for point in reached if point is not None))


class NoveltyBand(NamedTuple):
    """The rows whose novelty is within two limits."""

    low: float
    high: float
    rows: int
    wrong: int
    confidence: float  # the mean probability of the labels


class NoveltyCounts:
    """The error and the confidence of rows by their novelty."""

    def __init__(self) -> None:
        self._rows, self._wrong = np.zeros((2, len(NOVELTY) - 1), np.int64)
        self._confidence = np.zeros(len(NOVELTY) - 1)

    def add(self, novelty: Floats, confidence: Floats, right: Flags) -> None:
        """Count some more predictions."""
        bands = np.clip(np.searchsorted(NOVELTY, novelty) - 1, 0, None)
        self._rows += np.bincount(bands, minlength=self._rows.size)
        self._wrong += np.bincount(bands[~right], minlength=self._rows.size)
        self._confidence += np.bincount(bands, confidence, minlength=self._rows.size)

    def bands(self) -> list[NoveltyBand]:
        """The bands that have rows, the least novel first."""
        mean = self._confidence / np.maximum(self._rows, 1)
        columns = (NOVELTY[:-1], NOVELTY[1:], self._rows, self._wrong, mean)
        every = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        return [NoveltyBand(*band) for band in every if band[2]]


class ErrorBlocks:
    """Counts mistakes in blocks of consecutive rows; too many blocks are merged in pairs."""

    def __init__(self) -> None:
        self._size = 1
        self._wrong = list[int]()
        self._rest: Flags = np.zeros(0, bool)

    def add(self, right: Flags) -> None:
        """Count some more rows."""
        wrong = np.concatenate([self._rest, ~right])
        start = 0
        while wrong.size - start >= self._size:
            whole = min((wrong.size - start) // self._size, MOST_BLOCKS - len(self._wrong))
            stop = start + whole * self._size
            self._wrong += wrong[start:stop].reshape(whole, self._size).sum(axis=1).tolist()
            start = stop
            if len(self._wrong) == MOST_BLOCKS:
                self._wrong = np.reshape(self._wrong, (-1, 2)).sum(axis=1).tolist()
                self._size *= 2
        self._rest = wrong[start:]

    def counts(self) -> list[tuple[int, int]]:
        """The rows and the mistakes of each block; the last block may be shorter."""
        blocks = [(self._size, wrong) for wrong in self._wrong]
        if self._rest.size:
            blocks.append((int(self._rest.size), int(self._rest.sum())))
        return blocks
