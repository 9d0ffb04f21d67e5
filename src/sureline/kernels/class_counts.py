"""Counting rows by feature and class while they stream, and scaling values by such counts.

`counts` has, for every feature and class, the number of rows with the feature; row 0 has the number
of rows. `tokens` has the number of nonzeros of each class.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Rows, array, flag, given, i8, rows
from sureline.kernels.compiling import Kernel
from sureline.kernels.logarithm import log
from sureline.kernels.positions import entry_at, row_at

MOST = 2**31 - 1  # the largest count


@register_jitable
def count_row(start: int, stop: int, indices: Any, counts: Any, tokens: Any, code: int) -> None:
    """Count a row of a class."""
    counts[0, code] += int(counts[0, code] < MOST)
    tokens[code] += stop - start
    for k in range(start, stop):
        j = entry_at(indices, k)
        counts[j, code] += int(counts[j, code] < MOST)


@register_jitable
def uncount_row(start: int, stop: int, indices: Any, counts: Any, tokens: Any, code: int) -> None:
    """Take a row of a class out of the counts again."""
    counts[0, code] -= 1
    tokens[code] -= stop - start
    for k in range(start, stop):
        counts[entry_at(indices, k), code] -= 1


def count(rows: Rows, codes: Any, order: Any, counts: Any, tokens: Any) -> None:
    """Count rows by class, and learn nothing."""
    for i in order:
        start, stop = row_at(rows.indptr, i)
        count_row(start, stop, rows.indices, counts, tokens, codes[i])


def weigh_rows(
    rows: Rows,
    codes: Any,
    order: Any,
    counts: Any,
    tokens: Any,
    counting: bool,
    normalize: bool,
    out: Any,
) -> None:
    """Scale values by 1 + log [(1 + n) / (1 + n_j)] and, if wanted, rows to length 1.

    n_j of the n rows so far have had feature j. Rows are counted after they are scaled, if
    `counting`; then, but only then, `order` must name each row once.
    """
    indptr, indices, data = rows
    for i in order:
        start, stop = row_at(indptr, i)
        total = 1.0
        for column in range(tokens.size):
            total += max(counts[0, column], 0)
        squares = 0.0
        for k in range(start, stop):
            had = 1.0
            for column in range(tokens.size):
                had += max(counts[entry_at(indices, k), column], 0)
            x = data[k] * (1.0 + log(max(total / had, 1.0)))
            squares += x * x
            out[k] = x
        if normalize and squares > 0.0:
            factor = 1.0 / sqrt(squares)
            for k in range(start, stop):
                out[k] = out[k] * factor
        if counting:
            count_row(start, stop, indices, counts, tokens, codes[i])


COUNT = Kernel(
    count,
    lambda real: types.void(rows(real), given(i8), given(i8), array(types.int32, 2), array(i8)),
)
WEIGH_ROWS = Kernel(
    weigh_rows,
    lambda real: types.void(
        rows(real),
        given(i8),
        given(i8),
        array(types.int32, 2),
        array(i8),
        flag,
        flag,
        array(real),
    ),
)
