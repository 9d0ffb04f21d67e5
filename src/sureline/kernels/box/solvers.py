"""Loops over rows for a box of weights: dual ascent, stochastic steps, margins, certificates.

A box has an interval per feature, kept as (centre, half width); row 0 of every table belongs to the
constant feature, whose value is `constant`. The dual of a box is kept as (p, q), the sums over
examples of a·y·x and a·|x|; the rule turns them into an interval. Three numbers describe a loss:
loss(M) = max over 0 ≤ a ≤ cap of a (level − M) − (κ/2) a².
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Rows, array, f8, flag, given, i8, rows
from sureline.kernels.compiling import Kernel
from sureline.kernels.numba_internals import Callee

INTERVAL = types.UniTuple(f8, 2)(f8, f8, f8, f8)
COST = f8(f8, f8, f8, f8)


class DualRows(NamedTuple):
    """Rows with their signs, and the cap and the κ of each row's loss."""

    rows: Rows
    sign: Any
    cap: Any
    kappa: Any


class DualProblem(NamedTuple):
    """What the exact solver minimises; `constant` is the value of the constant feature."""

    primal: Any
    cost: Any
    C: float
    D: float
    level: float
    constant: float


class StreamProblem(NamedTuple):
    """What the stochastic solver minimises; `level`, `kappa` and `cap` describe the loss.

    `eta` is the length of its first steps.
    """

    prox: Any
    C: float
    D: float
    eta: float
    level: float
    kappa: float
    cap: float
    constant: float


class StreamRows(NamedTuple):
    """Rows with their classes and weights, and the order in which to visit them."""

    rows: Rows
    codes: Any
    weight: Any
    order: Any


class StreamArrays(NamedTuple):
    """What the stochastic solver keeps: iterates, their weighted sums and counters.

    `clocks` has the time, the number of examples counted, and the sum of the lengths of rows; an
    example of weight w takes the time w and counts w times. `counts` has by feature how many
    examples had it, `stamps` the time after which its interval is not in `sums` yet, plus 1, or 0
    if it was never touched. `boxes` and `sums` are by class.
    """

    clocks: Any
    counts: Any
    stamps: Any
    boxes: Any
    sums: Any


@register_jitable
def answer(margin: float, level: float, kappa: float, cap: float) -> float:
    """The a at which an example's loss takes its maximum; minus the slope of the loss."""
    short = level - margin
    if short <= 0.0:
        return 0.0
    return cap if short >= kappa * cap else short / kappa


