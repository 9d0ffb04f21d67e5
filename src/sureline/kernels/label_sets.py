"""Learning rows that have any number of labels: each label against the rest, from one pass.

Every label is a two-class problem of its own, with the rows that have the label and all others. Its
column holds what `informed_update` keeps for two classes. The first column of all arrays is that of
no label: it counts all rows, so that rows without a label are those of the first column less those
with it.

`fits` has a line for each column: the numbers of a calibrator and, after them, the two sums from
which r is estimated (`noise`). The probability of a label is

    σ(g (a m + b) + (1 − g) log [π / (1 − π)]),    g = n / (n + τ),

with the symbols of `calibration`, and π the share of rows that have had the label. `outcomes`
counts the rows with the label (line 0) and, by intervals of the log-odds of the probability before
the row was learned, rows with it and then rows without it.
"""

from __future__ import annotations

from math import exp, isfinite, log
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    PRIOR,
    STEP_RULE,
    ModelArrays,
    Prior,
    Rows,
    StepRule,
    array,
    f8,
    given,
    i8,
    model_arrays,
    rows,
)
from sureline.kernels.calibration import (
    GROWTH,
    HALF,
    HEAVY,
    INTERVALS,
    LOG_A,
    LOG_TAU,
    SCALED,
    SIZE,
    WEIGHT,
    WINDOW,
    B,
    adjust,
    extent_of,
    gap_of,
    interval_of,
    knows,
    next_salt,
    salt_of,
    share_interval,
    span_of,
    unknown_share,
    without_unknown,
)
from sureline.kernels.class_counts import MOST
from sureline.kernels.compiling import Kernel
from sureline.kernels.diagonal import HUGE, TINY, shared
from sureline.kernels.informed_prior import (
    REST_BUFFERS,
    RestBuffers,
    fetch_row,
    gain_all,
    tile_shares,
    weigh_all,
)
from sureline.kernels.informed_update import moved
from sureline.kernels.noise import follow_error, noise_of
from sureline.kernels.one_vs_rest import FEW
from sureline.kernels.positions import entry_at, next_row, row_at

NOISE = SIZE  # where a line of `fits` has its two sums
FIT = SIZE + 2
GIVEN, FOLLOWED, FIXED = range(3)  # where the rule's first constant comes from
LINES = 1 + 2 * INTERVALS  # of `outcomes`
FIRST_FIT = (1.0, 0.0, 1.0)  # log a, b and log τ of a label


class LabelledRows(NamedTuple):
    """Rows with sets of labels, and the order in which to learn them.

    The columns of row i's labels are ``codes[starts[i]:starts[i + 1]]``, none twice. `weight` is
    how much each row counts, `before` how many rows were learned before these, for messages.
    """

    rows: Rows
    starts: Any
    codes: Any
    weight: Any
    order: Any
    before: int = 0


@register_jitable
def count_labels(
    start: int, stop: int, indices: Any, counts: Any, tokens: Any, codes: Any, more: int
) -> None:
    """Count a row for each of its labels and for the first column; or, with −1, take it out."""
    for place in range(-1, codes.size):
        column = 0 if place < 0 else codes[place]
        tokens[column] += more * (stop - start)
        for k in range(start - 1, stop):
            j = np.int64(0) if k < start else entry_at(indices, k)
            counts[j, column] = min(counts[j, column] + more, MOST)


def count_rows(examples: LabelledRows, counts: Any, tokens: Any) -> None:
    """Count rows by label, and learn nothing."""
    for i in examples.order:
        start, stop = row_at(examples.rows.indptr, i)
        codes = examples.codes[examples.starts[i] : examples.starts[i + 1]]
        count_labels(start, stop, examples.rows.indices, counts, tokens, codes, 1)


@register_jitable
def chance(m: float, known: float, fit: Any, having: float, total: float, parts: Any) -> float:
    """The probability of a label; `parts` gets what `calibration.adjust` needs of two classes."""
    a, b, tau = exp(fit[LOG_A]), fit[B], exp(fit[LOG_TAU])
    g = 1.0 if tau == 0.0 else known / (known + tau)
    prior = log((having + HALF) / (max(total - having, 0.0) + HALF)) if g < 1.0 else 0.0
    z = a * m + b
    odds = g * z + (1.0 - g) * prior
    e = exp(-abs(odds))
    p = (1.0 if odds > 0.0 else e) / (1.0 + e)
    parts[0, 1], parts[0, 0] = p, (e if odds > 0.0 else 1.0) / (1.0 + e)
    parts[1, 1], parts[2, 1], parts[3, 1] = g * a * m, g, g * (1.0 - g) * (prior - z)
    parts[1, 0] = parts[2, 0] = parts[3, 0] = 0.0
    return p


