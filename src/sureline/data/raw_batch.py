"""Rows as a file format reads them: labels have no final type yet, and bad rows are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.arrow_arrays import (
    is_list,
    is_string,
    null_mask,
    rows_not_utf8,
    split_strings,
    with_valid_utf8,
)
from sureline.data.bad_rows import BadRows
from sureline.data.batch import Batch
from sureline.data.columns import SelectedColumns
from sureline.data.read_options import COLUMN, ReadOptions
from sureline.data.table import as_column, as_struct, is_table

NAME_ENCODING = "name the encoding of the file (encoding='latin-1')"


@dataclass(frozen=True)
class RawBatch:
    """Rows of one file, with what is needed to type their labels and to report errors.

    `lines` has the number of each row's line, or of the row itself, as `unit` says, counted from 1.
    Labels from a file with types keep theirs ("typed"), those from a file without are strings
    ("untyped"), those of some formats are numbers, however written ("numeric").
    """

    rows: Batch
    lines: NDArray[np.int64]
    labels: Literal["typed", "untyped", "numeric"] = "untyped"
    unit: str = "line"
    text_name: str | None = None
    label_name: str | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, indices: NDArray[np.int64]) -> RawBatch:
        """Only the rows at `indices`."""
        return replace(self, rows=self.rows.take(indices), lines=self.lines[indices])

    def without(self, indices: list[int]) -> RawBatch:
        """All rows but those at `indices`."""
        return self.take(np.delete(np.arange(len(self)), indices))


@dataclass
class RowErrors:
    """What is wrong with some rows of a file; only the first error of a row counts."""

    options: ReadOptions
    bad: BadRows
    file: str
    found: dict[int, tuple[str, str]] = field(default_factory=dict)

    def add(self, row: int | np.integer[Any], reason: str, remedy: str = "") -> None:
        """Note what is wrong with a row, and what to do about it."""
        self.found.setdefault(int(row), (reason, remedy))

    def check_text(self, array: pa.Array | None, what: str) -> None:
        """Note the rows that are null or not valid text."""
        if array is None:
            return
        for row in np.flatnonzero(null_mask(array)):
            self.add(row, f"the {what} is missing (null)")
        self.check_utf8(array, f"the {what}")

    def check_utf8(
        self, array: pa.Array, what: str, row_of: NDArray[np.int64] | None = None
    ) -> None:
        """Note the rows of strings that are not valid text; `row_of` maps strings to rows."""
        encoding, remedy = self.options.encoding, "name the encoding of the file (encoding=...)"
        if self.options.is_utf8:
            encoding = "UTF-8"
            remedy = f"{NAME_ENCODING}, or skip bad rows (skip_bad=True)"
        for at in rows_not_utf8(array):
            self.add(
                at if row_of is None else row_of[at], f"{what} is not valid {encoding}", remedy
            )

    def read_table(self, arrays: Mapping[str, Any]) -> pa.StructArray:
        """The columns of a table by role; notes the rows whose values are not of their kind."""
        made = list[pa.Array]()
        for name, kind in self.options.table:
            array = arrays[f"{COLUMN}{name}"]
            if isinstance(array, pa.Array) and is_string(array.type):
                array = array.cast(pa.large_string())
                self.check_utf8(array, f"the column {name!r}")
                array = with_valid_utf8(array)
            made.append(as_column(array, name, kind, self.add))
        return as_struct(made, dict(self.options.table))

    def check_label(self, array: pa.Array | None) -> None:
        """Note the rows whose label is null, NaN, empty or not valid text."""
        if array is None:
            return
        if is_list(array.type):
            self._check_lists(array)
            return
        missing = null_mask(array)
        if pa.types.is_large_string(array.type):
            self.check_text(array, "label")
            lengths = pc.fill_null(pc.binary_length(array), 0)
            missing |= lengths.to_numpy(zero_copy_only=False) == 0
        elif pa.types.is_floating(array.type):
            missing |= ~np.isfinite(array.to_numpy(zero_copy_only=False))
        for row in np.flatnonzero(missing):
            self.add(row, "the label is missing (empty or null)")

    def _check_lists(self, array: pa.Array) -> None:
        """Note the rows with a list in which a label is null, empty or not valid text."""
        lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        rows, values = np.repeat(np.arange(len(array)), lengths), array.flatten()
        missing = null_mask(values)
        if pa.types.is_large_string(values.type):
            self.check_utf8(values, "a label", rows)
            sizes = pc.fill_null(pc.binary_length(values), 0)
            missing |= sizes.to_numpy(zero_copy_only=False) == 0
        elif pa.types.is_floating(values.type):
            missing |= ~np.isfinite(values.to_numpy(zero_copy_only=False))
        for row in rows[missing]:
            self.add(row, "one of the labels is missing (empty or null)")

    def check_weight(self, array: pa.Array | None) -> NDArray[np.float64] | None:
        """Weights as numbers; notes the rows whose weight is not a finite number from 0 up."""
        if array is None:
            return None
        try:
            values = pc.cast(array, pa.float64(), safe=False)
        except pa.ArrowInvalid:
            values = pa.array([_as_float(each) for each in array.to_pylist()], pa.float64())
        except pa.ArrowNotImplementedError:
            values = pa.nulls(len(array), pa.float64())
        weights = np.array(values.to_numpy(zero_copy_only=False), np.float64)
        for row in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0))):
            value = array[int(row)].as_py()
            self.add(row, f"the weight {value!r} is not a number from 0 up")
        return weights

    def good_rows(
        self,
        rows: Batch,
        lines: NDArray[np.int64],
        labels: Literal["typed", "untyped", "numeric"],
        columns: SelectedColumns | None = None,
        unit: str = "line",
    ) -> RawBatch:
        """The rows without the bad ones, which are counted; or the error of the first of them."""
        if rows.text is None or not is_table(rows.text):
            self.check_text(rows.text, "text")
        separator, label = self.options.label_separator, rows.label
        split = separator is not None and label is not None and is_string(label.type)
        if split:
            self.check_text(label, "label")
        else:
            self.check_label(label)
        names = (columns.text_name, columns.label_name) if columns else ()
        batch = RawBatch(rows, lines, labels, unit, *names)
        for row, (reason, remedy) in sorted(self.found.items()):
            self.bad.add(self.file, int(lines[row]), reason, remedy, unit)
        batch = batch.without(list(self.found)) if self.found else batch
        if split and separator is not None:
            lists = split_strings(batch.rows.label, separator)
            batch = replace(batch, rows=replace(batch.rows, label=lists))
        return batch


def _as_float(value: Any) -> float | None:
    """A number from a value of a file; None if it is not one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
