"""Confidence-weighted learning with the standard-deviation constraint (CW-stdev).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) subject to y μ·x ≥ φ √(xᵀΣx): the example just learned is
classified correctly with at least the required probability.

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; φ = Φ⁻¹(confidence);
t = αv, how far the margin moves; u = √v⁺, the margin's deviation after the step;
E = φt/u, the precision the example adds; w_p = s_p x_p², the share of feature p in v.

Differs: the roots of (28) and (31) are taken in a form that does not cancel.

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one; the
full covariance is rescaled when its mean variance falls below 10⁻²⁰ times that. On noisy labels the
printed rule squares the variance with every contradiction and ends at zero.

Differs: a weight c in (0, 1] takes that fraction of the step from the old Gaussian to the new one;
the paper's hard constraint has no notion of a weight.

Differs: the exact diagonal solves (34) by Newton's method from the full-covariance root; the upper
end of the bracket printed for bisection is not one.

Differs: with many classes, the scheme "exact" cycles through the rivals' constraints, each solved
exactly while the others stay fixed, until nothing moves.

Cite: Koby Crammer, Mark Dredze and Fernando Pereira. Exact convex confidence-weighted learning.
NIPS 2008.

Cite: Koby Crammer, Mark Dredze and Fernando Pereira. Confidence-weighted linear classification for
text categorization. JMLR 13, 2012. Equation numbers are this paper's.

Cite: Koby Crammer, Mark Dredze and Alex Kulesza. Multi-class confidence weighted algorithms.
EMNLP 2009.
"""

import math
from typing import Any

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


def alone(m: float, K0: float, K: float, phi: float) -> float:
    # √v⁺ under one constraint whose margin moves by α K0 and whose variance is K so far.
    A, B = 1.0 + phi * phi * (K / K0), phi * m * (K / K0)
    R = math.hypot(B, 2.0 * math.sqrt(A * K))
    return (B + R) / (2.0 * A) if B > 0.0 else 2.0 * K / (R - B)


def joint(
    m: Vector,
    v_y: float,
    v_r: Vector,
    w_y: Vector,
    w_r: Vector,
    c: float,
    phi: float,
    _: float,
    alpha: Vector,
    gain: Vector,
) -> bool:
    alpha[:] = 0.0
    gain[:] = 0.0
    for _pass in range(10_000):
        H = 0.0
        for j in range(m.size):
            H += gain[j] / (1.0 + gain[j] * v_r[j])
        S = alpha.sum()
        moved = 0.0
        for j in range(m.size):
            H -= gain[j] / (1.0 + gain[j] * v_r[j])
            S -= alpha[j]
            K0, K, without = v_y + v_r[j], v_y / (1.0 + v_y * H) + v_r[j], m[j] + v_y * S
            new = 0.0
            gain[j] = 0.0
            if without < phi * math.sqrt(K):
                u = alone(without, K0, K, phi)
                new = (phi * u - without) / K0
                gain[j] = phi * new / u
            moved = max(moved, abs(new - alpha[j]))
            alpha[j] = new
            H += gain[j] / (1.0 + gain[j] * v_r[j])
            S += new
        if moved <= 1e-13 * S:
            break
    return bool(alpha.max() > 0.0)


def joint_exact(
    m: Vector,
    v_y: float,
    v_r: Vector,
    w_y: Vector,
    w_r: Any,
    c: float,
    phi: float,
    _: float,
    alpha: Vector,
    gain: Vector,
) -> bool:
    alpha[:] = 0.0
    gain[:] = 0.0
    psi = phi * phi
    for _pass in range(10_000):
        moved = 0.0
        for j in range(m.size):
            D, S = gain.sum() - gain[j], alpha.sum() - alpha[j]
            K0, without = v_y + v_r[j], m[j] + v_y * S
            K = 0.0
            for p in range(w_y.size):
                K += w_y[p] / (1.0 + D * w_y[p]) + w_r[j, p]
            new = 0.0
            gain[j] = 0.0
            if without < phi * math.sqrt(K):
                r = phi * alone(without, K0, K, phi)
                new = (r - without) / K0
                for _iteration in range(50):  # as for two classes, Newton climbs from here
                    g, slope = r, K0
                    for p in range(2 * w_y.size):
                        if p < w_y.size:
                            w = w_y[p] / (1.0 + D * w_y[p])
                        else:
                            w = w_r[j, p - w_y.size]
                        below = r + new * psi * w
                        g -= psi * (w / below)
                        slope += psi * (w / below) * ((K0 + psi * w) / below)
                    climb = -g / slope
                    if not climb > 0.0:
                        break
                    new += climb
                    r += climb * K0
                    if climb <= 1e-14 * new:
                        break
                gain[j] = psi * new / r
            moved = max(moved, abs(new - alpha[j]))
            alpha[j] = new
        if moved <= 1e-13 * alpha.sum():
            break
    return bool(alpha.max() > 0.0)


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
        parallel=True,
        joint={"diagonal-kl": joint, "diagonal-l2": joint, "diagonal-exact": joint_exact},
        inlined=(alone,),
    )
)
