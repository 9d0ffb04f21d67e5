"""Learning and scoring with a rule that brings its own row functions."""

from __future__ import annotations

import math
from typing import Any

from numba import types

from sureline.kernels.compiling import (
    Kernel,
    array,
    examples,
    f8,
    given,
    i8,
    own_score,
    own_update,
    rows,
)


def learn_own(
    indptr: Any,
    indices: Any,
    data: Any,
    sign: Any,
    weight: Any,
    order: Any,
    table: Any,
    stamps: Any,
    clock: int,
    constant: float,
    p: Any,
    score: Any,
    update: Any,
    counts: Any,
) -> int:
    """Learn rows in `order`; return the row whose numbers overflowed, or -1."""
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        y, row = sign[i], (start, stop, indices, data, table, 0, stamps, clock, constant, p)
        m = y * score(*row)
        if not math.isfinite(m):
            return int(i)
        if m <= 0.0:
            counts[1] += 1
        if (stop > start or constant > 0.0) and update(*row, m, y, weight[i]):
            counts[0] += 1
            checked = 0.0
            for slot in range(table.shape[1]):
                checked += table[0, slot, 0]
                for k in range(start, stop):
                    checked += table[indices[k] + 1, slot, 0]
            if not math.isfinite(checked):
                return int(i)
        clock += 1
    return -1


def score_own(
    indptr: Any,
    indices: Any,
    data: Any,
    table: Any,
    stamps: Any,
    clock: int,
    constant: float,
    p: Any,
    score: Any,
    out: Any,
) -> None:
    """The score of every row."""
    for i in range(out.size):
        out[i] = score(
            indptr[i], indptr[i + 1], indices, data, table, 0, stamps, clock, constant, p
        )


LEARN_OWN = Kernel(
    learn_own,
    lambda real: i8(
        *examples(real),
        array(real, 3),
        array(i8, 2),
        i8,
        f8,
        given(f8),
        types.FunctionType(own_score(real)),
        types.FunctionType(own_update(real)),
        array(i8),
    ),
)
SCORE_OWN = Kernel(
    score_own,
    lambda real: types.void(
        *rows(real),
        given(real, 3),
        given(i8, 2),
        i8,
        f8,
        given(f8),
        types.FunctionType(own_score(real)),
        array(f8),
    ),
)
