"""Columns for features: one each, growing as text arrives, or a fixed number shared by hashing.

Both keep their arrays in one tuple. Learning changes the arrays in place; growing and pruning make
new ones and put the tuple in place at once, so that whoever reads goes on with what it has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.features.names import Names, roomy
from sureline.features.rows import Rows
from sureline.features.tokenizer import Found
from sureline.kernels.text.vocabulary import (
    ENLARGE,
    ENTER_ROWS,
    FOLD_ROWS,
    LOOK_UP_ROWS,
    PRUNE,
)
from sureline.kernels.text.vocabulary_merge import LIST_KEYS

SMALLEST = 1024  # places of a new table
MOST_NAMES = 2**18  # how many names hashing remembers; the lighter half is then forgotten
KEPT_NAMES = MOST_NAMES // 2
KEPT_SHARE = 0.75  # of the features, when there are as many as may be


class Held(NamedTuple):
    """The arrays of a vocabulary; `sizes` has the features, the places taken, the names' bytes."""

    table: NDArray[np.uint64]
    seen: NDArray[np.int64]
    sizes: NDArray[np.int64]
    names: Names


class Vocabulary:
    """A column for every feature, in the order in which they first came.

    Parameters
    ----------
    least : int
        How many texts must have a feature before it gets a column.
    most : int
        At so many features, prune; 0 for no limit.
    """

    def __init__(self, least: int = 1, most: int = 0) -> None:
        self.least, self.most = least, most
        self.held = Held(
            np.zeros((SMALLEST, 2), np.uint64),
            np.zeros(0, np.int64),
            np.zeros(3, np.int64),
            Names(np.zeros(0, np.int64), np.zeros(0, np.uint8)),
        )

    @property
    def features(self) -> int:
        """How many columns there are."""
        return self.held.sizes.item(0)

    @property
    def full(self) -> bool:
        """Whether it is time to prune."""
        return 0 < self.most <= self.features

    @property
    def unknown(self) -> int:
        """The column for features that have none: a fresh one, or -1 where they are left out.

        A feature that gets a column from its first text on counts from its first text on, also in
        a text that is only looked at; otherwise it does not.
        """
        return self.features if self.least == 1 else -1

    def copy(self) -> Vocabulary:
        """The same columns, which further texts leave alone."""
        copy = Vocabulary(self.least, self.most)
        copy.held = _copied(self.held)
        return copy

    def most_after(self, new: int) -> int:
        """How many columns there may be when so many features have come."""
        return self.features + new

    def reserve(self, found: Found, first: int) -> int:
        """Make room for what is found from a row on; return how many columns there may be."""
        held = self.held
        begin, stop = int(found.indptr[first]), int(found.indptr[-1])
        new = stop - begin
        columns, taken, letters = (int(size) for size in held.sizes)
        table = held.table
        if 2 * (taken + new) > table.shape[0]:
            table = np.zeros((1 << int(2 * (taken + new)).bit_length(), 2), np.uint64)
            ENLARGE.compiled("float64")(held.table, table)
        self.held = Held(
            table,
            roomy(held.seen, columns + new),
            held.sizes,
            held.names.extended(found, first, columns, letters),
        )
        return columns + new

    def enter(
        self, found: Found, first: int, normalize: bool, dtype: str, out: Rows | None = None
    ) -> tuple[Rows, int]:
        """Rows of what was found from a row on, new features included, and the row behind.

        It stops early when it is time to prune. Room must have been reserved. The rows are new,
        or written to `out`.
        """
        held = self.held
        if out is None:
            out = _empty_rows(found, first, dtype)
        stopped = ENTER_ROWS.compiled(dtype)(
            *(first, *found[:6], normalize, self.least, self.most),
            *(held.table, held.seen, held.sizes, *held.names, *out),
        )
        if stopped < 0:
            raise ModelFileError("the vocabulary of this model is damaged; load another copy")
        return out.first(stopped - first), stopped

    def look_up(
        self, found: Found, normalize: bool, dtype: str, unknown: int, out: Rows | None = None
    ) -> Rows:
        """Rows of what was found; strange features count as `unknown`, or not at all if < 0.

        The rows are new, or written to `out`.
        """
        held = self.held
        if out is None:
            out = _empty_rows(found, 0, dtype)
        LOOK_UP_ROWS.compiled(dtype)(
            *found[:3], normalize, unknown, held.table, held.sizes.item(0), *out
        )
        return out

    def keys(self) -> NDArray[np.uint64]:
        """The fingerprint of every column."""
        keys = np.zeros(self.features, np.uint64)
        LIST_KEYS.compiled("float64")(self.held.table, keys)
        return keys

    def waiting(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The features that have no column yet, sorted, and how many texts have had each."""
        table = self.held.table
        waits = table[table[:, 1] > np.uint64(1 << 63)]
        waits = waits[np.argsort(waits[:, 0])]
        return waits[:, 0], -waits[:, 1].view(np.int64)

    def name(self, column: int) -> str:
        """The name of a column's feature."""
        return self.held.names.name(column)

    def find(self, key: Any) -> int:
        """The column of a fingerprint, or -1."""
        one = np.array([0, 1]), np.array([key], np.uint64), np.ones(1)
        empty = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(0, np.uint8)
        rows = self.look_up(Found(*one, *empty, np.zeros((0, 4), np.int64)), False, "float32", -1)
        return int(rows.indices[0]) if rows.indptr[1] else -1

    def pruned(self, kept: NDArray[np.intp]) -> Held:
        """The arrays with the `kept` columns alone, in their order; others' counts are dropped."""
        held = self.held
        places = np.full(self.features, -1, np.int64)
        places[kept] = np.arange(kept.size)
        table = np.zeros((1 << int(2 * kept.size + SMALLEST).bit_length(), 2), np.uint64)
        PRUNE.compiled("float64")(held.table, places, table)
        names = held.names.kept(kept)
        sizes = np.array([kept.size, kept.size, names.letters.size])
        return Held(table, held.seen[kept], sizes, names)


def largest(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The places of so many of the largest values, in order; of equal ones, the first."""
    if count >= values.size or not count:
        return np.arange(min(count, values.size))
    least = np.partition(values, values.size - count)[values.size - count]
    chosen = values > least
    ties = np.flatnonzero(values == least)
    chosen[ties[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def filled(
    keys: NDArray[np.uint64], waiting: NDArray[np.uint64], counts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """The table of features with a column each and of others that wait; the same for the same."""
    entries = np.zeros((keys.size + waiting.size, 2), np.uint64)
    entries[: keys.size, 0], entries[keys.size :, 0] = keys, waiting
    entries[: keys.size, 1] = np.arange(1, keys.size + 1)
    entries[keys.size :, 1] = (-counts).view(np.uint64)
    table = np.zeros((1 << int(2 * len(entries) + SMALLEST).bit_length(), 2), np.uint64)
    ENLARGE.compiled("float64")(entries, table)
    return table


class Named(NamedTuple):
    """The names that hashing remembers: a bit a column, and the columns in order of naming.

    `sizes` has the names, 1 + the texts since there first were as many as may be, and their bytes.
    """

    bits: NDArray[np.uint8]
    columns: NDArray[np.int32]
    sizes: NDArray[np.int64]
    names: Names


# What a fold neither reads nor writes where it has no bits to tell which columns have names.
NAMELESS = (
    *(np.zeros(0, np.uint8), np.zeros(0, np.int32), np.zeros(3, np.int64)),
    *(np.zeros(0, np.int64), np.zeros(0, np.uint8)),
)


class Hashing:
    """2^bits columns, shared by the features that fall into them.

    Parameters
    ----------
    bits : int
        How many bits of a fingerprint make the column.
    naming : bool
        Whether to remember names, of at most `MOST_NAMES` columns.
    """

    def __init__(self, bits: int, naming: bool) -> None:
        self.features = 1 << bits
        self.held = Named(
            np.zeros((self.features + 7) // 8 if naming else 0, np.uint8),
            np.zeros(0, np.int32),
            np.zeros(3, np.int64),
            Names(np.zeros(0, np.int64), np.zeros(0, np.uint8)),
        )

    @property
    def full(self) -> bool:
        """Whether it is time to forget names."""
        return int(self.held.sizes[0]) >= MOST_NAMES

    @property
    def unknown(self) -> int:
        """No feature is unknown."""
        return -1

    def copy(self) -> Hashing:
        """The same columns and names, which further texts leave alone."""
        copy = Hashing(self.features.bit_length() - 1, bool(self.held.bits.size))
        copy.held = _copied(self.held)
        return copy

    def most_after(self, new: int) -> int:
        """As many columns as ever."""
        return self.features

    def reserve(self, found: Found, first: int) -> int:
        """Make room for the names of what is found from a row on."""
        held = self.held
        if held.bits.size:
            count, _, letters = held.sizes.tolist()
            names = held.names.extended(found, first, count, letters)
            columns = roomy(held.columns, names.ends.size)
            self.held = Named(held.bits, columns, held.sizes, names)
        return self.features

    def enter(
        self, found: Found, first: int, normalize: bool, dtype: str, out: Rows | None = None
    ) -> tuple[Rows, int]:
        """Rows of what was found from a row on, and the row behind."""
        held = self.held
        if out is None:
            out = _empty_rows(found, first, dtype)
        stopped = FOLD_ROWS.compiled(dtype)(
            *(first, *found[:6], normalize, MOST_NAMES),
            *(held.bits, held.columns, held.sizes, *held.names, *out),
        )
        return out.first(stopped - first), stopped

    def look_up(
        self, found: Found, normalize: bool, dtype: str, unknown: int, out: Rows | None = None
    ) -> Rows:
        """Rows of what was found."""
        if out is None:
            out = _empty_rows(found, 0, dtype)
        FOLD_ROWS.compiled(dtype)(*(0, *found[:6], normalize, 0), *NAMELESS, *out)
        return out

    def name(self, column: int) -> str:
        """The name of a feature that falls into a column, or the column's number."""
        held = self.held
        if held.bits.size and held.bits[column >> 3] >> (column & 7) & 1:
            places = np.flatnonzero(held.columns[: held.sizes[0]] == column)
            if places.size:
                return held.names.name(int(places[0]))
        return f"column {column}"

    def find(self, key: Any) -> int:
        """The column of a folded fingerprint."""
        return int(key)

    def named_columns(self) -> NDArray[np.int32]:
        """The columns with names, in order of naming."""
        return self.held.columns[: self.held.sizes[0]]

    def forgetful(self, weights: NDArray[Any]) -> Named:
        """The names of the columns of the largest weights; from now on fewer texts give names."""
        since = max(int(self.held.sizes[1]), 1)
        return self.pruned(largest(weights, KEPT_NAMES), since)

    def pruned(self, kept: NDArray[np.intp], since: int) -> Named:
        """The names with these numbers alone, in their order, and so many texts since."""
        columns = self.held.columns[kept]
        bits = np.zeros(self.features, np.bool_)
        bits[columns] = True
        names = self.held.names.kept(kept)
        sizes = np.array([kept.size, since, names.letters.size])
        return Named(np.packbits(bits, bitorder="little"), columns, sizes, names)


def _copied(held: Any) -> Any:
    """The arrays of a vocabulary, copied."""
    arrays = (part.copy() for part in held[:-1])
    return type(held)(*arrays, Names(*(part.copy() for part in held.names)))


def _empty_rows(found: Found, first: int, dtype: str) -> Rows:
    """Rows with room for what was found from a row on."""
    ends = found.indptr
    size = ends.item(ends.size - 1) - ends.item(first)
    return Rows(
        np.zeros(ends.size - first, np.int64), np.empty(size, np.int32), np.empty(size, dtype)
    )
