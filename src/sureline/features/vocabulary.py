"""The vocabulary: a column for every feature, growing as texts arrive.

Features are identified by 64-bit fingerprints in an open-addressing hash table. Its arrays are one
tuple: learning changes them in place; growing and pruning make new ones and replace the tuple at
once, so that readers finish with what they have.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.features.names import Names, grow
from sureline.features.rows import Rows
from sureline.features.tokenizer import NO_COLUMNS, TokenizedTexts
from sureline.kernels.text.arguments import VocabularyArrays
from sureline.kernels.text.vocabulary import COUNT_TAKEN, ENLARGE, ENTER_ROWS, LOOK_UP_ROWS, PRUNE
from sureline.kernels.text.vocabulary_merge import LIST_KEYS

SMALLEST = 1024  # slots of a new table
KEPT_SHARE = 0.75  # of the features, when `max_features` is reached


class Vocabulary:
    """A column for every feature, in the order in which they first appeared.

    A feature gets a column once `least` texts have had it; at `most` features it is time to prune,
    0 for no limit.
    """

    def __init__(self, least: int = 1, most: int = 0) -> None:
        self.least, self.most = least, most
        self.arrays = VocabularyArrays(
            np.zeros((SMALLEST, 2), np.uint64),
            np.zeros(0, np.int64),
            np.zeros(3, np.int64),
            Names.empty(),
        )

    @property
    def features(self) -> int:
        """How many columns there are."""
        return self.arrays.sizes.item(0)

    @property
    def full(self) -> bool:
        """Whether it is time to prune."""
        return 0 < self.most <= self.features

    @property
    def unknown(self) -> int:
        """The column that stands for unknown features: a fresh one, or -1 to leave them out.

        Where a feature gets its column with its first text, it also counts in a text that is only
        classified; otherwise it does not.
        """
        return self.features if self.least == 1 else -1

    def is_consistent(self) -> bool:
        """Whether every column has exactly one place, and as many are taken as counted."""
        has_place = np.zeros(self.features, np.bool_)
        taken = COUNT_TAKEN.compiled("float64")(self.arrays.table, has_place)
        return bool(taken == self.arrays.sizes[1])

    def copy(self) -> Vocabulary:
        """An independent copy."""
        return deepcopy(self)

    def most_after(self, new: int) -> int:
        """The largest number of columns after so many more features."""
        return self.features + new

    def reserve(self, tokens: TokenizedTexts, first: int) -> int:
        """Reserve capacity for texts from `first` on; return the largest number of columns."""
        arrays = self.arrays
        begin, stop = int(tokens.indptr[first]), int(tokens.indptr[-1])
        new = stop - begin
        columns, taken, letters = (int(size) for size in arrays.sizes)
        table = arrays.table
        if 2 * (taken + new) > table.shape[0]:
            table = np.zeros((1 << int(2 * (taken + new)).bit_length(), 2), np.uint64)
            move_entries(arrays.table, table)
        self.arrays = VocabularyArrays(
            table,
            grow(arrays.seen, columns + new),
            arrays.sizes,
            arrays.names.reserved(tokens, first, columns, letters),
        )
        return columns + new

    def enter(
        self,
        tokens: TokenizedTexts,
        first: int,
        normalize: bool,
        dtype: str,
        out: Rows | None = None,
    ) -> tuple[Rows, int]:
        """Rows of the texts from `first` on, with columns for new features, and where it stopped.

        It stops early when it is time to prune. Capacity must have been reserved. The rows are
        new, or written to `out`.
        """
        if out is None:
            out = empty_rows(tokens, first, dtype)
        stopped = ENTER_ROWS.loop(dtype)(
            tokens, first, normalize, self.least, self.most, self.arrays, out
        )
        if stopped < 0:
            raise ModelFileError("the vocabulary of this model is damaged; load another copy")
        return out.first(stopped - first), stopped

    def look_up(
        self,
        tokens: TokenizedTexts,
        normalize: bool,
        dtype: str,
        unknown: int,
        out: Rows | None = None,
    ) -> Rows:
        """Rows of the texts; features without a column get `unknown`, or none if it is below 0.

        The rows are new, or written to `out`.
        """
        arrays = self.arrays
        if out is None:
            out = empty_rows(tokens, 0, dtype)
        features = arrays.sizes.item(0)
        LOOK_UP_ROWS.loop(dtype)(tokens, normalize, unknown, arrays.table, features, out)
        return out

    def keys(self) -> NDArray[np.uint64]:
        """The fingerprint of every column."""
        keys = np.zeros(self.features, np.uint64)
        LIST_KEYS.compiled("float64")(self.arrays.table, keys)
        return keys

    def waiting(
        self, since: Vocabulary | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The features without a column yet, sorted, and how many texts have had each.

        The texts that were counted by an earlier state of the vocabulary, `since`, do not count.
        """
        table = self.arrays.table
        waits = table[table[:, 1] > np.uint64(1 << 63)]
        waits = waits[np.argsort(waits[:, 0])]
        keys, counts = waits[:, 0], -waits[:, 1].view(np.int64)
        if since is not None:
            old, had = since.waiting()
            _, ours, theirs = np.intersect1d(keys, old, assume_unique=True, return_indices=True)
            counts[ours] -= had[theirs]
        return keys, counts

    def name(self, column: int) -> str:
        """The name of a column's feature."""
        name: str = self.arrays.names.name(column)
        return name

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """The column of each fingerprint, or -1."""
        features, empty = self.features, np.zeros(0, np.int64)
        tokens = TokenizedTexts(  # a text for each
            np.arange(keys.size + 1),
            np.ascontiguousarray(keys),
            np.ones(keys.size),
            empty,
            empty.astype(np.int32),
            empty.astype(np.uint8),
            empty.reshape(0, 4),
            *NO_COLUMNS,
        )
        columns = self.look_up(tokens, False, "float32", features).indices
        return np.where(columns == features, -1, columns)

    def pruned(self, kept: NDArray[np.intp]) -> VocabularyArrays:
        """The arrays of the `kept` columns alone, in their order."""
        arrays = self.arrays
        places = np.full(self.features, -1, np.int64)
        places[kept] = np.arange(kept.size)
        table = np.zeros((1 << int(2 * kept.size + SMALLEST).bit_length(), 2), np.uint64)
        PRUNE.compiled("float64")(arrays.table, places, table)
        names = arrays.names.kept(kept)
        sizes = np.array([kept.size, kept.size, names.letters.size])
        return VocabularyArrays(table, arrays.seen[kept], sizes, names)


