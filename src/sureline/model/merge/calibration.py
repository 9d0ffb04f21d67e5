"""Merging what calibrated probabilities need: calibrators, outcomes, novelty and noise sums.

A calibrator has three numbers and their precision, so that several merge as Gaussians do. Outcomes
and novelty are counts of rows in which the latest rows count for most; in sums, the latest row of
every model counts for 1. `kernels.calibration` explains them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sureline.kernels.calibration import LOG_TAU, NO_TAU, SCALE, SIZE, WEIGHT, H
from sureline.model.merge.algebra import Floats, Indices
from sureline.model.state import State, symmetric

LEAST = 1e-9  # the least precision, so that untrained calibrators merge to their mean
UPPER = np.triu_indices(3)
PRECISIONS, SUMS = 6, 9  # of a calibrator
NOISE = 2


def merge_calibration(merged: State, states: Sequence[State], classes: Sequence[Indices]) -> None:
    """Set the calibration of a merged state; `classes` are the places of each state's classes."""
    merged.noise_sums = np.sum([state.noise_sums for state in states], axis=0)
    merged.calibrator = _merge_calibrators([state.calibrator for state in states])
    if merged.layout.multilabel:
        _merge_fits(merged, states, classes)
    for state, places in zip(states, classes, strict=True):
        merged.outcomes[:, places] += _in_rows(state)[:, : len(places)]
        merged.novelty += state.novelty / state.calibrator[WEIGHT]


def merge_shard_calibration(state: State, shards: Sequence[State]) -> None:
    """Let a state have what copies of it have learned apart, and the copies have it all."""
    state.noise_sums[:] += sum(each.noise_sums - state.noise_sums for each in shards)
    moved = [each for each in shards if _has_moved(state, each)]
    if moved:
        rows = state.outcomes[0] + sum(each.outcomes[0] - state.outcomes[0] for each in moved)
        state.outcomes[:] = sum(_in_rows(each) for each in moved)
        state.outcomes[0] = rows
        state.novelty[:] = sum(each.novelty / each.calibrator[WEIGHT] for each in moved)
        state.calibrator[:] = _merge_calibrators([each.calibrator for each in moved])
        for label in range(len(state.fits)):
            fits = [each.fits[label] for each in moved]
            state.fits[label, :SIZE] = _merge_calibrators([each[:SIZE] for each in fits])
            state.fits[label, SIZE:] += sum(each[SIZE:] - state.fits[label, SIZE:] for each in fits)
    for each in shards:
        each.fits[:] = state.fits
        each.calibrator[:], each.noise_sums[:] = state.calibrator, state.noise_sums
        each.outcomes[:], each.novelty[:] = state.outcomes, state.novelty


# -- as sums of what models add to the one that all started from -------------------------------


def calibration_since(start: State, state: State) -> Floats:
    """What a model adds to sums: of noise and, if it changed, of calibrator, novelty, outcomes."""
    sums = np.zeros(calibration_size(start))
    noise, calibrator, novelty, outcomes, fits = _parts(sums, start)
    noise[:] = state.noise_sums - start.noise_sums
    if _has_moved(start, state):
        calibrator[:] = _calibrator_sums(state.calibrator)
        novelty[:] = state.novelty / state.calibrator[WEIGHT]
        outcomes[:] = _in_rows(state)[:, : start.classes]
        outcomes[0] -= start.outcomes[0, : start.classes]
        for k, each in enumerate(fits):
            each[:SUMS] = _calibrator_sums(state.fits[k, :SIZE])
            each[SUMS:] = state.fits[k, SIZE:] - start.fits[k, SIZE:]
    return sums


