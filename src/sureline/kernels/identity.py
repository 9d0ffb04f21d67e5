"""Learning without variances: perceptrons and passive-aggressive rules, Σ = I."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sureline.kernels.compiling import STEP, Kernel, array, examples, f8, flag, i8
from sureline.kernels.diagonal import TINY
from sureline.kernels.indexing import entry_at, next_row, row_at
from sureline.kernels.numba_internals import Callee
from sureline.kernels.prefetch import prefetch


def learn_spherical(
    indptr: Any,
    indices: Any,
    data: Any,
    sign: Any,
    weight: Any,
    order: Any,
    table: Any,
    constant: float,
    step: Any,
    a: float,
    b: float,
    average: bool,
    clock: int,
    counts: Any,
) -> int:
    """Learn rows in `order`; return the row whose numbers overflowed, or -1.

    With `average`, slot 1 gathers every change times the number of examples before it; the average
    of all weight vectors after T examples is then slot 0 less slot 1 over T.
    """
    for q in range(order.size):
        i = order[q]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(q, order, indptr)
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
        m *= sign[i]
        if not math.isfinite(m + v):
            return int(i)
        if m <= 0.0:
            counts[1] += 1
        if v > TINY:
            t, _ = step(m, v, weight[i], a, b)
            if t != 0.0:
                counts[0] += 1
                pull = sign[i] * (t / v)  # divided first: the perceptron's is then exactly 1
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
                if not math.isfinite(checked):
                    return int(i)
        clock += 1
    return -1


LEARN_SPHERICAL = Kernel(
    learn_spherical,
    lambda real: i8(
        *examples(real),
        array(real, 2),
        f8,
        Callee(STEP),
        f8,
        f8,
        flag,
        i8,
        array(i8),
    ),
)
