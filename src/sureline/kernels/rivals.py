"""Learning many classes: an example's class against its strongest rivals.

Every class has a column in the table. One pass over the row gives all scores; the update then
touches the columns of the classes involved and no others. The steps against several rivals are
taken one after the other, averaged, or found together.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba.extending import register_jitable

from sureline.kernels.arguments import (
    EXACT,
    JOINT,
    SCHEME,
    STEP_RULE,
    Examples,
    ModelArrays,
    Row,
    Scheme,
    StepRule,
    examples,
    i8,
    model_arrays,
)
from sureline.kernels.class_columns import (
    CLASS_BUFFERS,
    Adjustment,
    ClassBuffers,
    adjust,
    adjust_two,
    margin_of,
    rank_rivals,
    score_classes,
    variance_of,
    variance_of_two,
)
from sureline.kernels.compiling import Kernel
from sureline.kernels.diagonal import HUGE, TINY, dropped, shared
from sureline.kernels.noise import row_constant
from sureline.kernels.numba_internals import Callee
from sureline.kernels.positions import next_row, row_at

SPHERICAL, KL, L2, BEST = 0, 1, 2, 3  # what is kept of the covariance
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


class Pair(NamedTuple):
    """How one class is compared with a rival: the rule's functions and constants, and the weight.

    `c` is the example's weight as the rule sees it, and `share` how far to go on the way to the
    solution, where that is not left to `adjust`.
    """

    step: Any
    exact: Any
    a: float
    b: float
    c: float
    share: float
    projection: int


@register_jitable
def solve_pair(m: float, v: float, w: Any, pair: Pair, others: Any) -> float:
    """The step along Σx against one rival; `w`, the shares of v, becomes growth."""
    c, projection = pair.c, pair.projection
    t = E = 0.0
    if v > TINY:
        t, E = pair.step(m, v, c, pair.a, pair.b)
    if t == 0.0 and E == 0.0:
        w[:] = 1.0
        return 0.0
    E = min(E, HUGE)
    if projection == BEST:
        t = pair.exact(m, v, w, t, E, c, pair.a, pair.b)
    else:
        if pair.share != 1.0:
            t, E = shared(t, E, pair.share)
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
    # constraints say about y's score, each of them weakened by the variance of its rival's.
    H = 0.0
    for q in range(gain.size):
        H += gain[q] / (1.0 + gain[q] * v_r[q])
    sum_others(w_y, others)
    for p in range(w_y.size):
        w_y[p] = (1.0 + v_y * H) / (1.0 + others[p] * H)
    for q in range(gain.size):
        h = gain[q] / (1.0 + gain[q] * v_r[q])
        part = v_y * h / (1.0 + v_y * H)
        least = 1.0 / (1.0 + gain[q] * v_r[q]) + v_r[q] * h * part
        w = w_r[q]
        sum_others(w, others)
        for p in range(w.size):
            w[p] = 1.0 / max(least + others[p] * h * (1.0 - part), 1.0 / HUGE)


def learn_rivals(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    exact: Any,
    joint: Any,
    scheme: Scheme,
    known: int,
    clock: int,
    buffers: ClassBuffers,
) -> int:
    """Learn many classes; return the row whose numbers overflowed, or -1.

    A code beyond the `known` columns brings a new class.
    """
    rows, order, table = examples.rows, examples.order, model.table
    others, w_y, w_r = buffers.others, buffers.shares, buffers.rival_shares
    numbers = buffers.numbers
    every, left, v_r = numbers[0], numbers[1], numbers[2]
    m, pull, gain = numbers[3], numbers[4], numbers[5]
    projection, b, floor = scheme.projection, rule.b, rule.floor
    spherical = projection == SPHERICAL
    for at in range(order.size):
        i = order[at]
        ahead, end = next_row(at, order, rows.indptr)
        start, stop = row_at(rows.indptr, i)
        row = Row(start, stop, rows.indices, rows.data, rule.constant)
        y, seen, blend = examples.codes[i], examples.weight[i], 1.0
        if rule.share:
            seen, blend = 1.0, seen
        new = y >= known
        known = max(known, y + 1)
        clock += 1
        if known < 2:
            continue
        scores = every[:known]
        score_classes(row, table, scores, ahead, end)
        rivals = buffers.columns[: min(scheme.competitors, known - 1)]
        rank_rivals(scores, examples.rank, y, rivals, left)
        k, length = rivals.size, stop - start + 1
        for q in range(k):
            m[q] = scores[y] - scores[rivals[q]]
        if new or m[0] <= 0.0:
            model.counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m[0])
        changed = False
        checked = 0.0
        if scheme.kind == SEQUENTIAL:
            pair = Pair(rule.step, exact, a, b, seen, blend, projection)
            share = blend if projection == BEST else 1.0
            how = Adjustment(share, spherical, scheme.average, floor, clock - 1)
            w = w_r[0, : 2 * length]
            for q in range(k):
                r = rivals[q]
                if changed:
                    m[q] = margin_of(row, table, y, r)
                v = variance_of_two(row, table, y, r, spherical, w)
                if not math.isfinite(m[q] + v):
                    return int(i)
                pull[q] = solve_pair(m[q], v, w, pair, others)
                if pull[q] != 0.0:
                    changed = True
                    checked += adjust_two(row, table, y, r, pull[q], w, how)
        else:
            v_y = variance_of(row, table, y, spherical, w_y)
            for q in range(k):
                v_r[q] = variance_of(row, table, rivals[q], spherical, w_r[q])
                if not math.isfinite(m[q] + v_y + v_r[q]):
                    return int(i)
            if scheme.kind == PARALLEL:
                pair = Pair(rule.step, exact, a, b, seen, 1.0, projection)
                for q in range(k):
                    w, v = w_r[q, : 2 * length], v_y + v_r[q]
                    for p in range(length):
                        w[length + p], w[p] = w[p], w_y[p]
                    pull[q] = solve_pair(m[q], v, w, pair, others)
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
                how = Adjustment(blend, spherical, scheme.average, floor, clock - 1)
                checked += adjust(row, table, y, pull[:k].sum(), w_y, how)
                for q in range(k):
                    checked += adjust(row, table, rivals[q], -pull[q], w_r[q], how)
        if not math.isfinite(checked):
            return int(i)
        if changed:
            model.counters[0] += 1
    return -1


LEARN_RIVALS = Kernel(
    learn_rivals,
    lambda real: i8(
        examples(real),
        model_arrays(real),
        STEP_RULE,
        Callee(EXACT),
        Callee(JOINT),
        SCHEME,
        i8,
        i8,
        CLASS_BUFFERS,
    ),
)


def no_exact(m: float, v: float, w: Any, t: float, E: float, c: float, a: float, b: float) -> float:
    """A placeholder for a rule without an exact diagonal step."""
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
    """A placeholder for a rule without a joint step."""
    return False
