"""Learning many classes: an example's class against its strongest rivals.

Every class has a column in the table. One walk over the row gives all scores; the update then
touches the columns of the classes involved and no others. The steps against several rivals are
taken one after the other, averaged, or found together.
"""

from __future__ import annotations

import math
from typing import Any

from numba.extending import register_jitable

from sureline.kernels.class_columns import (
    adjust,
    adjust_two,
    margin_of,
    rank_rivals,
    score_classes,
    variance_of,
    variance_of_two,
)
from sureline.kernels.compiling import (
    EXACT,
    JOINT,
    STEP,
    Kernel,
    array,
    f8,
    flag,
    given,
    i8,
    labelled,
)
from sureline.kernels.diagonal import HUGE, TINY, dropped, shared
from sureline.kernels.indexing import next_row, row_at
from sureline.kernels.noise import follow_error
from sureline.kernels.numba_internals import Callee

SPHERICAL, KL, L2, BEST = 0, 1, 2, 3  # what is kept of the covariance, and how
SEQUENTIAL, PARALLEL, TOGETHER, ONE_VS_REST = 0, 1, 2, 3


@register_jitable
def sum_others(w: Any, others: Any) -> None:
    """Write, for every entry, the sum of all others; nothing is subtracted, so nothing cancels."""
    after = 0.0
    for p in range(w.size - 1, -1, -1):
        others[p] = after
        after += w[p]
    before = 0.0
    for p in range(w.size):
        others[p] += before
        before += w[p]


@register_jitable
def grow(w: Any, v: float, E: float, projection: int, others: Any) -> None:
    """Turn shares of v into the growth of each entry's precision when the example brings E."""
    if projection == L2:
        sum_others(w, others)
        for p in range(w.size):
            w[p] = 1.0 / max(dropped(others[p] / v, E), 1.0 / HUGE)
    else:
        inverse = 1.0 / v
        for p in range(w.size):
            w[p] = 1.0 + E * (w[p] * inverse)


@register_jitable
def solve_pair(
    m: float,
    v: float,
    w: Any,
    step: Any,
    exact: Any,
    a: float,
    b: float,
    c: float,
    share: float,
    projection: int,
    others: Any,
) -> float:
    """The step along Σx against one rival; `w`, the shares of v, becomes growth.

    `share` is how far to go on the way to the solution, where that is not left to `adjust`.
    """
    t = E = 0.0
    if v > TINY:
        t, E = step(m, v, c, a, b)
    if t == 0.0 and E == 0.0:
        w[:] = 1.0
        return 0.0
    E = min(E, HUGE)
    if projection == BEST:
        t = exact(m, v, w, t, E, c, a, b)
    else:
        if share != 1.0:
            t, E = shared(t, E, share)
        if projection != SPHERICAL:
            grow(w, v, E, projection, others)
    return t / v


@register_jitable
def grow_together(
    v_y: float, v_r: Any, w_y: Any, w_r: Any, gain: Any, projection: int, others: Any
) -> None:
    """Turn shares into growth when every rival's constraint brings its gain of precision."""
    if projection != L2:
        total = gain.sum()
        for p in range(w_y.size):
            w_y[p] = 1.0 + total * w_y[p]
            for q in range(gain.size):
                w_r[q, p] = 1.0 + gain[q] * w_r[q, p]
        return
    # The diagonal of the joint covariance; all its inverse needs is the sum of what the
    # constraints tell of y's score, each of them weakened by the variance of its rival's.
    H = 0.0
    for q in range(gain.size):
        H += gain[q] / (1.0 + gain[q] * v_r[q])
    sum_others(w_y, others)
    for p in range(w_y.size):
        w_y[p] = (1.0 + v_y * H) / (1.0 + others[p] * H)
    for q in range(gain.size):
        h = gain[q] / (1.0 + gain[q] * v_r[q])
        told = v_y * h / (1.0 + v_y * H)
        least = 1.0 / (1.0 + gain[q] * v_r[q]) + v_r[q] * h * told
        w = w_r[q]
        sum_others(w, others)
        for p in range(w.size):
            w[p] = 1.0 / max(least + others[p] * h * (1.0 - told), 1.0 / HUGE)


