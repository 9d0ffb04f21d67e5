"""How plain functions become compiled ones: once, on first use, kept in Numba's disk cache.

Rules reach the loops as typed function pointers. A closure, or a jitted function as a plain
argument, would make a cache key that no other process has, and every new rule would compile every
loop again; a function pointer does neither.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import FrameType
from typing import Any

import numpy as np
from numba.extending import register_jitable

from sureline.kernels.arguments import REAL, array, f8, flag, given, i8
from sureline.kernels.code_cache import open_cache
from sureline.kernels.numba_internals import PLAIN, Pointer, compile_function, entry_point
from sureline.kernels.type_check import CHECKED, checked

__all__ = ["REAL", "Kernel", "array", "compiled", "f8", "flag", "given", "i8", "pointer"]

LOOP = "-loop"


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
    with defer_signals():
        for callee in inlined:
            register_jitable(callee)
        return compile_function(function, signature, allocates, open_cache(function, signature))


@cache
def pointer(
    function: Callable[..., Any], signature: Any, inlined: tuple[Callable[..., Any], ...] = ()
) -> Any:
    """`function`, compiled for `signature`, to be given to loops; it may allocate arrays."""
    made = compiled(function, signature, inlined, allocates=True)
    if PLAIN:
        return made
    with defer_signals():
        return Pointer(made, signature)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Call the signal handlers of Python after the block.

    Numba and llvmlite compile, and read compiled code, under locks that an exception from a handler
    would leave locked, and with objects that it would leave half made.
    """
    if threading.current_thread() is not threading.main_thread():  # handlers run in that one
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {
        int(number): handler
        for number in signal.valid_signals()
        if callable(handler := signal.getsignal(number))
    }
    with ExitStack() as restored:
        for number, handler in handlers.items():
            restored.callback(signal.signal, number, handler)
            signal.signal(number, lambda *event: came.append(event))
        yield
    for event in came:
        handlers[event[0]](*event)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A loop over rows, its signature for a given type of number, and whether it `allocates`."""

    function: Callable[..., Any]
    signature: Callable[[Any], Any]
    allocates: bool = False
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def compiled(self, dtype: str) -> Any:
        """The loop for models of `dtype`, ``"float32"`` or ``"float64"``.

        It checks the types of its arguments, as long as none of them is a NamedTuple.
        """
        made = self._made.get(dtype)
        if made is None:  # making the signature for every call would cost more than the call
            made = compiled(self.function, self.signature(REAL[dtype]), (), self.allocates)
            if PLAIN:  # integers overflow on purpose, of which compiled loops do not warn
                made = np.errstate(over="ignore")(made)
            self._made[dtype] = made
        return made

    def loop(self, dtype: str) -> Any:
        """The same loop without the check of types, for arguments whose types are certain.

        To check NamedTuples of arrays, Numba needs 5 µs, longer than learning a short row takes.
        With SURELINE_CHECK_TYPES=1 in the environment, as in the tests, types are checked here.
        """
        made = self._made.get(dtype + LOOP)
        if made is None:
            made = self.compiled(dtype)
            if not PLAIN:
                made = entry_point(made)
            if CHECKED:
                made = checked(made, self.signature(REAL[dtype]))
            self._made[dtype + LOOP] = made
        return made
