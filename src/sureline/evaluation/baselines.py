"""The majority baseline: what a model must beat."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.dummy import DummyClassifier

from sureline.data import as_labels
from sureline.errors import DataError


class Majority(NamedTuple):
    """The most frequent label, and the error of always predicting it.

    Parameters
    ----------
    label : label
        The most frequent label of the training rows; of equally frequent ones, the first.
    error : float
        The share of the test rows that have another.
    """

    label: Any
    error: float


def majority_baseline(y: Any, y_test: Any = None) -> Majority:
    """The error of always predicting the most frequent label.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The training labels.
    y_test : array, default=None
        The test labels; by default `y` itself.

    Returns
    -------
    Majority
        The label and its error.

    Examples
    --------
    >>> from sureline.evaluation import majority_baseline
    >>> majority_baseline(["ham", "ham", "spam"], ["spam", "ham", "ham", "ham"])
    Majority(label='ham', error=0.25)
    """
    labels = as_labels(y)
    test = labels if y_test is None else as_labels(y_test)
    if not labels.size or not test.size:
        raise DataError("majority_baseline needs at least one training label and one test label")
    model = DummyClassifier(strategy="most_frequent").fit(np.zeros((labels.size, 1)), labels)
    predicted = model.predict(np.zeros((test.size, 1)))
    return Majority(predicted.tolist()[0], float(np.mean(predicted != test)))
