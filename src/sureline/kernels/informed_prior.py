"""Learning under a prior that counts of rows tell: naive Bayes as a beginning.

From the counts follows how much more often than in all other classes a feature is met in class k,
as a logarithm,

    l = log [(α π_k + p) / (α (1 − π_k) + q)] − log [π_k / (1 − π_k)],

with p, q the rows of class k and of the others that have had the feature, π_k the share of class k
in all tokens, and α one row spread over the classes in proportion. The weight of the feature for
the class has the prior variance a s², s² = l² + β², where a is the rule's initial variance: naive
Bayes tells which weights may be large, the rule learns how large they are. A feature that has been
met equally often everywhere has s = β, whatever its frequency. One that has never been counted has
s = 1: nothing is known of it.

The counts grow while the weights are learned, and the prior with them. So the table holds what does
not depend on it: the mean M and the variance S that the same evidence would give under the prior
variance a. The evidence adds 1/S − 1/a to the precision and M/S to precision times mean; under the
prior variance a s² these are a Gaussian with

    variance g S and mean g M,    g = s² / (s² + (S/a) (1 − s²)).

The rule sees m and v under the prior. Where it gains the precision c x² for a weight (the
projection KL), the evidence gains the same, whatever the prior:

    S' = S d,    M' = (M + step) (g + (1 − g) d),    d = 1 / (1 + c x² S).

A row is counted after it is learned: its label plays no part in its own prior. Where it has been
counted before, in an earlier pass, it is taken out of the counts for as long as it is learned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import typeof, types
from numba.extending import register_jitable

from sureline.kernels.calibration import follow
from sureline.kernels.class_counts import count_row, uncount_row
from sureline.kernels.compiling import (
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
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.indexing import entry_at, next_row, row_at
from sureline.kernels.logarithm import log_ratio
from sureline.kernels.noise import follow_error
from sureline.kernels.numba_internals import Callee
from sureline.kernels.one_vs_rest import FEW, beaten
from sureline.kernels.prefetch import prefetch, prefetch_row

SPREAD_ROWS = 1.0  # α
LEAST = 0.1  # β
LONG = 256  # so many numbers at a time are turned into g
AHEAD = 16  # so many rows ahead an entry is asked for


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
        ground[2, column] = log_ratio(total - of_class, of_class)


@register_jitable
def square_of(p: float, q: float, ground: Any, column: int) -> float:
    """s² of a feature that so many rows of a class have had, and so many of the others."""
    ratio = log_ratio(ground[0, column] + p, ground[1, column] + q) + ground[2, column]
    return ratio * ratio + LEAST * LEAST if p + q > 0.0 else 1.0


@register_jitable
def gain_of(s2: float, S: float, inverse: float) -> float:
    """What the prior s² does to mean and variance of a weight, as a factor."""
    return s2 / (s2 + (S * inverse) * (1.0 - s2))


@register_jitable
def moved(
    M: float, S: float, g: float, x: float, pull: float, gain: float, floor: float
) -> tuple[float, float]:
    """M' and S' of a weight after a row; `pull` and `gain` are the rule's step over v."""
    d = 1.0 / (1.0 + gain * (S * x * x))
    return (M + pull * (S * x)) * (g + (1.0 - g) * d), max(S * d, floor)


@register_jitable
def prior_of(tally: Any, ground: Any, squares: Any) -> None:
    """s² of one feature for each column."""
    if squares.size == 1:
        p, q = np.float64(max(tally[1], 0)), np.float64(max(tally[0], 0))
        squares[0] = square_of(p, q, ground, 0)
        return
    total = 0.0
    for column in range(squares.size):
        total += max(tally[column], 0)
    for column in range(squares.size):
        p = np.float64(max(tally[column], 0))
        squares[column] = square_of(p, total - p, ground, column)


@register_jitable
def open_entry(kept: Any, squares: Any, inverse: float, opened: Any) -> None:
    """What a feature's means and variances are under the prior variances a s²."""
    for column in range(squares.size):
        S = np.float64(kept[1, column])
        g = gain_of(squares[column], S, inverse)
        opened[0, column] = g * np.float64(kept[0, column])
        opened[1, column] = g * S


