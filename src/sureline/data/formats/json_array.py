"""A JSON array of objects as lines, each of which holds one element of the array."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sureline.data.byte_streams import Utf8Stream
from sureline.data.formats.byte_scan import NEWLINE, QUOTE, RETURN, SPACE, TAB
from sureline.errors import DataError

COMMA, BACKSLASH = ord(","), ord("\\")
OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT = map(ord, "[]{}")
# Where the scan is, as elements of its state.
PLACE, DEPTH, IN_STRING, ESCAPED, STATES = 0, 1, 2, 3, 4
BEFORE, INSIDE, AFTER, BEYOND = 0, 1, 2, 3


def split_elements(data: Any, state: Any, out: Any) -> Any:
    """Copy the elements of an array to `out`, each with a newline after it.

    Returns how many bytes these are. Line breaks within an element become spaces, except in
    strings, which must not have any.
    """
    n = 0
    for i in range(data.shape[0]):
        byte = data[i]
        blank = byte in (SPACE, TAB, NEWLINE, RETURN)
        if state[PLACE] != INSIDE:
            if state[PLACE] == BEFORE and byte == OPEN_ARRAY:
                state[PLACE] = INSIDE
            elif not blank:
                state[PLACE] = BEYOND
                return n
            continue
        if state[IN_STRING]:
            if state[ESCAPED]:
                state[ESCAPED] = 0
            elif byte == BACKSLASH:
                state[ESCAPED] = 1
            elif byte == QUOTE:
                state[IN_STRING] = 0
        elif byte == QUOTE:
            state[IN_STRING] = 1
        elif byte in (OPEN_ARRAY, OPEN_OBJECT):
            state[DEPTH] += 1
        elif state[DEPTH] == 0:
            if blank:
                continue
            if byte == CLOSE_ARRAY:
                state[PLACE] = AFTER
            if byte in (CLOSE_ARRAY, COMMA):
                byte = NEWLINE
        elif byte in (CLOSE_ARRAY, CLOSE_OBJECT):
            state[DEPTH] -= 1
        elif byte in (NEWLINE, RETURN):
            byte = SPACE
        out[n] = byte
        n += 1
    return n


@cache
def _compiled_split() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, given, i8

    return compiled(split_elements, i8(given(types.uint8), array(i8), array(types.uint8)))


class ArrayLines:
    """The elements of a JSON array as a stream of lines."""

    unit = "row"  # what a line is called in messages

    def __init__(self, source: Utf8Stream) -> None:
        self.name, self._source = source.name, source
        self._state = np.zeros(STATES, np.int64)

    def read(self, size: int) -> bytes:
        """About `size` bytes; empty only at the end."""
        # The elements before an error come first, however the file is cut into blocks.
        while self._state[PLACE] != BEYOND and (chunk := self._source.read(size)):
            out = np.empty(len(chunk), np.uint8)
            n = _compiled_split()(np.frombuffer(chunk, np.uint8), self._state, out)
            if n:
                return out[:n].tobytes()
        if self._state[PLACE] == BEYOND:
            raise DataError(
                f"{self.name}: something follows the JSON array; write one array, or one object "
                "per line"
            )
        if self._state[PLACE] != AFTER:
            raise DataError(f"{self.name}: the JSON array is never closed; get the file again")
        return b""
