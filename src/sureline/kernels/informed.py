"""Learning with counts of rows: values scaled by them, or a prior that they tell.

`tallies` count, for every feature and class, the rows that have had the feature; row 0 counts the
rows themselves. `tokens` sum up each class's features. From them follows how much more often than
in all other classes a feature is met in class k, as a logarithm,

    l = log [(α π_k + p) / (α (1 − π_k) + q)] − log [π_k / (1 − π_k)],

with p, q the rows of class k and of the others that have had the feature, π_k the share of class k
in all tokens, and α one row spread over the classes in proportion. The weight of the feature for
the class has the prior variance a s², s² = l² + β², where a is the rule's initial variance: naive
Bayes tells which weights may be large, the rule learns how large they are. A feature that has been
met equally often everywhere has s = β, whatever its frequency.

The counts grow while the weights are learned, and the prior with them. So the table holds what does
not depend on it: the mean M and the variance S that the same evidence would give under the prior
variance a. The evidence adds 1/S − 1/a to the precision and M/S to precision times mean; under the
prior variance a s² these are a Gaussian with

    variance g S and mean g M,    g = s² / (s² + (S/a) (1 − s²)).

A row is learned on a copy of its own few entries, opened so; then it is closed again, and only then
counted: its label plays no part in its own prior.

Inverse document frequencies need the same counts, summed over the classes; they scale rows before
any rule sees them.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.calibrating import follow
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
    labelled,
    rows,
)
from sureline.kernels.diagonal import learn_diagonal, learn_exact
from sureline.kernels.logarithm import log
from sureline.kernels.one_vs_rest import learn_one_vs_rest
from sureline.kernels.prefetch import prefetch
from sureline.kernels.rivals import BEST, L2, learn_rivals

SPREAD_ROWS = 1.0  # α
LEAST = 0.1  # β
MOST = 2**31 - 1  # what a tally can count

# The loops that learn a copy of one row are those that learn many.
for _loop in (learn_diagonal, learn_exact, learn_one_vs_rest, learn_rivals):
    register_jitable(_loop)


@register_jitable
def share_tokens(tokens: Any, ground: Any) -> None:
    """For each column: α π, α (1 − π), and −log [π / (1 − π)]; one column is the second class's."""
    total = np.float64(max(tokens.size, 2))
    for column in range(tokens.size):
        total += max(tokens[column], 0)
    for column in range(ground.shape[1]):
        place = tokens.size - 1 if ground.shape[1] == 1 else column
        of_class = max(tokens[place], 0) + 1.0
        ground[0, column] = SPREAD_ROWS * (of_class / total)
        ground[1, column] = SPREAD_ROWS * ((total - of_class) / total)
        ground[2, column] = log((total - of_class) / of_class)


@register_jitable
def prior_of(tally: Any, ground: Any, squares: Any) -> None:
    """s² of one feature for each column."""
    if squares.size == 1:
        p, q = np.float64(max(tally[1], 0)), np.float64(max(tally[0], 0))
        ratio = log((ground[0, 0] + p) / (ground[1, 0] + q)) + ground[2, 0]
        squares[0] = ratio * ratio + LEAST * LEAST
        return
    total = 0.0
    for column in range(squares.size):
        total += max(tally[column], 0)
    for column in range(squares.size):
        p = np.float64(max(tally[column], 0))
        ratio = log((ground[0, column] + p) / (ground[1, column] + (total - p)))
        ratio += ground[2, column]
        squares[column] = ratio * ratio + LEAST * LEAST


@register_jitable
def open_entry(kept: Any, squares: Any, inverse: float, opened: Any) -> None:
    """What a feature's means and variances are under the prior variances a s²."""
    for column in range(squares.size):
        s2, S = squares[column], np.float64(kept[1, column])
        g = s2 / (s2 + (S * inverse) * (1.0 - s2))
        opened[0, column] = g * np.float64(kept[0, column])
        opened[1, column] = g * S


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
        u, j = k - start + 1, indices[k] + 1
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
        u, j = k - start + 1, indices[k] + 1
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


