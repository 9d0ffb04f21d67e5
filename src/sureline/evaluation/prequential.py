"""Progressive (prequential) validation: every row is predicted just before it is learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from sureline.data import as_labels, as_text
from sureline.errors import DataError, InvalidParameter, show
from sureline.estimators import OnlineClassifier, TextClassifier
from sureline.estimators.input_rows import as_rows
from sureline.estimators.validation import check_whole, stream_weights
from sureline.evaluation.learning_curves import relearn_texts
from sureline.evaluation.metrics import SMALLEST
from sureline.evaluation.protocols import check_probabilities, labelled_rows, take_rows
from sureline.model.learner import Examples

FIRST = np.zeros(1, np.int64)


class Curve(NamedTuple):
    """The error by number of examples."""

    examples: NDArray[np.int64]
    error: NDArray[np.float64]  # of all of them, each predicted just before it was learned
    recent: NDArray[np.float64]  # of the last few of them


@dataclass(frozen=True, eq=False)
class Progression:
    """The result of progressive validation.

    Parameters
    ----------
    model : estimator
        The model after the last row.
    order : int array of shape (passes, n)
        The order of the rows in each pass.
    predictions : object array of shape (passes, n)
        The prediction of each row just before it was learned, by row number; None before the model
        knew any class.
    right : bool array of shape (passes, n)
        Whether it was right.
    chance : float array of shape (passes, n) or None
        The predicted probability of the true label, if requested.
    """

    model: Any
    order: NDArray[np.intp]
    predictions: NDArray[Any]
    right: NDArray[np.bool_]
    chance: NDArray[np.float64] | None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.right.shape[1])

    @property
    def error(self) -> float:
        """The share of mistakes in the first pass, in which every row is new."""
        return float(self.errors[0])

    @property
    def errors(self) -> NDArray[np.float64]:
        """The same by pass; from the second pass on, rows are no longer new."""
        return np.asarray(1.0 - self.right.mean(axis=1))

    @property
    def log_loss(self) -> float:
        """The mean of −log of the true label's probability in the first pass."""
        if self.chance is None:
            raise InvalidParameter("there are no probabilities; use probabilities=True")
        return float(-np.log(np.maximum(self.chance[0], SMALLEST)).mean())

    def curve(self, points: int = 50, window: int | None = None, number: int = 1) -> Curve:
        """The error by example within one pass.

        Parameters
        ----------
        points : int, default=50
            The number of points, equally spaced.
        window : int, default=None
            The number of last examples that `recent` covers. None: a twentieth of all.
        number : int, default=1
            The pass, counted from 1.

        Returns
        -------
        Curve
            Three arrays with an element per point.
        """
        check_whole(points, "points", "Progression.curve")
        width = max(1, self.n // 20) if window is None else window
        check_whole(width, "window", "Progression.curve")
        if not 1 <= number <= len(self.order):
            raise InvalidParameter(
                f"Progression.curve: number must lie from 1 to {len(self.order)}, got "
                f"{show(number)}"
            )
        wrong = ~self.right[number - 1][self.order[number - 1]]
        total = np.concatenate([[0], np.cumsum(wrong)])
        at = np.unique(np.linspace(0, self.n, points + 1).round().astype(np.int64))[1:]
        begin = np.maximum(0, at - width)
        return Curve(at, total[at] / at, (total[at] - total[begin]) / (at - begin))


def progressive(
    model: Any,
    X: Any,
    y: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    passes: int = 1,
    shuffle: bool = False,
    random_state: int | None = 0,
    probabilities: bool = False,
) -> Progression:
    """Predict every row, then learn it, one after the other.

    Each row is predicted by the model that has learned all rows before it. So the error of the
    first pass is an honest estimate for which no row has to be held out.

    Parameters
    ----------
    model : estimator
        A classifier with `partial_fit`; it is cloned and not changed.
    X : matrix, or texts
        The rows: a matrix, or for `TextClassifier` a list or column of str.
    y : array of shape (n_samples,)
        Their labels.
    classes : array, default=None
        The labels known beforehand. By default, sureline's classifiers add a class when its first
        row arrives; others get all labels of `y`.
    sample_weight : array of shape (n_samples,), default=None
        The weight of each row in learning; in the error all count the same.
    passes : int, default=1
        The number of passes over the rows.
    shuffle : bool, default=False
        Whether each pass takes the rows in a new random order, or in the order given.
    random_state : int or None, default=0
        The random seed of the orders.
    probabilities : bool, default=False
        Whether to predict the probability of each true label, too.

    Returns
    -------
    Progression
        The prediction of every row, and the error by example and by pass. The first row, before
        which no class is known, counts as wrong.

    Examples
    --------
    >>> from sureline import TextClassifier
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import progressive
    >>> texts, labels = sms_spam()
    >>> found = progressive(TextClassifier(), texts[:2000], labels[:2000])
    >>> round(found.error, 4)
    0.033
    >>> curve = found.curve(points=4)
    >>> curve.examples.tolist(), curve.recent.round(2).tolist()
    ([500, 1000, 1500, 2000], [0.0, 0.01, 0.03, 0.01])
    """
    check_whole(passes, "passes", "progressive")
    if not hasattr(model, "partial_fit"):
        raise InvalidParameter(
            f"progressive needs a model that learns row by row, with partial_fit; "
            f"{type(model).__name__} has none: use growing_blocks, k_fold or hold_out"
        )
    if probabilities:
        check_probabilities(model, "probabilities=True")
    learner = clone(model)
    texts = isinstance(learner, TextClassifier)
    rows = as_text(X) if texts and not isinstance(X, pa.StructArray) else X
    rows, labels = labelled_rows(rows, y, "progressive")
    n = labels.size
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (n,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise DataError("progressive: sample_weight must hold a finite weight from 0 for each row")
    rng = check_random_state(random_state)
    orders = [rng.permutation(n) if shuffle else np.arange(n) for _ in range(passes)]
    shape = (passes, n)
    predictions, chance = np.full(shape, None, dtype=object), np.zeros(shape)
    right = np.zeros(shape, np.bool_)
    truth = labels.tolist()
    examples = _Examples(rows, labels, weight, classes, np.concatenate(orders), probabilities)
    if texts:
        steps = _learn_texts(learner, examples)
    elif isinstance(learner, OnlineClassifier) and not probabilities:
        steps = _learn_matrix(learner, examples)
    else:
        steps = _learn_rows(learner, examples)
    for number, order in enumerate(orders):
        for k in order.tolist():
            label, likelihood = next(steps)
            predictions[number, k], chance[number, k] = label, likelihood
            right[number, k] = label is not None and label == truth[k]
    next(steps, None)  # learns the last row
    return Progression(
        learner, np.stack(orders), predictions, right, chance if probabilities else None
    )


class _Examples(NamedTuple):
    """The rows to learn, in which order, and whether to predict probabilities."""

    rows: Any
    labels: NDArray[Any]
    weight: NDArray[np.float64]
    classes: Any
    order: NDArray[np.intp]
    probabilities: bool


def _learn_rows(model: Any, given: _Examples) -> Iterator[tuple[Any, float]]:
    """Predict and learn row by row, with any classifier; yield labels and likelihoods."""
    ours = isinstance(model, OnlineClassifier)
    classes = np.unique(given.labels) if given.classes is None and not ours else given.classes
    unweighted = bool((given.weight == 1.0).all())
    truth = given.labels.tolist()
    for number, k in enumerate(given.order.tolist()):
        row = take_rows(given.rows, np.array([k]))
        if not number:
            yield None, 0.0
        else:
            known, likelihood = model.classes_.tolist(), 0.0
            if given.probabilities and truth[k] in known:
                likelihood = float(model.predict_proba(row)[0][known.index(truth[k])])
            yield model.predict(row).tolist()[0], likelihood
        options = {} if unweighted else {"sample_weight": given.weight[k : k + 1]}
        if not number:
            options["classes"] = classes
        model.partial_fit(row, given.labels[k : k + 1], **options)


def _learn_texts(model: TextClassifier, given: _Examples) -> Iterator[tuple[Any, float]]:
    """The same for texts."""
    texts, labels, weight = given.rows.to_pylist(), given.labels, given.weight
    truth = labels.tolist()
    for number, k in enumerate(given.order.tolist()):
        text, label = texts[k], truth[k]
        if not number or not model.__sklearn_is_fitted__():
            yield None, 0.0
        else:
            chances = model.predict_proba_one(text) if given.probabilities else {}
            yield model.predict_one(text), chances.get(label, 0.0)
        if number >= len(texts):
            relearn_texts(model, [text], labels[k : k + 1], weight[k : k + 1])
        elif number:
            model.learn_one(text, label, float(weight[k]))
        else:
            only = {"classes": given.classes, "sample_weight": weight[k : k + 1]}
            model.partial_fit([text], as_labels([label]), **only)


def _learn_matrix(model: OnlineClassifier, given: _Examples) -> Iterator[tuple[Any, float]]:
    """The same for sureline's classifiers of numbers; rows are validated once, all together."""
    matrix = check_array(given.rows, accept_sparse="csr", dtype=model.dtype)
    rows, learner = as_rows(matrix), model.learner()
    labels, truth = given.labels, given.labels.tolist()
    weights = stream_weights(model, learner.rule, labels, given.weight)
    known: list[Any] = []
    rank = FIRST
    for number, k in enumerate(given.order.tolist()):
        row = rows.part(k, k + 1)
        if not number or not model.__sklearn_is_fitted__():
            yield None, 0.0
        else:
            yield model.model_.predict(row).tolist()[0], 0.0
        watched = model.drift is not None
        if watched or len(known) < 2 or truth[k] not in known or weights[k] <= 0.0:
            options = {} if number else {"classes": given.classes}
            some = slice(k, k + 1)
            model.partial_fit(
                matrix[some], labels[some], sample_weight=given.weight[some], **options
            )
            if model.__sklearn_is_fitted__():
                met = model.model_.labels
                known, rank = met.tolist(), np.argsort(np.argsort(met))
        else:
            code = np.array([known.index(truth[k])])
            one = Examples(row, code, weights[k : k + 1], FIRST, rank)
            learner.learn(model.model_.state, one)
