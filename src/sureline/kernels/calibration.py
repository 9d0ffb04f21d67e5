"""Calibrated probabilities that know what a row leaves unknown, fitted while rows are learned.

The probability of class k is proportional to

    π_k^(1 − g) σ(a m_k + b)^g,    g = n / (n + τ),

with π_k the share of the class among the rows so far, m_k the score of the class from what is known
of the row, and n the number of its known features: those that learning has changed or, where
class counts inform the prior, that were counted. Of two
classes that share a score m, the first has −m. A row of which nothing is known has the class
frequencies, whatever the intercept is; one with many known features has σ(a m_k + b) over the sum
of the same for all classes. With b → −∞ that is a softmax of a m_k, with b → ∞ every class is as
likely as any other, and one that scores high takes nothing from the next. Where rows are scaled to
length 1, unknown features make the known ones smaller, so that m_k is the score of the row without
them.

log a, b and log τ follow the rows: the scores of a row before it is learned, and its label, move
them by one step of Newton's method on the log loss, with its expected second derivatives added to
the precision H. H decays, because the model that makes the scores changes. So that τ is learned
where all rows are long, too, a scaled row is followed by a thinned copy: a random part of its
features, chosen by a hash of the row, so that equal streams give equal models.

`outcomes` counts, by class, the rows (line 0) and how they came out: one line per interval of the
log-odds that the row's own class was given before the row was learned. `novelty` counts rows by the
share of them that was unknown. Later rows count for more, by the weight in the calibrator: the
t-th by t², and with a memory of `WINDOW` rows.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import ModelArrays, Rows, array, f8, given, i8, rows
from sureline.kernels.compiling import Kernel
from sureline.kernels.positions import entry_at, row_at

# The numbers of a calibrator: three that are learned, whether rows are scaled to length 1, the
# initial variance of weights, the size of the weights when a was last adjusted to it, what a row
# counts for, and the precision of the three: H11, H12, H13, H22, H23, H33.
LOG_A, B, LOG_TAU, SCALED, PRIOR_VARIANCE, SCALE, WEIGHT, H = range(8)
SIZE = H + 6
FIRST = (1.5, 0.5, 1.0)  # log a, b and log τ
FIRST_UNSCALED = -2.0  # log τ where rows are not scaled, and so not thinned
NEAR = 1e-6  # a feature is known if its variance differs from the initial one by this share
NO_TAU = -1000.0  # log τ where unknown features play no part: exp gives exactly 0

MEMORY = 2000.0  # after so many steps all but 1/e of a step has decayed
FIRM = 5.0  # the precision that each of the three begins with
STEP = 0.5  # the longest step
LOW, HIGH = -3.0, 6.0  # log a
WIDE = 6.0  # |b|
LEAST_TAU, MOST_TAU = -4.0, 6.0  # log τ
HALF = 0.5  # a row of each class is counted as half a row before the first

INTERVALS = 64
LEAST_CHANCE = 1e-100
FARTHEST = 16.0  # the log-odds that the first and the last interval end with
WINDOW = 10_000.0
GROWTH = 2.0  # the t-th row counts for about t to this power
HEAVY = 2.0**40  # what a row may count for before all counts are scaled down

FEWEST = 7.0  # a thinned copy keeps between 1/2 and 2^-7 of the features
MIX = np.uint64(0x9E3779B97F4A7C15)
SPREAD = np.uint64(0xD6E8FEB86659FD93)
FACTOR = np.uint64(0x5851F42D4C957F2D)
HALF_WORD = np.uint64(32)
WORD = 2.0**32


@register_jitable
def limited(value: float, low: float, high: float) -> float:
    """The nearest number within limits."""
    return min(max(value, low), high)


# -- what is known of a row ----------------------------------------------------------------------


@register_jitable
def is_learned(variance: float, prior: float) -> bool:
    """Whether anything was learned of a weight with this variance."""
    return abs(variance - prior) > NEAR * prior


@register_jitable
def is_known(variances: Any, columns: int, prior: float) -> bool:
    """Whether anything was learned of a feature, for any class."""
    column = 0
    while column < columns and not is_learned(np.float64(variances[column]), prior):
        column += 1
    return column < columns


@register_jitable
def unknown_share(part: float, every: float) -> float:
    """The share of a row that is unknown, of Σx² of the known features and of all; 1 if empty."""
    return 1.0 - part / every if every > 0.0 else 1.0


@register_jitable
def without_unknown(m: float, intercept: float, part: float, scaled: float) -> float:
    """The score of a row without its unknown features; `part` is Σx² of the known ones."""
    if scaled == 0.0 or part <= 0.0:
        return m
    return intercept + (m - intercept) / sqrt(part)


@register_jitable
def mixed(word: Any) -> Any:
    """A word whose high bits depend on all bits of this one."""
    word = (word ^ (word >> HALF_WORD)) * SPREAD
    return word ^ (word >> HALF_WORD)


@register_jitable
def salt_of(start: int, stop: int, indices: Any) -> Any:
    """A number for a row: what its thinned copy keeps depends on it."""
    word = np.uint64(stop - start) * MIX
    if stop > start:
        word ^= np.uint64(indices[start]) * SPREAD
        word ^= np.uint64(indices[stop - 1]) << HALF_WORD
    return mixed(word)


@register_jitable
def span_of(salt: Any) -> Any:
    """The number of gaps between features that a thinned copy keeps, 1 to span, to choose from.

    The mean gap, 2^u with u uniform in [1, 7], is how many times the copy is smaller than the row.
    """
    gap = 2.0 ** (1.0 + (FEWEST - 1.0) * (np.float64(salt >> HALF_WORD) / WORD))
    return np.uint64(2.0 * gap - 1.0)


@register_jitable
def gap_of(salt: Any, span: Any) -> int:
    """How far it is to the next feature that a thinned copy keeps."""
    gap: int = 1 + int(((salt >> HALF_WORD) * span) >> HALF_WORD)
    return gap


@register_jitable
def next_salt(salt: Any) -> Any:
    """The number after this one, for the next gap."""
    return salt * FACTOR + MIX


@register_jitable
def knows(feature: int, model: ModelArrays, columns: int, informed: bool) -> bool:
    """Whether the model knows a feature."""
    j = np.int64(feature) + 1
    if informed:
        return is_counted(model.class_counts[j], max(columns, 2))
    return is_known(model.table[j, 1], columns, model.calibrator[PRIOR_VARIANCE])


@register_jitable
def extent_of(
    row: tuple[int, int], rows: Rows, model: ModelArrays, columns: int, informed: bool
) -> tuple[float, float, float]:
    """How many features of a row are known, Σx² of these, and Σx² of all."""
    start, stop = row
    if informed:
        return count_row_counted(start, stop, rows, model.class_counts, max(columns, 2))
    prior = model.calibrator[PRIOR_VARIANCE]
    return count_row_known(start, stop, rows, model.table, 1, columns, prior)


# -- learning --------------------------------------------------------------------------------------


@register_jitable
def chances(scores: Any, known: float, calibrator: Any, frequencies: Any, parts: Any) -> float:
    """Write the probability of each class, and what their logarithms change by; return g.

    `parts` has four lines: the probabilities, and the derivatives by log a, b and log τ.
    """
    count = scores.size
    a, b, tau = exp(calibrator[LOG_A]), calibrator[B], exp(calibrator[LOG_TAU])
    g = 1.0 if tau == 0.0 else known / (known + tau)
    total = HALF * count
    for k in range(count):
        total += frequencies[k]
    best = -np.inf
    for k in range(count):
        z = a * scores[k] + b
        e = exp(-abs(z))
        inner = min(z, 0.0) - log1p(e)
        rest = g * ((e if z > 0.0 else 1.0) / (1.0 + e))
        prior = log((frequencies[k] + HALF) / total) if g < 1.0 else 0.0
        parts[0, k] = (1.0 - g) * prior + g * inner
        parts[1, k], parts[2, k] = a * scores[k] * rest, rest
        parts[3, k] = g * (1.0 - g) * (prior - inner)
        best = max(best, parts[0, k])
    total = 0.0
    for k in range(count):
        parts[0, k] = exp(parts[0, k] - best)
        total += parts[0, k]
    for k in range(count):
        parts[0, k] /= total
    return g


@register_jitable
def adjust(code: int, count: int, calibrator: Any, parts: Any) -> None:
    """Move the calibrator by what `chances` has written of a row of this class."""
    ma = mb = mt = aa = ab = at = bb = bt = tt = 0.0
    for k in range(count):
        p, by_a, by_b, by_t = parts[0, k], parts[1, k], parts[2, k], parts[3, k]
        ma += p * by_a
        mb += p * by_b
        mt += p * by_t
        aa += p * by_a * by_a
        ab += p * by_a * by_b
        at += p * by_a * by_t
        bb += p * by_b * by_b
        bt += p * by_b * by_t
        tt += p * by_t * by_t
    kept = 1.0 - 1.0 / MEMORY
    calibrator[H] = kept * calibrator[H] + (aa - ma * ma)
    calibrator[H + 1] = kept * calibrator[H + 1] + (ab - ma * mb)
    calibrator[H + 2] = kept * calibrator[H + 2] + (at - ma * mt)
    calibrator[H + 3] = kept * calibrator[H + 3] + (bb - mb * mb)
    calibrator[H + 4] = kept * calibrator[H + 4] + (bt - mb * mt)
    calibrator[H + 5] = kept * calibrator[H + 5] + (tt - mt * mt)
    h11, h12, h13 = calibrator[H] + FIRM, calibrator[H + 1], calibrator[H + 2]
    h22, h23, h33 = calibrator[H + 3] + FIRM, calibrator[H + 4], calibrator[H + 5] + FIRM
    to_a, to_b, to_t = parts[1, code] - ma, parts[2, code] - mb, parts[3, code] - mt
    # Cholesky: H = L Lᵀ, then L z = gradient and Lᵀ step = z.
    l11 = sqrt(h11)
    l21, l31 = h12 / l11, h13 / l11
    l22 = sqrt(h22 - l21 * l21)
    l32 = (h23 - l31 * l21) / l22
    l33 = sqrt(h33 - l31 * l31 - l32 * l32)
    z1 = to_a / l11
    z2 = (to_b - l21 * z1) / l22
    z3 = (to_t - l31 * z1 - l32 * z2) / l33
    step_t = z3 / l33
    step_b = (z2 - l32 * step_t) / l22
    step_a = (z1 - l21 * step_b - l31 * step_t) / l11
    a = calibrator[LOG_A] + limited(step_a, -STEP, STEP)
    b = calibrator[B] + limited(step_b, -STEP, STEP)
    calibrator[LOG_A], calibrator[B] = limited(a, LOW, HIGH), limited(b, -WIDE, WIDE)
    if calibrator[LOG_TAU] != NO_TAU:
        tau = calibrator[LOG_TAU] + limited(step_t, -STEP, STEP)
        calibrator[LOG_TAU] = limited(tau, LEAST_TAU, MOST_TAU)


@register_jitable
def interval_of(p: float) -> int:
    """The line of `outcomes` for a row whose class was given this probability."""
    odds = log(max(p, LEAST_CHANCE) / max(1.0 - p, LEAST_CHANCE))
    place = int((limited(odds, -FARTHEST, FARTHEST) + FARTHEST) / (2.0 * FARTHEST) * INTERVALS)
    return 1 + min(place, INTERVALS - 1)


@register_jitable
def share_interval(unknown: float) -> int:
    """The element of `novelty` for a row of which this share is unknown."""
    return min(int(limited(unknown, 0.0, 1.0) * INTERVALS), INTERVALS - 1)


@register_jitable
def record(p: float, unknown: float, code: int, model: ModelArrays) -> None:
    """Count a row: its class, the probability of that, and the share of it that was unknown."""
    calibrator, outcomes, novelty = model.calibrator, model.outcomes, model.novelty
    outcomes[interval_of(p), code] += calibrator[WEIGHT]
    novelty[share_interval(unknown)] += calibrator[WEIGHT]
    outcomes[0, code] += 1.0
    many = 0.0
    for k in range(outcomes.shape[1]):
        many += outcomes[0, k]
    calibrator[WEIGHT] *= 1.0 + max(GROWTH / many, 1.0 / WINDOW)
    if calibrator[WEIGHT] > HEAVY:
        scale = 1.0 / calibrator[WEIGHT]
        for line in range(1, outcomes.shape[0]):
            for k in range(outcomes.shape[1]):
                outcomes[line, k] *= scale
        for line in range(novelty.size):
            novelty[line] *= scale
        calibrator[WEIGHT] = 1.0


@register_jitable
def follow(
    scores: Any, code: int, known: float, unknown: float, model: ModelArrays, parts: Any
) -> None:
    """Learn from the scores of a row without its unknown features, and from its class.

    `known` is the number of known features, `unknown` the share of Σx² of the others; `parts` has
    four lines of an element per class.
    """
    chances(scores, known, model.calibrator, model.outcomes[0], parts)
    p = parts[0, code]
    adjust(code, scores.size, model.calibrator, parts)
    record(p, unknown, code, model)


@register_jitable
def follow_thinned(scores: Any, code: int, known: float, model: ModelArrays, parts: Any) -> None:
    """Learn from a thinned copy of a row; nothing is learned where it has no known feature."""
    if known > 0.0:
        chances(scores, known, model.calibrator, model.outcomes[0], parts)
        adjust(code, scores.size, model.calibrator, parts)


# -- predicting ------------------------------------------------------------------------------------


@register_jitable
def count_row_known(
    start: int, stop: int, rows: Rows, table: Any, slot: int, columns: int, prior: float
) -> tuple[float, float, float]:
    """How many features of a row are known, Σx² of these, and Σx² of all.

    The variances, or other numbers that learning changes from `prior`, are in this `slot`.
    """
    known = part = every = 0.0
    for k in range(start, stop):
        square = np.float64(rows.data[k]) * np.float64(rows.data[k])
        every += square
        if is_known(table[entry_at(rows.indices, k), slot], columns, prior):
            known += 1.0
            part += square
    return known, part, every


@register_jitable
def is_counted(counts: Any, columns: int) -> bool:
    """Whether any row of any class has had a feature; its opened variance is then another one."""
    column = 0
    while column < columns and counts[column] <= 0:
        column += 1
    return column < columns


@register_jitable
def count_row_counted(
    start: int, stop: int, rows: Rows, counts: Any, columns: int
) -> tuple[float, float, float]:
    """As `count_row_known` where class counts inform the prior."""
    known = part = every = 0.0
    for k in range(start, stop):
        square = np.float64(rows.data[k]) * np.float64(rows.data[k])
        every += square
        if is_counted(counts[entry_at(rows.indices, k)], columns):
            known += 1.0
            part += square
    return known, part, every


def count_known(rows: Rows, table: Any, slot: int, columns: int, prior: float, out: Any) -> None:
    """The same for every row."""
    for i in range(out.shape[0]):
        start, stop = row_at(rows.indptr, i)
        counted = count_row_known(start, stop, rows, table, slot, columns, prior)
        out[i, 0], out[i, 1], out[i, 2] = counted


def calibrate(
    scores: Any, known: Any, calibrator: Any, frequencies: Any, parts: Any, out: Any
) -> None:
    """The probability of each class, of every row, from scores without unknown features."""
    for i in range(scores.shape[0]):
        chances(scores[i], known[i], calibrator, frequencies, parts)
        for k in range(scores.shape[1]):
            out[i, k] = parts[0, k]


COUNT_KNOWN = Kernel(
    count_known,
    lambda real: types.void(rows(real), given(real, 3), i8, i8, f8, array(f8, 2)),
)
CALIBRATE = Kernel(
    calibrate,
    lambda _: types.void(given(f8, 2), given(f8), given(f8), given(f8), array(f8, 2), array(f8, 2)),
)
