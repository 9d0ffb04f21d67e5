"""Adaptive regularization of weights (AROW).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) + (1/2r) max(0, 1 − y μ·x)² + (1/2r) xᵀΣx, for every
example whose margin is below 1.

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; t = αv, how far the margin moves;
E = v/r, the precision the example adds; w_p = s_p x_p², the share of feature p in v.

Differs: the step is written with t and E; the numbers are those of the paper.

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one.

Differs: a weight c multiplies the two costs, which is r/c in place of r.

Differs: with many classes and the scheme "exact", the two costs are added up over the rivals; the
multipliers then follow from the margins in ascending order, without iterating.

Cite: Koby Crammer, Alex Kulesza and Mark Dredze. Adaptive regularization of weight vectors.
NIPS 2009.
"""

from sureline.rules.parameters import COSTS
from sureline.rules.registry import (
    COVARIANCES,
    Parameter,
    Rule,
    Vector,
    imbalance,
    register,
)


def step(m: float, v: float, c: float, r: float, _: float) -> tuple[float, float]:
    if m >= 1.0:
        return 0.0, 0.0
    r = r / c
    return (1.0 - m) * (v / (v + r)), v / r


def exact(m: float, v: float, w: Vector, t: float, E: float, c: float, r: float, _: float) -> float:
    for p in range(w.size):
        w[p] = 1.0 + w[p] * c / r
    return t


def joint(
    m: Vector,
    v_y: float,
    v_r: Vector,
    w_y: Vector,
    w_r: Vector,
    c: float,
    r: float,
    _: float,
    alpha: Vector,
    gain: Vector,
) -> bool:
    if m[0] >= 1.0:
        return False
    r = r / c
    A = B = S = 0.0
    for j in range(m.size):
        if 1.0 - m[j] > v_y * S:
            A += (1.0 - m[j]) / (v_r[j] + r)
            B += 1.0 / (v_r[j] + r)
            S = A / (1.0 + v_y * B)
    for j in range(m.size):
        alpha[j] = max(0.0, 1.0 - m[j] - v_y * S) / (v_r[j] + r)
        gain[j] = 1.0 / r
    return True


def residual(m: float, v: float, t: float, E: float, r: float, _: float) -> float:
    if t == 0.0:
        return float(m < 1.0)
    return max(imbalance(r * t, v * t, v * m, -v), imbalance(r * E, -v))


def exact_residual(
    m: float, v: float, w: Vector, t: float, growth: Vector, r: float, _: float
) -> float:
    gains = (imbalance(g, -1.0, -x / r) for g, x in zip(growth, w, strict=True))
    return max(imbalance(r * t, v * t, v * m, -v), *gains)


register(
    Rule(
        module=__name__,
        name="arow",
        estimator="AROWClassifier",
        parameters=(
            Parameter(
                "r",
                1.0,
                0.0,
                float("inf"),
                "How little an example counts: a large r learns slowly and tolerates wrong labels, "
                "a small one follows every example. With 'auto' it is estimated from the rows: "
                "6 times the root of the share of margins below 0 in the squares of all margins, "
                "each measured before the row is learned, in the first pass. That is made for "
                "texts with weighting='nb'; on plain rows it is too large, and a number does "
                "better.",
                grid=COSTS,
                auto=True,
            ),
        ),
        constants=lambda r: (r,),
        step=step,
        covariances=COVARIANCES,
        exact=exact,
        residual=residual,
        exact_residual=exact_residual,
        parallel=True,
        joint=dict.fromkeys(("diagonal-kl", "diagonal-l2", "diagonal-exact"), joint),
    )
)