def largest(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The positions of the `count` largest values, in order; of equal ones, the first."""
    if count >= values.size or not count:
        return np.arange(min(count, values.size))
    least = np.partition(values, values.size - count)[values.size - count]
    chosen = values > least
    ties = np.flatnonzero(values == least)
    chosen[ties[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def fill_table(
    keys: NDArray[np.uint64], waiting: NDArray[np.uint64], counts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """The hash table of features with a column each, and of others that wait for one.

    A ModelFileError where these are no fingerprints.
    """
    entries = np.zeros((keys.size + waiting.size, 2), np.uint64)
    entries[: keys.size, 0], entries[keys.size :, 0] = keys, waiting
    entries[: keys.size, 1] = np.arange(1, keys.size + 1)
    entries[keys.size :, 1] = (-counts).view(np.uint64)
    table = np.zeros((1 << int(2 * len(entries) + SMALLEST).bit_length(), 2), np.uint64)
    if move_entries(entries, table) != len(entries):
        raise ModelFileError("the vocabulary of this model is damaged; load another copy")
    return table


def move_entries(entries: NDArray[np.uint64], table: NDArray[np.uint64]) -> int:
    """Enter all entries into an empty table; how many there were."""
    moved: int = ENLARGE.compiled("float64")(entries, table)
    if moved < 0:
        raise ModelFileError("the vocabulary of this model is damaged; load another copy")
    return moved


def empty_rows(tokens: TokenizedTexts, first: int, dtype: str) -> Rows:
    """Rows with capacity for the texts from `first` on."""
    ends = tokens.indptr
    size = ends.item(ends.size - 1) - ends.item(first)
    return Rows(
        np.zeros(ends.size - first, np.int64), np.empty(size, np.int32), np.empty(size, dtype)
    )
