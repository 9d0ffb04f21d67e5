"""A prior informed by class counts, with naive Bayes as the start: its formulas, and scores.

The counts give how much more often a feature occurs in class k than in all other classes, as a
logarithm,

    l = log [(α π_k + p) / (α (1 − π_k) + q)] − log [π_k / (1 − π_k)],

with p, q the rows of class k and of the others that have had the feature, π_k the share of class k
in all tokens, and α one row spread over the classes in proportion. The weight of the feature for
the class has the prior variance a s², s² = l² + β², where a is the rule's initial variance: naive
Bayes shows which weights may be large, the rule learns how large they are. A feature that is
equally frequent in all classes has s = β. One that has never been counted has s = 1.

The counts grow while the weights are learned, and the prior with them. So the table holds what
does not depend on the prior: the mean M and the variance S that the same evidence would give under
the prior variance a. The evidence adds 1/S − 1/a to the precision and M/S to precision times mean;
under the prior variance a s² these are a Gaussian with

    variance g S and mean g M,    g = s² / (s² + (S/a) (1 − s²)).

The rule sees m and v under the prior. Where it gains the precision c x² for a weight (the
projection KL), the evidence gains the same, whatever the prior:

    S' = S d,    M' = (M + step) (g + (1 − g) d),    d = 1 / (1 + c x² S).

A row is counted after it is learned, so that its label plays no part in its own prior. Where it has
been counted in an earlier pass, it is taken out of the counts while it is learned. To *open* an
entry of the table is to compute its mean and variance under the prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    ModelArrays,
    Rows,
    array,
    f8,
    flag,
    given,
    i8,
    model_arrays,
    rows,
)
from sureline.kernels.calibration import count_row_counted, is_learned
from sureline.kernels.compiling import Kernel
from sureline.kernels.logarithm import log_ratio
from sureline.kernels.positions import entry_at, row_at
from sureline.kernels.prefetch import prefetch, prefetch_row

SPREAD_ROWS = 1.0  # α
LEAST = 0.1  # β
LONG = 256  # so many numbers at a time are turned into g
AHEAD = 16  # so many rows ahead an entry is prefetched


@register_jitable
def share_tokens(tokens: Any, ground: Any, pooled: bool = False) -> None:
    """For each column: α π, α (1 − π), and −log [π / (1 − π)]; one column is the second class's.

    Where rows have several labels, the first column is `pooled`: it counts all rows.
    """
    total = np.float64(max(tokens.size, 2))
    if pooled:
        total = 2.0 + max(tokens[0], 0)
    else:
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
def prior_of(counts: Any, ground: Any, squares: Any, pooled: bool = False) -> None:
    """s² of one feature for each column; the first may be pooled, as in `share_tokens`."""
    if squares.size == 1:
        p, q = np.float64(max(counts[1], 0)), np.float64(max(counts[0], 0))
        squares[0] = square_of(p, q, ground, 0)
        return
    total = 0.0
    for column in range(squares.size):
        total += max(counts[column], 0)
    if pooled:
        total = np.float64(max(counts[0], 0))
    for column in range(squares.size):
        p = np.float64(max(counts[column], 0))
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
def fetch_row(start: int, stop: int, indices: Any, model: ModelArrays, informed: bool) -> None:
    """Prefetch the entries of a row that will be opened next."""
    prefetch_row(start, stop, indices, model.table)
    if informed:
        prefetch_row(start, stop, indices, model.class_counts)


class TwoBuffers(NamedTuple):
    """Memory for one row of two classes.

    `row` has six lines: means, variances, values, the counts of the second and of the first class,
    and g. `shares` is what `share_tokens` writes, `scores` what the calibrator works with.
    """

    row: Any
    shares: Any
    scores: Any


@register_jitable
def gather_two(
    start: int,
    stop: int,
    indices: Any,
    data: Any,
    table: Any,
    counts: Any,
    informed: bool,
    ahead: int,
    end: int,
    out: Any,
) -> None:
    """Copy what a row of two classes needs: M, S, values and, if `informed`, both counts.

    Meanwhile the entries of the row from `ahead` to `end`, the next one, are prefetched. Given
    NamedTuples, LLVM would not inline this, and scoring would take 27 % longer.
    """
    means, spreads, values, yes, no = out[0], out[1], out[2], out[3], out[4]
    length, left = stop - start, end - ahead
    for u in range(max(length, left)):
        if u < length:
            j = entry_at(indices, start + u)
            means[u], spreads[u], values[u] = table[j, 0, 0], table[j, 1, 0], data[start + u]
            if informed:
                yes[u], no[u] = max(counts[j, 1], 0), max(counts[j, 0], 0)
        if u < left:
            prefetch(table, entry_at(indices, ahead + u))
            if informed:
                prefetch(counts, entry_at(indices, ahead + u))


@register_jitable
def moments_two(
    length: int, row: Any, table: Any, constant: float, prior: float
) -> tuple[float, float, float, float, float]:
    """The mean and the variance of a row's score, from what `gather_two` has copied.

    And how many features are known, whose opened variance is not the initial one, `prior`, Σx² of
    these, and Σx² of all: one loop for all sums takes no longer than one for two of them.
    """
    means, spreads, values, gains = row[0], row[1], row[2], row[5]
    m = constant * np.float64(table[0, 0, 0])
    v = constant * np.float64(table[0, 1, 0])
    known = part = every = 0.0
    for u in range(length):
        m += gains[u] * means[u] * values[u]
        variance = gains[u] * spreads[u]
        v += variance * values[u] * values[u]
        square, learned = values[u] * values[u], 1.0 if is_learned(variance, prior) else 0.0
        known += learned
        part += learned * square
        every += square
    return m, v, known, part, every


@register_jitable
def gain_two(length: int, row: Any, ground: Any, inverse: float) -> None:
    """Write g of every feature of a row: the last line of `row`, from the lines before it."""
    spreads, yes, no, gains = row[1], row[3], row[4], row[5]
    for u in range(length):
        gains[u] = gain_of(square_of(yes[u], no[u], ground, 0), spreads[u], inverse)


@register_jitable
def at_a_time(known: int) -> int:
    """How many features' g are computed together: as many as make a long loop over classes."""
    return 1 + LONG // known


