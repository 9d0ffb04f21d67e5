"""Streams cut into blocks of whole lines, however long a line is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sureline.data.byte_streams import Utf8
from sureline.errors import DataError

# A row as long as this is taken for damage, so that memory stays bounded.
LONGEST_ROW = 2**30


@dataclass(frozen=True)
class LineBlock:
    """Whole lines: their bytes, each line ended by a newline, and the number of the first."""

    data: bytes
    first_line: int


def line_blocks(source: Utf8, size: int) -> Iterator[LineBlock]:
    """Blocks of about `size` bytes, each of whole lines; the last line may lack its newline."""
    line = 1
    pieces: list[bytes] = []
    held = 0
    while True:
        piece = source.read(size if not held else max(size, held))
        cut = piece.rfind(b"\n") + 1
        if piece and not cut:
            pieces.append(piece)
            held += len(piece)
            if held > LONGEST_ROW:
                raise too_long(source.name, line)
            continue
        data = b"".join([*pieces, piece[:cut]])
        if data:
            yield LineBlock(data, line)
            line += data.count(b"\n")
        if not piece:
            return
        pieces = [piece[cut:]] if cut < len(piece) else []
        held = len(piece) - cut


def too_long(name: str, line: int) -> DataError:
    """What to say of a row that does not end."""
    return DataError(
        f"{name}, line {line}: the row is longer than 1 GiB; look for a quote that is never closed "
        "or for a wrong format (format=, --format)"
    )


def line_bounds(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each line of a block starts and ends, without its newline."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    return starts.astype(np.int64), ends.astype(np.int64)
