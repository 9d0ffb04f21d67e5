"""fastText lines: ``__label__spam text of the row``, one label per line."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.data.batch import Batch
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
from sureline.data.formats.line_blocks import LineBlock, read_lines
from sureline.data.raw_batch import RawBatch, RowErrors

PREFIX = b"__label__"
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
    block: Any, prefix: Any, blank: Any, skip_blank: Any, lines: Any, number: Any
) -> Any:
    """Find the label and the text of each line; returns the number of lines."""
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
        i8(bytes_, bytes_, given(flag), flag, lines, i8),
        (find_byte, find_either, find_member, skip_members, next_line),
    )


def parse(block: LineBlock, errors: RowErrors) -> RawBatch:
    """The rows of some lines; if labels are not read, a blank line is a row of an empty text."""
    labelled, shape = errors.options.labelled, (2, block.n_lines)
    lines = Lines(
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(block.n_lines, np.int64),
        np.empty(block.n_lines, np.int64),
    )
    n = _compiled_split()(block.bytes, _PREFIX, _BLANK, labelled, lines, block.first_line)
    starts, ends = lines.starts[:, :n], lines.ends[:, :n]
    label = None
    if labelled:
        for row in np.flatnonzero(lines.labels[:n] != 1):
            _report_labels(errors, int(row), int(lines.labels[row]))
        label = gather_fields(block.bytes, starts[LABEL], ends[LABEL])
    text = gather_fields(block.bytes, starts[TEXT], ends[TEXT])
    # fastText labels are names, even if they look like numbers.
    return errors.good_rows(Batch(text=text, label=label), lines.numbers[:n], "typed")


def _report_labels(errors: RowErrors, row: int, count: int) -> None:
    if count == 0:
        errors.add(row, "the line does not begin with a label such as __label__spam")
        return
    errors.add(
        row,
        f"the line has {count} labels, but a row is learned with one",
        "write a line for each label, or skip such rows (skip_bad=True)",
    )


FORMAT = Format(
    name="fasttext",
    extensions=("fasttext", "ft"),
    matches=lambda sample: sample.line.startswith(PREFIX),
    read=partial(read_lines, parse),
)
