"""Where rows and features are, in a form that shows the compiler that no index is negative.

Numba lets negative indices count from the end of an array, as Python does, and tests the sign at
every access unless it can rule it out. That would be an eighth of the time of a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

NOT_NEGATIVE = (1 << 62) - 1  # the bits of every possible index


@register_jitable
def row_at(indptr: Any, i: int) -> tuple[int, int]:
    """Where a row begins and ends."""
    return indptr[i] & NOT_NEGATIVE, indptr[i + 1] & NOT_NEGATIVE


@register_jitable
def next_row(q: int, order: Any, indptr: Any) -> tuple[int, int]:
    """Where the row that is learned after the q-th begins and ends; (0, 0) after the last."""
    if q + 1 < order.size:
        return row_at(indptr, order[q + 1])
    return 0, 0


@register_jitable
def entry_at(indices: Any, k: int) -> Any:
    """The row of the table that belongs to the k-th feature; the first is the intercept's."""
    return np.int64(np.uint32(indices[k])) + 1
