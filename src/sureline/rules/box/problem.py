"""What both boxes of weights share: the parameters, the losses and one quadratic equation."""

import math

from sureline.rules.registry import Parameter

# What "auto" takes for C and D, were there a single example of length 1.
VOLUME, WEIGHTS = 1e-3, 0.3
USUAL = 1000.0  # examples, where their number is not known


def estimate(examples: float, length: float) -> dict[str, float]:
    """C and D for so many examples, whose average length is `length`.

    The loss is an average. With more examples, less is needed besides it; and D is paid for squared
    weights, which shrink as rows become longer.
    """
    return {"C": VOLUME / examples, "D": WEIGHTS * length**2 / examples}


C = Parameter(
    "C",
    estimate(USUAL, 1.0)["C"],
    0.0,
    math.inf,
    "The value of volume: a large C gives a wide box, whose worst member must still be right, and "
    f"so tolerates wrong labels. 'auto' is {VOLUME:g}/n, where n is the number of examples; in a "
    f"stream that begins without `fit`, n is {USUAL:g}.",
    auto="default",
)
D = Parameter(
    "D",
    estimate(USUAL, 1.0)["D"],
    0.0,
    math.inf,
    "The cost of large weights: a large D keeps the box close to the origin. 'auto' is "
    f"{WEIGHTS:g}ℓ²/n, where ℓ is the average length of the examples; in a stream that begins "
    f"without `fit`, ℓ is 1 and n is {USUAL:g}.",
    auto="default",
)

# The Huber hinge is straight below 1 − h, 0 above 1 + h and a parabola between.
HUBER = 0.5
# loss(M) = max over 0 ≤ a ≤ cap of a (l − M) − (κ/2) a², with (l, κ, cap) for one example of
# weight 1; an example of weight c has cap·c and κ/c.
LOSSES = {
    "hinge": (1.0, 0.0, 1.0),
    "squared-hinge": (1.0, 0.5, math.inf),
    "huber": (1.0 + HUBER, 2.0 * HUBER, 1.0),
}


def positive_root(a: float, b: float, c: float) -> float:
    """The positive z with a z² − b z − c = 0, for positive a and c, without cancellation."""
    R = math.sqrt(b * b + 4.0 * a * c)
    if b > 0.0:
        return (b + R) / (2.0 * a)
    return 2.0 * c / (R - b)
