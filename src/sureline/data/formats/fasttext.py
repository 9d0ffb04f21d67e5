"""fastText lines: ``__label__spam text of the row``, with one label per line or with several.

A row is learned with one label, unless a line in the first bytes of a file has several: all its
rows then have a list of labels, which may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.arrow_arrays import split_strings
from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.byte_streams import ByteStream, Utf8Stream
from sureline.data.formats import Format
from sureline.data.formats.byte_scan import (
    RETURN,
    SPACE,
    TAB,
    byte_set,
    find_byte,
    find_either,
    find_member,
    next_line,
    skip_members,
)
from sureline.data.formats.field_copy import gather_fields
from sureline.data.formats.line_blocks import LineBlock, read_line_blocks
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions

PREFIX = b"__label__"
SEVERAL = re.compile(rb"^[^\S\n]*__label__[^\s]+[^\S\n]+__label__", re.MULTILINE)
_PREFIX = np.frombuffer(PREFIX, np.uint8)
_BLANK = byte_set(SPACE, *range(TAB, RETURN + 1))
# Rows of the arrays of bounds.
LABEL, TEXT = 0, 1


class Lines(NamedTuple):
    """The bounds of label and text of each line, its number of labels, and its line number."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    labels: NDArray[np.int64]
    numbers: NDArray[np.int64]


def split_lines(
    block: Any, prefix: Any, blank: Any, skip_blank: Any, several: Any, lines: Any, number: Any
) -> Any:
    """Find the label and the text of each line; returns the number of lines.

    The label is the first one, or `several` from the first to the last.
    """
    row = 0
    at = 0
    while at < block.shape[0]:
        i, end, at = next_line(block, at, blank)
        if i == end and skip_blank:
            number += 1
            continue
        found = 0
        lines.starts[LABEL, row] = 0
        lines.ends[LABEL, row] = 0
        while i + prefix.shape[0] <= end:
            same = True
            for j in range(prefix.shape[0]):
                if block[i + j] != prefix[j]:
                    same = False
                    break
            if not same:
                break
            start = i + prefix.shape[0]
            i = find_member(block, start, end, blank)
            if found == 0:
                lines.starts[LABEL, row] = start
            if found == 0 or several:
                lines.ends[LABEL, row] = i
            found += 1
            i = skip_members(block, i, end, blank)
        lines.starts[TEXT, row] = i
        lines.ends[TEXT, row] = end
        lines.labels[row] = found
        lines.numbers[row] = number
        row += 1
        number += 1
    return row


@cache
def _compiled_split() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    bytes_ = given(types.uint8)
    lines = types.NamedTuple((array(i8, 2), array(i8, 2), array(i8), array(i8)), Lines)
    return compiled(
        split_lines,
        i8(bytes_, bytes_, given(flag), flag, flag, lines, i8),
        (find_byte, find_either, find_member, skip_members, next_line),
    )


def read(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """Read a fastText file as raw batches."""
    several = options.label_sets
    if options.labelled and not several:
        head = stream.peek()
        if not options.is_utf8:
            head = head.decode(options.encoding, "replace").encode()
        several = SEVERAL.search(head) is not None
    for block in read_line_blocks(Utf8Stream(stream, options.encoding), options, bad):
        yield parse(block, RowErrors(options, bad, stream.name), several)


def parse(block: LineBlock, errors: RowErrors, several: bool = False) -> RawBatch:
    """The rows of some lines; if labels are not read, a blank line is a row of an empty text."""
    labelled, shape = errors.options.labelled, (2, block.n_lines)
    lines = Lines(
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(block.n_lines, np.int64),
        np.empty(block.n_lines, np.int64),
    )
    n = _compiled_split()(block.bytes, _PREFIX, _BLANK, labelled, several, lines, block.first_line)
    starts, ends = lines.starts[:, :n], lines.ends[:, :n]
    label = None
    if labelled:
        label = gather_fields(block.bytes, starts[LABEL], ends[LABEL])
        if several:
            label = _split_labels(label, errors)
        for row in np.flatnonzero(lines.labels[:n] != 1) if not several else ():
            _report_labels(errors, int(row), int(lines.labels[row]))
    text = gather_fields(block.bytes, starts[TEXT], ends[TEXT])
    # fastText labels are names, even if they look like numbers.
    return errors.good_rows(Batch(text=text, label=label), lines.numbers[:n], "typed")


def _split_labels(label: pa.LargeStringArray, errors: RowErrors) -> pa.LargeListArray:
    """The labels of each line, from the text between the first and the last."""
    errors.check_utf8(label, "the label")
    if errors.found:
        good = [row not in errors.found for row in range(len(label))]
        label = pc.if_else(pa.array(good), label, pa.scalar("", pa.large_string()))
    return split_strings(label, PREFIX.decode())


def _report_labels(errors: RowErrors, row: int, count: int) -> None:
    if count == 0:
        errors.add(row, "the line does not begin with a label such as __label__spam")
        return
    errors.add(
        row,
        f"the line has {count} labels, but a row is learned with one",
        "read all rows with several (label_sets=True), or skip such rows (skip_bad=True)",
    )


FORMAT = Format(
    name="fasttext",
    extensions=("fasttext", "ft"),
    matches=lambda sample: sample.line.startswith(PREFIX),
    read=read,
)