@register_jitable
def fetch_row(
    start: int, stop: int, indices: Any, table: Any, tallies: Any, informed: bool
) -> None:
    """Ask for the entries of a row that will be opened next."""
    prefetch_row(start, stop, indices, table)
    if informed:
        prefetch_row(start, stop, indices, tallies)


@register_jitable
def gather_two(
    start: int,
    stop: int,
    indices: Any,
    data: Any,
    table: Any,
    tallies: Any,
    informed: bool,
    ahead: int,
    end: int,
    room: Any,
) -> None:
    """Copy what a row of two classes is about: M, S, values and, if `informed`, both counts.

    Meanwhile the entries of the row from `ahead` to `end`, the next one, are asked for.
    """
    means, spreads, values, yes, no = room[0], room[1], room[2], room[3], room[4]
    length, left = stop - start, end - ahead
    for u in range(max(length, left)):
        if u < length:
            j = entry_at(indices, start + u)
            means[u], spreads[u], values[u] = table[j, 0, 0], table[j, 1, 0], data[start + u]
            if informed:
                yes[u], no[u] = max(tallies[j, 1], 0), max(tallies[j, 0], 0)
        if u < left:
            prefetch(table, entry_at(indices, ahead + u))
            if informed:
                prefetch(tallies, entry_at(indices, ahead + u))


@register_jitable
def moments_two(length: int, room: Any, table: Any, constant: float) -> tuple[float, float]:
    """The mean and the variance of a row's score, from what was gathered of it."""
    means, spreads, values, gains = room[0], room[1], room[2], room[5]
    m = constant * np.float64(table[0, 0, 0])
    v = constant * np.float64(table[0, 1, 0])
    for u in range(length):
        m += gains[u] * means[u] * values[u]
        v += gains[u] * spreads[u] * values[u] * values[u]
    return m, v


@register_jitable
def gain_two(length: int, room: Any, ground: Any, inverse: float) -> None:
    """Write g of every feature of a row: the last line of `room`, from the lines before it."""
    spreads, yes, no, gains = room[1], room[3], room[4], room[5]
    for u in range(length):
        gains[u] = gain_of(square_of(yes[u], no[u], ground, 0), spreads[u], inverse)


@register_jitable
def at_a_time(known: int) -> int:
    """How many features' g are computed together: as many as make a long loop over classes."""
    return 1 + LONG // known


@register_jitable
def tile_shares(tokens: Any, tiles: Any) -> None:
    """Write the shares of the classes for so many features as `gain_all` takes at a time."""
    known = tokens.size
    share_tokens(tokens, tiles[:, :known])
    for at in range(known, at_a_time(known) * known):
        for line in range(3):
            tiles[line, at] = tiles[line, at - known]


@register_jitable
def gain_all(
    start: int,
    stop: int,
    indices: Any,
    table: Any,
    tallies: Any,
    known: int,
    tiles: Any,
    inverse: float,
    room: Any,
    every: Any,
) -> None:
    """Write g of every feature of a row for every class, class by class within a feature.

    A few features at a time are copied to `room`, so that one long loop serves them all; `tiles`
    have the shares of their classes. Both are whole arrays, as parts of their lines could not be
    taken many numbers at once.
    """
    yes, no, spreads = room[0], room[1], room[2]
    few = at_a_time(known)
    for begin in range(start, stop, few):
        size = 0
        for k in range(begin, min(begin + few, stop)):
            j = entry_at(indices, k)
            total = 0.0
            for column in range(known):
                p = np.float64(max(tallies[j, column], 0))
                yes[size + column] = p
                total += p
            for column in range(known):
                no[size + column] = total - yes[size + column]
                spreads[size + column] = table[j, 1, column]
            size += known
        gains = every[(begin - start) * known :]
        for at in range(size):
            gains[at] = gain_of(square_of(yes[at], no[at], tiles, at), spreads[at], inverse)


@register_jitable
def weigh_all(means: Any, gains: Any, x: float, scores: Any) -> None:
    """Add what a feature adds to something of every class."""
    for column in range(scores.size):
        scores[column] += gains[column] * np.float64(means[column]) * x


@register_jitable
def move_all(
    means: Any, spreads: Any, gains: Any, x: float, pull: Any, gain: Any, floor: float
) -> None:
    """Learn what a row tells of one feature, for every class; `pull` and `gain` are over v."""
    for column in range(pull.size):
        M, S = np.float64(means[column]), np.float64(spreads[column])
        means[column], spreads[column] = moved(
            M, S, gains[column], x, pull[column], gain[column], floor
        )


