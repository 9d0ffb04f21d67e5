"""The tokenizer: from texts to the fingerprints of words, n-grams and characters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import local
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data import NamedFeatures, as_text
from sureline.data.surrogates import has_surrogates, replace_surrogates
from sureline.data.table import is_table, table_offsets
from sureline.errors import InvalidParameter
from sureline.features.rows import Rows, cut
from sureline.features.unicode_tables import VERSION, characters
from sureline.kernels.text.arguments import (
    NamedValues,
    Texts,
    TokenBuffers,
    TokenRules,
    Tokens,
)
from sureline.kernels.text.tokenizer import BINARY, BLOCK, COUNTS, FILL_STOPS, LOG, READ_TEXTS
from sureline.options import LONGEST

VERSIONS = (VERSION, 2)  # of the scheme, that can be read
TABLE_VERSION = 3  # that of rows of several columns
UNSPACED = (1, 3)  # characters of words in scripts that are written without spaces
COUNTING = {"binary": BINARY, "counts": COUNTS, "log": LOG}
# Texts are read in chunks of about this many bytes, so that their tokens stay in the cache.
CHUNK_BYTES = 2**19
SHORT = 2**10  # the buffers for single texts take at least so many bytes
NO_OFFSETS = np.zeros(1, np.int64)
NO_TEXT, NO_VALUES = np.zeros(0, np.uint8), np.zeros(0, np.float32)
NO_SPANS = np.zeros((0, 4), np.int64)
NO_COLUMNS = np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64)
NO_NAMED = NamedValues(NO_OFFSETS, NO_TEXT, NO_OFFSETS, NO_VALUES)  # texts and nothing besides


class TokenizedTexts(Tokens):
    """The features of some texts: fingerprints, values, and where in `low` their names are.

    The arrays are views of the buffers that the texts were read into, valid until the next read.
    """

    __slots__ = ()

    def __len__(self) -> int:
        """The number of texts."""
        return self.indptr.size - 1

    def prefix(self, feature: int) -> str:
        """What stands before the name of a feature of the first row: its column, if any."""
        if not self.parts.size:
            return ""
        ends = [0, *self.prefix_ends.tolist()]
        column = int(np.searchsorted(self.parts[1 : len(ends)], feature, side="right"))
        return self.prefixes[ends[column] : ends[column + 1]].tobytes().decode()


@dataclass(frozen=True)
class Tokenizer:
    """Which features a text has. Models store its version, so that they find the same for ever."""

    ngrams: tuple[int, int] | None
    chars: tuple[int, int] | None
    char_scope: str
    lowercase: bool
    counts: str
    stop_words: tuple[str, ...]
    min_length: int
    bits: int = 0  # hash fingerprints to so many bits; 0: keep all 64
    unspaced: bool = False  # characters only of words in scripts that are written without spaces

    @property
    def version(self) -> int:
        """The version of the scheme: the first, or the one that chose such scripts."""
        return 2 if self.unspaced else VERSION

    @classmethod
    def from_options(cls, owner: Any) -> Tokenizer:
        """The tokenizer that an estimator's parameters describe, which have been checked."""
        unspaced = owner.chars == "auto"
        ngrams, chars = _pair(owner.ngrams), UNSPACED if unspaced else _pair(owner.chars)
        if unspaced and ngrams is None:
            chars = None
        if ngrams is None and chars is None:
            raise InvalidParameter(
                f"{type(owner).__name__}: with neither words nor characters a text has no "
                "features; choose one, such as ngrams=(1, 2) or chars=(3, 5)"
            )
        return cls(
            ngrams=ngrams,
            chars=chars,
            char_scope="words" if unspaced else owner.char_scope,
            lowercase=bool(owner.lowercase),
            counts=owner.counts,
            stop_words=tuple(owner.stop_words or ()),
            min_length=int(owner.min_length),
            bits=int(owner.bits) if owner.features == "hash" else 0,
            unspaced=unspaced,
        )

    def read(
        self,
        texts: pa.LargeStringArray,
        named: NamedFeatures | None = None,
        buffers: TokenizerBuffers | None = None,
    ) -> TokenizedTexts:
        """The features of texts, together with the `named` ones.

        The result is a view of `buffers`, or of the thread's own, valid until the next read.
        """
        given, places, letters = NO_NAMED, 0, 0
        if named is not None:
            ends, names = text_buffers(named.names)
            given = NamedValues(named.offsets, names, ends, named.values)
            places, letters = named.values.size, int(ends[-1] - ends[0])
        offsets, data = text_buffers(texts)
        buffers = _THREAD.buffers if buffers is None else buffers
        self._reserve(buffers, np.diff(offsets), places, letters)
        words = READ_TEXTS.loop("float64")(
            Texts(data, offsets), given, self.rules, characters(self.lowercase), buffers.arrays
        )
        return buffers.tokens(offsets.size, buffers.arrays.spans[: 4 * words].reshape(-1, 4))

    def read_one(self, text: Any, learn: bool = False) -> Any:
        """The features of one text, in the thread's buffers, without the spans of its words.

        With `learn`, the numbers of a row of several columns are learned first.
        """
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            raw = replace_surrogates(text).encode()
        buffers, size = _THREAD.buffers, len(raw)
        single = buffers.single
        if single is None or not single.fits(self, size):
            most = max(size, SHORT)
            self._reserve(buffers, np.array([most, 0]), 0, 0)
            single = buffers.single = SingleText(self, buffers, most)
        single.text[:size] = raw
        single.offsets[1] = size
        single.read()
        return single

    def as_rows(self, X: Any) -> pa.Array:
        """Texts, or rows of this tokenizer's columns, as an Arrow array."""
        return as_text(X)

    def places(self, row: pa.Array) -> tuple[str, dict[str, tuple[tuple[int, int], ...]]]:
        """One text as it is shown, and where in it each n-gram of words is, in characters."""
        text = row[0].as_py()
        if self.ngrams is None:
            return text, {}
        at = np.cumsum(np.frombuffer(text.encode(), np.uint8) & 0xC0 != 0x80)
        at = np.concatenate([[0], at])
        tokens = self.read(row)
        spans, low = tokens.spans, tokens.low
        places = dict[str, list[tuple[int, int]]]()
        for i in range(len(spans)):
            for n in range(self.ngrams[0], self.ngrams[1] + 1):
                last = i + n - 1
                if last < len(spans):
                    name = low[spans[i, 0] : spans[last, 1]].tobytes().decode()
                    where = int(at[spans[i, 2]]), int(at[spans[last, 3]])
                    places.setdefault(name, []).append(where)
        return text, {name: tuple(several) for name, several in places.items()}

    @property
    def rules(self) -> TokenRules:
        """Which features a text has, as the kernel takes it."""
        words_from, words_to = self.ngrams or (0, 0)
        chars_from, chars_to = self.chars or (0, 0)
        return TokenRules(
            self.lowercase,
            words_from,
            words_to,
            chars_from,
            chars_to,
            self.char_scope == "text",
            self.min_length,
            self._stops,
            COUNTING[self.counts],
            self.bits,
            self.unspaced,
        )

    def chunks(
        self, texts: pa.LargeStringArray, named: NamedFeatures | None = None
    ) -> Iterator[tuple[slice, TokenizedTexts]]:
        """The features of texts, chunk by chunk."""
        for chunk in chunk_texts(texts):
            yield chunk, self.read_chunk(texts, named, chunk)

    def read_chunk(
        self,
        texts: pa.LargeStringArray,
        named: NamedFeatures | None,
        chunk: slice,
        buffers: TokenizerBuffers | None = None,
    ) -> TokenizedTexts:
        """The features of a chunk of the texts."""
        part = None if named is None else named.slice(chunk.start, chunk.stop)
        return self.read(texts.slice(chunk.start, chunk.stop - chunk.start), part, buffers)

    @cached_property
    def _stops(self) -> NDArray[np.uint64]:
        """A hash table of the stop words' fingerprints."""
        if not self.stop_words:
            return np.zeros(1, np.uint64)
        for word in filter(has_surrogates, self.stop_words):
            raise _no_stop_word(word)
        plain = Tokenizer((1, 1), None, "words", self.lowercase, "binary", (), 1)
        found = plain.read(
            pa.array(list(self.stop_words), pa.large_string()), buffers=TokenizerBuffers()
        )
        parts = np.diff(found.indptr)
        if (parts != 1).any():
            raise _no_stop_word(self.stop_words[int(np.argmax(parts != 1))])
        keys = np.unique(found.keys[: found.indptr[-1]])
        stops = np.zeros(2 << int(keys.size).bit_length(), np.uint64)
        FILL_STOPS.compiled("float64")(keys, stops)
        return stops

    def _reserve(
        self, buffers: TokenizerBuffers, lengths: NDArray[np.int64], places: int, letters: int
    ) -> None:
        """Make the buffers large enough for any texts of these lengths in bytes."""
        total, longest = int(lengths.sum()), int(lengths.max(initial=0))
        words = total // 2 + lengths.size
        one = longest // 2 + 1
        orders = self.ngrams[1] - self.ngrams[0] + 1 if self.ngrams else 0
        most, alone = words * orders, one * orders
        if self.chars:
            spread = self.chars[1] - self.chars[0] + 1
            most += 2 * (total + lengths.size) * spread
            alone += 2 * (longest + 1) * spread
        buffers.reserve(
            texts=lengths.size,
            low=4 * total + 8 * lengths.size + letters + 256,
            words=one,
            features=most + places + 1,
            distinct=alone + places,
        )


