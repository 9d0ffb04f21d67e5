"""What a rule is, and the registry that its file enters by ending in ``register(Rule(...))``."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter, show

Vector = NDArray[np.float64]

# step(m, v, c, a, b) -> (t, E): margin, margin variance, example weight and the rule's two
# constants give how far the margin moves and the precision the example brings; (0, 0) is passive.
Step = Callable[[float, float, float, float, float], tuple[float, float]]
# exact(m, v, w, t, E, c, a, b) -> t: as above, with w[p] = s_p x_p² for every nonzero and the
# full-covariance (t, E) to start from; it replaces w[p] by the growth of feature p's precision.
Exact = Callable[..., float]
# residual(m, v, t, E, a, b), or exact_residual(m, v, w, t, growth, a, b): how far the step is
# from satisfying the conditions of the optimum, relative to the terms that should cancel.
Residual = Callable[..., float]
# joint(m, v_y, v_r, w_y, w_r, c, a, b, alpha, gain) -> changed: the optimum under a constraint per
# rival. m[j] are the margins over the rivals, in ascending order, v_y and v_r[j] the variances of
# the scores, w_y[p] and w_r[j, p] the features' shares in them (where the covariance needs it).
# It writes α_j, the step along Σg_j, and the precision that constraint j adds.
Joint = Callable[..., bool]

# Where a search looks if a parameter does not say: shares of a range, or factors on the default.
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)

COVARIANCES = ("diagonal-kl", "diagonal-l2", "diagonal-exact", "full")


@dataclass(frozen=True)
class Parameter:
    """A number that a rule takes: its default, its range and its meaning.

    `grid` are the values that a search tries. Without it, they are spread over the range. `auto`
    means that ``"auto"`` is allowed: the value is estimated from the rows. With ``auto="default"``
    the estimator's default is ``"auto"``, too, and `default` what that begins at.
    """

    name: str
    default: float
    low: float
    high: float
    meaning: str
    closed: Literal["left", "neither"] = "neither"
    grid: tuple[float, ...] = ()
    auto: bool | Literal["default"] = False

    @property
    def preset(self) -> float | str:
        """What the estimator takes where nothing is given: the default, or ``"auto"``."""
        return "auto" if self.auto == "default" else self.default

    @property
    def trials(self) -> tuple[float, ...]:
        """The values that a search tries, the default among them."""
        if self.grid:
            spread = self.grid
        elif math.isfinite(self.high):
            spread = tuple(self.low + share * (self.high - self.low) for share in SHARES)
        else:
            spread = tuple(self.low + (self.default - self.low) * factor for factor in FACTORS)
        return tuple(sorted({self.default, *spread}))

    @property
    def interval(self) -> str:
        """The range in the notation of mathematics, such as ``[0.5, 1)``."""
        return f"{'[' if self.closed == 'left' else '('}{self.low:g}, {self.high:g})"

    @property
    def allowed(self) -> str:
        """What the parameter may be: the range, and ``'auto'`` if that will do."""
        return f"{self.interval} or 'auto'" if self.auto else self.interval

    def check(self, value: object, owner: str) -> float:
        """Return `value` as a float, or say what is allowed; ``"auto"`` begins at the default."""
        if self.auto and isinstance(value, str) and value == "auto":
            return self.default
        if isinstance(value, Real) and not isinstance(value, bool):
            number = float(value)
            above = number >= self.low if self.closed == "left" else number > self.low
            if above and number < self.high:
                return number
        raise InvalidParameter(
            f"{owner}: {self.name} must be a number in {self.allowed}, got {show(value)}"
        )


@dataclass(frozen=True)
class OwnKernel:
    """What a rule that is not of the shape (m, v) -> (t, E) does with one row.

    ``score(row, table, column, stamps, clock, p)`` computes the row's score, ``update(row, table,
    column, stamps, clock, p, m, y, c)`` learns it with signed margin m and returns whether it
    changed anything; both are compiled, together with the `inlined` functions they call. `row` is
    (start, stop, indices, data, constant): its features and values are those from `start` to
    `stop`, and `constant` is the value of the constant feature. `table` has shape (1 + features,
    slots, columns); its row 0 belongs to the constant feature. ``weights(values, stamps, clock,
    p)`` gives a column's linear weights, and ``slots(weights, mean, total, clock, p)`` the slots of
    a column with given weights, made from columns whose slots have that mean and that total. Slots
    start at ``initial(*p)``. `clock` counts the examples before this one and `stamps` may hold a
    clock for every feature. Where arrays have a row per feature, the first is the constant one's.
    A score that is not the row times its linear weights is not `linear`.
    """

    score: Callable[..., float]
    update: Callable[..., bool]
    weights: Callable[..., Any]
    slots: Callable[..., Any]
    initial: Callable[..., tuple[float, ...]]
    inlined: tuple[Callable[..., float], ...] = ()
    stamps: bool = False
    linear: bool = True


def no_constants(**_: float) -> tuple[float, ...]:
    """The constants of a rule that has none."""
    return ()


class Written:
    """What a rule's file declares in its docstring."""

    module: str

    @property
    def text(self) -> str:
        """The docstring of the rule's file."""
        return inspect.getdoc(importlib.import_module(self.module)) or ""

    @property
    def title(self) -> str:
        """The first line of the rule's file."""
        return self.text.partition("\n")[0].rstrip(".")

    def paragraphs(self, label: str) -> list[str]:
        """The paragraphs of the file's head that start with ``label:``, without it."""
        return [
            " ".join(part.split()).removeprefix(f"{label}: ")
            for part in re.split(r"\n\s*\n", self.text)
            if part.startswith(f"{label}: ")
        ]


