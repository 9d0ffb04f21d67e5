"""Text files in blocks of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import ByteStream, Utf8Stream
from sureline.data.formats.byte_scan import NEWLINE
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions


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


class Lines(Protocol):
    """A stream of lines; `unit` is what messages call a line."""

    name: str
    unit: str

    def read(self, size: int) -> bytes:
        """About `size` bytes; empty only at the end."""


def count_lines(block: NDArray[np.uint8]) -> int:
    """An upper bound of the number of lines: one more than there are newlines."""
    return int(np.count_nonzero(block == NEWLINE)) + 1


def read_line_blocks(source: Lines, options: ReadOptions, bad: BadRows) -> Iterator[LineBlock]:
    """Blocks of about `options.batch_bytes`, each of whole lines; lines too long are bad rows."""
    line, begun, size, skipping = 1, list[bytes](), 0, False
    while True:
        chunk = source.read(options.batch_bytes)
        final = not chunk
        if skipping:  # the rest of a line that is too long
            end = chunk.find(b"\n") + 1
            if not (end or final):
                continue
            chunk, line, skipping = chunk[end:], line + 1, False
        cut = chunk.rfind(b"\n") + 1
        if cut or final:
            data = b"".join([*begun, chunk[:cut]])
            if data:
                yield from _short_lines(LineBlock(data, line), source, options, bad)
            line += data.count(b"\n")
            begun, size, chunk = [], 0, chunk[cut:]
        if final:
            return
        begun.append(chunk)
        size += len(chunk)
        if size > options.row_limit:
            bad.add(source.name, line, *options.too_long, source.unit)
            begun, size, skipping = [], 0, True


def _short_lines(
    block: LineBlock, source: Lines, options: ReadOptions, bad: BadRows
) -> Iterator[LineBlock]:
    """The block in parts, without the lines that are too long."""
    begin = first = 0
    if len(block.data) > options.row_limit:
        starts, ends = line_bounds(block)
        for row in np.flatnonzero(ends - starts > options.row_limit).tolist():
            if begin < starts[row]:
                yield LineBlock(block.data[begin : starts[row]], block.first_line + first)
            bad.add(source.name, block.first_line + row, *options.too_long, source.unit)
            begin, first = int(ends[row]) + 1, row + 1
    if begin == 0:
        yield block
    elif begin < len(block.data):
        yield LineBlock(block.data[begin:], block.first_line + first)


def read_lines(
    parse: Callable[[LineBlock, RowErrors], RawBatch],
    stream: ByteStream,
    options: ReadOptions,
    bad: BadRows,
) -> Iterator[RawBatch]:
    """Read a text file by blocks of lines, each of which `parse` makes a raw batch of."""
    for block in read_line_blocks(Utf8Stream(stream, options.encoding), options, bad):
        yield parse(block, RowErrors(options, bad, stream.name))


def line_bounds(block: LineBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each line of a block starts and ends, without its newline."""
    ends = np.flatnonzero(block.bytes == NEWLINE)
    if not block.data.endswith(b"\n"):
        ends = np.append(ends, len(block.data))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    return starts.astype(np.int64), ends.astype(np.int64)
