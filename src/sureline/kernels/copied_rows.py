"""Informed priors and calibrators for the loops that handle neither.

A row is learned on a copy of its few entries, opened under the prior as in `informed_prior`, and
written back. That serves every projection and every scheme; `informed_prior` has faster loops for
those that most models use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    EXACT,
    JOINT,
    PRIOR,
    SCHEME,
    STEP_RULE,
    Examples,
    ModelArrays,
    Prior,
    Rows,
    Scheme,
    StepRule,
    array,
    examples,
    f8,
    i8,
    model_arrays,
)
from sureline.kernels.calibration import (
    SCALED,
    extent_of,
    follow,
    follow_thinned,
    gap_of,
    knows,
    next_salt,
    salt_of,
    span_of,
    unknown_share,
    without_unknown,
)
from sureline.kernels.class_columns import CLASS_BUFFERS, ClassBuffers
from sureline.kernels.class_counts import count_row, uncount_row
from sureline.kernels.compiling import Kernel
from sureline.kernels.diagonal import learn_diagonal, learn_exact
from sureline.kernels.informed_prior import fetch_row, open_entry, prior_of, share_tokens
from sureline.kernels.numba_internals import Callee
from sureline.kernels.one_vs_rest import learn_one_vs_rest
from sureline.kernels.positions import entry_at, next_row, row_at
from sureline.kernels.rivals import BEST, L2, ONE_VS_REST, learn_rivals

# The loops that learn the copy of one row are those that learn many rows.
for _loop in (learn_diagonal, learn_exact, learn_one_vs_rest, learn_rivals):
    register_jitable(_loop)


class RowCopy(NamedTuple):
    """A row by itself, opened: its example, its part of the table, and that before learning.

    `shares` and `squares` are what `share_tokens` and `prior_of` write; `scores` has six elements
    per class for the calibrator.
    """

    example: Examples
    entries: Any
    before: Any
    shares: Any
    squares: Any
    scores: Any


def row_copy(longest: int, columns: int) -> RowCopy:
    """Memory for rows of at most `longest` nonzeros."""
    rows = Rows(np.zeros(2, np.int64), np.arange(longest, dtype=np.int32), np.empty(longest))
    first = np.zeros(1, np.int64)
    return RowCopy(
        Examples(rows, np.zeros(1, np.int64), np.ones(1), first, first),
        np.empty((longest + 1, 2, columns)),
        np.empty((longest + 1, 2, columns)),
        np.empty((3, columns)),
        np.empty((longest + 1, columns)),
        np.empty((6, max(columns, 2))),
    )


@register_jitable
def open_row(
    row: tuple[int, int], rows: Rows, model: ModelArrays, prior: Prior, known: int, copy: RowCopy
) -> None:
    """Copy a row's values and its entries, of the first `known` columns, opened if informed."""
    start, stop = row
    entries, before, shares = copy.entries, copy.before, copy.shares[:, :known]
    table, values = model.table, copy.example.rows.data
    copy.example.rows.indptr[1] = stop - start
    if prior.informed:
        classes = max(known, 2)  # two classes share one column
        share_tokens(model.class_tokens[:classes], shares)
    for slot in range(2):
        for column in range(known):
            before[0, slot, column] = entries[0, slot, column] = table[0, slot, column]
    for k in range(start, stop):
        u, j = k - start + 1, entry_at(rows.indices, k)
        squares = copy.squares[u, :known]
        if prior.informed:
            prior_of(model.class_counts[j], shares, squares)
        else:
            squares[:] = 1.0
        open_entry(table[j], squares, prior.inverse, entries[u])
        values[u - 1] = rows.data[k]
        for slot in range(2):
            for column in range(known):
                before[u, slot, column] = entries[u, slot, column]


@register_jitable
def close_row(
    row: tuple[int, int], rows: Rows, table: Any, known: int, inverse: float, copy: RowCopy
) -> None:
    """Write back what learning has changed of a row's copy, without the prior."""
    start, stop = row
    entries, before = copy.entries, copy.before
    for column in range(known):
        table[0, 0, column], table[0, 1, column] = entries[0, 0, column], entries[0, 1, column]
    for k in range(start, stop):
        u, j = k - start + 1, entry_at(rows.indices, k)
        for column in range(known):
            mean, variance = entries[u, 0, column], entries[u, 1, column]
            if mean != before[u, 0, column] or variance != before[u, 1, column]:
                shift = inverse * (1.0 - 1.0 / copy.squares[u, column])
                S = 1.0 / (1.0 / variance + shift)
                table[j, 0, column] = mean * (S / variance)
                table[j, 1, column] = S


@register_jitable
def follow_row(
    row: tuple[int, int],
    rows: Rows,
    model: ModelArrays,
    constant: float,
    known: int,
    informed: bool,
    code: int,
    copy: RowCopy,
) -> None:
    """Let the calibrator learn from a row that is opened but not learned, and a thinned copy."""
    start, stop = row
    entries, values, calibrator = copy.entries, copy.example.rows.data, model.calibrator
    scaled = calibrator[SCALED]
    shared = known == 1  # two classes
    count = 2 if shared else known
    scores, thinned, parts = copy.scores[4, :count], copy.scores[5, :count], copy.scores[:4]
    found, part, every = extent_of(row, rows, model, known, informed)
    scores[:], thinned[:] = 0.0, 0.0
    for u in range(stop - start):
        for column in range(known):
            scores[column] += entries[u + 1, 0, column] * values[u]
    salt = salt_of(start, stop, rows.indices)
    span = span_of(salt)
    kept = kept_part = 0.0
    u = gap_of(salt, span) - 1 if scaled != 0.0 else stop
    while u < stop - start:
        if knows(rows.indices[start + u], model, known, informed):
            kept += 1.0
            kept_part += values[u] * values[u]
            for column in range(known):
                thinned[column] += entries[u + 1, 0, column] * values[u]
        salt = next_salt(salt)
        u += gap_of(salt, span)
    for column in range(known):
        intercept = constant * entries[0, 0, column]
        scores[column] = without_unknown(intercept + scores[column], intercept, part, scaled)
        thinned[column] = without_unknown(intercept + thinned[column], intercept, kept_part, scaled)
    if shared:
        scores[1], scores[0] = scores[0], -scores[0]
        thinned[1], thinned[0] = thinned[0], -thinned[0]
    follow(scores, code, found, unknown_share(part, every), model, parts)
    follow_thinned(thinned, code, kept, model, parts)


