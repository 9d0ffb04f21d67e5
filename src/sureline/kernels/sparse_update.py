"""Learning many classes whose weights are pairs: a row's class against its strongest rivals."""

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
    given,
    i8,
    model_arrays,
    rows,
)
from sureline.kernels.calibration import (
    PRIOR_VARIANCE,
    SCALED,
    follow,
    follow_thinned,
    gap_of,
    next_salt,
    salt_of,
    span_of,
    unknown_share,
    without_unknown,
)
from sureline.kernels.class_columns import CLASS_BUFFERS, ClassBuffers, rank_rivals
from sureline.kernels.class_counts import MOST
from sureline.kernels.compiling import Kernel
from sureline.kernels.copied_rows import model_of
from sureline.kernels.informed_prior import gain_of
from sureline.kernels.numba_internals import Callee
from sureline.kernels.positions import entry_at, row_at
from sureline.kernels.rivals import learn_rivals
from sureline.kernels.sparse_classes import (
    COMMON,
    SHARES,
    Pairs,
    Shares,
    add_feature,
    begin_shares,
    count_pairs,
    drop_common,
    insert,
    knows_pairs,
    make_room,
    pairs_type,
    place_of,
    squared,
)

FOLLOWED = 512  # with more classes than this, the calibrator follows every other row, and so on

register_jitable(learn_rivals)


class PairBuffers(NamedTuple):
    """Memory for one row: a small table for its class and the rivals, and scores of all classes.

    `example` is the row as the small table has it, `entries` its part of that and `before` what
    this was before learning; `squares` has s² of each, `columns` the class of each column, and
    `initial` what a pair begins with. `scores` has seven lines of an element per class. `learned`
    gets how many rows have been learned when there was no capacity for the next one.
    """

    example: Examples
    entries: Any
    before: Any
    squares: Any
    columns: Any
    initial: Any
    scores: Any
    learned: Any


def pair_buffers(longest: int, columns: int, rivals: int, initial: Any, dtype: str) -> PairBuffers:
    """Buffers for rows of at most `longest` nonzeros and so many rivals, numbers being `dtype`."""
    values, several, slots = np.empty(longest, dtype), 1 + rivals, initial.size
    indices = np.arange(longest, dtype=np.int32)
    first, one = np.zeros(1, np.int64), np.ones(1)
    rows = Rows(np.zeros(2, np.int64), indices, values)
    rank = np.zeros(several, np.int64)
    return PairBuffers(
        Examples(rows, np.zeros(1, np.int64), one, first, rank),
        np.empty((longest + 1, slots, several), dtype),
        np.empty((longest + 1, slots, several), dtype),
        np.empty((longest + 1, several)),
        np.empty(several, np.int64),
        initial,
        np.empty((7, columns)),
        np.zeros(1, np.int64),
    )


@register_jitable
def follow_pairs(
    row: tuple[int, int],
    rows: Rows,
    model: ModelArrays,
    pairs: Pairs,
    constant: float,
    known: int,
    prior: Prior,
    code: int,
    shares: Shares,
    buffers: PairBuffers,
) -> None:
    """Let the calibrator learn from a row and a thinned copy, as `copied_rows.follow_row` does."""
    start, stop = row
    calibrator, tokens = model.calibrator, model.class_tokens
    scaled, variance = calibrator[SCALED], calibrator[PRIOR_VARIANCE]
    parts, scores, thinned = (
        buffers.scores[2:6],
        buffers.scores[1, :known],
        buffers.scores[6, :known],
    )
    informed, inverse = prior.informed, prior.inverse
    scores[:], thinned[:] = 0.0, 0.0
    found = part = every = 0.0
    for k in range(start, stop):
        j, x = entry_at(rows.indices, k), np.float64(rows.data[k])
        add_feature(j, x, pairs, 0, informed, inverse, tokens, shares, scores)
        every += x * x
        if knows_pairs(j, pairs, informed, variance):
            found += 1.0
            part += x * x
    salt = salt_of(start, stop, rows.indices)
    span = span_of(salt)
    kept = kept_part = 0.0
    k = start + gap_of(salt, span) - 1 if scaled != 0.0 else stop
    while k < stop:
        j, x = entry_at(rows.indices, k), np.float64(rows.data[k])
        if knows_pairs(j, pairs, informed, variance):
            kept += 1.0
            kept_part += x * x
            add_feature(j, x, pairs, 0, informed, inverse, tokens, shares, thinned)
        salt = next_salt(salt)
        k += gap_of(salt, span)
    for column in range(known):
        intercept = constant * np.float64(model.table[0, 0, column])
        scores[column] = without_unknown(intercept + scores[column], intercept, part, scaled)
        thinned[column] = without_unknown(intercept + thinned[column], intercept, kept_part, scaled)
    follow(scores, code, found, unknown_share(part, every), model, parts)
    follow_thinned(thinned, code, kept, model, parts)


