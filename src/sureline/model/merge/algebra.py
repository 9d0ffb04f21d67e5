"""The merge algebra: every formula by which several models become one.

A model with variances is a Gaussian over weights, with mean μ_c, covariance Σ_c and precision
P_c = Σ_c⁻¹; P is the precision of the prior that all models began with.

**Models that were trained apart** (files, Spark). Each counts w_c times, the number of models that
it was merged from itself; W = Σ w_c.

- ``kl``, the Gaussian nearest to all: P' = Σ w_c P_c / W, μ' = (Σ w_c P_c)⁻¹ Σ w_c P_c μ_c;
- ``product``, the product of all: P' = Σ P_c, μ' = P'⁻¹ Σ P_c μ_c;
- ``product-prior``, the same with the prior counted once: P' = Σ P_c − (n − 1) P;
- ``mean``, plain averages: μ' = Σ w_c μ_c / W, Σ' = Σ w_c Σ_c / W.

A feature or a class that a model has never seen is there as it begins: μ = 0 and the prior.

**Shards** (threads), copies of one model μ₀, P₀ that each learned a part of the examples.

- Precisions add up: P' = P₀ + Σ (P_c − P₀).
- Moves are weighted by precision, the prior counted once, over the shards that moved a weight:
  μ' = μ₀ + (P + Σ (P_c − P))⁻¹ Σ P_c (μ_c − μ₀). So a weight that one shard alone has moved ends
  where that one has moved it, and a first round gives ``product-prior``.

Later rounds are where shards differ from the product: that would apply the moves of all shards one
after the other, whatever P₀ has become, and n shards that each correct the same mistake would
overshoot n times, further each round.

Rules without variances average the weights, or the moves of the shards that made one; sums that a
rule keeps, such as of squared gradients, add up, and so do clocks, counters and class counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sureline.errors import InvalidParameter
from sureline.kernels.class_counts import MOST
from sureline.model.learner import Learner
from sureline.model.scorer import custom_weights
from sureline.model.state import Layout, Places, State
from sureline.rules import OwnKernel

How = Literal["kl", "mean", "product", "product-prior"]
HOWS: tuple[How, ...] = ("kl", "mean", "product", "product-prior")

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
CHUNK = 2**18  # numbers worked on at a time


def check_how(learner: Learner, how: str, owner: str) -> None:
    """Refuse a way to merge that does not exist, or not for the learner's rule."""
    if how not in HOWS:
        raise InvalidParameter(f"{owner}: how must be {' or '.join(map(repr, HOWS))}, got {how!r}")
    rule = learner.rule
    if how != "mean" and (rule.kernel is not None or learner.layout.covariance == "identity"):
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} keeps no variances, so that how={how!r} has nothing to "
            "weight its models by; use how='mean'"
        )


# -- models that were trained apart ------------------------------------------------------------


@dataclass(frozen=True)
class WeightMerge:
    """How the slots of one weight are merged: summed over models, then finished.

    ``gather(values, last_changed, first, state)`` returns what a state's rows add to the sums;
    ``finish(sums, first)`` turns these into slots. With `first`, the first row of `values` and
    `sums` is the constant feature's. `initial` is what a state adds that has never seen a feature,
    and `shares` how many times each state does.
    """

    gather: Callable[[Floats, NDArray[np.int64], bool, State], Floats]
    finish: Callable[[Floats, bool], Floats]
    initial: tuple[float, ...]
    shares: tuple[int, ...]

    def gather_rows(self, state: State, rows: Places, columns: int, first: bool) -> Floats:
        """What some rows of a state's table and its first columns add to the sums."""
        values = state.table[rows, :, :columns].astype(np.float64)
        last_changed = np.zeros((1, columns), np.int64)
        if state.last_changed.size:
            last_changed = state.last_changed[rows, :columns]
        return self.gather(values, last_changed, first, state)


