"""The metadata of a model file: JSON, and its single fields, checked."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from numpy.typing import NDArray

from sureline.errors import ModelFileError

Json = Any
T = TypeVar("T")
Array = NDArray[Any]
Tensors = dict[str, Array]

LARGEST = 2**53  # counters
MOST_FEATURES = 2**31 - 2  # feature numbers are int32
GROWTH = 1024  # a file may expand to so many times its size when it is opened


def dump_json(value: Any) -> str:
    """`value` as JSON: the same text every time, ASCII only and without NaN."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def parse_json(text: str) -> Any:
    """What a JSON text says; no name may come twice in an object, and NaN is a ValueError."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name comes twice in one object")
    return made


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def member(fields: Mapping[str, Json], name: str, kind: type[T]) -> T:
    """The field `name`, which must be of this kind."""
    value = fields.get(name)
    if type(value) is not kind:
        raise ModelFileError(f"its {name} is {short(value)}, expected a {kind.__name__}")
    return value


def whole(fields: Mapping[str, Json], name: str, low: int, high: int) -> int:
    """The field `name`, which must be a whole number from `low` to `high`."""
    value: Any = fields.get(name)
    if not is_whole(value, low, high):
        raise ModelFileError(
            f"its {name} is {short(value)}, expected a whole number from {low} to {high}"
        )
    return int(value)


def check_size(size: int, limit_gb: float, what: str = "model") -> None:
    """Refuse what would take more bytes than whoever opens the file allows."""
    if size > limit_gb * 2**30:
        raise ModelFileError(
            f"its {what} would take {size / 2**30:.3g} GB, more than memory_limit_gb={limit_gb:g}; "
            "raise memory_limit_gb if you trust the file"
        )


def is_whole(value: Any, low: int, high: int) -> bool:
    """Whether `value` is a whole number from `low` to `high`; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def short(value: Any) -> str:
    """`value` as a message shows it, however large or deep it is."""
    return reprlib.repr(value)


def is_finite(value: Json) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float) and math.isfinite(value)
