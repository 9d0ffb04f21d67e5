"""Whether probabilities can be trusted: reliability bins, calibration error, proper scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.metrics import log_loss

from sureline.data import as_labels
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.validation import check_whole
from sureline.evaluation.significance import wilson_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReliabilityBin:
    """A bin of a reliability diagram that holds rows."""

    low: float
    high: float
    count: int
    confidence: float  # their mean
    accuracy: float  # the share of them that is right
    interval: tuple[float, float]  # the 95% interval of the accuracy


@dataclass(frozen=True, eq=False)
class Calibration:
    """How well probabilities are calibrated.

    Parameters
    ----------
    edges : array of shape (n_bins + 1,)
        The edges of the bins of confidence, which is the probability of the predicted class. A bin
        holds its upper edge.
    counts : int array of shape (n_bins,)
        How many rows are in each bin.
    confidence : array of shape (n_bins,)
        Their mean confidence; NaN for an empty bin.
    accuracy : array of shape (n_bins,)
        The share of them that is right; NaN for an empty bin.
    expected_error : float
        The expected calibration error: the mean distance of confidence and accuracy, bins weighted
        by their rows.
    largest_error : float
        The maximum calibration error: the largest such distance.
    log_loss : float
        The mean of −log of the true class's probability; NaN if no row has a known label.
    brier : float
        The mean squared distance of the probabilities from 1 for the true class and 0 for the
        others, halved for two classes; NaN if no row has a known label.
    """

    edges: Floats
    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats
    expected_error: float
    largest_error: float
    log_loss: float
    brier: float

    @property
    def bins(self) -> list[ReliabilityBin]:
        """The bins that hold rows, as the reliability diagrams show them."""
        return [
            ReliabilityBin(
                float(self.edges[k]),
                float(self.edges[k + 1]),
                int(self.counts[k]),
                float(self.confidence[k]),
                float(self.accuracy[k]),
                wilson_interval(round(self.accuracy[k] * self.counts[k]), int(self.counts[k])),
            )
            for k in np.flatnonzero(self.counts).tolist()
        ]


class BinCounts:
    """Counts rows and right predictions by confidence, in a fixed amount of memory."""

    def __init__(self, edges: Floats) -> None:
        self._edges = edges
        self._counts = np.zeros(edges.size - 1, np.int64)
        self._confidence, self._right = np.zeros(edges.size - 1), np.zeros(edges.size - 1)

    def add(self, confidence: Floats, right: NDArray[np.bool_]) -> None:
        """Count some more rows: how probable each predicted class was, and whether it is right."""
        place = np.searchsorted(self._edges[1:-1], confidence, side="left")
        bins = self._counts.size
        self._counts += np.bincount(place, minlength=bins)
        self._confidence += np.bincount(place, np.minimum(confidence, 1.0), bins)
        self._right += np.bincount(place, right, bins)

    def calibration(self, log_loss: float | None = None, brier: float | None = None) -> Calibration:
        """The calibration of all rows so far; `log_loss` and `brier` cannot be had from bins."""
        with np.errstate(invalid="ignore"):
            confidence, accuracy = self._confidence / self._counts, self._right / self._counts
        gaps = np.abs(np.nan_to_num(confidence - accuracy))
        return Calibration(
            edges=self._edges,
            counts=self._counts.copy(),
            confidence=confidence,
            accuracy=accuracy,
            expected_error=float(gaps @ self._counts / max(self._counts.sum(), 1)),
            largest_error=float(gaps.max()),
            log_loss=np.nan if log_loss is None else log_loss,
            brier=np.nan if brier is None else brier,
        )


def calibration(
    probabilities: ArrayLike,
    y: Any,
    classes: Any,
    *,
    bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> Calibration:
    """Compare the confidence of predictions with how often they are right.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        What `predict_proba` gives.
    y : array of shape (n_samples,)
        The true labels. A label that is none of `classes` counts as a mistake in the bins; log loss
        and Brier score leave it out.
    classes : array of shape (n_classes,)
        The label of each column, sorted, as ``classes_`` has them.
    bins : int, default=10
        The number of bins of confidence.
    strategy : {"uniform", "quantile"}, default="uniform"
        Whether the bins have equal widths or equal numbers of rows.

    Returns
    -------
    Calibration
        The bins and the scores.

    Examples
    --------
    >>> from sureline.evaluation import calibration
    >>> chances = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]
    >>> found = calibration(chances, ["ham", "ham", "spam", "ham"], ["ham", "spam"], bins=2)
    >>> found.counts.tolist(), found.accuracy.tolist(), round(found.expected_error, 2)
    ([0, 4], [nan, 0.75], 0.0)
    >>> round(found.log_loss, 3), round(found.brier, 3)
    (0.4, 0.125)
    """
    chance, labels, known = np.asarray(probabilities, np.float64), as_labels(y), as_labels(classes)
    if chance.shape != (labels.size, known.size) or not labels.size:
        raise DataError(
            "calibration takes a row of probabilities for each label of y and a column for each "
            f"class; got the shape {chance.shape} for {labels.size} labels and {known.size} classes"
        )
    if not (np.isfinite(chance).all() and (chance >= 0).all() and (chance <= 1 + 1e-6).all()):
        raise DataError("calibration: probabilities must lie between 0 and 1")
    check_whole(bins, "bins", "calibration")
    best = chance.argmax(axis=1)
    confidence = np.minimum(chance[np.arange(best.size), best], 1.0)
    counts = BinCounts(_edges(confidence, int(bins), strategy))
    counts.add(confidence, known[best] == labels)
    scored = np.isin(labels, known)
    loss = brier = None
    if scored.any() and known.size > 1:
        rows = chance[scored] / chance[scored].sum(axis=1, keepdims=True)
        loss = float(log_loss(labels[scored], rows, labels=known))
        squares = (rows - (labels[scored][:, None] == known)) ** 2
        brier = float(squares.sum(axis=1).mean()) / (2 if known.size == 2 else 1)
    return counts.calibration(loss, brier)


def _edges(confidence: Floats, bins: int, strategy: str) -> Floats:
    """The edges of the bins; equal quantiles are one edge."""
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, bins + 1)
    if strategy == "quantile":
        inner = np.unique(np.quantile(confidence, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
        return np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])
    raise InvalidParameter(
        f"calibration: strategy must be 'uniform' or 'quantile', got {strategy!r}"
    )


def label_entropy(probabilities: ArrayLike) -> Floats:
    """The entropy of each row's distribution over the classes, in nats.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        What `predict_proba` gives.

    Returns
    -------
    array of shape (n_samples,)
        0 where one class is certain, the logarithm of the number of classes where all are equal.

    Examples
    --------
    >>> from sureline.evaluation import label_entropy
    >>> label_entropy([[1.0, 0.0], [0.5, 0.5]]).round(3).tolist()
    [0.0, 0.693]
    """
    rows = np.asarray(probabilities, np.float64)
    if rows.ndim != 2 or not (np.isfinite(rows).all() and (rows >= 0).all()):
        raise DataError(
            "label_entropy takes an array of probabilities, one row per sample and one column per "
            f"class, none negative; got the shape {rows.shape}"
        )
    return np.asarray(entr(rows).sum(axis=1))