@register_jitable
def count_row(start: int, stop: int, indices: Any, tallies: Any, tokens: Any, code: int) -> None:
    """Count a row of a class."""
    tallies[0, code] += int(tallies[0, code] < MOST)
    tokens[code] += stop - start
    for k in range(start, stop):
        tallies[indices[k] + 1, code] += int(tallies[indices[k] + 1, code] < MOST)


@register_jitable
def fetch_row(
    start: int, stop: int, indices: Any, table: Any, tallies: Any, informed: bool
) -> None:
    """Ask for the entries of a row that will be opened next."""
    for k in range(start, stop):
        prefetch(table, indices[k] + 1)
        if informed:
            prefetch(tallies, indices[k] + 1)


@register_jitable
def make_room(longest: int, columns: int) -> Any:
    """Where rows are opened: shares, s², entries, the same as they were, and values."""
    return (
        np.empty((3, columns)),
        np.empty((longest + 1, columns)),
        np.empty((longest + 1, 2, columns)),
        np.empty((longest + 1, 2, columns)),
        np.empty(longest),
    )


@register_jitable
def one_row(longest: int) -> Any:
    """One row by itself: where it ends, its numbers, its sign, its weight, and its place."""
    numbers = np.arange(longest).astype(np.int32)
    return np.zeros(2, np.int64), numbers, np.ones(1), np.ones(1), np.zeros(1, np.int64)


def count(
    indptr: Any, indices: Any, data: Any, codes: Any, order: Any, tallies: Any, tokens: Any
) -> None:
    """Count rows of their classes, and learn nothing."""
    for i in order:
        count_row(indptr[i], indptr[i + 1], indices, tallies, tokens, codes[i])


def weigh_rows(
    indptr: Any,
    indices: Any,
    data: Any,
    codes: Any,
    order: Any,
    tallies: Any,
    tokens: Any,
    counting: bool,
    normalize: bool,
    out: Any,
) -> None:
    """Scale values by 1 + log [(1 + n) / (1 + n_j)] and, if wanted, rows to length 1.

    n_j of the n rows so far have had feature j. Rows are counted after they are scaled, if
    `counting`; then, but only then, `order` must name each row once.
    """
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        total = 1.0
        for column in range(tokens.size):
            total += max(tallies[0, column], 0)
        squares = 0.0
        for k in range(start, stop):
            had = 1.0
            for column in range(tokens.size):
                had += max(tallies[indices[k] + 1, column], 0)
            x = data[k] * (1.0 + log(max(total / had, 1.0)))
            squares += x * x
            out[k] = x
        if normalize and squares > 0.0:
            factor = 1.0 / sqrt(squares)
            for k in range(start, stop):
                out[k] = out[k] * factor
        if counting:
            count_row(start, stop, indices, tallies, tokens, codes[i])


def learn_two(
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
    longest: int,
    inverse: float,
    constant: float,
    step: Any,
    exact: Any,
    a: float,
    b: float,
    share: bool,
    projection: int,
    floor: float,
    counts: Any,
) -> int:
    """Learn two classes, which share a column; return the row that overflowed, or -1.

    Rows that were not there before are `counting`: after they are learned they are counted if the
    prior is `informed`, and before it the `curve` of probabilities follows them if there is one.
    """
    room, told = make_room(longest, 1), np.empty((4, 2))
    kept, following = (table, tallies, informed), counting and curve.size > 0
    opened, values = room[2], room[4]
    ends, numbers, sign, weigh, first = one_row(longest)
    rest = np.empty(longest + 1)
    for at in range(order.size):
        i = order[at]
        start, stop = indptr[i], indptr[i + 1]
        if at + 1 < order.size:
            fetch_row(indptr[order[at + 1]], indptr[order[at + 1] + 1], indices, *kept)
        open_row(start, stop, indices, data, table, tallies, tokens[:2], informed, 1, inverse, room)
        if following:
            follow_row(stop - start, constant, 1, codes[i], curve, room, told)
        ends[1], sign[0], weigh[0] = stop - start, 1.0 if codes[i] == 1 else -1.0, weight[i]
        updates = counts[0]
        two = opened[:, :, 0]
        if projection == BEST:
            failed = learn_exact(
                ends,
                numbers,
                values,
                sign,
                weigh,
                first,
                two,
                constant,
                step,
                exact,
                a,
                b,
                share,
                floor,
                rest,
                counts,
            )
        else:
            failed = learn_diagonal(
                ends,
                numbers,
                values,
                sign,
                weigh,
                first,
                two,
                constant,
                step,
                a,
                b,
                share,
                projection == L2,
                floor,
                rest,
                counts,
            )
        if failed >= 0:
            return int(i)
        if counts[0] != updates:
            close_row(start, stop, indices, table, 1, inverse, room)
        if informed and counting:
            count_row(start, stop, indices, tallies, tokens, codes[i])
    return -1


