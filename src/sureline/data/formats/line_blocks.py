"""Text files in blocks of whole lines, however long a line is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import ByteStream, Utf8Stream
from sureline.data.formats.byte_scan import NEWLINE
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions
from sureline.errors import DataError

# A longer row is taken for damage, so that memory stays bounded.
LONGEST_ROW = 2**30


@dataclass(frozen=True)
class LineBlock:
    """Whole lines: their bytes, and the number of the first line."""

    data: bytes
    first_line: int

    @cached_property
    def bytes(self) -> NDArray[np.uint8]:
        """The data as an array."""
        return np.frombuffer(self.data, np.uint8)

    @cached_property
    def n_lines(self) -> int:
        """The number of lines; the last one may lack its newline."""
        return count_lines(self.bytes)


def count_lines(block: NDArray[np.uint8]) -> int:
    """An upper bound of the number of lines: one more than there are newlines."""
    return int(np.count_nonzero(block == NEWLINE)) + 1


def read_line_blocks(source: Utf8Stream, size: int) -> Iterator[LineBlock]:
    """Blocks of about `size` bytes, each of whole lines."""
    line = 1
    chunks: list[bytes] = []
    held = 0
    while True:
        chunk = source.read(max(size, held))
        cut = chunk.rfind(b"\n") + 1
        if chunk and not cut:
            chunks.append(chunk)
            held += len(chunk)
            if held > LONGEST_ROW:
                raise row_too_long(source.name, line)
            continue
        data = b"".join([*chunks, chunk[:cut]])
        if data:
            yield LineBlock(data, line)
            line += data.count(b"\n")
        if not chunk:
            return
        chunks = [chunk[cut:]] if cut < len(chunk) else []
        held = len(chunk) - cut


def read_lines(
    parse: Callable[[LineBlock, RowErrors], RawBatch],
    stream: ByteStream,
    options: ReadOptions,
    bad: BadRows,
) -> Iterator[RawBatch]:
    """Read a text file by blocks of lines, each of which `parse` makes a raw batch of."""
    for block in read_line_blocks(Utf8Stream(stream, options.encoding), options.batch_bytes):
        yield parse(block, RowErrors(options, bad, stream.name))


def row_too_long(name: str, line: int) -> DataError:
    """The error of a row that does not end."""
    return DataError(
        f"{name}, line {line}: the row is longer than 1 GiB; look for a quote that is never closed "
        "or for a wrong format (format=...)"
    )


def line_bounds(block: LineBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each line of a block starts and ends, without its newline."""
    ends = np.flatnonzero(block.bytes == NEWLINE)
    if not block.data.endswith(b"\n"):
        ends = np.append(ends, len(block.data))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    return starts.astype(np.int64), ends.astype(np.int64)
