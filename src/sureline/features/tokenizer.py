"""How a text becomes features: what to look for, with the checks, and the compiled reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import local
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data import Given
from sureline.data.surrogates import replace_surrogates
from sureline.errors import InvalidParameter
from sureline.features.rows import Rows
from sureline.features.unicode_tables import VERSION, characters
from sureline.kernels.text.tokenizer import BINARY, BLOCK, COUNTS, FILL_STOPS, LOG, READ_TEXTS
from sureline.options import LONGEST

COUNTING = {"binary": BINARY, "counts": COUNTS, "log": LOG}
# Texts are read in pieces of about this many bytes, so that what is found stays in the cache.
PIECE = 2**19
SHORT = 2**10  # a text that is read by itself has room for so many bytes at least
NO_OFFSETS = np.zeros(1, np.int64)
NO_TEXT, NO_VALUES = np.zeros(0, np.uint8), np.zeros(0, np.float32)
NO_SPANS = np.zeros((0, 4), np.int64)
NOTHING = NO_OFFSETS, NO_TEXT, NO_OFFSETS, NO_VALUES  # is given besides the texts


class Found(NamedTuple):
    """The features of some texts: fingerprints, values, and where in `low` their names lie.

    The arrays belong to the room that they were read into, until it is used again.
    """

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    low: NDArray[np.uint8]
    spans: NDArray[np.int64]  # of the words of the last text: in `low`, and in the text

    def __len__(self) -> int:
        """The number of texts."""
        return self.indptr.size - 1


@dataclass(frozen=True)
class Scheme:
    """What to look for in a text. Models carry its version, so that they find the same for ever."""

    ngrams: tuple[int, int] | None
    chars: tuple[int, int] | None
    char_scope: str
    lowercase: bool
    counts: str
    stop_words: tuple[str, ...]
    min_length: int
    bits: int = 0  # fold fingerprints to so many bits; 0: keep them whole
    version: int = VERSION

    @classmethod
    def of(cls, owner: Any) -> Scheme:
        """The scheme that an estimator's parameters describe, which have been checked."""
        ngrams, chars = _pair(owner.ngrams), _pair(owner.chars)
        if ngrams is None and chars is None:
            raise InvalidParameter(
                f"{type(owner).__name__}: ngrams and chars are both None, so that a text has no "
                "features; give one of them, such as ngrams=(1, 2)"
            )
        return cls(
            ngrams=ngrams,
            chars=chars,
            char_scope=owner.char_scope,
            lowercase=bool(owner.lowercase),
            counts=owner.counts,
            stop_words=tuple(owner.stop_words or ()),
            min_length=int(owner.min_length),
            bits=int(owner.bits) if owner.features == "hash" else 0,
        )

    def read(
        self, texts: pa.LargeStringArray, given: Given | None = None, room: Room | None = None
    ) -> Found:
        """The features of some texts, and of those `given` with a value.

        What is found lies in the `room`, or in one of the thread's, until that is used again.
        """
        return self._read(*text_buffers(texts), given, room)

    def read_one(self, text: str) -> Single:
        """The features of one text, in the thread's room, without the spans of its words."""
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            raw = replace_surrogates(text).encode()
        room, size = _ROOMS.room, len(raw)
        single = room.single
        if single is None or not single.fits(self, size):
            most = max(size, SHORT)
            self._extend(room, np.array([most, 0]), 0, 0)  # and for the one that types are told by
            single = room.single = Single(self, room, most)
        single.text[:size] = raw
        single.offsets[1] = size
        single.read(*single.arguments)
        return single

    def _read(
        self,
        offsets: NDArray[np.int64],
        data: NDArray[np.uint8],
        given: Given | None,
        room: Room | None = None,
    ) -> Found:
        if given is None:
            named: tuple[NDArray[Any], ...] = NOTHING
            places, letters = 0, 0
        else:
            ends, names = text_buffers(given.names)
            named = (given.offsets, names, ends, given.values)
            places, letters = given.values.size, int(ends[-1] - ends[0])
        room = _ROOMS.room if room is None else room
        self._extend(room, np.diff(offsets), places, letters)
        words = READ_TEXTS.compiled("float64")(data, offsets, *named, *self._arguments(room))
        return room.found(offsets.size, room.spans[: 4 * words].reshape(-1, 4))

    def _arguments(self, room: Room) -> tuple[Any, ...]:
        """What the reader is told besides the texts, to read them into a room."""
        from_, to = self.ngrams or (0, 0)
        first, last = self.chars or (0, 0)
        return (
            *(self.lowercase, from_, to, first, last, self.char_scope == "text"),
            *(self.min_length, self._stops, COUNTING[self.counts], self.bits),
            *characters(self.lowercase),
            *(room.low, room.runs, room.word_keys, room.chains, room.spans, room.seen, room.own),
            *(room.indptr, room.keys, room.values, room.starts, room.lengths),
        )

    def pieces(
        self, texts: pa.LargeStringArray, given: Given | None = None, limit: int = PIECE
    ) -> Iterator[tuple[slice, Found]]:
        """The same, a piece of the texts at a time."""
        for piece in cut_texts(texts, limit):
            yield piece, self.read_piece(texts, given, piece)

    def read_piece(
        self,
        texts: pa.LargeStringArray,
        given: Given | None,
        piece: slice,
        room: Room | None = None,
    ) -> Found:
        """The features of a piece of the texts."""
        part = None if given is None else given.slice(piece.start, piece.stop)
        return self.read(texts.slice(piece.start, piece.stop - piece.start), part, room)

    @cached_property
    def _stops(self) -> NDArray[np.uint64]:
        """A table of the stop words' fingerprints."""
        if not self.stop_words:
            return np.zeros(1, np.uint64)
        plain = Scheme((1, 1), None, "words", self.lowercase, "binary", (), 1)
        found = plain.read(pa.array(list(self.stop_words), pa.large_string()), room=Room())
        parts = np.diff(found.indptr)
        if (parts != 1).any():
            wrong = self.stop_words[int(np.argmax(parts != 1))]
            raise InvalidParameter(
                f"stop_words must be single words, made of letters, digits and underscores; got "
                f"{wrong!r}"
            )
        keys = np.unique(found.keys[: found.indptr[-1]])
        stops = np.zeros(2 << int(keys.size).bit_length(), np.uint64)
        FILL_STOPS.compiled("float64")(keys, stops)
        return stops

    def _extend(self, room: Room, lengths: NDArray[np.int64], places: int, letters: int) -> None:
        """Make room for the most that texts of these lengths in bytes can bring."""
        total, longest = int(lengths.sum()), int(lengths.max(initial=0))
        words = total // 2 + lengths.size
        one = longest // 2 + 1
        orders = self.ngrams[1] - self.ngrams[0] + 1 if self.ngrams else 0
        most, alone = words * orders, one * orders
        if self.chars:
            spread = self.chars[1] - self.chars[0] + 1
            most += 2 * (total + lengths.size) * spread
            alone += 2 * (longest + 1) * spread
        room.extend(
            texts=lengths.size,
            low=4 * total + 8 * lengths.size + letters + 256,
            words=one,
            features=most + places + 1,
            distinct=alone + places,
        )


