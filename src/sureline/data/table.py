"""Tables of several columns as one Arrow array of structs: texts, categories and numbers.

Like an array of texts, it can be sliced, taken from and concatenated, so that rows of several
columns go wherever texts do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data.arrow_arrays import (
    combine_chunks,
    decode,
    is_binary,
    is_string,
    rows_not_utf8,
    string_offsets,
)
from sureline.data.surrogates import replace_surrogates
from sureline.errors import DataError, InvalidParameter, show

TEXT, CATEGORY, NUMBER = "text", "category", "number"
KINDS = (TEXT, CATEGORY, NUMBER)
NUMBER_BYTES = 16
_LARGE = pa.large_string()
_SHOWN = 20
_SAMPLE = 10_000  # rows from which the kinds of columns are inferred
_LONGEST = 50  # bytes of a category, in the mean
_DAY = 86_400.0
Columns = Mapping[str, str]
Report = Callable[[int, str], None]  # of what is wrong with a row


def is_table(texts: Any) -> bool:
    """Whether an array has rows of several columns, rather than texts."""
    return bool(pa.types.is_struct(texts.type))


def has_columns(X: Any) -> bool:
    """Whether an object is a table, or a list of dictionaries; one column alone is none."""
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], Mapping)
    if isinstance(X, pa.StructArray):
        return True
    names = column_names(X)
    return names is not None and len(names) > 1


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a table or of dictionaries; None for what is neither."""
    if isinstance(X, list | tuple):
        if not (X and all(isinstance(row, Mapping) for row in X)):
            return None
        return list(dict.fromkeys(name for row in X for name in row))
    if isinstance(X, pa.StructArray):
        return [field.name for field in X.type]
    if isinstance(X, pa.Table | pa.RecordBatch):
        return list(X.column_names)
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "__getitem__"):
        return None
    return list(names)


def as_table(X: Any, columns: Columns) -> pa.StructArray:
    """Rows of the `columns` of X, in their order; others are ignored.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, pyarrow.RecordBatch or list of dict
        A table of pandas or Polars, one of Arrow, or a dictionary per row.
    columns : mapping of str to str
        ``"text"``, ``"category"`` or ``"number"`` by column.

    Returns
    -------
    pyarrow.StructArray
        A field for each column: texts without nulls, categories, and numbers as float64.
    """
    if isinstance(X, Mapping):
        raise InvalidParameter("give a list of rows, not one: [row]")
    if isinstance(X, list | tuple) and not len(X):
        return _struct([pa.array([], _storage(kind)) for kind in columns.values()], columns, 0)
    names = column_names(X)
    if names is None:
        listed = ", ".join(map(repr, columns))
        raise InvalidParameter(
            f"give a table or a list of dictionaries with the columns {listed}, not "
            f"{type(X).__name__}"
        )
    check_present(names, columns)
    made = [as_column(_values(X, name), name, kind) for name, kind in columns.items()]
    lengths = {len(array) for array in made}
    return _struct(made, columns, lengths.pop())


def check_present(names: Sequence[Any], columns: Columns) -> None:
    """Raise a DataError that lists the columns that are missing."""
    missing = [name for name in columns if name not in names]
    if missing:
        shown = ", ".join(repr(name) for name in names[:_SHOWN])
        if len(names) > _SHOWN:
            shown += f" and {len(names) - _SHOWN} more"
        several = "columns" if len(missing) > 1 else "column"
        raise DataError(
            f"there is no {several} {', '.join(map(repr, missing))}; the model reads "
            f"{', '.join(map(repr, columns))}, and the table has {shown or 'no column'}"
        )


def joined_texts(texts: Any, names: Sequence[str]) -> Any:
    """Texts as they are; of a table, these columns as one text per row."""
    if not is_table(texts):
        return texts
    return pc.binary_join_element_wise(*map(texts.field, names), pa.scalar(" ", _LARGE))


def as_struct(arrays: Sequence[pa.Array], columns: Columns) -> pa.StructArray:
    """Rows of converted columns."""
    return _struct(list(arrays), columns, len(arrays[0]))