def choose_merge(learner: Learner, merged: State, states: Sequence[State], how: How) -> WeightMerge:
    """How the weights of these states are merged."""
    weighted = tuple(state.merged for state in states)
    total = float(sum(weighted))
    layout = learner.layout
    if learner.rule.kernel is not None:
        return _average_custom(learner, learner.rule.kernel, merged, weighted)
    if layout.covariance == "identity":
        return _average_weights(layout, merged, weighted)
    if how == "mean":
        return WeightMerge(
            lambda values, _last_changed, _first, state: state.merged * values,
            lambda sums, _first: sums / total,
            layout.initial,
            weighted,
        )
    prior = 1.0 / layout.initial[1]
    scale = total if how == "kl" else 1.0
    less = prior * (len(states) - 1) if how == "product-prior" else 0.0

    def gather(values: Floats, _last_changed: Any, _first: bool, state: State) -> Floats:
        precision = (state.merged if how == "kl" else 1.0) / values[:, 1]
        return np.stack([precision * values[:, 0], precision], axis=1)

    def finish(sums: Floats, _first: bool) -> Floats:
        precision = sums[:, 1]
        if less:  # rounding may make a model less certain than the prior
            precision = np.maximum(precision - less, prior)
        return np.stack([sums[:, 0] / precision, scale / precision], axis=1)

    return WeightMerge(gather, finish, (0.0, prior), count_priors(states, how))


def count_priors(states: Sequence[State], how: How) -> tuple[int, ...]:
    """How many priors each state contains: one per model that it stands for, or only one."""
    return tuple(1 if how == "product-prior" else state.merged for state in states)


def _average_weights(layout: Layout, merged: State, weighted: tuple[int, ...]) -> WeightMerge:
    """Weights without variances; the second slot gathers what an average is taken by.

    The average of all weight vectors is slot 0 less slot 1 over the clock. The merged one is the
    mean of the models' if slot 1 over the clock is the mean of theirs.
    """
    total = float(sum(weighted))

    def gather(values: Floats, _last_changed: Any, _first: bool, state: State) -> Floats:
        clocks = np.array([1.0, max(1, state.clock)])[: values.shape[1], np.newaxis]
        return np.asarray(state.merged * values / clocks)

    def finish(sums: Floats, _first: bool) -> Floats:
        clocks = np.array([1.0, merged.clock])[: sums.shape[1], np.newaxis]
        return np.asarray(sums / total * clocks)

    return WeightMerge(gather, finish, layout.initial, weighted)


def _average_custom(
    learner: Learner, kernel: OwnKernel, merged: State, weighted: tuple[int, ...]
) -> WeightMerge:
    """Slots of a custom rule, such that the merged weights are the mean of the weights.

    The sums: the weights, the slots, and the slots with every state counted once. The rule takes
    the first row for the constant feature's, so there is one.
    """
    total, slots = float(sum(weighted)), len(learner.layout.initial)

    def gather(values: Floats, last_changed: Any, first: bool, state: State) -> Floats:
        rows = values if first else np.concatenate([values[:1], values])
        if kernel.stamps and not first:
            last_changed = np.concatenate([last_changed[:1], last_changed])
        weights = custom_weights(kernel, rows, last_changed, state.clock, learner.p)
        weights = weights[len(rows) - len(values) :, np.newaxis]
        return np.concatenate([state.merged * weights, state.merged * values, values], axis=1)

    def finish(sums: Floats, first: bool) -> Floats:
        rows = sums if first else np.concatenate([sums[:1], sums])
        weights, mean, summed = rows[:, 0] / total, rows[:, 1 : 1 + slots] / total, rows[:, -slots:]
        made = _custom_slots(kernel, weights, mean, summed, merged.clock, learner.p)
        return np.asarray(made[len(rows) - len(sums) :])

    return WeightMerge(
        gather, finish, (0.0, *learner.layout.initial, *learner.layout.initial), weighted
    )


def _custom_slots(
    kernel: OwnKernel, weights: Floats, mean: Floats, total: Floats, clock: int, p: Floats
) -> Floats:
    """The slots of a custom rule that give these weights, from the mean and the total of slots."""
    columns = range(weights.shape[1])
    return np.stack(
        [kernel.slots(weights[:, k], mean[:, :, k], total[:, :, k], clock, p) for k in columns],
        axis=2,
    )


# -- shards ------------------------------------------------------------------------------------


