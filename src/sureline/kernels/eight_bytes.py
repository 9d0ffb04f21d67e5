"""Eight bytes at a time: loading, storing, and telling ASCII letters from what is between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from sureline.kernels.compiling import PLAIN

U = np.uint64
EIGHT = ir.IntType(64)


def every(byte: int) -> Any:
    """A byte, eight times."""
    return U(byte * 0x0101010101010101)


HIGH, LOW7, CASE_BIT = every(0x80), every(0x7F), every(0x20)
# Added to a byte below 0x80, each sets its high bit from one character on.
FROM_A, BEYOND_Z = every(0x80 - ord("a")), every(0x80 - ord("z") - 1)
FROM_0, BEYOND_9 = every(0x80 - ord("0")), every(0x80 - ord("9") - 1)
UNDERSCORES = every(ord("_"))
TWO, THREE = U(2), U(3)


def _address(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    """Where in memory a byte of an array lies, as the address of eight bytes."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), EIGHT.as_pointer())


def _load8(typing_context: Any, array: Any, place: Any) -> Any:
    """Eight neighbouring bytes as one number; the array must reach that far."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_address(context, builder, signature.args[0], *arguments))
        loaded.align = 1
        return loaded

    return types.uint64(array, place), generate


def _store8(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
    """Write a number to eight neighbouring bytes; the array must reach that far."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = builder.store(
            arguments[2], _address(context, builder, signature.args[0], *arguments[:2])
        )
        stored.align = 1
        return context.get_dummy_value()

    return types.void(array, place, types.uint64), generate


def _first_byte(typing_context: Any, marks: Any) -> Any:
    """The number of the lowest byte with a bit set; 8 where there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.cttz(arguments[0], ir.IntType(1)(0))
        return builder.lshr(zeros, EIGHT(3))

    return types.int64(types.uint64), generate


def _load8_slowly(array: Any, place: int) -> Any:
    """The stand-in where nothing is compiled."""
    return U(int.from_bytes(array[place : place + 8].tobytes(), "little"))


def _store8_slowly(array: Any, place: int, value: Any) -> None:
    """The stand-in where nothing is compiled."""
    array[place : place + 8] = np.frombuffer(int(value).to_bytes(8, "little"), np.uint8)


def _first_byte_slowly(marks: Any) -> int:
    """The stand-in where nothing is compiled."""
    marks = int(marks)
    return 8 if not marks else ((marks & -marks).bit_length() - 1) // 8


load8: Any = _load8_slowly if PLAIN else intrinsic(_load8)
store8: Any = _store8_slowly if PLAIN else intrinsic(_store8)
first_byte: Any = _first_byte_slowly if PLAIN else intrinsic(_first_byte)


@register_jitable
def ascii_words(chunk: Any, lowercase: bool) -> tuple[Any, Any]:
    """Which of eight bytes are ASCII letters, digits or underscores, and all in lower case.

    A high bit marks such a byte. No sum carries into the next byte, as bytes from 0x80 on are cut
    to seven bits first and left out at the end.
    """
    seven = chunk & LOW7
    folded = seven | CASE_BIT
    letters = (folded + FROM_A) & ~(folded + BEYOND_Z)
    digits = (seven + FROM_0) & ~(seven + BEYOND_9)
    underscores = ~((seven ^ UNDERSCORES) + LOW7)
    outside = chunk | ~HIGH
    words = (letters | digits | underscores) & ~outside
    if lowercase:
        chunk |= (letters & ~outside) >> TWO
    return words, chunk
