"""How plain functions become compiled ones: once, on first use, kept in Numba's disk cache.

Rules reach the loops as typed function pointers. A closure, or a jitted function as a plain
argument, would make a cache key that no other process has, and every new rule would compile every
loop again; a function pointer does neither.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import config, types
from numba.core.types.function_type import CompileResultWAP, WrapperAddressProtocol
from numba.extending import register_jitable

REAL = {"float32": types.float32, "float64": types.float64}
f8, i8, flag = types.float64, types.int64, types.boolean
PLAIN = bool(vars(config)["DISABLE_JIT"])  # nothing is compiled: every function runs as it stands
SILENT = nullcontext()

STEP = types.UniTuple(f8, 2)(f8, f8, f8, f8, f8)
JOINT = flag(
    *(types.Array(f8, 1, "C"), f8, types.Array(f8, 1, "C"), types.Array(f8, 1, "C")),
    *(types.Array(f8, 2, "A"), f8, f8, f8, types.Array(f8, 1, "C"), types.Array(f8, 1, "C")),
)
EXACT = f8(f8, f8, types.Array(f8, 1, "C"), f8, f8, f8, f8, f8)


def array(item: Any, ndim: int = 1) -> Any:
    """A contiguous array that a kernel writes to."""
    return types.Array(item, ndim, "C")


def given(item: Any, ndim: int = 1) -> Any:
    """A contiguous array that a kernel only reads, so that read-only memory will do."""
    return types.Array(item, ndim, "C", readonly=True)


def rows(real: Any) -> tuple[Any, ...]:
    """The three arrays of sparse rows: indptr, indices, data."""
    return given(i8), given(types.int32), given(real)


def examples(real: Any) -> tuple[Any, ...]:
    """Rows with their signs and weights, and the order in which to learn them."""
    return (*rows(real), given(f8), given(f8), given(i8))


def labelled(real: Any) -> tuple[Any, ...]:
    """As `examples` for many classes, with columns in place of signs."""
    return (*rows(real), given(i8), given(f8), given(i8))


def own_row(real: Any, kind: Any) -> tuple[Any, ...]:
    """What a rule's own row functions are given; `kind` of array holds what is learned."""
    _, indices, data = rows(real)
    return i8, i8, indices, data, kind(real, 3), i8, kind(i8, 2), i8, f8, given(f8)


@cache
def own_score(real: Any) -> Any:
    """The signature of a rule's own score."""
    return f8(*own_row(real, given))


@cache
def own_update(real: Any) -> Any:
    """The signature of a rule's own update."""
    return flag(*own_row(real, array), f8, f8, f8)


@cache
def compiled(
    function: Callable[..., Any], signature: Any, inlined: tuple[Callable[..., Any], ...] = ()
) -> Any:
    """`function` compiled for `signature`, from the disk cache where it has been before.

    Where no folder for the cache can be written (a read-only installation without a home), the
    function is compiled for this process only.
    """
    for callee in inlined:
        register_jitable(callee)
    try:
        return numba.njit(signature, cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(signature, nogil=True, error_model="numpy")(function)


class Pointer(WrapperAddressProtocol):
    """A compiled function as an argument of another.

    Numba would look up the address of a plain compiled function in every call, for 30 µs or so.
    """

    def __init__(self, function: Any, signature: Any) -> None:
        found = CompileResultWAP(function.overloads[signature.args])
        self._function = function  # keeps the code alive
        self._address, self._signature = found.__wrapper_address__(), signature
        self._numba_type_ = types.FunctionType(signature)

    def __wrapper_address__(self) -> Any:
        return self._address

    def signature(self) -> Any:
        """What the function takes and returns."""
        return self._signature


@cache
def pointer(
    function: Callable[..., Any], signature: Any, inlined: tuple[Callable[..., Any], ...] = ()
) -> Any:
    """`function`, compiled for `signature`, to be given to loops."""
    made = compiled(function, signature, inlined)
    return Pointer(made, signature) if hasattr(made, "overloads") else made


@dataclass(frozen=True, eq=False)
class Kernel:
    """A loop over rows and, for a given kind of number, its signature."""

    function: Callable[..., Any]
    signature: Callable[[Any], Any]
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def compiled(self, dtype: str) -> Any:
        """The loop for states of `dtype`, ``"float32"`` or ``"float64"``."""
        made = self._made.get(dtype)
        if made is None:  # making the signature for every call would cost more than the call
            made = self._made[dtype] = compiled(self.function, self.signature(REAL[dtype]))
        return made


def overflowing() -> AbstractContextManager[Any]:
    """Around loops whose whole numbers overflow on purpose: not compiled, they would warn."""
    return np.errstate(over="ignore") if PLAIN else SILENT
