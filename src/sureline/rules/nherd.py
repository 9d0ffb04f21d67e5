"""Normal herding (NHERD): move every weight vector of the distribution at once.

Problem: over means μ and linear maps A, argmin ½ (μ − μᵢ)ᵀΣᵢ⁻¹(μ − μᵢ)
+ ½ tr((A − I)ᵀΣᵢ⁻¹(A − I)Σᵢ) + (C/2) (max(0, 1 − y μ·x)² + xᵀAΣᵢAᵀx), with Σ = AΣᵢAᵀ, for every
example whose margin is below 1.

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; t = αv, how far the margin moves;
E = (2C + C²v) v, the precision the example adds; w_p = s_p x_p², the share of feature p in v.

Differs: the step is written with t and E; the paper's "project" is the covariance "diagonal-kl",
its "drop" is "diagonal-l2", its "exact" is "diagonal-exact".

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one.

Differs: a weight c, relative to the largest, multiplies the cost: C·c in place of C, by analogy
with AROW. Absolute weights above 1 would let the variances collapse after a few examples.

Cite: Koby Crammer and Daniel Lee. Learning via Gaussian herding. NIPS 2010.
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


def step(m: float, v: float, c: float, C: float, _: float) -> tuple[float, float]:
    if m >= 1.0:
        return 0.0, 0.0
    C = C * c
    return (1.0 - m) * (v / (v + 1.0 / C)), (2.0 + C * v) * (C * v)


def exact(m: float, v: float, w: Vector, t: float, E: float, c: float, C: float, _: float) -> float:
    for p in range(w.size):
        w[p] = (1.0 + C * c * w[p]) ** 2
    return t


def residual(m: float, v: float, t: float, E: float, C: float, _: float) -> float:
    if t == 0.0:
        return float(m < 1.0)
    # Stationary in μ: t = C v (1 − m − t); in A: A = (I + C Σ x xᵀ)⁻¹, hence 1 + E = (1 + Cv)²
    return max(
        imbalance(t, -C * v, C * v * m, C * v * t),
        imbalance(1.0, E, -((1.0 + C * v) ** 2)),
    )


def exact_residual(
    m: float, v: float, w: Vector, t: float, growth: Vector, C: float, _: float
) -> float:
    gains = (imbalance(g, -((1.0 + C * x) ** 2)) for g, x in zip(growth, w, strict=True))
    return max(imbalance(t, -C * v, C * v * m, C * v * t), *gains)


register(
    Rule(
        module=__name__,
        name="nherd",
        estimator="NHERDClassifier",
        parameters=(
            Parameter(
                "C",
                1.0,
                0.0,
                float("inf"),
                "The cost of missing the margin: a small C learns slowly and tolerates wrong "
                "labels.",
                grid=COSTS,
            ),
        ),
        constants=lambda C: (C,),
        step=step,
        covariances=COVARIANCES,
        exact=exact,
        residual=residual,
        exact_residual=exact_residual,
        weight="relative-cost",
    )
)
