"""Evaluation on rows that a model has not learned: held out, cross-validated, in growing blocks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from sureline.data import as_labels
from sureline.errors import DataError, InvalidParameter, show

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Predictions of rows that the model had not learned.

    Parameters
    ----------
    rows : int array of shape (n,)
        The numbers of the test rows, ascending.
    truth : array of shape (n,)
        Their labels.
    predictions : array of shape (n,)
        The predicted labels.
    fold : int array of shape (n,)
        The fold whose model predicted each row; all 0 for a single split.
    seconds : tuple of float
        The processor time of training, by fold.
    classes : array or None
        All labels, sorted, if there are probabilities.
    probabilities : array of shape (n, n_classes) or None
        The probability of each of `classes`; 0 for one that the fold's model did not know.
    """

    rows: NDArray[np.intp]
    truth: NDArray[Any]
    predictions: NDArray[Any]
    fold: NDArray[np.intp]
    seconds: tuple[float, ...]
    classes: NDArray[Any] | None = None
    probabilities: NDArray[np.float64] | None = None

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each prediction is right, as `mcnemar` takes it."""
        return np.asarray(self.predictions == self.truth, np.bool_)

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return float(1.0 - self.right.mean())

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """The error of each fold."""
        wrong = np.bincount(self.fold, ~self.right, len(self.seconds))
        return np.asarray(wrong / np.bincount(self.fold, minlength=len(self.seconds)))

    @property
    def deviation(self) -> float:
        """The standard deviation of the error over the folds; NaN where there is only one."""
        return float(self.errors.std(ddof=1)) if self.errors.size > 1 else float("nan")


def hold_out(
    model: Any,
    X: Any,
    y: Any,
    *,
    test_size: float = 0.2,
    random_state: int | None = 0,
    sample_weight: Any = None,
    probabilities: bool = False,
) -> Judgement:
    """Train on a random part of the rows and test on the others.

    Parameters
    ----------
    model : estimator
        Any classifier; it is cloned and not changed.
    X : matrix, or texts
        The rows: a matrix, or for `TextClassifier` a list or column of str.
    y : array of shape (n_samples,)
        Their labels. Each class has the same share in both parts, if all have two rows or more.
    test_size : float, default=0.2
        The share of test rows.
    random_state : int or None, default=0
        The random seed of the split.
    sample_weight : array of shape (n_samples,), default=None
        The weight of each row in training.
    probabilities : bool, default=False
        Whether to predict probabilities, too.

    Returns
    -------
    Judgement
        The predictions of the test rows.

    Examples
    --------
    >>> from sureline import TextClassifier
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import hold_out
    >>> texts, labels = sms_spam()
    >>> found = hold_out(TextClassifier(random_state=0), texts[:1000], labels[:1000])
    >>> found.rows.size, round(found.error, 3)
    (200, 0.015)
    """
    rows, labels = labelled_rows(X, y, "hold_out")
    split = split_once(labels, test_size, random_state)
    return evaluate_splits(model, rows, labels, [split], sample_weight, probabilities)


def k_fold(
    model: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 10,
    random_state: int | None = 0,
    sample_weight: Any = None,
    probabilities: bool = False,
) -> Judgement:
    """Cross-validation: predict every row by a model trained on the other folds.

    Parameters
    ----------
    model : estimator
        Any classifier; it is cloned for each fold and not changed.
    X : matrix, or texts
        The rows: a matrix, or for `TextClassifier` a list or column of str.
    y : array of shape (n_samples,)
        Their labels. Each class has about the same share in all folds.
    folds : int, default=10
        How many folds.
    random_state : int or None, default=0
        The random seed of the folds. The same seed gives the same folds for every model, so that
        `mcnemar` can compare them.
    sample_weight : array of shape (n_samples,), default=None
        The weight of each row in training.
    probabilities : bool, default=False
        Whether to predict probabilities, too.

    Returns
    -------
    Judgement
        The predictions of all rows.

    Examples
    --------
    >>> from sureline import AROWClassifier, PerceptronClassifier, TextFeatures
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import k_fold, mcnemar
    >>> texts, labels = sms_spam()
    >>> X = TextFeatures().fit_transform(texts[:1000])
    >>> a = k_fold(AROWClassifier(r=0.1, random_state=0), X, labels[:1000], folds=5)
    >>> b = k_fold(PerceptronClassifier(random_state=0), X, labels[:1000], folds=5)
    >>> a.errors.round(3).tolist(), a.error < b.error, mcnemar(a.right, b.right).p_value < 0.05
    ([0.03, 0.05, 0.025, 0.04, 0.035], True, True)
    """
    rows, labels = labelled_rows(X, y, "k_fold")
    splits = split_folds(labels, folds, random_state)
    return evaluate_splits(model, rows, labels, splits, sample_weight, probabilities)


def growing_blocks(
    n: int, first: int | None = None, growth: float = 2.0, random_state: int | None = None
) -> list[Split]:
    """Splits for progressive validation of any learner: each block is predicted, then learned.

    Rows come in growing blocks, and each block is predicted by a model of all rows before it. So
    rows are predicted before they are learned, as by `progressive`, but the models may make several
    passes over the earlier rows, or need all of them at once.

    Parameters
    ----------
    n : int
        How many rows there are.
    first : int, default=None
        How many rows are learned before the first is predicted. None: an eighth of all.
    growth : float, default=2.0
        The factor by which each block multiplies the number of known rows.
    random_state : int or None, default=None
        None keeps the order of the rows, as for streams in time; a seed shuffles them first.

    Returns
    -------
    list of (train, test)
        Row numbers, as scikit-learn's splitters give them.

    Examples
    --------
    >>> from sureline.evaluation import growing_blocks
    >>> for train, test in growing_blocks(8, first=2):
    ...     print(train.tolist(), test.tolist())
    [0, 1] [2, 3]
    [0, 1, 2, 3] [4, 5, 6, 7]
    """
    begin = max(1, n // 8) if first is None else first
    if not 0 < begin < n or growth <= 1.0:
        raise InvalidParameter(
            f"growing_blocks: of {n} rows, first must leave some to predict, and growth must be "
            f"above 1; got first={begin} and growth={growth}"
        )
    order = (
        np.arange(n) if random_state is None else check_random_state(random_state).permutation(n)
    )
    splits = list[Split]()
    while begin < n:
        stop = min(n, max(begin + 1, int(begin * growth)))
        splits.append((order[:begin], order[begin:stop]))
        begin = stop
    return splits


def split_once(labels: NDArray[Any], test_size: float, random_state: int | None) -> Split:
    """One random split, stratified where every class has two rows."""
    if not 0.0 < float(test_size) < 1.0:
        raise InvalidParameter(f"test_size must lie between 0 and 1, got {show(test_size)}")
    _, counts = np.unique(labels, return_counts=True)
    parts = min(test_size, 1.0 - test_size) * labels.size
    cls = StratifiedShuffleSplit if counts.min() >= 2 and parts >= counts.size else ShuffleSplit
    splitter: Any = cls(1, test_size=test_size, random_state=random_state)
    try:
        [(train, test)] = splitter.split(np.zeros(labels.size), labels)
    except ValueError as problem:
        raise DataError(f"{labels.size} rows cannot be split: {problem}") from None
    return np.sort(train), np.sort(test)


def split_folds(labels: NDArray[Any], folds: int, random_state: int | None) -> list[Split]:
    """Stratified folds; a class may have fewer rows than there are folds."""
    if not isinstance(folds, int | np.integer) or isinstance(folds, bool) or folds < 2:
        raise InvalidParameter(f"folds must be a whole number of at least 2, got {show(folds)}")
    _, counts = np.unique(labels, return_counts=True)
    if counts.max() < folds:
        raise DataError(
            f"{folds} folds need a class with as many rows, but the largest has {counts.max()}; "
            "use fewer folds"
        )
    splitter = StratifiedKFold(int(folds), shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(np.zeros(labels.size), labels))


def evaluate_splits(
    model: Any,
    rows: Any,
    labels: NDArray[Any],
    splits: Sequence[Split],
    sample_weight: Any = None,
    probabilities: bool = False,
) -> Judgement:
    """Train a clone of the model on the first part of each split and test it on the second."""
    if probabilities:
        check_probabilities(model, "probabilities=True")
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    classes = np.unique(labels) if probabilities else None
    predictions, chances, seconds = list[Any](), list[Any](), list[float]()
    for train, test in splits:
        trained = clone(model)
        own = {} if weight is None else {"sample_weight": weight[train]}
        begun = process_time()
        trained.fit(take_rows(rows, train), labels[train], **own)
        seconds.append(process_time() - begun)
        tested = take_rows(rows, test)
        if classes is not None:
            chances.append(np.zeros((test.size, classes.size)))
            known = np.searchsorted(classes, trained.classes_)
            chances[-1][:, known] = trained.predict_proba(tested)
        predictions.append(trained.predict(tested))
    return join_folds(labels, splits, predictions, seconds, classes, chances)


def join_folds(
    labels: NDArray[Any],
    splits: Sequence[Split],
    predictions: Sequence[NDArray[Any]],
    seconds: Sequence[float],
    classes: NDArray[Any] | None = None,
    chances: Sequence[NDArray[np.float64]] = (),
) -> Judgement:
    """The predictions, and the probabilities if there are any, of all test rows, by row."""
    tests = [test for _, test in splits]
    rows = np.concatenate(tests)
    order = np.argsort(rows, kind="stable")
    return Judgement(
        rows=rows[order],
        truth=labels[rows[order]],
        predictions=np.concatenate(predictions)[order],
        fold=np.repeat(np.arange(len(tests)), [test.size for test in tests])[order],
        seconds=tuple(seconds),
        classes=classes,
        probabilities=np.concatenate(chances)[order] if chances else None,
    )


def check_probabilities(model: Any, option: str) -> None:
    """Refuse an option that needs probabilities where the model has none."""
    if not hasattr(model, "predict_proba"):
        raise InvalidParameter(f"{type(model).__name__} has no probabilities; leave out {option}")


def labelled_rows(X: Any, y: Any, owner: str) -> tuple[Any, NDArray[Any]]:
    """Rows that can be indexed (a sparse matrix as CSR, others as they are), and their labels."""
    sparse, labels = bool(scipy.sparse.issparse(X)), as_labels(y)
    rows = X.tocsr() if sparse else X
    if labels.ndim != 1 or not labels.size:
        raise DataError(
            f"{owner}: y must hold one label per row, got an array of shape {labels.shape}"
        )
    count = int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
    if count != labels.size:
        raise DataError(f"{owner}: there are {count:,} rows but {labels.size:,} labels")
    return rows, labels


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a matrix, a list or a column."""
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return X.take(pa.array(rows))
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[k] for k in rows.tolist()]
