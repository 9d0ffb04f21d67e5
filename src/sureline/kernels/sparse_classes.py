"""Pairs of feature and class in place of a table with a column for every class.

The pairs of a feature lie in one block of a pool, in the order of their classes; a block that is
full moves to another place, twice as long. A pair that is not there is as it began: mean 0, the
initial variance, no row counted. Scores are therefore sums over the pairs of a row's features.

Learning copies the entries of a row for its own class and its strongest rivals into a small table,
learns that with the loop that learns many classes, and writes back what has changed. So numbers
are the same, bit for bit, as those of a table with all columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import Rows, array, f8, flag, given, i8, rows
from sureline.kernels.calibration import is_learned
from sureline.kernels.class_counts import MOST
from sureline.kernels.compiling import Kernel
from sureline.kernels.informed_prior import SPREAD_ROWS, gain_of, square_of
from sureline.kernels.logarithm import log_ratio
from sureline.kernels.positions import entry_at, row_at

COMMON = -1  # in place of where a block starts: the feature's pairs are not kept


class Pairs(NamedTuple):
    """The pairs of all features; row j belongs to feature j − 1, as in a table, row 0 to none.

    Those of row j are `lengths[j]` from `starts[j]` on, with capacity for `room[j]`. `top` is where
    the unused part of the pool begins. `classes`, `values` and `counts` have an element for each
    pair: its class, its slots of the table, and how many rows of the class have had the feature.
    `totals` has the rows of all classes that have had it, in row 0 how many rows there were.
    """

    starts: Any
    lengths: Any
    room: Any
    top: Any
    classes: Any
    values: Any
    counts: Any
    totals: Any


class Shares(NamedTuple):
    """What `share_tokens` computes, for the classes that a row has met; `stamps` says for which.

    `numbers` has the number of the row, and how many classes and tokens there are.
    """

    ground: Any
    stamps: Any
    numbers: Any


def shares_of(columns: int) -> Shares:
    """Memory for the shares of so many classes."""
    return Shares(np.empty((3, columns)), np.zeros(columns, np.int64), np.zeros(3, np.int64))


@register_jitable
def begin_shares(tokens: Any, known: int, shares: Shares) -> None:
    """Begin with another row, after which `tokens` may have changed."""
    total = np.int64(max(known, 2))
    for column in range(known):
        total += max(tokens[column], 0)
    numbers = shares.numbers
    numbers[0] += 1
    numbers[2] = total


@register_jitable
def squared(p: float, total: float, column: Any, tokens: Any, shares: Shares) -> float:
    """s² of a pair with p rows of a feature that `total` rows have had, as `square_of` has it."""
    ground, numbers = shares.ground, shares.numbers
    if shares.stamps[column] != numbers[0]:
        shares.stamps[column] = numbers[0]
        every, of_class = np.float64(numbers[2]), max(tokens[column], 0) + 1.0
        ground[0, column] = SPREAD_ROWS * (of_class / every)
        ground[1, column] = SPREAD_ROWS * ((every - of_class) / every)
        ground[2, column] = log_ratio(every - of_class, of_class)
    return square_of(p, total - p, ground, column)


@register_jitable
def place_of(pairs: Pairs, j: int, column: int) -> Any:
    """Where the pair of a feature and a class is in the pool, or −1."""
    low, end = pairs.starts[j], pairs.starts[j] + pairs.lengths[j]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if pairs.classes[middle] < column:
            low = middle + 1
        else:
            high = middle
    return np.int64(low if low < end and pairs.classes[low] == column else -1)


@register_jitable
def move_block(pairs: Pairs, j: int, room: int) -> None:
    """Move a feature's block to the end of the pool, with another capacity."""
    start, to = pairs.starts[j], pairs.top[0]
    for u in range(pairs.lengths[j]):
        pairs.classes[to + u] = pairs.classes[start + u]
        for slot in range(pairs.values.shape[1]):
            pairs.values[to + u, slot] = pairs.values[start + u, slot]
        if pairs.counts.size:
            pairs.counts[to + u] = pairs.counts[start + u]
    pairs.starts[j], pairs.room[j] = to, room
    pairs.top[0] = to + room


@register_jitable
def make_room(pairs: Pairs, start: int, stop: int, indices: Any, more: int) -> bool:
    """Give every feature of a row capacity for so many pairs more; False if the pool is full."""
    needed = 0
    for k in range(start, stop):
        j = entry_at(indices, k)
        least = pairs.lengths[j] + more
        if pairs.starts[j] != COMMON and least > pairs.room[j]:
            needed += max(least, 2 * pairs.room[j])
    if pairs.top[0] + needed > pairs.classes.size:
        return False
    for k in range(start, stop):
        j = entry_at(indices, k)
        least = pairs.lengths[j] + more
        if pairs.starts[j] != COMMON and least > pairs.room[j]:
            move_block(pairs, j, max(least, 2 * pairs.room[j]))
    return True


