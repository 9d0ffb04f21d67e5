"""Box of weights with the largest square of each interval (BoW-M).

Problem: argmin (1/n) Σᵢ loss(yᵢ xᵢ·μ − |xᵢ|·σ) − C Σ_k log(2σ_k) + D Σ_k max(u_k², v_k²) (6), over
boxes with centre μ and half widths σ > 0: every weight vector between u = μ − σ and v = μ + σ is a
hypothesis, an example costs what the worst of them pays, and volume is worth something.

Symbols: μ, the centre; σ, the half widths; M = y x·μ − |x|·σ, the worst margin in the box (Lemma
1); p = Σᵢ aᵢ yᵢ xᵢ and q = Σᵢ aᵢ |xᵢ|, what the examples say in the dual, |p| ≤ q; c = η_tC and
δ = η_tD, the parameters times the size η_t of a step; max(u², v²) = (|μ| + σ)². The last has a kink
at μ = 0, which makes the centre exactly 0 where a feature says too little.

Differs: the step is written in (μ, σ), where it has two cases and nothing cancels; in (u, v) it is
Lemma 4 with ũ² + ũṽ − C, or ṽ² + ũṽ − C, as the constants. The squares are missing in print, which
gives a wrong point in more than half of all cases.

Differs: problem (8) lacks the size of the step; C and D are multiplied by it. The paper does not
say what it is: at time t it is η_t = 1/(4Dt + ℓ²/η), where ℓ is the average length of the examples
so far, and η a parameter.

Differs: the gradient step takes the slope α of the loss at M. Here it is taken half way to where
the step leads, at M − αη_t|x|²/2, so that an example much longer than ℓ adds no more to its margin
than twice what that is short of.

Differs: the printed gradient step moves every feature at every example. Here an example moves its
own features only, with C and D times n/n_k where n_k examples contain feature k: the objective is
the same on average, and a step costs what the example's nonzeros cost.

Differs: the box starts at the optimum of the last two terms, μ = 0 and σ = √(C/2D), where a feature
that no example contains stays.

Differs: dual coordinate ascent, which the paper does not have, reaches the optimum and proves it.

Differs: an example of weight w counts w times, and n is the sum of all weights.

Differs: the intercept is a constant feature 1 with its own interval in the box.

Cite: Koby Crammer and Tal Wagner. Volume regularization for binary classification. NIPS 2012.
"""

import math

from sureline.rules.box.problem import LOSSES, C, D, positive_root
from sureline.rules.registry import BatchRule, imbalance, register_batch


def prox(mu: float, sigma: float, c: float, delta: float) -> tuple[float, float]:
    # argmin over (μ, σ) of (μ − μ̃)² + (σ − σ̃)² − c log(2σ) + δ(|μ| + σ)²
    A, centred = abs(mu), positive_root(1.0 + delta, sigma, 0.5 * c)
    if delta * centred >= A:
        return 0.0, centred  # L4.3
    s = positive_root(1.0 + 2.0 * delta, (1.0 + delta) * sigma - delta * A, 0.5 * c * (1.0 + delta))
    # Rounding may put what lies within a rounding error of the kink on its other side.
    return math.copysign(max(0.0, (A - delta * s) / (1.0 + delta)), mu), s  # L4.1, L4.2


def primal(p: float, q: float, C: float, D: float) -> tuple[float, float]:
    # argmax over (μ, σ) of pμ − qσ + C log(2σ) − D(|μ| + σ)²
    A = abs(p)
    if A * (q + A) > 2.0 * C * D:
        sigma = C / (q + A)
        return math.copysign(max(0.0, A / (2.0 * D) - sigma), p), sigma
    return 0.0, 2.0 * C / (q + math.sqrt(q * q + 8.0 * C * D))


def cost(mu: float, sigma: float, C: float, D: float) -> float:
    edge = abs(mu) + sigma
    return D * edge * edge - C * math.log(2.0 * sigma)


def start(C: float, D: float) -> float:
    return math.sqrt(0.5 * C / D)


def steepest(D: float) -> float:
    # the largest slope of yμ − σ along (p, q) = (y, 1), at q = 0 or at the kink
    return 1.5 / D


def residual(mu: float, sigma: float, c: float, delta: float, there: tuple[float, float]) -> float:
    m, s = there
    pull = 2.0 * delta * (abs(m) + s)
    width = imbalance(2.0 * s, -2.0 * sigma, -c / s, pull)
    if m == 0.0:
        return max(width, max(0.0, 2.0 * abs(mu) - pull) / (2.0 * abs(mu) + pull))
    return max(width, imbalance(2.0 * m, -2.0 * mu, math.copysign(pull, m)))


def primal_residual(p: float, q: float, C: float, D: float, there: tuple[float, float]) -> float:
    m, s = there
    pull = 2.0 * D * (abs(m) + s)
    width = imbalance(-q, C / s, -pull)
    if m == 0.0:
        return max(width, max(0.0, abs(p) - pull) / (abs(p) + pull))
    return max(width, imbalance(p, -math.copysign(pull, m)))


register_batch(
    BatchRule(
        module=__name__,
        name="box-max",
        estimator="BoxClassifier",
        settings={"regularizer": "max"},
        parameters=(C, D),
        choices={"loss": tuple(LOSSES)},
        prox=prox,
        primal=primal,
        cost=cost,
        start=start,
        steepest=steepest,
        residual=residual,
        primal_residual=primal_residual,
        inlined=(positive_root,),
    )
)