def as_column(values: Any, name: str, kind: str, report: Report | None = None) -> pa.Array:
    """A column as its kind is kept: strings, or float64 with NaN where a number is missing.

    Only categories may be null; a text that is missing is empty. A value of another kind is
    given to `report` by row, or else an error.
    """
    array = _as_arrow(values)
    note = _raising(name) if report is None else _noting(name, report)
    try:
        if kind == NUMBER:
            return _as_numbers(array, values, note)
        if array is None:
            array = pa.array(_strings(list(values), kind, note), _LARGE)
        return _as_strings(array, name, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"column {name!r} cannot be read as {kind}: {error}") from None


def infer_columns(X: Any) -> dict[str, str]:
    """The kind of each column of a table: of numbers and dates number, of short strings category.

    Strings are categories where the first rows have each at least twice in the mean, and they are
    at most fifty bytes long in the mean. Columns of other values are left out.
    """
    found = dict[str, str]()
    for name in column_names(X) or ():
        if not isinstance(name, str):
            raise DataError(f"the name of a column must be a string, got {show(name)}")
        kind = _infer(_values(X, name))
        if kind is not None:
            found[name] = kind
    if not found:
        raise DataError("the table has no column of texts, categories or numbers")
    return found


def table_offsets(table: pa.StructArray) -> NDArray[np.int64]:
    """About how many bytes come before each row, and how many there are: n + 1 numbers."""
    sizes = np.zeros(len(table) + 1, np.int64)
    for number, field in enumerate(table.type):
        if pa.types.is_large_string(field.type):
            offsets = string_offsets(table.field(number))
            sizes += offsets - offsets[0]
        else:
            sizes += NUMBER_BYTES * np.arange(len(table) + 1)
    return sizes


def text_offsets(texts: pa.Array) -> NDArray[np.int64]:
    """Where each text, or row of several columns, begins, in bytes."""
    return table_offsets(texts) if is_table(texts) else string_offsets(texts)