def two_rooms(longest: int, informed: bool = True) -> tuple[Any, ...]:
    """Where loops for two classes keep numbers of a row, shares of classes, and what is told.

    Where the prior is not informed, g is 1 for ever.
    """
    room = np.empty((6, longest))
    if not informed:
        room[5] = 1.0
    return room, np.empty((3, 1)), np.empty((4, 2))


def rest_rooms(longest: int, columns: int, informed: bool = True) -> tuple[Any, ...]:
    """The same for many: g of all entries, shares, copies, sums, what is told, and who moves."""
    every, few = np.empty(longest * columns), (3, LONG + columns)
    if not informed:
        every[:] = 1.0
    sums = np.empty((4, columns)), np.empty((3, columns)), np.empty(columns, np.int64)
    return every, np.empty(few), np.empty(few), *sums


def open_rooms(columns: int) -> tuple[Any, ...]:
    """Where `open_entries` keeps numbers of a few entries, shares of classes, and s²."""
    return np.empty((6, LONG)), np.empty((3, columns)), np.empty(columns)


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
    rooms: Any,
    inverse: float,
    constant: float,
    step: Any,
    a: float,
    b: float,
    share: bool,
    floor: float,
    errors: Any,
    counts: Any,
) -> int:
    """Learn two classes, which share a column; return the row that overflowed, or -1.

    If the prior is `informed`, rows are counted after they are learned. Not `counting` says that
    they have been counted before, so that they must be taken out first. Before a row is learned,
    the `curve` of probabilities follows it if there is one. `two_rooms` makes the `rooms`.
    """
    room, ground, told = rooms
    means, spreads, values, gains = room[0], room[1], room[2], room[5]
    following = curve.size > 0
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(indptr, i)
        length = stop - start
        ahead, end = next_row(at, order, indptr)
        if informed and not counting:
            uncount_row(start, stop, indices, tallies, tokens, codes[i])
        gather_two(start, stop, indices, data, table, tallies, informed, ahead, end, room)
        if informed:
            share_tokens(tokens[:2], ground)
            gain_two(length, room, ground, inverse)
        m, v = moments_two(length, room, table, constant)
        if not math.isfinite(m + v):
            return int(i)
        if following:
            told[0, 0], told[0, 1] = -m, m
            follow(told[0], codes[i], curve, told[1:])
        y, c = 1.0 if codes[i] == 1 else -1.0, weight[i]
        m *= y
        if m <= 0.0:
            counts[1] += 1
        if errors.size:
            a = follow_error(errors, m)
        t, E = 0.0, 0.0
        if v > TINY:
            t, E = step(m, v, 1.0 if share else c, a, b)
        if t != 0.0 or E != 0.0:
            counts[0] += 1
            E = min(E, HUGE)
            if share and c != 1.0:
                t, E = shared(t, E, c)
            pull, gain = t * y / v, min(E / v, HUGE)
            s = np.float64(table[0, 1, 0])
            table[0, 0, 0] += pull * (s * constant)
            table[0, 1, 0] = max(s / (1.0 + gain * (s * constant)), floor)
            for u in range(length):
                means[u], spreads[u] = moved(
                    means[u], spreads[u], gains[u], values[u], pull, gain, floor
                )
            checked = np.float64(table[0, 0, 0])
            for u in range(length):
                j = entry_at(indices, start + u)
                table[j, 0, 0], table[j, 1, 0] = means[u], spreads[u]
                checked += table[j, 0, 0]
            if not math.isfinite(checked):
                return int(i)
        if informed:
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
    rooms: Any,
    inverse: float,
    known: int,
    constant: float,
    step: Any,
    a: float,
    b: float,
    share: bool,
    floor: float,
    errors: Any,
    counts: Any,
) -> int:
    """Learn many classes, each against the rest; return the row that overflowed, or -1.

    `rest_rooms` makes the `rooms`.
    """
    every, tiles, copies, room, told, moving_room = rooms
    following = curve.size > 0
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(at, order, indptr)
        fetch_row(ahead, end, indices, table, tallies, informed)
        code, seen, blend = codes[i], weight[i], 1.0
        if share:
            seen, blend = 1.0, weight[i]
        new = code >= known
        known = max(known, code + 1)
        if informed and not counting:
            uncount_row(start, stop, indices, tallies, tokens, code)
        if known < 2:  # nothing to tell apart
            if informed:
                count_row(start, stop, indices, tallies, tokens, code)
            continue
        scores, spreads, pull, gain = (
            room[0, :known],
            room[1, :known],
            room[2, :known],
            room[3, :known],
        )
        if informed:
            tile_shares(tokens[:known], tiles)
            gain_all(start, stop, indices, table, tallies, known, tiles, inverse, copies, every)
        for column in range(known):
            scores[column] = constant * np.float64(table[0, 0, column])
            spreads[column] = constant * np.float64(table[0, 1, column])
        for k in range(start, stop):
            j, x = entry_at(indices, k), np.float64(data[k])
            gains = every[(k - start) * known :]
            weigh_all(table[j, 0], gains, x, scores)
            weigh_all(table[j, 1], gains, x * x, spreads)
        if new or beaten(scores, code):
            counts[1] += 1
        if following:
            follow(scores, code, curve, told[:, :known])
        if errors.size and math.isfinite(scores[code]):
            a = follow_error(errors, scores[code])
        updates = 0
        for column in range(known):
            sign = 1.0 if column == code else -1.0
            m, v = sign * scores[column], spreads[column]
            if not math.isfinite(m + v):
                return int(i)
            pull[column] = gain[column] = 0.0
            if v > TINY:
                t, E = step(m, v, seen, a, b)
                if t != 0.0 or E != 0.0:
                    E = min(E, HUGE)
                    if blend != 1.0:
                        t, E = shared(t, E, blend)
                    pull[column], gain[column] = sign * t / v, min(E / v, HUGE)
                    moving_room[updates] = column
                    updates += 1
        if updates:
            counts[0] += 1
            moving = moving_room[:updates]
            checked = 0.0
            for column in moving:
                s = np.float64(table[0, 1, column])
                table[0, 0, column] += pull[column] * (s * constant)
                table[0, 1, column] = max(s / (1.0 + gain[column] * (s * constant)), floor)
                checked += table[0, 0, column]
            few = FEW * updates < known
            for k in range(start, stop):
                j, x = entry_at(indices, k), np.float64(data[k])
                gains = every[(k - start) * known :]
                if few:
                    for column in moving:
                        M, S = np.float64(table[j, 0, column]), np.float64(table[j, 1, column])
                        table[j, 0, column], table[j, 1, column] = moved(
                            M, S, gains[column], x, pull[column], gain[column], floor
                        )
                else:
                    move_all(table[j, 0], table[j, 1], gains, x, pull, gain, floor)
                for column in moving:
                    checked += table[j, 0, column]
            if not math.isfinite(checked):
                return int(i)
        if informed:
            count_row(start, stop, indices, tallies, tokens, code)
    return -1