class Single:
    """One text after the other, of at most so many bytes each, read into a room.

    All that does not change from one to the next is kept here, since putting it together takes
    longer than to read a short text.
    """

    def __init__(self, scheme: Scheme, room: Room, most: int) -> None:
        text = np.zeros(most, np.uint8)
        self.scheme, self.most = scheme, most
        self.text, self.offsets = text.data, np.zeros(2, np.int64)
        self.arguments = (text, self.offsets, *NOTHING, *scheme._arguments(room))
        READ_TEXTS.compiled("float64")(*self.arguments)  # no text; it looks at types once for all
        self.read = READ_TEXTS.unchecked("float64")
        self.found = room.found(2, NO_SPANS)
        self._rows: dict[str, Rows] = {}

    def fits(self, scheme: Scheme, size: int) -> bool:
        """Whether a text of so many bytes has room."""
        return self.scheme is scheme and size <= self.most

    def rows(self, dtype: str) -> Rows:
        """Where the row of the text may be written, until the room is used again."""
        rows = self._rows.get(dtype)
        if rows is None:
            size = self.found.keys.size
            ends = np.zeros(2, np.int64)
            rows = self._rows[dtype] = Rows(ends, np.empty(size, np.int32), np.empty(size, dtype))
        return rows


class Room:
    """Arrays to read texts into; they grow and are used again."""

    def __init__(self) -> None:
        self.indptr = np.zeros(1, np.int64)
        self.low = np.zeros(0, np.uint8)
        self.runs = np.zeros(0, np.int64)
        self.word_keys = np.zeros(0, np.uint64)
        self.chains = np.zeros(LONGEST * BLOCK, np.uint64)
        self.spans = np.zeros(0, np.int64)
        self.keys = np.zeros(0, np.uint64)
        self.values = np.zeros(0)
        self.starts = np.zeros(0, np.int64)
        self.lengths = np.zeros(0, np.int32)
        self.seen = np.zeros(16, np.uint32)
        self.own = np.zeros(0, np.uint64)
        self.single: Single | None = None

    def found(self, size: int, spans: NDArray[np.int64]) -> Found:
        """What has been read into the room: so many offsets, and the words of the last text."""
        return Found(
            *(self.indptr[:size], self.keys, self.values, self.starts, self.lengths, self.low),
            spans,
        )

    def extend(self, texts: int, low: int, words: int, features: int, distinct: int) -> None:
        """Make room, and forget that of an unusually large text."""
        self.single = None
        self.indptr = _at_least(self.indptr, texts + 1)
        self.low = _at_least(self.low, low)
        self.runs = _at_least(self.runs, 2 * words)
        self.word_keys = _at_least(self.word_keys, words)
        self.spans = _at_least(self.spans, 4 * words)
        self.keys = _at_least(self.keys, features)
        self.values = _at_least(self.values, features)
        self.starts = _at_least(self.starts, features)
        self.lengths = _at_least(self.lengths, features)
        self.own = _at_least(self.own, distinct + 2)
        places = max(16, 4 << int(distinct).bit_length())
        if self.seen.size < places or self.seen.size > 64 * max(places, 2**16):
            self.seen = np.zeros(places, np.uint32)


class _Rooms(local):
    """A room a thread."""

    def __init__(self) -> None:
        self.room = Room()


_ROOMS = _Rooms()


def _at_least(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a new one of the size wanted; one that is far too large is given back."""
    if size <= array.shape[0] <= 64 * max(size, 2**16):
        return array
    return np.empty((size + size // 4, *array.shape[1:]), array.dtype)


def cut_texts(texts: pa.LargeStringArray, limit: int = PIECE) -> Iterator[slice]:
    """Cut texts into pieces of about so many bytes each, of one text at least."""
    offsets, _ = text_buffers(texts)
    begin, total = 0, len(texts)
    while begin < total:
        stop = int(np.searchsorted(offsets, offsets[begin] + limit, side="right")) - 1
        stop = min(max(stop, begin + 1), total)
        yield slice(begin, stop)
        begin = stop


def text_buffers(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text starts, and the bytes of all, without copying them."""
    _, offsets, data = texts.buffers()
    if offsets is None or not len(texts):
        return NO_OFFSETS, NO_TEXT
    starts = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    return starts, NO_TEXT if data is None else np.frombuffer(data, np.uint8)


def _pair(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0]), int(value[1]))
