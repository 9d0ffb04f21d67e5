"""Plain lines: each line is a text, without a label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.byte_streams import ByteStream
from sureline.data.formats import Format
from sureline.data.formats.byte_scan import RETURN
from sureline.data.formats.field_copy import gather_fields
from sureline.data.formats.line_blocks import LineBlock, line_bounds, read_lines
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions
from sureline.errors import DataError


def read(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """Read plain lines as raw batches."""
    if options.labelled:
        raise DataError(
            f"{stream.name} is read as plain lines, which have no labels; give a file with labels, "
            "or name another format (format=...)"
        )
    return read_lines(parse, stream, options, bad)


def parse(block: LineBlock, errors: RowErrors) -> RawBatch:
    """The rows of some lines; a blank line is a row of an empty text."""
    starts, ends = line_bounds(block)
    windows = (ends > starts) & (block.bytes[np.maximum(ends - 1, 0)] == RETURN)
    text = gather_fields(block.bytes, starts, ends - windows)
    numbers = np.arange(len(starts)) + block.first_line
    return errors.good_rows(Batch(text=text), numbers, "typed")


# Any file could be one of lines, so that the format must be named.
FORMAT = Format(name="lines", extensions=(), matches=lambda sample: False, read=read)
