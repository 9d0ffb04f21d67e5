"""Learning many classes, each as a two-class problem of its own: this class, or any other.

All classes are learned from one walk over the row. Classes do not touch each other's columns; they
meet when a row is judged before it is learned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import register_jitable

from sureline.kernels.calibration import follow
from sureline.kernels.class_columns import adjust, score_classes, variance_of
from sureline.kernels.compiling import (
    EXACT,
    STEP,
    Kernel,
    array,
    f8,
    flag,
    given,
    i8,
    labelled,
    own_score,
    own_update,
)
from sureline.kernels.custom_rule import sum_row
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.full import at_least, rescale, subtract, times_row
from sureline.kernels.indexing import entry_at, next_row, row_at
from sureline.kernels.noise import follow_error
from sureline.kernels.numba_internals import Callee
from sureline.kernels.rivals import KL, SPHERICAL, solve_pair

FEW = 4  # where fewer than one class in so many moves, only those are looked at


@register_jitable
def beaten(scores: Any, y: int) -> bool:
    """Whether any class scores as much as y."""
    best = -np.inf
    for column in range(scores.size):
        if column != y:
            best = max(best, scores[column])
    return bool(best >= scores[y])


@register_jitable
def spread_classes(row: Any, table: Any, spreads: Any) -> None:
    """The variance of every class's score, from one walk over the row."""
    start, stop, indices, data, constant = row
    for column in range(spreads.size):
        spreads[column] = constant * np.float64(table[0, 1, column])
    for k in range(start, stop):
        variances, x = table[entry_at(indices, k), 1], np.float64(data[k])
        for column in range(spreads.size):
            spreads[column] += variances[column] * x * x


@register_jitable
def move_classes(
    row: Any, table: Any, pull: Any, gain: Any, inverse: Any, moving: Any, floor: float
) -> float:
    """Move all classes' columns, or those that are `moving` if they are few; sum up the means.

    A class goes `pull` along Σx times its `inverse` of v, and gains its precision (KL).
    """
    start, stop, indices, data, constant = row
    checked = 0.0
    few = FEW * moving.size < pull.size
    for k in range(start - 1, stop):
        j, x = np.int64(0), np.float64(constant)
        if k >= start:
            j, x = entry_at(indices, k), np.float64(data[k])
        means, variances = table[j, 0], table[j, 1]
        if few:
            for column in moving:
                s = np.float64(variances[column])
                part = s * x * inverse[column]
                means[column] += pull[column] * part
                variances[column] = max(s / (1.0 + gain[column] * (part * x)), floor)
                checked += means[column]
        else:
            for column in range(pull.size):
                s = np.float64(variances[column])
                part = s * x * inverse[column]
                means[column] += pull[column] * part
                variances[column] = max(s / (1.0 + gain[column] * (part * x)), floor)
                checked += means[column]
    return checked


def learn_one_vs_rest(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    known: int,
    constant: float,
    step: Any,
    exact: Any,
    a: float,
    b: float,
    share: bool,
    projection: int,
    average: bool,
    floor: float,
    clock: int,
    others: Any,
    w: Any,
    room: Any,
    moving: Any,
    errors: Any,
    counts: Any,
) -> int:
    """Learn rows in `order`; return the row whose numbers overflowed, or -1.

    `codes` are columns; one beyond the `known` ones brings a new class. `others` and `w` have a
    place for each entry of the longest row, `room` has five for each column and `moving` one.
    """
    scores_room, spreads_room, pull, gain, inverse = room[0], room[1], room[2], room[3], room[4]
    spherical = projection == SPHERICAL
    for at in range(order.size):
        i = order[at]
        ahead, end = next_row(at, order, indptr)
        start, stop = row_at(indptr, i)
        row = start, stop, indices, data, constant
        y, seen, blend = codes[i], weight[i], 1.0
        if share:
            seen, blend = 1.0, weight[i]
        new = y >= known
        known = max(known, y + 1)
        clock += 1
        if known < 2:
            continue
        scores, length = scores_room[:known], stop - start + 1
        score_classes(row, table, scores, ahead, end)
        if new or beaten(scores, y):
            counts[1] += 1
        if errors.size:
            a = follow_error(errors, scores[y])
        moved = 0
        checked = 0.0
        if projection == KL:
            spreads = spreads_room[:known]
            spread_classes(row, table, spreads)
            for column in range(known):
                sign = 1.0 if column == y else -1.0
                m, v = sign * scores[column], spreads[column]
                if not math.isfinite(m + v):
                    return int(i)
                pull[column] = gain[column] = inverse[column] = 0.0
                if v > TINY:
                    t, E = step(m, v, seen, a, b)
                    if t != 0.0 or E != 0.0:
                        E = min(E, HUGE)
                        if blend != 1.0:
                            t, E = shared(t, E, blend)
                        pull[column], gain[column], inverse[column] = sign * t, E, 1.0 / v
                        moving[moved] = column
                        moved += 1
            if moved:
                checked = move_classes(
                    row, table, pull[:known], gain[:known], inverse[:known], moving[:moved], floor
                )
        else:
            for column in range(known):
                sign = 1.0 if column == y else -1.0
                m = sign * scores[column]
                v = variance_of(row, table, column, spherical, w)
                if not math.isfinite(m + v):
                    return int(i)
                step_ = solve_pair(
                    m, v, w[:length], step, exact, a, b, seen, blend, projection, others
                )
                if step_ != 0.0:
                    moved += 1
                    c = blend if projection > KL + 1 else 1.0
                    checked += adjust(
                        row, table, column, sign * step_, w, c, spherical, average, floor, clock - 1
                    )
        if not math.isfinite(checked):
            return int(i)
        counts[0] += int(moved > 0)
    return -1


