"""Counts of texts by feature and class, and the curve of probabilities, as rows to be summed.

Counts add up: the merged model has those of its start and what every partition has counted since;
so do the errors that r may follow. Of the curve, precision and precision × place add up, as
`sureline.model.merge.counts` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.model.merge.algebra import CHUNK
from sureline.model.merge.counts import add_counts, calibrator_of, calibrator_sums
from sureline.model.state import State

Array = NDArray[Any]
Counted = tuple[Array, Array, Array]  # features, classes, how many
TEXTS, TOKENS = range(2)  # the totals of a class, as the features of rows


def tallies_since(
    start: State, state: State, features: int, origin: Array | None
) -> Iterator[Counted]:
    """How many more texts of each class have had each feature, some features at a time.

    Parameters
    ----------
    start : State
        What the model started from.
    state : State
        What it has become.
    features : int
        How many features of the model count.
    origin : array of int or None
        For each feature, which one of the start it is, or -1; None if the start's come first.

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
        numbers = np.arange(first, min(features, first + step))
        if origin is None:
            source = np.where(numbers < start.features, numbers, -1)
        else:
            source = origin[numbers]
        more = state.tallies[numbers + 1, :classes].astype(np.int64)
        known = source >= 0
        more[known] -= start.tallies[source[known] + 1, :classes]
        chosen, which = np.nonzero(more)
        yield numbers[chosen], which, more[chosen, which]


def totals_since(start: State, state: State) -> Counted:
    """How many more texts of each class there were, and how many features they had.

    Parameters
    ----------
    start, state : State
        As of `tallies_since`.

    Returns
    -------
    which, classes, counts : arrays of int
        `TEXTS` or `TOKENS`, the class, and how many.
    """
    if not state.layout.counted:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    many = state.classes
    texts = state.tallies[0, :many].astype(np.int64) - start.tallies[0, :many]
    more = np.stack([texts, state.tokens[:many] - start.tokens[:many]])
    which, classes = np.nonzero(more)
    return which, classes, more[which, classes]


def curve_since(start: State, state: State) -> Array:
    """What a model adds to the sums that the curve and the errors follow from.

    Parameters
    ----------
    start, state : State
        As of `tallies_since`.

    Returns
    -------
    array of shape (7,)
        Two numbers of errors, then the precision (three) and precision × place (two) of a curve
        that has moved; of another, zeros.
    """
    errors = state.errors - start.errors
    if (state.curve == start.curve).all():
        return np.array([*errors, *np.zeros(5)])
    return np.array([*errors, *calibrator_sums(state.curve)])


def add_tallies(state: State, start: State, some: Iterator[Counted], totals: Counted) -> None:
    """Let a merged state have the counts of its start and those that were added.

    Parameters
    ----------
    state : State
        The merged state, whose counts are none so far.
    start : State
        What all models started from; its features come first.
    some : iterator of tuples of arrays
        Features of the merged state, classes, and how many texts were added; in one tuple, a
        feature and a class come together once.
    totals : tuple of arrays
        What `totals_since` gives.
    """
    if not state.layout.counted:
        return
    width, have = state.tokens.size, min(start.features, state.features) + 1
    state.tallies[:have] = start.tallies[:have, :width]
    state.tokens[:] = start.tokens[:width]
    which, classes, more = totals
    texts = which == TEXTS
    some_totals = (np.full(texts.sum(), -1), classes[texts], more[texts])
    np.add.at(state.tokens, classes[~texts], more[~texts])
    for numbers, places, counts in (some_totals, *some):
        where = numbers + 1, places
        fewest = -state.tallies[where]  # no count falls below 0
        add_counts(state.tallies, where, np.maximum(counts, fewest))


def set_curve(state: State, start: State, sums: Array) -> None:
    """Let a merged state have the errors of all, and the curve that those which moved agree on.

    Parameters
    ----------
    state : State
        The merged state.
    start : State
        What all models started from.
    sums : array of shape (7,)
        The sums of what `curve_since` gives.
    """
    state.errors, state.curve = start.errors + sums[:2], start.curve.copy()
    if sums[2]:
        state.curve = calibrator_of(sums[2:])
