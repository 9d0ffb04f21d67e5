"""The parameters, and what is made of them, that several rules share."""

import math

from scipy.special import ndtri

from sureline.rules.registry import Parameter

CONFIDENCE = Parameter(
    "confidence",
    0.9,
    0.5,
    1.0,
    "The papers' η: how probable it must be, under the distribution of weights, that an example "
    "just learned is classified right. At 0.5 the constraint asks for nothing that the zero model "
    "lacks, so that nothing is ever learned.",
    closed="left",
)
INITIAL_VARIANCE = Parameter(
    "initial_variance",
    1.0,
    1e-6,
    1e6,
    "The variance of every weight before any example.",
    closed="left",
)
SLACK_COST = Parameter(
    "C",
    1.0,
    0.0,
    math.inf,
    "What missing the constraint costs: a small C forgives wrong labels, a large one comes close "
    "to the hard constraint of CW.",
)
AGGRESSIVENESS = Parameter(
    "C",
    1.0,
    0.0,
    math.inf,
    "What missing the margin costs: a small C learns slowly and forgives wrong labels, a large one "
    "comes close to the hard margin. Without effect for variant 0, whose margin is hard.",
)
ADAGRAD = (
    Parameter("eta", 1.0, 0.0, math.inf, "The size of a step."),
    Parameter(
        "l1",
        0.0,
        0.0,
        math.inf,
        "How strongly weights are drawn to zero; above 0, most weights are exactly 0.",
        closed="left",
    ),
    Parameter(
        "delta",
        1.0,
        0.0,
        math.inf,
        "Added to √G, so that the first steps are not too long.",
    ),
)


def phi_of(confidence: float, **_: float) -> tuple[float, ...]:
    """φ = Φ⁻¹(confidence), which is all that the rules see of it."""
    return (float(ndtri(confidence)),)


def phi_and_cost(confidence: float, C: float) -> tuple[float, ...]:
    """φ and the cost of missing the constraint."""
    return float(ndtri(confidence)), C