def ascend(
    examples: DualRows,
    problem: DualProblem,
    curvature: Any,
    order: Any,
    a: Any,
    dual: Any,
    trail: Any,
) -> float:
    """Raise the dual one example at a time, in `order`; return the gap seen on the way.

    `curvature` bounds that of each example's line from above, so that every step goes up. There are
    as many passes as `trail` has rows, each of which, unless empty, takes the a after its pass.
    """
    (indptr, indices, data), sign, cap, kappa = examples
    primal, C, D = problem.primal, problem.C, problem.D
    level, constant = problem.level, problem.constant
    gap = 0.0
    for turn in range(trail.shape[0] * order.size):
        i = order[turn % order.size]
        start, stop = indptr[i], indptr[i + 1]
        y, old, bend = sign[i], a[i], kappa[i]
        margin = 0.0
        if constant > 0.0:
            mu, sigma = primal(dual[0, 0], dual[0, 1], C, D)
            margin = y * mu - sigma
        for k in range(start, stop):
            j, x = indices[k] + 1, np.float64(data[k])
            mu, sigma = primal(dual[j, 0], dual[j, 1], C, D)
            margin += y * x * mu - abs(x) * sigma
        if not math.isfinite(margin):
            return math.nan
        short, best = level - margin, answer(margin, level, bend, cap[i])
        gap += (best - old) * (short - 0.5 * bend * (best + old))
        if curvature[i] > 0.0:
            a[i] = min(max(old + (short - bend * old) / curvature[i], 0.0), cap[i])
        else:  # an empty row, whose loss does not depend on the box
            a[i] = best
        step = a[i] - old
        if step != 0.0:
            if constant > 0.0:
                dual[0, 0] += step * y
                dual[0, 1] += step
            for k in range(start, stop):
                j, x = indices[k] + 1, np.float64(data[k])
                dual[j, 0] += step * y * x
                dual[j, 1] += step * abs(x)
        if (turn + 1) % order.size == 0 and trail.shape[1] > 0:
            trail[turn // order.size] = a
    return gap


def gather(rows: Rows, sign: Any, a: Any, constant: float, dual: Any) -> None:
    """Add up (p, q) anew, so that no rounding of the steps is left; untouched rows stay 0."""
    indptr, indices, data = rows
    dual[0, 0] = dual[0, 1] = 0.0
    for k in range(indptr[0], indptr[-1]):
        j = indices[k] + 1
        dual[j, 0] = dual[j, 1] = 0.0
    for i in range(sign.size):
        if a[i] > 0.0:
            step = a[i] * sign[i]
            dual[0, 0] += step * constant
            dual[0, 1] += a[i] * constant
            for k in range(indptr[i], indptr[i + 1]):
                j, x = indices[k] + 1, np.float64(data[k])
                dual[j, 0] += step * x
                dual[j, 1] += a[i] * abs(x)


def unfold(touched: Any, problem: DualProblem, dual: Any, box: Any) -> None:
    """The intervals that (p, q) stand for."""
    for j in touched:
        mu, sigma = problem.primal(dual[j, 0], dual[j, 1], problem.C, problem.D)
        box[j, 0], box[j, 1] = mu, sigma


def weigh(touched: Any, problem: DualProblem, dual: Any, other: Any) -> float:
    """What the touched features add to the value of a dual point, more than to that of another."""
    primal = problem.primal
    cost, C, D = problem.cost, problem.C, problem.D
    total = 0.0
    for j in touched:
        p, q = dual[j, 0], dual[j, 1]
        mu, sigma = primal(p, q, C, D)
        total += cost(mu, sigma, C, D) - p * mu + q * sigma
        p, q = other[j, 0], other[j, 1]
        mu, sigma = primal(p, q, C, D)
        total -= cost(mu, sigma, C, D) - p * mu + q * sigma
    return total


def certify(
    examples: DualRows,
    problem: DualProblem,
    touched: Any,
    a: Any,
    dual: Any,
    box: Any,
    out: Any,
) -> None:
    """The loss of a box, the cost of its touched intervals and its distance from a dual point.

    The distance is a sum of terms that are never negative, one per example and one per feature, so
    that nothing cancels in it.
    """
    (indptr, indices, data), sign, cap, kappa = examples
    primal = problem.primal
    cost, C, D = problem.cost, problem.C, problem.D
    level, constant = problem.level, problem.constant
    loss = spent = gap = 0.0
    for i in range(sign.size):
        if cap[i] <= 0.0:
            continue
        margin = constant * (sign[i] * box[0, 0] - box[0, 1])
        for k in range(indptr[i], indptr[i + 1]):
            j, x = indices[k] + 1, np.float64(data[k])
            margin += sign[i] * x * box[j, 0] - abs(x) * box[j, 1]
        best, short = answer(margin, level, kappa[i], cap[i]), level - margin
        loss += best * (short - 0.5 * kappa[i] * best)
        gap += (best - a[i]) * (short - 0.5 * kappa[i] * (best + a[i]))
    for j in touched:
        paid = cost(box[j, 0], box[j, 1], C, D)
        p, q = dual[j, 0], dual[j, 1]
        mu, sigma = primal(p, q, C, D)
        spent += paid
        # Exactly 0 where the interval is the dual's own.
        gap += (paid - cost(mu, sigma, C, D)) - p * (box[j, 0] - mu) + q * (box[j, 1] - sigma)
    out[0], out[1], out[2] = loss, spent, gap


@register_jitable
def area(t: float) -> float:
    """The sum of 1, 2, … t: the weight of all steps up to the time t in the average."""
    return 0.5 * t * (t + 1.0)


def descend(
    examples: StreamRows,
    problem: StreamProblem,
    counting: bool,
    turn: float,
    stream: StreamArrays,
    answers: Any,
) -> int:
    """Stochastic steps over rows, one box per class; return an overflowing row or -1.

    With `counting` the rows are counted as they come. `answers`, by class and row, collects minus
    the slopes of the losses, times the number of the pass, `turn`.
    """
    (indptr, indices, data), codes, weight, order = examples
    clocks, counts, stamps, boxes, sums = stream
    prox, C, D, eta, level, kappa, cap, constant = problem
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        w, before = weight[i], clocks[0]
        norm = constant
        for k in range(start, stop):
            norm += np.float64(data[k]) ** 2
        now = before + w
        clocks[0] = now
        clocks[2] += w * math.sqrt(norm)
        if counting:
            clocks[1] += w
            counts[0] += w
            for k in range(start, stop):
                counts[indices[k] + 1] += w
        size = 1.0 / (4.0 * D * now + (clocks[2] / now) ** 2 / eta)
        # A step adds a·size·norm to the margin: with this, however heavy the row, no more than
        # twice what the margin was short of.
        bend = kappa / w + 0.5 * size * norm
        for column in range(boxes.shape[0]):
            box, total = boxes[column], sums[column]
            y = 1.0 if codes[i] == column + (boxes.shape[0] == 1) else -1.0
            margin = constant * (y * box[0, 0] - box[0, 1])
            for k in range(start, stop):
                j, x = indices[k] + 1, np.float64(data[k])
                margin += y * x * box[j, 0] - abs(x) * box[j, 1]
            if not math.isfinite(margin):
                return int(i)
            a = answer(margin, level, bend, cap * w)
            if answers.size > 0:
                answers[column, i] += turn * a
            move = 0.5 * size * a
            first = start - 1 if constant > 0.0 else start
            for k in range(first, stop):
                j, x = 0, np.float64(1.0)
                if k >= start:
                    j, x = indices[k] + 1, np.float64(data[k])
                held = area(before) - area(stamps[j] - 1.0)
                total[j, 0] += held * box[j, 0]
                total[j, 1] += held * box[j, 1]
                share = size * w * clocks[1] / counts[j]
                box[j, 0], box[j, 1] = prox(
                    box[j, 0] + move * y * x, box[j, 1] - move * abs(x), C * share, D * share
                )
        if constant > 0.0:
            stamps[0] = before + 1.0
        for k in range(start, stop):
            stamps[indices[k] + 1] = before + 1.0
    return -1


def spread(rows: Rows, boxes: Any, constant: float, means: Any, reach: Any) -> None:
    """x·μ and |x|·σ of every row, by class."""
    indptr, indices, data = rows
    for i in range(means.shape[0]):
        for column in range(boxes.shape[0]):
            mean = constant * np.float64(boxes[column, 0, 0])
            width = constant * np.float64(boxes[column, 0, 1])
            for k in range(indptr[i], indptr[i + 1]):
                j, x = indices[k] + 1, np.float64(data[k])
                mean += x * boxes[column, j, 0]
                width += abs(x) * boxes[column, j, 1]
            means[i, column] = mean
            reach[i, column] = width


def dual_rows(real: Any) -> Any:
    """The type of `DualRows`."""
    return types.NamedTuple([rows(real), given(f8), given(f8), given(f8)], DualRows)


def stream_rows(real: Any) -> Any:
    """The type of `StreamRows`."""
    return types.NamedTuple([rows(real), given(i8), given(f8), given(i8)], StreamRows)


DUAL_PROBLEM = types.NamedTuple([Callee(INTERVAL), Callee(COST), f8, f8, f8, f8], DualProblem)
STREAM_PROBLEM = types.NamedTuple([Callee(INTERVAL), *(f8,) * 7], StreamProblem)
STREAM_ARRAYS = types.NamedTuple(
    [array(f8), array(f8), array(f8), array(f8, 3), array(f8, 3)], StreamArrays
)

ASCEND = Kernel(
    ascend,
    lambda real: f8(
        dual_rows(real), DUAL_PROBLEM, given(f8), given(i8), array(f8), array(f8, 2), array(f8, 2)
    ),
    allocates=True,
)
GATHER = Kernel(
    gather,
    lambda real: types.void(rows(real), given(f8), given(f8), f8, array(f8, 2)),
)
UNFOLD = Kernel(unfold, lambda _: types.void(given(i8), DUAL_PROBLEM, given(f8, 2), array(f8, 2)))
WEIGH = Kernel(weigh, lambda _: f8(given(i8), DUAL_PROBLEM, given(f8, 2), given(f8, 2)))
CERTIFY = Kernel(
    certify,
    lambda real: types.void(
        dual_rows(real), DUAL_PROBLEM, given(i8), given(f8), given(f8, 2), given(f8, 2), array(f8)
    ),
)
DESCEND = Kernel(
    descend,
    lambda real: i8(stream_rows(real), STREAM_PROBLEM, flag, f8, STREAM_ARRAYS, array(f8, 2)),
)
SPREAD_BOX = Kernel(
    spread,
    lambda real: types.void(rows(real), given(f8, 3), f8, array(f8, 2), array(f8, 2)),
)
