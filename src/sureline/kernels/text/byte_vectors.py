"""Many bytes at a time: eight as one number, and 64 to separate words from what is between them.

The machine compares 64 bytes in a few instructions, however wide its registers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sureline.kernels.numba_internals import PLAIN

U = np.uint64
SIZE = 64
EIGHT = ir.IntType(64)
BLOCK = ir.VectorType(ir.IntType(8), SIZE)


def _address(kind: Any, context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    """Where in memory a byte of an array lies, as the address of some kind of thing."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _load8(typing_context: Any, array: Any, place: Any) -> Any:
    """Eight neighbouring bytes as one number; the array must reach that far."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_address(EIGHT, context, builder, signature.args[0], *arguments))
        loaded.align = 1
        return loaded

    return types.uint64(array, place), generate


def _store8(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
    """Write a number to eight neighbouring bytes; the array must reach that far."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = builder.store(
            arguments[2], _address(EIGHT, context, builder, signature.args[0], *arguments[:2])
        )
        stored.align = 1
        return context.get_dummy_value()

    return types.void(array, place, types.uint64), generate


def _every(byte: int) -> ir.Constant:
    """A byte, 64 times."""
    return ir.Constant(BLOCK, [byte] * SIZE)


def _fold_block(
    typing_context: Any, text: Any, place: Any, lowercase: Any, out: Any, begin: Any
) -> Any:
    """Write 64 bytes of the text to `out`, ASCII letters in lower case if `lowercase`.

    Returns which of them are ASCII letters, digits or underscores, and which are not ASCII: the
    lowest bit belongs to the first byte. Both arrays must reach that far.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _address(BLOCK, context, builder, signature.args[0], *arguments[:2])
        target = _address(BLOCK, context, builder, signature.args[3], *arguments[3:])
        block = builder.load(source)
        block.align = 1
        folded = builder.or_(block, _every(0x20))
        letters = builder.icmp_unsigned("<", builder.sub(folded, _every(ord("a"))), _every(26))
        digits = builder.icmp_unsigned("<", builder.sub(block, _every(ord("0"))), _every(10))
        underscores = builder.icmp_unsigned("==", block, _every(ord("_")))
        words = builder.or_(builder.or_(letters, digits), underscores)
        foreign = builder.icmp_signed("<", block, _every(0))
        lower = builder.select(letters, folded, block)
        wanted = builder.trunc(arguments[2], ir.IntType(1))
        written = builder.store(builder.select(wanted, lower, block), target)
        written.align = 1
        masks = [builder.bitcast(mask, EIGHT) for mask in (words, foreign)]
        return context.make_tuple(builder, signature.return_type, masks)

    result = types.UniTuple(types.uint64, 2)
    return result(text, place, types.boolean, out, begin), generate


def _lowest_bit(typing_context: Any, marks: Any) -> Any:
    """The number of the lowest bit that is set; one must be."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


def _load8_slowly(array: Any, place: int) -> Any:
    """The same in plain Python, where nothing is compiled."""
    return U(int.from_bytes(array[place : place + 8].tobytes(), "little"))


def _store8_slowly(array: Any, place: int, value: Any) -> None:
    """The same in plain Python, where nothing is compiled."""
    array[place : place + 8] = np.frombuffer(int(value).to_bytes(8, "little"), np.uint8)


def _fold_block_slowly(
    text: Any, place: int, lowercase: bool, out: Any, begin: int
) -> tuple[Any, Any]:
    """The same in plain Python, where nothing is compiled."""
    block = np.array(text[place : place + SIZE])
    folded = block | np.uint8(0x20)
    letters = (folded >= ord("a")) & (folded <= ord("z"))
    words = letters | ((block >= ord("0")) & (block <= ord("9"))) | (block == ord("_"))
    out[begin : begin + SIZE] = np.where(letters, folded, block) if lowercase else block
    masks = (np.packbits(mask, bitorder="little").view(U)[0] for mask in (words, block >= 0x80))
    return next(masks), next(masks)


def _lowest_bit_slowly(marks: Any) -> int:
    """The same in plain Python, where nothing is compiled."""
    return (int(marks) & -int(marks)).bit_length() - 1


load8: Any = _load8_slowly if PLAIN else intrinsic(_load8)
store8: Any = _store8_slowly if PLAIN else intrinsic(_store8)
fold_block: Any = _fold_block_slowly if PLAIN else intrinsic(_fold_block)
lowest_bit: Any = _lowest_bit_slowly if PLAIN else intrinsic(_lowest_bit)
