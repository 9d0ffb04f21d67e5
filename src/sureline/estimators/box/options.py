"""The options of `BoxClassifier`, besides the numbers that its rules declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sureline.declaration import option


@dataclass(kw_only=True, eq=False, repr=False)
class BoxOptions:
    """How a box is found; the rules have C and D."""

    regularizer: Literal["max", "sum"] = option(
        "max",
        "What large weights cost: the larger square of each interval's two ends (BoW-M), which "
        "makes centres exactly 0, or the sum of both (BoW-S), which is smooth.",
    )
    loss: Literal["hinge", "squared-hinge", "huber"] = option(
        "hinge",
        "What a margin below 1 costs: the distance, its square, or the distance with the kink "
        "rounded off between 1/2 and 3/2.",
    )
    solver: Literal["dual", "comid"] = option(
        "dual",
        "Dual coordinate ascent, which reaches the optimum, or the paper's stochastic method, "
        "which comes near it and has `partial_fit`.",
    )
    tol: float = option(
        1e-3,
        "`fit` stops when the objective is proved to be within `tol` of the optimum, in units of "
        "the average loss.",
        low=0.0,
    )
    max_iter: int = option(
        1000,
        "How many rounds, each with one pass over all examples, `fit` makes at most; a "
        "ConvergenceWarning says that more are needed.",
        low=1,
    )
    fit_intercept: bool = option(
        True,
        "Whether to add a constant feature 1, which has its own interval in the box and costs like "
        "any other.",
    )
    warm_start: bool = option(
        False,
        "Whether `fit` begins where the last `fit` ended; useful along a path of C or D on the "
        "same examples. Where the numbers of examples, features or classes differ, it starts anew.",
    )
    random_state: int | np.random.RandomState | None = option(
        None,
        "The random seed, or a generator; a number makes every run the same.",
        low=0,
        high=2**32 - 1,
        none="another order each time.",
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        None,
        "A factor on the weight of each class's examples, by label; 'balanced' gives every class "
        "the same total weight in `fit`.",
        none="all classes weigh the same.",
    )
    dtype: Literal["float32", "float64"] = option(
        "float64",
        "The type of the numbers that X is read as and that weights are returned in; the box "
        "itself is always float64.",
    )
