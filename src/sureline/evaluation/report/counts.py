"""What answers are worth, counted batch by batch: mistakes, losses, confusions, classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError
from sureline.estimators.stream import read_label
from sureline.model.linear import Predictions

SMALLEST = 1e-15  # a probability of 0 counts as this in the log loss


@dataclass(frozen=True)
class OfClass:
    """How well one class is told from the others."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True)
class Facts:
    """All that an evaluation finds.

    `log_loss` and `brier` are means over the rows whose label the model knows; None for rules
    without probabilities. `confusion` counts pairs of true and predicted labels.
    """

    rows: int
    correct: int
    accuracy: float
    error: float
    macro_f1: float
    micro_f1: float
    log_loss: float | None
    brier: float | None
    majority: Any
    majority_accuracy: float
    classes: list[OfClass]
    confusion: list[tuple[Any, Any, int]]
    unknown: dict[str, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The facts for machines."""
        made = asdict(self)
        made["confusion"] = [
            {"true": true, "predicted": predicted, "rows": count}
            for true, predicted, count in self.confusion
        ]
        made["seconds"] = round(self.seconds, 3)
        return made


class Tally:
    """Counts how answers agree with labels, as values or as they are written in files.

    Parameters
    ----------
    classes : array
        The classes of the model, sorted.
    sure : bool
        Whether answers have probabilities.
    """

    def __init__(self, classes: NDArray[Any], sure: bool) -> None:
        self._classes = classes
        self._codes = {label: k for k, label in enumerate(classes.tolist())}
        self._read: dict[str, Any] = {}
        self._sure = sure
        self._pairs: Counter[tuple[Any, Any]] = Counter()
        self._unknown: Counter[str] = Counter()
        self._loss = self._brier = 0.0
        self._judged = 0
        self.rows = 0

    def add(self, labels: Sequence[Any], answers: Predictions) -> list[Any]:
        """Count some more rows; return their labels as the model has them.

        Parameters
        ----------
        labels : sequence
            The true labels, as values or as written in a file.
        answers : Predictions
            What the model says of the same rows.
        """
        truth = [self._value(label) for label in labels]
        self.rows += len(truth)
        self._pairs.update(zip(truth, answers.label.tolist(), strict=True))
        known = np.array([label in self._codes for label in truth], dtype=bool)
        self._unknown.update(
            str(label) for label, is_known in zip(labels, known, strict=True) if not is_known
        )
        if self._sure and answers.probabilities is not None and known.any():
            codes = np.array([self._codes[label] for label in truth if label in self._codes])
            chance = answers.probabilities[known]
            rows = np.arange(codes.size)
            self._loss -= float(np.log(np.maximum(chance[rows, codes], SMALLEST)).sum())
            squares = np.square(chance).sum(axis=1) - 2.0 * chance[rows, codes] + 1.0
            self._brier += float(squares.sum())
            self._judged += codes.size
        return truth

    def _value(self, label: Any) -> Any:
        """The class that a label as written stands for, or the label itself."""
        if not isinstance(label, str):
            return label
        if label not in self._read:
            value = read_label(label, self._classes.dtype)
            self._read[label] = value if value in self._codes else label
        return self._read[label]

    def facts(self, seconds: float) -> Facts:
        """What was found, in so many seconds."""
        if not self.rows:
            raise DataError("there are no rows to evaluate; give some, with labels")
        support, predicted, right = Counter[Any](), Counter[Any](), Counter[Any]()
        for (true, guess), count in self._pairs.items():
            support[true] += count
            predicted[guess] += count
            if true == guess:
                right[true] += count
        met = [label for label in self._codes if support[label] or predicted[label]]
        met += [label for label in support if label not in self._codes]
        classes = [_of_class(label, support, predicted, right) for label in met]
        correct = sum(right.values())
        accuracy = correct / self.rows
        [(majority, most)] = support.most_common(1)
        halved = 0.5 if len(self._codes) <= 2 else 1.0  # as one usually does with two classes
        judged = self._judged or None
        order = {label: k for k, label in enumerate(met)}
        pairs = sorted(self._pairs.items(), key=lambda item: [order[label] for label in item[0]])
        return Facts(
            rows=self.rows,
            correct=correct,
            accuracy=accuracy,
            error=1.0 - accuracy,
            macro_f1=sum(each.f1 for each in classes) / len(classes),
            micro_f1=accuracy,
            log_loss=self._loss / judged if judged else None,
            brier=halved * self._brier / judged if judged else None,
            majority=majority,
            majority_accuracy=most / self.rows,
            classes=classes,
            confusion=[(true, guess, count) for (true, guess), count in pairs],
            unknown=dict(self._unknown.most_common()),
            seconds=seconds,
        )


def _of_class(
    label: Any, support: Counter[Any], predicted: Counter[Any], right: Counter[Any]
) -> OfClass:
    """Precision, recall and F1 of one class; 0 where there is nothing to divide by."""
    hits = right[label]
    precision = hits / predicted[label] if predicted[label] else 0.0
    recall = hits / support[label] if support[label] else 0.0
    together = support[label] + predicted[label]
    f1 = 2.0 * hits / together if together else 0.0
    return OfClass(label, precision, recall, f1, support[label], predicted[label])
