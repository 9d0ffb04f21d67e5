"""Several labels per text, as `TextClassifier` is given them and gives them back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sureline.data.label_sets import LabelSets, as_label_sets
from sureline.errors import DataError
from sureline.model.label_sets import LabelSetModel
from sureline.model.text import TextModel


def check_label_kind(model: TextModel, y: Any) -> None:
    """Refuse sets of labels for a model of one label per text, and the other way round."""
    several = isinstance(y, LabelSets)
    if several and not model.learner.multilabel:
        raise DataError(
            "TextClassifier: the model has learned one label per text and is given several; give "
            "one label, or fit a new classifier on lists of labels"
        )
    if model.learner.multilabel and not several:
        raise DataError(
            "TextClassifier: the model learns any number of labels per text and is given one label "
            "alone; give each text a list of labels, such as ['billing']"
        )


def begin_labels(model: TextModel, y: Any) -> None:
    """Let a model that has learned nothing remember in which form labels come."""
    if isinstance(model, LabelSetModel):
        model.form = y.form


def known_labels(y: LabelSets, classes: ArrayLike | None) -> NDArray[Any]:
    """The labels to know beforehand: all that occur, or all columns of a matrix."""
    own = y.present if y.form == "sets" else y.labels
    return own if classes is None else np.union1d(own, np.asarray(classes))


def named_columns(y: LabelSets, classes: ArrayLike | None) -> tuple[LabelSets, ArrayLike | None]:
    """Labels, and those to know beforehand; `classes` name the columns of a matrix."""
    if y.form == "sets":
        return y, classes
    if classes is None:
        return y, y.labels
    names = np.asarray(classes)
    if names.size != y.labels.size or not np.array_equal(np.unique(names), names):
        raise DataError(
            f"TextClassifier: classes must name the {y.labels.size:,} columns of y, in sorted "
            f"order, got {names.size:,} labels"
        )
    return LabelSets(names, y.starts, y.codes, y.form), names


def subset_accuracy(
    model: LabelSetModel, y: Any, chosen: NDArray[np.bool_], weight: ArrayLike | None
) -> float:
    """The share of texts whose labels are exactly those predicted."""
    truth = as_label_sets(y)
    if truth.form != "sets" and truth.labels.size == model.classes.size:
        truth = LabelSets(model.classes, truth.starts, truth.codes, truth.form)
    if len(truth) != len(chosen):
        raise DataError(f"there are {len(chosen):,} texts but {len(truth):,} sets of labels")
    right = (truth.indicator(model.classes) == chosen).all(axis=1)
    known = np.isin(truth.labels, model.classes)
    right &= (
        np.bincount(np.repeat(np.arange(len(truth)), truth.counts), ~known[truth.codes], len(truth))
        == 0
    )
    return float(np.average(right, weights=None if weight is None else np.asarray(weight)))
