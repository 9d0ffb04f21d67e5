"""Merging: one state from several that were trained apart.

A model with variances is a Gaussian over weights, with mean μ_c, covariance Σ_c, precision
P_c = Σ_c⁻¹ and the prior precision P₀ that all began with. Each counts w_c times, w_c being the
number of models that it was merged from itself; W = Σ w_c.

- ``kl``, the Gaussian nearest to all: P = Σ w_c P_c / W, μ = (Σ w_c P_c)⁻¹ Σ w_c P_c μ_c;
- ``product``, the product of all: P = Σ P_c, μ = P⁻¹ Σ P_c μ_c;
- ``product-prior``, the same with the prior counted once: P = Σ P_c − (n − 1) P₀;
- ``mean``, plain averages: μ = Σ w_c μ_c / W, Σ = Σ w_c Σ_c / W.

A feature or a class that a model has never met is there as it begins: μ = 0, P = P₀.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sureline.errors import InvalidParameter
from sureline.model.merge.counts import count_more, merge_curves
from sureline.model.state import Layout, State
from sureline.rules import OwnKernel, Rule

How = Literal["kl", "mean", "product", "product-prior"]
HOWS: tuple[How, ...] = ("kl", "mean", "product", "product-prior")

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
CHUNK = 2**18  # numbers worked on at a time


class Learning(Protocol):
    """What merging needs to know of a learner."""

    rule: Rule
    layout: Layout
    p: Floats


def check_how(learner: Learning, how: str, owner: str) -> None:
    """Refuse a way to merge that does not exist, or not for the learner's rule."""
    if how not in HOWS:
        raise InvalidParameter(f"{owner}: how must be {' or '.join(map(repr, HOWS))}, got {how!r}")
    rule = learner.rule
    if how != "mean" and (rule.kernel is not None or learner.layout.covariance == "identity"):
        raise InvalidParameter(
            f"{owner}: the rule {rule.name} keeps no variances, so that how={how!r} has nothing to "
            "weigh its models by; use how='mean'"
        )


def merge_states(
    learner: Learning,
    states: Sequence[State],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
    features: int,
    how: How,
    classes: Sequence[Indices] | None = None,
) -> State:
    """One state from several; those given are left alone.

    Parameters
    ----------
    learner : Learner
        What all the states were learned by.
    states : list of State
        At least one; all wide, or none.
    columns : list of arrays of int
        For each state, which column of the merged state each of its columns goes to, or, if fewer
        are given, its first ones.
    rows : list of arrays of int or None
        For each state, which feature of the merged state each of its features is; no two may be
        the same. None if the numbers are the same.
    features : int
        The number of features of the merged state.
    how : {"kl", "mean", "product", "product-prior"}
        What the merged state is; see the head of this file. Counts of rows always add up.
    classes : list of arrays of int, default=None
        For each state, which class of the merged state each of its counted classes is; None if
        that is its column.

    Returns
    -------
    State
        The merged state; it stands for as many models as all the states together.
    """
    check_how(learner, how, learner.rule.name)
    if len(states) == 1 and _same_places(states[0], columns[0], rows[0], features):
        return states[0].copy()
    wide = states[0].wide
    used = 1 + max((int(each.max()) for each in columns if each.size), default=0)
    merged = learner.layout.allocate(features, used, math.inf, "")
    merged.wide, merged.used = wide, used
    merged.clock = sum(state.clock for state in states)
    merged.counts = np.sum([state.counts for state in states], axis=0, dtype=np.int64)
    merged.merged = sum(state.merged for state in states)
    merged.curve = merge_curves([state.curve for state in states])
    merged.errors = np.sum([state.errors for state in states], axis=0)
    if learner.layout.covariance == "full":
        _merge_full(learner.layout, merged, states, columns, rows, how)
    else:
        way = choose_way(learner, merged, states, how)
        _merge_rows(way, merged, states, columns, rows)
    if learner.layout.counted:
        _add_counts(merged, states, columns if classes is None else classes, rows)
    return merged


def _add_counts(
    merged: State,
    states: Sequence[State],
    classes: Sequence[Indices],
    rows: Sequence[Indices | None],
) -> None:
    """Add up how many rows of each class have had each feature."""
    for state, places, numbers in zip(states, classes, rows, strict=True):
        have = min(state.features, merged.features) + 1
        where = np.arange(have) if numbers is None else table_rows(numbers)
        for k, place in enumerate(places):
            count_more(merged.tallies, (where, place), state.tallies[: where.size, k])
            merged.tokens[place] += state.tokens[k]


def _same_places(state: State, columns: Indices, rows: Indices | None, features: int) -> bool:
    """Whether every feature and column of the one state keeps its place."""
    return (
        features == state.features
        and np.array_equal(columns, np.arange(state.used))
        and (rows is None or np.array_equal(rows, np.arange(features)))
    )


