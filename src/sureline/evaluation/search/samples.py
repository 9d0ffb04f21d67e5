"""Rows held in memory, to be split in many ways, and the features of each split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sureline.data import Batch, as_labels
from sureline.data.batch import concatenate
from sureline.errors import DataError
from sureline.estimators import TextFeatures


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows, all of them at once.

    Parameters
    ----------
    name : str
        What people call them.
    rows : Batch
        Texts, or svmlight rows, with labels.
    """

    name: str
    rows: Batch

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def texts(self) -> bool:
        """Whether the rows are texts."""
        return self.rows.text is not None

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The labels."""
        return as_labels(self.rows.label)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels that there are, sorted."""
        return np.unique(self.labels)

    @property
    def negative(self) -> bool:
        """Whether a feature of a row is below 0."""
        if self.rows.matrix is not None:
            return bool(self.rows.matrix.data.min(initial=0.0) < 0.0)
        given = self.rows.given
        return given is not None and bool(given.values.min(initial=0.0) < 0.0)


def read_sample(batches: Iterable[Batch], name: str) -> Sample:
    """All rows of `batches`; there must be two classes."""
    held = list(batches)
    if not held:
        raise DataError(f"no rows in {name}; give a file that has some")
    sample = Sample(name, concatenate(held))
    labels = sample.labels
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        strange = labels[labels != np.floor(labels)][0]
        raise DataError(
            f"{name}: the label {strange} is no class but a number with a fraction; give classes, "
            "or read labels as text (--label-type text)"
        )
    if sample.classes.size < 2:
        raise DataError(
            f"all {len(sample):,} rows of {name} have the label {sample.classes.tolist()[0]!r}; to "
            "tell classes apart, give rows of two or more (or check --label)"
        )
    return sample


def join_samples(first: Sample, second: Sample) -> Sample:
    """The rows of the first, then those of the second."""
    if first.texts != second.texts:
        kinds = {True: "texts", False: "svmlight rows"}
        raise DataError(
            f"{first.name} holds {kinds[first.texts]} but {second.name} {kinds[second.texts]}; "
            "give two of one kind"
        )
    return Sample(first.name, concatenate([first.rows, second.rows]))


def split_features(
    sample: Sample,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    options: Mapping[str, Any],
    unknown: bool = False,
) -> tuple[Any, Any]:
    """The features of the rows to learn from and of those to judge on, as sparse matrices.

    Only what the first ones show gets a column. With `unknown`, words that only the others show do
    so too: no weight is ever learned for them, but they count in the length of a text, as they do
    for `TextClassifier`. `options` are the parameters of `TextFeatures`.
    """
    if not sample.texts:
        matrix = scipy.sparse.csr_matrix(sample.rows.matrix, dtype=np.float32)
        return matrix[train], matrix[test]
    features = TextFeatures(**options)
    learned, judged = sample.rows.take(train), sample.rows.take(test)
    features._begin()
    features._take_in(learned.text, sample.labels[train], learned.given)
    if unknown:
        features._take_in(judged.text, given=judged.given, counting=False)
    return (
        features._matrix(learned.text, learned.given),
        features._matrix(judged.text, judged.given),
    )