@register_jitable
def insert(pairs: Pairs, j: int, column: int, initial: Any) -> Any:
    """The place of a new pair of a feature, whose block has capacity for it."""
    start = pairs.starts[j]
    at = start + pairs.lengths[j]
    counted, slots = pairs.counts.size > 0, pairs.values.shape[1]
    while at > start and pairs.classes[at - 1] > column:
        pairs.classes[at] = pairs.classes[at - 1]
        for slot in range(slots):
            pairs.values[at, slot] = pairs.values[at - 1, slot]
        if counted:
            pairs.counts[at] = pairs.counts[at - 1]
        at -= 1
    pairs.classes[at] = column
    for slot in range(slots):
        pairs.values[at, slot] = initial[slot]
    if counted:
        pairs.counts[at] = 0
    pairs.lengths[j] += 1
    return np.int64(at)


@register_jitable
def drop_common(pairs: Pairs, start: int, stop: int, indices: Any, most: int) -> None:
    """Keep no pairs of those features of a row that have met more than so many classes."""
    for k in range(start, stop):
        j = entry_at(indices, k)
        if pairs.lengths[j] > most:
            pairs.starts[j], pairs.lengths[j], pairs.room[j] = COMMON, 0, 0


@register_jitable
def count_pairs(
    start: int, stop: int, indices: Any, code: int, by: int, pairs: Pairs, initial: Any
) -> None:
    """Count a row of a class, or take it out again where `by` is −1; there is capacity for it."""
    if pairs.totals[0, 0] < MOST:
        pairs.totals[0, 0] += by
    for k in range(start, stop):
        j = entry_at(indices, k)
        if pairs.totals[j, 0] < MOST:
            pairs.totals[j, 0] += by
        if pairs.counts.size and pairs.starts[j] != COMMON:
            u = place_of(pairs, j, code)
            if u < 0:
                u = insert(pairs, j, code, initial)
            if pairs.counts[u] < MOST:
                pairs.counts[u] += by


@register_jitable
def gain_at(pairs: Pairs, u: int, j: int, inverse: float, tokens: Any, shares: Shares) -> float:
    """What the prior does to mean and variance of a pair, as a factor."""
    p, total = np.float64(max(pairs.counts[u], 0)), np.float64(max(pairs.totals[j, 0], 0))
    s2 = squared(p, total, np.int64(pairs.classes[u]), tokens, shares)
    return gain_of(s2, np.float64(pairs.values[u, 1]), inverse)


@register_jitable
def add_feature(
    j: int,
    x: float,
    pairs: Pairs,
    slot: int,
    informed: bool,
    inverse: float,
    tokens: Any,
    shares: Shares,
    scores: Any,
) -> None:
    """Add what a feature adds to the score of every class, or to the sums of another slot."""
    for u in range(pairs.starts[j], pairs.starts[j] + pairs.lengths[j]):
        mean = np.float64(pairs.values[u, slot])
        if mean != 0.0:
            if informed:
                mean = gain_at(pairs, u, j, inverse, tokens, shares) * mean
            scores[pairs.classes[u]] += mean * x


@register_jitable
def knows_pairs(j: int, pairs: Pairs, informed: bool, prior: float) -> bool:
    """Whether the model knows a feature, as `calibration.knows` has it."""
    if informed:
        return bool(pairs.totals[j, 0] > 0)
    for u in range(pairs.starts[j], pairs.starts[j] + pairs.lengths[j]):
        if is_learned(np.float64(pairs.values[u, 1]), prior):
            return True
    return False


def score_pairs(
    rows: Rows,
    first: Any,
    pairs: Pairs,
    tokens: Any,
    informed: bool,
    inverse: float,
    constant: float,
    shift: float,
    prior: float,
    shares: Shares,
    out: Any,
    known: Any,
) -> None:
    """The mean score of every row and class; `first` is the intercept's row of the table.

    With an average of weights, `shift` times slot 1 is added to slot 0. Unless `known` is empty, it
    gets the three numbers of each row that `calibration.count_row_known` counts.
    """
    columns = out.shape[1]
    begin_shares(tokens, columns, shares)
    for i in range(out.shape[0]):
        start, stop = row_at(rows.indptr, i)
        for slot in range(2 if shift != 0.0 else 1):
            factor = shift if slot == 1 else 1.0
            for column in range(columns):
                begun = factor * constant * np.float64(first[0, slot, column])
                out[i, column] = begun if slot == 0 else out[i, column] + begun
            for k in range(start, stop):
                j, x = entry_at(rows.indices, k), factor * np.float64(rows.data[k])
                add_feature(j, x, pairs, slot, informed, inverse, tokens, shares, out[i])
        features = part = every = 0.0
        for k in range(start if known.shape[0] else stop, stop):
            j, x = entry_at(rows.indices, k), np.float64(rows.data[k])
            every += x * x
            if knows_pairs(j, pairs, informed, prior):
                features += 1.0
                part += x * x
        if known.shape[0]:
            known[i, 0], known[i, 1], known[i, 2] = features, part, every


