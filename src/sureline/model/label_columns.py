"""The columns of labels, and the labels that a stream shows for the first time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]


def columns_of(y: Labels, labels: Labels) -> NDArray[np.intp]:
    """The position of each of `y` among some labels; any position for one that is not there."""
    order = np.argsort(labels)
    return order[np.minimum(np.searchsorted(labels, y, sorter=order), labels.size - 1)]


def find_arrivals(known: Labels, y: Labels) -> list[tuple[int, Labels]]:
    """The labels in `y` that are not `known`, in order, each with its first row."""
    if y.size == 1 and y.item() in known.tolist():
        return []
    unknown = np.arange(y.size)
    if known.size:
        unknown = np.flatnonzero(known[columns_of(y, known)] != y)
    if not unknown.size:
        return []
    new, first_rows = np.unique(y[unknown], return_index=True)
    order = np.argsort(first_rows)
    return [(int(unknown[first_rows[k]]), new[k : k + 1]) for k in order]
