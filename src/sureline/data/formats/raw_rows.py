"""What a format's reader is asked for, and the rows it hands on, labels not yet typed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.bad_rows import BadRows
from sureline.data.batch import Given, take_columns
from sureline.data.formats.string_slices import rows_not_utf8


@dataclass(frozen=True)
class Ask:
    """What is wanted of every input; `Reader` explains the fields."""

    text: str | int | None = None
    label: str | int | None = None
    weight: str | int | None = None
    header: bool | None = None
    delimiter: str | None = None
    quotes: bool = True
    encoding: str = "utf-8"
    labelled: bool = True
    label_as_text: bool = False
    keep: bool = False
    batch_bytes: int = 2**20


@dataclass(frozen=True)
class Part:
    """Rows of one input.

    `labels` tells how far labels can be trusted to have a type: ``"typed"`` ones have it,
    ``"written"`` ones are strings from a file without types, ``"numbers"`` are from a format whose
    labels are numbers, however written. `lines` are the line or row numbers, from 1.
    """

    lines: NDArray[np.int64]
    text: pa.LargeStringArray | None = None
    matrix: Any = None
    given: Given | None = None
    label: pa.Array | None = None
    labels: Literal["typed", "written", "numbers"] = "written"
    weight: NDArray[np.float64] | None = None
    table: pa.RecordBatch | None = None
    unit: str = "line"
    text_name: str | None = None
    label_name: str | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, rows: NDArray[np.int64]) -> Part:
        """These rows alone."""
        return replace(self, lines=self.lines[rows], **take_columns(self, rows))


@dataclass
class Faults:
    """What is wrong with the rows of one part; the first fault found of a row counts."""

    found: dict[int, tuple[str, str]] = field(default_factory=dict)

    def add(self, row: int, reason: str, remedy: str = "") -> None:
        """Note what is wrong with a row, and what to do about it."""
        self.found.setdefault(row, (reason, remedy))

    def check_text(self, array: pa.Array | None, what: str, encoding: str) -> None:
        """Note the rows that are null or no valid UTF-8."""
        if array is None:
            return
        if array.null_count:
            for null in np.flatnonzero(_are_null(array)):
                self.add(int(null), f"the {what} is missing (null)")
        if encoding in ("utf-8", "utf-8-sig"):
            remedy = (
                "say which encoding the file has (encoding=, --encoding latin-1), or skip bad "
                "rows (skip_bad=True, --skip-bad)"
            )
            said = "UTF-8"
        else:
            remedy, said = "say which encoding the file has (encoding=, --encoding)", encoding
        for row in rows_not_utf8(array):
            self.add(row, f"the {what} is not valid {said}", remedy)

    def check_label(self, array: pa.Array | None) -> None:
        """Note the rows whose label is null, NaN or empty."""
        if array is None:
            return
        empty = _are_null(array)
        if pa.types.is_large_string(array.type):
            empty |= _lengths(array) == 0
        elif pa.types.is_floating(array.type):
            empty |= ~np.isfinite(array.to_numpy(zero_copy_only=False))
        for row in np.flatnonzero(empty):
            self.add(int(row), "the label is missing (empty or null)")

    def check_weight(self, array: pa.Array | None) -> NDArray[np.float64] | None:
        """Weights as numbers; notes the rows whose weight is not a finite number from 0 up."""
        if array is None:
            return None
        try:
            values = pc.cast(array, pa.float64(), safe=False)
        except pa.ArrowInvalid:
            values = pa.array([_number(each) for each in array.to_pylist()], pa.float64())
        except pa.ArrowNotImplementedError:
            values = pa.nulls(len(array), pa.float64())
        weights = np.array(values.to_numpy(zero_copy_only=False), np.float64)
        for row in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0))):
            given = array[int(row)].as_py()
            self.add(int(row), f"the weight {given!r} is not a number from 0 up")
        return weights

    def settle(self, part: Part, bad: BadRows, file: str) -> Part:
        """The part without its bad rows, which are noted; or the error of the first of them."""
        if not self.found:
            return part
        for row in sorted(self.found):
            reason, remedy = self.found[row]
            bad.add(file, int(part.lines[row]), reason, remedy, part.unit)
        good = np.ones(len(part), np.bool_)
        good[list(self.found)] = False
        return part.take(np.flatnonzero(good))


def _number(value: Any) -> float | None:
    """A number from what a file holds; None where it is not one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _are_null(array: pa.Array) -> NDArray[np.bool_]:
    """A mask of the nulls of an Arrow array, which may be written to."""
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    return np.array(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _lengths(array: pa.Array) -> NDArray[np.int64]:
    """The lengths of strings in bytes; 0 for nulls."""
    lengths = pc.fill_null(pc.binary_length(array), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)
