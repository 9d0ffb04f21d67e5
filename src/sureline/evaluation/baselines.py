"""What a model must beat: always answering the most frequent label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.dummy import DummyClassifier

from sureline.data import as_labels
from sureline.errors import DataError


class Majority(NamedTuple):
    """The most frequent label, and how often it is wrong.

    Parameters
    ----------
    label : label
        The most frequent label of the rows learned from; of equally frequent ones, the first.
    error : float
        The share of the judged rows that have another.
    """

    label: Any
    error: float


def majority_baseline(y: Any, y_test: Any = None) -> Majority:
    """The error of always answering the most frequent label.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The labels learned from.
    y_test : array, default=None
        The labels to judge on; by default `y` itself.

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
    judged = labels if y_test is None else as_labels(y_test)
    if not labels.size or not judged.size:
        raise DataError("majority_baseline needs at least one label to learn and one to judge on")
    model = DummyClassifier(strategy="most_frequent").fit(np.zeros((labels.size, 1)), labels)
    answers = model.predict(np.zeros((judged.size, 1)))
    return Majority(answers.tolist()[0], float(np.mean(answers != judged)))