# -- tables: every feature and column by itself ------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How the slots of one weight are merged: summed as `gather` gives them, then finished.

    ``gather(values, stamps, first, state)`` gives what a state's rows add to the sums;
    ``finish(sums, first)`` makes slots of them. The first row of `values` and `sums` is the
    constant feature's if `first` says so. `begun` is what a state adds that has never met a
    feature, and `shares` how often each state does.
    """

    gather: Callable[[Floats, NDArray[np.int64], bool, State], Floats]
    finish: Callable[[Floats, bool], Floats]
    begun: tuple[float, ...]
    shares: tuple[int, ...]


def choose_way(learner: Learning, merged: State, states: Sequence[State], how: How) -> Way:
    """How the weights of these states are merged into that of the merged one."""
    weighted = tuple(state.merged for state in states)
    total = float(sum(weighted))
    layout = learner.layout
    if learner.rule.kernel is not None:
        return _average_own(learner, learner.rule.kernel, merged, weighted)
    if layout.covariance == "identity":
        return _average_weights(layout, merged, weighted)
    if how == "mean":
        return Way(
            lambda values, _stamps, _first, state: state.merged * values,
            lambda sums, _first: sums / total,
            layout.initial,
            weighted,
        )
    prior = 1.0 / layout.initial[1]
    scale = total if how == "kl" else 1.0
    less = prior * (len(states) - 1) if how == "product-prior" else 0.0

    def gather(values: Floats, _stamps: Any, _first: bool, state: State) -> Floats:
        precision = (state.merged if how == "kl" else 1.0) / values[:, 1]
        return np.stack([precision * values[:, 0], precision], axis=1)

    def finish(sums: Floats, _first: bool) -> Floats:
        precision = sums[:, 1]
        if less:  # no model is less sure than it began, but rounding may say so
            precision = np.maximum(precision - less, prior)
        return np.stack([sums[:, 0] / precision, scale / precision], axis=1)

    return Way(gather, finish, (0.0, prior), _priors(states, how))


def _priors(states: Sequence[State], how: How) -> tuple[int, ...]:
    """How many priors each state holds: one a model that it stands for, or only one."""
    return tuple(1 if how == "product-prior" else state.merged for state in states)


def _average_weights(layout: Layout, merged: State, weighted: tuple[int, ...]) -> Way:
    """Weights without variances; the second slot gathers what an average is taken by.

    The average of all weight vectors is slot 0 less slot 1 over the clock. The merged one is the
    mean of the models' if slot 1 over the clock is the mean of theirs.
    """
    total = float(sum(weighted))

    def gather(values: Floats, _stamps: Any, _first: bool, state: State) -> Floats:
        clocks = np.array([1.0, max(1, state.clock)])[: values.shape[1], np.newaxis]
        return np.asarray(state.merged * values / clocks)

    def finish(sums: Floats, _first: bool) -> Floats:
        clocks = np.array([1.0, merged.clock])[: sums.shape[1], np.newaxis]
        return np.asarray(sums / total * clocks)

    return Way(gather, finish, layout.initial, weighted)


def _average_own(
    learner: Learning, kernel: OwnKernel, merged: State, weighted: tuple[int, ...]
) -> Way:
    """Slots of a rule with a kernel of its own, such that the weights are the mean of the weights.

    What is summed: the weights, the slots, and the slots without regard to how many models a state
    stands for. The rule takes the first row for the constant feature's, so it is given one.
    """
    total, slots = float(sum(weighted)), len(learner.layout.initial)

    def gather(values: Floats, stamps: Any, first: bool, state: State) -> Floats:
        rows = values if first else np.concatenate([values[:1], values])
        if kernel.stamps:
            stamps = stamps if first else np.concatenate([stamps[:1], stamps])
        weights = np.stack(
            [
                kernel.weights(
                    rows[:, :, k], stamps[:, k] if kernel.stamps else stamps, state.clock, learner.p
                )
                for k in range(values.shape[2])
            ],
            axis=1,
        )
        weights = weights[len(rows) - len(values) :, np.newaxis]
        return np.concatenate([state.merged * weights, state.merged * values, values], axis=1)

    def finish(sums: Floats, first: bool) -> Floats:
        rows = sums if first else np.concatenate([sums[:1], sums])
        weights, mean, summed = rows[:, 0] / total, rows[:, 1 : 1 + slots] / total, rows[:, -slots:]
        made = np.stack(
            [
                kernel.slots(weights[:, k], mean[:, :, k], summed[:, :, k], merged.clock, learner.p)
                for k in range(sums.shape[2])
            ],
            axis=2,
        )
        return np.asarray(made[len(rows) - len(sums) :])

    return Way(gather, finish, (0.0, *learner.layout.initial, *learner.layout.initial), weighted)


def _merge_rows(
    way: Way,
    merged: State,
    states: Sequence[State],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
) -> None:
    """Fill the merged table, some rows at a time, so that nothing larger is ever held."""
    size, _, used = merged.table.shape
    step = max(1, CHUNK // (len(way.begun) * used))
    begun = np.array(way.begun)[:, np.newaxis]
    placed = [_places(state, each, size, step) for state, each in zip(states, rows, strict=True)]
    every = np.arange(used)
    for start in range(0, size, step):
        stop = min(size, start + step)
        sums = np.zeros((stop - start, len(way.begun), used))
        absent = np.full((stop - start, 1, used), float(sum(way.shares)))
        for state, own, places, share in zip(states, columns, placed, way.shares, strict=True):
            here, there = next(places)
            k = own.size
            values = state.table[here, :, :k].astype(np.float64)
            if not values.size:
                continue
            stamps = state.stamps[here, :k] if state.stamps.size else np.zeros((1, k), np.int64)
            parts = way.gather(values, stamps, start == 0, state)
            if np.array_equal(own, every):
                sums[there] += parts
                absent[there] -= share
            elif isinstance(there, slice):
                sums[there, :, own] += parts
                absent[there, :, own] -= share
            else:
                slots = np.arange(len(way.begun))
                sums[np.ix_(there, slots, own)] += parts
                absent[np.ix_(there, slots[:1], own)] -= share
        merged.table[start:stop] = way.finish(sums + absent * begun, start == 0)
    if merged.stamps.size:
        merged.stamps[merged.table[:, 0] != 0.0] = merged.clock


def _places(
    state: State, rows: Indices | None, size: int, step: int
) -> Iterator[tuple[slice | Indices, slice | Indices]]:
    """For every `step` rows of the merged table: which of the state's go there, and where."""
    have = state.features + 1
    if rows is None:
        for start in range(0, size, step):
            stop = max(start, min(start + step, have, size))
            yield slice(start, stop), slice(0, stop - start)
        return
    target = table_rows(rows)
    order = np.argsort(target, kind="stable")
    target = target[order]
    for start in range(0, size, step):
        begin, end = np.searchsorted(target, [start, start + step])
        yield order[begin:end], target[begin:end] - start


