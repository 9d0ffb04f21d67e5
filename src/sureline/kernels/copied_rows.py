"""Informed priors, and curves that follow, for the loops that know of neither.

A row is learned on a copy of its own few entries, opened as `informed` tells; then it is closed
again. That serves every projection and every scheme; those that most models have are in `informed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof
from numba.extending import register_jitable

from sureline.kernels.calibration import follow
from sureline.kernels.class_counts import count_row, uncount_row
from sureline.kernels.compiling import (
    EXACT,
    JOINT,
    STEP,
    Kernel,
    array,
    f8,
    flag,
    given,
    i8,
)
from sureline.kernels.diagonal import learn_diagonal, learn_exact
from sureline.kernels.indexing import entry_at, next_row, row_at
from sureline.kernels.informed_prior import fetch_row, learned, open_entry, prior_of, share_tokens
from sureline.kernels.numba_internals import Callee
from sureline.kernels.one_vs_rest import learn_one_vs_rest
from sureline.kernels.rivals import BEST, L2, ONE_VS_REST, learn_rivals

# The loops that learn a copy of one row are those that learn many.
for _loop in (learn_diagonal, learn_exact, learn_one_vs_rest, learn_rivals):
    register_jitable(_loop)


@register_jitable
def open_row(
    start: int,
    stop: int,
    indices: Any,
    data: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    informed: bool,
    known: int,
    inverse: float,
    room: Any,
) -> None:
    """Copy a row's entries and values, of the first `known` columns; `informed`: opened."""
    ground, squares, opened, before, values = room
    if informed:
        share_tokens(tokens, ground[:, :known])
    for slot in range(2):
        for column in range(known):
            before[0, slot, column] = opened[0, slot, column] = table[0, slot, column]
    for k in range(start, stop):
        u, j = k - start + 1, entry_at(indices, k)
        if informed:
            prior_of(tallies[j], ground[:, :known], squares[u, :known])
        else:
            squares[u, :known] = 1.0
        open_entry(table[j], squares[u, :known], inverse, opened[u])
        values[u - 1] = data[k]
        for slot in range(2):
            for column in range(known):
                before[u, slot, column] = opened[u, slot, column]


@register_jitable
def close_row(
    start: int, stop: int, indices: Any, table: Any, known: int, inverse: float, room: Any
) -> None:
    """Put back what learning has changed of a row's copy, without the prior."""
    _, squares, opened, before, _ = room
    for column in range(known):
        table[0, 0, column], table[0, 1, column] = opened[0, 0, column], opened[0, 1, column]
    for k in range(start, stop):
        u, j = k - start + 1, entry_at(indices, k)
        for column in range(known):
            mean, variance = opened[u, 0, column], opened[u, 1, column]
            if mean != before[u, 0, column] or variance != before[u, 1, column]:
                shift = inverse * (1.0 - 1.0 / squares[u, column])
                S = 1.0 / (1.0 / variance + shift)
                table[j, 0, column] = mean * (S / variance)
                table[j, 1, column] = S


@register_jitable
def follow_row(
    length: int, constant: float, known: int, code: int, curve: Any, room: Any, scores: Any
) -> None:
    """Let the curve of probabilities learn from a row that is open but not learned yet.

    `scores` has four places for each class.
    """
    opened, values = room[2], room[4]
    shared = known == 1  # two classes
    told = scores[0, : 2 if shared else known]
    for column in range(known):
        told[column] = constant * opened[0, 0, column]
    for u in range(length):
        for column in range(known):
            told[column] += opened[u + 1, 0, column] * values[u]
    if shared:
        told[1], told[0] = told[0], -told[0]
    follow(told, code, curve, scores[1:])


def _opened_room(longest: int, columns: int) -> Any:
    """Where rows are opened: shares, s², entries, the same as they were, and values."""
    return (
        np.empty((3, columns)),
        np.empty((longest + 1, columns)),
        np.empty((longest + 1, 2, columns)),
        np.empty((longest + 1, 2, columns)),
        np.empty(longest),
    )


def _one_row(longest: int) -> Any:
    """One row by itself: where it ends, its numbers, its sign, its weight, and its place."""
    numbers = np.arange(longest, dtype=np.int32)
    return np.zeros(2, np.int64), numbers, np.ones(1), np.ones(1), np.zeros(1, np.int64)


def two_rooms(longest: int) -> tuple[Any, ...]:
    """Where `learn_two_opened` keeps a row: opened, by itself, what is told, and sums."""
    row = _opened_room(longest, 1), _one_row(longest)
    return *row, np.empty((4, 2)), np.empty(longest + 1)


def many_rooms(longest: int, columns: int, competitors: int) -> tuple[Any, ...]:
    """Where `learn_many_opened` keeps a row, and what the loops within it need."""
    width = 2 * (longest + 1)
    row = _opened_room(longest, columns), _one_row(longest)
    rule = np.empty(width), np.empty(width), np.empty((competitors, width))
    classes = np.empty((6, columns)), np.empty(columns, np.int64)
    return *row, np.empty((4, columns)), np.zeros(1, np.int64), *rule, *classes


