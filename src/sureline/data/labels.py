"""The type of labels, decided once for all inputs.

Text files have no types: labels that are all whole numbers are read as int64, others as text. The
rows of the first MiB decide, however they are cut into batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.formats.raw_rows import Part
from sureline.errors import DataError, InvalidParameter

LABEL_TYPES = ("auto", "text", "int", "float", "bool")
_SPOKEN = {"text": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}
_REMEDY = "read labels as text (label_type='text', --label-type text)"
# Beyond this float64 skips whole numbers.
_EXACT = 2.0**53


def check_label_type(label_type: str) -> None:
    """Raise InvalidParameter unless this is a type of labels."""
    if label_type not in LABEL_TYPES:
        raise InvalidParameter(
            f"label_type {label_type!r} does not exist; it can be {', '.join(LABEL_TYPES)}"
        )


def plain_label(array: pa.Array) -> pa.Array | None:
    """A column of a typed file as large_string, int64, double or bool; None for other types."""
    array = plain(array)
    kind = array.type
    if is_stringlike(kind):
        return array.cast(pa.large_string())
    if pa.types.is_integer(kind):
        return array.cast(pa.int64())
    if pa.types.is_floating(kind):
        return array.cast(pa.float64())
    if pa.types.is_boolean(kind):
        return array
    return pa.nulls(len(array), pa.large_string()) if pa.types.is_null(kind) else None


def plain(array: pa.Array) -> pa.Array:
    """A column without extension types and dictionaries."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    # Arrow cannot take from views, and what is taken may be more than 2 GB.
    if is_stringlike(values.type):
        values = values.cast(pa.large_string())
    return values.take(array.indices)


def is_stringlike(kind: pa.DataType) -> bool:
    """Whether a column of this type holds strings."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


class Labels:
    """Decides the type of labels, and gives each part's labels that type.

    Parameters
    ----------
    label_type : str
        ``"auto"``, or the type that labels must have.
    """

    def __init__(self, label_type: str) -> None:
        self.forced = label_type != "auto"
        self.kind: str | None = label_type if self.forced else None

    def decide(self, parts: list[Part]) -> None:
        """Decide by these parts, unless the type is known."""
        if self.kind is not None:
            return
        seen = [(part.labels == "typed", _kind_of(part)) for part in parts if len(part)]
        typed = [kind for sure, kind in seen if sure]
        loose = [kind for sure, kind in seen if not sure]
        if typed:
            # What is typed differently will not fit, and is reported where it stands.
            self.kind = "float" if set(typed) == {"int", "float"} else typed[0]
        elif loose:
            self.kind = "text" if "text" in loose else "float" if "float" in loose else "int"

    def convert(self, part: Part, file: str) -> pa.Array | None:
        """The labels of a part in the type decided, or the error of the first that does not fit."""
        if part.label is None or self.kind is None:
            return part.label
        label = part.label
        have = _type_name(label)
        if have == self.kind:
            return label
        if have == "text" and (self.forced or part.labels != "typed"):
            typed, fits = _from_text(label, self.kind, part.labels == "numbers")
        elif self.kind == "text" and (self.forced or part.labels != "typed"):
            return _as_written(label, part.labels == "numbers")
        elif {have, self.kind} == {"int", "float"}:
            typed, fits = _between_numbers(label, self.kind)
        else:
            typed, fits = label, np.zeros(len(label), np.bool_)
        if not fits.all():
            row = int(np.argmin(fits))
            raise self._misfit(file, part, row)
        return typed

    def _misfit(self, file: str, part: Part, row: int) -> DataError:
        """What to say of a label that has another type."""
        assert part.label is not None  # noqa: S101
        assert self.kind is not None  # noqa: S101
        why = "as asked for" if self.forced else "as the labels before it are"
        return DataError(
            f"{file}, {part.unit} {int(part.lines[row])}: the label {part.label[row].as_py()!r} is "
            f"not {_SPOKEN[self.kind]}, {why}; {_REMEDY}"
        )


def _type_name(label: pa.Array) -> str:
    """Which of our types an array of labels has."""
    if pa.types.is_large_string(label.type):
        return "text"
    if pa.types.is_boolean(label.type):
        return "bool"
    return "int" if pa.types.is_integer(label.type) else "float"


def _kind_of(part: Part) -> str:
    """Which type the labels of a part should have by themselves."""
    label = part.label
    name = _type_name(label)
    if part.labels == "typed":
        return name
    if part.labels == "written":
        return "int" if _from_text(label, "int", loosely=False)[1].all() else "text"
    if name == "text":
        values, fits = _from_text(label, "float", loosely=True)
        if not fits.all():
            return "text"
        label = values
    return "int" if _between_numbers(label, "int")[1].all() else "float"


def _from_text(label: pa.Array, kind: str, loosely: bool) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Labels read from strings, and which of them can be; `loosely`, +1 and 1.0 are whole too."""
    if kind == "int" and loosely:
        values, fits = _from_text(label, "float", loosely)
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
        read = int if kind == "int" else float
        values = pa.array([_read(each, read) for each in label.to_pylist()], target)
    if kind == "int":
        # 007, +7 and 7 would become one label: only one way of writing a number counts.
        fits = pc.equal(pc.cast(values, pa.large_string()), label)
    else:
        fits = pc.is_finite(values)
    return values, _mask(fits)


def _read(value: str, read: Any) -> Any:
    """A number from a string; None where it is not one that Arrow can hold."""
    if not value.isascii() or "_" in value or value != value.strip():
        return None
    try:
        number = read(value)
    except ValueError:
        return None
    return number if isinstance(number, float) or -(2**63) <= number < 2**63 else None


def _between_numbers(label: pa.Array, kind: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Whole numbers as floats, or floats as whole numbers; and which can be."""
    if kind == "float":
        exact = np.abs(np.asarray(label.to_numpy(zero_copy_only=False), np.float64)) <= _EXACT
        return pc.cast(label, pa.float64(), safe=False), exact
    values = np.asarray(label.to_numpy(zero_copy_only=False), np.float64)
    fits = (values == np.trunc(values)) & (np.abs(values) <= _EXACT)
    return pa.array(np.where(fits, values, 0.0).astype(np.int64)), fits


def _as_written(label: pa.Array, whole: bool) -> pa.Array:
    """Labels of another type as text: true, 3, 2.5, 1.0; or 1 for 1.0 if `whole`."""
    if pa.types.is_floating(label.type):
        shown = [repr(each) for each in label.to_pylist()]
        if whole:
            shown = [each.removesuffix(".0") for each in shown]
        return pa.array(shown, pa.large_string())
    return pc.cast(label, pa.large_string())


def _mask(array: pa.Array) -> NDArray[np.bool_]:
    """An Arrow mask as a NumPy one; null is false."""
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), np.bool_)
