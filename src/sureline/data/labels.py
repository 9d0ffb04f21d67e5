"""The type of labels, inferred once for all inputs.

Text files have no types: labels that are all whole numbers are read as int64, others as text. The
rows of the first MiB decide, however they are batched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.arrow_arrays import decode, is_list, is_string
from sureline.data.batch import Batch
from sureline.data.raw_batch import RawBatch
from sureline.data.read_options import LABEL_TYPES
from sureline.errors import DataError, InvalidParameter

AS_TEXT = "read labels as text (label_type='text')"
_NOUNS = {"text": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}
# Beyond this float64 skips whole numbers.
_EXACT = 2.0**53


def cast_label(array: pa.Array) -> pa.Array | None:
    """A column of a typed file as large_string, int64, double or bool; None for other types."""
    array = decode(array)
    kind = array.type
    if is_list(kind):
        values = cast_label(array.flatten())
        if values is None or is_list(values.type):
            return None
        lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return pa.LargeListArray.from_arrays(starts, values)
    if is_string(kind):
        return array.cast(pa.large_string())
    if pa.types.is_integer(kind):
        return array.cast(pa.int64())
    if pa.types.is_floating(kind):
        return array.cast(pa.float64())
    if pa.types.is_boolean(kind):
        return array
    return pa.nulls(len(array), pa.large_string()) if pa.types.is_null(kind) else None


class LabelConverter:
    """Infers the type of labels, unless it is given, and converts those of raw batches to it."""

    def __init__(self, label_type: str, sets: bool = False) -> None:
        if label_type not in LABEL_TYPES:
            raise InvalidParameter(
                f"label_type {label_type!r} does not exist; it can be {', '.join(LABEL_TYPES)}"
            )
        self.fixed = label_type != "auto"
        self.kind: str | None = label_type if self.fixed else None
        self.sets: bool | None = sets or None  # whether rows have lists of labels, if that is known

    def infer(self, batches: list[RawBatch]) -> None:
        """Infer the type from these rows, unless it is known."""
        filled = [batch for batch in batches if len(batch)]
        if self.sets is None and filled:
            labels: list[Any] = [batch.rows.label for batch in filled]
            self.sets = any(is_list(each.type) for each in labels)
        if self.sets:
            filled = [_values_of(batch) for batch in filled]
            filled = [batch for batch in filled if len(batch)]
            if not filled and batches:
                self.kind = self.kind or "text"
        if self.kind is not None:
            return
        typed = [_infer_type(batch) for batch in filled if batch.labels == "typed"]
        if typed:
            # A label of another type is reported when it is converted.
            self.kind = "float" if typed[0] == "int" and "float" in typed else typed[0]
        elif filled:
            found = {_infer_type(batch) for batch in filled}
            self.kind = "text" if "text" in found else "float" if "float" in found else "int"

    def convert(self, batch: RawBatch, file: str) -> pa.Array | None:
        """The labels of a batch in the inferred type; an error at the first that does not fit."""
        label = batch.rows.label
        if label is None:
            return label
        several = is_list(label.type)
        if self.sets is None:
            self.sets = several
        if several and not self.sets:
            raise DataError(
                f"{file}, {batch.unit} {batch.lines[0]}: rows have lists of labels, and those "
                "before them have one label each; read all rows with several (label_sets=True)"
            )
        if self.sets and self.kind is not None:
            return self._convert_sets(batch, file)
        if self.kind is None:
            return label
        have = _type_name(label)
        if have == self.kind:
            return label
        free = self.fixed or batch.labels != "typed"
        if have == "text" and free:
            converted, fits = _from_text(label, self.kind, batch.labels == "numeric")
        elif self.kind == "text" and free:
            return _to_text(label, batch.labels == "numeric")
        elif {have, self.kind} == {"int", "float"}:
            converted, fits = _between_numbers(label, self.kind)
        else:
            converted, fits = label, np.zeros(len(label), np.bool_)
        if not fits.all():
            row = int(np.argmin(fits))
            why = "as required" if self.fixed else "as the labels before it are"
            value, remedy = label[row].as_py(), AS_TEXT
            if isinstance(value, float) and value.is_integer():
                value = int(value)  # a 2 among numbers with fractions is a 2 all the same
            if value == batch.label_name:
                remedy = "remove the line if it repeats the header"
            raise DataError(
                f"{file}, {batch.unit} {batch.lines[row]}: the label {value!r} is not "
                f"{_NOUNS[self.kind]}, {why}; {remedy}"
            )
        return converted

    def _convert_sets(self, batch: RawBatch, file: str) -> pa.LargeListArray:
        """Lists of labels in the inferred type; a label alone is a list of one."""
        label: Any = batch.rows.label
        if not is_list(label.type):
            label = pa.LargeListArray.from_arrays(np.arange(len(label) + 1), label)
        lengths = label.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        lines = np.repeat(batch.lines, lengths)
        one = replace(batch, rows=Batch(label=label.flatten()), lines=lines)
        converter = LabelConverter("auto")
        converter.fixed, converter.kind, converter.sets = self.fixed, self.kind, False
        values = converter.convert(one, file)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return pa.LargeListArray.from_arrays(starts, values)


def _values_of(batch: RawBatch) -> RawBatch:
    """The labels of a batch, one by one, with their lists' lines."""
    label: Any = batch.rows.label
    values = label.flatten() if is_list(label.type) else label
    return replace(batch, rows=Batch(label=values), lines=np.zeros(len(values), np.int64))


