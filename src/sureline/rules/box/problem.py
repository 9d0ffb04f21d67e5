"""What both boxes of weights share: the parameters, the losses and one quadratic equation."""

import math

from sureline.rules.registry import Parameter

C = Parameter(
    "C",
    1e-6,
    0.0,
    math.inf,
    "The value of volume: a large C gives a wide box, whose worst member must still be right, and "
    "so tolerates wrong labels.",
)
D = Parameter(
    "D",
    1e-4,
    0.0,
    math.inf,
    "The cost of large weights: a large D keeps the box close to the origin.",
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
