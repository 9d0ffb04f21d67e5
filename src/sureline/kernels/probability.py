"""The probability that each class has the highest score, by quadrature: no sampling.

The scores of a row are independent Gaussians. Class y wins with probability
∫ N(z; m_y, v_y) Π_{r≠y} Φ((z − m_r)/√v_r) dz; all classes share one grid of Gauss-Legendre panels,
and the products that leave one class out come from prefixes and suffixes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from sureline.kernels.compiling import Kernel, array, f8, given

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
# Where a class's density bends, in deviations from its mean; beyond the ends lies less than 1e-16.
BENDS = np.array([-8.5, -5.0, -3.0, -1.5, 0.0, 1.5, 3.0, 5.0, 8.5])
# Two breaks closer than this many deviations of the second are one.
APART = 2.0


def win(mean: Any, deviation: Any, nodes: Any, weights: Any, bends: Any, out: Any) -> None:
    """Write the probability of every column having the highest score, row by row."""
    count = mean.shape[1]
    m, sd, breaks = np.empty(count), np.empty(count), np.empty(count * bends.size + 2)
    scale = np.empty(breaks.size)
    cdf, after = np.empty(count), np.empty(count + 1)
    alive = np.empty(count, np.int64)
    for i in range(mean.shape[0]):
        widest, top = 0.0, mean[i, 0]
        for column in range(count):
            widest = max(widest, deviation[i, column])
            top = max(top, mean[i, column])
        if widest == 0.0:  # all is certain: the winners share
            winners = 0
            for column in range(count):
                winners += int(mean[i, column] == top)
            for column in range(count):
                out[i, column] = 1.0 / winners if mean[i, column] == top else 0.0
            continue
        low, high = -np.inf, -np.inf
        for column in range(count):
            m[column] = mean[i, column] - top
            sd[column] = max(deviation[i, column], 1e-9 * widest)
            low = max(low, m[column] + bends[0] * sd[column])
            high = max(high, m[column] + bends[-1] * sd[column])
        # A class that cannot reach the interval cannot win, and every other beats it there.
        living = size = 0
        for column in range(count):
            out[i, column] = 0.0
            if m[column] + bends[-1] * sd[column] > low:
                alive[living] = column
                living += 1
                for bend in bends:
                    point = m[column] + bend * sd[column]
                    if low < point < high:
                        breaks[size] = point
                        scale[size] = sd[column]
                        size += 1
        order = np.argsort(breaks[:size])
        left = low
        for q in range(size + 1):
            right, near = high, 0.0
            if q < size:
                right, near = breaks[order[q]], scale[order[q]]
            if right - left < APART * near:
                continue
            half = 0.5 * (right - left)
            for node in range(nodes.size):
                z = left + half * (1.0 + nodes[node])
                after[living] = 1.0
                for a in range(living - 1, -1, -1):
                    column = alive[a]
                    t = (z - m[column]) / sd[column]
                    cdf[a] = 0.5 * math.erfc(-t * 0.7071067811865476)
                    after[a] = after[a + 1] * cdf[a]
                before = 1.0
                for a in range(living):
                    column = alive[a]
                    t = (z - m[column]) / sd[column]
                    density = math.exp(-0.5 * t * t) * (0.3989422804014327 / sd[column])
                    out[i, column] += half * weights[node] * density * before * after[a + 1]
                    before *= cdf[a]
            left = right
        total = 0.0
        for column in range(count):
            total += out[i, column]
        for column in range(count):
            out[i, column] /= total


WIN = Kernel(
    win,
    lambda _: types.void(given(f8, 2), given(f8, 2), given(f8), given(f8), given(f8), array(f8, 2)),
    allocates=True,
)
