"""AdaGrad with regularized dual averaging (RDA), hinge loss and l1.

Problem: after t examples, argmin ḡ·w + λ‖w‖₁ + (1/2ηt) Σ_p H_p w_p², where ḡ is the mean of the
subgradients of max(0, 1 − y w·x) so far.

Symbols: S = Σ g and G = Σ g², feature by feature; H = δ + √G; λ = l1; η = eta, the size of a step;
t counts all examples, also those that were right. w_p = −sign(S_p) (η/H_p) max(0, |S_p| − λt) is
computed when it is read, so that untouched features cost nothing.

Differs: l1 does not touch the intercept.

Differs: an example of weight c has the gradient c·g.

Cite: John Duchi, Elad Hazan and Yoram Singer. Adaptive subgradient methods for online learning and
stochastic optimization. JMLR 12, 2011.
"""

import math
from typing import Any

import numpy as np

from sureline.rules.parameters import ADAGRAD
from sureline.rules.registry import OwnKernel, Rule, Vector, imbalance, register


def weight_of(S: float, G: float, t: float, eta: float, l1: float, delta: float) -> float:
    return -math.copysign(eta * max(0.0, abs(S) - l1 * t) / (delta + math.sqrt(G)), S)


def score(row: Any, table: Any, column: int, stamps: Any, clock: int, p: Vector) -> float:
    start, stop, indices, data, constant = row
    eta, l1, delta = p[0], p[1], p[2]
    S, G = np.float64(table[0, 0, column]), np.float64(table[0, 1, column])
    total: float = constant * weight_of(S, G, 0.0, eta, l1, delta)
    for k in range(start, stop):
        j, x = indices[k] + 1, np.float64(data[k])
        S, G = np.float64(table[j, 0, column]), np.float64(table[j, 1, column])
        total += x * weight_of(S, G, clock, eta, l1, delta)
    return total


def update(
    row: Any,
    table: Any,
    column: int,
    stamps: Any,
    clock: int,
    p: Vector,
    m: float,
    y: float,
    c: float,
) -> bool:
    start, stop, indices, data, constant = row
    if m >= 1.0:
        return False
    table[0, 0, column] -= c * y * constant
    table[0, 1, column] += c * c * constant
    for k in range(start, stop):
        j, x = indices[k] + 1, np.float64(data[k])
        table[j, 0, column] -= c * y * x
        table[j, 1, column] += c * c * x * x
    return True


def weights(values: Any, stamps: Any, clock: int, p: Vector) -> Any:
    eta, l1, delta = p
    S, G = values[:, 0], values[:, 1]
    beyond = np.maximum(0.0, np.abs(S) - l1 * clock)
    beyond[0] = abs(S[0])
    return -np.copysign(eta * beyond / (delta + np.sqrt(G)), S)


def slots(w: Any, mean: Any, total: Any, clock: int, p: Vector) -> Any:
    eta, l1, delta = p
    G, free = mean[:, 1], l1 * clock * (np.arange(len(w)) > 0)  # what l1 takes away
    moved = -np.copysign(np.abs(w) * (delta + np.sqrt(G)) / eta + free, w)
    return np.column_stack([np.where(w == 0.0, np.clip(total[:, 0], -free, free), moved), G])


def residual(S: float, H: float, t: float, new: float, eta: float, l1: float) -> float:
    mean = S / t
    if new == 0.0:
        return max(0.0, abs(mean) - l1) / (abs(mean) + l1)
    return imbalance(mean, math.copysign(l1, new), H * new / (eta * t))


register(
    Rule(
        module=__name__,
        name="adagrad-rda",
        estimator="AdaGradClassifier",
        settings={"variant": "rda"},
        parameters=ADAGRAD,
        constants=lambda eta, l1, delta: (eta, l1, delta),
        residual=residual,
        several=False,
        kernel=OwnKernel(
            score=score,
            update=update,
            weights=weights,
            slots=slots,
            initial=lambda *_: (0.0, 0.0),
            inlined=(weight_of,),
        ),
    )
)
