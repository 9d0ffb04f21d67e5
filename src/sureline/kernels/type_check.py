"""A check of the types of a loop's arguments, for tests: loops themselves trust their callers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

CHECKED = os.environ.get("SURELINE_CHECK_TYPES", "0") == "1"


def checked(loop: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """`loop`, which raises a TypeError for arguments that are not those of its signature."""

    def check_and_call(*arguments: Any) -> Any:
        if len(arguments) != len(signature.args):
            raise TypeError(f"{len(signature.args)} arguments expected, got {len(arguments)}")
        for position, (kind, argument) in enumerate(zip(signature.args, arguments, strict=True)):
            check_type(kind, argument, f"argument {position}")
        return loop(*arguments)

    return check_and_call


def check_type(kind: Any, value: Any, name: str) -> None:
    """Raise a TypeError if `value` is not what a loop takes for `kind`, a type of Numba's."""
    if isinstance(kind, types.NamedTuple):
        if getattr(value, "_fields", None) != kind.fields:
            raise TypeError(f"{name} must have the fields {kind.fields}, got {type(value)}")
        for field, inner, part in zip(kind.fields, kind.types, value, strict=True):
            check_type(inner, part, f"{name}.{field}")
    elif isinstance(kind, types.Array):
        dtype = np.dtype("bool" if kind.dtype == types.boolean else str(kind.dtype))
        suits = (
            isinstance(value, np.ndarray)
            and value.dtype == dtype
            and value.ndim == kind.ndim
            and (value.flags.c_contiguous or kind.layout == "A")
            and (value.flags.writeable or not kind.mutable)
        )
        if not suits:
            found = f"{value.dtype}, {value.ndim}d" if isinstance(value, np.ndarray) else value
            raise TypeError(f"{name} must be {kind}, got {found!r}")