def spread_pairs(
    rows: Rows,
    first: Any,
    pairs: Pairs,
    tokens: Any,
    known: int,
    informed: bool,
    inverse: float,
    constant: float,
    initial: float,
    chosen: Any,
    shares: Shares,
    out: Any,
) -> None:
    """The variance of the score of one class for every row, the `chosen` one."""
    begin_shares(tokens, known, shares)
    for i in range(out.size):
        start, stop = row_at(rows.indptr, i)
        out[i] = constant * np.float64(first[0, 1, chosen[i]])
        for k in range(start, stop):
            j, x = entry_at(rows.indices, k), np.float64(rows.data[k])
            u, p = place_of(pairs, j, chosen[i]), 0.0
            S = np.float64(pairs.values[u, 1]) if u >= 0 else initial
            if informed and pairs.starts[j] != COMMON:
                if u >= 0:
                    p = np.float64(max(pairs.counts[u], 0))
                total = np.float64(max(pairs.totals[j, 0], 0))
                S *= gain_of(squared(p, total, chosen[i], tokens, shares), S, inverse)
            out[i] += S * x * x


def open_pairs(
    row: Any,
    place: Any,
    pairs: Pairs,
    tokens: Any,
    known: int,
    inverse: float,
    shares: Shares,
    out: Any,
) -> None:
    """The means of pairs at these places under the informed prior; `row` is that of each."""
    begin_shares(tokens, known, shares)
    for at in range(out.size):
        u = place[at]
        out[at] = gain_at(pairs, u, row[at], inverse, tokens, shares) * pairs.values[u, 0]


def gather(numbers: Any, pairs: Pairs, slots: int, table: Any, counts: Any) -> None:
    """Write the pairs of some rows into a table and counts, which have what pairs begin with."""
    for i in range(numbers.size):
        j = numbers[i]
        for u in range(pairs.starts[j], pairs.starts[j] + pairs.lengths[j]):
            column = pairs.classes[u]
            for slot in range(slots):
                table[i, slot, column] = pairs.values[u, slot]
            if counts.size:
                counts[i, column] = pairs.counts[u]


def pack(pairs: Pairs, other: Pairs) -> None:
    """Write all blocks, one after the other, into a larger pool; `other` has equal lengths."""
    to = 0
    for j in range(pairs.starts.size):
        start = pairs.starts[j]
        if start != COMMON:
            other.starts[j] = to
            for u in range(start, start + pairs.lengths[j]):
                other.classes[to] = pairs.classes[u]
                for slot in range(pairs.values.shape[1]):
                    other.values[to, slot] = pairs.values[u, slot]
                if pairs.counts.size:
                    other.counts[to] = pairs.counts[u]
                to += 1
        other.room[j] = other.lengths[j]
    other.top[0] = to


def pairs_type(real: Any, kind: Any = array) -> Any:
    """The type of `Pairs`."""
    i4 = types.int32
    fields = [kind(i8), kind(i4), kind(i4), kind(i8), kind(i4), kind(real, 2), kind(i4)]
    return types.NamedTuple([*fields, kind(i4, 2)], Pairs)


SHARES = types.NamedTuple([array(f8, 2), array(i8), array(i8)], Shares)
SCORE_PAIRS = Kernel(
    score_pairs,
    lambda real: types.void(
        rows(real),
        given(real, 3),
        pairs_type(real, given),
        given(i8),
        flag,
        f8,
        f8,
        f8,
        f8,
        SHARES,
        array(f8, 2),
        array(f8, 2),
    ),
)
SPREAD_PAIRS = Kernel(
    spread_pairs,
    lambda real: types.void(
        rows(real),
        given(real, 3),
        pairs_type(real, given),
        given(i8),
        i8,
        flag,
        f8,
        f8,
        f8,
        given(i8),
        SHARES,
        array(f8),
    ),
)
OPEN_PAIRS = Kernel(
    open_pairs,
    lambda real: types.void(
        given(i8), given(i8), pairs_type(real, given), given(i8), i8, f8, SHARES, array(f8)
    ),
)
GATHER = Kernel(
    gather,
    lambda real: types.void(
        given(i8), pairs_type(real, given), i8, array(real, 3), array(types.int32, 2)
    ),
)
PACK = Kernel(pack, lambda real: types.void(pairs_type(real, given), pairs_type(real)))