def merge_averaged_shards(
    merged: State, shards: Sequence[State], rows: Indices, clock: int
) -> None:
    """Merge rows of slots w and u, such that T w − u is the sum of T weight vectors so far."""
    before = merged.table[rows].astype(np.float64)
    total = merged.clock * before[:, 0] - before[:, 1]
    sums, moves, count = total.copy(), np.zeros_like(total), np.zeros(total.shape)
    for shard in shards:
        values = shard.table[rows].astype(np.float64)
        sums += shard.clock * values[:, 0] - values[:, 1] - total
        moves += values[:, 0] - before[:, 0]
        count += (values != before).any(axis=1)
    weights = before[:, 0] + moves / np.maximum(count, 1.0)
    made = np.stack([weights, clock * weights - sums], axis=1)
    merged.table[rows] = np.where((count > 0)[:, np.newaxis], made, before)


def merge_custom_shards(
    kernel: OwnKernel,
    p: Floats,
    merged: State,
    shards: Sequence[State],
    rows: Indices,
    clock: int,
) -> None:
    """Merge a custom rule's rows: weights are the mean of those moved; kept sums add up."""
    first = rows if rows[0] == 0 else np.concatenate([[0], rows])  # the constant one comes first
    before = merged.table[first].astype(np.float64)
    sums, count = before.copy(), np.zeros((first.size, before.shape[2]))
    weights = np.zeros_like(count)
    for shard in shards:
        values = shard.table[first].astype(np.float64)
        last_changed = np.zeros((1, before.shape[2]), np.int64)
        if kernel.stamps:
            last_changed = shard.last_changed[first]
        changed = (values != before).any(axis=1)
        sums += values - before
        count += changed
        own = custom_weights(kernel, values, last_changed, shard.clock, p)
        weights += np.where(changed, own, 0.0)
    weights /= np.maximum(count, 1.0)
    made = _custom_slots(kernel, weights, sums, sums, clock, p)
    skipped = first.size - rows.size
    moved = count[skipped:] > 0
    made = np.where(moved[:, np.newaxis], made[skipped:], before[skipped:])
    merged.table[rows] = made
    if kernel.stamps:
        merged.last_changed[rows] = np.where(moved, clock, merged.last_changed[rows])


def merge_gaussian_shards(
    variance: float, before: Floats, spread: Floats, moved: list[tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """The mean and the covariance of several shards that began as `before` and `spread`.

    Where rounding has cost a matrix its inverse, or a shard has changed its scale, these are plain
    averages.
    """
    size, began = len(before), np.trace(spread)
    try:
        if any(np.trace(S) > began * (1.0 + 1e-6) for _, S in moved):
            raise LinAlgError
        start = invert(spread)
        total, summed, moves = start.copy(), np.eye(size) / variance, np.zeros(size)
        for m, S in moved:
            precision = invert(S)
            total += precision - start
            summed += precision - np.eye(size) / variance
            moves += precision @ (m - before)
        mean = before + cho_solve(cho_factor(summed, lower=True), moves)
        return mean, invert(total)
    except LinAlgError:
        return np.mean([m for m, _ in moved], axis=0), np.mean([S for _, S in moved], axis=0)


# -- class counts ------------------------------------------------------------------------------


def add_counts(class_counts: NDArray[np.int32], where: Any, more: Any) -> None:
    """Add to counts at some places, none of them twice, up to the largest count."""
    total = class_counts[where].astype(np.int64) + more
    class_counts[where] = np.minimum(total, MOST)


# -- matrices ----------------------------------------------------------------------------------


def precision_of(matrix: Floats, owner: str) -> Floats:
    """The inverse of a covariance, or an error that names its owner."""
    try:
        return invert(matrix)
    except (LinAlgError, ValueError):
        raise InvalidParameter(
            f"merge: the covariance of {owner} is no longer positive definite, so that it has no "
            "precision; use how='mean', or scale the features to about 1 and train again"
        ) from None


def invert(matrix: Floats) -> Floats:
    """The inverse of a positive definite matrix, symmetric to the last bit.

    Raises a LinAlgError, or a ValueError where the matrix is not finite.
    """
    inverse = cho_solve(cho_factor(matrix, lower=True), np.eye(len(matrix)))
    return np.asarray((inverse + inverse.T) / 2.0)
