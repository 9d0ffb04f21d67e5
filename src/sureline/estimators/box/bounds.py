"""A PAC-Bayes bound on the error of a box, valid for what was fixed before the data were seen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter, show

# What `radius=None` and `gamma=None` try: every power of 2^(1/4) from 2^-20 to 2^20, times √d, and
# every power of √2 from 1/16 to 64. Fine grids cost little: the logarithm of their size, once.
RADII = tuple(2.0 ** (k / 4.0) for k in range(-80, 81))
GAMMAS = tuple(2.0 ** (k / 2.0) for k in range(-8, 13))


@dataclass(frozen=True)
class PACBayesBound:
    """What `BoxClassifier.pac_bayes_bound` found; ``float(bound)`` is its value.

    Attributes
    ----------
    value : float
        The bound on the Gibbs error on new examples, at most 1. It holds with probability
        1 − `delta` over the samples that could have been drawn.
    gibbs_error : float
        The share of the sample that a weight vector drawn from the box gets wrong, on average.
    kl : float
        The divergence of the box from the ball of radius `radius`, both as uniform distributions;
        infinite where the box reaches out of every ball that was allowed.
    radius, gamma : float
        Those of the pairs allowed that give the smallest bound.
    delta : float
        How improbable it is allowed to be that the bound fails.
    pairs : int
        Among how many pairs of radius and γ the smallest was taken; each pays for its own chance
        to fail, delta / pairs.
    n_samples, n_weights : int
        The size of the sample, and the number of weights of the box, the intercept included.
    method : str
        How `gibbs_error` was computed: ``"integral"``, the characteristic integral for every row.
    """

    value: float
    gibbs_error: float
    kl: float
    radius: float
    gamma: float
    delta: float
    pairs: int
    n_samples: int
    n_weights: int
    method: str = "integral"

    def __float__(self) -> float:
        return self.value


def bound_error(
    gibbs_error: float,
    n_samples: int,
    box: NDArray[np.float64],
    delta: object,
    radius: object,
    gamma: object,
    owner: str,
) -> PACBayesBound:
    """The smallest bound over all pairs of `radius` and `gamma`, each with its share of `delta`."""
    d = len(box)
    if not isinstance(delta, Real) or isinstance(delta, bool) or not 0.0 < float(delta) < 1.0:
        raise InvalidParameter(f"{owner}: delta must be a number in (0, 1), got {show(delta)}")
    reach = math.sqrt(float(np.square(np.abs(box[:, 0]) + box[:, 1]).sum()))
    radii = _several(radius, "radius", owner) or [math.sqrt(d) * step for step in RADII]
    gammas = _several(gamma, "gamma", owner) or list(GAMMAS)
    if radius is not None and reach > max(radii):
        raise InvalidParameter(
            f"{owner}: the box reaches {reach:.6g} from the origin, beyond the radius "
            f"{max(radii):.6g}: the prior must hold the whole box. A radius chosen after seeing "
            "this box makes the bound false; give a larger one that was fixed before the data, "
            "several to choose from, or None for a grid that pays for the choice"
        )
    pairs = len(radii) * len(gammas)
    log_volume = float(np.log(2.0 * box[:, 1]).sum())
    fitting = min((each for each in radii if each >= reach), default=math.inf)
    if fitting < math.inf:
        ball = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0) + d * math.log(fitting)
        kl = max(0.0, ball - log_volume)
    else:
        fitting, kl = max(radii), math.inf
    complexity = (kl + math.log(pairs / float(delta))) / n_samples
    values = {g: math.expm1(-(g * gibbs_error + complexity)) / math.expm1(-g) for g in gammas}
    best = min(values, key=values.__getitem__)
    return PACBayesBound(
        value=min(1.0, values[best]),
        gibbs_error=gibbs_error,
        kl=kl,
        radius=fitting,
        gamma=best,
        delta=float(delta),
        pairs=pairs,
        n_samples=n_samples,
        n_weights=d,
    )


def _several(given: object, name: str, owner: str) -> list[float]:
    """One number or several, as positive floats; None gives none."""
    if given is None:
        return []
    numbers: list[Any] = [given]
    if isinstance(given, Iterable) and not isinstance(given, str):
        numbers = list(given)
    if not numbers or not all(
        isinstance(each, Real) and not isinstance(each, bool) and 0.0 < float(each) < math.inf
        for each in numbers
    ):
        raise InvalidParameter(
            f"{owner}: {name} must be a positive number, several of them, or None, got "
            f"{show(given)}"
        )
    return [float(each) for each in numbers]
