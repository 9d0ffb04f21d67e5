"""The data of the contests: the same rows, in the same fixed random order, for everybody."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from benchmarks.rivals.entries import Missing

from sureline import TextFeatures
from sureline.data import sms_spam

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
WORD = re.compile(r"\w+")
MESSAGES = 4_000  # text messages that are learned; the others are tested on


@dataclass(frozen=True)
class Setting:
    """What the runner was asked for."""

    data: Path | None
    folder: Path  # for files that programs read
    rows: int | None  # texts of a set to use at most, None for all

    def find(self, name: str) -> Path:
        """A data file: in the folder given, in SURELINE_DATA, or in ../shared/data."""
        named = self.data or Path(os.environ.get("SURELINE_DATA") or SHARED)
        if not (named / name).is_file():
            raise Missing(
                f"{name} was not found in the folder of data: name the folder that holds it with "
                "--data or in the environment variable SURELINE_DATA."
            )
        return named / name


@dataclass(frozen=True)
class Texts:
    """Texts with labels, in the forms that rivals take. `folder` is for files made of them."""

    column: pa.Array
    labels: np.ndarray
    folder: Path

    @cached_property
    def listed(self) -> list[str]:
        """The texts as Python's strings."""
        return list(self.column.to_pylist())

    @cached_property
    def names(self) -> list[Any]:
        """The labels that there are, sorted."""
        return list(np.unique(self.labels).tolist())

    @cached_property
    def plain(self) -> list[str]:
        """Lower-case words with single spaces between them, for rivals that split at spaces."""
        return [" ".join(WORD.findall(text.lower())) for text in self.listed]

    @cached_property
    def megabytes(self) -> float:
        """The size of all texts."""
        return sum(len(text.encode()) for text in self.listed) / 1e6

    def write(self, name: str, before: dict[Any, str]) -> Path:
        """A file with a line per text: the prefix of its label, then plain words."""
        path = self.folder / name
        if not path.exists():
            lines = (
                f"{before[label]}{text}\n"
                for label, text in zip(self.labels.tolist(), self.plain, strict=True)
            )
            with path.open("w", encoding="utf-8") as file:
                file.writelines(lines)
        return path


@dataclass(frozen=True)
class Split:
    """Texts to learn and texts to test on."""

    train: Texts
    test: Texts


@dataclass(frozen=True)
class Rows:
    """Sparse rows to learn and to test on, with labels counted from 0."""

    X: Any  # CSR, of float32
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    name: str
    folder: Path

    def lines(self, first: int, held: bool = False) -> Iterator[str]:
        """Each row as `column:value …`, with the first column called `first`."""
        X = self.X_test if held else self.X
        for start, stop in pairwise(X.indptr.tolist()):
            columns, values = X.indices[start:stop] + first, X.data[start:stop]
            pairs = zip(columns.tolist(), values.tolist(), strict=True)
            yield " ".join(f"{column}:{value:.6g}" for column, value in pairs)

    def write(self, end: str, first: int, held: bool = False, between: str = " ") -> Path:
        """A file of the rows, with labels from 1 before them, for programs that read files."""
        path = self.folder / f"{self.name}-{'test' if held else 'train'}.{end}"
        if not path.exists():
            y = (self.y_test if held else self.y).tolist()
            with path.open("w", encoding="ascii") as file:
                for label, line in zip(y, self.lines(first, held), strict=True):
                    file.write(f"{label + 1}{between}{line}\n")
        return path


def _read(setting: Setting, file: str, label: str) -> Split:
    """A data set with columns split, label and text; training rows in a fixed random order."""
    table = pyarrow.parquet.read_table(setting.find(file), columns=["split", label, "text"])
    part = np.array(table["split"].to_pylist())
    labels = np.array(table[label].to_pylist())
    column = table["text"].combine_chunks()
    rng = np.random.default_rng(0)

    def take(name: str) -> Texts:
        chosen = rng.permutation(np.flatnonzero(part == name))[: setting.rows]
        folder = setting.folder / f"{file}-{name}"
        folder.mkdir(exist_ok=True)
        return Texts(column.take(chosen), labels[chosen], folder)

    return Split(take("train"), take("test"))


def imdb(setting: Setting) -> Split:
    """Film reviews, positive or negative."""
    return _read(setting, "imdb.parquet", "label")


def newsgroups(setting: Setting) -> Split:
    """Posts to 20 newsgroups, tested on later ones."""
    return _read(setting, "20news-bydate.parquet", "group")


def messages(setting: Setting) -> Split:
    """Text messages, as long as tweets, spam or not; they come with sureline."""
    texts, labels = sms_spam()
    order = np.random.default_rng(0).permutation(len(texts))
    column, spam = pa.array([texts[k] for k in order]), np.array([labels[k] for k in order])
    cut = min(MESSAGES, setting.rows or MESSAGES)
    held = slice(MESSAGES, MESSAGES + (setting.rows or len(texts)))
    return Split(
        Texts(column.slice(0, cut), spam[:cut], setting.folder),
        Texts(column.slice(held.start, held.stop - held.start), spam[held], setting.folder),
    )


def as_rows(split: Split, name: str, features: TextFeatures) -> Rows:
    """Texts as sparse rows, scaled to length 1."""
    X = features.fit(split.train.column).transform(split.train.column)
    classes, y = np.unique(split.train.labels, return_inverse=True)
    y_test = np.searchsorted(classes, split.test.labels)
    X_test = features.transform(split.test.column)
    return Rows(X, y, X_test, y_test, name, split.train.folder)


def dense(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers, with labels -1 and 1 from a linear concept, a tenth of them flipped."""
    rng = np.random.default_rng(0)
    concept = rng.standard_normal(features)
    X = rng.standard_normal((rows, features)) / np.sqrt(features)
    y = np.where((X @ concept > 0) != (rng.random(rows) < 0.1), 1, -1)
    return X, y
