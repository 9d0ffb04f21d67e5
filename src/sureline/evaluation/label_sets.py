"""How well sets of labels are predicted: F1, whole sets, single labels, and their ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import label_ranking_average_precision_score

from sureline.data.label_sets import LabelSets, as_label_sets
from sureline.data.label_values import read_label
from sureline.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelMetrics:
    """How well one label is predicted, and how many rows have it or are said to."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True)
class LabelSetEvaluation:
    """How well sets of labels are predicted.

    Parameters
    ----------
    rows : int
        How many rows there were.
    micro_f1 : float
        F1 of all pairs of a row and a label together.
    macro_f1 : float
        The mean F1 of the labels that occur, or were predicted.
    subset_accuracy : float
        The share of rows whose labels are exactly those predicted.
    hamming_loss : float
        The share of pairs of a row and a label that are wrong.
    ranking_precision : float or None
        Label ranking average precision: how high labels of a row stand among all by probability.
    labels_per_row : float
        How many labels rows have on average.
    labels : list of LabelMetrics
        The measures of every label.
    unknown : dict of str to int
        Labels that the model does not know, with their rows.
    seconds : float
        How long it took.
    """

    rows: int
    micro_f1: float
    macro_f1: float
    subset_accuracy: float
    hamming_loss: float
    ranking_precision: float | None
    labels_per_row: float
    labels: list[LabelMetrics]
    unknown: dict[str, int]
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The same as a dict that `json.dumps` can write."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


class ComparedSets(NamedTuple):
    """The labels of some rows, as the model has them, and which rows were predicted exactly."""

    sets: LabelSets
    truth: NDArray[np.bool_]  # a column per class of the model
    right: NDArray[np.bool_]


class LabelSetEvaluator:
    """Compares sets of labels, batch by batch, in memory that does not grow with the rows.

    `classes` are the labels of the model, sorted. Labels that it does not know are never predicted.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self._classes = classes
        self._known = set(classes.tolist())
        self._right, self._said, self._true = (np.zeros(classes.size, np.int64) for _ in range(3))
        self._unknown: Counter[str] = Counter()
        self._exact = 0
        self._ranking, self._ranked = 0.0, 0
        self.rows = 0

    def add(
        self, labels: Any, chosen: NDArray[np.bool_], probabilities: Floats | None = None
    ) -> ComparedSets:
        """Compare some more rows; `chosen` and `probabilities` have a column per class."""
        sets = self._typed(as_label_sets(labels))
        truth = sets.indicator(self._classes)
        strange = ~np.isin(sets.labels, self._classes)
        for code in sets.codes[strange[sets.codes]].tolist():
            self._unknown[str(sets.labels[code])] += 1
        row_of = np.repeat(np.arange(len(sets)), sets.counts)
        complete = np.bincount(row_of, strange[sets.codes], len(sets)) == 0
        self.rows += len(sets)
        exact = (truth == chosen).all(axis=1) & complete
        self._exact += int(exact.sum())
        self._right += (truth & chosen).sum(axis=0)
        self._said += chosen.sum(axis=0)
        self._true += truth.sum(axis=0)
        some = truth.any(axis=1)
        if probabilities is not None and some.any():
            score = label_ranking_average_precision_score(truth[some], probabilities[some])
            self._ranking += float(score) * int(some.sum())
            self._ranked += int(some.sum())
        return ComparedSets(sets, truth, exact)

    def _typed(self, sets: LabelSets) -> LabelSets:
        """Labels as written in a file, as those of the model."""
        if sets.labels.dtype.kind not in "USO" or self._classes.dtype.kind in "USO":
            return sets
        values = [read_label(str(word), self._classes.dtype) for word in sets.labels.tolist()]
        if all(value in self._known for value in values):
            rows = [[values[code] for code in row] for row in _codes_of(sets)]
            return as_label_sets(rows)
        return sets

    def evaluation(self, seconds: float = 0.0) -> LabelSetEvaluation:
        """The measures of all rows so far; `seconds` is how long the predictions took."""
        if not self.rows:
            raise DataError("there are no rows to evaluate; give some, with labels")
        missed = sum(self._unknown.values())
        right, said, true = (int(each.sum()) for each in (self._right, self._said, self._true))
        known = [
            LabelMetrics(
                label,
                _share(self._right[k], self._said[k]),
                _share(self._right[k], self._true[k]),
                _share(2 * self._right[k], self._said[k] + self._true[k]),
                int(self._true[k]),
                int(self._said[k]),
            )
            for k, label in enumerate(self._classes.tolist())
            if self._said[k] or self._true[k]
        ]
        strange = [
            LabelMetrics(label, 0.0, 0.0, 0.0, count, 0) for label, count in self._unknown.items()
        ]
        labels, pairs = known + strange, self.rows * (self._classes.size + len(strange))
        return LabelSetEvaluation(
            self.rows,
            _share(2 * right, said + true + missed),
            float(np.mean([each.f1 for each in labels])) if labels else 0.0,
            self._exact / self.rows,
            _share(said + true - 2 * right + missed, pairs),
            self._ranking / self._ranked if self._ranked else None,
            (true + missed) / self.rows,
            labels,
            dict(self._unknown.most_common()),
            seconds,
        )


def _codes_of(sets: LabelSets) -> Sequence[list[int]]:
    return [sets.codes[a:b].tolist() for a, b in pairwise(sets.starts.tolist())]


def _share(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else 0.0