class SingleText:
    """Reads one text after the other, of at most `most` bytes each, into the same buffers.

    It keeps the kernel's arguments, since assembling them takes longer than reading a short text.
    """

    def __init__(self, tokenizer: Tokenizer, buffers: TokenizerBuffers, most: int) -> None:
        text = np.zeros(most, np.uint8)
        self.tokenizer, self.most = tokenizer, most
        self.text, self.offsets = text.data, np.zeros(2, np.int64)
        self.texts, self.buffers = Texts(text, self.offsets), buffers.arrays
        self.rules, self.characters = tokenizer.rules, characters(tokenizer.lowercase)
        self.loop = READ_TEXTS.loop("float64")
        self.tokens = buffers.tokens(2, NO_SPANS)
        self._rows: dict[str, Rows] = {}

    def read(self) -> None:
        """Read the text that `text` and `offsets` hold."""
        self.loop(self.texts, NO_NAMED, self.rules, self.characters, self.buffers)

    def fits(self, tokenizer: Tokenizer, size: int) -> bool:
        """Whether a text of so many bytes can be read here."""
        return self.tokenizer is tokenizer and size <= self.most

    def rows(self, dtype: str) -> Rows:
        """A preallocated row for the text."""
        rows = self._rows.get(dtype)
        if rows is None:
            size = self.tokens.keys.size
            ends = np.zeros(2, np.int64)
            rows = self._rows[dtype] = Rows(ends, np.empty(size, np.int32), np.empty(size, dtype))
        return rows


