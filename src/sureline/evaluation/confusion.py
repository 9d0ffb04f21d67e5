"""Which labels are mistaken for which."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from sureline.data import as_labels


class Confusion(NamedTuple):
    """How many rows of each label were predicted as each.

    Parameters
    ----------
    labels : array of shape (n_labels,)
        All labels that are true or were predicted, sorted.
    counts : int array of shape (n_labels, n_labels)
        The number of rows by true label (row) and predicted label (column).
    """

    labels: NDArray[Any]
    counts: NDArray[np.int64]

    def frequent(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """The most frequent mistakes: the true label, the predicted one, and how many rows.

        Parameters
        ----------
        n : int, default=10
            How many at most.
        """
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        names = self.labels.tolist()
        pairs = (np.unravel_index(each, wrong.shape) for each in order)
        return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def confusion_counts(y: Any, predictions: Any) -> Confusion:
    """Count how many rows of each label were predicted as each.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The true labels.
    predictions : array of shape (n_samples,)
        The predicted ones.

    Returns
    -------
    Confusion
        The labels and the counts.

    Examples
    --------
    >>> from sureline.evaluation import confusion_counts
    >>> confusion = confusion_counts(["ham", "ham", "spam"], ["ham", "spam", "spam"])
    >>> confusion.counts.tolist(), confusion.frequent()
    ([[1, 1], [0, 1]], [('ham', 'spam', 1)])
    """
    truth, predicted = as_labels(y), as_labels(predictions)
    labels = np.union1d(truth, predicted)
    return Confusion(labels, np.asarray(confusion_matrix(truth, predicted, labels=labels)))