@dataclass(frozen=True)
class Rule(Written):
    """One update rule, as its file declares it.

    `estimator` is the class that offers the rule and `settings` what its parameters must be for
    that. `choices` are parameters that are words, of which `constants` is given the position.
    `weight` defines what an example's weight means: ``"cost"``, it scales the cost of missing the
    example and the step function sees it; ``"relative-cost"``, the same with weights relative to
    the largest; ``"share"``, how far to go from the old Gaussian to the one that satisfies a hard
    constraint, also relative to the largest. `average` means to predict with the average of all
    weight vectors, `scale_free` that Σ → Σ/c, μ → μ/√c changes no prediction.

    With many classes, `several` determines whether an example may be compared with several rivals,
    `parallel` whether the steps against them may be averaged, and `joint` has, by covariance, the
    function that satisfies all of them at once; `inlined` are the functions that it calls.
    """

    module: str
    name: str
    estimator: str
    parameters: tuple[Parameter, ...] = ()
    settings: Mapping[str, str | int | bool] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constants: Callable[..., tuple[float, ...]] = no_constants
    step: Step | None = None
    covariances: tuple[str, ...] = ()
    exact: Exact | None = None
    residual: Residual | None = None
    exact_residual: Residual | None = None
    weight: Literal["cost", "relative-cost", "share"] = "cost"
    average: bool = False
    scale_free: bool = False
    kernel: OwnKernel | None = None
    several: bool = True
    parallel: bool = False
    joint: Mapping[str, Joint] = field(default_factory=dict)
    inlined: tuple[Callable[..., float], ...] = ()

    @property
    def schemes(self) -> dict[str, tuple[str, ...]]:
        """The covariances with which each way to learn many classes exists."""
        kept = self.covariances or ("identity",)
        diagonal = tuple(each for each in kept if each != "full")
        return {
            "sequential": kept,
            "parallel": diagonal if self.parallel else (),
            "exact": tuple(each for each in kept if each in self.joint),
            "one-vs-rest": kept,
        }


@dataclass(frozen=True)
class BatchRule(Written):
    """A box of weights: an optimum over all examples at once, as its file declares it.

    It does not have the shape margin and variance to step: it keeps an interval per feature, centre
    and half width, and is solved over a whole sample. ``prox(mu, sigma, c, delta)`` is the step of
    the stochastic method after the gradient, ``primal(p, q, C, D)`` the interval of a dual
    point, ``cost(mu, sigma, C, D)`` what an interval costs; ``start(C, D)`` is the half width
    of an interval that no example touches, and ``steepest(D)`` the largest curvature of the dual.
    The first three are compiled, with the `inlined` functions. ``residual(mu, sigma, c, delta,
    there)`` and ``primal_residual(p, q, C, D, there)`` check the first two.
    """

    module: str
    name: str
    estimator: str
    parameters: tuple[Parameter, ...]
    settings: Mapping[str, str | int | bool]
    choices: Mapping[str, tuple[str, ...]]
    prox: Callable[[float, float, float, float], tuple[float, float]]
    primal: Callable[[float, float, float, float], tuple[float, float]]
    cost: Callable[[float, float, float, float], float]
    start: Callable[[float, float], float]
    steepest: Callable[[float], float]
    residual: Residual
    primal_residual: Residual
    inlined: tuple[Callable[..., float], ...] = ()
    covariances: tuple[str, ...] = ()  # none: intervals take the place of variances
    several: bool = False

    @property
    def schemes(self) -> dict[str, tuple[str, ...]]:
        """None: many classes are learned one-vs-rest."""
        return {}


_rules: dict[str, Rule] = {}
_batch_rules: dict[str, BatchRule] = {}


def register(rule: Rule) -> Rule:
    """Enter `rule` under its name; the last line of its file."""
    known = _rules.setdefault(rule.name, rule)
    if known.module != rule.module:
        raise InvalidParameter(
            f"two files register a rule named {rule.name!r}: {known.module} and {rule.module}"
        )
    return known


def register_batch(rule: BatchRule) -> BatchRule:
    """Enter `rule` under its name; the last line of its file."""
    known = _batch_rules.setdefault(rule.name, rule)
    if known.module != rule.module:
        raise InvalidParameter(
            f"two files register a rule named {rule.name!r}: {known.module} and {rule.module}"
        )
    return known


def rules() -> dict[str, Rule]:
    """Every online rule by name."""
    package = importlib.import_module(__package__)
    _read_files(package.__name__, tuple(package.__path__))
    return dict(sorted(_rules.items()))


def batch_rules() -> dict[str, BatchRule]:
    """Every rule that is solved over all examples at once, by name."""
    rules()
    return dict(sorted(_batch_rules.items()))


@cache
def _read_files(package: str, folders: tuple[str, ...]) -> None:
    """Import every file of `folders`, once."""
    for module in pkgutil.walk_packages(folders, f"{package}."):
        importlib.import_module(module.name)


def imbalance(*terms: float) -> float:
    """How far `terms` are from adding up to zero, relative to their size."""
    size = math.fsum(abs(term) for term in terms)
    return abs(math.fsum(terms)) / size if size > 0 else 0.0