class TokenizerBuffers:
    """Arrays that texts are read into; they grow and are reused."""

    def __init__(self) -> None:
        self.arrays = TokenBuffers(
            low=np.zeros(0, np.uint8),
            runs=np.zeros(0, np.int64),
            word_keys=np.zeros(0, np.uint64),
            chains=np.zeros(LONGEST * BLOCK, np.uint64),
            spans=np.zeros(0, np.int64),
            seen=np.zeros(16, np.uint32),
            own=np.zeros(0, np.uint64),
            indptr=np.zeros(1, np.int64),
            keys=np.zeros(0, np.uint64),
            values=np.zeros(0),
            starts=np.zeros(0, np.int64),
            lengths=np.zeros(0, np.int32),
        )
        self.single: SingleText | None = None

    def tokens(self, size: int, spans: NDArray[np.int64]) -> TokenizedTexts:
        """The texts in the buffers: `size` offsets, and the word spans of the last text."""
        own = self.arrays
        features = own.indptr[:size], own.keys, own.values, own.starts, own.lengths
        return TokenizedTexts(*features, own.low, spans, *NO_COLUMNS)

    def reserve(self, texts: int, low: int, words: int, features: int, distinct: int) -> None:
        """Enlarge the buffers, or shrink those of an unusually large text."""
        sizes = {
            "low": low,
            "runs": 2 * words,
            "word_keys": words,
            "spans": 4 * words,
            "own": distinct + 2,
            "indptr": texts + 1,
            **dict.fromkeys(("keys", "values", "starts", "lengths"), features),
        }
        grown = {name: _at_least(getattr(self.arrays, name), sizes[name]) for name in sizes}
        places, seen = max(16, 4 << int(distinct).bit_length()), self.arrays.seen
        if seen.size < places or seen.size > 64 * max(places, 2**16):
            seen = np.zeros(places, np.uint32)
        self.arrays, self.single = self.arrays._replace(**grown, seen=seen), None


class _ThreadBuffers(local):
    """One set of buffers per thread."""

    def __init__(self) -> None:
        self.buffers = TokenizerBuffers()


_THREAD = _ThreadBuffers()


def thread_buffers() -> TokenizerBuffers:
    """The buffers of the thread that calls."""
    return _THREAD.buffers


def _at_least(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a new one where it is too small or far too large."""
    if size <= array.shape[0] <= 64 * max(size, 2**16):
        return array
    return np.empty(size + size // 4, array.dtype)


def chunk_texts(texts: pa.LargeStringArray, limit: int = CHUNK_BYTES) -> Iterator[slice]:
    """Chunks of consecutive texts with about `limit` bytes each, at least one text."""
    return cut(table_offsets(texts) if is_table(texts) else text_buffers(texts)[0], limit)


def text_buffers(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The offsets and the bytes of Arrow's array, without copying them."""
    _, offsets, data = texts.buffers()
    if offsets is None or not len(texts):
        return NO_OFFSETS, NO_TEXT
    starts = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    return starts, NO_TEXT if data is None else np.frombuffer(data, np.uint8)


def _no_stop_word(word: str) -> InvalidParameter:
    return InvalidParameter(
        f"stop_words must be single words, made of letters, digits and underscores; got {word!r}"
    )


def _pair(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0]), int(value[1]))
