"""Learning with a full covariance matrix, for dense inputs of up to a few thousand features."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    STEP_RULE,
    Examples,
    ModelArrays,
    Row,
    Rows,
    StepRule,
    array,
    examples,
    f8,
    given,
    i8,
    model_arrays,
    rows,
)
from sureline.kernels.calibration import follow
from sureline.kernels.class_columns import margin_of, rank_rivals, score_classes
from sureline.kernels.compiling import Kernel
from sureline.kernels.custom_rule import row_of
from sureline.kernels.diagonal import HUGE, TINY, shared, sign_of
from sureline.kernels.noise import row_constant
from sureline.kernels.one_vs_rest import beaten
from sureline.kernels.scores import LARGE, SMALL, largest


@register_jitable(fastmath={"contract"})
def times_row(covariance: Any, row: Row, out: Any) -> float:
    """Write Σx into `out` and return xᵀΣx.

    Four rows of Σ at a time, so that `out` is read and written a quarter as often.
    """
    start, stop, indices, data, constant = row
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


class FullBuffers(NamedTuple):
    """Memory for one or two products Σx, and for the vector that is subtracted from Σ."""

    pulls: Any
    root: Any


def full_buffers(size: int, products: int, dtype: str) -> FullBuffers:
    """Buffers for a covariance of `size` rows, the constant feature's included."""
    return FullBuffers(np.empty((products, size)), np.empty(size, dtype))


def learn_full(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    rescale_below: float,
    buffers: FullBuffers,
) -> int:
    """Learn two classes; return the row whose numbers overflowed, or -1.

    The covariance loses a rank-one product of one vector with itself, element by element, so that
    it stays symmetric to the bit. When the mean variance falls below `rescale_below`, mean and
    covariance are scaled up again, which a scale-free rule does not notice; 0 for the others.
    """
    mean, covariance = model.table.reshape(model.table.shape[0]), model.covariance[0]
    size, share, scores = mean.size, rule.share, np.empty((4, 2))
    pull, root = buffers.pulls[0], buffers.root
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = sign_of(examples.codes[i]), examples.weight[i]
        v = times_row(covariance, row, pull)
        m = row.constant * np.float64(mean[0])
        for k in range(row.start, row.stop):
            m += mean[row.indices[k] + 1] * np.float64(row.data[k])
        if not math.isfinite(m + v):
            return int(i)
        if model.calibrator.size:
            scores[0, 0], scores[0, 1] = -m, m
            follow(scores[0], examples.codes[i], model.calibrator, scores[1:])
        m *= y
        if m <= 0.0:
            model.counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m)
        v = at_least(v, pull, covariance)
        if v <= TINY:
            continue
        t, E = rule.step(m, v, 1.0 if share else c, a, rule.b)
        if t == 0.0 and E == 0.0:
            continue
        model.counters[0] += 1
        E = min(E, HUGE)
        if share and c != 1.0:
            t, E = shared(t, E, c)
        checked = 0.0
        for j in range(size):
            mean[j] += y * t * (pull[j] / v)
            checked += mean[j]
        if not math.isfinite(checked):
            return int(i)
        trace = subtract(covariance, pull, E, v, rule.floor, root)
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
    every, left, parts = np.empty(columns), np.empty(columns), np.empty((3, columns))
    strongest = np.empty(columns, np.int64)
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            continue
        scores = every[:known]
        score_classes(row, table, scores, 0, 0)
        rivals = strongest[: min(competitors, known - 1)]
        rank_rivals(scores, examples.rank, y, rivals, left)
        if new or scores[y] <= scores[rivals[0]]:
            model.counters[1] += 1
        if model.calibrator.size:
            follow(scores, y, model.calibrator, parts)
        a = row_constant(rule.a, model.noise_sums, scores[y] - scores[rivals[0]])
        changed = False
        for q in range(rivals.size):
            r = rivals[q]
            m = margin_of(row, table, y, r) if changed else scores[y] - scores[r]
            v_y = times_row(covariance[y], row, pulls[0])
            v_r = times_row(covariance[r], row, pulls[1])
            if not math.isfinite(m + v_y + v_r):
                return int(i)
            v_y = at_least(v_y, pulls[0], covariance[y])
            v_r = at_least(v_r, pulls[1], covariance[r])
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
    every, parts = np.empty(columns), np.empty((3, columns))
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            continue
        scores = every[:known]
        score_classes(row, table, scores, 0, 0)
        if new or beaten(scores, y):
            model.counters[1] += 1
        if model.calibrator.size:
            follow(scores, y, model.calibrator, parts)
        a = row_constant(rule.a, model.noise_sums, scores[y])
        changed, trace = False, np.inf
        for column in range(known):
            sign = 1.0 if column == y else -1.0
            m = sign * scores[column]
            v = times_row(covariance[column], row, pulls[0])
            if not math.isfinite(m + v):
                return int(i)
            v = at_least(v, pulls[0], covariance[column])
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


def spread_full(rows: Rows, covariance: Any, constant: float, pull: Any, deviation: Any) -> None:
    """The deviation of every row's scores, by column, also where its square underflows."""
    for i in range(deviation.shape[0]):
        row = row_of(rows, i, constant)
        for column in range(deviation.shape[1]):
            v = times_row(covariance[column], row, pull)
            scale = 1.0
            if not SMALL < v < LARGE:
                scale = largest(row.start, row.stop, row.data, constant)
                v = 0.0
                if scale > 0.0:
                    v = constant / scale * (pull[0] / scale)
                    for k in range(row.start, row.stop):
                        v += np.float64(row.data[k]) / scale * (pull[row.indices[k] + 1] / scale)
            deviation[i, column] = scale * math.sqrt(max(v, 0.0))


def full_buffers_type(real: Any) -> Any:
    """The type of `FullBuffers`."""
    return types.NamedTuple([array(f8, 2), array(real)], FullBuffers)


LEARN_FULL = Kernel(
    learn_full,
    lambda real: i8(examples(real), model_arrays(real), STEP_RULE, f8, full_buffers_type(real)),
    allocates=True,
)
LEARN_FULL_RIVALS = Kernel(
    learn_full_rivals,
    lambda real: i8(
        examples(real), model_arrays(real), STEP_RULE, f8, i8, i8, full_buffers_type(real)
    ),
    allocates=True,
)
LEARN_FULL_ONE_VS_REST = Kernel(
    learn_full_one_vs_rest,
    lambda real: i8(examples(real), model_arrays(real), STEP_RULE, f8, i8, full_buffers_type(real)),
    allocates=True,
)
SPREAD_FULL = Kernel(
    spread_full,
    lambda real: types.void(rows(real), given(real, 3), f8, array(f8), array(f8, 2)),
)
