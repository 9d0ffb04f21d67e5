"""Models for predictions alone: weights as predictions use them, and nothing to learn on from."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sureline.features.compact_vocabulary import CompactVocabulary, compact_columns
from sureline.features.hashing import Hashing
from sureline.kernels.calibration import NEAR, PRIOR_VARIANCE
from sureline.model.learner import Learner
from sureline.model.linear import LinearModel
from sureline.model.state import State
from sureline.model.text import TextModel

M = TypeVar("M", bound=LinearModel)
ROWS_AT_ONCE = 2**16


def compact_model(model: M) -> M:
    """A model that makes the same predictions and cannot learn; a compact one is returned itself.

    It holds the mean and the variance of every weight as predictions use them, without what the
    rule or the prior compute them from. A model of texts has no names of features, nor those that
    wait for a column.
    """
    if model.learner.compact:
        return model
    learner = replace(model.learner, compact=True)
    state = model.state.trimmed(_used_features(model))
    if model.learner.forgetting is not None:
        state = model.learner.forgetting.settled(state)
    made = model.on(_opened(model.learner, learner, state))
    made.learner = learner
    if isinstance(made, TextModel):
        if isinstance(made.columns, Hashing):
            made.columns = Hashing(made.columns.features.bit_length() - 1, naming=False)
        elif not isinstance(made.columns, CompactVocabulary):
            made.columns, order = compact_columns(made.columns)
            made.state = made.state.with_rows(order)
    return made


def _used_features(model: LinearModel) -> int:
    """How many features have a row that is used."""
    if isinstance(model, TextModel) and not isinstance(model.columns, Hashing):
        return min(model.columns.features, model.state.features)
    return model.state.features


def _opened(learner: Learner, compact: Learner, state: State) -> State:
    """A state that holds the weights themselves, for a compact learner."""
    layout, used, classes = compact.layout, state.used, max(state.used, 2)
    table = state.table[:, :, :used]
    if compact.rule.kernel is None:
        table = np.empty((state.features + 1, layout.slots, used), layout.dtype)
        for start in range(0, len(table), ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, len(table)))
            table[rows, 0] = learner.weights(state, rows)
            if layout.slots > 1:
                table[rows, 1] = learner.variances(state, rows)
                # A feature that is known has a mean: that is how a compact model knows.
                hidden = rows[_known(learner, state, rows) & ~table[rows, 0].any(axis=1)]
                table[hidden, 0, 0] = np.finfo(table.dtype).tiny
    calibrator = state.calibrator.copy()
    calibrator[PRIOR_VARIANCE] = layout.initial_variance
    return replace(
        state,
        layout=layout,
        calibrator=calibrator,
        table=table,
        covariance=state.covariance[:used],
        last_changed=np.zeros((0, used), np.int64),
        class_counts=state.class_counts[: len(table) if layout.counted else 0, :classes],
        class_tokens=state.class_tokens[:classes],
    )


def _known(learner: Learner, state: State, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """In which rows of the table something is known, as `kernels.calibration` defines it."""
    if learner.informed:
        counted = (state.class_counts[rows, : state.classes] > 0).any(axis=1)
        if state.wide:
            return np.asarray(counted)
    variances, prior = state.table[rows, 1, : state.used], learner.initial_variance
    known = (np.abs(variances.astype(np.float64) - prior) > NEAR * prior).any(axis=1)
    return np.asarray(known | counted if learner.informed else known)
