"""Learning and scoring with a rule that brings its own row functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.class_columns import rank_rivals
from sureline.kernels.compiling import (
    Kernel,
    array,
    examples,
    f8,
    given,
    i8,
    labelled,
    own_score,
    own_update,
    rows,
)
from sureline.kernels.numba_internals import Callee


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
            if not math.isfinite(sum_row(start, stop, indices, table, 0)):
                return int(i)
        clock += 1
    return -1


def learn_own_rivals(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    stamps: Any,
    rank: Any,
    known: int,
    clock: int,
    constant: float,
    p: Any,
    score: Any,
    update: Any,
    counts: Any,
) -> int:
    """As `learn_own` for many classes: the example's class against its strongest rival."""
    scores, left = np.empty(table.shape[2]), np.empty(table.shape[2])
    rivals = np.empty(1, np.int64)
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        y = codes[i]
        new = y >= known
        known = max(known, y + 1)
        if known > 1:
            for column in range(known):
                scores[column] = score(
                    start, stop, indices, data, table, column, stamps, clock, constant, p
                )
            rank_rivals(scores[:known], rank, y, rivals, left)
            m = scores[y] - scores[rivals[0]]
            if not math.isfinite(m):
                return int(i)
            if new or m <= 0.0:
                counts[1] += 1
            if stop > start or constant > 0.0:
                changed = False
                checked = 0.0
                for side in range(2):
                    column, sign = (y, 1.0) if side == 0 else (rivals[0], -1.0)
                    if update(
                        *(start, stop, indices, data, table, column, stamps, clock, constant, p),
                        *(m, sign, weight[i]),
                    ):
                        changed = True
                        checked += sum_row(start, stop, indices, table, column)
                if not math.isfinite(checked):
                    return int(i)
                counts[0] += int(changed)
        clock += 1
    return -1


@register_jitable
def sum_row(start: int, stop: int, indices: Any, table: Any, column: int) -> float:
    """The sum of all that is kept of a row's features; it is not finite if any of it is not."""
    total = 0.0
    for slot in range(table.shape[1]):
        total += table[0, slot, column]
        for k in range(start, stop):
            total += table[indices[k] + 1, slot, column]
    return total


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
    """The score of every row, by column."""
    for i in range(out.shape[0]):
        for column in range(out.shape[1]):
            out[i, column] = score(
                indptr[i], indptr[i + 1], indices, data, table, column, stamps, clock, constant, p
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
        Callee(own_score(real)),
        Callee(own_update(real)),
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
        Callee(own_score(real)),
        array(f8, 2),
    ),
)
LEARN_OWN_RIVALS = Kernel(
    learn_own_rivals,
    lambda real: i8(
        *labelled(real),
        array(real, 3),
        array(i8, 2),
        given(i8),
        i8,
        i8,
        f8,
        given(f8),
        Callee(own_score(real)),
        Callee(own_update(real)),
        array(i8),
    ),
    allocates=True,
)