@register_jitable
def tile_shares(tokens: Any, tiles: Any, pooled: bool) -> None:
    """Write the shares of the classes for so many features as `gain_all` takes at a time."""
    known = tokens.size
    share_tokens(tokens, tiles[:, :known], pooled)
    for at in range(known, at_a_time(known) * known):
        for line in range(3):
            tiles[line, at] = tiles[line, at - known]


class RestBuffers(NamedTuple):
    """Memory for one row of many classes, each against the rest.

    `gains` has g of every feature and class, `tiles` the shares of classes for as many features as
    `gain_all` takes at a time, `copies` their counts and variances, `numbers` five and `columns`
    one element per class, `parts` what the calibrator works with. Where rows have several labels,
    the first column is `pooled`: it counts all rows.
    """

    gains: Any
    tiles: Any
    copies: Any
    numbers: Any
    parts: Any
    columns: Any
    pooled: bool


@register_jitable
def gain_all(
    start: int,
    stop: int,
    indices: Any,
    model: ModelArrays,
    known: int,
    inverse: float,
    buffers: RestBuffers,
) -> None:
    """Write g of every feature of a row for every class, class by class within a feature.

    A few features at a time are copied, so that one long loop serves them all. `tiles` and `copies`
    are whole arrays, as parts of their lines could not be processed many numbers at once.
    """
    table, counts, tiles = model.table, model.class_counts, buffers.tiles
    yes, no, spreads = buffers.copies[0], buffers.copies[1], buffers.copies[2]
    few = at_a_time(known)
    for begin in range(start, stop, few):
        size = 0
        for k in range(begin, min(begin + few, stop)):
            j = entry_at(indices, k)
            total = 0.0
            for column in range(known):
                p = np.float64(max(counts[j, column], 0))
                yes[size + column] = p
                total += p
            if buffers.pooled:
                total = yes[size]
            for column in range(known):
                no[size + column] = total - yes[size + column]
                spreads[size + column] = table[j, 1, column]
            size += known
        gains = buffers.gains[(begin - start) * known :]
        for at in range(size):
            gains[at] = gain_of(square_of(yes[at], no[at], tiles, at), spreads[at], inverse)


