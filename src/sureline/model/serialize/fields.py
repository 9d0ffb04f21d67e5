"""Single fields of a model file's metadata, checked."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from sureline.errors import ModelFileError

Json = Any
Array = NDArray[Any]
Tensors = dict[str, Array]

LARGEST = 2**53  # counters
MOST_FEATURES = 2**31 - 2  # feature numbers are int32
GROWTH = 1024  # a file may expand to so many times its size when it is opened


def member(fields: Mapping[str, Json], name: str, kind: type) -> Any:
    """The field `name`, which must be of this kind."""
    value = fields.get(name)
    if type(value) is not kind:
        raise ModelFileError(f"its {name} is {short(value)}, expected a {kind.__name__}")
    return value


def text_of(fields: Mapping[str, Json], name: str) -> str:
    """The field `name`, which must be text."""
    return str(member(fields, name, str))


def flag(fields: Mapping[str, Json], name: str) -> bool:
    """The field `name`, which must be true or false."""
    return bool(member(fields, name, bool))


def whole(fields: Mapping[str, Json], name: str, low: int, high: int) -> int:
    """The field `name`, which must be a whole number from `low` to `high`."""
    value: Any = fields.get(name)
    if not is_whole(value, low, high):
        raise ModelFileError(
            f"its {name} is {short(value)}, expected a whole number from {low} to {high}"
        )
    return int(value)


def is_whole(value: Any, low: int, high: int) -> bool:
    """Whether `value` is a whole number from `low` to `high`; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def short(value: Any) -> str:
    """`value` as a message shows it, however large or deep it is."""
    return reprlib.repr(value)


def is_finite(value: Json) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float) and math.isfinite(value)