def table_rows(features: Indices) -> Indices:
    """The rows of the table that belong to `features`, after the constant one's."""
    return np.concatenate([np.zeros(1, np.intp), 1 + np.asarray(features, np.intp)])


# -- full covariances --------------------------------------------------------------------------


def _merge_full(
    layout: Layout,
    merged: State,
    states: Sequence[State],
    columns: Sequence[Indices],
    rows: Sequence[Indices | None],
    how: How,
) -> None:
    """Fill the means and covariances of the merged state, a column at a time."""
    size, variance = merged.features + 1, layout.initial[1]
    shares = [state.merged if how in ("kl", "mean") else 1 for state in states]
    total, priors = float(sum(shares)), _priors(states, how)
    places = [
        np.arange(min(state.features + 1, size)) if each is None else table_rows(each)
        for state, each in zip(states, rows, strict=True)
    ]
    begun = variance if how == "mean" else 1.0 / variance
    for column in range(merged.used):
        matrix, vector, diagonal = (
            np.zeros((size, size)),
            np.zeros(size),
            np.full(size, float(sum(priors))),
        )
        for number, state in enumerate(states):
            for k in np.flatnonzero(columns[number] == column):
                own = places[number]
                spread = state.covariance[k, : own.size, : own.size].astype(np.float64)
                mean = state.table[: own.size, 0, k].astype(np.float64)
                if how != "mean":
                    spread = _inverse(spread, f"model {number + 1}")
                    mean = spread @ mean
                matrix[np.ix_(own, own)] += shares[number] * spread
                vector[own] += shares[number] * mean
                diagonal[own] -= priors[number]
        matrix[np.arange(size), np.arange(size)] += diagonal * begun
        if how == "mean":
            matrix, vector = matrix / total, vector / total
        else:
            if how == "product-prior":
                matrix[np.arange(size), np.arange(size)] -= (len(states) - 1) * begun
            matrix = _inverse(matrix, "the merged model")
            vector = matrix @ vector
            matrix *= total if how == "kl" else 1.0
        merged.table[:, 0, column], merged.covariance[column] = vector, matrix


def _inverse(matrix: Floats, owner: str) -> Floats:
    """The inverse of a positive definite matrix, symmetric to the last bit."""
    try:
        return invert(matrix)
    except (LinAlgError, ValueError):
        raise InvalidParameter(
            f"merge: the covariance of {owner} is no longer positive definite, so that it has no "
            "precision; use how='mean', or train with dtype='float64'"
        ) from None


def invert(matrix: Floats) -> Floats:
    """The same, or a LinAlgError; where the matrix is not finite, a ValueError."""
    inverse = cho_solve(cho_factor(matrix, lower=True), np.eye(len(matrix)))
    return np.asarray((inverse + inverse.T) / 2.0)
