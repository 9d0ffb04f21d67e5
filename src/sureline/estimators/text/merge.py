"""One text classifier from several: their words find each other by fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sureline.errors import InvalidParameter
from sureline.estimators.model_merge import check_models, merged_state
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.text.knowledge import Knowledge
from sureline.estimators.text.options import OPTIONS
from sureline.features.merge import join_hashings, join_vocabularies
from sureline.features.vocabulary import Hashing, Vocabulary
from sureline.model.merge.states import How, check_how

if TYPE_CHECKING:
    from sureline.estimators.text.classifier import TextClassifier


def merge_texts(models: Sequence[TextClassifier], how: How) -> TextClassifier:
    """The merged classifier; those given are left alone."""
    first = models[0]
    for number, model in enumerate(models, 1):
        pairs = zip(OPTIONS, first._known.options, model._known.options, strict=False)
        for name, ours, theirs in pairs:
            check_alike(name, ours, theirs, number)
        if type(model._known.online) is not type(first._known.online):
            raise InvalidParameter(
                f"merge takes models of one rule, but model 1 has a "
                f"{type(first._known.online).__name__} and model {number} a "
                f"{type(model._known.online).__name__}"
            )
    with ExitStack() as held:
        for model in sorted(models, key=id):  # in one order, so that none wait in a ring
            held.enter_context(model._gate.writing)
        several = [model._known for model in models]
        onlines = [known.online for known in several]
        learner = check_models(onlines)
        check_how(learner, how, "merge")
        merged: TextClassifier = clone(first)
        online: OnlineClassifier = clone(onlines[0])
        online._weighting = onlines[0]._weighting
        grown: list[Any] = [known.columns for known in several]
        columns: Vocabulary | Hashing
        rows: Sequence[NDArray[np.intp] | None]
        if isinstance(grown[0], Hashing):
            columns, rows = join_hashings(grown), [None] * len(models)
            features = columns.features
        else:
            columns, rows = join_vocabularies(grown)
            features = columns.features + 1
        online._state, online._labels = merged_state(learner, onlines, how, rows, features)
    online.classes_ = np.sort(online._labels)
    online.n_iter_ = merged.n_iter_ = max(model.n_iter_ for model in models)
    merged._known = Knowledge(first._known.scheme, columns, online, first._known.options)
    online.__dict__["_own_gate"] = merged._gate
    return merged


def check_alike(name: str, ours: Any, theirs: Any, number: int) -> None:
    """Refuse to merge models that read texts by different values of a parameter."""
    if ours != theirs:
        raise InvalidParameter(
            "merge takes models that read texts alike, but "
            f"{name} is {ours!r} in model 1 and {theirs!r} in model {number}"
        )
