"""The stochastic method for boxes in slow, obvious NumPy: ends of intervals, dense rows, no tricks.

The kernel is compared with this. It keeps centres and half widths and takes features as they come;
here are the ends u and v, the paper's lemmas, and an average over every feature at every step.
"""

from __future__ import annotations

import math

import numpy as np

# The largest a (level - M) - (κ/2) a² with 0 ≤ a ≤ cap is the loss of a margin M.
LOSSES = {
    "hinge": (1.0, 0.0, 1.0),
    "squared-hinge": (1.0, 0.5, math.inf),
    "huber": (1.5, 1.0, 1.0),
}


def positive(a, b, c):
    """The positive z with a z² - b z - c = 0."""
    return (b + math.sqrt(b * b + 4.0 * a * c)) / (2.0 * a)


def lemma_4(u, v, C, D, square=True):
    """BoW-M in (u, v), with the missing squares put in, or as printed."""
    a = 2.0 * (1.0 + D) * (1.0 + 2.0 * D)

    def case(near, far, larger):
        b = -near * (1.0 + 2.0 * D) - far * (3.0 + 4.0 * D)
        g = (far**2 if square else far) + near * far - C
        inside = b * b - 4.0 * a * g
        if inside < 0.0:
            return None
        root = (-b + (1.0 if larger else -1.0) * math.sqrt(inside)) / (2.0 * a)
        return near + far - (1.0 + 2.0 * D) * root, root

    first = case(u, v, True)
    if first and first[1] > max(first[0], -first[0]):
        return first
    second = case(v, u, False)
    if second and second[1] < min(second[0], -second[0]):
        return second[1], second[0]
    width = positive(2.0 + 2.0 * D, v - u, C)
    return -width, width


def lemma_5(u, v, C, D, shift=1.0):
    """BoW-S in (u, v), with −C, or with the printed −4C."""
    k = 1.0 + 2.0 * D
    a, b = 2.0 * k * k, -k * (3.0 * u + v)
    g = u * u + u * v - shift * C - 2.0 * C * D
    root = (-b - math.sqrt(max(0.0, b * b - 4.0 * a * g))) / (2.0 * a)
    return root, (u + v) / k - root


class StreamOracle:
    """A box that learns rows, the constant feature first, one after the other."""

    def __init__(self, features, regularizer, loss, C, D, eta, counts=None, total=0.0):
        self.C, self.D, self.eta, self.loss = C, D, eta, LOSSES[loss]
        self.lemma = lemma_4 if regularizer == "max" else lemma_5
        start = math.sqrt(C / (2.0 * D) if regularizer == "max" else C / (4.0 * D))
        self.u, self.v = np.full(features, -start), np.full(features, start)
        self.time = self.lengths = 0.0
        self.counting = counts is None
        self.counts, self.total = np.zeros(features) if counts is None else counts, total
        self.sum = np.zeros((2, features))

    def learn(self, x, y, w=1.0):
        """Take one step: t counts examples, of which one of weight w is w."""
        before = self.time
        self.time += w
        self.lengths += w * math.sqrt(x @ x)
        if self.counting:
            self.total += w
            self.counts += w * (x != 0.0)
        length = self.lengths / self.time
        step = 1.0 / (4.0 * self.D * self.time + length**2 / self.eta)
        # The worst weight vector in the box has an end of every interval.
        z_v, z_u = y * x - np.abs(x), y * x + np.abs(x)
        margin = 0.5 * (self.v @ z_v + self.u @ z_u)
        level, kappa, cap = self.loss
        # Half way to the step at whose end the slope is taken: what the step adds to the margin is
        # a·step·|x|².
        bend = kappa / w + 0.5 * step * (x @ x)
        a = cap * w
        if bend > 0.0:  # else an empty row, which moves nothing
            a = min(max((level - margin) / bend, 0.0), a)
        u, v = self.u + 0.5 * step * a * z_u, self.v + 0.5 * step * a * z_v
        for k in np.flatnonzero(x):
            share = step * w * self.total / self.counts[k]
            self.u[k], self.v[k] = self.lemma(u[k], v[k], self.C * share, self.D * share)
        heft = 0.5 * (self.time * (self.time + 1.0) - before * (before + 1.0))
        self.sum += heft * np.array([self.u, self.v])

    def average(self):
        """Centres and half widths of the average box, in which the t-th step counts t times."""
        u, v = self.sum / (0.5 * self.time * (self.time + 1.0))
        return 0.5 * (u + v), 0.5 * (v - u)
