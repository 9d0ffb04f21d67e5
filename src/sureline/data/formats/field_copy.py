"""Copying fields out of a block of bytes into an Arrow array of strings."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import string_array
from sureline.data.formats.byte_scan import QUOTE, copy_bytes, find_byte, find_either


def copy_fields(block: Any, starts: Any, ends: Any, doubled: Any, offsets: Any, out: Any) -> Any:
    """Copy each field to `out`; where quotes are doubled, copy one of each two."""
    at = 0
    offsets[0] = 0
    for row in range(starts.shape[0]):
        begin, end = starts[row], ends[row]
        while doubled[row] and begin < end:
            quote = find_byte(block, begin, end, QUOTE)
            at = copy_bytes(block, begin, min(quote + 1, end), out, at)
            begin = quote + 2
        if not doubled[row]:
            at = copy_bytes(block, begin, end, out, at)
        offsets[row + 1] = at
    return at


@cache
def _compiled_copy() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    u1 = types.uint8
    return compiled(
        copy_fields,
        i8(given(u1), given(i8), given(i8), given(flag), array(i8), array(u1)),
        (copy_bytes, find_byte, find_either),
    )


def gather_fields(
    block: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    doubled: NDArray[np.bool_] | None = None,
) -> pa.LargeStringArray:
    """The bytes of `block` from each start to before each end; their UTF-8 is not checked.

    `doubled` is whether each quote of a field is written twice; by default, of none.
    """
    if doubled is None:
        doubled = np.zeros(len(starts), np.bool_)
    offsets = np.empty(len(starts) + 1, np.int64)
    out = np.empty(int((ends - starts).sum()), np.uint8)
    used = _compiled_copy()(block, starts, ends, doubled, offsets, out)
    return string_array(offsets, out[:used])
