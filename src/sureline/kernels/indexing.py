"""Where rows and features lie, told so that the compiler knows that no place is negative.

Numba lets negative numbers count from the end of an array, as Python does, and looks at the sign
at every access unless it can see that there is none. That would be an eighth of the time of a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

ANYWHERE = (1 << 62) - 1  # the bits of every place there can be


@register_jitable
def row_at(indptr: Any, i: int) -> tuple[int, int]:
    """Where a row begins and ends."""
    return indptr[i] & ANYWHERE, indptr[i + 1] & ANYWHERE


@register_jitable
def next_row(q: int, order: Any, indptr: Any) -> tuple[int, int]:
    """Where the row begins and ends that is learned after the q-th; nowhere after the last."""
    if q + 1 < order.size:
        return row_at(indptr, order[q + 1])
    return 0, 0


@register_jitable
def entry_at(indices: Any, k: int) -> Any:
    """The entry of a table that the k-th feature has; the first is the intercept's."""
    return np.int64(np.uint32(indices[k])) + 1
