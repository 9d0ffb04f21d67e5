"""Everything that sureline uses of Numba beyond its documented interface.

Tried with Numba 0.61.0 and 0.68.1, each with the llvmlite that it needs. Where a new release
changes something here, this is the one file to look at:

- the option ``_nrt``, and the inside of a dispatcher: `_cache`, `overloads`, `entry_point`,
  `library`, `fndesc`;
- `cpu_target`, which knows the processor;
- `event`, which reports what is compiled;
- `numba.core.caching`, whose classes decide where compiled code is kept and when it is stale;
- `FunctionModel`, the memory layout of a function that is passed as an argument;
- `cgutils`, which writes LLVM code, and the context that intrinsics are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import config, types
from numba.core import cgutils, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.registry import cpu_target
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_model, unbox

__all__ = [
    "PLAIN",
    "Callee",
    "CompileResultCacheImpl",
    "FunctionCache",
    "Pointer",
    "compile_function",
    "compile_options",
    "entry_point",
    "event",
    "insert_function",
    "machine_key",
    "row_stride",
]

PLAIN = bool(vars(config)["DISABLE_JIT"])  # nothing is compiled: functions run as plain Python


def compile_options(allocates: bool) -> dict[str, Any]:
    """How every function is compiled; one that does not allocate counts no references."""
    return {"nogil": True, "error_model": "numpy", "_nrt": allocates}


def compile_function(
    function: Callable[..., Any], signature: Any, allocates: bool, cache: Any
) -> Any:
    """A dispatcher with one compiled signature; `cache` is None or where its code is kept."""
    dispatcher = numba.njit(**compile_options(allocates))(function)
    if cache is not None:
        dispatcher._cache = cache
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher


def machine_key() -> str:
    """The processor that code is compiled for."""
    return repr(cpu_target.target_context.codegen().magic_tuple())


def entry_point(dispatcher: Any) -> Any:
    """The compiled function itself, without the dispatcher's look at the types of arguments."""
    return next(iter(dispatcher.overloads.values())).entry_point


class Callee(types.FunctionType):
    """The type of a function that is passed to a loop as a `Pointer`."""


register_model(Callee)(FunctionModel)


class Pointer:
    """A compiled function as an argument of another.

    Passing a compiled function itself makes Numba look up its address in every call, which takes
    about 30 µs; passing an object with Numba's address protocol takes about 2 µs. Either is more
    than learning a short row takes. A loop reads the address of a `Pointer` directly.
    """

    def __init__(self, function: Any, signature: Any) -> None:
        self._function = function  # keeps the code alive
        compiled = function.overloads[signature.args]
        name = compiled.fndesc.llvm_cfunc_wrapper_name
        self.address = compiled.library.get_pointer_to_function(name)
        self._numba_type_ = Callee(signature)


def _unbox_pointer(kind: Any, pointer: Any, c: Any) -> NativeValue:
    """Generate the code that reads the address of a `Pointer` when a loop is called with one."""
    value = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    address = c.pyapi.object_getattr_string(pointer, "address")
    with c.builder.if_then(cgutils.is_null(c.builder, address), likely=False):
        c.builder.ret(c.pyapi.get_null_object())  # not a Pointer: an AttributeError has been set
    value.c_addr = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    value.py_addr = c.builder.ptrtoint(pointer, value.py_addr.type)
    value.jit_addr = cgutils.get_null_value(value.jit_addr.type)
    return NativeValue(value._getvalue())


unbox(Callee)(_unbox_pointer)


def row_stride(builder: Any, array: Any) -> Any:
    """Inside an intrinsic: the number of bytes from one row of an array to the next."""
    return cgutils.unpack_tuple(builder, array.strides)[0]


def insert_function(builder: Any, function_type: Any, name: str) -> Any:
    """Inside an intrinsic: a function of LLVM's by its name."""
    return cgutils.get_or_insert_function(builder.module, function_type, name)
