"""Labelled rows in memory, how they are split, and the features of a split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sureline.data import Batch
from sureline.data.batch import concatenate
from sureline.data.label_sets import LabelSets
from sureline.data.table import joined_texts
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextFeatures
from sureline.estimators.stream import class_labels
from sureline.evaluation.protocols import Split, growing_blocks, split_folds, split_once
from sureline.evaluation.search import PROTOCOLS

TEST_SHARE = 0.2


@dataclass(frozen=True)
class Protocol:
    """How learners are tested on rows that they have not learned from."""

    # On stratified folds, on a random fifth of the rows, or on growing blocks of rows, each
    # predicted before it is learned.
    name: Literal["k-fold", "hold-out", "progressive"] = "k-fold"
    folds: int = 10
    passes: int = 10  # the most that online learners may make
    seed: int = 0  # of the splits and the learners
    shuffle: bool = True  # whether rows are shuffled where their order matters

    def __post_init__(self) -> None:
        if self.name not in PROTOCOLS:
            raise InvalidParameter(
                f"protocol must be {' or '.join(map(repr, PROTOCOLS))}, got {self.name!r}"
            )

    def split(self, labels: NDArray[Any], first: int | None = None) -> list[Split]:
        """The row numbers to learn from and to test on; `first` is that of `growing_blocks`."""
        if self.name == "k-fold":
            return split_folds(labels, self.folds, self.seed)
        if self.name == "hold-out":
            return [split_once(labels, TEST_SHARE, self.seed)]
        return growing_blocks(labels.size, first, random_state=self.seed if self.shuffle else None)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled rows, texts or svmlight rows, all in memory, and the name to show.

    Where rows have several columns, those that are `joined` are one text for learners of texts.
    """

    name: str
    rows: Batch
    joined: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_texts(self) -> bool:
        """Whether the rows are texts."""
        return self.rows.text is not None

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The label of each row."""
        labels = class_labels(self.rows.label, self.name)
        if isinstance(labels, LabelSets):
            raise DataError(
                f"{self.name}: rows have several labels, but models are compared on rows with one "
                "label each; train models, and compare what evaluate reports on them"
            )
        return np.asarray(labels)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The distinct labels, sorted."""
        return np.unique(self.labels)

    @property
    def has_negative(self) -> bool:
        """Whether any feature value is negative."""
        if self.rows.matrix is not None:
            return bool(self.rows.matrix.data.min(initial=0.0) < 0.0)
        given = self.rows.named_features
        return given is not None and bool(given.values.min(initial=0.0) < 0.0)

    @classmethod
    def read(cls, batches: Iterable[Batch], name: str, joined: Sequence[str] = ()) -> Dataset:
        """Read all rows of `batches`; they must have two classes or more."""
        held = list(batches)
        if not held:
            raise DataError(f"no rows in {name}; give a file that has some")
        dataset = cls(name, concatenate(held), joined)
        if dataset.classes.size < 2:
            raise DataError(
                f"all {len(dataset):,} rows of {name} have the label "
                f"{dataset.classes.tolist()[0]!r}; give rows of two or more classes, or another "
                "column of labels (label=...)"
            )
        return dataset

    def append(self, other: Dataset) -> Dataset:
        """These rows, followed by those of `other`."""
        if self.has_texts != other.has_texts:
            kinds = {True: "texts", False: "svmlight rows"}
            raise DataError(
                f"{self.name} holds {kinds[self.has_texts]} but {other.name} "
                f"{kinds[other.has_texts]}; give two of one kind"
            )
        return Dataset(self.name, concatenate([self.rows, other.rows]), self.joined)


def split_features(
    dataset: Dataset, split: Split, options: Mapping[str, Any], unknown: bool = False
) -> tuple[Any, Any]:
    """The features of the training rows and of the test rows as sparse matrices.

    Of a table, the columns of texts are joined. Only features of the training rows get a column.
    With `unknown`, those that only test rows have get one too: no weight is learned for them, but
    they count in the length of a text, as they do for `TextClassifier`. `options` are the
    parameters of `TextFeatures`.
    """
    train, test = split
    if not dataset.has_texts:
        matrix = scipy.sparse.csr_matrix(dataset.rows.matrix, dtype=np.float32)
        return matrix[train], matrix[test]
    features = TextFeatures(**options)
    learned, tested = dataset.rows.take(train), dataset.rows.take(test)
    features.begin()
    texts, others = (joined_texts(some.text, dataset.joined) for some in (learned, tested))
    features.count(texts, dataset.labels[train], learned.named_features)
    if unknown:
        features.count(others, named=tested.named_features, counting=False)
    return (
        features.matrix(texts, learned.named_features),
        features.matrix(others, tested.named_features),
    )
