"""Statistics of predictions that are gathered in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.report.features import LeadContribution
from sureline.evaluation.report.highlight import Word

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BINS_PER_UNIT = 64  # of the scale by which predictions are ranked
SCALE_END = 40  # on both sides
LEVELS = (1.0, 0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)  # shares of the rows that tables list
MOST_BLOCKS = 128


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
        scale = np.arcsinh(confidence)
        if self._probabilities:
            with np.errstate(divide="ignore"):
                scale = np.log(confidence) - np.log1p(-np.minimum(confidence, 1.0))
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


def at_usual_shares(points: list[CoveragePoint]) -> list[CoveragePoint]:
    """The first points that reach the usual shares of the rows, the largest share first."""
    reached = (next((p for p in points if p.share >= level - 1e-12), None) for level in LEVELS)
    return list(dict.fromkeys(point for point in reached if point is not None))


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


@dataclass(frozen=True)
class Mistake:
    """A row that was predicted wrongly."""

    row: Any  # its text, or a sparse matrix of one row
    true: Any
    predicted: Any
    probability: float | None  # of the predicted class; None for rules without probabilities
    margin: float  # the score of the predicted class
    source: str
    number: int  # in the file, from 1
    times: int = 1  # how many equal rows were predicted so
    words: Sequence[Word] = ()  # its text, with the words marked
    contributions: Sequence[LeadContribution] = ()  # the largest
    cut: bool = False  # whether only the beginning of its text is here

    @property
    def rank(self) -> tuple[float, float]:
        """By probability first; by margin, as many probabilities are as good as 1."""
        return self.probability or 0.0, self.margin


class TopMistakes:
    """Keeps the most confident mistakes; equal rows with equal labels are kept once and counted."""

    def __init__(self, most: int = 20) -> None:
        self._most = most
        self._kept: dict[Any, Mistake] = {}
        self._least = (-np.inf, -np.inf)  # a mistake of lower rank is not kept

    def is_candidate(self, probability: float | None, margin: float) -> bool:
        """Whether a mistake of this confidence would be kept."""
        return (probability or 0.0, margin) >= self._least

    def add(self, mistake: Mistake) -> None:
        """Keep a mistake if it is more confident than one that is kept; of equals, the first."""
        content, kept = mistake.row, self._kept
        if not isinstance(content, str):
            content.sort_indices()
            content = content.indices.tobytes(), content.data.tobytes()
        key = (content, str(mistake.true), str(mistake.predicted))
        if key in kept:
            kept[key] = replace(kept[key], times=kept[key].times + 1)
            return
        kept[key] = mistake
        if len(kept) > self._most:
            del kept[min(reversed(kept), key=lambda each: kept[each].rank)]
        if len(kept) == self._most:
            self._least = min(each.rank for each in kept.values())

    def ranked(self) -> list[Mistake]:
        """The mistakes, the most confident first."""
        return sorted(self._kept.values(), key=lambda each: each.rank, reverse=True)
