"""Learning with a full covariance matrix, for dense inputs of up to a few thousand features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.compiling import STEP, Kernel, array, examples, f8, flag, given, i8, rows
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.scoring import LARGE, SMALL, largest


@register_jitable
def times_row(
    covariance: Any, start: int, stop: int, indices: Any, data: Any, constant: float, out: Any
) -> float:
    """Write Σx into `out` and return xᵀΣx."""
    for j in range(out.size):
        out[j] = constant * covariance[0, j]
    for k in range(start, stop):
        row, x = covariance[indices[k] + 1], np.float64(data[k])
        for j in range(out.size):
            out[j] += x * row[j]
    v: float = constant * out[0]
    for k in range(start, stop):
        v += np.float64(data[k]) * out[indices[k] + 1]
    return v


def learn_full(
    indptr: Any,
    indices: Any,
    data: Any,
    sign: Any,
    weight: Any,
    order: Any,
    mean: Any,
    covariance: Any,
    constant: float,
    step: Any,
    a: float,
    b: float,
    share: bool,
    floor: float,
    rescale_below: float,
    pull: Any,
    root: Any,
    counts: Any,
) -> int:
    """Learn rows in `order`; return the row whose numbers overflowed, or -1.

    The covariance loses a rank-one product of one vector with itself, element by element, so that
    it stays symmetric to the bit. Rounding can still make xᵀΣx smaller than any positive
    semidefinite matrix allows, |Σx|²/tr Σ; it is then taken to be that. When the mean variance
    falls below `rescale_below`, mean and covariance are scaled up again, which a scale-free rule
    does not notice; 0 for the others.
    """
    size = mean.size
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        y, c = sign[i], weight[i]
        v = times_row(covariance, start, stop, indices, data, constant, pull)
        m = constant * np.float64(mean[0])
        for k in range(start, stop):
            m += mean[indices[k] + 1] * np.float64(data[k])
        m *= y
        if not math.isfinite(m + v):
            return int(i)
        if m <= 0.0:
            counts[1] += 1
        trace = 0.0
        length = 0.0
        for j in range(size):
            trace += covariance[j, j]
            length += pull[j] * pull[j]
        v = max(v, length / trace)
        if v <= TINY:
            continue
        t, E = step(m, v, 1.0 if share else c, a, b)
        if t == 0.0 and E == 0.0:
            continue
        counts[0] += 1
        E = min(E, HUGE)
        if share and c != 1.0:
            t, E = shared(t, E, c)
        scale = math.sqrt(E / (1.0 + E) / v)
        checked = 0.0
        for j in range(size):
            mean[j] += y * t * (pull[j] / v)
            checked += mean[j]
            root[j] = scale * pull[j]
        if not math.isfinite(checked):
            return int(i)
        trace = 0.0
        for j in range(size):
            factor, row = root[j], covariance[j]
            if factor != 0.0:
                for k in range(size):
                    row[k] -= factor * root[k]
            row[j] = max(row[j], floor)
            trace += row[j]
        if trace < rescale_below * size:
            scale = size / trace
            for j in range(size):
                mean[j] *= math.sqrt(scale)
                for k in range(size):
                    covariance[j, k] *= scale
    return -1


def spread_full(
    indptr: Any,
    indices: Any,
    data: Any,
    covariance: Any,
    constant: float,
    pull: Any,
    deviation: Any,
) -> None:
    """The standard deviation of every row's score, right also where its square underflows."""
    for i in range(deviation.size):
        start, stop = indptr[i], indptr[i + 1]
        v = times_row(covariance, start, stop, indices, data, constant, pull)
        scale = 1.0
        if not SMALL < v < LARGE:
            scale = largest(start, stop, data, constant)
            v = 0.0
            if scale > 0.0:
                v = constant / scale * (pull[0] / scale)
                for k in range(start, stop):
                    v += np.float64(data[k]) / scale * (pull[indices[k] + 1] / scale)
        deviation[i] = scale * math.sqrt(max(v, 0.0))


LEARN_FULL = Kernel(
    learn_full,
    lambda real: i8(
        *examples(real),
        array(real),
        array(real, 2),
        f8,
        types.FunctionType(STEP),
        f8,
        f8,
        flag,
        f8,
        f8,
        array(f8),
        array(real),
        array(i8),
    ),
)
SPREAD_FULL = Kernel(
    spread_full,
    lambda real: types.void(*rows(real), given(real, 2), f8, array(f8), array(f8)),
)
