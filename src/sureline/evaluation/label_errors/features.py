"""The features of all texts, read once: sparse rows of what two or more texts share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.estimators import TextClassifier
from sureline.features.rows import Rows
from sureline.features.vocabulary import Vocabulary, largest

FEWEST = 2  # texts that must have a feature: what one text alone has shows nothing about others
SMALLEST = 1e-30


class TextRows(NamedTuple):
    """Texts as rows of the features that several of them have.

    `sizes` is how many features each text has, with those that no other has, and `prints` a
    fingerprint of all of them: texts with the same words in the same order have the same.
    """

    rows: Rows
    features: int
    sizes: NDArray[np.int64]
    prints: NDArray[np.uint64]


def read_rows(classifier: TextClassifier, texts: pa.LargeStringArray) -> TextRows:
    """The features of texts, as a classifier reads them."""
    tokenizer, dtype = classifier.tokenizer(), "float32"
    vocabulary, binary = classifier.features == "vocabulary", classifier.counts == "binary"
    # Which features are kept is known when all texts have been read.
    columns = Vocabulary() if vocabulary else classifier.empty_columns(naming=False)
    indices, values = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    lengths, prints = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for _, tokens in tokenizer.chunks(texts):
        columns.reserve(tokens, 0)
        rows, _ = columns.enter(tokens, 0, False, dtype)
        end = int(rows.indptr[-1])
        indices.append(rows.indices[:end].copy())
        if not binary:
            values.append(rows.data[:end].copy())
        lengths.append(np.diff(rows.indptr))
        prints.append(_sums(scramble(tokens.keys[:end]), rows.indptr))
    index, sizes = np.concatenate(indices), np.concatenate(lengths)
    counts = np.bincount(index, minlength=columns.features)
    kept = counts >= max(FEWEST, classifier.min_count if vocabulary else 0)
    if vocabulary and classifier.max_features is not None:
        most = np.zeros_like(kept)
        most[largest(counts, classifier.max_features)] = True
        kept &= most
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)[index]
    chosen = number >= 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(chosen)])[ends]
    shared = np.diff(ends)
    value = np.ones(int(ends[-1]), np.float32) if binary else np.concatenate(values)[chosen]
    if classifier.normalize:
        squares = shared if binary else _sums(np.square(value, dtype=np.float64), ends)
        scale = 1.0 / np.sqrt(np.maximum(squares, SMALLEST))
        value *= np.repeat(scale.astype(np.float32), shared)
    rows = Rows(ends, number[chosen], value)
    return TextRows(rows, int(np.count_nonzero(kept)), sizes, np.concatenate(prints))


def scramble(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, one for each (SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _sums(values: NDArray[Any], ends: NDArray[np.int64]) -> NDArray[Any]:
    """The sum of each row's values."""
    total = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values, dtype=values.dtype)])
    return np.asarray(total[ends[1:]] - total[ends[:-1]])
