"""Learning without variances: perceptrons and passive-aggressive rules, Σ = I."""

from __future__ import annotations

import math

import numpy as np

from sureline.kernels.arguments import (
    STEP_RULE,
    Examples,
    ModelArrays,
    StepRule,
    examples,
    flag,
    i8,
    model_arrays,
)
from sureline.kernels.compiling import Kernel
from sureline.kernels.diagonal import TINY, sign_of
from sureline.kernels.positions import entry_at, next_row, row_at
from sureline.kernels.prefetch import prefetch


def learn_spherical(
    examples: Examples, model: ModelArrays, rule: StepRule, average: bool, clock: int
) -> int:
    """Learn two classes; return the row whose numbers overflowed, or -1.

    With `average`, slot 1 gathers every change times the number of examples before it; the average
    of all weight vectors after T examples is then slot 0 less slot 1 over T.
    """
    rows, order, table = examples.rows, examples.order, model.table
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    constant, step, counters = rule.constant, rule.step, model.counters
    for q in range(order.size):
        i = order[q]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(q, order, indptr)
        y = sign_of(examples.codes[i])
        m = constant * np.float64(table[0, 0])
        v = constant
        for k in range(start, stop):
            j, x = entry_at(indices, k), np.float64(data[k])
            m += table[j, 0] * x
            v += x * x
            if ahead < end:
                prefetch(table, entry_at(indices, ahead))
                ahead += 1
        for k in range(ahead, end):
            prefetch(table, entry_at(indices, k))
        m *= y
        if not math.isfinite(m + v):
            return int(i)
        if m <= 0.0:
            counters[1] += 1
        if v > TINY:
            t, _ = step(m, v, examples.weight[i], rule.a, rule.b)
            if t != 0.0:
                counters[0] += 1
                pull = y * (t / v)  # divided first: the perceptron's is then exactly 1
                checked = 0.0
                for k in range(start - 1, stop):
                    if k < start:
                        j, x = np.int64(0), np.float64(constant)
                    else:
                        j, x = entry_at(indices, k), np.float64(data[k])
                    change = pull * x
                    table[j, 0] += change
                    checked += table[j, 0]
                    if average:
                        table[j, 1] += clock * change
                        checked += table[j, 1]
                if not math.isfinite(checked):
                    return int(i)
        clock += 1
    return -1


LEARN_SPHERICAL = Kernel(
    learn_spherical,
    lambda real: i8(examples(real), model_arrays(real, 2), STEP_RULE, flag, i8),
)
