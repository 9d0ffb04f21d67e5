"""Progressive (prequential) validation: every row is predicted just before it is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from sureline.data import as_labels, as_text
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import OnlineClassifier, TextClassifier
from sureline.estimators.input_rows import as_rows
from sureline.estimators.validation import check_whole, stream_weights
from sureline.evaluation.learning_curves import relearn_texts
from sureline.evaluation.protocols import as_indexable, count_rows, take_rows
from sureline.model.learner import Examples

SMALLEST = 1e-15  # a probability of 0 counts as this in the log loss
ONE = np.zeros(1, np.int64)


class Curve(NamedTuple):
    """How an error develops.

    Parameters
    ----------
    examples : int array
        After how many examples.
    error : float array
        The share of them that was mistaken, each just before it was learned.
    recent : float array
        The same over the last few of them alone.
    """

    examples: NDArray[np.int64]
    error: NDArray[np.float64]
    recent: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Progression:
    """What progressive validation finds.

    Parameters
    ----------
    model : estimator
        The model after the last row.
    order : int array of shape (passes, n)
        In which order each pass took the rows.
    predictions : object array of shape (passes, n)
        What the model said of each row just before it learned the row, by number of the row; None
        before it knew any class.
    right : bool array of shape (passes, n)
        Whether that was right.
    chance : float array of shape (passes, n) or None
        The probability that the model gave to the true label, if it was asked.
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
        """The share of rows mistaken in the first pass, in which every row is new."""
        return float(self.errors[0])

    @property
    def errors(self) -> NDArray[np.float64]:
        """The same by pass; from the second on it tells how well rows are remembered."""
        return np.asarray(1.0 - self.right.mean(axis=1))

    @property
    def log_loss(self) -> float:
        """The mean of −log of the true label's probability in the first pass."""
        if self.chance is None:
            raise InvalidParameter("there are no probabilities; ask for probabilities=True")
        return float(-np.log(np.maximum(self.chance[0], SMALLEST)).mean())

    def curve(self, points: int = 50, window: int | None = None, number: int = 1) -> Curve:
        """The error by example within one pass.

        Parameters
        ----------
        points : int, default=50
            At how many numbers of examples, equally far apart.
        window : int, default=None
            Over how many of the last examples `recent` goes. None: a twentieth of all.
        number : int, default=1
            Which pass, counted from 1.

        Returns
        -------
        Curve
            Three arrays with a number for each point.
        """
        check_whole(points, "points", "Progression.curve")
        width = max(1, self.n // 20) if window is None else window
        check_whole(width, "window", "Progression.curve")
        if not 1 <= number <= len(self.order):
            raise InvalidParameter(
                f"Progression.curve: number must lie from 1 to {len(self.order)}, got {number!r}"
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

    Each prediction is made by the model as it was before that row, and not a row earlier: no two
    rows are predicted together. So the error of the first pass is an honest estimate, for which no
    row had to be held back.

    Parameters
    ----------
    model : estimator
        A classifier with `partial_fit`; it is cloned, and left as it is.
    X : matrix, or texts
        The rows: a matrix, or for `TextClassifier` a list or column of str.
    y : array of shape (n_samples,)
        Their labels.
    classes : array, default=None
        Labels to know beforehand. By default sureline's classifiers learn of a class when a row
        shows it; others are told all labels of `y`.
    sample_weight : array of shape (n_samples,), default=None
        How much each row counts in learning; in the error all count the same.
    passes : int, default=1
        How often to go through the rows.
    shuffle : bool, default=False
        Whether each pass takes the rows in a new random order, or in the order given.
    random_state : int or None, default=0
        Where the random orders come from.
    probabilities : bool, default=False
        Whether to ask the model for the probability of each true label.

    Returns
    -------
    Progression
        What the model said of every row, and the error by example and by pass. The first row,
        before which no class is known, counts as wrong.

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
    labels = as_labels(y)
    check_whole(passes, "passes", "progressive")
    if not hasattr(model, "partial_fit"):
        raise InvalidParameter(
            f"progressive needs a model that learns row by row, with partial_fit; "
            f"{type(model).__name__} has none: use growing_blocks, k_fold or hold_out"
        )
    if probabilities and not hasattr(model, "predict_proba"):
        raise InvalidParameter(
            f"{type(model).__name__} tells no probabilities; leave out probabilities=True"
        )
    learner = clone(model)
    texts = isinstance(learner, TextClassifier)
    rows = as_text(X) if texts else as_indexable(X)
    n = count_rows(rows)
    if n != labels.size or not n:
        raise DataError(f"progressive: there are {n:,} rows but {labels.size:,} labels")
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (n,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise DataError("progressive: sample_weight must hold a finite weight from 0 for each row")
    walk: Callable[..., Iterator[tuple[Any, float]]]
    if texts:
        walk = _walk_texts
    elif isinstance(learner, OnlineClassifier):
        walk = _walk_numbers
    else:
        walk = _walk
    rng = check_random_state(random_state)
    orders = [rng.permutation(n) if shuffle else np.arange(n) for _ in range(passes)]
    shape = (passes, n)
    predictions, chance = np.full(shape, None, dtype=object), np.zeros(shape)
    right = np.zeros(shape, np.bool_)
    truth = labels.tolist()
    steps = walk(learner, rows, labels, weight, classes, np.concatenate(orders), probabilities)
    for number, order in enumerate(orders):
        for k in order.tolist():
            told, likely = next(steps)
            predictions[number, k], chance[number, k] = told, likely
            right[number, k] = told is not None and told == truth[k]
    next(steps, None)  # learns the last row
    return Progression(
        learner, np.stack(orders), predictions, right, chance if probabilities else None
    )


def _walk(
    model: Any,
    X: Any,
    labels: NDArray[Any],
    weight: NDArray[np.float64],
    classes: Any,
    order: NDArray[np.intp],
    probabilities: bool,
) -> Iterator[tuple[Any, float]]:
    """Predict and learn row by row, with a classifier of any kind."""
    ours = isinstance(model, OnlineClassifier)
    named = np.unique(labels) if classes is None and not ours else classes
    plain = bool((weight == 1.0).all())
    for number, k in enumerate(order):
        row = take_rows(X, np.array([k]))
        yield _ask(model, row, labels[k], probabilities) if number else (None, 0.0)
        own = {} if plain else {"sample_weight": weight[k : k + 1]}
        if not number:
            own["classes"] = named
        model.partial_fit(row, labels[k : k + 1], **own)


def _ask(model: Any, row: Any, label: Any, probabilities: bool) -> tuple[Any, float]:
    """What a model says of one row, and how probable it finds the true label."""
    told = model.predict(row).tolist()[0]
    if not probabilities:
        return told, 0.0
    known = model.classes_.tolist()
    value = label.item() if isinstance(label, np.generic) else label
    likely = model.predict_proba(row)[0][known.index(value)] if value in known else 0.0
    return told, float(likely)


def _walk_texts(
    model: TextClassifier,
    texts: Any,
    labels: NDArray[Any],
    weight: NDArray[np.float64],
    classes: Any,
    order: NDArray[np.intp],
    probabilities: bool,
) -> Iterator[tuple[Any, float]]:
    """The same with texts, one at a time."""
    told, truth, factors = texts.to_pylist(), labels.tolist(), weight.tolist()
    for number, k in enumerate(order.tolist()):
        text, label = told[k], truth[k]
        if not number or not model.__sklearn_is_fitted__():
            yield None, 0.0
        else:
            chance = model.predict_proba_one(text).get(label, 0.0) if probabilities else 0.0
            yield model.predict_one(text), chance
        if number >= len(told):
            relearn_texts(model, [text], labels[k : k + 1], weight[k : k + 1])
        elif number:
            model.learn_one(text, label, factors[k])
        else:
            given = as_labels([label])
            model.partial_fit([text], given, classes=classes, sample_weight=[factors[k]])


def _walk_numbers(
    model: OnlineClassifier,
    X: Any,
    labels: NDArray[Any],
    weight: NDArray[np.float64],
    classes: Any,
    order: NDArray[np.intp],
    probabilities: bool,
) -> Iterator[tuple[Any, float]]:
    """The same as `_walk` for sureline's classifiers, without checking every row anew."""
    if probabilities:
        yield from _walk(model, X, labels, weight, classes, order, probabilities)
        return
    matrix = check_array(X, accept_sparse="csr", dtype=model.dtype)
    rows, learner = as_rows(matrix), model.learner()
    weights = stream_weights(model, learner.rule, labels, weight)
    truth = labels.tolist()
    known: list[Any] = []
    rank = ONE
    for number, k in enumerate(order.tolist()):
        part = rows.part(k, k + 1)
        if not number or not model.__sklearn_is_fitted__():
            yield None, 0.0
        else:
            yield model.model_.predict(part).tolist()[0], 0.0
        if len(known) < 2 or truth[k] not in known or weights[k] <= 0.0:
            own = {} if number else {"classes": classes}
            model.partial_fit(
                matrix[k : k + 1], labels[k : k + 1], sample_weight=weight[k : k + 1], **own
            )
            if model.__sklearn_is_fitted__():
                labels_known = model.model_.labels
                known, rank = labels_known.tolist(), np.argsort(np.argsort(labels_known))
        else:
            code = np.array([known.index(truth[k])])
            one = Examples(part, code, weights[k : k + 1], ONE, rank)
            learner.learn(model.model_.state, one)