@register_jitable
def weigh_all(means: Any, gains: Any, x: float, scores: Any) -> None:
    """Add what a feature adds to something of every class."""
    for column in range(scores.size):
        scores[column] += gains[column] * np.float64(means[column]) * x


def two_buffers(longest: int, informed: bool = True) -> TwoBuffers:
    """Buffers for rows of at most `longest` nonzeros; without an informed prior, g stays 1."""
    row = np.empty((6, longest))
    if not informed:
        row[5] = 1.0
    return TwoBuffers(row, np.empty((3, 1)), np.empty((5, 2)))


def rest_buffers(
    longest: int, columns: int, informed: bool = True, pooled: bool = False
) -> RestBuffers:
    """The same for many classes."""
    gains, few = np.empty(longest * columns), (3, LONG + columns)
    if not informed:
        gains[:] = 1.0
    return RestBuffers(
        gains,
        np.empty(few),
        np.empty(few),
        np.empty((5, columns)),
        np.empty((6, columns)),
        np.empty(columns, np.int64),
        pooled,
    )


def score_two(
    rows: Rows,
    model: ModelArrays,
    inverse: float,
    constant: float,
    buffers: TwoBuffers,
    means: Any,
    variances: Any,
    prior: float,
    known: Any,
) -> None:
    """The mean of every row's score and, unless `variances` is empty, the variance.

    Unless `known` is empty, it gets what `moments_two` counts, for the initial variance `prior`.
    """
    row, indices, data = buffers.row, rows.indices, rows.data
    table, counts = model.table, model.class_counts
    spreading = variances.shape[0] > 0
    share_tokens(model.class_tokens, buffers.shares)
    for i in range(means.shape[0]):
        start, stop = row_at(rows.indptr, i)
        end = rows.indptr[i + 2] if i + 1 < means.shape[0] else stop
        gather_two(start, stop, indices, data, table, counts, True, stop, end, row)
        gain_two(stop - start, row, buffers.shares, inverse)
        found = moments_two(stop - start, row, table, constant, prior)
        means[i, 0], v = found[0], found[1]
        if spreading:
            variances[i, 0] = v
        if known.shape[0]:
            known[i, 0], known[i, 1], known[i, 2] = found[2], found[3], found[4]


def score_many(
    rows: Rows,
    model: ModelArrays,
    inverse: float,
    constant: float,
    buffers: RestBuffers,
    means: Any,
    variances: Any,
    prior: float,
    known: Any,
) -> None:
    """As `score_two` for many classes, each with a column of its own."""
    indptr, indices, data, table = rows.indptr, rows.indices, rows.data, model.table
    columns = means.shape[1]
    slots = 2 if variances.shape[0] > 0 else 1
    tile_shares(model.class_tokens, buffers.tiles, buffers.pooled)
    for i in range(means.shape[0]):
        start, stop = row_at(indptr, i)
        end = indptr[i + 2] if i + 1 < means.shape[0] else stop
        fetch_row(stop, end, indices, model, True)
        gain_all(start, stop, indices, model, columns, inverse, buffers)
        if known.shape[0]:
            counted = count_row_counted(start, stop, rows, model.class_counts, columns)
            known[i, 0], known[i, 1], known[i, 2] = counted
        for slot in range(slots):
            out = variances[i] if slot else means[i]
            for column in range(columns):
                out[column] = constant * np.float64(table[0, slot, column])
            for k in range(start, stop):
                x = np.float64(data[k])
                gains = buffers.gains[(k - start) * columns :]
                weigh_all(table[entry_at(indices, k), slot], gains, x * x if slot else x, out)


