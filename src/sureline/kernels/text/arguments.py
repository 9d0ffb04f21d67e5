"""What the loops over texts are given, as NamedTuples, and their Numba types."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from sureline.kernels.arguments import array, f8, flag, given, i8

u1, i4, u8 = types.uint8, types.int32, types.uint64


class Texts(NamedTuple):
    """Texts as UTF-8: `offsets` has where each begins in `data`, and where the last one ends."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class NamedValues(NamedTuple):
    """Features that come with their names and values, besides those that a text has itself.

    `offsets` has where those of each text begin, `places` where each name begins in `letters`.
    Without any, `offsets` has one element.
    """

    offsets: NDArray[np.int64]
    letters: NDArray[np.uint8]
    places: NDArray[np.int64]
    values: NDArray[np.float32]


class Characters(NamedTuple):
    """Tables of characters: of ASCII letters, and of all by pages of 256, which `order` lists."""

    letters: NDArray[np.uint8]
    pages: NDArray[np.int32]
    order: NDArray[np.int32]


class TokenRules(NamedTuple):
    """Which features a text has: n-grams of words and of characters, from so many to so many.

    Without either, its numbers are 0. `across` says whether characters are taken across words, and
    `unspaced` whether only from words with letters of scripts that are written without spaces;
    `least` is the shortest word, `stops` a hash table of words to leave out, `counting` how often
    becomes a value, and `bits` how many of a fingerprint to keep, 0 for all.
    """

    lowercase: bool
    words_from: int
    words_to: int
    chars_from: int
    chars_to: int
    across: bool
    least: int
    stops: NDArray[np.uint64]
    counting: int
    bits: int
    unspaced: bool


class TokenBuffers(NamedTuple):
    """Memory to read texts in: `low` has them in lower case, `seen` and `own` the present one.

    `runs`, `word_keys` and `spans` describe the words of the present text, `chains` neighbours of
    some. The others are those of `Tokens`.
    """

    low: NDArray[np.uint8]
    runs: NDArray[np.int64]
    word_keys: NDArray[np.uint64]
    chains: NDArray[np.uint64]
    spans: NDArray[np.int64]
    seen: NDArray[np.uint32]
    own: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]


class Tokens(NamedTuple):
    """The features of some texts: fingerprints, values, and where in `low` their names are.

    A negative length marks characters. `spans` has where the words of the last text are. Of rows of
    several columns, `parts` has where the features of each column of each row begin, and `prefixes`
    what is put before their names, each up to one of `prefix_ends`; otherwise these are empty.
    """

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    low: NDArray[np.uint8]
    spans: NDArray[np.int64]
    parts: NDArray[np.int64]
    prefixes: NDArray[np.uint8]
    prefix_ends: NDArray[np.int64]


class Names(NamedTuple):
    """Names by number: `ends` has where each ends in `letters`."""

    ends: NDArray[np.int64]
    letters: NDArray[np.uint8]


class VocabularyArrays(NamedTuple):
    """A vocabulary's arrays; `sizes` has the features, the slots taken and the names' bytes."""

    table: NDArray[np.uint64]
    seen: NDArray[np.int64]
    sizes: NDArray[np.int64]
    names: Any


class NamedColumns(NamedTuple):
    """The names that hashing remembers: one bit per column, and the columns in order of naming.

    `sizes` has the names, 1 + the texts since the limit was first reached, and the names' bytes.
    """

    bits: NDArray[np.uint8]
    columns: NDArray[np.int32]
    sizes: NDArray[np.int64]
    names: Any


class OutputRows(NamedTuple):
    """CSR rows that a loop writes to."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[Any]


TEXTS = types.NamedTuple([given(u1), given(i8)], Texts)
NAMED_VALUES = types.NamedTuple(
    [given(i8), given(u1), given(i8), given(types.float32)], NamedValues
)
CHARACTER_TABLES = types.NamedTuple([given(u1), given(i4, 2), given(i4)], Characters)
TOKEN_RULES = types.NamedTuple(
    [flag, i8, i8, i8, i8, flag, i8, given(u8), i8, i8, flag], TokenRules
)
TOKEN_BUFFERS = types.NamedTuple(
    [
        array(u1),
        array(i8),
        array(u8),
        array(u8),
        array(i8),
        array(types.uint32),
        array(u8),
        array(i8),
        array(u8),
        array(f8),
        array(i8),
        array(i4),
    ],
    TokenBuffers,
)
TOKENS = types.NamedTuple(
    [
        given(i8),
        given(u8),
        given(f8),
        given(i8),
        given(i4),
        given(u1),
        given(i8, 2),
        given(i8),
        given(u1),
        given(i8),
    ],
    Tokens,
)
NAMES = types.NamedTuple([array(i8), array(u1)], Names)
VOCABULARY = types.NamedTuple([array(u8, 2), array(i8), array(i8), NAMES], VocabularyArrays)
NAMED_COLUMNS = types.NamedTuple([array(u1), array(i4), array(i8), NAMES], NamedColumns)


def output_rows(real: Any) -> Any:
    """The type of `OutputRows`."""
    return types.NamedTuple([array(i8), array(i4), array(real)], OutputRows)
