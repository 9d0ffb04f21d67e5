"""Passive-aggressive learning, linear slack (PA-I).

Problem: argmin ½‖w − wᵢ‖² + C max(0, 1 − y w·x).

Symbols: m = y wᵢ·x, the signed margin; v = ‖x‖²; t = τv, how far the margin moves.

Differs: a weight c multiplies the cost: C·c in place of C.

Differs: with many classes and the scheme "exact", the constraints of all rivals have one slack
together, or one each, as `slack` says.

Cite: Koby Crammer, Ofer Dekel, Joseph Keshet, Shai Shalev-Shwartz and Yoram Singer. Online
passive-aggressive algorithms. JMLR 7, 2006.
"""

from sureline.rules.parameters import AGGRESSIVENESS
from sureline.rules.registry import Rule, Vector, imbalance, register


def step(m: float, v: float, c: float, C: float, _each: float) -> tuple[float, float]:
    return min(C * c * v, max(0.0, 1.0 - m)), 0.0


def joint(
    m: Vector,
    v_y: float,
    v_r: Vector,
    w_y: Vector,
    w_r: Vector,
    c: float,
    C: float,
    each: float,
    alpha: Vector,
    gain: Vector,
) -> bool:
    gain[:] = 0.0
    cap = C * c
    total = S = 0.0
    for j in range(m.size):
        q = (1.0 - m[j]) / v_y
        if q > S:  # margins ascend, so that constraints join one after the other
            total += q
            S = total / (2.0 + j)
    if each > 0.0:  # one slack a constraint: S = Σ clip(q − S, 0, cap), found by halving
        low, high = 0.0, S
        for _halving in range(200):
            S = 0.5 * (low + high)
            excess = -S
            for j in range(m.size):
                excess += min(max(0.0, (1.0 - m[j]) / v_y - S), cap)
            low, high = (S, high) if excess > 0.0 else (low, S)
        for j in range(m.size):
            alpha[j] = min(max(0.0, (1.0 - m[j]) / v_y - S), cap)
        return bool(m[0] < 1.0)
    if cap < S:  # one slack for all: the nearest point whose steps add up to the cap
        total = S = 0.0
        for j in range(m.size):
            q = (1.0 - m[j]) / v_y
            if j == 0 or q > S:
                total += q
                S = (total - cap) / (1.0 + j)
    for j in range(m.size):
        alpha[j] = max(0.0, (1.0 - m[j]) / v_y - S)
    return bool(m[0] < 1.0)


def residual(m: float, v: float, t: float, E: float, C: float, _: float) -> float:
    if t == 0.0:
        return float(m < 1.0)
    if t >= C * v and m + t <= 1.0:  # the margin is not reached: the price is paid in full
        return imbalance(t, -C * v)
    return imbalance(m, t, -1.0)


register(
    Rule(
        module=__name__,
        name="pa-i",
        estimator="PAClassifier",
        settings={"variant": 1},
        parameters=(AGGRESSIVENESS,),
        choices={"slack": ("shared", "each")},
        constants=lambda C, slack: (C, slack),
        step=step,
        covariances=("identity",),
        residual=residual,
        parallel=True,
        joint={"identity": joint},
    )
)
