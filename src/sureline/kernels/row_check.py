"""A check of the numbers of sparse rows before anything is learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sureline.kernels.compiling import Kernel, flag, given, i8

U, U4 = np.uint64, np.uint32


def look_at_rows(indices: Any, data: Any) -> tuple[bool, bool, int]:
    """Whether there are zeros, whether all numbers are finite, and 1 + the last column.

    One pass for all three, as fast as memory delivers the rows. Without its sign, a negative column
    is a large one.
    """
    zeros, wild, last = U4(0), U4(0), U4(0)
    for k in range(data.size):
        x = data[U(k)]
        zeros |= U4(x == 0)
        wild |= U4(x - x != 0)
        last = max(last, U4(indices[U(k)]))
    return zeros != 0, wild == 0, np.int64(last) + (data.size > 0)


def look_signature(real: Any) -> Any:
    """The signature of `look_at_rows`."""
    return types.Tuple((flag, flag, i8))(given(types.uint32), given(real))


LOOK_AT_ROWS = Kernel(look_at_rows, look_signature)