def set_calibration(merged: State, start: State, sums: Floats) -> None:
    """Set the calibration of a merged state to its start's and what all models have added."""
    noise, calibrator, novelty, outcomes, fits = _parts(sums, start)
    merged.noise_sums, merged.calibrator = start.noise_sums + noise, start.calibrator.copy()
    merged.novelty, classes = start.novelty.copy(), start.classes
    merged.outcomes[:, :classes] = start.outcomes[:, :classes]
    if calibrator[0]:
        merged.calibrator, merged.novelty = _calibrator_of(calibrator, start.calibrator), novelty
        merged.outcomes[1:, :classes] = outcomes[1:]
        merged.outcomes[0, :classes] += outcomes[0]
    merged.fits[: len(fits)] = start.fits[: len(fits)]
    for k, each in enumerate(fits if calibrator[0] else ()):
        merged.fits[k, :SIZE] = _calibrator_of(each[:SUMS], start.fits[k, :SIZE])
        merged.fits[k, SIZE:] += each[SUMS:]


def calibration_size(start: State) -> int:
    """How many sums there are."""
    counts = start.outcomes.shape[0] * start.classes
    return int(NOISE + SUMS + start.novelty.size + counts + _fitted(start) * (SUMS + NOISE))


def _fitted(start: State) -> int:
    """How many labels have calibrators of their own."""
    return start.used if start.layout.multilabel else 0


def _parts(sums: Floats, start: State) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """The sums of noise, calibrator, novelty and outcomes, and of each label's own."""
    counts = start.outcomes.shape[0] * start.classes
    cuts = np.cumsum([NOISE, SUMS, start.novelty.size, counts])
    noise, calibrator, novelty, outcomes, fits = np.split(sums, cuts)
    shape = _fitted(start), SUMS + NOISE
    return noise, calibrator, novelty, outcomes.reshape(-1, start.classes), fits.reshape(shape)


def _merge_fits(merged: State, states: Sequence[State], classes: Sequence[Indices]) -> None:
    """Set what every label of a merged state has learned of its probabilities and its noise."""
    for place in range(merged.used):
        found = [
            state.fits[k]
            for state, places in zip(states, classes, strict=True)
            for k in np.flatnonzero(np.asarray(places) == place)
        ]
        if found:
            merged.fits[place, :SIZE] = _merge_calibrators([each[:SIZE] for each in found])
            merged.fits[place, SIZE:] = np.sum([each[SIZE:] for each in found], axis=0)


# -- one state ---------------------------------------------------------------------------------


def _has_moved(start: State, state: State) -> bool:
    """Whether a state has calibrated any row since it was like the start."""
    classes = start.classes
    return bool((state.outcomes[0, :classes] != start.outcomes[0, :classes]).any())


def _in_rows(state: State) -> Floats:
    """Outcomes in which the latest row counts for 1."""
    outcomes: Floats = state.outcomes / state.calibrator[WEIGHT]
    outcomes[0] = state.outcomes[0]
    return outcomes


def _merge_calibrators(calibrators: Sequence[Floats]) -> Floats:
    """The calibrator of several, weighted by precision; their precisions add up.

    Those of earlier versions, without τ, count only where there are no others.
    """
    aware = [each for each in calibrators if each[LOG_TAU] != NO_TAU] or calibrators
    return _calibrator_of(sum(map(_calibrator_sums, aware), np.zeros(SUMS)), aware[0])


def _calibrator_sums(calibrator: Floats) -> Floats:
    """What a calibrator adds to sums: its precision, and precision × place."""
    precision = symmetric(calibrator[H:]) + LEAST * np.eye(3)
    return np.array([*precision[UPPER], *(precision @ calibrator[: LOG_TAU + 1])])


def _calibrator_of(sums: Floats, like: Floats) -> Floats:
    """The calibrator of such sums, in everything that is not learned like another."""
    merged = like.copy()
    place = np.linalg.solve(symmetric(sums[:PRECISIONS]), sums[PRECISIONS:])
    merged[: LOG_TAU + 1], merged[H:] = place, sums[:PRECISIONS]
    merged[SCALE], merged[WEIGHT] = 0.0, 1.0
    if like[LOG_TAU] == NO_TAU:
        merged[LOG_TAU] = NO_TAU
    return merged
