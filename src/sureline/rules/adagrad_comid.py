"""AdaGrad with composite mirror descent (COMID), hinge loss and l1.

Problem: at every example, argmin g·w + λ‖w‖₁ + (1/2η) Σ_p H_p (w_p − w_p,ᵢ)², where g is a
subgradient of max(0, 1 − y w·x) at wᵢ.

Symbols: G = Σ g², feature by feature; H = δ + √G; λ = l1; η = eta, the size of a step. An untouched
feature only shrinks: k skipped examples are one soft threshold by kλη/H_p, applied when it is next
read.

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


def shrunk(w: float, G: float, steps: float, eta: float, l1: float, delta: float) -> float:
    return math.copysign(max(0.0, abs(w) - steps * l1 * eta / (delta + math.sqrt(G))), w)


def score(row: Any, table: Any, column: int, stamps: Any, clock: int, p: Vector) -> float:
    start, stop, indices, data, constant = row
    eta, l1, delta = p[0], p[1], p[2]
    total: float = constant * np.float64(table[0, 0, column])
    for k in range(start, stop):
        j, x = indices[k] + 1, np.float64(data[k])
        w, G = np.float64(table[j, 0, column]), np.float64(table[j, 1, column])
        total += x * shrunk(w, G, clock - stamps[j, column], eta, l1, delta)
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
    eta, l1, delta = p[0], p[1], p[2]
    G = np.float64(table[0, 1, column]) + c * c * constant
    table[0, 0, column] += eta * c * y * constant / (delta + math.sqrt(G))
    table[0, 1, column] = G
    for k in range(start, stop):
        j, x = indices[k] + 1, np.float64(data[k])
        w, G = np.float64(table[j, 0, column]), np.float64(table[j, 1, column])
        held = shrunk(w, G, clock - stamps[j, column], eta, l1, delta)
        G += c * c * x * x
        z = held + eta * c * y * x / (delta + math.sqrt(G))
        table[j, 0, column] = shrunk(z, G, 1.0, eta, l1, delta)
        table[j, 1, column] = G
        stamps[j, column] = clock + 1
    return True


def weights(values: Any, stamps: Any, clock: int, p: Vector) -> Any:
    eta, l1, delta = p
    w, G = values[:, 0], values[:, 1]
    due = (clock - stamps) * l1 * eta / (delta + np.sqrt(G))
    due[0] = 0.0
    return np.copysign(np.maximum(0.0, np.abs(w) - due), w)


def slots(w: Any, mean: Any, total: Any, clock: int, p: Vector) -> Any:
    return np.column_stack([w, mean[:, 1]])


def residual(w: float, g: float, H: float, new: float, eta: float, l1: float) -> float:
    there, here = H * new / eta, H * w / eta
    if new == 0.0:
        return max(0.0, abs(g - here) - l1) / (abs(here) + abs(g) + l1)
    return imbalance(there, -here, g, math.copysign(l1, new))


register(
    Rule(
        module=__name__,
        name="adagrad-comid",
        estimator="AdaGradClassifier",
        settings={"variant": "comid"},
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
            inlined=(shrunk,),
            stamps=True,
        ),
    )
)
