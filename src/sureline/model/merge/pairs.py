"""One sparse state from several, by the formulas of `algebra`.

Every pair of feature and class that any of the states has becomes a feature of a state with one
column; these are merged as all states are. What a state has no pair for is as in a new one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.class_counts import MOST
from sureline.kernels.sparse_classes import COMMON
from sureline.model.learner import Learner
from sureline.model.merge.algebra import How, Indices
from sureline.model.merge.calibration import merge_calibration
from sureline.model.merge.states import merge_states
from sureline.model.sparse_state import SparseState, fresh_sparse_state
from sureline.model.state import State, table_rows


def merge_pairs(
    learner: Learner,
    states: Sequence[SparseState],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
    features: int,
    how: How,
    limit_gb: float,
) -> SparseState:
    """One sparse state from several, which are not modified.

    `columns` and `rows` are those of `merge_states`.
    """
    used = 1 + max(int(each.max()) for each in columns)
    merged = fresh_sparse_state(learner.layout, features, used, limit_gb)
    totals = np.zeros(features + 1, np.int64)
    tallies = np.zeros(merged.table.shape[2], np.int64)
    common = np.zeros(features + 1, np.bool_)
    keys, values, counts = [], [], []
    for state, places, numbers in zip(states, columns, rows, strict=True):
        where = np.arange(state.features + 1) if numbers is None else table_rows(numbers)
        row, place = state.expanded()
        inside = row < where.size
        row, place = row[inside], place[inside]
        first = state.table[0, :, : places.size].T
        pairs = state.pairs
        of_class = places[pairs.classes[place]]
        keys.append(np.concatenate([places, where[row] * used + of_class]).astype(np.int64))
        values.append(np.concatenate([first, pairs.values[place]]))
        if learner.layout.counted:
            totals[where] += pairs.totals[: where.size, 0]
            tallies[places] += state.class_counts[0, : places.size]
            merged.class_tokens[places] += state.class_tokens[: places.size]
        if pairs.counts.size:
            counts.append(np.concatenate([np.zeros(places.size, np.int32), pairs.counts[place]]))
        common[where] |= pairs.starts[: where.size] == COMMON
    every = np.unique(np.concatenate(keys))
    flat = [
        _one_column(learner, state, np.searchsorted(every, key), value, every.size)
        for state, key, value in zip(states, keys, values, strict=True)
    ]
    one: list[NDArray[np.intp]] = [np.zeros(1, np.intp)] * len(states)
    result = merge_states(learner, flat, one, [None] * len(states), every.size, how)
    table, added = result.table[1:, :, 0], np.zeros(every.size, np.int64)
    for key, count in zip(keys, counts, strict=False):
        added[np.searchsorted(every, key)] += count
    row, of_class = every // used, every % used
    merged.table[0][:, of_class[row == 0]] = table[row == 0].T
    kept = (row > 0) & ~common[row]
    merged.pairs.starts[common] = COMMON
    merged.pairs.totals[:, 0] = np.minimum(totals, MOST)
    merged.class_counts[0] = np.minimum(tallies, MOST)[: merged.class_counts.shape[1]]
    merged.fill(row[kept], of_class[kept], table[kept], np.minimum(added[kept], MOST))
    merged.clock, merged.counts, merged.merged = result.clock, result.counts, result.merged
    merge_calibration(merged, states, columns)
    return merged


def _one_column(
    learner: Learner, state: State, places: NDArray[np.intp], values: NDArray[np.generic], size: int
) -> State:
    """A state with one column whose features, at these places of `size`, have such values."""
    made = learner.layout.allocate(size, 1)
    made.table[1 + places, :, 0] = values
    made.clock, made.counts, made.merged = state.clock, state.counts, state.merged
    return made