def learn_rest(
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
    longest: int,
    inverse: float,
    known: int,
    constant: float,
    step: Any,
    exact: Any,
    a: float,
    b: float,
    share: bool,
    projection: int,
    floor: float,
    counts: Any,
) -> int:
    """Learn many classes, each against the rest; return the row that overflowed, or -1."""
    columns = table.shape[2]
    room, told = make_room(longest, columns), np.empty((4, columns))
    kept, following = (table, tallies, informed), counting and curve.size > 0
    opened, values = room[2], room[4]
    ends, numbers, _, weigh, first = one_row(longest)
    code = np.zeros(1, np.int64)
    others, w = np.empty(longest + 1), np.empty(longest + 1)
    scores, moving = np.empty((5, columns)), np.empty(columns, np.int64)
    for at in range(order.size):
        i = order[at]
        start, stop = indptr[i], indptr[i + 1]
        if at + 1 < order.size:
            fetch_row(indptr[order[at + 1]], indptr[order[at + 1] + 1], indices, *kept)
        now = max(known, codes[i] + 1)
        if now < 2:  # nothing to tell apart
            known = now
            if informed and counting:
                count_row(start, stop, indices, tallies, tokens, codes[i])
            continue
        open_row(
            start, stop, indices, data, table, tallies, tokens[:now], informed, now, inverse, room
        )
        if following:
            follow_row(stop - start, constant, now, codes[i], curve, room, told)
        ends[1], code[0], weigh[0] = stop - start, codes[i], weight[i]
        updates = counts[0]
        failed = learn_one_vs_rest(
            ends,
            numbers,
            values,
            code,
            weigh,
            first,
            opened,
            known,
            constant,
            step,
            exact,
            a,
            b,
            share,
            projection,
            False,
            floor,
            0,
            others,
            w,
            scores,
            moving,
            counts,
        )
        if failed >= 0:
            return int(i)
        if counts[0] != updates:
            close_row(start, stop, indices, table, now, inverse, room)
        known = now
        if informed and counting:
            count_row(start, stop, indices, tallies, tokens, codes[i])
    return -1


def learn_pairs(
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
    longest: int,
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
    counts: Any,
) -> int:
    """Learn many classes, each against its rivals; return the row that overflowed, or -1."""
    columns = table.shape[2]
    room, told = make_room(longest, columns), np.empty((4, columns))
    kept, following = (table, tallies, informed), counting and curve.size > 0
    opened, values = room[2], room[4]
    ends, numbers, _, weigh, first = one_row(longest)
    code = np.zeros(1, np.int64)
    width = 2 * (longest + 1)
    others, w_y, w_r = np.empty(width), np.empty(width), np.empty((competitors, width))
    scores, rivals = np.empty((6, columns)), np.empty(columns, np.int64)
    for at in range(order.size):
        i = order[at]
        start, stop = indptr[i], indptr[i + 1]
        if at + 1 < order.size:
            fetch_row(indptr[order[at + 1]], indptr[order[at + 1] + 1], indices, *kept)
        now = max(known, codes[i] + 1)
        if now < 2:  # nothing to tell apart
            known = now
            if informed and counting:
                count_row(start, stop, indices, tallies, tokens, codes[i])
            continue
        open_row(
            start, stop, indices, data, table, tallies, tokens[:now], informed, now, inverse, room
        )
        if following:
            follow_row(stop - start, constant, now, codes[i], curve, room, told)
        ends[1], code[0], weigh[0] = stop - start, codes[i], weight[i]
        updates = counts[0]
        failed = learn_rivals(
            ends,
            numbers,
            values,
            code,
            weigh,
            first,
            opened,
            rank,
            known,
            competitors,
            constant,
            step,
            exact,
            joint,
            a,
            b,
            share,
            scheme,
            projection,
            False,
            floor,
            0,
            others,
            w_y,
            w_r,
            scores,
            rivals,
            counts,
        )
        if failed >= 0:
            return int(i)
        if counts[0] != updates:
            close_row(start, stop, indices, table, now, inverse, room)
        known = now
        if informed and counting:
            count_row(start, stop, indices, tallies, tokens, codes[i])
    return -1


