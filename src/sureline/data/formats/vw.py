"""Vowpal Wabbit text lines: ``1 2.0 'tag |ns word word price:2.5``.

Features without a value become words of the text, those with a value become named features.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import string_array
from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch, NamedFeatures
from sureline.data.byte_streams import ByteStream, Utf8Stream
from sureline.data.formats import Format
from sureline.data.formats.byte_scan import NUMBER, read_number, shorten
from sureline.data.formats.line_blocks import LineBlock, read_line_blocks
from sureline.data.formats.vw_lines import (
    BASE,
    HEAD,
    LABEL,
    NAMELESS,
    NO_BAR,
    TAG,
    VALUE_START,
    WEIGHT,
    Split,
    feature_names,
    split_block,
)
from sureline.data.raw_batch import RawBatch, RowErrors
from sureline.data.read_options import ReadOptions

_REASONS = {
    NO_BAR: "the line has no '|' before its features",
    HEAD: "before the '|' come more than a label, an importance, a base and a tag",
    NAMELESS: "a feature has a value and no name",
}
_LINE = re.compile(rb"\s*(?:%b(?:[ \t]+%b){0,2}[ \t]+)?(?:'[^\s|]*[ \t]*)?\|" % (NUMBER, NUMBER))


def read(stream: ByteStream, options: ReadOptions, bad: BadRows) -> Iterator[RawBatch]:
    """Read VW lines as raw batches."""
    for block in read_line_blocks(Utf8Stream(stream, options.encoding), options, bad):
        for split in _bounded(block, options.row_limit):
            yield _raw_batch(split, RowErrors(options, bad, stream.name))


def _bounded(block: LineBlock, limit: int) -> Iterator[Split]:
    """The block split, in several parts where the names of its features take much memory.

    The name of a namespace is written once and is part of the name of each of its features.
    """
    split = split_block(block)
    middle = block.data.find(b"\n", len(block.data) // 2) + 1
    if split.name_bytes.sum() <= limit or not 0 < middle < len(block.data):
        yield split
        return
    line = block.first_line + block.data.count(b"\n", 0, middle)
    yield from _bounded(LineBlock(block.data[:middle], block.first_line), limit)
    yield from _bounded(LineBlock(block.data[middle:], line), limit)


def _raw_batch(split: Split, errors: RowErrors) -> RawBatch:
    """The rows of some lines."""
    lines, options = split.lines, errors.options
    for row in np.flatnonzero(lines.status):
        errors.add(row, _REASONS[int(lines.status[row])])
    table = None
    if options.keep:
        tag = split.strings(TAG)
        errors.check_text(tag, "tag")
        table = pa.RecordBatch.from_arrays([tag], names=["tag"])
    rows = Batch(
        text=string_array(lines.offsets, lines.text),
        named_features=_named_features(split, errors),
        label=split.strings(LABEL) if options.labelled else None,
        weight=_weights(split, errors),
        table=table,
    )
    return errors.good_rows(rows, lines.numbers, "numeric")


def _weights(split: Split, errors: RowErrors) -> NDArray[np.float64] | None:
    """The importance of each line, 1 if none is written; None if no line has one."""
    # The base is not used, but a line whose base is not a number is damaged.
    for row in np.flatnonzero(split.lines.ends[BASE]):
        if not np.isfinite(read_number(split.token(BASE, row))):
            errors.add(row, "the base before the '|' is not a number")
    written = np.flatnonzero(split.lines.ends[WEIGHT])
    if not len(written):
        return None
    weights = np.ones(len(split.lines.numbers))
    known: dict[bytes, float] = {}
    for row in written:
        token = split.token(WEIGHT, row)
        if token not in known:
            known[token] = read_number(token)
        weights[row] = known[token]
        if not (np.isfinite(weights[row]) and weights[row] >= 0.0):
            errors.add(row, f"the importance {shorten(token)} is not a number from 0 up")
    return weights


def _named_features(split: Split, errors: RowErrors) -> NamedFeatures | None:
    """The features with a value; None if there are none."""
    features, data = split.features, split.block.data
    scales = np.empty(len(split.scales))
    for number, (start, stop, row) in enumerate(split.scales):
        scales[number] = read_number(data[start:stop])
        if not np.isfinite(scales[number]):
            errors.add(row, "the scale of a namespace is not a finite number")
    bounds, values = features.bounds, features.values
    if not len(values):
        return None
    for feature in np.flatnonzero(~features.exact):
        values[feature] = read_number(data[slice(*bounds[feature, VALUE_START:])])
    scaled = features.scales >= 0
    values[scaled] *= scales[features.scales[scaled]]
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    for feature in np.flatnonzero(~np.isfinite(narrow)):
        token = shorten(data[slice(*bounds[feature, VALUE_START:])])
        reason = f"the value {token} of a feature is not a finite number in 32 bits"
        errors.add(features.rows[feature], reason)
    sizes = split.name_bytes
    by_row = np.bincount(features.rows, sizes, len(split.lines.numbers))
    for row in np.flatnonzero(by_row > errors.options.row_limit):
        errors.add(row, *errors.options.too_long)
        bounds[features.rows == row] = sizes[features.rows == row] = 0  # these take no memory
    names = feature_names(split.block, bounds, int(sizes.sum()))
    errors.check_utf8(names, "the name of a feature", features.rows)
    return NamedFeatures(split.lines.features, names, narrow)


FORMAT = Format(
    name="vw",
    extensions=("vw",),
    matches=lambda sample: _LINE.match(sample.line) is not None,
    read=read,
)
