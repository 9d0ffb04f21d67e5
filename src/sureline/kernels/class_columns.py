"""What loops over many classes do with one row: score, rank, measure and move columns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Row, array, f8, i8
from sureline.kernels.diagonal import HUGE
from sureline.kernels.positions import entry_at
from sureline.kernels.prefetch import prefetch_columns, prefetch_row

U = np.uint64


@register_jitable
def entry(row: Row, k: int) -> tuple[Any, Any]:
    """The table's row and the value of a row's k-th entry; before the first is the constant one."""
    if k < row.start:
        return np.int64(0), np.float64(row.constant)
    return entry_at(row.indices, k), np.float64(row.data[k])


@register_jitable
def score_classes(row: Row, table: Any, scores: Any, ahead: int, end: int) -> None:
    """The score of every class, from one pass over the row.

    Meanwhile the entries of the row from `ahead` to `end`, the next one, are prefetched one at
    a time, as many at once would keep the sums waiting.
    """
    start, stop, indices, data, constant = row
    for column in range(scores.size):
        scores[U(column)] = constant * np.float64(table[0, 0, column])
    for k in range(start, stop):
        means, x = table[entry_at(indices, k), 0], np.float64(data[k])
        for column in range(scores.size):
            scores[U(column)] += means[U(column)] * x
        if ahead < end:
            prefetch_columns(table, entry_at(indices, ahead))
            ahead += 1
    prefetch_row(ahead, end, indices, table)


@register_jitable
def rank_rivals(scores: Any, rank: Any, y: int, rivals: Any, left: Any) -> None:
    """Write the highest-scoring columns other than y, equal ones in the order of `rank`.

    The buffer `left` takes the scores of those not yet taken.
    """
    for column in range(scores.size):
        left[column] = scores[column]
    left[y] = -np.inf
    for place in range(rivals.size):
        best = 1 if y == 0 else 0
        for column in range(scores.size):
            if left[column] > left[best] or (
                left[column] == left[best] and rank[column] < rank[best] and column != y
            ):
                best = column
        rivals[place] = best
        left[best] = -np.inf


@register_jitable
def margin_of(row: Row, table: Any, y: int, r: int) -> float:
    """The margin of y over r as the table has it now."""
    m = 0.0
    for k in range(row.start - 1, row.stop):
        j, x = entry(row, k)
        m += (np.float64(table[j, 0, y]) - np.float64(table[j, 0, r])) * x
    return m


@register_jitable
def variance_of(row: Row, table: Any, column: int, spherical: bool, w: Any) -> float:
    """The variance of a class's score; `w` gets each entry's share in it."""
    v = 0.0
    for k in range(row.start - 1, row.stop):
        j, x = entry(row, k)
        s = 1.0 if spherical else np.float64(table[j, 1, column])
        w[k - row.start + 1] = s * x * x
        v += w[k - row.start + 1]
    return v


@register_jitable
def variance_of_two(row: Row, table: Any, y: int, r: int, spherical: bool, w: Any) -> float:
    """The variance of the difference of two classes' scores, each as `variance_of` has it.

    One pass for both, as they lie close together. The second's shares follow the first's.
    """
    start, stop, indices, data, constant = row
    length = stop - start + 1
    s = np.float64(1.0) if spherical else np.float64(table[0, 1, y])
    q = np.float64(1.0) if spherical else np.float64(table[0, 1, r])
    v, u = s * constant * constant, q * constant * constant
    w[0], w[length] = v, u
    for p in range(1, length):
        j, x = entry_at(indices, start + p - 1), np.float64(data[U(start + p - 1)])
        if not spherical:
            s, q = np.float64(table[j, 1, y]), np.float64(table[j, 1, r])
        w[U(p)], w[U(length + p)] = s * x * x, q * x * x
        v += w[U(p)]
        u += w[U(length + p)]
    return float(v + u)


class Adjustment(NamedTuple):
    """How columns are adjusted: by which share c of the way, and what is kept of the covariance."""

    c: float
    spherical: bool
    average: bool
    floor: float
    clock: int


@register_jitable
def adjust_entry(
    table: Any, j: int, x: float, column: int, pull: float, growth: float, how: Adjustment
) -> float:
    """Move one entry of a column as `adjust` does; return its mean, or what is not finite."""
    total = 0.0
    if how.spherical:
        change = pull * x
        if how.average:
            table[j, 1, column] += how.clock * change
            total = float(table[j, 1, column])
    else:
        s, g = np.float64(table[j, 1, column]), min(growth, HUGE)
        reached = g
        change = pull * (s * x)
        if how.c != 1.0:
            reached = 1.0 + how.c * (g - 1.0)
            change *= how.c * g / reached
        if x != 0.0:
            table[j, 1, column] = max(s / reached, how.floor)
    table[j, 0, column] += change
    return float(table[j, 0, column]) + (0.0 if math.isfinite(total) else total)


@register_jitable
def adjust(row: Row, table: Any, column: int, pull: float, growth: Any, how: Adjustment) -> float:
    """Move a column by `pull` Σx and divide its variances by `growth`; return the means' sum.

    Where c is below 1, `pull` and `growth` lead to the whole solution, and the column goes that
    share of the way from the old Gaussian to the new one.
    """
    checked = 0.0
    for k in range(row.start - 1, row.stop):
        j, x = entry(row, k)
        checked += adjust_entry(table, j, x, column, pull, growth[k - row.start + 1], how)
    return checked


@register_jitable
def adjust_two(
    row: Row, table: Any, y: int, r: int, pull: float, growth: Any, how: Adjustment
) -> float:
    """Move column y as `adjust` does and column r the other way, in one pass over the row.

    The second's growth follows the first's.
    """
    length, checked, other = row.stop - row.start + 1, 0.0, 0.0
    for p in range(length):
        j, x = entry(row, row.start - 1 + p)
        checked += adjust_entry(table, j, x, y, pull, growth[U(p)], how)
        other += adjust_entry(table, j, x, r, -pull, growth[U(length + p)], how)
    return checked + other


class ClassBuffers(NamedTuple):
    """Memory for one row and all classes, which loops over many classes work in.

    `others` and `shares` have two elements for each entry of the longest row, the constant one
    included; so has every row of `rival_shares`, one for each competitor. `numbers` has six and
    `columns` one for each class.
    """

    others: Any
    shares: Any
    rival_shares: Any
    numbers: Any
    columns: Any


def class_buffers(longest: int, columns: int, competitors: int) -> ClassBuffers:
    """Buffers for rows of at most `longest` nonzeros."""
    width = 2 * (longest + 1)
    return ClassBuffers(
        np.empty(width),
        np.empty(width),
        np.empty((competitors, width)),
        np.empty((6, columns)),
        np.empty(columns, np.int64),
    )


CLASS_BUFFERS = types.NamedTuple(
    [array(f8), array(f8), array(f8, 2), array(f8, 2), array(i8)], ClassBuffers
)
