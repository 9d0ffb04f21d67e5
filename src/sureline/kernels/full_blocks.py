"""Learning a block of rows with full covariances, given products of the block with each Σ.

A rule sees of a row no more than its margin m and its variance v = xᵀΣx. So a block of b rows can
be learned in matrices of b rows: with P = XΣ, G = PXᵀ and the scores XΣ at the start, a step that
moves μ by a Σx and takes β Σx(Σx)ᵀ from Σ changes the scores of the rows after it by a G_ij, and
the products among them by -β G_ij G_ik. That is the elimination of Gauss, with β in place of the
inverse of the pivot, and it leaves in G what is needed to apply all steps to μ and Σ at once. It is
the algorithm of `full`, not an approximation.

Of several classes, each has products with those rows alone that are expected to move it. The loop
stops before a row that moves another one, and goes on when its products are there. A row that
cannot be decided on in this block begins the next one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.arguments import (
    STEP_RULE,
    Examples,
    ModelArrays,
    Row,
    StepRule,
    array,
    examples,
    f8,
    flag,
    given,
    i8,
)
from sureline.kernels.calibration import PRIOR_VARIANCE, is_learned
from sureline.kernels.class_columns import rank_rivals
from sureline.kernels.compiling import Kernel
from sureline.kernels.custom_rule import row_of
from sureline.kernels.diagonal import HUGE, TINY, shared, sign_of
from sureline.kernels.full import EPSILON, FULL_ARRAYS, follow_known
from sureline.kernels.noise import row_constant
from sureline.kernels.one_vs_rest import beaten

# A row of which less than this share of its v is left has lost digits: it begins the next block.
LEAST_LEFT = 1e-4
UNCERTAIN = -2.0  # in place of the v of a row that must begin the next block


class Block(NamedTuple):
    """A block of b rows and what is known of it; loops write what they do into the last fields.

    `scores` has a column per class, and one more row than the block: that of the constant feature
    alone. `places` has, for each class and row, the place of their product, or -1, and `members`
    the row of each place. For each place, `gram` has a row of G, with one more column for the
    constant feature, `first` its v and `norms` |Σx|² at the start. For each class, `diagonals` has
    the variances at the start, and `traces` their sum.

    `fresh` is, for each feature, its number among those of the block that no class has learned
    anything of, or -1; `fresh_pulls` and `fresh_variances` follow Σx and Σ there, for calibrators.

    `pulls` and `losses` are a and β of the steps. `done` is how many rows were learned, and 1 if
    the next one waits for products.
    """

    scores: Any
    gram: Any
    first: Any
    norms: Any
    diagonals: Any
    traces: Any
    members: Any
    places: Any
    fresh: Any
    fresh_pulls: Any
    fresh_variances: Any
    pulls: Any
    losses: Any
    done: Any


@register_jitable
def pass_on(block: Block, k: int, p: int) -> None:
    """Let the rows after the one at place p see what its step changed of class k."""
    gram, places = block.gram, block.places[k]
    i, here, count = block.members[p], gram[p], gram.shape[1]
    a, loss = block.pulls[p], block.losses[p]
    for j in range(i + 1, count):
        block.scores[j, k] += a * here[j]
    if loss == 0.0:
        return
    fresh = block.fresh_pulls[p]
    for u in range(fresh.size):
        block.fresh_variances[k, u] -= loss * fresh[u] * fresh[u]
    for row in range(i + 1, places.size):
        q = places[row]
        factor = loss * here[row] if q >= 0 else 0.0
        if factor != 0.0:
            later = gram[q]
            for j in range(row, count):
                later[j] -= factor * here[j]
            for u in range(fresh.size):
                block.fresh_pulls[q, u] -= factor * fresh[u]


@register_jitable
def variance_at(block: Block, k: int, p: int, row: Row, scale_free: bool) -> float:
    """The v of the row at place p, -1 where no Σ has it, or `UNCERTAIN`: the block ends before it.

    As `full.at_least`, which needs Σx, and that is known at the start of a block alone. Later rows
    need it only where v may be in doubt.
    """
    i = block.members[p]
    v, first, norm = block.gram[p, i], block.first[p], block.norms[p]
    if i > 0:
        certain = LEAST_LEFT * first <= v < math.inf and first * block.traces[k] >= norm
        return float(v) if certain else UNCERTAIN
    if not math.isfinite(v):
        return math.inf
    diagonal, least = block.diagonals[k], norm / block.traces[k]
    if v >= least:
        return float(v)
    reach = row.constant * math.sqrt(max(diagonal[0], 0.0))
    for e in range(row.start, row.stop):
        j = row.indices[e] + 1
        reach += abs(np.float64(row.data[e])) * math.sqrt(max(diagonal[j], 0.0))
    wrong = not scale_free and v < least - EPSILON * diagonal.size * reach * reach
    return -1.0 if wrong else float(least)


@register_jitable
def follow_block(
    block: Block, row: Row, model: ModelArrays, code: int, known: int, parts: Any
) -> None:
    """As `full.follow_full`."""
    found = part = every = 0.0
    for e in range(row.start, row.stop):
        u, square = block.fresh[row.indices[e] + 1], np.float64(row.data[e]) ** 2
        learned = u < 0
        for k in range(block.fresh_variances.shape[0] if u >= 0 else 0):
            variance = block.fresh_variances[k, u]
            learned = learned or is_learned(variance, model.calibrator[PRIOR_VARIANCE])
        every += square
        if learned:
            found += 1.0
            part += square
    intercepts = block.scores[block.scores.shape[0] - 1]
    follow_known(row, model, code, known, intercepts, (found, part, every), parts)


@register_jitable
def add_step(block: Block, p: int, pull: float, E: float, v: float, left: float) -> float:
    """Add a step of the row at place p: μ moves by `pull` Σx, and Σ gains the precision E along x.

    Earlier steps of the same row have left the share `left` of Σx; return what this one leaves.
    """
    block.pulls[p] += pull * left
    if v <= TINY:
        return left
    block.losses[p] += E / (1.0 + E) / v * left * left
    return left / (1.0 + E)


def steps_of_two(
    examples: Examples, model: ModelArrays, rule: StepRule, scale_free: bool, block: Block
) -> int:
    """The steps of a block of two classes; return the row that overflowed, -1, or -2 less the row.

    The block ends after `block.done` rows. Nothing but the block and counts has changed.
    """
    share, order, parts = rule.share, examples.order, np.empty((5, 2))
    for at in range(order.size):
        i = order[at]
        row = row_of(examples.rows, i, rule.constant)
        y, c = sign_of(examples.codes[i]), examples.weight[i]
        m, v = block.scores[at, 0], variance_at(block, 0, at, row, scale_free)
        if v == UNCERTAIN or (at > 0 and not math.isfinite(m)):
            return -1
        if not math.isfinite(m + v):
            return int(i)
        if model.calibrator.size:
            parts[4, 0] = m
            follow_block(block, row, model, examples.codes[i], 1, parts)
        m *= y
        if m <= 0.0:
            model.counters[1] += 1
        a = row_constant(rule.a, model.noise_sums, m)
        if v < 0.0:
            return -2 - int(i)
        block.done[0] = at + 1
        if v <= TINY:
            continue
        t, E = rule.step(m, v, 1.0 if share else c, a, rule.b)
        if t == 0.0 and E == 0.0:
            continue
        model.counters[0] += 1
        E = min(E, HUGE)
        if share and c != 1.0:
            t, E = shared(t, E, c)
        add_step(block, at, y * t / v, E, v, 1.0)
        pass_on(block, 0, at)
    return -1


@register_jitable
def variances_at(
    block: Block, at: int, columns: Any, row: Row, scale_free: bool, variances: Any
) -> float:
    """Write the v of a row for some classes; return the least, or `UNCERTAIN`."""
    least = math.inf
    for number in range(columns.size):
        k = columns[number]
        v = UNCERTAIN
        if at == 0 or math.isfinite(block.scores[at, k]):
            v = variance_at(block, k, block.places[k, at], row, scale_free)
        if v == UNCERTAIN:
            return UNCERTAIN
        variances[k] = v
        least = min(least, v)
    return least


def steps_of_rivals(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    scale_free: bool,
    known: int,
    competitors: int,
    block: Block,
) -> int:
    """As `steps_of_two` for many classes: of each row's class, and of its rivals in sequence.

    It begins after the rows that are done.
    """
    share, order, columns = rule.share, examples.order, block.scores.shape[1]
    left, variances, parts = np.empty(columns), np.empty(columns), np.empty((5, columns))
    strongest = np.empty(columns + 1, np.int64)
    block.done[1] = 0
    for at in range(block.done[0], order.size):
        i = order[at]
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            if model.calibrator.size:
                model.outcomes[0, y] += 1.0
            block.done[0] = at + 1
            continue
        scores = block.scores[at, :known]
        involved = strongest[: 1 + min(competitors, known - 1)]
        involved[0], rivals = y, involved[1:]
        rank_rivals(scores, examples.rank, y, rivals, left)
        for k in involved:
            if block.places[k, at] < 0:
                block.done[1] = 1
                return -1
        least = variances_at(block, at, involved, row, scale_free, variances)
        if least == UNCERTAIN:
            return -1
        if new or scores[y] <= scores[rivals[0]]:
            model.counters[1] += 1
        if model.calibrator.size:
            parts[4, :known] = scores
            follow_block(block, row, model, y, known, parts)
        a = row_constant(rule.a, model.noise_sums, scores[y] - scores[rivals[0]])
        if least < 0.0:
            return -2 - int(i)
        own, kept, changed = scores[y], 1.0, False
        for q in range(rivals.size):
            r = rivals[q]
            m, v_y, v_r = own - scores[r], variances[y], variances[r]
            v = v_y + v_r
            if not math.isfinite(m + v):
                return int(i)
            if v <= TINY:
                continue
            t, E = rule.step(m, v, 1.0 if share else c, a, rule.b)
            if t == 0.0 and E == 0.0:
                continue
            E = min(E, HUGE)
            if share and c != 1.0:
                t, E = shared(t, E, c)
            changed = True
            add_step(block, block.places[r, at], -t / v, E * (v_r / v), v_r, 1.0)
            pass_on(block, r, block.places[r, at])
            kept = add_step(block, block.places[y, at], t / v, E * (v_y / v), v_y, kept)
            own += t * (v_y / v)
            variances[y] = v_y / (1.0 + E * (v_y / v))
        block.done[0] = at + 1
        if changed:
            pass_on(block, y, block.places[y, at])
        model.counters[0] += int(changed)
    return -1


def steps_of_one_vs_rest(
    examples: Examples,
    model: ModelArrays,
    rule: StepRule,
    scale_free: bool,
    known: int,
    block: Block,
) -> int:
    """The same for many classes, each against the rest."""
    share, order, columns = rule.share, examples.order, block.scores.shape[1]
    variances, parts = np.empty(columns), np.empty((5, columns))
    every = np.arange(columns)
    for at in range(order.size):
        i = order[at]
        row = row_of(examples.rows, i, rule.constant)
        y, c = examples.codes[i], examples.weight[i]
        new = y >= known
        known = max(known, y + 1)
        if known < 2:
            if model.calibrator.size:
                model.outcomes[0, y] += 1.0
            block.done[0] = at + 1
            continue
        scores = block.scores[at, :known]
        least = variances_at(block, at, every[:known], row, scale_free, variances)
        if least == UNCERTAIN:
            return -1
        if new or beaten(scores, y):
            model.counters[1] += 1
        if model.calibrator.size:
            parts[4, :known] = scores
            follow_block(block, row, model, y, known, parts)
        a = row_constant(rule.a, model.noise_sums, scores[y])
        if least < 0.0:
            return -2 - int(i)
        changed = False
        for column in range(known):
            sign = 1.0 if column == y else -1.0
            m, v = sign * scores[column], variances[column]
            if not math.isfinite(m + v):
                return int(i)
            if v <= TINY:
                continue
            t, E = rule.step(m, v, 1.0 if share else c, a, rule.b)
            if t == 0.0 and E == 0.0:
                continue
            E = min(E, HUGE)
            if share and c != 1.0:
                t, E = shared(t, E, c)
            changed = True
            p = block.places[column, at]
            add_step(block, p, sign * t / v, E, v, 1.0)
            pass_on(block, column, p)
        block.done[0] = at + 1
        model.counters[0] += int(changed)
    return -1


BLOCK = types.NamedTuple(
    [
        array(f8, 2),
        array(f8, 2),
        array(f8),
        array(f8),
        given(f8, 2),
        given(f8),
        given(i8),
        given(i8, 2),
        given(i8),
        array(f8, 2),
        array(f8, 2),
        array(f8),
        array(f8),
        array(i8),
    ],
    Block,
)
STEPS_OF_TWO = Kernel(
    steps_of_two,
    lambda real: i8(examples(real), FULL_ARRAYS, STEP_RULE, flag, BLOCK),
    allocates=True,
)
STEPS_OF_RIVALS = Kernel(
    steps_of_rivals,
    lambda real: i8(examples(real), FULL_ARRAYS, STEP_RULE, flag, i8, i8, BLOCK),
    allocates=True,
)
STEPS_OF_ONE_VS_REST = Kernel(
    steps_of_one_vs_rest,
    lambda real: i8(examples(real), FULL_ARRAYS, STEP_RULE, flag, i8, BLOCK),
    allocates=True,
)
