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

import numba
import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_jitable, register_model, unbox

REAL = {"float32": types.float32, "float64": types.float64}
f8, i8, flag = types.float64, types.int64, types.boolean
PLAIN = bool(vars(config)["DISABLE_JIT"])  # nothing is compiled: every function runs as it stands

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


def how_to_compile(allocates: bool) -> dict[str, Any]:
    """What Numba is told of every function."""
    return {"nogil": True, "error_model": "numpy", "_nrt": allocates}


@cache
def compiled(
    function: Callable[..., Any],
    signature: Any,
    inlined: tuple[Callable[..., Any], ...] = (),
    allocates: bool = False,
) -> Any:
    """`function` compiled for `signature`, from the disk cache where it has been before.

    Arrays are not counted while it runs, unless it `allocates` any: whoever calls it holds those
    that it is given, and to count them, which one thread must keep others from, takes longer than
    to learn a feature. Where no folder for the cache can be written (a read-only installation
    without a home), the function is compiled for this process only.
    """
    for callee in inlined:
        register_jitable(callee)
    options = how_to_compile(allocates)
    try:
        return numba.njit(signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(signature, **options)(function)


class Callee(types.FunctionType):
    """The type of a function that a loop is given: a `Pointer`, and nothing else."""


register_model(Callee)(FunctionModel)


class Pointer:
    """A compiled function as an argument of another.

    Numba would look up the address of a plain compiled function in every call, for 30 µs or so, and
    ask an object that speaks its protocol of addresses in every call, for 2 µs. Both is more than
    it takes to learn a short row. So loops take the address from here without asking.
    """

    def __init__(self, function: Any, signature: Any) -> None:
        self._function = function  # keeps the code alive
        made = function.overloads[signature.args]
        self.address = made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name)
        self._numba_type_ = Callee(signature)


def _take_address(kind: Any, pointer: Any, c: Any) -> NativeValue:
    """Code that takes the address out of a `Pointer`, whenever a loop is called with one."""
    taken = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    address = c.pyapi.object_getattr_string(pointer, "address")
    with c.builder.if_then(cgutils.is_null(c.builder, address), likely=False):
        c.builder.ret(c.pyapi.get_null_object())  # no pointer: an AttributeError has been set
    taken.c_addr = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    taken.py_addr = c.builder.ptrtoint(pointer, taken.py_addr.type)
    taken.jit_addr = cgutils.get_null_value(taken.jit_addr.type)
    return NativeValue(taken._getvalue())


unbox(Callee)(_take_address)


@cache
def pointer(
    function: Callable[..., Any], signature: Any, inlined: tuple[Callable[..., Any], ...] = ()
) -> Any:
    """`function`, compiled for `signature`, to be given to loops; it may allocate arrays."""
    made = compiled(function, signature, inlined, allocates=True)
    return Pointer(made, signature) if hasattr(made, "overloads") else made


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
        return made if PLAIN else next(iter(made.overloads.values())).entry_point
