"""A vocabulary for predictions alone: shortened fingerprints, and neither names nor counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter
from sureline.features.names import Names
from sureline.features.rows import Rows
from sureline.features.tokenizer import TokenizedTexts
from sureline.features.vocabulary import Vocabulary, fill_table
from sureline.kernels.text.arguments import VocabularyArrays

Keys = NDArray[np.uint64]

LOW = 32  # the bits of a shortened fingerprint that a file stores; the others come from its place
PER_PLACE = 16  # at most so many features have the same other bits, on average
MOST_BITS = 62
MARK = np.uint64(1 << 63)  # no shortened fingerprint is 0


class CompactVocabulary(Vocabulary):
    """Columns of features, in the order of their fingerprints' lowest `bits` bits.

    A feature that is unknown is taken for a known one with a probability of 2^-28 at most: there
    are 2^32 times as many fingerprints as places, and `PER_PLACE` features for each of these.
    """

    def __init__(self, keys: Keys, bits: int, least: int) -> None:
        super().__init__(least)
        self.bits = bits
        nothing = np.zeros(0, np.int64)
        table = fill_table(keys, nothing.view(np.uint64), nothing)
        sizes = np.array([keys.size, keys.size, 0])
        self.arrays = VocabularyArrays(table, nothing, sizes, Names.empty())

    def look_up(
        self,
        tokens: TokenizedTexts,
        normalize: bool,
        dtype: str,
        unknown: int,
        out: Rows | None = None,
    ) -> Rows:
        """Rows of the texts, as those of `Vocabulary`."""
        keys = shorten(tokens.keys, self.bits)
        short = TokenizedTexts(tokens.indptr, keys, *tokens[2:])
        return super().look_up(short, normalize, dtype, unknown, out)

    def name(self, column: int) -> str:
        """An error: there are no names."""
        raise InvalidParameter(NAMELESS)


NAMELESS = (
    "the model comes from a compact file, which has no names of features; explain a text instead, "
    "or use a file that is not compact"
)


def shorten(keys: Keys, bits: int) -> Keys:
    """The lowest bits of fingerprints, marked so that none is 0."""
    return (keys & np.uint64((1 << bits) - 1)) | MARK


def compact_columns(columns: Vocabulary) -> tuple[CompactVocabulary, NDArray[np.intp]]:
    """The same features in a compact vocabulary, and the column that each of its columns was."""
    keys = columns.keys()
    bits = LOW + max(0, (keys.size // PER_PLACE).bit_length())
    while bits < MOST_BITS and np.unique(shorten(keys, bits)).size < keys.size:
        bits += 1  # two features must not become one
    short = shorten(keys, bits)
    order = np.argsort(short)
    return CompactVocabulary(short[order], bits, columns.least), order
