"""Confidence-weighted learning with the variance constraint (CW-variance).

Problem: argmin KL(N(μ, Σ) ‖ N(μᵢ, Σᵢ)) subject to y μ·x ≥ φ xᵀΣx. The probability that the
example is classified right is at least the confidence when y μ·x ≥ φ √(xᵀΣx); dropping the root
makes the constraint linear in Σ.

Symbols: m = y μᵢ·x, the signed margin; v = xᵀΣᵢx, its variance; φ = Φ⁻¹(confidence);
t = αv, how far the margin moves; E = 2αφv, the precision the example adds;
w_p = s_p x_p², the share of feature p in v.

Differs: the root of (18) is taken in a form that does not cancel, and α and β are kept as t = αv
and E = βv/(1 − βv), so that nothing overflows when v is tiny.

Differs: in the diagonal covariances a variance never falls below 10⁻¹² times the initial one.

Differs: a weight c in (0, 1] takes that fraction of the step from the old Gaussian to the new one;
the paper's hard constraint has no notion of a weight.

Differs: the exact diagonal solves (33) by Newton's method from the full-covariance root, which
climbs to the solution without a bracket, in place of bisection.

Differs: with many classes, the scheme "exact" keeps the metric of the mean at Σᵢ while it cycles
through the rivals' constraints; repeating the two-class projection, as the third paper suggests,
ends at a feasible point that is not the nearest.

Cite: Mark Dredze, Koby Crammer and Fernando Pereira. Confidence-weighted linear classification.
ICML 2008.

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


def left(w: Vector, d: float) -> float:
    total = 0.0
    for p in range(w.size):
        total += w[p] / (1.0 + d * w[p])
    return total


def falling(w: Vector, d: float) -> float:
    total = 0.0
    for p in range(w.size):
        kept = w[p] / (1.0 + d * w[p])
        total += kept * kept
    return total


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
    satisfied = True
    for j in range(m.size):
        alpha[j] = gain[j] = 0.0
        satisfied = satisfied and m[j] >= phi * (v_y + v_r[j])
    if satisfied:
        return False
    for _pass in range(10_000):
        S = alpha.sum()
        H = 0.0
        for j in range(m.size):
            H += gain[j] / (1.0 + gain[j] * v_r[j])
        moved = 0.0
        for j in range(m.size):
            q = 1.0 / (1.0 + gain[j] * v_r[j])
            K0, K = v_y + v_r[j], q * (q * v_y / (1.0 + v_y * H) + v_r[j])
            reached = m[j] + v_y * S + v_r[j] * alpha[j]
            b = K0 + 2.0 * phi * K * reached
            D = math.hypot(K0 - 2.0 * phi * K * reached, phi * K * math.sqrt(8.0 * K0))
            if b > 0.0:
                theta = 2.0 * (phi * K - reached) / (b + D)
            else:
                theta = (D - b) / (4.0 * phi * K * K0)
            theta = max(theta, -alpha[j])
            H -= gain[j] * q
            alpha[j] += theta
            gain[j] = 2.0 * phi * alpha[j]
            H += gain[j] / (1.0 + gain[j] * v_r[j])
            S += theta
            moved = max(moved, abs(theta))
        if moved <= 1e-13 * S:
            break
    return True


def answer(w: Vector, v: float, target: float, phi: float) -> float:
    # The a ≥ 0 with v a − φ Σ w/(1 + 2φ a w) = target; concave and increasing, so Newton climbs.
    a = 0.0
    for _iteration in range(60):
        rise = (target - v * a + phi * left(w, 2.0 * phi * a)) / (
            v + 2.0 * phi * phi * falling(w, 2.0 * phi * a)
        )
        if not rise > 0.0:
            break
        a += rise
        if rise <= 1e-15 * a:
            break
    return a


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
    low = high = 0.0
    for j in range(m.size):
        alpha[j] = answer(w_r[j], v_r[j], phi * left(w_y, 0.0) - m[j], phi)
        high += alpha[j]
    if high == 0.0:
        return False
    S = high
    for _iteration in range(200):
        A = v_y * S - phi * left(w_y, 2.0 * phi * S)
        rise = v_y + 2.0 * phi * phi * falling(w_y, 2.0 * phi * S)
        excess, slope = S, 1.0
        for j in range(m.size):
            alpha[j] = answer(w_r[j], v_r[j], -m[j] - A, phi)
            excess -= alpha[j]
            if alpha[j] > 0.0:
                bend = falling(w_r[j], 2.0 * phi * alpha[j])
                slope += rise / (v_r[j] + 2.0 * phi * phi * bend)
        if excess > 0.0:
            high = S
        else:
            low = S
        moved = S - excess / slope
        if not low < moved < high:
            moved = 0.5 * (low + high)
        done = abs(moved - S) <= 1e-14 * S
        S = moved
        if done or excess == 0.0:
            break
    for j in range(m.size):
        gain[j] = 2.0 * phi * alpha[j]
    return True


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
        parallel=True,
        joint={"diagonal-kl": joint, "diagonal-l2": joint, "diagonal-exact": joint_exact},
        inlined=(left, falling, answer),
    )
)
