"""Box of weights with the sum of its corners' squares (BoW-S).

Problem: argmin (1/n) Σᵢ loss(yᵢ xᵢ·μ − |xᵢ|·σ) − C Σ_k log(2σ_k) + D Σ_k (u_k² + v_k²) (7), over
boxes with centre μ and half widths σ > 0: every weight vector between u = μ − σ and v = μ + σ is a
hypothesis, an example costs what the worst of them pays, and volume is worth something.

Symbols: μ, the centre; σ, the half widths; M = y x·μ − |x|·σ, the worst margin in the box (Lemma
1); p = Σᵢ aᵢ yᵢ xᵢ and q = Σᵢ aᵢ |xᵢ|, what the examples say in the dual, |p| ≤ q; c = η_tC and
δ = η_tD, the parameters times the size η_t of a step; u² + v² = 2(μ² + σ²).

Differs: the step is written in (μ, σ), where it needs one square root and nothing cancels; in
(u, v) it is Lemma 5 with −C in place of the printed −4C, which gives a wrong point every time.

Differs: problem (8) lacks the size of the step; C and D are multiplied by it. The paper does not
say what it is: at time t it is η_t = 1/(4Dt + ℓ²/η), where ℓ is the average length of the examples
so far, and η a parameter.

Differs: the gradient step takes the slope α of the loss at M. Here it is taken half way to where
the step leads, at M − αη_t|x|²/2, so that an example much longer than ℓ adds no more to its margin
than twice what that is short of.

Differs: the printed gradient step moves every feature at every example. Here an example moves its
own features only, with C and D times n/n_k where n_k examples contain feature k: the objective is
the same on average, and a step costs what the example's nonzeros cost.

Differs: the box starts at the optimum of the last two terms, μ = 0 and σ = √(C/4D), where a feature
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
    # argmin over (μ, σ) of (μ − μ̃)² + (σ − σ̃)² − c log(2σ) + 2δ(μ² + σ²)
    return mu / (1.0 + 2.0 * delta), positive_root(2.0 * (1.0 + 2.0 * delta), 2.0 * sigma, c)  # L5


def primal(p: float, q: float, C: float, D: float) -> tuple[float, float]:
    # argmax over (μ, σ) of pμ − qσ + C log(2σ) − 2D(μ² + σ²)
    R = math.sqrt(q * q + 16.0 * C * D)
    return p / (4.0 * D), 2.0 * C / (q + R)


def cost(mu: float, sigma: float, C: float, D: float) -> float:
    return 2.0 * D * (mu * mu + sigma * sigma) - C * math.log(2.0 * sigma)


def start(C: float, D: float) -> float:
    return math.sqrt(C / D) / 2.0


def steepest(D: float) -> float:
    # the largest slope of yμ − σ along (p, q) = (y, 1), at q = 0
    return 0.375 / D


def residual(mu: float, sigma: float, c: float, delta: float, there: tuple[float, float]) -> float:
    m, s = there
    return max(
        imbalance(2.0 * m, -2.0 * mu, 4.0 * delta * m),
        imbalance(2.0 * s, -2.0 * sigma, -c / s, 4.0 * delta * s),
    )


def primal_residual(p: float, q: float, C: float, D: float, there: tuple[float, float]) -> float:
    m, s = there
    return max(imbalance(p, -4.0 * D * m), imbalance(-q, C / s, -4.0 * D * s))


register_batch(
    BatchRule(
        module=__name__,
        name="box-sum",
        estimator="BoxClassifier",
        settings={"regularizer": "sum"},
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