def score_two(
    indptr: Any,
    indices: Any,
    data: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    inverse: float,
    constant: float,
    rooms: Any,
    means: Any,
    variances: Any,
) -> None:
    """The mean of every row's score, and the variance, if it is asked for; see `two_rooms`."""
    room, ground, _ = rooms
    spreading = variances.shape[0] > 0
    share_tokens(tokens, ground)
    for i in range(means.shape[0]):
        start, stop = row_at(indptr, i)
        end = indptr[i + 2] if i + 1 < means.shape[0] else stop
        gather_two(start, stop, indices, data, table, tallies, True, stop, end, room)
        gain_two(stop - start, room, ground, inverse)
        means[i, 0], v = moments_two(stop - start, room, table, constant)
        if spreading:
            variances[i, 0] = v


def score_many(
    indptr: Any,
    indices: Any,
    data: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    inverse: float,
    constant: float,
    rooms: Any,
    means: Any,
    variances: Any,
) -> None:
    """As `score_two` for many classes, each with a column of its own; see `rest_rooms`."""
    known = means.shape[1]
    slots = 2 if variances.shape[0] > 0 else 1
    every, tiles, room, _, _, _ = rooms
    tile_shares(tokens, tiles)
    for i in range(means.shape[0]):
        start, stop = row_at(indptr, i)
        end = indptr[i + 2] if i + 1 < means.shape[0] else stop
        fetch_row(stop, end, indices, table, tallies, True)
        gain_all(start, stop, indices, table, tallies, known, tiles, inverse, room, every)
        for slot in range(slots):
            out = variances[i] if slot else means[i]
            for column in range(known):
                out[column] = constant * np.float64(table[0, slot, column])
            for k in range(start, stop):
                x = np.float64(data[k])
                weigh_all(
                    table[entry_at(indices, k), slot],
                    every[(k - start) * known :],
                    x * x if slot else x,
                    out,
                )