class OpenBuffers(NamedTuple):
    """Memory for a few entries of two classes, for the shares of classes, and for s².

    `pooled` is that of `RestBuffers`.
    """

    row: Any
    shares: Any
    squares: Any
    pooled: bool


def open_buffers(columns: int, pooled: bool = False) -> OpenBuffers:
    """Buffers for a table of so many columns."""
    return OpenBuffers(np.empty((6, LONG)), np.empty((3, columns)), np.empty(columns), pooled)


@register_jitable
def open_two(
    numbers: Any, model: ModelArrays, inverse: float, buffers: OpenBuffers, out: Any
) -> None:
    """As `open_entries` for two classes, which share a column, many entries at a time."""
    row, shares = buffers.row, buffers.shares
    means, spreads, yes, no, gains = row[0], row[1], row[3], row[4], row[5]
    table, counts = model.table, model.class_counts
    for begin in range(0, numbers.size, LONG):
        many = min(LONG, numbers.size - begin)
        for u in range(many):
            j = numbers[begin + u]
            means[u], spreads[u] = table[j, 0, 0], table[j, 1, 0]
            yes[u], no[u] = max(counts[j, 1], 0), max(counts[j, 0], 0)
            ahead = numbers[min(begin + u + AHEAD, numbers.size - 1)]
            prefetch(table, ahead)
            prefetch(counts, ahead)
        gain_two(many, row, shares, inverse)
        for u in range(many):
            g = gains[u] if numbers[begin + u] != 0 else 1.0
            out[begin + u, 0, 0], out[begin + u, 1, 0] = g * means[u], g * spreads[u]


def open_entries(
    numbers: Any, model: ModelArrays, inverse: float, buffers: OpenBuffers, out: Any
) -> None:
    """The means and variances of some rows of the table under their prior; row 0 has none."""
    table, counts, columns = model.table, model.class_counts, out.shape[2]
    shares, squares = buffers.shares, buffers.squares
    share_tokens(model.class_tokens, shares, buffers.pooled)
    if columns == 1 and not buffers.pooled:
        open_two(numbers, model, inverse, buffers, out)
        return
    for u in range(numbers.size):
        j = numbers[u]
        ahead = numbers[min(u + AHEAD, numbers.size - 1)]
        prefetch(table, ahead)
        prefetch(counts, ahead)
        if j == 0:
            for slot in range(2):
                for column in range(columns):
                    out[u, slot, column] = table[0, slot, column]
        else:
            prior_of(counts[j], shares, squares, buffers.pooled)
            open_entry(table[j], squares, inverse, out[u])


TWO_BUFFERS = types.NamedTuple([array(f8, 2), array(f8, 2), array(f8, 2)], TwoBuffers)
REST_BUFFERS = types.NamedTuple(
    [array(f8), array(f8, 2), array(f8, 2), array(f8, 2), array(f8, 2), array(i8), flag],
    RestBuffers,
)
OPEN_BUFFERS = types.NamedTuple([array(f8, 2), array(f8, 2), array(f8), flag], OpenBuffers)


def scored(real: Any, buffers: Any) -> Any:
    """The signature of loops that score rows."""
    model = model_arrays(real, kind=given)
    out = array(f8, 2)
    return types.void(rows(real), model, f8, f8, buffers, out, out, f8, out)


SCORE_TWO = Kernel(score_two, lambda real: scored(real, TWO_BUFFERS))
SCORE_MANY = Kernel(score_many, lambda real: scored(real, REST_BUFFERS))
OPEN_ENTRIES = Kernel(
    open_entries,
    lambda real: types.void(
        given(i8), model_arrays(real, kind=given), f8, OPEN_BUFFERS, array(f8, 3)
    ),
)
