"""Class counts and calibrators of merged models: counts add up, calibrators by precision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.class_counts import MOST
from sureline.model.merge.algebra import CHUNK, Indices
from sureline.model.state import State

Floats = NDArray[np.float64]
Counts = tuple[Indices, Indices, NDArray[np.int64]]  # features, classes and their counts
ROWS, TOKENS = range(2)  # the totals of a class
LEAST = 1e-9  # the least precision, so that untrained calibrators merge to their mean


def add_counts(tallies: NDArray[np.int32], where: Any, more: Any) -> None:
    """Add to counts at some places, none of them twice, up to the largest count."""
    total = tallies[where].astype(np.int64) + more
    tallies[where] = np.minimum(total, MOST)


def merge_calibrators(calibrators: Sequence[Floats]) -> Floats:
    """The calibrator of several, weighted by precision; their precisions add up."""
    return calibrator_of(sum((calibrator_sums(each) for each in calibrators), np.zeros(5)))


def calibrator_sums(calibrator: Floats) -> Floats:
    """What a calibrator adds to sums: its precision, three numbers, and precision × place, two."""
    place, (h11, h12, h22) = calibrator[:2], calibrator[2:]
    precision = np.array([[h11 + LEAST, h12], [h12, h22 + LEAST]])
    return np.array([precision[0, 0], h12, precision[1, 1], *(precision @ place)])


def calibrator_of(sums: Floats) -> Floats:
    """The calibrator of such sums."""
    h11, h12, h22, *pull = sums.tolist()
    place = np.linalg.solve(np.array([[h11, h12], [h12, h22]]), np.array(pull))
    return np.array([*place, h11, h12, h22])


# -- sums of what models add to a common start -------------------------------------------------


def counts_since(
    start: State, state: State, features: int, origin: Indices | None = None
) -> Iterator[Counts]:
    """How many more rows of each class have had each feature, in chunks of features.

    Parameters
    ----------
    start : State
        What the model started from.
    state : State
        What it has become.
    features : int
        How many features the model has; rows beyond them are spare capacity.
    origin : array of int, default=None
        For each feature of the model, which one of the start it is, or -1 if it is new. None if
        the start's features come first, in their order.

    Yields
    ------
    features, classes, counts : arrays of int
        Where the counts differ, and by how much.
    """
    if not state.layout.counted:
        return
    classes = state.classes
    step = max(1, CHUNK // classes)
    for first in range(0, features, step):
        chunk = np.arange(first, min(features, first + step))
        if origin is None:
            source = np.where(chunk < start.features, chunk, -1)
        else:
            source = origin[chunk]
        more = state.tallies[chunk + 1, :classes].astype(np.int64)
        known = source >= 0
        more[known] -= start.tallies[source[known] + 1, :classes]
        changed, which = np.nonzero(more)
        yield chunk[changed], which, more[changed, which]


def totals_since(start: State, state: State) -> Counts:
    """How many more rows each class has had, and how many features they had.

    Parameters
    ----------
    start, state : State
        As in `counts_since`.

    Returns
    -------
    totals, classes, counts : arrays of int
        `ROWS` or `TOKENS`, the class, and how many.
    """
    classes = state.classes if state.layout.counted else 0
    more = np.zeros((2, classes), np.int64)
    if classes:
        more[ROWS] = state.tallies[0, :classes]
        more[ROWS] -= start.tallies[0, :classes]
        more[TOKENS] = state.tokens[:classes] - start.tokens[:classes]
    totals, which = np.nonzero(more)
    return totals, which, more[totals, which]


def calibration_since(start: State, state: State) -> Floats:
    """What a model adds to the sums that the calibrator and an automatic r depend on.

    Parameters
    ----------
    start, state : State
        As in `counts_since`.

    Returns
    -------
    array of shape (7,)
        The two sums of errors, then those of the calibrator; zeros if it has not changed.
    """
    sums = np.zeros(7)
    sums[:2] = state.errors - start.errors
    if (state.curve != start.curve).any():
        sums[2:] = calibrator_sums(state.curve)
    return sums


def set_counts(merged: State, start: State, added: Iterable[Counts], totals: Counts) -> None:
    """Set the counts of a merged state to those of its start plus what models have added.

    Parameters
    ----------
    merged : State
        The merged state, without counts so far.
    start : State
        What all models started from; its features come first in the merged state.
    added : iterable of tuples of arrays
        Features of the merged state, classes, and the sums of `counts_since`. Within a tuple no
        feature and class come twice.
    totals : tuple of arrays
        The sums of `totals_since`.
    """
    if not merged.layout.counted:
        return
    width, have = merged.tokens.size, min(start.features, merged.features) + 1
    merged.tallies[:have] = start.tallies[:have, :width]
    merged.tokens[:] = start.tokens[:width]
    kinds, classes, more = totals
    rows = kinds == ROWS
    np.add.at(merged.tokens, classes[~rows], more[~rows])
    rows_of_classes = np.full(np.count_nonzero(rows), -1), classes[rows], more[rows]
    for features, which, counts in chain([rows_of_classes], added):
        where = features + 1, which
        add_counts(merged.tallies, where, np.maximum(counts, -merged.tallies[where]))


def set_calibration(merged: State, start: State, sums: Floats) -> None:
    """Set the errors of a merged state to those of all, and merge the calibrators that changed.

    Parameters
    ----------
    merged : State
        The merged state.
    start : State
        What all models started from.
    sums : array of shape (7,)
        The sums of `calibration_since`.
    """
    merged.errors, merged.curve = start.errors + sums[:2], start.curve.copy()
    if sums[2]:
        merged.curve = calibrator_of(sums[2:])
