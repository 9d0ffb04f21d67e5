"""How plain functions become compiled ones: once, on first use, kept in Numba's disk cache.

Rules reach the loops as typed function pointers. A closure, or a jitted function as a plain
argument, would make a cache key that no other process has, and every new rule would compile every
loop again; a function pointer does neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.code_cache import open_cache
from sureline.kernels.numba_internals import PLAIN, Pointer, compile_function, entry_point

REAL = {"float32": types.float32, "float64": types.float64}
f8, i8, flag = types.float64, types.int64, types.boolean

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
    function: Callable[..., Any],
    signature: Any,
    inlined: tuple[Callable[..., Any], ...] = (),
    allocates: bool = False,
) -> Any:
    """`function` compiled for `signature`, read from disk if it has been compiled before.

    References to arrays are not counted while it runs, unless it `allocates` any: the caller holds
    what it passes, and counting, which threads must do one after the other, takes longer than
    learning a feature. Where no folder can be written (a read-only installation without a home
    folder), the function is compiled in each process.
    """
    if PLAIN:
        return function
    for callee in inlined:
        register_jitable(callee)
    return compile_function(function, signature, allocates, open_cache(function, signature))


@cache
def pointer(
    function: Callable[..., Any], signature: Any, inlined: tuple[Callable[..., Any], ...] = ()
) -> Any:
    """`function`, compiled for `signature`, to be given to loops; it may allocate arrays."""
    made = compiled(function, signature, inlined, allocates=True)
    return made if PLAIN else Pointer(made, signature)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A loop over rows and, for a given kind of number, its signature; and if it `allocates`."""

    function: Callable[..., Any]
    signature: Callable[[Any], Any]
    allocates: bool = False
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def compiled(self, dtype: str) -> Any:
        """The loop for states of `dtype`, ``"float32"`` or ``"float64"``."""
        made = self._made.get(dtype)
        if made is None:  # making the signature for every call would cost more than the call
            made = compiled(self.function, self.signature(REAL[dtype]), (), self.allocates)
            if PLAIN:  # whole numbers overflow on purpose, of which compiled loops do not warn
                made = np.errstate(over="ignore")(made)
            self._made[dtype] = made
        return made

    def unchecked(self, dtype: str) -> Any:
        """The same for arguments that it has been called with: their types are not looked at."""
        made = self.compiled(dtype)
        return made if PLAIN else entry_point(made)
