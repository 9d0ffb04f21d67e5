"""fastText lines: ``__label__spam text of the row``, one label a line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from sureline.data.bad_rows import BadRows
from sureline.data.byte_streams import Utf8
from sureline.data.formats.blocks import line_blocks
from sureline.data.formats.byte_scan import NEWLINE, RETURN, find_byte, find_either
from sureline.data.formats.raw_rows import Ask, Faults, Part
from sureline.data.formats.string_slices import gather

PREFIX = b"__label__"
_PREFIX = np.frombuffer(PREFIX, np.uint8)


def split_lines(
    block: Any,
    prefix: Any,
    skip_blank: Any,
    starts: Any,
    ends: Any,
    labels: Any,
    lines: Any,
    line: Any,
) -> Any:
    """Find the label (first rows of `starts` and `ends`) and the text of each line."""
    size = block.shape[0]
    row = 0
    at = 0
    while at < size:
        end = find_byte(block, at, size, NEWLINE)
        after = end + 1
        while end > at and block[end - 1] == RETURN:
            end -= 1
        i = at
        while i < end and (block[i] == 32 or 9 <= block[i] <= 13):
            i += 1
        if i == end and skip_blank:
            at = after
            line += 1
            continue
        found = 0
        starts[0, row] = 0
        ends[0, row] = 0
        while i + prefix.shape[0] <= end:
            same = True
            for j in range(prefix.shape[0]):
                if block[i + j] != prefix[j]:
                    same = False
                    break
            if not same:
                break
            found += 1
            i += prefix.shape[0]
            if found == 1:
                starts[0, row] = i
            while i < end and not (block[i] == 32 or 9 <= block[i] <= 13):
                i += 1
            if found == 1:
                ends[0, row] = i
            while i < end and (block[i] == 32 or 9 <= block[i] <= 13):
                i += 1
        starts[1, row] = i
        ends[1, row] = end
        labels[row] = found
        lines[row] = line
        row += 1
        line += 1
        at = after
    return row


@cache
def _split_lines() -> Any:
    from numba import types

    from sureline.kernels.compiling import array, compiled, flag, given, i8

    u1 = types.uint8
    signature = i8(
        *(given(u1), given(u1), flag, array(i8, 2), array(i8, 2), array(i8), array(i8), i8)
    )
    return compiled(split_lines, signature, (find_byte, find_either))


def read_fasttext(source: Utf8, ask: Ask, bad: BadRows) -> Iterator[Part]:
    """Read fastText lines as parts of about `ask.batch_bytes`."""
    for lines in line_blocks(source, ask.batch_bytes):
        size = lines.data.count(b"\n") + 1
        block = np.frombuffer(lines.data, np.uint8)
        starts, ends = np.empty((2, size), np.int64), np.empty((2, size), np.int64)
        labels, numbers = np.empty(size, np.int64), np.empty(size, np.int64)
        n = _split_lines()(
            block, _PREFIX, ask.labelled, starts, ends, labels, numbers, lines.first_line
        )
        faults = Faults()
        text = gather(block, starts[1, :n], ends[1, :n])
        faults.check_text(text, "text", ask.encoding)
        label = None
        if ask.labelled:
            for row in np.flatnonzero(labels[:n] != 1):
                faults.add(int(row), *_complaint(int(labels[row])))
            label = gather(block, starts[0, :n], ends[0, :n])
            faults.check_text(label, "label", ask.encoding)
            faults.check_label(label)
        # fastText labels are names, even where they look like numbers.
        part = Part(numbers[:n], text=text, label=label, labels="typed")
        yield faults.settle(part, bad, source.name)


def _complaint(count: int) -> tuple[str, str]:
    """What is wrong with a line that has not exactly one label, and what to do."""
    if count == 0:
        return "the line does not begin with a label such as __label__spam", ""
    return (
        f"the line has {count} labels, and a row is learned with one",
        "write a line for each label, or skip such rows (skip_bad=True, --skip-bad)",
    )
