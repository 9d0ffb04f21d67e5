"""Passive-aggressive learning, squared slack (PA-II).

Problem: argmin ½‖w − wᵢ‖² + C max(0, 1 − y w·x)².

Symbols: m = y wᵢ·x, the signed margin; v = ‖x‖²; t = τv, how far the margin moves.

Differs: a weight c multiplies the cost: C·c in place of C.

Differs: with many classes and the scheme "exact", the constraint of each rival has a squared slack
of its own.

Cite: Koby Crammer, Ofer Dekel, Joseph Keshet, Shai Shalev-Shwartz and Yoram Singer. Online
passive-aggressive algorithms. JMLR 7, 2006.
"""

from sureline.rules.parameters import AGGRESSIVENESS
from sureline.rules.registry import Rule, Vector, imbalance, register


def step(m: float, v: float, c: float, C: float, _: float) -> tuple[float, float]:
    return max(0.0, 1.0 - m) * (v / (v + 1.0 / (2.0 * C * c))), 0.0


def joint(
    m: Vector,
    v_y: float,
    v_r: Vector,
    w_y: Vector,
    w_r: Vector,
    c: float,
    C: float,
    _: float,
    alpha: Vector,
    gain: Vector,
) -> bool:
    gain[:] = 0.0
    total = S = 0.0
    n = v_y + 1.0 / (2.0 * C * c)
    for j in range(m.size):
        if 1.0 - m[j] > v_y * S:  # margins ascend, so that constraints join one after the other
            total += 1.0 - m[j]
            S = total / (n + (1.0 + j) * v_y)
    for j in range(m.size):
        alpha[j] = max(0.0, 1.0 - m[j] - v_y * S) / n
    return bool(m[0] < 1.0)


def residual(m: float, v: float, t: float, E: float, C: float, _: float) -> float:
    if t == 0.0:
        return float(m < 1.0)
    return imbalance(t / v, -2.0 * C, 2.0 * C * m, 2.0 * C * t)


register(
    Rule(
        module=__name__,
        name="pa-ii",
        estimator="PAClassifier",
        settings={"variant": 2},
        parameters=(AGGRESSIVENESS,),
        constants=lambda C: (C,),
        step=step,
        covariances=("identity",),
        residual=residual,
        parallel=True,
        joint={"identity": joint},
    )
)
