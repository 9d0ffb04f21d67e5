"""Which rows of a state a file holds: those that differ from the usual one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sureline.model.serialize.fields import GROWTH, Array
from sureline.model.state import Layout, State

# A file without its untouched rows may expand to this when it is opened, whatever its size.
ALLOWANCE = 256 * 2**20
ROWS_AT_ONCE = 2**20  # numbers compared at a time
SAMPLE = 64  # rows in which the most frequent one is looked for


def usual_row(state: State) -> tuple[Array, Array]:
    """The row that is the commonest among some, and when its weights were last changed."""
    used, layout = state.used, state.layout
    some = np.linspace(1, state.features, min(SAMPLE, state.features)).astype(np.intp)
    seen: dict[bytes, list[int]] = {}
    for row in some:
        values, changed = _row(state, row)
        seen.setdefault(values.tobytes() + changed.tobytes(), []).append(row)
    if seen:
        return _row(state, max(seen.values(), key=len)[0])
    initial = np.asarray(layout.initial, layout.dtype)
    return np.repeat(initial[:, np.newaxis], used, axis=1), np.zeros(used, np.int64)


def _row(state: State, row: int) -> tuple[Array, Array]:
    """A row's slots, its variances too if the covariance is full, and when it was last changed."""
    used = state.used
    values = state.table[row, :, :used]
    if state.layout.covariance == "full":
        values = np.stack([values[0], state.covariance[:used, row, row]])
    changed = (
        state.last_changed[row, :used] if state.layout.last_changed else np.zeros(used, np.int64)
    )
    return np.ascontiguousarray(values), changed


def differing_rows(state: State, rest: Array, rest_changed: Array) -> NDArray[np.bool_]:
    """Which rows differ, in any bit, from the row `rest`; row 0 always counts."""
    layout, used = state.layout, state.used
    bits = np.dtype(f"u{state.table.dtype.itemsize}")
    table, usual = state.table.view(bits), rest[: layout.slots].view(bits)
    differs = np.zeros(state.features + 1, bool)
    step = max(1, ROWS_AT_ONCE // usual.size)
    for start in range(0, differs.size, step):
        part = slice(start, start + step)
        differs[part] = (table[part, :, :used] != usual).any(axis=(1, 2))
        if layout.last_changed:
            differs[part] |= (state.last_changed[part, :used] != rest_changed).any(axis=1)
        if layout.counted:
            differs[part] |= (state.class_counts[part, : state.classes] != 0).any(axis=1)
    if layout.covariance == "full":
        for matrix, variance in zip(state.covariance[:used], rest[1], strict=True):
            _mark_differing(matrix, variance, differs)
    differs[0] = True
    return differs


def _mark_differing(matrix: Array, variance: float, differs: NDArray[np.bool_]) -> None:
    """Mark the rows and columns that have more than this variance on the diagonal."""
    bits = np.dtype(f"u{matrix.dtype.itemsize}")
    size = differs.size
    step = max(1, ROWS_AT_ONCE // size)
    for start in range(0, size, step):
        stop = min(size, start + step)
        usual = np.zeros((stop - start, size), matrix.dtype)
        usual[np.arange(stop - start), np.arange(start, stop)] = variance
        found = np.ascontiguousarray(matrix[start:stop]).view(bits) != usual.view(bits)
        differs[start:stop] |= found.any(axis=1)
        differs |= found.any(axis=0)


def may_grow(layout: Layout, stored: int, everything: int, used: int, expected: int | None) -> bool:
    """Whether a file with some rows of a state may have it expanded to all when it is opened."""
    allowed = max(ALLOWANCE, GROWTH * layout.size(stored, used))
    if expected is not None:
        allowed = max(allowed, layout.size(expected + 1, used))
    return layout.size(everything, used) <= allowed
