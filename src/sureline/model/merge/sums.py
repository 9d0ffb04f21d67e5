"""Merging as sums by feature: what each model adds to the one that all started from.

Every way to merge sums something over models: precisions and precision × mean, or plain weights
and variances. Models that were trained from one common start differ from it in the features that
they have met, and only there do they add anything. So the sums can be taken by whatever can group
rows by feature and class, without ever holding two models at once.

With a start that has learned nothing the result is that of `merge_states`. With another it is what
follows from it by counting the start once in ``product-prior``, and as every model's in the rest.

`origin` has for each feature of a model which feature of the start it is, or -1 if it is new; it is
None if the start's features come first, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sureline.model.learner import Learner
from sureline.model.merge.algebra import (
    CHUNK,
    Floats,
    How,
    Indices,
    WeightMerge,
    add_counts,
    check_how,
    choose_merge,
)
from sureline.model.state import State

Counts = tuple[Indices, Indices, NDArray[np.int64]]  # features, classes and their counts
ROWS, TOKENS = range(2)  # the totals of a class


def name_sums(learner: Learner, how: How) -> tuple[str, ...]:
    """What the sums of one weight are called, in the order in which they come."""
    if learner.rule.kernel is None and learner.layout.covariance != "identity":
        return ("mean", "variance") if how == "mean" else ("precision_mean", "precision")
    way = _way(learner, how, 1, 0)
    return tuple(f"sum_{k}" for k in range(len(way.initial)))


# -- what a model adds -------------------------------------------------------------------------


def added_by(
    learner: Learner,
    how: How,
    start: State,
    state: State,
    features: int,
    origin: Indices | None = None,
) -> Iterator[tuple[Indices, Floats]]:
    """What a model with so many features adds to the sums of the state that it started from.

    The start has the same classes in the same columns. Yields, some at a time, rows of the model's
    table that have changed, 0 for the constant feature, and what they add, of shape (n_rows,
    n_sums, n_columns): zeros where nothing has changed in a column.
    """
    way, used = _way(learner, how, 1, 0), state.used
    ours, theirs = replace(state, merged=1), replace(start, merged=1)
    begun = np.array(way.initial)[:, np.newaxis]
    step = max(1, CHUNK // (len(way.initial) * used))
    sources = _start_rows(start, features, origin)
    for first in range(0, features + 1, step):
        rows = np.arange(first, min(features + 1, first + step))
        source = sources[rows]
        values = way.gather_rows(ours, rows, used, first == 0)
        known = source >= 0
        values[~known] -= begun
        if known.any():
            values[known] -= _gather(way, theirs, source[known])
        changed = values.any(axis=(1, 2))
        if changed.any():
            yield rows[changed], values[changed]


def counts_since(
    start: State, state: State, features: int, origin: Indices | None = None
) -> Iterator[Counts]:
    """How many more rows of each class have had each feature, in chunks of features.

    Yields the features and classes where the counts differ, and by how much.
    """
    if not state.layout.counted:
        return
    classes = state.classes
    step = max(1, CHUNK // classes)
    sources = _start_rows(start, features, origin)
    for first in range(0, features, step):
        chunk = np.arange(first, min(features, first + step))
        source = sources[chunk + 1]
        more = state.class_counts[chunk + 1, :classes].astype(np.int64)
        known = source >= 0
        more[known] -= start.class_counts[source[known], :classes]
        changed, which = np.nonzero(more)
        yield chunk[changed], which, more[changed, which]


def totals_since(start: State, state: State) -> Counts:
    """How many more rows each class has had, `ROWS`, and how many features they had, `TOKENS`."""
    classes = state.classes if state.layout.counted else 0
    more = np.zeros((2, classes), np.int64)
    if classes:
        more[ROWS] = state.class_counts[0, :classes]
        more[ROWS] -= start.class_counts[0, :classes]
        more[TOKENS] = state.class_tokens[:classes] - start.class_tokens[:classes]
    totals, which = np.nonzero(more)
    return totals, which, more[totals, which]


# -- the merged state --------------------------------------------------------------------------


def state_from_sums(
    learner: Learner,
    how: How,
    start: State,
    features: int,
    models: int,
    entries: Iterable[tuple[Indices, Indices, Floats]],
    clock: int,
    counts: NDArray[np.int64],
) -> State:
    """The state that models merge into, from the start and the sums of what they added.

    The features of the start come first in it. `entries` has, some at a time, the row and the
    column of each weight that any model changed, and its sums, of shape (n, n_sums). Row 0 is the
    constant feature's; a weight comes once. `clock` and `counts` are what all models have added.

    The merged state stands for as many models as were trained; if the start had learned before,
    for as many as the start.
    """
    check_how(learner, how, learner.rule.name)
    layout, used = learner.layout, start.used
    merged = layout.allocate(features, used)
    merged.wide, merged.used = start.wide, used
    merged.merged = start.merged if start.counts[2] else max(1, models)
    merged.clock, merged.counts = start.clock + clock, start.counts + counts
    have = min(start.features, features) + 1
    merged.table[:have] = start.table[:have, :, :used]
    if not models:
        if layout.last_changed:
            merged.last_changed[:have] = start.last_changed[:have, :used]
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
            total[known] = _gather(way, theirs, rows[known])
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
    if merged.last_changed.size:
        merged.last_changed[merged.table[:, 0] != 0.0] = merged.clock
    return merged


def set_counts(merged: State, start: State, added: Iterable[Counts], totals: Counts) -> None:
    """Set the counts of a merged state to those of its start plus the sums of what models added.

    The features of the start come first in the merged state, which has no counts so far. Within a
    tuple of `added` no feature and class come twice.
    """
    if not merged.layout.counted:
        return
    width, have = merged.class_tokens.size, min(start.features, merged.features) + 1
    merged.class_counts[:have] = start.class_counts[:have, :width]
    merged.class_tokens[:] = start.class_tokens[:width]
    kinds, classes, more = totals
    rows = kinds == ROWS
    np.add.at(merged.class_tokens, classes[~rows], more[~rows])
    rows_of_classes = np.full(np.count_nonzero(rows), -1), classes[rows], more[rows]
    for features, which, counts in chain([rows_of_classes], added):
        where = features + 1, which
        add_counts(merged.class_counts, where, np.maximum(counts, -merged.class_counts[where]))


def _way(learner: Learner, how: How, models: int, clock: int) -> WeightMerge:
    """How so many models, each standing for itself, are merged."""
    single = learner.layout.allocate(0, 1)
    return choose_merge(learner, replace(single, clock=clock), [single] * models, how)


def _gather(way: WeightMerge, state: State, rows: Indices) -> Floats:
    """What some rows of a start add to the sums; row 0, if it is among them, comes first."""
    return way.gather_rows(state, rows, state.used, bool(rows.size and rows[0] == 0))


def _start_rows(start: State, features: int, origin: Indices | None) -> Indices:
    """For each row of a model's table, which row of the start's table it was, or -1."""
    if origin is None:
        origin = np.arange(features)
        origin[start.features :] = -1
    return np.concatenate([[0], np.where(origin >= 0, origin + 1, -1)])