@register_jitable
def model_of(table: Any, model: ModelArrays) -> ModelArrays:
    """The same model with another table."""
    return ModelArrays(
        table,
        model.covariance,
        model.stamps,
        model.counters,
        model.class_counts,
        model.class_tokens,
        model.calibrator,
        model.noise_sums,
        model.outcomes,
        model.novelty,
    )


def learn_two_copied(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    exact: Any,
    prior: Prior,
    projection: int,
    copy: RowCopy,
    rest: Any,
) -> int:
    """Learn two classes, which share a column; return the row that overflowed, or -1.

    The buffer `rest` is longer than the longest row by one.
    """
    rows, order, example = examples.rows, examples.order, copy.example
    counts, tokens, counters = model.class_counts, model.class_tokens, model.counters
    two = model_of(copy.entries[:, :, 0], model)
    for at in range(order.size):
        i = order[at]
        row, code = row_at(rows.indptr, i), examples.codes[i]
        ahead, end = next_row(at, order, rows.indptr)
        fetch_row(ahead, end, rows.indices, model, prior.informed)
        if prior.informed and not prior.counting:
            uncount_row(row[0], row[1], rows.indices, counts, tokens, code)
        open_row(row, rows, model, prior, 1, copy)
        if model.calibrator.size:
            follow_row(row, rows, model, rule.constant, 1, prior.informed, code, copy)
        example.codes[0], example.weight[0] = code, examples.weight[i]
        updates = counters[0]
        if projection == BEST:
            failed = learn_exact(example, two, rule, exact, rest)
        else:
            failed = learn_diagonal(example, two, rule, projection == L2, rest)
        if failed >= 0:
            return int(i)
        if counters[0] != updates:
            close_row(row, rows, model.table, 1, prior.inverse, copy)
        if prior.informed:
            count_row(row[0], row[1], rows.indices, counts, tokens, code)
    return -1


def learn_many_copied(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    exact: Any,
    joint: Any,
    scheme: Scheme,
    prior: Prior,
    known: int,
    copy: RowCopy,
    buffers: ClassBuffers,
) -> int:
    """Learn many classes, each against the rest or a row's class against its rivals.

    Returns the row that overflowed, or -1.
    """
    rows, order, single = examples.rows, examples.order, copy.example
    counts, tokens, counters = model.class_counts, model.class_tokens, model.counters
    example = Examples(single.rows, single.codes, single.weight, single.order, examples.rank, 0)
    many = model_of(copy.entries, model)
    for at in range(order.size):
        i = order[at]
        row, code = row_at(rows.indptr, i), examples.codes[i]
        ahead, end = next_row(at, order, rows.indptr)
        fetch_row(ahead, end, rows.indices, model, prior.informed)
        if prior.informed and not prior.counting:
            uncount_row(row[0], row[1], rows.indices, counts, tokens, code)
        now = max(known, code + 1)
        if now < 2:  # no rival yet
            known = now
            if model.calibrator.size:
                model.outcomes[0, code] += 1.0
            if prior.informed:
                count_row(row[0], row[1], rows.indices, counts, tokens, code)
            continue
        open_row(row, rows, model, prior, now, copy)
        if model.calibrator.size:
            follow_row(row, rows, model, rule.constant, now, prior.informed, code, copy)
        example.codes[0], example.weight[0] = code, examples.weight[i]
        updates = counters[0]
        if scheme.kind == ONE_VS_REST:
            failed = learn_one_vs_rest(example, many, rule, exact, scheme, known, 0, buffers)
        else:
            failed = learn_rivals(example, many, rule, exact, joint, scheme, known, 0, buffers)
        if failed >= 0:
            return int(i)
        if counters[0] != updates:
            close_row(row, rows, model.table, now, prior.inverse, copy)
        known = now
        if prior.informed:
            count_row(row[0], row[1], rows.indices, counts, tokens, code)
    return -1


_ROWS = types.NamedTuple([array(i8), array(types.int32), array(f8)], Rows)
_EXAMPLE = types.NamedTuple([_ROWS, array(i8), array(f8), array(i8), array(i8), i8], Examples)
ROW_COPY = types.NamedTuple(
    [_EXAMPLE, array(f8, 3), array(f8, 3), array(f8, 2), array(f8, 2), array(f8, 2)], RowCopy
)

LEARN_TWO_COPIED = Kernel(
    learn_two_copied,
    lambda real: i8(
        examples(real),
        model_arrays(real),
        STEP_RULE,
        Callee(EXACT),
        PRIOR,
        i8,
        ROW_COPY,
        array(f8),
    ),
)
LEARN_MANY_COPIED = Kernel(
    learn_many_copied,
    lambda real: i8(
        examples(real),
        model_arrays(real),
        STEP_RULE,
        Callee(EXACT),
        Callee(JOINT),
        SCHEME,
        PRIOR,
        i8,
        ROW_COPY,
        CLASS_BUFFERS,
    ),
)
