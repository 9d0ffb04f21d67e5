"""Class counts of a vectorizer: how many texts of each class had each feature; weighting by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError
from sureline.features.rows import Rows
from sureline.kernels.class_counts import COUNT, WEIGH_ROWS
from sureline.model.merge.algebra import add_counts
from sureline.model.state import Layout, State

Labels = NDArray[Any]


class ClassCounts:
    """Class counts of a vectorizer: a state of which only the counts are used.

    A `weighting` of None counts nothing.
    """

    def __init__(self, weighting: str | None, dtype: str) -> None:
        self.weighting = weighting
        layout = Layout("", "identity", dtype, False, (0.0,), weighting=weighting)
        self.state: State = layout.allocate(0, 1, math.inf, "")
        self.labels: Labels = np.zeros(0, np.int64)

    def codes_of(self, labels: Labels | None, texts: int) -> NDArray[np.int64]:
        """The class, 0 or 1, of each of some more texts; for ``"idf"`` all are of one."""
        if self.weighting != "nb":
            return np.zeros(texts, np.int64)
        if labels is None:
            raise DataError(
                'TextFeatures: weighting="nb" compares two classes and needs the labels y; give '
                'them, or choose weighting="idf"'
            )
        if self.labels.size and labels.size:
            known, new = (each.dtype.kind in "USO" for each in (self.labels, labels))
            if known != new:
                raise DataError("TextFeatures: labels are text in one call and numbers in another")
        every = np.unique(labels)
        if self.labels.size:
            every = np.union1d(self.labels, every)
        if every.size > 2:
            raise DataError(
                f'TextFeatures: weighting="nb" compares two classes, but there are {every.size}: '
                f"{', '.join(map(repr, every[:5].tolist()))}{', …' if every.size > 5 else ''}; "
                'choose weighting="idf", or TextClassifier, which takes any number'
            )
        if self.labels.size == 1 and every[0] != self.labels[0]:
            self.state.swap()
        self.labels = every
        return np.searchsorted(every, labels).astype(np.int64)

    def check_two(self) -> None:
        """Refuse to weight by classes where there are not two."""
        if self.labels.size < 2:
            held = f"one class only, {self.labels.tolist()[0]!r}" if self.labels.size else "none"
            raise DataError(
                f'TextFeatures: weighting="nb" compares two classes; the labels so far hold {held}'
            )

    def count(self, rows: Rows, codes: NDArray[np.int64], features: int) -> None:
        """Count rows; there are so many features by now."""
        self.state = self.state.with_features(features, math.inf, "").writeable()
        codes, order = np.ascontiguousarray(codes), np.arange(len(rows))
        kernel = COUNT.loop(self.state.layout.dtype)
        kernel(rows, codes, order, self.state.class_counts, self.state.class_tokens)

    def keep(self, kept: NDArray[Any]) -> None:
        """Forget all features but these, which get new numbers."""
        if self.weighting is not None:
            features = int(kept.max(initial=-1)) + 1
            self.state = self.state.with_features(features, math.inf, "").with_rows(kept)

    def weighted(self, rows: Rows, normalize: bool, features: int) -> Rows:
        """The rows with weighted values, scaled to length 1 on request."""
        if self.weighting is None:
            return rows
        state = self.state.with_features(features, math.inf, "").writeable()
        if self.weighting == "nb":
            self.check_two()
            return _scaled(
                rows, ratios(state.class_counts, state.class_tokens, rows.indices), normalize
            )
        values, order = np.zeros_like(rows.data), np.arange(len(rows))
        WEIGH_ROWS.loop(state.layout.dtype)(
            rows,
            np.zeros(0, np.int64),
            order,
            state.class_counts,
            state.class_tokens,
            False,
            normalize,
            values,
        )
        return Rows(rows.indptr, rows.indices, values)

    def add(self, other: ClassCounts, places: NDArray[Any] | None, features: int) -> None:
        """Add the counts of another, whose features have these places, or the same."""
        if self.weighting is None:
            return
        state = self.state = self.state.with_features(features, math.inf, "").writeable()
        columns = np.zeros(1, np.int64)
        if self.weighting == "nb":
            columns = self.codes_of(other.labels, other.labels.size)
            state = self.state
        theirs = other.state
        many = features if places is None else places.size
        many = min(many, theirs.features)
        rows = np.arange(many) if places is None else places[:many]
        rows = np.concatenate([[0], rows + 1])
        for k, column in enumerate(columns.tolist()):
            add_counts(state.class_counts, (rows, column), theirs.class_counts[: many + 1, k])
            state.class_tokens[column] += theirs.class_tokens[k]


def ratios(class_counts: Any, class_tokens: Any, indices: NDArray[Any]) -> NDArray[np.float64]:
    """The logarithm of how much more often the second of two classes has each feature.

    One text is spread over both classes in proportion, as for the prior of `TextClassifier`.
    """
    share = (class_tokens[1] + 1.0) / (class_tokens[:2].sum() + 2.0)
    q, p = class_counts[indices + 1, :2].T.astype(np.float64)
    found = np.log((share + p) / (1.0 - share + q)) - np.log(share / (1.0 - share))
    return np.asarray(found)


def _scaled(rows: Rows, factors: NDArray[np.float64], normalize: bool) -> Rows:
    """Values times factors, in rows of length 1 if wanted."""
    values = rows.data * factors
    if normalize:
        which = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        squares = np.bincount(which, values**2, len(rows))
        lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        values = values / lengths[which]
    return Rows(rows.indptr, rows.indices, values.astype(rows.data.dtype))