def learn_own_one_vs_rest(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    stamps: Any,
    known: int,
    clock: int,
    constant: float,
    p: Any,
    score: Any,
    update: Any,
    counts: Any,
) -> int:
    """The same for a rule with a kernel of its own."""
    scores = np.empty(table.shape[2])
    for i in order:
        start, stop = row_at(indptr, i)
        y = codes[i]
        new = y >= known
        known = max(known, y + 1)
        if known > 1:
            for column in range(known):
                scores[column] = score(
                    start, stop, indices, data, table, column, stamps, clock, constant, p
                )
                if not math.isfinite(scores[column]):
                    return int(i)
            if new or beaten(scores[:known], y):
                counts[1] += 1
            if stop > start or constant > 0.0:
                changed = False
                for column in range(known):
                    sign = 1.0 if column == y else -1.0
                    if update(
                        *(start, stop, indices, data, table, column, stamps, clock, constant, p),
                        *(sign * scores[column], sign, weight[i]),
                    ):
                        changed = True
                        if not math.isfinite(sum_row(start, stop, indices, table, column)):
                            return int(i)
                counts[0] += int(changed)
        clock += 1
    return -1


def learn_full_one_vs_rest(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    covariance: Any,
    known: int,
    constant: float,
    step: Any,
    a: float,
    b: float,
    share: bool,
    floor: float,
    rescale_below: float,
    pulls: Any,
    root: Any,
    curve: Any,
    errors: Any,
    counts: Any,
) -> int:
    """The same with a full covariance a class."""
    size, columns = table.shape[0], table.shape[2]
    scores_room, told = np.empty(columns), np.empty((3, columns))
    for i in order:
        start, stop = row_at(indptr, i)
        row = start, stop, indices, data, constant
        y, c = codes[i], weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            continue
        scores = scores_room[:known]
        score_classes(row, table, scores, 0, 0)
        if new or beaten(scores, y):
            counts[1] += 1
        if curve.size:
            follow(scores, y, curve, told)
        if errors.size:
            a = follow_error(errors, scores[y])
        changed, trace = False, np.inf
        for column in range(known):
            sign = 1.0 if column == y else -1.0
            m = sign * scores[column]
            v = times_row(covariance[column], start, stop, indices, data, constant, pulls[0])
            if not math.isfinite(m + v):
                return int(i)
            v = at_least(v, pulls[0], covariance[column])
            if v <= TINY:
                continue
            t, E = step(m, v, 1.0 if share else c, a, b)
            if t == 0.0 and E == 0.0:
                continue
            E = min(E, HUGE)
            if share and c != 1.0:
                t, E = shared(t, E, c)
            changed = True
            checked = 0.0
            for j in range(size):
                table[j, 0, column] += sign * t * (pulls[0, j] / v)
                checked += table[j, 0, column]
            if not math.isfinite(checked):
                return int(i)
            trace = min(trace, subtract(covariance[column], pulls[0], E, v, floor, root))
        if trace < rescale_below * size:
            rescale(table[:, 0, :known], covariance[:known], rescale_below)
        counts[0] += int(changed)
    return -1


LEARN_ONE_VS_REST = Kernel(
    learn_one_vs_rest,
    lambda real: i8(
        *labelled(real),
        array(real, 3),
        i8,
        f8,
        Callee(STEP),
        Callee(EXACT),
        f8,
        f8,
        flag,
        i8,
        flag,
        f8,
        i8,
        array(f8),
        array(f8),
        array(f8, 2),
        array(i8),
        array(f8),
        array(i8),
    ),
)
LEARN_OWN_ONE_VS_REST = Kernel(
    learn_own_one_vs_rest,
    lambda real: i8(
        *labelled(real),
        array(real, 3),
        array(i8, 2),
        i8,
        i8,
        f8,
        given(f8),
        Callee(own_score(real)),
        Callee(own_update(real)),
        array(i8),
    ),
    allocates=True,
)
LEARN_FULL_ONE_VS_REST = Kernel(
    learn_full_one_vs_rest,
    lambda real: i8(
        *labelled(real),
        array(real, 3),
        array(real, 3),
        i8,
        f8,
        Callee(STEP),
        f8,
        f8,
        flag,
        f8,
        f8,
        array(f8, 2),
        array(real),
        array(f8),
        array(f8),
        array(i8),
    ),
    allocates=True,
)
