"""The probability that a weight vector drawn from a box scores a row above zero.

The score is m + Σ a_k U_k, with U_k uniform on [−1, 1] and a_k = σ_k |x_k|. With a the widest of
the a_k and R the sum of the others, the probability is 1/2 + (B(m + a) − B(m − a)) / 4a, where
B(x) = E|x + R| is |x| beyond the reach of R and otherwise the characteristic function's Fourier
series of a function of period 2L: L/2 − (4L/π²) Σ_{j odd} cos(πjx/L) Π_k sinc(a_k πj/L) / j².
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Rows, array, f8, given, i8, rows
from sureline.kernels.compiling import Kernel

TERMS = 20_000  # at most; with three features or more 100 are plenty, unless widths are far apart
ACCURATE = 1e-13
FAR = 9.0  # deviations beyond which a normal tail counts as out of reach


@register_jitable
def characteristic(widths: Any, variance: float, t: float) -> tuple[float, float]:
    """The characteristic function of R at t, and a bound of it that only falls with t."""
    value, bound = math.exp(-0.5 * variance * t * t), 1.0
    for a in widths:
        z = a * t
        value *= math.sin(z) / z if z > 1e-8 else 1.0
        bound *= 1.0 / z if z > 1.0 else 1.0
        if bound < 1e-20:
            return 0.0, 0.0
    return value, bound * math.exp(-0.5 * variance * t * t)


@register_jitable
def share_above(m: float, widest: float, widths: Any, variance: float, beyond: float) -> float:
    """The probability for one row: the widest a_k, others, and a normal rest of that variance."""
    reach = min(beyond, FAR * math.sqrt(variance))
    for a in widths:
        reach += a
    right, left = m + widest, m - widest
    B_right, B_left = abs(right), abs(left)
    if widths.size == 1 and variance == 0.0:
        if B_right < reach:
            B_right = 0.5 * (right * right / reach + reach)
        if B_left < reach:
            B_left = 0.5 * (left * left / reach + reach)
    elif reach > 0.0 and (B_right < reach or B_left < reach):
        L = 2.0 * reach
        sum_right = sum_left = 0.0
        for term in range(TERMS):
            j = 2.0 * term + 1.0
            t = math.pi * j / L
            value, bound = characteristic(widths, variance, t)
            sum_right += math.cos(t * right) * value / (j * j)
            sum_left += math.cos(t * left) * value / (j * j)
            if bound * L < ACCURATE * j * widest:
                break
        scale = 4.0 * L / (math.pi * math.pi)
        if B_right < reach:
            B_right = 0.5 * L - scale * sum_right
        if B_left < reach:
            B_left = 0.5 * L - scale * sum_left
    return min(1.0, max(0.0, 0.5 + (B_right - B_left) / (4.0 * widest)))


@register_jitable
def share_of_row(m: float, a: Any, kept: int, enough: float, top: Any) -> tuple[float, bool]:
    """The probability for the widths `a`, and whether it is exact."""
    reach = square = fourth = 0.0
    for width in a:
        reach += width
        square += width * width
        fourth += width**4
    if m >= reach or m <= -reach:
        if m == 0.0:
            return 0.5, True
        return (1.0 if m > 0.0 else 0.0), True
    if square * square >= enough * fourth and a.size > kept:
        return 0.5 * math.erfc(-m * math.sqrt(1.5 / square)), False
    # The widest in descending order, by insertion.
    size, variance, beyond = 0, 0.0, 0.0
    for width in a:
        if width <= 0.0:
            continue
        if size == kept and width <= top[size - 1]:
            variance += width * width / 3.0
            beyond += width
            continue
        if size == kept:
            variance += top[size - 1] ** 2 / 3.0
            beyond += top[size - 1]
            size -= 1
        place = size
        while place > 0 and top[place - 1] < width:
            top[place] = top[place - 1]
            place -= 1
        top[place] = width
        size += 1
    return share_above(m, top[0], top[1:size], variance, beyond), variance == 0.0


def share(
    rows: Rows,
    box: Any,
    constant: float,
    kept: int,
    enough: float,
    a: Any,
    top: Any,
    out: Any,
) -> int:
    """The probability of every row; return how many of them are exact.

    A row of more than `kept` features is taken as normal where at least `enough` of them, in
    effect, share its variance; else the `kept` widest are exact and the rest is normal. `a` and
    `top` are buffers.
    """
    indptr, indices, data = rows
    exact = 0
    for i in range(out.size):
        mean, size = constant * box[0, 0], 0
        if constant > 0.0:
            a[0] = box[0, 1]
            size = 1
        for k in range(indptr[i], indptr[i + 1]):
            j, x = indices[k] + 1, np.float64(data[k])
            mean += x * box[j, 0]
            a[size] = abs(x) * box[j, 1]
            size += 1
        out[i], known = share_of_row(mean, a[:size], kept, enough, top)
        exact += int(known)
    return exact


def deviate(rows: Rows, boxes: Any, constant: float, deviation: Any) -> None:
    """The standard deviation of every row's score, by class."""
    indptr, indices, data = rows
    for i in range(deviation.shape[0]):
        for column in range(boxes.shape[0]):
            square = constant * boxes[column, 0, 1] ** 2
            for k in range(indptr[i], indptr[i + 1]):
                square += (np.float64(data[k]) * boxes[column, indices[k] + 1, 1]) ** 2
            deviation[i, column] = math.sqrt(square / 3.0)


SHARE = Kernel(
    share,
    lambda real: i8(rows(real), given(f8, 2), f8, i8, f8, array(f8), array(f8), array(f8)),
)
DEVIATE = Kernel(deviate, lambda real: types.void(rows(real), given(f8, 3), f8, array(f8, 2)))
