"""Merging as sums by feature: what each model adds to the one that all started from.

Every way to merge sums something over models: precisions and precision × mean, or plain weights
and variances. Models that were trained from one common start differ from it in the features that
they have met, and only there do they add anything. So the sums can be taken by whatever can group
rows by feature and class, without ever holding two models at once.

With a start that has learned nothing the result is that of `merge_states`. With another it is what
follows from it by counting the start once in ``product-prior``, and as every model's in the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.model.merge.algebra import (
    CHUNK,
    Floats,
    How,
    Indices,
    Learning,
    WeightMerge,
    check_how,
    choose_merge,
)
from sureline.model.state import State


def name_sums(learner: Learning, how: How) -> tuple[str, ...]:
    """What the sums of one weight are called, in the order in which they come.

    Parameters
    ----------
    learner : Learner
        What the models learn by.
    how : {"kl", "mean", "product", "product-prior"}
        How they are merged.

    Returns
    -------
    tuple of str
        For rules with variances ``("precision_mean", "precision")`` or, by plain averages,
        ``("mean", "variance")``; for others a name for each number that the rule keeps.
    """
    if learner.rule.kernel is None and learner.layout.covariance != "identity":
        return ("mean", "variance") if how == "mean" else ("precision_mean", "precision")
    way = _way(learner, how, 1, 0)
    return tuple(f"sum_{k}" for k in range(len(way.initial)))


def added_by(
    learner: Learning,
    how: How,
    start: State,
    state: State,
    features: int,
    origin: Indices | None = None,
) -> Iterator[tuple[Indices, Floats]]:
    """What a model adds to the sums of the state that it started from, some rows at a time.

    Parameters
    ----------
    learner : Learner
        What the model learns by.
    how : {"kl", "mean", "product", "product-prior"}
        How models will be merged.
    start : State
        What the model started from; it has the same classes in the same columns.
    state : State
        What it has become.
    features : int
        How many features of the model count; rows beyond them are spare capacity.
    origin : array of int, default=None
        For each feature of the model, which one of the start it is, or -1 if it is new. None if
        the start's features come first, in their order.

    Yields
    ------
    rows : array of int
        Rows of the model's table that have changed, 0 for the constant feature.
    values : array of shape (n_rows, n_sums, n_columns)
        What they add; where nothing has changed in a column, zeros.
    """
    way, used = _way(learner, how, 1, 0), state.used
    ours, theirs = replace(state, merged=1), replace(start, merged=1)
    begun = np.array(way.initial)[:, np.newaxis]
    step = max(1, CHUNK // (len(way.initial) * used))
    if origin is not None:
        places = np.concatenate([[0], np.where(origin >= 0, origin + 1, -1)])
    for first in range(0, features + 1, step):
        rows = np.arange(first, min(features + 1, first + step))
        if origin is None:
            source = np.where(rows <= start.features, rows, -1)
        else:
            source = places[rows]
        values = _gathered(way, ours, rows)
        known = source >= 0
        values[~known] -= begun
        if known.any():
            values[known] -= _gathered(way, theirs, source[known])
        changed = values.any(axis=(1, 2))
        if changed.any():
            yield rows[changed], values[changed]


def state_from_sums(
    learner: Learning,
    how: How,
    start: State,
    features: int,
    models: int,
    entries: Iterable[tuple[Indices, Indices, Floats]],
    clock: int,
    counts: NDArray[np.int64],
) -> State:
    """The state that models merge into, from the start and the sums of what they added.

    Parameters
    ----------
    learner : Learner
        What the models learned by.
    how : {"kl", "mean", "product", "product-prior"}
        What the merged state is; see `sureline.model.merge.states`.
    start : State
        What all models started from; its features come first in the merged state.
    features : int
        The number of features of the merged state.
    models : int
        How many models were trained.
    entries : iterable of tuples of arrays
        Some at a time, the row and the column of each weight that any model changed, and its sums,
        of shape (n, n_sums). Row 0 is the constant feature's. A weight comes once.
    clock : int
        How many examples all models learned, together.
    counts : int64 array of shape (3,)
        The updates, mistakes and examples of all models, together.

    Returns
    -------
    State
        The merged state. It stands for as many models as were trained; if the start had learned
        before, for as many as the start.
    """
    check_how(learner, how, learner.rule.name)
    layout, used = learner.layout, start.used
    merged = layout.allocate(features, used, math.inf, "")
    merged.wide, merged.used = start.wide, used
    merged.merged = start.merged if start.counts[2] else max(1, models)
    merged.clock, merged.counts = start.clock + clock, start.counts + counts
    have = min(start.features, features) + 1
    merged.table[:have] = start.table[:have, :, :used]
    if not models:
        if layout.stamps:
            merged.stamps[:have] = start.stamps[:have, :used]
        return merged
    once = how == "product-prior"
    way = _way(learner, how, 1 if once else models, merged.clock)
    shares = np.full((len(way.initial), 1), 1.0 if once else float(models))
    if learner.rule.kernel is not None:
        shares[-len(layout.initial) :] = 1.0  # a total counts what was there before once
    theirs, begun = replace(start, merged=1), np.array(way.initial)[:, np.newaxis]

    def before(rows: Indices) -> Floats:
        """What all models together add in some rows if they have learned nothing."""
        total = np.broadcast_to(begun, (rows.size, len(way.initial), used)).copy()
        known = rows < have
        if known.any():
            total[known] = _gathered(way, theirs, rows[known])
        return np.asarray(total * shares)

    step = max(1, CHUNK // (len(way.initial) * used))
    if learner.rule.kernel is not None or layout.covariance == "identity":
        # What such a rule keeps depends on the clock, also where nothing was learned.
        for first in range(0, features + 1, step):
            rows = np.arange(first, min(features + 1, first + step))
            merged.table[rows] = way.finish(before(rows), first == 0)
    for rows, columns, sums in entries:
        for first in range(0, rows.size, step):
            part = slice(first, first + step)
            chosen, place = np.unique(rows[part], return_inverse=True)
            total = before(chosen)
            total[place, :, columns[part]] += sums[part]
            finished = way.finish(total, bool(chosen[0] == 0))
            merged.table[rows[part], :, columns[part]] = finished[place, :, columns[part]]
    if merged.stamps.size:
        merged.stamps[merged.table[:, 0] != 0.0] = merged.clock
    return merged


def _way(learner: Learning, how: How, models: int, clock: int) -> WeightMerge:
    """How so many models, each standing for itself, are merged."""
    single = learner.layout.allocate(0, 1, math.inf, "")
    return choose_merge(learner, replace(single, clock=clock), [single] * models, how)


def _gathered(way: WeightMerge, state: State, rows: Indices) -> Floats:
    """What some rows of a state's table add to sums; row 0, if it is among them, comes first."""
    values = state.table[rows, :, : state.used].astype(np.float64)
    stamps: Any = np.zeros((1, state.used), np.int64)
    if state.stamps.size:
        stamps = state.stamps[rows, : state.used]
    return way.gather(values, stamps, bool(rows.size and rows[0] == 0), state)
