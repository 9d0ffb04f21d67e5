"""How an option is declared, as a dataclass field, and what is derived from it: its check.

`sureline.options` has the declarations.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sureline.errors import InvalidParameter, show

T = TypeVar("T")


@dataclass(frozen=True)
class Flag:
    """How an option is given on the command line.

    `help` and `default` are given where those of the Python parameter do not fit. A `common` one is
    shown by ``--help``, others by ``--help-all``.
    """

    name: str
    metavar: str = ""
    help: str = ""
    default: Any = None
    common: bool = False


@dataclass(frozen=True)
class Option:
    """A declared option. `kind` is its type; `none` describes what None means."""

    name: str
    kind: Any
    default: Any
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    none: str = ""
    flag: Flag | None = None

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The alternatives of its type."""
        return alternatives(self.kind)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values to choose from, if there are such; None is not among them."""
        return tuple(
            choice
            for kind in self.kinds
            if get_origin(kind) is Literal
            for choice in get_args(kind)
        )

    @property
    def optional(self) -> bool:
        """Whether it may be None."""
        return NoneType in self.kinds

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        *others, last = [word for kind in self.kinds for word in self._describe(kind)]
        return f"{', '.join(others)} or {last}" if others else last

    def check(self, value: Any, subject: str) -> None:
        """Refuse a value of another type or out of range.

        `subject` is what the caller calls the option, such as ``TextClassifier: bits``.
        """
        if not self.fits(value):
            raise InvalidParameter(f"{subject} must be {self.allowed}, got {show(value)}")

    def fits(self, value: Any) -> bool:
        """Whether a value is of the type and within the range."""
        return any(self._fits(value, kind) for kind in self.kinds)

    def _describe(self, kind: Any) -> list[str]:
        if get_origin(kind) is Literal:
            return [repr(choice) for choice in get_args(kind)]
        if kind is int:
            if not math.isfinite(self.low):
                return ["a whole number"]
            if math.isfinite(self.high):
                return [f"a whole number from {int(self.low)} to {int(self.high)}"]
            return [f"a whole number of at least {int(self.low)}"]
        if kind is float:
            return [f"a number in ({self.low:g}, {self.high:g})"]
        if get_origin(kind) is tuple:
            limits = f"from {int(self.low)} to {int(self.high)}"
            return [f"two whole numbers {limits} in order, such as (1, 2)"]
        known = {NoneType: "None", bool: "True or False", Sequence: "a list of words"}
        return [known.get(get_origin(kind) or kind, getattr(kind, "__name__", str(kind)))]

    def _fits(self, value: Any, kind: Any) -> bool:
        if kind is NoneType:
            return value is None
        if get_origin(kind) is Literal:
            return isinstance(value, (str, int)) and value in get_args(kind)
        if kind is bool:
            return type(value).__name__ == "bool"  # NumPy calls its own so, too
        if kind is int:
            return _is_whole(value) and self.low <= value <= self.high
        if kind is float:
            number = isinstance(value, Real) and not isinstance(value, bool)
            return number and self.low < float(value) < self.high
        if get_origin(kind) is tuple:
            try:
                low, high = value
            except (TypeError, ValueError):
                return False
            return _is_whole(low) and _is_whole(high) and self.low <= low <= high <= self.high
        if get_origin(kind) is Sequence:
            if isinstance(value, str) or not hasattr(value, "__iter__"):
                return False
            return all(isinstance(word, str) for word in value)
        if _is_settings(kind):
            return isinstance(value, kind)
        return not _is_whole(value)  # the rest is checked where it is used


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a type hint allows."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_settings(kind: Any) -> bool:
    """Whether a type is one of settings, a frozen dataclass."""
    return dataclasses.is_dataclass(kind) and bool(vars(kind)["__dataclass_params__"].frozen)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def option(
    default: T,
    meaning: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    none: str = "",
    flag: Flag | None = None,
    positional: bool = False,
) -> T:
    """Declare an option, as the value of a dataclass field whose annotation is its type.

    Both ends of the range from `low` to `high` are allowed for whole numbers, neither for others.
    `none` is what None means. An option without a `flag` is given by ``--set`` on the command line.
    Python takes a `positional` one without its name.
    """
    metadata = {"meaning": meaning, "low": low, "high": high, "none": none, "flag": flag}
    field: T = dataclasses.field(default=default, metadata=metadata, kw_only=not positional)
    return field


@cache
def declared(cls: Any) -> Mapping[str, Option]:
    """The options that a dataclass declares by `option` or inherits, by name."""
    hints = get_type_hints(cls)
    return MappingProxyType(
        {
            field.name: Option(field.name, hints[field.name], field.default, **field.metadata)
            for field in dataclasses.fields(cls)
            if "meaning" in field.metadata
        }
    )


def validate(estimator: object) -> None:
    """Check the types and ranges of all declared options of an estimator.

    Combinations are checked where they matter.
    """
    owner: Any = type(estimator)
    for name, each in declared(owner).items():
        each.check(getattr(estimator, name), f"{owner.__name__}: {name}")