def _struct(arrays: list[pa.Array], columns: Columns, rows: int) -> pa.StructArray:
    fields = [pa.field(name, array.type) for name, array in zip(columns, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _storage(kind: str) -> pa.DataType:
    return pa.float64() if kind == NUMBER else _LARGE


def _values(X: Any, name: str) -> Any:
    """The values of a column."""
    if isinstance(X, list | tuple):
        return [row.get(name) for row in X]
    if isinstance(X, pa.StructArray):
        return X.field(name)
    return X[name]


def _as_arrow(values: Any) -> pa.Array | None:
    """A column as one Arrow array; None where only its Python values show what it is."""
    if isinstance(values, pa.ChunkedArray):
        return combine_chunks(values)
    if isinstance(values, pa.Array):
        return decode(values)
    try:
        if isinstance(values, list):
            if any(type(value) is bytes for value in values):
                return None
            return decode(pa.array(values))
        if hasattr(values, "__arrow_c_stream__"):
            return combine_chunks(pa.chunked_array(values))
        # A float that is NaN is a missing value to pandas.
        return decode(pa.array(values, from_pandas=True))
    except (pa.ArrowException, UnicodeEncodeError, TypeError, ValueError, OverflowError):
        return None  # such as values of several types


def _raising(name: str) -> Report:
    """What raises an error for a value of the column."""

    def note(row: int, what: str) -> None:
        raise DataError(f"row {row}, column {name!r}: {what}")

    return note


def _noting(name: str, report: Report) -> Report:
    """What reports a value of the column."""
    return lambda row, what: report(row, f"column {name!r}: {what}")


def _as_numbers(array: pa.Array | None, values: Any, note: Report) -> pa.Array:
    """Numbers as float64, NaN where one is missing; dates and times are days."""
    if array is not None and is_string(array.type):
        try:
            filled = pc.if_else(pc.equal(array, ""), None, array)
            array = pc.cast(filled, pa.float64())
        except pa.ArrowInvalid:  # such as spaces around a number, or what is none
            values, array = array.to_pylist(), None
    if array is None:
        numbers = [_as_number(value, row, note) for row, value in enumerate(values)]
        return pa.array(numbers, pa.float64())
    if pa.types.is_null(array.type):
        return pa.array(np.full(len(array), np.nan))
    if pa.types.is_temporal(array.type) and not pa.types.is_duration(array.type):
        if pa.types.is_time(array.type):
            array = pc.cast(array, pa.time64("us")).cast(pa.int64())
        else:
            array = pc.cast(array, pa.timestamp("us"), safe=False).cast(pa.int64())
        array = pc.divide(array.cast(pa.float64()), _DAY * 1e6)
    elif pa.types.is_duration(array.type):
        array = pc.divide(array.cast(pa.duration("us")).cast(pa.int64()), _DAY * 1e6)
    numbers = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    return pa.array(np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64))


def _as_number(value: Any, row: int, note: Report) -> float:
    """A number from a value, which may be written as text; NaN where it is missing."""
    if value is None or value == "":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        note(row, f"{show(value)} is not a number; leave it empty if it is missing")
        return float("nan")


def _as_strings(array: pa.Array, name: str, kind: str) -> pa.Array:
    """Texts or categories as strings in valid UTF-8."""
    if pa.types.is_null(array.type):
        array = array.cast(_LARGE)
    if is_binary(array.type):
        raise DataError(f"column {name!r} holds bytes; decode them first")
    if not is_string(array.type):
        if kind == TEXT and pa.types.is_floating(array.type) and _all_missing(array):
            array = pa.nulls(len(array), _LARGE)
        elif kind == TEXT:
            raise DataError(
                f"column {name!r} holds {array.type}, not texts; name it a number or a category"
            )
        elif pa.types.is_floating(array.type):  # whole numbers of pandas, one missing
            array = pa.array([_written(value) for value in array.to_pylist()], _LARGE)
        elif pa.types.is_nested(array.type):
            raise DataError(f"column {name!r} holds {array.type}, which is no category")
    array = array.cast(_LARGE)
    if kind == TEXT and array.null_count:
        array = pc.fill_null(array, "")
    if kind == CATEGORY:
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, _LARGE), array)
    bad = rows_not_utf8(array)
    if bad:
        raise DataError(f"row {bad[0]}, column {name!r}: the text is not valid UTF-8")
    return array


def _all_missing(array: pa.Array) -> bool:
    """Whether every number is null or NaN."""
    return bool(np.isnan(array.to_numpy(zero_copy_only=False)).all())


def _written(value: float | None) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if float(value).is_integer() else str(value)


def _strings(values: list[Any], kind: str, note: Report) -> list[str | None]:
    """Python values as strings; None where one is missing."""
    made = list[str | None]()
    for row, value in enumerate(values):
        if isinstance(value, str):
            made.append(replace_surrogates(value))
        elif value is None or (isinstance(value, float) and value != value):
            made.append(None)
        elif kind == TEXT or isinstance(value, bytes | list | tuple | dict | set):
            note(row, f"{show(value)} is not a string")
            made.append(None)
        elif isinstance(value, bool | np.bool_):
            made.append("true" if value else "false")
        else:
            made.append(_written(value) if isinstance(value, float) else str(value))
    return made


def _infer(values: Any) -> str | None:
    """What a column holds; None where it is of no use."""
    array = _as_arrow(values)
    if array is None:
        some = [value for value in list(values) if value is not None]
        return TEXT if some and all(isinstance(value, str) for value in some) else None
    kind = array.type
    if pa.types.is_boolean(kind):
        return CATEGORY
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBER
    if pa.types.is_temporal(kind):
        return NUMBER
    if not is_string(kind):
        return None
    sample = array.slice(0, _SAMPLE).cast(_LARGE).drop_null()
    if not len(sample):
        return None
    length = pc.sum(pc.binary_length(sample)).as_py() / len(sample)
    twice = 2 * pc.count_distinct(sample).as_py() <= len(sample)
    return CATEGORY if twice and length <= _LONGEST else TEXT
