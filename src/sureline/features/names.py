"""The names of features, one behind the other in one array of bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.features.tokenizer import Found

CHARACTERS = 1  # the byte before a name that is characters, not words


class Names(NamedTuple):
    """Names by number: `ends` tells where each stops in `letters`."""

    ends: NDArray[np.int64]
    letters: NDArray[np.uint8]

    def name(self, number: int) -> str:
        """The name of a feature; characters stand in angle quotes."""
        start = int(self.ends[number - 1]) if number else 0
        raw = self.letters[max(start, 0) : max(int(self.ends[number]), 0)].tobytes()
        text = raw.decode("utf-8", errors="replace")
        return f"‹{text[1:]}›" if raw[:1] == bytes([CHARACTERS]) else text

    def extended(self, found: Found, first: int, named: int, letters: int) -> Names:
        """The same with room for the features of a row, and likely for those of all rows behind it.

        There are so many names and letters so far.
        """
        begin, behind, stop = found.indptr[[first, first + 1, -1]].tolist()
        next_row = behind - begin + int(np.abs(found.lengths[begin:behind]).sum())
        usual = 2 + (2 * letters // named if named else 16)
        return Names(
            roomy(self.ends, named + stop - begin),
            roomy(self.letters, letters + max(next_row, usual * (stop - begin))),
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


def roomy(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with at least so many places; it doubles, so that it seldom has to grow."""
    have = array.shape[0]
    if size <= have:
        return array
    larger = np.zeros((max(size, 2 * have), *array.shape[1:]), array.dtype)
    larger[:have] = array
    return larger
