"""Passive-aggressive learning, hard margin (PA).

Problem: argmin ½‖w − wᵢ‖² subject to y w·x ≥ 1.

Symbols: m = y wᵢ·x, the signed margin; v = ‖x‖²; t = τv, how far the margin moves.

Differs: the weight of an example has no effect, because the constraint is hard.

Cite: Koby Crammer, Ofer Dekel, Joseph Keshet, Shai Shalev-Shwartz and Yoram Singer. Online
passive-aggressive algorithms. JMLR 7, 2006.
"""

from sureline.rules.registry import Rule, imbalance, register


def step(m: float, v: float, c: float, _a: float, _b: float) -> tuple[float, float]:
    return max(0.0, 1.0 - m), 0.0


def residual(m: float, v: float, t: float, E: float, _a: float, _b: float) -> float:
    return imbalance(m, t, -1.0) if t > 0.0 else float(m < 1.0)


register(
    Rule(
        module=__name__,
        name="pa",
        estimator="PAClassifier",
        settings={"variant": 0},
        step=step,
        covariances=("identity",),
        residual=residual,
    )
)
