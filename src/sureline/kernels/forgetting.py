"""Evidence that counts for less the older it is, feature by feature, when a feature is next met.

Time passes in steps. At every step the evidence for a weight, 1/S − 1/a with the variance S and the
initial one a, is multiplied by a factor below 1, and so is the precision-weighted mean M/S. Rules
without variances move the mean alone. Counts of rows are whole numbers, so they are halved once per
`every` steps. ``stamps[j, 0]`` is the step up to which row j of the table has forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Rows, array, f8, flag, given, i8, rows
from sureline.kernels.compiling import Kernel
from sureline.kernels.positions import entry_at, row_at
from sureline.kernels.prefetch import prefetch

AHEAD = 8  # so many features ahead an entry is prefetched
MOST_HALVINGS = 31  # leave nothing of any count


class Pace(NamedTuple):
    """How fast evidence is forgotten: `shares` are what is left after 0, 1, … steps.

    `step` is the present one; counts are halved once in `every` steps.
    """

    step: int
    shares: Any
    every: int


@register_jitable
def forget_row(
    j: int, table: Any, counts: Any, stamps: Any, used: int, pace: Pace, initial: float
) -> None:
    """Let one row of the table forget what is due."""
    before = stamps[j, 0]
    if before >= pace.step:
        return
    stamps[j, 0] = pace.step
    share = pace.shares[min(pace.step - max(before, 0), pace.shares.size - 1)]
    for column in range(used):
        mean = np.float64(table[j, 0, column])
        if table.shape[1] == 1:
            table[j, 0, column] = mean * share
            continue
        kept = np.float64(table[j, 1, column])
        evidence = (1.0 / kept - 1.0 / initial) * share
        now = 1.0 / (1.0 / initial + evidence)
        table[j, 0, column] = mean * share * (now / kept)
        if kept != initial:
            table[j, 1, column] = now
    halvings = min(pace.step // pace.every - before // pace.every, MOST_HALVINGS)
    if counts.shape[0] and halvings > 0:
        for code in range(counts.shape[1]):
            count = counts[j, code]
            for _ in range(halvings):
                count = (count + ((count >> 1) & 1)) >> 1  # halves are rounded to even numbers
            counts[j, code] = count


def forget(
    rows: Rows,
    order: Any,
    everything: bool,
    table: Any,
    counts: Any,
    stamps: Any,
    used: int,
    pace: Pace,
    initial: float,
) -> None:
    """Let the features of the rows in `order`, or all, forget what is due, and the constant one."""
    forget_row(0, table, counts, stamps, used, pace, initial)
    if everything:
        for j in range(1, table.shape[0]):
            forget_row(j, table, counts, stamps, used, pace, initial)
        return
    for i in order:
        start, stop = row_at(rows.indptr, i)
        for k in range(start, stop):
            ahead = entry_at(rows.indices, min(k + AHEAD, stop - 1))
            prefetch(stamps, ahead)
            prefetch(table, ahead)
            j = entry_at(rows.indices, k)
            forget_row(j, table, counts, stamps, used, pace, initial)


PACE = types.NamedTuple((i8, given(f8), i8), Pace)
FORGET = Kernel(
    forget,
    lambda real: types.void(
        rows(real),
        given(i8),
        flag,
        array(real, 3),
        array(types.int32, 2),
        array(i8, 2),
        i8,
        PACE,
        f8,
    ),
)
