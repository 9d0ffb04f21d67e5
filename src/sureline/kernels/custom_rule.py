"""Learning and scoring with a rule that brings its own row functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    CustomRule,
    Examples,
    ModelArrays,
    Row,
    Rows,
    array,
    custom_rule,
    examples,
    f8,
    given,
    i8,
    model_arrays,
    rows,
)
from sureline.kernels.class_columns import rank_rivals
from sureline.kernels.compiling import Kernel
from sureline.kernels.diagonal import sign_of


@register_jitable
def row_of(rows: Rows, i: int, constant: float) -> Row:
    """The i-th row."""
    return Row(rows.indptr[i], rows.indptr[i + 1], rows.indices, rows.data, constant)


@register_jitable
def is_empty(row: Row) -> bool:
    """Whether a row has no feature, not even the constant one."""
    return row.stop == row.start and row.constant == 0.0


@register_jitable
def sum_row(row: Row, table: Any, column: int) -> float:
    """The sum of all slots of a row's features; it is not finite if any of them is not."""
    total = 0.0
    for slot in range(table.shape[1]):
        total += table[0, slot, column]
        for k in range(row.start, row.stop):
            total += table[row.indices[k] + 1, slot, column]
    return total


def learn_custom(examples: Examples, model: ModelArrays, rule: CustomRule, clock: int) -> int:
    """Learn two classes; return the row whose numbers overflowed, or -1."""
    table, stamps, p = model.table, model.stamps, rule.p
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y = sign_of(examples.codes[i])
        m = y * rule.score(row, table, 0, stamps, clock, p)
        if not math.isfinite(m):
            return int(i)
        if m <= 0.0:
            model.counters[1] += 1
        if not is_empty(row) and rule.update(
            row, table, 0, stamps, clock, p, m, y, examples.weight[i]
        ):
            model.counters[0] += 1
            if not math.isfinite(sum_row(row, table, 0)):
                return int(i)
        clock += 1
    return -1


def learn_custom_rivals(
    examples: Examples, model: ModelArrays, rule: CustomRule, known: int, clock: int
) -> int:
    """As `learn_custom` for many classes: the example's class against its strongest rival."""
    table, stamps, p = model.table, model.stamps, rule.p
    scores, left = np.empty(table.shape[2]), np.empty(table.shape[2])
    rivals = np.empty(1, np.int64)
    for i in examples.order:
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known > 1:
            for column in range(known):
                scores[column] = rule.score(row, table, column, stamps, clock, p)
            rank_rivals(scores[:known], examples.rank, y, rivals, left)
            m = scores[y] - scores[rivals[0]]
            if not math.isfinite(m):
                return int(i)
            if new or m <= 0.0:
                model.counters[1] += 1
            if not is_empty(row):
                changed = False
                checked = 0.0
                for side in range(2):
                    column, sign = (y, 1.0) if side == 0 else (rivals[0], -1.0)
                    if rule.update(row, table, column, stamps, clock, p, m, sign, c):
                        changed = True
                        checked += sum_row(row, table, column)
                if not math.isfinite(checked):
                    return int(i)
                model.counters[0] += int(changed)
        clock += 1
    return -1


def score_custom(rows: Rows, model: ModelArrays, rule: CustomRule, clock: int, out: Any) -> None:
    """The score of every row, by column."""
    for i in range(out.shape[0]):
        row = row_of(rows, i, rule.constant)
        for column in range(out.shape[1]):
            out[i, column] = rule.score(row, model.table, column, model.stamps, clock, rule.p)


LEARN_CUSTOM = Kernel(
    learn_custom, lambda real: i8(examples(real), model_arrays(real), custom_rule(real), i8)
)
LEARN_CUSTOM_RIVALS = Kernel(
    learn_custom_rivals,
    lambda real: i8(examples(real), model_arrays(real), custom_rule(real), i8, i8),
    allocates=True,
)
SCORE_CUSTOM = Kernel(
    score_custom,
    lambda real: types.void(
        rows(real), model_arrays(real, kind=given), custom_rule(real), i8, array(f8, 2)
    ),
)
