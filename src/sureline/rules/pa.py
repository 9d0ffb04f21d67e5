"""Passive-aggressive learning, hard margin (PA).

Problem: argmin ½‖w − wᵢ‖² subject to y w·x ≥ 1.

Symbols: m = y wᵢ·x, the signed margin; v = ‖x‖²; t = τv, how far the margin moves.

Differs: the weight of an example has no effect, because the constraint is hard.

Differs: with many classes and the scheme "exact", the constraints of all rivals are met at once, by
sorting margins where others iterate.

Cite: Koby Crammer, Ofer Dekel, Joseph Keshet, Shai Shalev-Shwartz and Yoram Singer. Online
passive-aggressive algorithms. JMLR 7, 2006.
"""

from sureline.rules.registry import Rule, Vector, imbalance, register


def step(m: float, v: float, c: float, _a: float, _b: float) -> tuple[float, float]:
    return max(0.0, 1.0 - m), 0.0


def joint(
    m: Vector,
    v_y: float,
    v_r: Vector,
    w_y: Vector,
    w_r: Vector,
    c: float,
    _a: float,
    _b: float,
    alpha: Vector,
    gain: Vector,
) -> bool:
    gain[:] = 0.0
    total = S = 0.0
    for j in range(m.size):
        q = (1.0 - m[j]) / v_y
        if q > S:  # margins ascend, so that constraints join one after the other
            total += q
            S = total / (2.0 + j)
    for j in range(m.size):
        alpha[j] = max(0.0, (1.0 - m[j]) / v_y - S)
    return bool(m[0] < 1.0)


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
        parallel=True,
        joint={"identity": joint},
    )
)
