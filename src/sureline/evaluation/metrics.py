"""The table of named metrics, and their values for predictions that come batch by batch.

To add a metric, add a line to `METRICS`: ``sureline evaluate`` prints it, with and without
``--json``, and the report shows it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.dummy import DummyClassifier
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
    zero_one_loss,
)

from sureline.data import as_labels
from sureline.data.label_values import read_label
from sureline.errors import DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SMALLEST = 1e-15  # a probability of 0 counts as this in the log loss


def log_losses(probabilities: Floats, truth: Codes) -> Floats:
    """−log of each true class's probability."""
    likelihood = probabilities[np.arange(truth.size), truth]
    return np.asarray(-np.log(np.maximum(likelihood, SMALLEST)))


def brier_losses(probabilities: Floats, truth: Codes) -> Floats:
    """The squared distance of each row from 1 for its true class; halved for two classes."""
    likelihood = probabilities[np.arange(truth.size), truth]
    squares = np.square(probabilities).sum(axis=1) - 2.0 * likelihood + 1.0
    return np.asarray(squares if probabilities.shape[1] > 2 else 0.5 * squares)


@dataclass(frozen=True)
class Metric:
    """A named number that describes how good predictions are.

    Parameters
    ----------
    name : str
        Its key in JSON, and its name as an attribute of an `Evaluation`.
    title : str
        What tables call it.
    note : str
        A few words that explain it.
    of_labels : callable, default=None
        A metric of labels: ``of_labels(y_true, y_pred, sample_weight=...)``, as those of
        `sklearn.metrics`. It is given each pair of a true and a predicted label once, as whole
        numbers, with the number of rows as its weight.
    of_probabilities : callable, default=None
        A metric of probabilities: ``of_probabilities(probabilities, truth)`` gives the loss of
        each row, from an array of shape (n_samples, n_classes) and the column of each true class.
        The metric is their mean over the rows whose label the model knows.
    format : str, default=".4f"
        How the number is written.
    """

    name: str
    title: str
    note: str
    of_labels: Callable[..., float] | None = None
    of_probabilities: Callable[[Floats, Codes], Floats] | None = None
    format: str = ".4f"


METRICS = (
    Metric("accuracy", "accuracy", "share of rows that are right", accuracy_score),
    Metric("error", "error", "share of rows that are wrong", zero_one_loss, format=".2%"),
    Metric(
        "macro_f1",
        "macro F1",
        "mean over classes",
        partial(f1_score, average="macro", zero_division=0.0),
    ),
    Metric(
        "micro_f1",
        "micro F1",
        "over all rows",
        partial(f1_score, average="micro", zero_division=0.0),
    ),
    Metric(
        "log_loss",
        "log loss",
        "nats per row; lower is better",
        of_probabilities=log_losses,
    ),
    Metric("brier", "Brier score", "lower is better", of_probabilities=brier_losses),
)


