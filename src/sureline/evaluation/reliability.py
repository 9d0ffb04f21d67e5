"""Whether probabilities mean what they say: reliability bins, calibration error, proper scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import brier_score_loss, log_loss

from sureline.data import as_labels
from sureline.errors import DataError, InvalidParameter

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """How far probabilities can be trusted.

    Parameters
    ----------
    edges : array of shape (n_bins + 1,)
        Where the bins of confidence begin and end; confidence is the probability of the likeliest
        class. A bin holds its upper edge.
    counts : int array of shape (n_bins,)
        How many rows lie in each bin.
    confidence : array of shape (n_bins,)
        Their mean confidence; NaN for an empty bin.
    accuracy : array of shape (n_bins,)
        The share of them that is right; NaN for an empty bin.
    expected_error : float
        The expected calibration error: the mean distance of confidence and accuracy, bins weighted
        by their rows.
    largest_error : float
        The largest such distance.
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


def calibration(
    probabilities: ArrayLike,
    y: Any,
    classes: Any,
    *,
    bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> Calibration:
    """Compare how sure a model is with how often it is right.

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
        Into how many bins of confidence rows are sorted.
    strategy : {"uniform", "quantile"}, default="uniform"
        Whether the bins are equally wide, or hold equally many rows.

    Returns
    -------
    Calibration
        The bins and the measures.

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
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1:
        raise InvalidParameter(f"calibration: bins must be a whole number from 1, got {bins!r}")
    best = chance.argmax(axis=1)
    confidence = np.minimum(chance[np.arange(best.size), best], 1.0)
    right = known[best] == labels
    edges = _edges(confidence, int(bins), strategy)
    place = np.clip(np.searchsorted(edges[1:-1], confidence, side="left"), 0, edges.size - 2)
    counts = np.bincount(place, minlength=edges.size - 1)
    with np.errstate(invalid="ignore"):
        sure = np.bincount(place, confidence, edges.size - 1) / counts
        accuracy = np.bincount(place, right, edges.size - 1) / counts
    gaps = np.abs(np.nan_to_num(sure - accuracy))
    judged = np.isin(labels, known)
    loss = brier = float("nan")
    if judged.any() and known.size > 1:
        rows = chance[judged] / chance[judged].sum(axis=1, keepdims=True)
        loss = float(log_loss(labels[judged], rows, labels=known))
        told = rows[:, 1] if known.size == 2 else rows
        extra = {"pos_label": known[1]} if known.size == 2 else {"labels": known}
        brier = float(brier_score_loss(labels[judged], told, **extra))
    return Calibration(
        edges=edges,
        counts=counts,
        confidence=sure,
        accuracy=accuracy,
        expected_error=float(gaps @ counts / labels.size),
        largest_error=float(gaps.max()),
        log_loss=loss,
        brier=brier,
    )


def _edges(confidence: Floats, bins: int, strategy: str) -> Floats:
    """The edges of the bins; quantiles that coincide are one edge."""
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, bins + 1)
    if strategy == "quantile":
        inner = np.unique(np.quantile(confidence, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
        return np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])
    raise InvalidParameter(
        f"calibration: strategy must be 'uniform' or 'quantile', got {strategy!r}"
    )
