"""Soft confidence-weighted learning, squared slack (SCW-II).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) + C max(0, φ √(xᵀΣx) − y μ·x)².

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; φ = Φ⁻¹(confidence);
n = v + 1/(2C); t = αv, how far the margin moves; u = √v⁺, the margin's deviation after the step;
E = φt/u, the precision the example adds.

Differs: the roots are taken in a form that does not cancel.

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one.

Differs: a weight c multiplies the cost: C·c in place of C.

Cite: Jialei Wang, Peilin Zhao and Steven Hoi. Exact soft confidence-weighted learning. ICML 2012.
"""

import math

from sureline.rules.parameters import CONFIDENCE, SLACK_COST, phi_and_cost
from sureline.rules.registry import Rule, imbalance, register


def step(m: float, v: float, c: float, phi: float, C: float) -> tuple[float, float]:
    sv = math.sqrt(v)
    if m >= phi * sv:
        return 0.0, 0.0
    n = v + 1.0 / (2.0 * C * c)
    q = n + v * phi * phi
    linear = m * (n + q)
    G = phi * math.hypot(phi * m * v, 2.0 * math.sqrt(n) * sv * math.sqrt(q))
    if m > 0.0:
        alpha = 2.0 * (phi * sv - m) * (phi * sv + m) / (linear + G)
    else:
        alpha = (G - linear) / (2.0 * n * q)
    t = alpha * v
    u = 2.0 * v / (t * phi + math.hypot(t * phi, 2.0 * sv))
    return t, phi * (t / u)


def residual(m: float, v: float, t: float, E: float, phi: float, C: float) -> float:
    if t == 0.0:
        return float(m < phi * math.sqrt(v))
    u = math.sqrt(v / (1.0 + E))
    return max(
        imbalance(t / v, -2.0 * C * phi * u, 2.0 * C * m, 2.0 * C * t),
        imbalance(E * u, -phi * t),
    )


register(
    Rule(
        module=__name__,
        name="scw-ii",
        estimator="SCWClassifier",
        settings={"variant": 2},
        parameters=(CONFIDENCE, SLACK_COST),
        constants=phi_and_cost,
        step=step,
        covariances=("diagonal-kl", "diagonal-l2", "full"),
        residual=residual,
    )
)
