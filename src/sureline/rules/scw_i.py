"""Soft confidence-weighted learning, linear slack (SCW-I).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) + C max(0, φ √(xᵀΣx) − y μ·x).

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; φ = Φ⁻¹(confidence);
t = αv, how far the margin moves; u = √v⁺, the margin's deviation after the step;
E = φt/u, the precision the example adds.

Differs: the roots are taken in a form that does not cancel, and u follows from α after it is capped
at C.

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
    p1, p2 = 1.0 + phi * phi / 2.0, 1.0 + phi * phi
    R = phi * math.hypot(m * phi / 2.0, sv * math.sqrt(p2))
    if m > 0.0:
        t = (phi * sv - m) * (phi * sv + m) / (m * p1 + R)
    else:
        t = (R - m * p1) / p2
    t = min(t, C * c * v)
    u = 2.0 * v / (t * phi + math.hypot(t * phi, 2.0 * sv))
    return t, phi * (t / u)


def residual(m: float, v: float, t: float, E: float, phi: float, C: float) -> float:
    if t == 0.0:
        return float(m < phi * math.sqrt(v))
    u = math.sqrt(v / (1.0 + E))
    short = t >= C * v and m + t <= phi * u  # then the price is paid in full
    met = imbalance(t, -C * v) if short else imbalance(m, t, -phi * u)
    return max(met, imbalance(E * u, -phi * t))


register(
    Rule(
        module=__name__,
        name="scw-i",
        estimator="SCWClassifier",
        settings={"variant": 1},
        parameters=(CONFIDENCE, SLACK_COST),
        constants=phi_and_cost,
        step=step,
        covariances=("diagonal-kl", "diagonal-l2", "full"),
        residual=residual,
    )
)
