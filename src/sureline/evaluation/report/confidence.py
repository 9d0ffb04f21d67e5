"""How sure answers are and how often right, in bins that never grow: calibration and coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.reliability import Calibration

Floats = NDArray[np.float64]
BINS = 10  # of the reliability diagram, as `calibration` has them
FINE = 64  # bins a unit of the scale by which answers are ranked
FURTHEST = 40  # the scale ends here, on both sides
LEVELS = (1.0, 0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)  # shares of the rows that are listed


@dataclass(frozen=True)
class Covered:
    """The answers that are at least so sure: their share of all, how many, how many are wrong.

    `threshold` is a probability, or a score for rules that have no probabilities.
    """

    share: float
    threshold: float
    rows: int
    wrong: int

    @property
    def error(self) -> float:
        """The share of them that is wrong."""
        return self.wrong / self.rows


class Sureness:
    """Counts how often answers are right, by how sure the model is of them.

    Memory does not grow with the rows: answers are counted in fine bins of log-odds, or of the
    inverse hyperbolic sine of the score where there are no probabilities.

    Parameters
    ----------
    likely : bool
        Whether answers have probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sureline.evaluation.report.confidence import Sureness
    >>> sureness = Sureness(likely=True)
    >>> sureness.add(np.array([0.9, 0.8, 0.6, 0.7]), np.array([True, True, False, True]))
    >>> [(each.share, each.wrong) for each in sureness.curve()]
    [(0.25, 0), (0.5, 0), (0.75, 0), (1.0, 1)]
    """

    def __init__(self, likely: bool) -> None:
        self.likely = likely
        self._edges = np.arange(-FURTHEST * FINE, FURTHEST * FINE + 1) / FINE
        self._fine = np.zeros((2, self._edges.size), np.int64)  # all, and wrong ones
        self._counts = np.zeros(BINS, np.int64)
        self._sure, self._right = np.zeros(BINS), np.zeros(BINS)

    def add(self, sure: Floats, right: NDArray[np.bool_]) -> None:
        """Count some more answers.

        Parameters
        ----------
        sure : array of shape (n,)
            The probability of each answer, or its score.
        right : bool array of shape (n,)
            Whether it is right.
        """
        with np.errstate(divide="ignore"):
            scale = np.log(sure) - np.log1p(-np.minimum(sure, 1.0)) if self.likely else _bend(sure)
        place = np.clip(np.searchsorted(self._edges, scale, side="right") - 1, 0, None)
        size = self._edges.size
        self._fine[0] += np.bincount(place, minlength=size)
        self._fine[1] += np.bincount(place[~right], minlength=size)
        if self.likely:
            inner = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
            place = np.searchsorted(inner, sure, side="left")
            self._counts += np.bincount(place, minlength=BINS)
            self._sure += np.bincount(place, np.minimum(sure, 1.0), BINS)
            self._right += np.bincount(place, right, BINS)

    def calibration(self, log_loss: float | None, brier: float | None) -> Calibration | None:
        """Confidence against accuracy; None where there are no probabilities.

        Confidence is the probability of the label that is answered.

        Parameters
        ----------
        log_loss, brier : float or None
            These measures, found elsewhere; None for unknown.
        """
        if not self.likely:
            return None
        with np.errstate(invalid="ignore"):
            sure, right = self._sure / self._counts, self._right / self._counts
        gaps = np.abs(np.nan_to_num(sure - right))
        return Calibration(
            edges=np.linspace(0.0, 1.0, BINS + 1),
            counts=self._counts.copy(),
            confidence=sure,
            accuracy=right,
            expected_error=float(gaps @ self._counts / max(self._counts.sum(), 1)),
            largest_error=float(gaps.max()),
            log_loss=np.nan if log_loss is None else log_loss,
            brier=np.nan if brier is None else brier,
        )

    def curve(self) -> list[Covered]:
        """What share of the rows is answered at each threshold, from the surest rows on."""
        rows, wrong = (np.cumsum(counts[::-1]) for counts in self._fine)
        steps = np.flatnonzero(self._fine[0][::-1])
        edges = self._edges[::-1][steps]
        lowest = edges == self._edges[0]  # holds all that lies below, too
        if self.likely:
            thresholds = np.where(lowest, 0.0, 1.0 / (1.0 + np.exp(-edges)))
        else:
            thresholds = np.where(lowest, -np.inf, np.sinh(edges))
        total = int(rows[-1])
        return [
            Covered(int(rows[at]) / total, float(threshold), int(rows[at]), int(wrong[at]))
            for at, threshold in zip(steps.tolist(), thresholds.tolist(), strict=True)
        ]


def listed(curve: list[Covered]) -> list[Covered]:
    """The points of a curve that come closest above the usual shares, the largest share first."""
    found = list[Covered]()
    for level in LEVELS:
        reached = next((each for each in curve if each.share >= level - 1e-12), None)
        if reached is not None and reached not in found:
            found.append(reached)
    return found


def _bend(score: Floats) -> Floats:
    """Scores of any size on a scale that bins of one width suit."""
    return np.arcsinh(score)
