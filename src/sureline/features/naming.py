"""The names of features, one behind the other in one array of bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

    def extended(self, names: int, letters: int) -> Names:
        """The same with room for more, or itself where there is enough."""
        return Names(roomy(self.ends, names), roomy(self.letters, letters))

    def kept(self, numbers: NDArray[np.intp]) -> Names:
        """Some of the names, in a new order."""
        starts = np.concatenate([np.zeros(1, np.int64), self.ends])[numbers]
        lengths = self.ends[numbers] - starts
        ends = np.cumsum(lengths)
        shifts = np.repeat(starts - (ends - lengths), lengths)
        letters = self.letters[np.arange(shifts.size) + shifts]
        return Names(ends, letters)


def roomy(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with at least so many places; it doubles, so that it seldom has to grow."""
    have = array.shape[0]
    if size <= have:
        return array
    larger = np.zeros((max(size, 2 * have), *array.shape[1:]), array.dtype)
    larger[:have] = array
    return larger