@register_jitable
def copy_entries(
    row: tuple[int, int],
    rows: Rows,
    model: ModelArrays,
    pairs: Pairs,
    prior: Prior,
    shares: Shares,
    buffers: PairBuffers,
    several: int,
) -> int:
    """Copy the entries of a row for so many classes, opened if informed; return how many."""
    entries, before, squares = buffers.entries, buffers.before, buffers.squares
    columns, values, initial = buffers.columns, buffers.example.rows.data, buffers.initial
    slots = entries.shape[1]
    for at in range(several):
        for slot in range(slots):
            entries[0, slot, at] = model.table[0, slot, columns[at]]
            before[0, slot, at] = entries[0, slot, at]
    size = 0
    for k in range(row[0], row[1]):
        j = entry_at(rows.indices, k)
        if pairs.starts[j] == COMMON:
            continue
        values[size] = rows.data[k]
        size += 1
        for at in range(several):
            u = place_of(pairs, j, columns[at])
            for slot in range(slots):
                entries[size, slot, at] = pairs.values[u, slot] if u >= 0 else initial[slot]
            squares[size, at] = 1.0
            if prior.informed:
                p = np.float64(max(pairs.counts[u], 0)) if u >= 0 else 0.0
                total = np.float64(max(pairs.totals[j, 0], 0))
                s2 = squared(p, total, columns[at], model.class_tokens, shares)
                S = np.float64(entries[size, 1, at])
                g = gain_of(s2, S, prior.inverse)
                entries[size, 0, at] = g * np.float64(entries[size, 0, at])
                entries[size, 1, at] = g * S
                squares[size, at] = s2
            for slot in range(slots):
                before[size, slot, at] = entries[size, slot, at]
    buffers.example.rows.indptr[1] = size
    return size


@register_jitable
def write_entries(
    row: tuple[int, int],
    rows: Rows,
    model: ModelArrays,
    pairs: Pairs,
    closing: bool,
    inverse: float,
    buffers: PairBuffers,
    several: int,
) -> None:
    """Write back what learning has changed, without the prior where the copy was opened."""
    entries, before, columns = buffers.entries, buffers.before, buffers.columns
    slots, initial = entries.shape[1], buffers.initial
    for at in range(several):
        for slot in range(slots):
            model.table[0, slot, columns[at]] = entries[0, slot, at]
    size = 0
    for k in range(row[0], row[1]):
        j = entry_at(rows.indices, k)
        if pairs.starts[j] == COMMON:
            continue
        size += 1
        for at in range(several):
            changed = False
            for slot in range(slots):
                changed = changed or entries[size, slot, at] != before[size, slot, at]
            if not changed:
                continue
            u = place_of(pairs, j, columns[at])
            if u < 0:
                u = insert(pairs, j, columns[at], initial)
            if closing:
                mean, variance = entries[size, 0, at], entries[size, 1, at]
                shift = inverse * (1.0 - 1.0 / buffers.squares[size, at])
                S = 1.0 / (1.0 / variance + shift)
                pairs.values[u, 0] = mean * (S / variance)
                pairs.values[u, 1] = S
            else:
                for slot in range(slots):
                    pairs.values[u, slot] = entries[size, slot, at]


