"""Learning curves: the error on held-out rows during training, by example or by pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight

from sureline.data import as_labels
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import OnlineClassifier, TextClassifier
from sureline.estimators.text.pipeline import TextPipeline
from sureline.estimators.validation import check_whole, choose_rule
from sureline.evaluation.protocols import check_probabilities, labelled_rows, take_rows
from sureline.evaluation.reliability import label_entropy
from sureline.model.learner import AGAIN


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The error on held-out rows during training.

    Parameters
    ----------
    examples : int array of shape (n_points,)
        How many examples had been learned, over all passes.
    passes : float array of shape (n_points,)
        The same as a number of passes.
    error : float array of shape (n_points,)
        The share of the held-out rows that was predicted wrongly.
    right : bool array of shape (n_points, n_held_out)
        Whether each of them was predicted correctly, as `mcnemar` takes it.
    entropy : float array of shape (n_points,) or None
        The mean entropy of the predicted distributions over the classes, if requested.
    """

    examples: NDArray[np.int64]
    passes: NDArray[np.float64]
    error: NDArray[np.float64]
    right: NDArray[np.bool_]
    entropy: NDArray[np.float64] | None = None


def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    by: Literal["example", "pass"] = "example",
    points: int = 20,
    passes: int | None = None,
    entropy: bool = False,
) -> LearningCurve:
    """Test a model on held-out rows at several points of its training.

    After p passes it is exactly the model that `fit` gives with ``max_iter=p`` and the same
    `random_state`, except for parameters that `partial_fit` refuses.

    Parameters
    ----------
    model : estimator
        A classifier with `partial_fit`, whose `shuffle` and `random_state` are used; it is cloned
        and not changed. Others are possible with ``by="example"``: they are refitted.
    X, y : rows and labels
        The training rows: a matrix, or for `TextClassifier` a list or column of str.
    X_test, y_test : rows and labels
        The held-out rows.
    by : {"example", "pass"}, default="example"
        Whether to test at equally spaced numbers of examples, or after each pass.
    points : int, default=20
        How many points by example.
    passes : int, default=None
        The number of passes. None: the model's `max_iter`, or 1 where that is 'auto'.
    entropy : bool, default=False
        Whether to predict probabilities too, for their mean entropy.

    Returns
    -------
    LearningCurve
        The errors and the numbers of examples.

    Examples
    --------
    >>> from sureline import AROWClassifier, TextFeatures
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import learning_curve
    >>> texts, labels = sms_spam()
    >>> X = TextFeatures().fit_transform(texts[:2000])
    >>> rows = X[:1000], labels[:1000], X[1000:], labels[1000:2000]
    >>> found = learning_curve(AROWClassifier(r=0.1, random_state=0), *rows, by="pass", passes=3)
    >>> found.passes.tolist(), found.error.round(3).tolist()
    ([1.0, 2.0, 3.0], [0.032, 0.032, 0.032])
    """
    if by not in ("example", "pass"):
        raise InvalidParameter(f"learning_curve: by must be 'example' or 'pass', got {by!r}")
    check_whole(points, "points", "learning_curve")
    streams = hasattr(model, "partial_fit")
    if passes is None:
        passes = getattr(model, "max_iter", 1) if streams else 1
        passes = 1 if passes == "auto" else passes
    check_whole(passes, "passes", "learning_curve")
    if not streams and (by == "pass" or passes > 1):
        raise InvalidParameter(
            f"learning_curve: {type(model).__name__} has no partial_fit, so that there is no curve "
            "by pass; use by='example' and passes=1"
        )
    if entropy:
        check_probabilities(model, "entropy=True")
    rows, labels = labelled_rows(X, y, "learning_curve")
    truth = as_labels(y_test)
    if not truth.size:
        raise DataError("learning_curve: there are no held-out labels")
    n = labels.size
    total = n * passes
    stops = n * np.arange(1, passes + 1)
    if by == "example":
        stops = np.unique(np.linspace(0, total, points + 1).round().astype(np.int64))[1:]
    if streams:
        steps = learn_in_steps(clone(model), rows, labels, stops)
    else:
        steps = _refitted(model, rows, labels, stops)
    right, spread = list[NDArray[np.bool_]](), list[float]()
    for trained in steps:
        right.append(np.asarray(trained.predict(X_test) == truth))
        if entropy:
            spread.append(float(label_entropy(trained.predict_proba(X_test)).mean()))
    flags = np.stack(right)
    return LearningCurve(
        examples=stops,
        passes=stops / n,
        error=1.0 - flags.mean(axis=1),
        right=flags,
        entropy=np.array(spread) if entropy else None,
    )


def learn_in_steps(
    model: Any,
    rows: Any,
    labels: NDArray[Any],
    stops: NDArray[np.int64],
    weight: NDArray[np.float64] | None = None,
) -> Iterator[Any]:
    """Train a model and yield it at each stop, a number of examples learned.

    After p passes it equals the model that `fit` gives with ``max_iter=p``.
    """
    classes = np.unique(labels)
    if getattr(model, "class_weight", None) == "balanced":  # which needs the labels of all rows
        factors = compute_class_weight("balanced", classes=classes, y=labels)
        model.set_params(class_weight=dict(zip(classes.tolist(), factors, strict=True)))
    if weight is not None:
        kept = np.flatnonzero(weight > 0)
        rows, labels, weight = take_rows(rows, kept), labels[kept], weight[kept]
        if isinstance(model, OnlineClassifier) and choose_rule(model).weight != "cost":
            weight = weight / max(1.0, float(weight.max(initial=0.0)))
    n = labels.size
    rng = check_random_state(getattr(model, "random_state", None))
    shuffle = bool(getattr(model, "shuffle", True))
    order = np.arange(n)
    done = 0
    for stop in stops.tolist():
        while done < stop:
            within = done % n
            if within == 0:
                order = rng.permutation(n) if shuffle else np.arange(n)
            end = min(n, within + stop - done)
            some = order[within:end]
            if isinstance(model, TextClassifier) and done >= n:
                factors = np.ones(some.size) if weight is None else weight[some]
                relearn_texts(model, take_rows(rows, some), labels[some], factors)
            else:
                own: dict[str, Any] = {} if done else {"classes": classes}
                if weight is not None:
                    own["sample_weight"] = weight[some]
                model.partial_fit(take_rows(rows, some), labels[some], **own)
            done += end - within
            if isinstance(model, TextClassifier) and done % n == 0 and stops[-1] > n:
                model.model_.end_pass(again=done > n)
        yield model


def relearn_texts(
    model: TextClassifier, texts: Any, labels: NDArray[Any], weight: NDArray[np.float64]
) -> None:
    """Learn texts again, as a later pass of `fit`: none of them is counted again."""
    known, weight = model.model_for(labels, weight)
    with known.lock.learning:
        TextPipeline(known, model.as_input(texts), labels, weight, turn=AGAIN).run()


def _refitted(
    model: Any, rows: Any, labels: NDArray[Any], stops: NDArray[np.int64]
) -> Iterator[Any]:
    """The model at each stop, fitted to the rows before it, which must have two classes."""
    rng = check_random_state(getattr(model, "random_state", None))
    order = rng.permutation(labels.size)
    for stop in stops.tolist():
        some = order[:stop]
        try:
            yield clone(model).fit(take_rows(rows, some), labels[some])
        except ValueError as problem:
            raise DataError(
                f"learning_curve: {type(model).__name__} cannot learn from {stop} examples: "
                f"{problem}; use fewer points"
            ) from None
