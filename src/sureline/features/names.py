"""The names of features, concatenated in one array of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.features.tokenizer import TokenizedTexts
from sureline.kernels.text import arguments

CHARACTERS = 1  # the byte before the name of a character n-gram


class Names(arguments.Names):
    """Names by number: `ends` has where each ends in `letters`."""

    __slots__ = ()

    @classmethod
    def empty(cls) -> Names:
        """No names."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.uint8))

    def name(self, number: int) -> str:
        """The name of a feature; character n-grams are in angle quotes."""
        start = int(self.ends[number - 1]) if number else 0
        raw = self.letters[max(start, 0) : max(int(self.ends[number]), 0)].tobytes()
        return spelled(raw.decode("utf-8", errors="replace"))

    def reserved(self, tokens: TokenizedTexts, first: int, named: int, letters: int) -> Names:
        """The same with capacity for one text's features, and likely for those of all after it.

        There are `named` names of `letters` bytes so far.
        """
        begin, behind, stop = tokens.indptr[[first, first + 1, -1]].tolist()
        prefix = int(np.diff(tokens.prefix_ends, prepend=0).max(initial=0))
        features = behind - begin
        next_text = features * (1 + prefix) + int(np.abs(tokens.lengths[begin:behind]).sum())
        usual = 2 + (2 * letters // named if named else 16 + prefix)
        return Names(
            grow(self.ends, named + stop - begin),
            grow(self.letters, letters + max(next_text, usual * (stop - begin))),
        )

    def kept(self, numbers: NDArray[np.intp]) -> Names:
        """Some of the names, in a new order."""
        used = int(numbers.max(initial=-1)) + 1
        offsets = np.concatenate([np.zeros(1, np.int64), self.ends[:used]])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.letters)]
        names = pa.Array.from_buffers(pa.large_binary(), used, buffers)
        names.validate(full=True)  # ends may come from a file
        _, ends, letters = names.take(pa.array(numbers)).buffers()
        return Names(
            np.frombuffer(ends, np.int64, numbers.size + 1)[1:].copy(),
            np.frombuffer(letters, np.uint8).copy(),
        )

    @classmethod
    def concatenated(cls, several: Sequence[Names], counts: Sequence[int]) -> Names:
        """So many of the first names of each, one after the other."""
        ends, letters, behind = list[NDArray[np.int64]](), list[NDArray[np.uint8]](), 0
        for names, count in zip(several, counts, strict=True):
            last = int(names.ends[count - 1]) if count else 0
            ends.append(names.ends[:count] + behind)
            letters.append(names.letters[:last])
            behind += last
        return cls(np.concatenate(ends), np.concatenate(letters))

    @classmethod
    def from_arrow(cls, names: Any) -> Names:
        """Names from an Arrow array of binary strings."""
        whole = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
        whole = whole.cast(pa.large_binary())
        if not len(whole):
            return cls.empty()
        _, offsets, letters = whole.buffers()
        ends = np.frombuffer(offsets, np.int64, len(whole) + 1, 8 * whole.offset)
        raw = np.zeros(0, np.uint8) if letters is None else np.frombuffer(letters, np.uint8)
        return cls(ends[1:] - ends[0], raw[ends[0] : ends[-1]])

    def to_arrow(self) -> pa.Array:
        """The names as an Arrow array of binary strings."""
        ends = np.concatenate([[0], self.ends]).astype(np.int32)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(self.letters))]
        return pa.Array.from_buffers(pa.binary(), self.ends.size, buffers)


def spelled(name: str) -> str:
    """A name as people read it: what follows a byte 1, characters, is put in angle quotes."""
    before, mark, characters = name.partition(chr(CHARACTERS))
    return f"{before}‹{characters}›" if mark else name


def grow(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with capacity for `size` items; it doubles, so that it seldom has to grow."""
    have = array.shape[0]
    if size <= have:
        return array
    larger = np.zeros((max(size, 2 * have), *array.shape[1:]), array.dtype)
    larger[:have] = array
    return larger