def learn_rivals(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    rank: Any,
    known: int,
    competitors: int,
    constant: float,
    step: Any,
    exact: Any,
    joint: Any,
    a: float,
    b: float,
    share: bool,
    scheme: int,
    projection: int,
    average: bool,
    floor: float,
    clock: int,
    others: Any,
    w_y: Any,
    w_r: Any,
    room: Any,
    rivals_room: Any,
    errors: Any,
    counts: Any,
) -> int:
    """Learn rows in `order`; return the row whose numbers overflowed, or -1.

    `codes` are columns; one beyond the `known` ones brings a new class. `rank` orders columns as
    their labels are sorted. `w_y`, and `w_r` for every competitor, have two places for each entry
    of the longest row; `others` is as long. `room` has six places for each column, `rivals_room`
    one.
    """
    scores_room, left, v_r, m, pull, gain = room[0], room[1], room[2], room[3], room[4], room[5]
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
        scores = scores_room[:known]
        score_classes(row, table, scores, ahead, end)
        rivals = rivals_room[: min(competitors, known - 1)]
        rank_rivals(scores, rank, y, rivals, left)
        k, length = rivals.size, stop - start + 1
        for q in range(k):
            m[q] = scores[y] - scores[rivals[q]]
        if new or m[0] <= 0.0:
            counts[1] += 1
        if errors.size:
            a = follow_error(errors, m[0])
        changed = False
        checked = 0.0
        if scheme == SEQUENTIAL:
            w = w_r[0, : 2 * length]
            for q in range(k):
                r = rivals[q]
                if changed:
                    m[q] = margin_of(row, table, y, r)
                v = variance_of_two(row, table, y, r, spherical, w)
                if not math.isfinite(m[q] + v):
                    return int(i)
                pull[q] = solve_pair(m[q], v, w, step, exact, a, b, seen, blend, projection, others)
                if pull[q] != 0.0:
                    changed = True
                    c = blend if projection == BEST else 1.0
                    checked += adjust_two(
                        row, table, y, r, pull[q], w, c, spherical, average, floor, clock - 1
                    )
        else:
            v_y = variance_of(row, table, y, spherical, w_y)
            for q in range(k):
                v_r[q] = variance_of(row, table, rivals[q], spherical, w_r[q])
                if not math.isfinite(m[q] + v_y + v_r[q]):
                    return int(i)
            if scheme == PARALLEL:
                for q in range(k):
                    w, v = w_r[q, : 2 * length], v_y + v_r[q]
                    for p in range(length):
                        w[length + p], w[p] = w[p], w_y[p]
                    pull[q] = solve_pair(
                        m[q], v, w, step, exact, a, b, seen, 1.0, projection, others
                    )
                    changed = changed or pull[q] != 0.0
                for q in range(k):
                    pull[q] /= k
                for p in range(length if changed else 0):
                    w_y[p] = 0.0
                    for q in range(k):
                        w_y[p] += w_r[q, p] / k
                        w_r[q, p] = 1.0 + (w_r[q, length + p] - 1.0) / k
            else:
                changed = v_y + v_r[0] > TINY and joint(
                    m[:k],
                    v_y,
                    v_r[:k],
                    w_y[:length],
                    w_r[:k, :length],
                    seen,
                    a,
                    b,
                    pull[:k],
                    gain[:k],
                )
                if changed and not spherical:
                    for q in range(k):
                        gain[q] = min(gain[q], HUGE)
                    grow_together(
                        v_y, v_r, w_y[:length], w_r[:k, :length], gain[:k], projection, others
                    )
            if changed:
                checked += adjust(
                    row, table, y, pull[:k].sum(), w_y, blend, spherical, average, floor, clock - 1
                )
                for q in range(k):
                    checked += adjust(
                        row,
                        table,
                        rivals[q],
                        -pull[q],
                        w_r[q],
                        blend,
                        spherical,
                        average,
                        floor,
                        clock - 1,
                    )
        if not math.isfinite(checked):
            return int(i)
        if changed:
            counts[0] += 1
    return -1


LEARN_RIVALS = Kernel(
    learn_rivals,
    lambda real: i8(
        *labelled(real),
        array(real, 3),
        given(i8),
        i8,
        i8,
        f8,
        Callee(STEP),
        Callee(EXACT),
        Callee(JOINT),
        f8,
        f8,
        flag,
        i8,
        i8,
        flag,
        f8,
        i8,
        array(f8),
        array(f8),
        array(f8, 2),
        array(f8, 2),
        array(i8),
        array(f8),
        array(i8),
    ),
)


def no_exact(m: float, v: float, w: Any, t: float, E: float, c: float, a: float, b: float) -> float:
    """What stands in for a rule's exact diagonal step where it has none."""
    return t


def no_joint(
    m: Any,
    v_y: float,
    v_r: Any,
    w_y: Any,
    w_r: Any,
    c: float,
    a: float,
    b: float,
    alpha: Any,
    gain: Any,
) -> bool:
    """What stands in for a rule's joint step where it has none."""
    return False