@dataclass(frozen=True)
class ClassMetrics:
    """Precision, recall and F1 of one class, and how many rows are of it and predicted as it."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True)
class Evaluation:
    """How good the predictions of a model are.

    Parameters
    ----------
    rows : int
        How many rows were evaluated.
    correct : int
        How many of them were predicted correctly.
    metrics : dict
        The value of each of `METRICS` by name; None for those of probabilities where the model has
        none. They are attributes, too: ``evaluation.error``.
    majority : label
        The most frequent label of the rows.
    majority_accuracy : float
        The accuracy of always predicting it.
    classes : list of ClassMetrics
        Each class that occurs, in the order of ``classes_``, then labels unknown to the model.
    confusion : list of (true, predicted, rows)
        The pairs of labels that occur.
    unknown : dict of str to int
        Labels that the model does not know, with their rows.
    seconds : float
        How long it took.
    """

    rows: int
    correct: int
    metrics: dict[str, float | None]
    majority: Any
    majority_accuracy: float
    classes: list[ClassMetrics]
    confusion: list[tuple[Any, Any, int]]
    unknown: dict[str, int]
    seconds: float

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["metrics"][name]
        except KeyError:
            raise AttributeError(f"an Evaluation has no attribute {name!r}") from None

    def as_json(self) -> dict[str, Any]:
        """The same as a dict that `json.dumps` can write, metrics beside the other fields."""
        made = dict[str, Any]()
        for name, value in asdict(self).items():
            made |= value if name == "metrics" else {name: value}
        made["confusion"] = [
            {"true": true, "predicted": predicted, "rows": count}
            for true, predicted, count in self.confusion
        ]
        made["seconds"] = round(self.seconds, 3)
        return made


class Evaluator:
    """Compares predictions with labels, batch by batch, in memory that does not grow with the rows.

    `classes` are those of the model, sorted.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self._classes = classes
        self._codes = {label: code for code, label in enumerate(classes.tolist())}
        self._parsed: dict[str, Any] = {}
        self._pairs: Counter[tuple[Any, Any]] = Counter()
        self._unknown: Counter[str] = Counter()
        self._losses = dict.fromkeys((each.name for each in METRICS if each.of_probabilities), 0.0)
        self._known_rows = 0  # of those with probabilities
        self.rows = 0

    def add(
        self, labels: Sequence[Any], predicted: NDArray[Any], probabilities: Floats | None = None
    ) -> list[Any]:
        """Compare some more rows, whose true labels are values or as written in a file.

        Return the true labels as the model has them. `probabilities` has a column per class.
        """
        truth = [self._parse(label) for label in labels]
        self.rows += len(truth)
        self._pairs.update(zip(truth, predicted.tolist(), strict=True))
        known = np.array([label in self._codes for label in truth], dtype=bool)
        self._unknown.update(
            str(label) for label, is_known in zip(labels, known, strict=True) if not is_known
        )
        if probabilities is not None and known.any():
            codes = np.array([self._codes[label] for label in truth if label in self._codes])
            for each in METRICS:
                if each.of_probabilities is not None:
                    losses = each.of_probabilities(probabilities[known], codes)
                    self._losses[each.name] += float(losses.sum())
            self._known_rows += codes.size
        return truth

    def _parse(self, label: Any) -> Any:
        """The class that a label means as it is written, or the label itself."""
        if not isinstance(label, str):
            return label
        if label not in self._parsed:
            value = read_label(label, self._classes.dtype)
            self._parsed[label] = value if value in self._codes else label
        return self._parsed[label]

    def evaluation(self, seconds: float = 0.0) -> Evaluation:
        """The metrics of all rows so far; `seconds` is how long the predictions took."""
        if not self.rows:
            raise DataError("there are no rows to evaluate; give some, with labels")
        met = dict.fromkeys(label for pair in self._pairs for label in pair)
        labels = [label for label in self._codes if label in met]
        labels += [label for label in met if label not in self._codes]
        order = {label: k for k, label in enumerate(labels)}
        pairs = sorted((order[t], order[p], count) for (t, p), count in self._pairs.items())
        truth, predicted, counts = np.array(pairs, np.int64).T
        metrics = dict[str, float | None]()
        with warnings.catch_warnings():  # there are as few pairs as labels if all is right
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            for each in METRICS:
                if each.of_labels is not None:
                    value = each.of_labels(truth, predicted, sample_weight=counts)
                    metrics[each.name] = float(value)
                else:
                    known = self._known_rows
                    metrics[each.name] = self._losses[each.name] / known if known else None
            by_class = precision_recall_fscore_support(
                truth, predicted, labels=range(len(labels)), sample_weight=counts, zero_division=0.0
            )
        precision, recall, f1, support = (column.tolist() for column in by_class)
        predictions = np.bincount(predicted, counts, len(labels)).tolist()
        majority = max(self._pairs, key=lambda pair: support[order[pair[0]]])[0]
        return Evaluation(
            rows=self.rows,
            correct=int(counts[truth == predicted].sum()),
            metrics=metrics,
            majority=majority,
            majority_accuracy=max(support) / self.rows,
            classes=[
                ClassMetrics(label, precision[k], recall[k], f1[k], int(support[k]), int(n))
                for k, (label, n) in enumerate(zip(labels, predictions, strict=True))
            ],
            confusion=[(labels[t], labels[p], count) for t, p, count in pairs],
            unknown=dict(self._unknown.most_common()),
            seconds=seconds,
        )


