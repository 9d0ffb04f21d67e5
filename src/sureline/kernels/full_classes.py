"""Learning many classes with full covariances, each class with one of its own."""

from __future__ import annotations

import math

import numpy as np

from sureline.kernels.arguments import STEP_RULE, Examples, ModelArrays, StepRule, examples, f8, i8
from sureline.kernels.class_columns import margin_of, rank_rivals, score_classes
from sureline.kernels.compiling import Kernel
from sureline.kernels.custom_rule import row_of
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.full import (
    FULL_ARRAYS,
    FULL_BUFFERS,
    FullBuffers,
    at_least,
    follow_full,
    rescale,
    subtract,
    times_row,
)
from sureline.kernels.noise import row_constant
from sureline.kernels.one_vs_rest import beaten


def learn_full_rivals(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    rescale_below: float,
    known: int,
    competitors: int,
    buffers: FullBuffers,
) -> int:
    """As `learn_full` for many classes, each with a covariance of its own; rivals in sequence."""
    table, covariance, share = model.table, model.covariance, rule.share
    size, columns = table.shape[0], table.shape[2]
    pulls, root = buffers.pulls, buffers.root
    every, left, parts = np.empty(columns), np.empty(columns), np.empty((5, columns))
    strongest = np.empty(columns, np.int64)
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            if model.calibrator.size:
                model.outcomes[0, y] += 1.0
            continue
        scores = every[:known]
        score_classes(row, table, scores, 0, 0)
        rivals = strongest[: min(competitors, known - 1)]
        rank_rivals(scores, examples.rank, y, rivals, left)
        if new or scores[y] <= scores[rivals[0]]:
            model.counters[1] += 1
        if model.calibrator.size:
            parts[4, :known] = scores
            follow_full(row, model, y, known, parts)
        a = row_constant(rule.a, model.noise_sums, scores[y] - scores[rivals[0]])
        changed = False
        for q in range(rivals.size):
            r = rivals[q]
            m = margin_of(row, table, y, r) if changed else scores[y] - scores[r]
            v_y = times_row(covariance[y], row, pulls[0])
            v_r = times_row(covariance[r], row, pulls[1])
            if not math.isfinite(m + v_y + v_r):
                return int(i)
            v_y = at_least(v_y, pulls[0], covariance[y], row, rescale_below > 0.0)
            v_r = at_least(v_r, pulls[1], covariance[r], row, rescale_below > 0.0)
            if min(v_y, v_r) < 0.0:
                return -2 - int(i)
            v = v_y + v_r
            if v <= TINY:
                continue
            t, E = rule.step(m, v, 1.0 if share else c, a, rule.b)
            if t == 0.0 and E == 0.0:
                continue
            E = min(E, HUGE)
            if share and c != 1.0:
                t, E = shared(t, E, c)
            changed = True
            checked = 0.0
            for j in range(size):
                table[j, 0, y] += t * (pulls[0, j] / v)
                table[j, 0, r] -= t * (pulls[1, j] / v)
                checked += table[j, 0, y] + table[j, 0, r]
            if not math.isfinite(checked):
                return int(i)
            trace = 0.0
            if v_y > TINY:
                trace = subtract(covariance[y], pulls[0], E * (v_y / v), v_y, rule.floor, root)
            if v_r > TINY:
                other = subtract(covariance[r], pulls[1], E * (v_r / v), v_r, rule.floor, root)
                trace = max(trace, other)
            if trace < rescale_below * size:
                rescale(table[:, 0, :known], covariance[:known], rescale_below)
        model.counters[0] += int(changed)
    return -1


def learn_full_one_vs_rest(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    rescale_below: float,
    known: int,
    buffers: FullBuffers,
) -> int:
    """The same for many classes, each against the rest."""
    table, covariance, share = model.table, model.covariance, rule.share
    size, columns = table.shape[0], table.shape[2]
    pulls, root = buffers.pulls, buffers.root
    every, parts = np.empty(columns), np.empty((5, columns))
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            if model.calibrator.size:
                model.outcomes[0, y] += 1.0
            continue
        scores = every[:known]
        score_classes(row, table, scores, 0, 0)
        if new or beaten(scores, y):
            model.counters[1] += 1
        if model.calibrator.size:
            parts[4, :known] = scores
            follow_full(row, model, y, known, parts)
        a = row_constant(rule.a, model.noise_sums, scores[y])
        changed, trace = False, np.inf
        for column in range(known):
            sign = 1.0 if column == y else -1.0
            m = sign * scores[column]
            v = times_row(covariance[column], row, pulls[0])
            if not math.isfinite(m + v):
                return int(i)
            v = at_least(v, pulls[0], covariance[column], row, rescale_below > 0.0)
            if v < 0.0:
                return -2 - int(i)
            if v <= TINY:
                continue
            t, E = rule.step(m, v, 1.0 if share else c, a, rule.b)
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
            trace = min(trace, subtract(covariance[column], pulls[0], E, v, rule.floor, root))
        if trace < rescale_below * size:
            rescale(table[:, 0, :known], covariance[:known], rescale_below)
        model.counters[0] += int(changed)
    return -1


LEARN_FULL_RIVALS = Kernel(
    learn_full_rivals,
    lambda real: i8(examples(real), FULL_ARRAYS, STEP_RULE, f8, i8, i8, FULL_BUFFERS),
    allocates=True,
)
LEARN_FULL_ONE_VS_REST = Kernel(
    learn_full_one_vs_rest,
    lambda real: i8(examples(real), FULL_ARRAYS, STEP_RULE, f8, i8, FULL_BUFFERS),
    allocates=True,
)
