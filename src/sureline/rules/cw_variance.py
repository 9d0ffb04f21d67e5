"""Confidence-weighted learning with the variance constraint (CW-variance).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) subject to y μ·x ≥ φ xᵀΣx. The probability that the
example is classified right is at least the confidence when y μ·x ≥ φ √(xᵀΣx); dropping the root
makes the constraint linear in Σ.

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; φ = Φ⁻¹(confidence);
t = αv, how far the margin moves; E = 2αφv, the precision the example brings;
w_p = s_p x_p², the share of feature p in v.

Differs: the root of (18) is taken in a form that does not cancel, and α and β are kept as t = αv
and E = βv/(1 − βv), so that nothing overflows when v is tiny.

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one.

Differs: a weight c in (0, 1] goes that share of the way from the old Gaussian to the new one; the
paper's hard constraint has no notion of a weight.

Differs: the exact diagonal solves (33) by Newton's method from the full-covariance root, which
climbs to the solution without a bracket, in place of bisection.

Cite: Mark Dredze, Koby Crammer and Fernando Pereira. Confidence-weighted linear classification.
ICML 2008.

Cite: Koby Crammer, Mark Dredze and Fernando Pereira. Confidence-weighted linear classification for
text categorization. JMLR 13, 2012. Equation numbers are this paper's.
"""

import math

from sureline.rules.parameters import CONFIDENCE, INITIAL_VARIANCE, phi_of
from sureline.rules.registry import COVARIANCES, Rule, Vector, imbalance, register


def step(m: float, v: float, c: float, phi: float, _: float) -> tuple[float, float]:
    if m >= phi * v:  # (10) holds
        return 0.0, 0.0
    b = 1.0 + 2.0 * phi * m
    R = math.hypot(1.0 - 2.0 * phi * m, phi * math.sqrt(8.0 * v))
    if b > 0.0:
        t = 2.0 * (phi * v - m) / (b + R)  # (18)
    else:
        t = (R - b) / (4.0 * phi)  # (18)
    return t, 2.0 * phi * t  # (13), (17)


def exact(
    m: float, v: float, w: Vector, t: float, E: float, c: float, phi: float, _: float
) -> float:
    if phi < 1e-100:
        w[:] = 1.0
        return t
    for _iteration in range(50):
        f, slope = m + t, 1.0
        for p in range(w.size):
            kept = w[p] / (1.0 + 2.0 * phi * t * (w[p] / v))
            f -= phi * kept  # (33)
            slope += 2.0 * phi * phi * kept * (kept / v)
        climb = -f / slope
        if not climb > 0.0:
            break
        t += climb
        if climb <= 1e-13 * t:
            break
    for p in range(w.size):
        w[p] = 1.0 + 2.0 * phi * t * (w[p] / v)
    return t


def residual(m: float, v: float, t: float, E: float, phi: float, _: float) -> float:
    if t == 0.0:
        return float(m < phi * v)
    return max(
        imbalance(m, t, -phi * v / (1.0 + E)),  # (10) with equality
        imbalance(E, -2.0 * phi * t),  # (13)
    )


def exact_residual(
    m: float, v: float, w: Vector, t: float, growth: Vector, phi: float, _: float
) -> float:
    kept = sum(w / growth)
    gains = (imbalance(g, -1.0, -2.0 * phi * t * x / v) for g, x in zip(growth, w, strict=True))
    return max(imbalance(m, t, -phi * kept), *gains)


register(
    Rule(
        module=__name__,
        name="cw-variance",
        estimator="CWClassifier",
        settings={"constraint": "variance"},
        parameters=(CONFIDENCE, INITIAL_VARIANCE),
        constants=phi_of,
        step=step,
        covariances=COVARIANCES,
        exact=exact,
        residual=residual,
        exact_residual=exact_residual,
        weight="share",
    )
)