def compute_metrics(
    y: Any, predictions: Any, probabilities: ArrayLike | None = None, classes: Any = None
) -> dict[str, float | None]:
    """All of `METRICS`, by name.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The true labels.
    predictions : array of shape (n_samples,)
        The predicted ones.
    probabilities : array of shape (n_samples, n_classes), default=None
        What `predict_proba` gives; without it, the metrics of probabilities are None.
    classes : array of shape (n_classes,), default=None
        The label of each column of `probabilities`, sorted; by default the labels that occur.

    Examples
    --------
    >>> from sureline.evaluation.metrics import compute_metrics
    >>> compute_metrics(["ham", "ham", "spam"], ["ham", "spam", "spam"])["macro_f1"]
    0.6666666666666666
    """
    truth, predicted = as_labels(y), as_labels(predictions)
    known = np.union1d(truth, predicted) if classes is None else as_labels(classes)
    evaluator = Evaluator(known)
    chance = None if probabilities is None else np.asarray(probabilities, np.float64)
    evaluator.add(truth.tolist(), predicted, chance)
    return evaluator.evaluation().metrics


class Confusion(NamedTuple):
    """How many rows of each label were predicted as each.

    Parameters
    ----------
    labels : array of shape (n_labels,)
        All labels that are true or were predicted, sorted.
    counts : int array of shape (n_labels, n_labels)
        The number of rows by true label (row) and predicted label (column).
    """

    labels: NDArray[Any]
    counts: NDArray[np.int64]

    def frequent(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """The most frequent mistakes: the true label, the predicted one, and how many rows.

        Parameters
        ----------
        n : int, default=10
            How many at most.
        """
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        names = self.labels.tolist()
        pairs = (np.unravel_index(each, wrong.shape) for each in order)
        return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def confusion_counts(y: Any, predictions: Any) -> Confusion:
    """Count how many rows of each label were predicted as each.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The true labels.
    predictions : array of shape (n_samples,)
        The predicted ones.

    Returns
    -------
    Confusion
        The labels and the counts.

    Examples
    --------
    >>> from sureline.evaluation import confusion_counts
    >>> confusion = confusion_counts(["ham", "ham", "spam"], ["ham", "spam", "spam"])
    >>> confusion.counts.tolist(), confusion.frequent()
    ([[1, 1], [0, 1]], [('ham', 'spam', 1)])
    """
    truth, predicted = as_labels(y), as_labels(predictions)
    labels = np.union1d(truth, predicted)
    return Confusion(labels, np.asarray(confusion_matrix(truth, predicted, labels=labels)))


class Majority(NamedTuple):
    """The most frequent label, and the error of always predicting it.

    Parameters
    ----------
    label : label
        The most frequent label of the training rows; of equally frequent ones, the first.
    error : float
        The share of the test rows that have another.
    """

    label: Any
    error: float


def majority_baseline(y: Any, y_test: Any = None) -> Majority:
    """The error of always predicting the most frequent label.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The training labels.
    y_test : array, default=None
        The test labels; by default `y` itself.

    Returns
    -------
    Majority
        The label and its error.

    Examples
    --------
    >>> from sureline.evaluation import majority_baseline
    >>> majority_baseline(["ham", "ham", "spam"], ["spam", "ham", "ham", "ham"])
    Majority(label='ham', error=0.25)
    """
    labels = as_labels(y)
    test = labels if y_test is None else as_labels(y_test)
    if not labels.size or not test.size:
        raise DataError("majority_baseline needs at least one training label and one test label")
    model = DummyClassifier(strategy="most_frequent").fit(np.zeros((labels.size, 1)), labels)
    predicted = model.predict(np.zeros((test.size, 1)))
    return Majority(predicted.tolist()[0], float(np.mean(predicted != test)))