def learn_two_opened(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    informed: bool,
    counting: bool,
    curve: Any,
    rooms: Any,
    inverse: float,
    constant: float,
    step: Any,
    exact: Any,
    a: float,
    b: float,
    share: bool,
    projection: int,
    floor: float,
    errors: Any,
    counts: Any,
) -> int:
    """Learn two classes, which share a column; return the row that overflowed, or -1.

    The arguments are those of `learn_two` in `informed`; `two_rooms` makes the `rooms`.
    """
    room, row, told, rest = rooms
    kept, following = (table, tallies, informed), curve.size > 0
    opened, values = room[2], room[4]
    ends, numbers, sign, weigh, first = row
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(at, order, indptr)
        fetch_row(ahead, end, indices, *kept)
        if informed and not counting:
            uncount_row(start, stop, indices, tallies, tokens, codes[i])
        open_row(start, stop, indices, data, table, tallies, tokens[:2], informed, 1, inverse, room)
        if following:
            follow_row(stop - start, constant, 1, codes[i], curve, room, told)
        ends[1], sign[0], weigh[0] = stop - start, 1.0 if codes[i] == 1 else -1.0, weight[i]
        updates = counts[0]
        two = opened[:, :, 0]
        if projection == BEST:
            failed = learn_exact(
                ends, numbers, values, sign, weigh, first, two, constant, step, exact, a, b, share,
                floor, rest, errors, counts,
            )  # fmt: skip
        else:
            failed = learn_diagonal(
                ends, numbers, values, sign, weigh, first, two, constant, step, a, b, share,
                projection == L2, floor, rest, errors, counts,
            )  # fmt: skip
        if failed >= 0:
            return int(i)
        if counts[0] != updates:
            close_row(start, stop, indices, table, 1, inverse, room)
        if informed:
            count_row(start, stop, indices, tallies, tokens, codes[i])
    return -1


def learn_many_opened(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    weight: Any,
    order: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    informed: bool,
    counting: bool,
    curve: Any,
    rooms: Any,
    inverse: float,
    rank: Any,
    known: int,
    competitors: int,
    constant: float,
    step: Any,
    exact: Any,
    joint: Any,
    a: float,
    b: float,
    share: bool,
    scheme: int,
    projection: int,
    floor: float,
    errors: Any,
    counts: Any,
) -> int:
    """Learn many classes, each against the rest or a row's class against its rivals.

    Returns the row that overflowed, or -1. `many_rooms` makes the `rooms`.
    """
    room, row, told, code, others, w_y, w_r, scores, moving = rooms
    kept, following = (table, tallies, informed), curve.size > 0
    opened, values = room[2], room[4]
    ends, numbers, _, weigh, first = row
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(at, order, indptr)
        fetch_row(ahead, end, indices, *kept)
        if informed and not counting:
            uncount_row(start, stop, indices, tallies, tokens, codes[i])
        now = max(known, codes[i] + 1)
        if now < 2:  # nothing to tell apart
            known = now
            if informed:
                count_row(start, stop, indices, tallies, tokens, codes[i])
            continue
        open_row(
            start, stop, indices, data, table, tallies, tokens[:now], informed, now, inverse, room
        )
        if following:
            follow_row(stop - start, constant, now, codes[i], curve, room, told)
        ends[1], code[0], weigh[0] = stop - start, codes[i], weight[i]
        updates = counts[0]
        if scheme == ONE_VS_REST:
            failed = learn_one_vs_rest(
                ends, numbers, values, code, weigh, first, opened, known, constant, step, exact,
                a, b, share, projection, False, floor, 0, others, w_y, scores, moving, errors,
                counts,
            )  # fmt: skip
        else:
            failed = learn_rivals(
                ends, numbers, values, code, weigh, first, opened, rank, known, competitors,
                constant, step, exact, joint, a, b, share, scheme, projection, False, floor, 0,
                others, w_y, w_r, scores, moving, errors, counts,
            )  # fmt: skip
        if failed >= 0:
            return int(i)
        if counts[0] != updates:
            close_row(start, stop, indices, table, now, inverse, room)
        known = now
        if informed:
            count_row(start, stop, indices, tallies, tokens, codes[i])
    return -1


step_, exact_, joint_ = (Callee(kind) for kind in (STEP, EXACT, JOINT))

TWO_ROOMS, MANY_ROOMS = typeof(two_rooms(1)), typeof(many_rooms(1, 1, 1))

LEARN_TWO_OPENED = Kernel(
    learn_two_opened,
    lambda real: i8(
        *(*learned(real, TWO_ROOMS), f8, step_, exact_, f8, f8, flag, i8, f8),
        *(array(f8), array(i8)),
    ),
)
LEARN_MANY_OPENED = Kernel(
    learn_many_opened,
    lambda real: i8(
        *(*learned(real, MANY_ROOMS), given(i8), i8, i8, f8, step_, exact_, joint_),
        *(f8, f8, flag, i8, i8, f8, array(f8), array(i8)),
    ),
)