def score_informed(
    indptr: Any,
    indices: Any,
    data: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    inverse: float,
    constant: float,
    means: Any,
    variances: Any,
) -> None:
    """The mean and the variance of every row's scores, by column."""
    columns = means.shape[1]
    ground, squares, opened = np.empty((3, columns)), np.empty(columns), np.empty((2, columns))
    share_tokens(tokens, ground)
    for i in range(means.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        if i + 1 < means.shape[0]:
            fetch_row(stop, indptr[i + 2], indices, table, tallies, True)
        for column in range(columns):
            means[i, column] = constant * np.float64(table[0, 0, column])
            variances[i, column] = constant * np.float64(table[0, 1, column])
        for k in range(start, stop):
            j, x = indices[k] + 1, np.float64(data[k])
            prior_of(tallies[j], ground, squares)
            open_entry(table[j], squares, inverse, opened)
            for column in range(columns):
                means[i, column] += opened[0, column] * x
                variances[i, column] += opened[1, column] * x * x


def open_entries(
    numbers: Any, table: Any, tallies: Any, tokens: Any, inverse: float, out: Any
) -> None:
    """The means and variances of some rows of the table under their prior; row 0 is as it is."""
    columns = out.shape[2]
    ground, squares = np.empty((3, columns)), np.empty(columns)
    share_tokens(tokens, ground)
    for u in range(numbers.size):
        j = numbers[u]
        if j == 0:
            for slot in range(2):
                for column in range(columns):
                    out[u, slot, column] = table[0, slot, column]
        else:
            prior_of(tallies[j], ground, squares)
            open_entry(table[j], squares, inverse, out[u])


def counters() -> tuple[Any, ...]:
    """The arrays of counts and the curve that learning adds to, and whether it does."""
    return array(types.int32, 2), array(i8), flag, flag, array(f8)


def learned(real: Any) -> tuple[Any, ...]:
    """What every loop that learns begins with."""
    return (*labelled(real), array(real, 3), *counters(), i8, f8)


def told(real: Any) -> tuple[Any, ...]:
    """The table and the counts, to be read only."""
    return given(real, 3), given(types.int32, 2), given(i8), f8


step_, exact_, joint_ = (types.FunctionType(kind) for kind in (STEP, EXACT, JOINT))

LEARN_TWO = Kernel(
    learn_two,
    lambda real: i8(*learned(real), f8, step_, exact_, f8, f8, flag, i8, f8, array(i8)),
)
LEARN_REST = Kernel(
    learn_rest,
    lambda real: i8(*learned(real), i8, f8, step_, exact_, f8, f8, flag, i8, f8, array(i8)),
)
LEARN_PAIRS = Kernel(
    learn_pairs,
    lambda real: i8(
        *(*learned(real), given(i8), i8, i8, f8, step_, exact_, joint_),
        *(f8, f8, flag, i8, i8, f8, array(i8)),
    ),
)
COUNT = Kernel(
    count,
    lambda real: types.void(*rows(real), given(i8), given(i8), array(types.int32, 2), array(i8)),
)
WEIGH_ROWS = Kernel(
    weigh_rows,
    lambda real: types.void(
        *(*rows(real), given(i8), given(i8), array(types.int32, 2), array(i8), flag, flag),
        array(real),
    ),
)
SCORE_INFORMED = Kernel(
    score_informed,
    lambda real: types.void(*rows(real), *told(real), f8, array(f8, 2), array(f8, 2)),
)
OPEN_ENTRIES = Kernel(open_entries, lambda real: types.void(given(i8), *told(real), array(f8, 3)))
