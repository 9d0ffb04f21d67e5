"""The parameters that several rules share, and the constants computed from them."""

import math

from scipy.special import ndtri

from sureline.rules.registry import Parameter

# What costs and their like are searched over: half powers of ten about 1.
COSTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

CONFIDENCE = Parameter(
    "confidence",
    0.9,
    0.5,
    1.0,
    "The papers' η: how probable it must be, under the distribution of weights, that an example "
    "just learned is classified correctly. At 0.5 the zero model satisfies the constraint, so that "
    "nothing is ever learned.",
    closed="left",
    grid=(0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
)
INITIAL_VARIANCE = Parameter(
    "initial_variance",
    1.0,
    1e-6,
    1e6,
    "The variance of every weight before any example.",
    closed="left",
    grid=(1.0,),  # "stdev" predicts the same with any, for "variance" it acts as confidence does
)
SLACK_COST = Parameter(
    "C",
    1.0,
    0.0,
    math.inf,
    "The cost of missing the constraint: a small C tolerates wrong labels, a large one approaches "
    "the hard constraint of CW.",
    grid=COSTS,
)
AGGRESSIVENESS = Parameter(
    "C",
    1.0,
    0.0,
    math.inf,
    "The cost of missing the margin: a small C learns slowly and tolerates wrong labels, a large "
    "one approaches the hard margin. No effect for variant 0, whose margin is hard.",
    grid=COSTS,
)
ADAGRAD = (
    Parameter("eta", 1.0, 0.0, math.inf, "The size of a step.", grid=COSTS),
    Parameter(
        "l1",
        0.0,
        0.0,
        math.inf,
        "How strongly weights are drawn to zero; above 0, most weights are exactly 0.",
        closed="left",
        grid=(0.0,),  # used to get a small model, not a better one
    ),
    Parameter(
        "delta",
        1.0,
        0.0,
        math.inf,
        "Added to √G, so that the first steps are not too long.",
        grid=(0.01, 0.1, 1.0),
    ),
)


def phi_of(confidence: float, **_: float) -> tuple[float, ...]:
    """φ = Φ⁻¹(confidence), which is all that the rules see of it."""
    return (float(ndtri(confidence)),)


def phi_and_cost(confidence: float, C: float) -> tuple[float, ...]:
    """φ and the cost of missing the constraint."""
    return float(ndtri(confidence)), C
