"""How undecided a model is between the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from sureline.errors import DataError


def label_entropy(probabilities: ArrayLike) -> NDArray[np.float64]:
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
            "label_entropy takes an array of probabilities, one row a sample and one column a "
            f"class, none negative; got the shape {rows.shape}"
        )
    return np.asarray(entr(rows).sum(axis=1))
