"""Labels on their way into a model: which are new, and which column each belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.data.surrogates import has_surrogates
from sureline.errors import DataError
from sureline.model.predictions import Labels


def check_label_kind(labels: Labels, y: Labels, owner: str) -> None:
    """Refuse text among numbers and numbers among text."""
    kinds = ["text" if array.dtype.kind in "USO" else "numbers" for array in (labels, y)]
    if labels.size and kinds[0] != kinds[1]:
        raise DataError(f"{owner}: labels were {kinds[0]} before and are {kinds[1]} now")


def check_characters(labels: Iterable[Any], owner: str) -> None:
    """Refuse labels with a lone surrogate, half a character, which no file can hold."""
    for label in labels:
        if has_surrogates(label):
            raise DataError(
                f"{owner}: the label {str(label)!a} holds half a character (a lone "
                "surrogate), which cannot be written to a file; replace it"
            )


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
