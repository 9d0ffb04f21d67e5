"""Learning under an informed prior, for two classes and for many, each against the rest.

`informed_prior` has the formulas.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    PRIOR,
    STEP_RULE,
    Examples,
    ModelArrays,
    Prior,
    Rows,
    StepRule,
    examples,
    i8,
    model_arrays,
)
from sureline.kernels.calibration import (
    PRIOR_VARIANCE,
    SCALED,
    extent_of,
    follow,
    follow_thinned,
    gap_of,
    is_learned,
    knows,
    next_salt,
    salt_of,
    span_of,
    unknown_share,
    without_unknown,
)
from sureline.kernels.class_counts import count_row, uncount_row
from sureline.kernels.compiling import Kernel
from sureline.kernels.diagonal import HUGE, TINY, shared, sign_of
from sureline.kernels.informed_prior import (
    REST_BUFFERS,
    TWO_BUFFERS,
    RestBuffers,
    TwoBuffers,
    fetch_row,
    gain_all,
    gain_two,
    gather_two,
    moments_two,
    share_tokens,
    tile_shares,
    weigh_all,
)
from sureline.kernels.noise import row_constant
from sureline.kernels.one_vs_rest import FEW, beaten
from sureline.kernels.positions import entry_at, next_row, row_at


@register_jitable
def moved(
    M: float, S: float, g: float, x: float, pull: float, gain: float, floor: float
) -> tuple[float, float]:
    """M' and S' of a weight after a row; `pull` and `gain` are the rule's step over v."""
    d = 1.0 / (1.0 + gain * (S * x * x))
    return (M + pull * (S * x)) * (g + (1.0 - g) * d), max(S * d, floor)


@register_jitable
def move_all(
    means: Any, spreads: Any, gains: Any, x: float, pull: Any, gain: Any, floor: float
) -> None:
    """Learn one feature of a row, for every class; `pull` and `gain` are over v."""
    for column in range(pull.size):
        M, S = np.float64(means[column]), np.float64(spreads[column])
        means[column], spreads[column] = moved(
            M, S, gains[column], x, pull[column], gain[column], floor
        )


@register_jitable
def follow_two(
    m: float,
    intercept: float,
    extent: tuple[float, float, float],
    code: int,
    row: tuple[int, int],
    indices: Any,
    model: ModelArrays,
    buffers: TwoBuffers,
) -> None:
    """Let the calibrator learn from a row of two classes with the score m, and a thinned copy.

    `extent` is what `moments_two` has counted.
    """
    start, stop = row
    means, spreads, values = buffers.row[0], buffers.row[1], buffers.row[2]
    gains, scores, calibrator = buffers.row[5], buffers.scores, model.calibrator
    prior, scaled = calibrator[PRIOR_VARIANCE], calibrator[SCALED]
    known, part, every = extent
    m = without_unknown(m, intercept, part, scaled)
    scores[0, 0], scores[0, 1] = -m, m
    follow(scores[0], code, known, unknown_share(part, every), model, scores[1:])
    if scaled == 0.0:
        return
    salt = salt_of(start, stop, indices)
    span = span_of(salt)
    kept = kept_part = evidence = 0.0
    u = gap_of(salt, span) - 1
    while u < stop - start:
        if is_learned(gains[u] * spreads[u], prior):
            kept += 1.0
            kept_part += values[u] * values[u]
            evidence += gains[u] * means[u] * values[u]
        salt = next_salt(salt)
        u += gap_of(salt, span)
    m = without_unknown(intercept + evidence, intercept, kept_part, scaled)
    scores[0, 0], scores[0, 1] = -m, m
    follow_thinned(scores[0], code, kept, model, scores[1:])


@register_jitable
def follow_rest(
    code: int,
    row: tuple[int, int],
    rows: Rows,
    model: ModelArrays,
    known: int,
    constant: float,
    informed: bool,
    buffers: RestBuffers,
) -> None:
    """The same for many classes, whose scores are in line 0 of the buffers' numbers."""
    start, stop = row
    indices, data, table, calibrator = rows.indices, rows.data, model.table, model.calibrator
    scaled = calibrator[SCALED]
    scores, adjusted, parts = buffers.numbers[0], buffers.parts[4, :known], buffers.parts[:4]
    thinned = buffers.parts[5, :known]
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
    for column in range(known):
        intercept = constant * np.float64(table[0, 0, column])
        adjusted[column] = without_unknown(scores[column], intercept, part, scaled)
        thinned[column] = without_unknown(intercept + thinned[column], intercept, kept_part, scaled)
    follow(adjusted, code, found, unknown_share(part, every), model, parts)
    follow_thinned(thinned, code, kept, model, parts)


