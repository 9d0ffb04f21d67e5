"""One text classifier from several: features are matched by fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sureline.errors import InvalidParameter, show
from sureline.estimators.model_merge import MergeMixin, locked_models, merged_model
from sureline.estimators.text.options import OPTIONS
from sureline.features.hashing import Hashing
from sureline.features.merge import merge_hashings, merge_vocabularies
from sureline.features.moments import Moments, merged
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import Tokenizer
from sureline.features.vocabulary import Vocabulary
from sureline.model.merge.algebra import How


class TextMergeMixin(MergeMixin):
    """A classifier of texts that can be merged with others."""

    def merge_all(self, models: Sequence[Any], how: How) -> Self:
        """One classifier from several, this one first; those given are not modified."""
        first: Any = self
        check_same_kind(models)
        for number, model in enumerate(models, 1):
            check_equal("columns_", first.columns_, model.columns_, number)
            pairs = zip(OPTIONS, first.fitted_options, model.fitted_options, strict=False)
            for name, ours, theirs in pairs:
                check_equal(name, ours, theirs, number)
            if type(model.estimator_) is not type(first.estimator_):
                raise InvalidParameter(
                    f"merge takes models of one rule, but model 1 has a "
                    f"{type(first.estimator_).__name__} and model {number} a "
                    f"{type(model.estimator_).__name__}"
                )
        estimators = [model.estimator_ for model in models]
        with locked_models(models, estimators, how) as several:
            grown: list[Any] = [model.columns for model in several]
            columns: Vocabulary | Hashing
            rows: Sequence[NDArray[np.intp] | None]
            if isinstance(grown[0], Hashing):
                columns, rows = merge_hashings(grown), [None] * len(models)
                features = columns.features
            else:
                columns, rows = merge_vocabularies(grown)
                features = columns.features + 1
            linear = merged_model(several, how, first.estimator_, rows, features)
        linear.columns = columns
        linear.tokenizer = merge_tokenizers([model.model_.tokenizer for model in models])
        result: Any = clone(first)
        result.columns_ = first.columns_
        result.adopt(clone(first.estimator_), linear, max(model.n_iter_ for model in models))
        result.fitted_options = first.fitted_options
        made: Self = result
        return made


def check_same_kind(models: Sequence[Any]) -> None:
    """Refuse to merge models of one label per text with models of several."""
    kinds = [model.model_.learner.multilabel for model in models]
    for number, kind in enumerate(kinds, 1):
        if kind != kinds[0]:
            first, other = ("several labels" if each else "one label" for each in (kinds[0], kind))
            raise InvalidParameter(
                f"merge takes models of one kind, but model 1 learned {first} per text and model "
                f"{number} {other}"
            )


def merge_tokenizers(several: Sequence[Tokenizer]) -> Tokenizer:
    """One tokenizer from several, which has seen all their numbers."""
    first = several[0]
    if not isinstance(first, TableTokenizer):
        return first
    arrays = [each.moments.array for each in several if isinstance(each, TableTokenizer)]
    return replace(first, moments=Moments(0, merged(arrays)))


def check_equal(name: str, ours: Any, theirs: Any, number: int) -> None:
    """Refuse to merge models that read texts by different values of a parameter."""
    if ours != theirs:
        raise InvalidParameter(
            "merge takes models that read texts in the same way, but "
            f"{name} is {show(ours)} in model 1 and {show(theirs)} in model {number}"
        )
