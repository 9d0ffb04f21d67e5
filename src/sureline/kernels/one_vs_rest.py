"""Learning many classes, each as a two-class problem of its own: this class, or any other.

All classes are learned from one pass over the row. Classes do not touch each other's columns; they
meet when a row is classified before it is learned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    EXACT,
    SCHEME,
    STEP_RULE,
    CustomRule,
    Examples,
    ModelArrays,
    Row,
    Scheme,
    StepRule,
    custom_rule,
    examples,
    i8,
    model_arrays,
)
from sureline.kernels.class_columns import (
    CLASS_BUFFERS,
    Adjustment,
    ClassBuffers,
    adjust,
    score_classes,
    variance_of,
)
from sureline.kernels.compiling import Kernel
from sureline.kernels.custom_rule import is_empty, row_of, sum_row
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.noise import row_constant
from sureline.kernels.numba_internals import Callee
from sureline.kernels.positions import entry_at, next_row, row_at
from sureline.kernels.rivals import BEST, KL, SPHERICAL, Pair, solve_pair

FEW = 4  # where fewer than one class in so many moves, only those are visited


@register_jitable
def beaten(scores: Any, y: int) -> bool:
    """Whether any class scores as much as y."""
    best = -np.inf
    for column in range(scores.size):
        if column != y:
            best = max(best, scores[column])
    return bool(best >= scores[y])


@register_jitable
def spread_classes(row: Row, table: Any, spreads: Any) -> None:
    """The variance of every class's score, from one pass over the row."""
    start, stop, indices, data, constant = row
    for column in range(spreads.size):
        spreads[column] = constant * np.float64(table[0, 1, column])
    for k in range(start, stop):
        variances, x = table[entry_at(indices, k), 1], np.float64(data[k])
        for column in range(spreads.size):
            spreads[column] += variances[column] * x * x


@register_jitable
def move_classes(
    row: Row, table: Any, pull: Any, gain: Any, inverse: Any, moving: Any, floor: float
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
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    exact: Any,
    scheme: Scheme,
    known: int,
    clock: int,
    buffers: ClassBuffers,
) -> int:
    """Learn many classes; return the row whose numbers overflowed, or -1.

    A code beyond the `known` columns brings a new class.
    """
    rows, order, table, floor = examples.rows, examples.order, model.table, rule.floor
    w, moving, numbers = buffers.shares, buffers.columns, buffers.numbers
    every, spreads_of_all = numbers[0], numbers[1]
    pull, gain, inverse = numbers[2], numbers[3], numbers[4]
    projection, spherical = scheme.projection, scheme.projection == SPHERICAL
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
        scores, length = every[:known], stop - start + 1
        score_classes(row, table, scores, ahead, end)
        if new or beaten(scores, y):
            model.counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, scores[y])
        moved = 0
        checked = 0.0
        if projection == KL:
            spreads = spreads_of_all[:known]
            spread_classes(row, table, spreads)
            for column in range(known):
                sign = 1.0 if column == y else -1.0
                m, v = sign * scores[column], spreads[column]
                if not math.isfinite(m + v):
                    return int(i)
                pull[column] = gain[column] = inverse[column] = 0.0
                if v > TINY:
                    t, E = rule.step(m, v, seen, a, rule.b)
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
            pair = Pair(rule.step, exact, a, rule.b, seen, blend, projection)
            c = blend if projection == BEST else 1.0
            how = Adjustment(c, spherical, scheme.average, floor, clock - 1)
            for column in range(known):
                sign = 1.0 if column == y else -1.0
                m = sign * scores[column]
                v = variance_of(row, table, column, spherical, w)
                if not math.isfinite(m + v):
                    return int(i)
                step = solve_pair(m, v, w[:length], pair, buffers.others)
                if step != 0.0:
                    moved += 1
                    checked += adjust(row, table, column, sign * step, w, how)
        if not math.isfinite(checked):
            return int(i)
        model.counters[0] += int(moved > 0)
    return -1


def learn_custom_one_vs_rest(
    examples: Examples, model: ModelArrays, rule: CustomRule, known: int, clock: int
) -> int:
    """The same for a rule that brings its own row functions."""
    table, stamps, p = model.table, model.stamps, rule.p
    scores = np.empty(table.shape[2])
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known > 1:
            for column in range(known):
                scores[column] = rule.score(row, table, column, stamps, clock, p)
                if not math.isfinite(scores[column]):
                    return int(i)
            if new or beaten(scores[:known], y):
                model.counters[1] += 1
            if not is_empty(row):
                changed = False
                for column in range(known):
                    sign = 1.0 if column == y else -1.0
                    m = sign * scores[column]
                    if rule.update(row, table, column, stamps, clock, p, m, sign, c):
                        changed = True
                        if not math.isfinite(sum_row(row, table, column)):
                            return int(i)
                model.counters[0] += int(changed)
        clock += 1
    return -1


LEARN_ONE_VS_REST = Kernel(
    learn_one_vs_rest,
    lambda real: i8(
        examples(real),
        model_arrays(real),
        STEP_RULE,
        Callee(EXACT),
        SCHEME,
        i8,
        i8,
        CLASS_BUFFERS,
    ),
)
LEARN_CUSTOM_ONE_VS_REST = Kernel(
    learn_custom_one_vs_rest,
    lambda real: i8(examples(real), model_arrays(real), custom_rule(real), i8, i8),
    allocates=True,
)