def learn_two(
    examples: Examples, model: ModelArrays, rule: StepRule, prior: Prior, buffers: TwoBuffers
) -> int:
    """Learn two classes, which share a column; return the row that overflowed, or -1.

    With an informed prior, rows are counted after they are learned; those that have been counted
    before are taken out first. A calibrator learns from every row before the model does.
    """
    indptr, indices, data = examples.rows.indptr, examples.rows.indices, examples.rows.data
    order, table, constant = examples.order, model.table, rule.constant
    counts, tokens, row = model.class_counts, model.class_tokens, buffers.row
    means, spreads, values, gains = row[0], row[1], row[2], row[5]
    informed, calibrated, floor = prior.informed, model.calibrator.size > 0, rule.floor
    variance = 1.0 / prior.inverse
    for at in range(order.size):
        i = order[at]
        code, c = examples.codes[i], examples.weight[i]
        start, stop = row_at(indptr, i)
        length = stop - start
        ahead, end = next_row(at, order, indptr)
        if informed and not prior.counting:
            uncount_row(start, stop, indices, counts, tokens, code)
        gather_two(start, stop, indices, data, table, counts, informed, ahead, end, row)
        if informed:
            share_tokens(tokens[:2], buffers.shares)
            gain_two(length, row, buffers.shares, prior.inverse)
        m, v, known, part, every = moments_two(length, row, table, constant, variance)
        if not math.isfinite(m + v):
            return int(i)
        if calibrated:
            intercept = constant * np.float64(table[0, 0, 0])
            extent = known, part, every
            follow_two(m, intercept, extent, code, (start, stop), indices, model, buffers)
        y = sign_of(code)
        m *= y
        if m <= 0.0:
            model.counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m)
        t, E = 0.0, 0.0
        if v > TINY:
            t, E = rule.step(m, v, 1.0 if rule.share else c, a, rule.b)
        if t != 0.0 or E != 0.0:
            model.counters[0] += 1
            E = min(E, HUGE)
            if rule.share and c != 1.0:
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
            count_row(start, stop, indices, counts, tokens, code)
    return -1


def learn_rest(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    prior: Prior,
    known: int,
    buffers: RestBuffers,
) -> int:
    """As `learn_two` for many classes, each against the rest."""
    indptr, indices, data = examples.rows.indptr, examples.rows.indices, examples.rows.data
    order, table, constant, floor = examples.order, model.table, rule.constant, rule.floor
    counts, tokens, numbers = model.class_counts, model.class_tokens, buffers.numbers
    informed, calibrated = prior.informed, model.calibrator.size > 0
    for at in range(order.size):
        i = order[at]
        start, stop = row_at(indptr, i)
        ahead, end = next_row(at, order, indptr)
        fetch_row(ahead, end, indices, model, informed)
        code, seen, blend = examples.codes[i], examples.weight[i], 1.0
        if rule.share:
            seen, blend = 1.0, seen
        new = code >= known
        known = max(known, code + 1)
        if informed and not prior.counting:
            uncount_row(start, stop, indices, counts, tokens, code)
        if known < 2:  # no rival yet
            if calibrated:
                model.outcomes[0, code] += 1.0
            if informed:
                count_row(start, stop, indices, counts, tokens, code)
            continue
        scores, spreads = numbers[0, :known], numbers[1, :known]
        pull, gain = numbers[2, :known], numbers[3, :known]
        if informed:
            tile_shares(tokens[:known], buffers.tiles, False)
            gain_all(start, stop, indices, model, known, prior.inverse, buffers)
        for column in range(known):
            scores[column] = constant * np.float64(table[0, 0, column])
            spreads[column] = constant * np.float64(table[0, 1, column])
        for k in range(start, stop):
            j, x = entry_at(indices, k), np.float64(data[k])
            gains = buffers.gains[(k - start) * known :]
            weigh_all(table[j, 0], gains, x, scores)
            weigh_all(table[j, 1], gains, x * x, spreads)
        if new or beaten(scores, code):
            model.counters[1] += 1
        if calibrated:
            follow_rest(
                code, (start, stop), examples.rows, model, known, constant, informed, buffers
            )
        a = row_constant(rule.a, model.noise_sums, scores[code])
        updates = 0
        for column in range(known):
            sign = 1.0 if column == code else -1.0
            m, v = sign * scores[column], spreads[column]
            if not math.isfinite(m + v):
                return int(i)
            pull[column] = gain[column] = 0.0
            if v > TINY:
                t, E = rule.step(m, v, seen, a, rule.b)
                if t != 0.0 or E != 0.0:
                    E = min(E, HUGE)
                    if blend != 1.0:
                        t, E = shared(t, E, blend)
                    pull[column], gain[column] = sign * t / v, min(E / v, HUGE)
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
            few = FEW * updates < known
            for k in range(start, stop):
                j, x = entry_at(indices, k), np.float64(data[k])
                gains = buffers.gains[(k - start) * known :]
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
            count_row(start, stop, indices, counts, tokens, code)
    return -1


LEARN_TWO = Kernel(
    learn_two,
    lambda real: i8(examples(real), model_arrays(real), STEP_RULE, PRIOR, TWO_BUFFERS),
)
LEARN_REST = Kernel(
    learn_rest,
    lambda real: i8(examples(real), model_arrays(real), STEP_RULE, PRIOR, i8, REST_BUFFERS),
)
