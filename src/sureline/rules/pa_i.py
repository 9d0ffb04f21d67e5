"""Passive-aggressive learning, linear slack (PA-I).

Problem: argmin ½‖w − wᵢ‖² + C max(0, 1 − y w·x).

Symbols: m = y wᵢ·x, the signed margin; v = ‖x‖²; t = τv, how far the margin moves.

Differs: a weight c multiplies the cost: C·c in place of C.

Cite: Koby Crammer, Ofer Dekel, Joseph Keshet, Shai Shalev-Shwartz and Yoram Singer. Online
passive-aggressive algorithms. JMLR 7, 2006.
"""

from sureline.rules.parameters import AGGRESSIVENESS
from sureline.rules.registry import Rule, imbalance, register


def step(m: float, v: float, c: float, C: float, _: float) -> tuple[float, float]:
    return min(C * c * v, max(0.0, 1.0 - m)), 0.0


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
        constants=lambda C: (C,),
        step=step,
        covariances=("identity",),
        residual=residual,
    )
)
