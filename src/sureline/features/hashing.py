"""Feature hashing: a fixed number of columns, and the names of the heaviest features."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.features.names import Names, grow
from sureline.features.rows import Rows
from sureline.features.tokenizer import TokenizedTexts
from sureline.features.vocabulary import empty_rows, largest
from sureline.kernels.text.arguments import NamedColumns
from sureline.kernels.text.vocabulary import FOLD_ROWS

MOST_NAMES = 2**18  # how many names are remembered; the lighter half is then forgotten
KEPT_NAMES = MOST_NAMES // 2


# For folds that name no columns: neither read nor written.
NAMELESS = NamedColumns(
    np.zeros(0, np.uint8), np.zeros(0, np.int32), np.zeros(3, np.int64), Names.empty()
)


class Hashing:
    """2^bits columns, shared by the features that are hashed to them.

    With `naming`, it remembers the names of at most `MOST_NAMES` columns.
    """

    def __init__(self, bits: int, naming: bool) -> None:
        self.features = 1 << bits
        self.arrays = NamedColumns(
            np.zeros((self.features + 7) // 8 if naming else 0, np.uint8),
            np.zeros(0, np.int32),
            np.zeros(3, np.int64),
            Names.empty(),
        )

    @property
    def full(self) -> bool:
        """Whether it is time to forget names."""
        return int(self.arrays.sizes[0]) >= MOST_NAMES

    @property
    def unknown(self) -> int:
        """No feature is unknown."""
        return -1

    def copy(self) -> Hashing:
        """An independent copy."""
        return deepcopy(self)

    def most_after(self, new: int) -> int:
        """The number of columns, which never changes."""
        return self.features

    def reserve(self, tokens: TokenizedTexts, first: int) -> int:
        """Reserve capacity for the names of texts from `first` on."""
        arrays = self.arrays
        if arrays.bits.size:
            count, _, letters = arrays.sizes.tolist()
            names = arrays.names.reserved(tokens, first, count, letters)
            columns = grow(arrays.columns, names.ends.size)
            self.arrays = NamedColumns(arrays.bits, columns, arrays.sizes, names)
        return self.features

    def enter(
        self,
        tokens: TokenizedTexts,
        first: int,
        normalize: bool,
        dtype: str,
        out: Rows | None = None,
    ) -> tuple[Rows, int]:
        """Rows of the texts from `first` on, and where it stopped."""
        if out is None:
            out = empty_rows(tokens, first, dtype)
        stopped = FOLD_ROWS.loop(dtype)(tokens, first, normalize, MOST_NAMES, self.arrays, out)
        return out.first(stopped - first), stopped

    def look_up(
        self,
        tokens: TokenizedTexts,
        normalize: bool,
        dtype: str,
        unknown: int,
        out: Rows | None = None,
    ) -> Rows:
        """Rows of the texts."""
        if out is None:
            out = empty_rows(tokens, 0, dtype)
        FOLD_ROWS.loop(dtype)(tokens, 0, normalize, 0, NAMELESS, out)
        return out

    def name(self, column: int) -> str:
        """The name of a feature of the column, or the column's number."""
        arrays = self.arrays
        if arrays.bits.size and arrays.bits[column >> 3] >> (column & 7) & 1:
            places = np.flatnonzero(arrays.columns[: arrays.sizes[0]] == column)
            if places.size:
                name: str = arrays.names.name(int(places[0]))
                return name
        return f"column {column}"

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """The column of each folded fingerprint."""
        return keys.astype(np.intp)

    def named_columns(self) -> NDArray[np.int32]:
        """The columns with names, in order of naming."""
        return self.arrays.columns[: self.arrays.sizes[0]]

    def forgetful(self, weights: NDArray[Any]) -> NamedColumns:
        """The names of the columns of the largest weights; from then on fewer texts give names."""
        since = max(int(self.arrays.sizes[1]), 1)
        return self.pruned(largest(weights, KEPT_NAMES), since)

    def pruned(self, kept: NDArray[np.intp], since: int) -> NamedColumns:
        """The names with these numbers alone, in their order."""
        columns = self.arrays.columns[kept]
        names = self.arrays.names.kept(kept)
        sizes = np.array([kept.size, since, names.letters.size])
        return NamedColumns(self.bits_of(columns), columns, sizes, names)

    def bits_of(self, columns: NDArray[np.int32]) -> NDArray[np.uint8]:
        """A bit for every column, the lowest of a byte first: 1 for these columns, else 0."""
        bits = np.zeros((self.features + 7) // 8, np.uint8)
        np.bitwise_or.at(bits, columns >> 3, np.left_shift(1, columns & 7).astype(np.uint8))
        return bits