@register_jitable
def record(p: float, column: int, has: bool, model: ModelArrays) -> None:
    """Count what a row's probability of a label was, by whether it has the label."""
    line = interval_of(p) + (0 if has else INTERVALS)
    model.outcomes[line, column] += model.calibrator[WEIGHT]
    model.outcomes[line, 0] += model.calibrator[WEIGHT]


@register_jitable
def weigh_next(model: ModelArrays, unknown: float) -> None:
    """Count a row and the share of it that was unknown, and let the next one count for more."""
    calibrator, outcomes, novelty = model.calibrator, model.outcomes, model.novelty
    novelty[share_interval(unknown)] += calibrator[WEIGHT]
    outcomes[0, 0] += 1.0
    calibrator[WEIGHT] *= 1.0 + max(GROWTH / outcomes[0, 0], 1.0 / WINDOW)
    if calibrator[WEIGHT] > HEAVY:
        scale = 1.0 / calibrator[WEIGHT]
        for line in range(1, outcomes.shape[0]):
            for column in range(outcomes.shape[1]):
                outcomes[line, column] *= scale
        for line in range(novelty.size):
            novelty[line] *= scale
        calibrator[WEIGHT] = 1.0


@register_jitable
def follow_labels(
    row: tuple[int, int],
    rows: Rows,
    model: ModelArrays,
    fits: Any,
    signs: Any,
    constant: float,
    informed: bool,
    buffers: RestBuffers,
) -> None:
    """Let each label's calibrator learn from a row before the model does, and from a thinned copy.

    The scores are in line 0 of the buffers' numbers; `signs` is 1 for the labels of the row.
    """
    start, stop = row
    known = signs.size
    indices, data, table, outcomes = rows.indices, rows.data, model.table, model.outcomes
    scores, thinned, parts = buffers.numbers[0], buffers.parts[5, :known], buffers.parts[:4]
    scaled = model.calibrator[SCALED]
    found, part, every = extent_of(row, rows, model, known, informed)
    salt = salt_of(start, stop, indices)
    span = span_of(salt)
    kept = kept_part = 0.0
    thinned[:] = 0.0
    k = start + gap_of(salt, span) - 1 if scaled != 0.0 else stop
    while k < stop:
        j, x = entry_at(indices, k), np.float64(data[k])
        if knows(indices[k], model, known, informed):
            kept += 1.0
            kept_part += x * x
            weigh_all(table[j, 0], buffers.gains[(k - start) * known :], x, thinned)
        salt = next_salt(salt)
        k += gap_of(salt, span)
    total = outcomes[0, 0]
    for column in range(1, known):
        has, fit = signs[column] > 0.0, fits[column]
        intercept = constant * np.float64(table[0, 0, column])
        m = without_unknown(scores[column], intercept, part, scaled)
        p = chance(m, found, fit, outcomes[0, column], total, parts)
        adjust(1 if has else 0, 2, fit, parts)
        record(p, column, has, model)
        if kept > 0.0:
            m = without_unknown(intercept + thinned[column], intercept, kept_part, scaled)
            chance(m, kept, fit, outcomes[0, column], total, parts)
            adjust(1 if has else 0, 2, fit, parts)
        if has:
            outcomes[0, column] += 1.0
    weigh_next(model, unknown_share(part, every))


