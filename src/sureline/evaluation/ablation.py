"""Ablation: the error without each group of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import normalize

from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextClassifier, TextFeatures
from sureline.estimators.text.options import OPTIONS
from sureline.evaluation.protocols import evaluate_splits, labelled_rows, split_folds
from sureline.evaluation.significance import mcnemar


class Ablation(NamedTuple):
    """The error without a group of features.

    Parameters
    ----------
    without : str or None
        The name of the group that was left out; None: nothing was.
    features : int
        The number of remaining features.
    error : float
        The error with them.
    change : float
        The increase over the error with all features.
    p_value : float
        McNemar's: the probability of a change at least as large if the group is worth nothing.
    """

    without: str | None
    features: int
    error: float
    change: float
    p_value: float


def feature_ablation(
    model: Any,
    X: Any,
    y: Any,
    groups: Mapping[str, ArrayLike] | None = None,
    *,
    folds: int = 10,
    random_state: int | None = 0,
) -> list[Ablation]:
    """The error with all features, and without each group of them, on the same folds.

    Parameters
    ----------
    model : estimator
        A classifier of matrices, or a `TextClassifier`, whose features are then left out by kind:
        word and character n-grams of each length. Rows are normalized again if the model does so.
    X : matrix, or texts
        The rows.
    y : array of shape (n_samples,)
        Their labels.
    groups : dict of str to columns, default=None
        The columns of each group, as indices or a mask; None for texts.
    folds : int, default=10
        The number of folds.
    random_state : int or None, default=0
        The random seed of the folds.

    Returns
    -------
    list of Ablation
        The first with all features, then one per group, in the order of `groups`.

    Examples
    --------
    >>> from sureline import TextClassifier
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import feature_ablation
    >>> texts, labels = sms_spam()
    >>> model = TextClassifier(random_state=0)
    >>> for each in feature_ablation(model, texts[:1000], labels[:1000], folds=5):
    ...     print(each.without, each.features, f"{each.change:+.3f}")
    None 14674 +0.000
    1 word 11295 +0.054
    2 words 3379 -0.002
    """
    scaled = False
    if isinstance(model, TextClassifier):
        if groups is not None:
            raise InvalidParameter(
                "feature_ablation: the features of texts are grouped by kind; leave out groups, or "
                "give a matrix made by TextFeatures"
            )
        if model.columns is not None:
            raise InvalidParameter(
                "feature_ablation takes texts, not tables; leave out the columns of the classifier"
            )
        left_out = ("weighting", "columns")  # TextFeatures counts texts in its own way
        options = {name: getattr(model, name) for name in OPTIONS if name not in left_out}
        features = TextFeatures(**options).fit(X)
        groups, scaled = text_feature_groups(features), bool(model.normalize)
        X = features.transform(X)
        passes = {name: getattr(model, name) for name in ("max_iter", "shuffle", "random_state")}
        if passes["max_iter"] == "auto":  # columns have no texts to decide by
            passes["max_iter"] = 1
        online: Any = model.chosen_estimator()
        weighting = model.resolved_weighting(online)
        model = _WeightedColumns(online.set_params(**passes), weighting, scaled)
    elif groups is None:
        raise InvalidParameter("feature_ablation: give groups, a dict of the columns of each")
    rows, labels = labelled_rows(X, y, "feature_ablation")
    width = int(rows.shape[1])
    splits = split_folds(labels, folds, random_state)
    whole = evaluate_splits(model, rows, labels, splits)
    found = [Ablation(None, width, whole.error, 0.0, 1.0)]
    for name, columns in groups.items():
        kept = np.setdiff1d(np.arange(width), _numbers(columns, width, name))
        if not kept.size:
            raise DataError(f"feature_ablation: without {name!r} no feature is left")
        left = rows[:, kept]
        part = evaluate_splits(model, normalize(left) if scaled else left, labels, splits)
        test = mcnemar(whole.right, part.right)
        change = part.error - whole.error
        found.append(Ablation(name, kept.size, part.error, change, test.p_value))
    return found


class _WeightedColumns(ClassifierMixin, BaseEstimator):
    """An online classifier with the column weighting of `TextClassifier`."""

    def __init__(self, estimator: Any, weighting: str | None, normalize: bool) -> None:
        self.estimator, self.weighting, self.normalize = estimator, weighting, normalize

    def fit(self, X: Any, y: Any) -> _WeightedColumns:
        """Learn from scratch."""
        self.fitted_ = clone(self.estimator)
        self.fitted_.row_weighting = self.weighting, self.normalize
        self.fitted_.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        return self.fitted_.predict(X)


def text_feature_groups(features: TextFeatures) -> dict[str, NDArray[np.intp]]:
    """The columns of word and character n-grams, by length.

    Parameters
    ----------
    features : TextFeatures
        Fitted, with ``features="vocabulary"``.

    Returns
    -------
    dict of str to int array
        The columns by kind, words before characters, shorter before longer.

    Examples
    --------
    >>> from sureline import TextFeatures
    >>> from sureline.evaluation import text_feature_groups
    >>> features = TextFeatures(ngrams=(1, 2), chars=(3, 3)).fit(["so it goes"])
    >>> {name: columns.size for name, columns in text_feature_groups(features).items()}
    {'1 word': 3, '2 words': 2, '3 characters': 8}
    """
    if features.features != "vocabulary":
        raise InvalidParameter(
            'the kinds of features are known with features="vocabulary" only; with "hash", '
            "features of all kinds share columns"
        )
    kinds = dict[tuple[bool, int], list[int]]()
    for column, name in enumerate(features.get_feature_names_out().tolist()):
        characters = name.startswith("‹")
        size = len(name) - 2 if characters else name.count(" ") + 1
        kinds.setdefault((characters, size), []).append(column)
    return {_kind(*kind): np.array(columns, np.intp) for kind, columns in sorted(kinds.items())}


def _kind(characters: bool, size: int) -> str:
    unit = "character" if characters else "word"
    return f"{size} {unit}{'' if size == 1 else 's'}"


def _numbers(columns: ArrayLike, width: int, name: str) -> NDArray[np.intp]:
    """The columns of a group as indices."""
    given = np.asarray(columns)
    if given.dtype == np.bool_ and given.shape == (width,):
        return np.flatnonzero(given)
    numbers = given.dtype.kind in "iu" and given.ndim == 1 and given.size > 0
    if numbers and given.min() >= 0 and given.max() < width:
        return given.astype(np.intp)
    raise DataError(
        f"feature_ablation: the group {name!r} must hold column indices from 0 to {width - 1}, or "
        f"a mask of {width} columns"
    )