def learn_pairs(
    examples: Examples,
    model: ModelArrays,
    pairs: Pairs,
    rule: StepRule,
    exact: Any,
    joint: Any,
    scheme: Scheme,
    prior: Prior,
    closing: bool,
    most: int,
    known: int,
    clock: int,
    shares: Shares,
    buffers: PairBuffers,
    class_buffers: ClassBuffers,
) -> int:
    """Learn rows; return the row that overflowed, −1 when all are learned, or −2 for more capacity.

    Where it returns −2, `buffers.learned` has how many rows of the order were learned before the
    pool of pairs was full. The copy of a row is `closing` where learning on it is that of
    `copied_rows`. No pairs are kept of features that have met more than `most` classes.
    """
    rows, order, tokens = examples.rows, examples.order, model.class_tokens
    columns, example, left = buffers.columns, buffers.example, buffers.scores[1]
    informed = prior.informed
    calibrated = model.calibrator.size > 0
    many = model_of(buffers.entries, model)
    for at in range(order.size):
        i = order[at]
        row, code = row_at(rows.indptr, i), examples.codes[i]
        now = max(known, code + 1)
        several = min(scheme.competitors, now - 1) + 1
        if not make_room(pairs, row[0], row[1], rows.indices, several + 1):
            buffers.learned[0] = at
            return -2
        if informed and not prior.counting:
            count_pairs(row[0], row[1], rows.indices, code, -1, pairs, buffers.initial)
            tokens[code] -= row[1] - row[0]
            model.class_counts[0, code] -= 1
        begin_shares(tokens, now, shares)
        if calibrated:
            if (clock + at) % (1 + now // FOLLOWED) == 0:
                follow_pairs(
                    row, rows, model, pairs, rule.constant, now, prior, code, shares, buffers
                )
            else:
                model.outcomes[0, code] += 1.0
        scores = buffers.scores[0, :now]
        for column in range(now):
            scores[column] = rule.constant * np.float64(model.table[0, 0, column])
        for k in range(row[0], row[1]):
            j, x = entry_at(rows.indices, k), np.float64(rows.data[k])
            add_feature(j, x, pairs, 0, informed, prior.inverse, tokens, shares, scores)
        rank_rivals(scores, examples.rank, code, columns[: several - 1], left)
        columns[several - 1] = code
        for place in range(several):
            example.rank[place] = examples.rank[columns[place]]
        copy_entries(row, rows, model, pairs, prior, shares, buffers, several)
        example.codes[0], example.weight[0] = several - 1, examples.weight[i]
        updates = model.counters[0]
        here = several if code < known else several - 1
        failed = learn_rivals(
            example, many, rule, exact, joint, scheme, here, clock + at, class_buffers
        )
        if failed >= 0:
            return int(i)
        if model.counters[0] != updates:
            write_entries(row, rows, model, pairs, closing, prior.inverse, buffers, several)
        known = now
        if informed:
            count_pairs(row[0], row[1], rows.indices, code, 1, pairs, buffers.initial)
            tokens[code] += row[1] - row[0]
            model.class_counts[0, code] += int(model.class_counts[0, code] < MOST)
        drop_common(pairs, row[0], row[1], rows.indices, most)
    return -1


def count_rows(
    given_rows: Rows,
    codes: Any,
    order: Any,
    model: ModelArrays,
    pairs: Pairs,
    initial: Any,
    most: int,
) -> int:
    """Count rows by class and learn nothing; return how many, fewer where the pool was full."""
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(given_rows.indptr, i)
        if not make_room(pairs, start, stop, given_rows.indices, 1):
            return int(at)
        count_pairs(start, stop, given_rows.indices, codes[i], 1, pairs, initial)
        model.class_tokens[codes[i]] += stop - start
        model.class_counts[0, codes[i]] += 1
        drop_common(pairs, start, stop, given_rows.indices, most)
    return int(order.size)


def _buffers(real: Any, kept: Any) -> Any:
    """The type of `PairBuffers` for numbers of a type; those of the pairs are `kept`."""
    own = types.NamedTuple([array(i8), array(types.int32), array(real)], Rows)
    example = types.NamedTuple([own, array(i8), array(f8), array(i8), array(i8), i8], Examples)
    two, three = array(f8, 2), array(real, 3)
    fields = [example, three, three, two, array(i8), array(kept), two, array(i8)]
    return types.NamedTuple(fields, PairBuffers)


def _signature(real: Any, learned: Any) -> Any:
    """The signature of a loop that learns on copies of this type of number."""
    return i8(
        examples(real),
        model_arrays(real),
        pairs_type(real),
        STEP_RULE,
        Callee(EXACT),
        Callee(JOINT),
        SCHEME,
        PRIOR,
        types.boolean,
        i8,
        i8,
        i8,
        SHARES,
        _buffers(learned, real),
        CLASS_BUFFERS,
    )


# On copies in the type of the model, as loops that learn its table; and in float64, as in
# `copied_rows`, where the prior is informed or a calibrator follows.
LEARN_PAIRS = Kernel(learn_pairs, lambda real: _signature(real, real))
LEARN_OPENED_PAIRS = Kernel(learn_pairs, lambda real: _signature(real, f8))
COUNT_ROWS = Kernel(
    count_rows,
    lambda real: i8(
        rows(real), given(i8), given(i8), model_arrays(real), pairs_type(real), given(real), i8
    ),
)
