"""How good predictions of a stream are at every time: over a window, or with older ones fading."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from sureline.errors import DataError, InvalidParameter, show
from sureline.estimators.validation import check_whole

Floats = NDArray[np.float64]


class StreamMeasures(NamedTuple):
    """Measures of a stream after some of its examples; arrays with an element per point.

    Parameters
    ----------
    examples : int array
        How many examples there had been.
    accuracy : float array
        The share of right predictions among the last ones.
    kappa : float array
        Cohen's kappa, (accuracy − c) / (1 − c) with the accuracy c of guessing by the class
        frequencies of labels and predictions: 1 is perfect, 0 is no better than that. Where c is 1
        it is 0.
    kappa_temporal : float array
        The same with the accuracy c of predicting the label of the example before.
    """

    examples: NDArray[np.int64]
    accuracy: Floats
    kappa: Floats
    kappa_temporal: Floats


def stream_measures(
    truth: Any,
    predictions: Any,
    *,
    window: int | None = None,
    fading: float | None = None,
    points: int | None = None,
) -> StreamMeasures:
    """Accuracy and kappa of a stream's predictions along the stream.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        The labels, in the order of the stream.
    predictions : array of shape (n_samples,)
        What was predicted of each example before it was learned; None is wrong.
    window : int, default=None
        How many of the last examples count. None: all, or with `fading` all, less and less.
    fading : float, default=None
        A factor in (0, 1) by which an example counts less than the next one, such as 0.999.
    points : int, default=None
        At how many equally spaced places of the stream. None: after every example.

    Returns
    -------
    StreamMeasures
        Accuracy, kappa, and kappa against repeating the label before.

    Examples
    --------
    >>> from sureline import TextClassifier
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import progressive, stream_measures
    >>> texts, labels = (some[:1000] for some in sms_spam())
    >>> found = progressive(TextClassifier(), texts, labels)
    >>> measures = stream_measures(labels, found.predictions[0], window=250, points=4)
    >>> measures.accuracy.round(3).tolist(), measures.kappa.round(3).tolist()
    ([0.864, 0.988, 0.968, 0.98], [0.287, 0.947, 0.861, 0.929])
    """
    y, guess = np.asarray(truth), np.asarray(predictions)
    if y.ndim != 1 or y.shape != guess.shape or not y.size:
        raise DataError(
            "stream_measures takes as many labels as predictions, in one dimension, and one at "
            f"least; there are {y.shape} and {guess.shape}"
        )
    if window is not None and fading is not None:
        raise InvalidParameter("stream_measures takes window or fading, not both")
    if window is not None:
        check_whole(window, "window", "stream_measures")
    if fading is not None and not 0.0 < fading < 1.0:
        raise InvalidParameter(
            f"stream_measures: fading must be a number in (0, 1), got {show(fading)}"
        )
    n = y.size
    at = np.arange(1, n + 1)
    if points is not None:
        check_whole(points, "points", "stream_measures")
        at = np.unique(np.linspace(0, n, points + 1).round().astype(np.int64))[1:]

    def total(values: NDArray[np.bool_]) -> Floats:
        """How many of the last examples, by their weights."""
        if fading is not None:
            return np.asarray(lfilter([1.0], [1.0, -fading], values.astype(np.float64))[at - 1])
        sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
        begin = np.zeros_like(at) if window is None else np.maximum(at - window, 0)
        return np.asarray(sums[at] - sums[begin])

    count = total(np.ones(n, np.bool_))
    accuracy = total(y == guess) / count
    chance = np.zeros(at.size)
    for label in np.unique(y).tolist():  # what is predicted but never true adds nothing
        chance += total(y == label) / count * (total(guess == label) / count)
    repeated = np.concatenate([[False], y[1:] == y[:-1]])
    return StreamMeasures(
        at, accuracy, _kappa(accuracy, chance), _kappa(accuracy, total(repeated) / count)
    )


def _kappa(accuracy: Floats, chance: Floats) -> Floats:
    """How far an accuracy is above another, as a share of what is possible."""
    left = 1.0 - chance
    some = left > 0.0
    return np.where(some, (accuracy - chance) / np.where(some, left, 1.0), 0.0)
