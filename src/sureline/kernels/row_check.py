"""What is done with numbers before anything is learned from them: a check, and sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sureline.kernels.compiling import Kernel, array, flag, given, i8

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


def count_nonzeros(X: Any, indptr: Any) -> None:
    """Write where each row of a dense matrix begins among its nonzeros, and their number."""
    indptr[0] = 0
    for i in range(X.shape[0]):
        row, count = X[i], 0
        for j in range(row.size):
            count += row[j] != 0
        indptr[i + 1] = indptr[i] + count


def take_nonzeros(X: Any, indptr: Any, indices: Any, data: Any) -> None:
    """Write the nonzeros of a dense matrix, counted before."""
    for i in range(X.shape[0]):
        row, k = X[i], indptr[i]
        for j in range(row.size):
            if row[j] != 0:
                indices[k], data[k] = j, row[j]
                k += 1


def look_signature(real: Any) -> Any:
    """The signature of `look_at_rows`."""
    return types.Tuple((flag, flag, i8))(given(types.uint32), given(real))


LOOK_AT_ROWS = Kernel(look_at_rows, look_signature)
COUNT_NONZEROS = Kernel(count_nonzeros, lambda real: types.void(given(real, 2), array(i8)))
TAKE_NONZEROS = Kernel(
    take_nonzeros,
    lambda real: types.void(given(real, 2), given(i8), array(types.int32), array(real)),
)
