"""One state from several that were trained apart, by the formulas of `algebra`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sureline.model.learner import Learner
from sureline.model.merge.algebra import (
    CHUNK,
    How,
    Indices,
    WeightMerge,
    add_counts,
    check_how,
    choose_merge,
    count_priors,
    precision_of,
)
from sureline.model.merge.calibration import merge_calibration
from sureline.model.state import Layout, State, table_rows


def merge_states(
    learner: Learner,
    states: Sequence[State],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
    features: int,
    how: How,
    classes: Sequence[Indices] | None = None,
) -> State:
    """One state from several, all wide or none, which are not modified.

    For each state, `columns` has the column of the merged state that each of its columns goes to,
    or, if fewer are given, each of its first ones; `rows` the feature of the merged state that each
    of its features is, no two the same, or None if the numbers are the same; and `classes` the
    class of the merged state that each of its counted classes is, or None if that is its column.
    Class counts always add up, whatever `how` says.
    """
    check_how(learner, how, learner.rule.name)
    if len(states) == 1 and _same_places(states[0], columns[0], rows[0], features):
        return states[0].copy()
    wide = states[0].wide
    used = 1 + max((int(each.max()) for each in columns if each.size), default=0)
    merged = learner.layout.allocate(features, used)
    merged.wide, merged.used = wide, used
    merged.clock = sum(state.clock for state in states)
    merged.counts = np.sum([state.counts for state in states], axis=0, dtype=np.int64)
    merged.merged = sum(state.merged for state in states)
    if learner.layout.covariance == "full":
        _merge_full(learner.layout, merged, states, columns, rows, how)
    else:
        way = choose_merge(learner, merged, states, how)
        _merge_rows(way, merged, states, columns, rows)
    if classes is None:
        classes = columns if wide else [np.arange(2)] * len(states)
    merge_calibration(merged, states, classes)
    if learner.layout.counted:
        _add_counts(merged, states, classes, rows)
    return merged


def _add_counts(
    merged: State,
    states: Sequence[State],
    classes: Sequence[Indices],
    rows: Sequence[Indices | None],
) -> None:
    """Add up how many rows of each class have had each feature."""
    for state, places, numbers in zip(states, classes, rows, strict=True):
        have = min(state.features, merged.features) + 1
        where = np.arange(have) if numbers is None else table_rows(numbers)
        for k, place in enumerate(places):
            add_counts(merged.class_counts, (where, place), state.class_counts[: where.size, k])
            merged.class_tokens[place] += state.class_tokens[k]


def _same_places(state: State, columns: Indices, rows: Indices | None, features: int) -> bool:
    """Whether every feature and column of the one state keeps its place."""
    return (
        features == state.features
        and np.array_equal(columns, np.arange(state.used))
        and (rows is None or np.array_equal(rows, np.arange(features)))
    )


def _merge_rows(
    way: WeightMerge,
    merged: State,
    states: Sequence[State],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
) -> None:
    """Fill the merged table, some rows at a time, so that nothing larger is ever held."""
    size, _, used = merged.table.shape
    step = max(1, CHUNK // (len(way.initial) * used))
    initial = np.array(way.initial)[:, np.newaxis]
    placed = [_places(state, each, size, step) for state, each in zip(states, rows, strict=True)]
    every = np.arange(used)
    for start in range(0, size, step):
        stop = min(size, start + step)
        sums = np.zeros((stop - start, len(way.initial), used))
        absent = np.full((stop - start, 1, used), float(sum(way.shares)))
        for state, own, places, share in zip(states, columns, placed, way.shares, strict=True):
            here, there = next(places)
            if not own.size or not len(state.table[here, :0]):
                continue
            parts = way.gather_rows(state, here, own.size, start == 0)
            if np.array_equal(own, every):
                sums[there] += parts
                absent[there] -= share
            elif isinstance(there, slice):
                sums[there, :, own] += parts
                absent[there, :, own] -= share
            else:
                slots = np.arange(len(way.initial))
                sums[np.ix_(there, slots, own)] += parts
                absent[np.ix_(there, slots[:1], own)] -= share
        merged.table[start:stop] = way.finish(sums + absent * initial, start == 0)
    if merged.last_changed.size:
        merged.last_changed[merged.table[:, 0] != 0.0] = merged.clock


def _places(
    state: State, rows: Indices | None, size: int, step: int
) -> Iterator[tuple[slice | Indices, slice | Indices]]:
    """For every `step` rows of the merged table: which of the state's go there, and where."""
    have = state.features + 1
    if rows is None:
        for start in range(0, size, step):
            stop = max(start, min(start + step, have, size))
            yield slice(start, stop), slice(0, stop - start)
        return
    target = table_rows(rows)
    order = np.argsort(target, kind="stable")
    target = target[order]
    for start in range(0, size, step):
        begin, end = np.searchsorted(target, [start, start + step])
        yield order[begin:end], target[begin:end] - start


# -- full covariances --------------------------------------------------------------------------


def _merge_full(
    layout: Layout,
    merged: State,
    states: Sequence[State],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
    how: How,
) -> None:
    """Fill the means and covariances of the merged state, a column at a time."""
    size, variance = merged.features + 1, layout.initial[1]
    shares = [state.merged if how in ("kl", "mean") else 1 for state in states]
    total, priors = float(sum(shares)), count_priors(states, how)
    places = [
        np.arange(min(state.features + 1, size)) if each is None else table_rows(each)
        for state, each in zip(states, rows, strict=True)
    ]
    begun = variance if how == "mean" else 1.0 / variance
    for column in range(merged.used):
        matrix, vector, diagonal = (
            np.zeros((size, size)),
            np.zeros(size),
            np.full(size, float(sum(priors))),
        )
        for number, state in enumerate(states):
            for k in np.flatnonzero(columns[number] == column):
                own = places[number]
                spread = state.covariance[k, : own.size, : own.size].astype(np.float64)
                mean = state.table[: own.size, 0, k].astype(np.float64)
                if how != "mean":
                    spread = precision_of(spread, f"model {number + 1}")
                    mean = spread @ mean
                matrix[np.ix_(own, own)] += shares[number] * spread
                vector[own] += shares[number] * mean
                diagonal[own] -= priors[number]
        matrix[np.arange(size), np.arange(size)] += diagonal * begun
        if how == "mean":
            matrix, vector = matrix / total, vector / total
        else:
            if how == "product-prior":
                matrix[np.arange(size), np.arange(size)] -= (len(states) - 1) * begun
            matrix = precision_of(matrix, "the merged model")
            vector = matrix @ vector
            matrix *= total if how == "kl" else 1.0
        merged.table[:, 0, column], merged.covariance[column] = vector, matrix
