"""Learning with one mean and one variance per feature, side by side in the table.

Row 0 of the table is the constant feature. A rule turns the margin m and its variance v into the
step t and the precision gain E; how E reaches the variances is the choice of projection.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    EXACT,
    STEP_RULE,
    Examples,
    ModelArrays,
    StepRule,
    array,
    examples,
    f8,
    flag,
    i8,
    model_arrays,
)
from sureline.kernels.compiling import Kernel
from sureline.kernels.noise import row_constant
from sureline.kernels.numba_internals import Callee
from sureline.kernels.positions import entry_at, next_row, row_at
from sureline.kernels.prefetch import prefetch

# Between this and its inverse nothing overflows that is computed with as many digits as are kept.
MILD = 1e-12
# Below this a margin variance counts as zero: its reciprocal is no longer safe.
TINY = 1e-290
# A precision gain is cut here, so that neither 0 × ∞ nor ∞ − ∞ can arise.
HUGE = 1e300


@register_jitable
def sign_of(code: int) -> float:
    """The sign of the first or the second of two classes."""
    return 1.0 if code == 1 else -1.0


@register_jitable
def shared(t: float, E: float, c: float) -> tuple[float, float]:
    """The step that goes the share c of the way from the old Gaussian to the new one."""
    return c * t * ((1.0 + E) / (1.0 + c * E)), c * E


class Move(NamedTuple):
    """How far a row moves the means and variances of its features (KL), in one type of number."""

    pull: Any
    gain: Any
    floor: Any
    one: Any
    zero: Any


@register_jitable
def move_row(start: int, stop: int, indices: Any, data: Any, table: Any, move: Move) -> Any:
    """Move the means and variances of a row's features, computed in the type of `move`.

    Returns the sum of the means, which is not finite if one of them has overflowed.
    """
    pull, gain, floor, one, zero = move
    total = zero
    for k in range(start, stop):
        j = entry_at(indices, k)
        s, x = zero + table[j, 1], zero + data[k]
        mean = table[j, 0] + pull * (s * x)
        table[j, 0] = mean
        table[j, 1] = max(s / (one + gain * (s * x * x)), floor)
        total += mean
    return total


def learn_diagonal(
    examples: Examples, model: ModelArrays, rule: StepRule, drop: bool, rest: Any
) -> int:
    """Learn two classes; return the row whose numbers overflowed, or -1.

    `drop` keeps the diagonal of the covariance (L2), otherwise that of the precision (KL). The
    buffer `rest` is as long as the longest row.
    """
    indptr, indices, data = examples.rows.indptr, examples.rows.indices, examples.rows.data
    order, table, counters = examples.order, model.table, model.counters
    constant, step, b = rule.constant, rule.step, rule.b
    share, floor = rule.share, rule.floor
    for q in range(order.size):
        i = order[q]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(q, order, indptr)
        y, c = sign_of(examples.codes[i]), examples.weight[i]
        m = constant * np.float64(table[0, 0])
        v = constant * np.float64(table[0, 1])
        for k in range(start, stop):
            j, x = entry_at(indices, k), np.float64(data[k])
            m += table[j, 0] * x
            v += table[j, 1] * x * x
            if ahead < end:  # one at a time: many at once would keep the sums waiting
                prefetch(table, entry_at(indices, ahead))
                ahead += 1
        for k in range(ahead, end):
            prefetch(table, entry_at(indices, k))
        m *= y
        if not math.isfinite(m + v):
            return int(i)
        if m <= 0.0:
            counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m)
        if v <= TINY:
            continue
        t, E = step(m, v, 1.0 if share else c, a, b)
        if t == 0.0 and E == 0.0:
            continue
        counters[0] += 1
        E = min(E, HUGE)
        if share and c != 1.0:
            t, E = shared(t, E, c)
        t *= y
        inverse = 1.0 / v
        checked = 0.0
        s = np.float64(table[0, 1])
        if drop:
            after = 0.0
            for k in range(stop - 1, start - 1, -1):
                x = np.float64(data[k])
                rest[k - start] = after
                after += table[entry_at(indices, k), 1] * x * x * inverse
            table[0, 0] += t * (s * constant * inverse)
            table[0, 1] = max(s * dropped(after, E), floor) if constant > 0.0 else s
            before = s * constant * inverse
            for k in range(start, stop):
                j, x = entry_at(indices, k), np.float64(data[k])
                s = np.float64(table[j, 1])
                table[j, 0] += t * (s * x * inverse)
                table[j, 1] = max(s * dropped(before + rest[k - start], E), floor)
                before += s * x * x * inverse
                checked += table[j, 0]
        else:
            table[0, 0] += t * (s * constant * inverse)
            table[0, 1] = max(s / (1.0 + E * (s * constant * inverse)), floor)
            pull, gain = t * inverse, min(E * inverse, HUGE)
            if MILD < v < 1.0 / MILD and abs(pull) < 1.0 / MILD and gain < 1.0 / MILD:
                real = table.dtype.type
                move = Move(real(pull), real(gain), real(floor), real(1.0), real(0.0))
                checked = move_row(start, stop, indices, data, table, move)
            else:
                move = Move(pull, gain, floor, 1.0, 0.0)
                checked = move_row(start, stop, indices, data, table, move)
        if not math.isfinite(checked + table[0, 0]):
            return int(i)
    return -1


@register_jitable
def dropped(others: float, E: float) -> float:
    """The factor on a variance when off-diagonals of the covariance are dropped (L2)."""
    return others if E >= HUGE else (1.0 + E * others) / (1.0 + E)


def learn_exact(
    examples: Examples, model: ModelArrays, rule: StepRule, exact: Any, shares: Any
) -> int:
    """As `learn_diagonal`, with the optimum among diagonal covariances, which `exact` computes.

    The buffer `shares` has an element for the constant feature and one for each of the longest
    row's.
    """
    indptr, indices, data = examples.rows.indptr, examples.rows.indices, examples.rows.data
    table, counters = model.table, model.counters
    constant, step, b, share = rule.constant, rule.step, rule.b, rule.share
    for i in examples.order:
        start, stop = row_at(indptr, i)
        y, c = sign_of(examples.codes[i]), examples.weight[i]
        m = constant * np.float64(table[0, 0])
        w = shares[: stop - start + 1]
        w[0] = constant * np.float64(table[0, 1])
        v = w[0]
        for k in range(start, stop):
            j, x = entry_at(indices, k), np.float64(data[k])
            m += table[j, 0] * x
            w[k - start + 1] = table[j, 1] * x * x
            v += w[k - start + 1]
        m *= y
        if not math.isfinite(m + v):
            return int(i)
        if m <= 0.0:
            counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m)
        if v <= TINY:
            continue
        t, E = step(m, v, 1.0 if share else c, a, b)
        if t == 0.0 and E == 0.0:
            continue
        counters[0] += 1
        t = exact(m, v, w, t, min(E, HUGE), c, a, b)
        if share and c != 1.0:
            t *= c
        else:
            c = 1.0
        inverse = 1.0 / v
        checked = 0.0
        for k in range(start - 1, stop):
            if k < start:
                j, x = np.int64(0), np.float64(constant)
            else:
                j, x = entry_at(indices, k), np.float64(data[k])
            s, growth = np.float64(table[j, 1]), min(w[k - start + 1], HUGE)
            reached = 1.0 + c * (growth - 1.0)
            table[j, 0] += y * t * (s * x * inverse) * (growth / reached)
            table[j, 1] = max(s / reached, rule.floor)
            checked += table[j, 0]
        if not math.isfinite(checked):
            return int(i)
    return -1


LEARN_DIAGONAL = Kernel(
    learn_diagonal,
    lambda real: i8(examples(real), model_arrays(real, 2), STEP_RULE, flag, array(f8)),
)
LEARN_EXACT = Kernel(
    learn_exact,
    lambda real: i8(examples(real), model_arrays(real, 2), STEP_RULE, Callee(EXACT), array(f8)),
)
