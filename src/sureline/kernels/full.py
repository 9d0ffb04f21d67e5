"""Learning with a full covariance matrix, for dense inputs of up to a few thousand features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.calibration import follow
from sureline.kernels.class_columns import margin_of, rank_rivals, score_classes
from sureline.kernels.compiling import (
    STEP,
    Kernel,
    array,
    examples,
    f8,
    flag,
    given,
    i8,
    labelled,
    rows,
)
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.noise import follow_error
from sureline.kernels.numba_internals import Callee
from sureline.kernels.scoring import LARGE, SMALL, largest


@register_jitable(fastmath={"contract"})
def times_row(
    covariance: Any, start: int, stop: int, indices: Any, data: Any, constant: float, out: Any
) -> float:
    """Write Σx into `out` and return xᵀΣx.

    Four rows of Σ at a time, so that `out` is read and written a quarter as often.
    """
    for j in range(out.size):
        out[j] = constant * covariance[0, j]
    rest = stop - (stop - start) % 4
    for k in range(start, rest, 4):
        a, x = covariance[indices[k] + 1], np.float64(data[k])
        b, y = covariance[indices[k + 1] + 1], np.float64(data[k + 1])
        c, z = covariance[indices[k + 2] + 1], np.float64(data[k + 2])
        d, w = covariance[indices[k + 3] + 1], np.float64(data[k + 3])
        for j in range(out.size):
            out[j] = out[j] + x * a[j] + y * b[j] + z * c[j] + w * d[j]
    for k in range(rest, stop):
        a, x = covariance[indices[k] + 1], np.float64(data[k])
        for j in range(out.size):
            out[j] += x * a[j]
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
    curve: Any,
    errors: Any,
    counts: Any,
) -> int:
    """Learn rows in `order`; return the row whose numbers overflowed, or -1.

    The covariance loses a rank-one product of one vector with itself, element by element, so that
    it stays symmetric to the bit. When the mean variance falls below `rescale_below`, mean and
    covariance are scaled up again, which a scale-free rule does not notice; 0 for the others.
    Before a row is learned, the `curve` of probabilities follows it if there is one.
    """
    size, told = mean.size, np.empty((4, 2))
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        y, c = sign[i], weight[i]
        v = times_row(covariance, start, stop, indices, data, constant, pull)
        m = constant * np.float64(mean[0])
        for k in range(start, stop):
            m += mean[indices[k] + 1] * np.float64(data[k])
        if not math.isfinite(m + v):
            return int(i)
        if curve.size:
            told[0, 0], told[0, 1] = -m, m
            follow(told[0], 1 if y > 0.0 else 0, curve, told[1:])
        m *= y
        if m <= 0.0:
            counts[1] += 1
        if errors.size:
            a = follow_error(errors, m)
        v = at_least(v, pull, covariance)
        if v <= TINY:
            continue
        t, E = step(m, v, 1.0 if share else c, a, b)
        if t == 0.0 and E == 0.0:
            continue
        counts[0] += 1
        E = min(E, HUGE)
        if share and c != 1.0:
            t, E = shared(t, E, c)
        checked = 0.0
        for j in range(size):
            mean[j] += y * t * (pull[j] / v)
            checked += mean[j]
        if not math.isfinite(checked):
            return int(i)
        trace = subtract(covariance, pull, E, v, floor, root)
        if trace < rescale_below * size:
            rescale(mean.reshape(size, 1), covariance.reshape(1, size, size), rescale_below)
    return -1


@register_jitable
def subtract(covariance: Any, pull: Any, E: float, v: float, floor: float, root: Any) -> float:
    """Take from Σ what the precision E along x takes, given Σx and xᵀΣx; return the new trace."""
    scale = math.sqrt(E / (1.0 + E) / v)
    for j in range(pull.size):
        root[j] = scale * pull[j]
    trace = 0.0
    for j in range(pull.size):
        factor, row = root[j], covariance[j]
        if factor != 0.0:
            for k in range(pull.size):
                row[k] -= factor * root[k]
        row[j] = max(row[j], floor)
        trace += row[j]
    return trace


@register_jitable
def at_least(v: float, pull: Any, covariance: Any) -> float:
    """No xᵀΣx of a positive semidefinite Σ is smaller than |Σx|²/tr Σ; rounding may be."""
    trace = 0.0
    length = 0.0
    for j in range(pull.size):
        trace += covariance[j, j]
        length += pull[j] * pull[j]
    return max(v, length / trace)


@register_jitable
def rescale(means: Any, covariances: Any, below: float) -> None:
    """Where no class has a mean variance of `below`, scale all up until the largest is 1."""
    size, columns = means.shape
    largest_trace = 0.0
    for column in range(columns):
        trace = 0.0
        for j in range(size):
            trace += covariances[column, j, j]
        largest_trace = max(largest_trace, trace)
    if largest_trace < below * size:
        scale = size / largest_trace
        for column in range(columns):
            for j in range(size):
                means[j, column] *= math.sqrt(scale)
                for k in range(size):
                    covariances[column, j, k] *= scale


def learn_full_rivals(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    covariance: Any,
    rank: Any,
    known: int,
    competitors: int,
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
    """As `learn_full` for many classes, each with a covariance of its own; rivals in sequence."""
    size, columns = table.shape[0], table.shape[2]
    scores_room, left, told = np.empty(columns), np.empty(columns), np.empty((3, columns))
    rivals_room = np.empty(columns, np.int64)
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        row = start, stop, indices, data, constant
        y, c = codes[i], weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            continue
        scores = scores_room[:known]
        score_classes(row, table, scores, 0, 0)
        rivals = rivals_room[: min(competitors, known - 1)]
        rank_rivals(scores, rank, y, rivals, left)
        if new or scores[y] <= scores[rivals[0]]:
            counts[1] += 1
        if curve.size:
            follow(scores, y, curve, told)
        if errors.size:
            a = follow_error(errors, scores[y] - scores[rivals[0]])
        changed = False
        for q in range(rivals.size):
            r = rivals[q]
            m = margin_of(row, table, y, r) if changed else scores[y] - scores[r]
            v_y = times_row(covariance[y], start, stop, indices, data, constant, pulls[0])
            v_r = times_row(covariance[r], start, stop, indices, data, constant, pulls[1])
            if not math.isfinite(m + v_y + v_r):
                return int(i)
            v_y = at_least(v_y, pulls[0], covariance[y])
            v_r = at_least(v_r, pulls[1], covariance[r])
            v = v_y + v_r
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
                table[j, 0, y] += t * (pulls[0, j] / v)
                table[j, 0, r] -= t * (pulls[1, j] / v)
                checked += table[j, 0, y] + table[j, 0, r]
            if not math.isfinite(checked):
                return int(i)
            trace = 0.0
            if v_y > TINY:
                trace = subtract(covariance[y], pulls[0], E * (v_y / v), v_y, floor, root)
            if v_r > TINY:
                other = subtract(covariance[r], pulls[1], E * (v_r / v), v_r, floor, root)
                trace = max(trace, other)
            if trace < rescale_below * size:
                rescale(table[:, 0, :known], covariance[:known], rescale_below)
        counts[0] += int(changed)
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
    """The deviation of every row's scores, by column, right also where its square underflows."""
    for i in range(deviation.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        for column in range(deviation.shape[1]):
            v = times_row(covariance[column], start, stop, indices, data, constant, pull)
            scale = 1.0
            if not SMALL < v < LARGE:
                scale = largest(start, stop, data, constant)
                v = 0.0
                if scale > 0.0:
                    v = constant / scale * (pull[0] / scale)
                    for k in range(start, stop):
                        v += np.float64(data[k]) / scale * (pull[indices[k] + 1] / scale)
            deviation[i, column] = scale * math.sqrt(max(v, 0.0))


LEARN_FULL = Kernel(
    learn_full,
    lambda real: i8(
        *examples(real),
        array(real),
        array(real, 2),
        f8,
        Callee(STEP),
        f8,
        f8,
        flag,
        f8,
        f8,
        array(f8),
        array(real),
        array(f8),
        array(f8),
        array(i8),
    ),
    allocates=True,
)
LEARN_FULL_RIVALS = Kernel(
    learn_full_rivals,
    lambda real: i8(
        *labelled(real),
        array(real, 3),
        array(real, 3),
        given(i8),
        i8,
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
SPREAD_FULL = Kernel(
    spread_full,
    lambda real: types.void(*rows(real), given(real, 3), f8, array(f8), array(f8, 2)),
)
