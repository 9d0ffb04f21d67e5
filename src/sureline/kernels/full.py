"""Learning with a full covariance matrix, for dense inputs of up to a few thousand features.

Means and covariances are float64, whatever the rows are. A covariance whose variances differ by
more than that can hold loses its definiteness to rounding. Loops notice that xᵀΣx of a row is too
small: those that learn return -2 less the row.
"""

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
    flag,
    given,
    i8,
    model_arrays,
    rows,
)
from sureline.kernels.calibration import (
    PRIOR_VARIANCE,
    SCALED,
    follow,
    is_learned,
    unknown_share,
    without_unknown,
)
from sureline.kernels.compiling import Kernel
from sureline.kernels.custom_rule import row_of
from sureline.kernels.diagonal import HUGE, TINY, shared, sign_of
from sureline.kernels.noise import row_constant
from sureline.kernels.scores import LARGE, SMALL, largest

EPSILON = 2.0**-52


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


def full_buffers(size: int, products: int) -> FullBuffers:
    """Buffers for a covariance of `size` rows, the constant feature's included."""
    return FullBuffers(np.empty((products, size)), np.empty(size))


@register_jitable
def follow_full(row: Row, model: ModelArrays, code: int, known: int, parts: Any) -> None:
    """Let the calibrator learn from a row whose scores are in line 4 of `parts`.

    Of two classes that share a column, `known` is 1. There are no thinned copies: rows of a full
    covariance are short.
    """
    calibrator = model.calibrator
    found = part = every = 0.0
    for k in range(row.start, row.stop):
        j, square = row.indices[k] + 1, np.float64(row.data[k]) * np.float64(row.data[k])
        every += square
        learned = False
        for column in range(known):
            variance = model.covariance[column, j, j]
            learned = learned or is_learned(variance, calibrator[PRIOR_VARIANCE])
        if learned:
            found += 1.0
            part += square
    intercepts = model.table[0, 0]
    follow_known(row, model, code, known, intercepts, (found, part, every), parts)


@register_jitable
def follow_known(
    row: Row,
    model: ModelArrays,
    code: int,
    known: int,
    intercepts: Any,
    amounts: tuple[float, float, float],
    parts: Any,
) -> None:
    """The same where it is known how many features of the row are, Σx² of these, and Σx² of all."""
    calibrator, count, (found, part, every) = model.calibrator, max(known, 2), amounts
    scores = parts[4, :count]
    for column in range(known):
        intercept = row.constant * np.float64(intercepts[column])
        scores[column] = without_unknown(scores[column], intercept, part, calibrator[SCALED])
    if known == 1:
        scores[1], scores[0] = scores[0], -scores[0]
    follow(scores, code, found, unknown_share(part, every), model, parts[:4])


def learn_full(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    rescale_below: float,
    buffers: FullBuffers,
) -> int:
    """Learn two classes; return the row whose numbers overflowed, -1, or -2 less the row.

    The covariance loses a rank-one product of one vector with itself, element by element, so that
    it stays symmetric to the bit. When the mean variance falls below `rescale_below`, mean and
    covariance are scaled up again, which a scale-free rule does not notice; 0 for the others.
    """
    mean, covariance = model.table.reshape(model.table.shape[0]), model.covariance[0]
    size, share, scores = mean.size, rule.share, np.empty((5, 2))
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
            scores[4, 0] = m
            follow_full(row, model, examples.codes[i], 1, scores)
        m *= y
        if m <= 0.0:
            model.counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m)
        v = at_least(v, pull, covariance, row, rescale_below > 0.0)
        if v < 0.0:
            return -2 - int(i)
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
def at_least(v: float, pull: Any, covariance: Any, row: Row, scale_free: bool) -> float:
    """The v = xᵀΣx of a row, or -1 where no positive semidefinite Σ has it.

    None is smaller than |Σx|²/tr Σ, but for the rounding of the sum. With a scale-free rule there
    is no error: under contradictory labels its variances shrink for ever, each at its own pace, and
    where one is lost in the rounding of the others, the least is what it may be.
    """
    trace = 0.0
    length = 0.0
    for j in range(pull.size):
        trace += covariance[j, j]
        length += pull[j] * pull[j]
    least: float = length / trace
    if v >= least:
        return v
    certain = not scale_free and v < least - rounding_error(covariance, row)
    return -1.0 if certain else least


@register_jitable
def rounding_error(covariance: Any, row: Row) -> float:
    """By how much rounding may change xᵀΣx: every |Σ_jk| is at most √(Σ_jj Σ_kk)."""
    reach = row.constant * math.sqrt(max(covariance[0, 0], 0.0))
    for k in range(row.start, row.stop):
        j = row.indices[k] + 1
        reach += abs(np.float64(row.data[k])) * math.sqrt(max(covariance[j, j], 0.0))
    error: float = EPSILON * covariance.shape[0] * reach * reach
    return error


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


def spread_full(
    rows: Rows, covariance: Any, constant: float, scale_free: bool, pull: Any, deviation: Any
) -> bool:
    """The deviation of every row's scores, by column, also where its square underflows.

    Returns whether all squares are at least 0, but for rounding; see `at_least`.
    """
    for i in range(deviation.shape[0]):
        row = row_of(rows, i, constant)
        for column in range(deviation.shape[1]):
            v = times_row(covariance[column], row, pull)
            if not scale_free and v < 0.0 and v < -rounding_error(covariance[column], row):
                return False
            scale = 1.0
            if not SMALL < v < LARGE:
                scale = largest(row.start, row.stop, row.data, constant)
                v = 0.0
                if scale > 0.0:
                    v = constant / scale * (pull[0] / scale)
                    for k in range(row.start, row.stop):
                        v += np.float64(row.data[k]) / scale * (pull[row.indices[k] + 1] / scale)
            deviation[i, column] = scale * math.sqrt(max(v, 0.0))
    return True


FULL_ARRAYS = model_arrays(f8)
FULL_BUFFERS = types.NamedTuple([array(f8, 2), array(f8)], FullBuffers)

LEARN_FULL = Kernel(
    learn_full,
    lambda real: i8(examples(real), FULL_ARRAYS, STEP_RULE, f8, FULL_BUFFERS),
    allocates=True,
)
SPREAD_FULL = Kernel(
    spread_full,
    lambda real: flag(rows(real), given(f8, 3), f8, flag, array(f8), array(f8, 2)),
)