def learn_labels(
    examples: LabelledRows,
    model: ModelArrays,
    fits: Any,
    rule: StepRule,
    prior: Prior,
    known: int,
    adaptive: int,
    buffers: RestBuffers,
) -> int:
    """Learn rows with sets of labels; return the row that overflowed, or -1.

    Codes beyond the `known` columns bring new labels. The rule's first constant is given, or
    `adaptive`: each label's own, which rows change, or leave as it is (`FOLLOWED`, `FIXED`).
    """
    indptr, indices, data = examples.rows.indptr, examples.rows.indices, examples.rows.data
    order, table, constant, floor = examples.order, model.table, rule.constant, rule.floor
    counts, tokens, numbers = model.class_counts, model.class_tokens, buffers.numbers
    informed, calibrated = prior.informed, model.calibrator.size > 0
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(at, order, indptr)
        fetch_row(ahead, end, indices, model, informed)
        seen, blend = examples.weight[i], 1.0
        if rule.share:
            seen, blend = 1.0, seen
        codes = examples.codes[examples.starts[i] : examples.starts[i + 1]]
        before = known
        for code in codes:
            known = max(known, code + 1)
        if informed and not prior.counting:
            count_labels(start, stop, indices, counts, tokens, codes, -1)
        scores, spreads = numbers[0, :known], numbers[1, :known]
        pull, gain, signs = numbers[2, :known], numbers[3, :known], numbers[4, :known]
        signs[:] = -1.0
        for code in codes:
            signs[code] = 1.0
        if informed:
            tile_shares(tokens[:known], buffers.tiles, True)
            gain_all(start, stop, indices, model, known, prior.inverse, buffers)
        for column in range(known):
            scores[column] = constant * np.float64(table[0, 0, column])
            spreads[column] = constant * np.float64(table[0, 1, column])
        for k in range(start, stop):
            j, x = entry_at(indices, k), np.float64(data[k])
            gains = buffers.gains[(k - start) * known :]
            weigh_all(table[j, 0], gains, x, scores)
            weigh_all(table[j, 1], gains, x * x, spreads)
        wrong = known > before
        for column in range(1, known):
            if not isfinite(scores[column] + spreads[column]):
                return int(i)
            wrong = wrong or (scores[column] > 0.0) != (signs[column] > 0.0)
        model.counters[1] += int(wrong)
        if calibrated:
            follow_labels(
                (start, stop), examples.rows, model, fits, signs, constant, informed, buffers
            )
        updates = 0
        for column in range(1, known):
            m, v = signs[column] * scores[column], spreads[column]
            pull[column] = gain[column] = 0.0
            a = rule.a
            if adaptive == FOLLOWED:
                a = follow_error(fits[column, NOISE:], m)
            elif adaptive == FIXED:
                a = noise_of(fits[column, NOISE:])
            if v > TINY:
                t, E = rule.step(m, v, seen, a, rule.b)
                if t != 0.0 or E != 0.0:
                    E = min(E, HUGE)
                    if blend != 1.0:
                        t, E = shared(t, E, blend)
                    pull[column], gain[column] = signs[column] * t / v, min(E / v, HUGE)
                    buffers.columns[updates] = column
                    updates += 1
        if updates:
            model.counters[0] += 1
            moving = buffers.columns[:updates]
            checked = 0.0
            for column in moving:
                s = np.float64(table[0, 1, column])
                table[0, 0, column] += pull[column] * (s * constant)
                table[0, 1, column] = max(s / (1.0 + gain[column] * (s * constant)), floor)
                checked += table[0, 0, column]
            every = FEW * updates >= known
            for k in range(start, stop):
                j, x = entry_at(indices, k), np.float64(data[k])
                means, variances = table[j, 0], table[j, 1]
                gains = buffers.gains[(k - start) * known :]
                for place in range(1, known if every else updates + 1):
                    column = place if every else moving[place - 1]
                    M, S = np.float64(means[column]), np.float64(variances[column])
                    means[column], variances[column] = moved(
                        M, S, gains[column], x, pull[column], gain[column], floor
                    )
                for column in moving:
                    checked += table[j, 0, column]
            if not isfinite(checked):
                return int(i)
        if informed:
            count_labels(start, stop, indices, counts, tokens, codes, 1)
    return -1


def labelled_rows(real: Any) -> Any:
    """The type of `LabelledRows`."""
    return types.NamedTuple(
        [rows(real), given(i8), given(i8), given(f8), given(i8), i8], LabelledRows
    )


LEARN_LABELS = Kernel(
    learn_labels,
    lambda real: i8(
        labelled_rows(real),
        model_arrays(real),
        array(f8, 2),
        STEP_RULE,
        PRIOR,
        i8,
        i8,
        REST_BUFFERS,
    ),
)
COUNT_LABELS = Kernel(
    count_rows,
    lambda real: types.void(labelled_rows(real), array(types.int32, 2), array(i8)),
)
