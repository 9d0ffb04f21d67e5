"""Pieces of a block of bytes, copied side by side into Arrow's form of an array of strings."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.formats.byte_scan import QUOTE, copy_bytes


def copy_slices(block: Any, starts: Any, ends: Any, doubled: Any, offsets: Any, out: Any) -> Any:
    """Copy each slice to `out`; one of each two quotes where they are doubled."""
    at = 0
    offsets[0] = 0
    for row in range(starts.shape[0]):
        if doubled[row]:
            source = block[starts[row] : ends[row]]
            target = out[at : at + source.shape[0]]
            written = 0
            second = False
            for i in range(source.shape[0]):
                target[written] = source[i]
                second = source[i] == QUOTE and not second
                written += 0 if second else 1
            at += written
        else:
            at = copy_bytes(block, starts[row], ends[row], out, at)
        offsets[row + 1] = at
    return at


@cache
def _copy_slices() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    u1 = types.uint8
    return compiled(
        copy_slices,
        i8(given(u1), given(i8), given(i8), given(flag), array(i8), array(u1)),
        (copy_bytes,),
    )


def gather(
    block: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    doubled: NDArray[np.bool_] | None = None,
) -> pa.LargeStringArray:
    """The slices of `block` from each start to before each end; their UTF-8 is not yet checked.

    Parameters
    ----------
    block : uint8 array
        The bytes to copy from.
    starts, ends : int64 arrays
        Where each slice starts and ends.
    doubled : bool array, default=None
        Where the quotes of a slice are written twice and mean one.
    """
    if doubled is None:
        doubled = np.zeros(len(starts), np.bool_)
    offsets = np.empty(len(starts) + 1, np.int64)
    out = np.empty(int((ends - starts).sum()), np.uint8)
    used = _copy_slices()(block, starts, ends, doubled, offsets, out)
    return strings(offsets, out[:used])


def strings(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> pa.LargeStringArray:
    """An Arrow array of strings over these buffers, without a copy."""
    return pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)
    )


def is_utf8(array: pa.Array) -> bool:
    """Whether all strings of an Arrow array are valid UTF-8."""
    try:
        array.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return False
    return True


def holds_utf8(data: bytes) -> bool:
    """Whether these bytes are valid UTF-8."""
    return is_utf8(strings(np.array([0, len(data)]), np.frombuffer(data, np.uint8)))


def rows_not_utf8(array: pa.Array) -> list[int]:
    """The rows of an Arrow array of strings that are not valid UTF-8."""
    if is_utf8(array):
        return []
    bad = []
    for row, value in enumerate(array.cast(pa.large_binary()).to_pylist()):
        try:
            (value or b"").decode("utf-8")
        except UnicodeDecodeError:
            bad.append(row)
    return bad
