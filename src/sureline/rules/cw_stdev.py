"""Confidence-weighted learning with the standard-deviation constraint (CW-stdev).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) subject to y μ·x ≥ φ √(xᵀΣx): the example just learned is
classified right with at least the probability asked for.

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; φ = Φ⁻¹(confidence);
t = αv, how far the margin moves; u = √v⁺, the margin's deviation after the step;
E = φt/u, the precision the example brings; w_p = s_p x_p², the share of feature p in v.

Differs: the roots of (28) and (31) are taken in a form that does not cancel.

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one; the
full covariance is rescaled when its mean variance falls below 10⁻²⁰ times that. On noisy labels the
printed rule squares the variance with every contradiction and ends at zero.

Differs: a weight c in (0, 1] goes that share of the way from the old Gaussian to the new one; the
paper's hard constraint has no notion of a weight.

Differs: the exact diagonal solves (34) by Newton's method from the full-covariance root; the upper
end of the bracket printed for bisection is not one.

Cite: Koby Crammer, Mark Dredze and Fernando Pereira. Exact convex confidence-weighted learning.
NIPS 2008.

Cite: Koby Crammer, Mark Dredze and Fernando Pereira. Confidence-weighted linear classification for
text categorization. JMLR 13, 2012. Equation numbers are this paper's.
"""

import math

from sureline.rules.parameters import CONFIDENCE, INITIAL_VARIANCE, phi_of
from sureline.rules.registry import COVARIANCES, Rule, Vector, imbalance, register


def step(m: float, v: float, c: float, phi: float, _: float) -> tuple[float, float]:
    sv = math.sqrt(v)
    if m >= phi * sv:  # (9) holds
        return 0.0, 0.0
    p1, p2 = 1.0 + phi * phi / 2.0, 1.0 + phi * phi
    R = phi * math.hypot(m * phi / 2.0, sv * math.sqrt(p2))
    if m > 0.0:
        t = (phi * sv - m) * (phi * sv + m) / (m * p1 + R)  # (31)
    else:
        t = (R - m * p1) / p2  # (31)
    u = 2.0 * v / (t * phi + math.hypot(t * phi, 2.0 * sv))  # (28)
    return t, phi * (t / u)  # (25), (27)


def exact(
    m: float, v: float, w: Vector, t: float, E: float, c: float, phi: float, _: float
) -> float:
    if phi < 1e-100:
        w[:] = 1.0
        return t
    psi = phi * phi
    r = psi * (t / E)  # = m + t without its cancellation
    for _iteration in range(50):
        g, slope = r, 1.0
        for p in range(w.size):
            share = w[p] / v
            below = r + t * psi * share
            g -= psi * (w[p] / below)  # (34)
            slope += psi * (w[p] / below) * ((1.0 + psi * share) / below)
        climb = -g / slope
        if not climb > 0.0:
            break
        t += climb
        r += climb
        if climb <= 1e-13 * min(t, r):
            break
    for p in range(w.size):
        w[p] = 1.0 + psi * (t / r) * (w[p] / v)
    return t


def residual(m: float, v: float, t: float, E: float, phi: float, _: float) -> float:
    if t == 0.0:
        return float(m < phi * math.sqrt(v))
    u = math.sqrt(v / (1.0 + E))
    return max(imbalance(m, t, -phi * u), imbalance(E * u, -phi * t))  # (9) with equality, (24)


def exact_residual(
    m: float, v: float, w: Vector, t: float, growth: Vector, phi: float, _: float
) -> float:
    u = math.sqrt(sum(w / growth))
    gains = (imbalance(g, -1.0, -phi * (t / u) * (x / v)) for g, x in zip(growth, w, strict=True))
    return max(imbalance(m, t, -phi * u), *gains)


register(
    Rule(
        module=__name__,
        name="cw-stdev",
        estimator="CWClassifier",
        settings={"constraint": "stdev"},
        parameters=(CONFIDENCE, INITIAL_VARIANCE),
        constants=phi_of,
        step=step,
        covariances=COVARIANCES,
        exact=exact,
        residual=residual,
        exact_residual=exact_residual,
        weight="share",
        scale_free=True,
    )
)