def _type_name(label: pa.Array) -> str:
    """Which of `LABEL_TYPES` an array of labels has."""
    if pa.types.is_large_string(label.type):
        return "text"
    if pa.types.is_boolean(label.type):
        return "bool"
    return "int" if pa.types.is_integer(label.type) else "float"


def _infer_type(batch: RawBatch) -> str:
    """Which type the labels of a batch should have by themselves."""
    label = batch.rows.label
    name = _type_name(label)
    if batch.labels == "typed":
        return name
    if batch.labels == "untyped":
        return "int" if _from_text(label, "int", numeric=False)[1].all() else "text"
    if name == "text":
        values, fits = _from_text(label, "float", numeric=True)
        if not fits.all():
            return "text"
        label = values
    return "int" if _between_numbers(label, "int")[1].all() else "float"


def _from_text(label: pa.Array, kind: str, numeric: bool) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Labels parsed from strings, and which of them can be; if `numeric`, +1 and 1.0 are ints."""
    if kind == "int" and numeric:
        values, fits = _from_text(label, "float", numeric)
        whole, fit = _between_numbers(values, "int")
        return whole, fits & fit
    if kind == "bool":
        lower = pc.utf8_lower(label)
        fits = pc.is_in(lower, pa.array(["true", "false"], pa.large_string()))
        return pc.equal(lower, "true"), _mask(fits)
    target = pa.int64() if kind == "int" else pa.float64()
    try:
        values = pc.cast(label, target)
    except pa.ArrowInvalid:
        parse = int if kind == "int" else float
        codes = label.dictionary_encode()
        parsed = [_parse(each, parse) for each in codes.dictionary.to_pylist()]
        values = pa.array(parsed, target).take(codes.indices)
    if kind == "int":
        # 007, +7 and 7 would become one label: only the usual way to write a number counts.
        fits = pc.equal(pc.cast(values, pa.large_string()), label)
    else:
        fits = pc.is_finite(values)
    return values, _mask(fits)


def _parse(value: str, parse: Any) -> Any:
    """A number from a string; None if it is not one that Arrow can hold."""
    if not value.isascii() or "_" in value or value != value.strip():
        return None
    try:
        number = parse(value)
    except ValueError:
        return None
    return number if isinstance(number, float) or -(2**63) <= number < 2**63 else None


def _between_numbers(label: pa.Array, kind: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Integers as floats, or floats as integers; and which of them stay exact."""
    values = np.asarray(label.to_numpy(zero_copy_only=False), np.float64)
    exact = np.abs(values) <= _EXACT
    if kind == "float":
        return pc.cast(label, pa.float64(), safe=False), exact
    exact &= values == np.trunc(values)
    return pa.array(np.where(exact, values, 0.0).astype(np.int64)), exact


def _to_text(label: pa.Array, numeric: bool) -> pa.Array:
    """Labels of another type as text: true, 3, 2.5, 1.0; or 1 for 1.0 if `numeric`."""
    if pa.types.is_floating(label.type):
        shown = [repr(each) for each in label.to_pylist()]
        if numeric:
            shown = [each.removesuffix(".0") for each in shown]
        return pa.array(shown, pa.large_string())
    return pc.cast(label, pa.large_string())


def _mask(array: pa.Array) -> NDArray[np.bool_]:
    """An Arrow mask as a NumPy one; null is false."""
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), np.bool_)