@register_jitable
def open_two(
    numbers: Any, table: Any, tallies: Any, inverse: float, room: Any, ground: Any, out: Any
) -> None:
    """As `open_entries` for two classes, which share a column, many entries at a time."""
    means, spreads, yes, no, gains = room[0], room[1], room[3], room[4], room[5]
    for begin in range(0, numbers.size, LONG):
        many = min(LONG, numbers.size - begin)
        for u in range(many):
            j = numbers[begin + u]
            means[u], spreads[u] = table[j, 0, 0], table[j, 1, 0]
            yes[u], no[u] = max(tallies[j, 1], 0), max(tallies[j, 0], 0)
            ahead = numbers[min(begin + u + AHEAD, numbers.size - 1)]
            prefetch(table, ahead)
            prefetch(tallies, ahead)
        gain_two(many, room, ground, inverse)
        for u in range(many):
            g = gains[u] if numbers[begin + u] != 0 else 1.0
            out[begin + u, 0, 0], out[begin + u, 1, 0] = g * means[u], g * spreads[u]


def open_entries(
    numbers: Any,
    table: Any,
    tallies: Any,
    tokens: Any,
    inverse: float,
    rooms: Any,
    out: Any,
) -> None:
    """The means and variances of some rows of the table under their prior; row 0 is as it is.

    `open_rooms` makes the `rooms`.
    """
    columns = out.shape[2]
    room, ground, squares = rooms
    share_tokens(tokens, ground)
    if columns == 1:
        open_two(numbers, table, tallies, inverse, room, ground, out)
        return
    for u in range(numbers.size):
        j = numbers[u]
        ahead = numbers[min(u + AHEAD, numbers.size - 1)]
        prefetch(table, ahead)
        prefetch(tallies, ahead)
        if j == 0:
            for slot in range(2):
                for column in range(columns):
                    out[u, slot, column] = table[0, slot, column]
        else:
            prior_of(tallies[j], ground, squares)
            open_entry(table[j], squares, inverse, out[u])


TWO_ROOMS, REST_ROOMS = typeof(two_rooms(1)), typeof(rest_rooms(1, 1))
OPEN_ROOMS = typeof(open_rooms(1))


def learned(real: Any, rooms: Any) -> tuple[Any, ...]:
    """What every loop that learns begins with."""
    counters = array(types.int32, 2), array(i8), flag, flag, array(f8)
    return (*labelled(real), array(real, 3), *counters, rooms, f8)


def told(real: Any) -> tuple[Any, ...]:
    """The table and the counts, to be read only."""
    return given(real, 3), given(types.int32, 2), given(i8), f8


def scored(real: Any, rooms: Any) -> Any:
    """The signature of loops that score rows."""
    return types.void(*rows(real), *told(real), f8, rooms, array(f8, 2), array(f8, 2))


step_ = Callee(STEP)

LEARN_TWO = Kernel(
    learn_two,
    lambda real: i8(*learned(real, TWO_ROOMS), f8, step_, f8, f8, flag, f8, array(f8), array(i8)),
)
LEARN_REST = Kernel(
    learn_rest,
    lambda real: i8(
        *(*learned(real, REST_ROOMS), i8, f8, step_, f8, f8, flag, f8, array(f8), array(i8))
    ),
)
SCORE_TWO = Kernel(score_two, lambda real: scored(real, TWO_ROOMS))
SCORE_MANY = Kernel(score_many, lambda real: scored(real, REST_ROOMS))
OPEN_ENTRIES = Kernel(
    open_entries, lambda real: types.void(given(i8), *told(real), OPEN_ROOMS, array(f8, 3))
)
