"""Texts and labels from Python objects: lists, NumPy, pandas, Polars and Arrow."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Set
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
    null_mask,
    rows_not_utf8,
)
from sureline.data.surrogates import replace_surrogates
from sureline.errors import DataError, InvalidParameter, show

# What is no label, but may hold several.
SEVERAL = (list, tuple, Set, Mapping, np.ndarray)
_STR = {str}
_LARGE = pa.large_string()
_OFFSETS = struct.Struct("=2q")


def as_text(X: Any) -> pa.LargeStringArray:
    """Texts as an Arrow array, without a copy where the texts are in one already.

    Parameters
    ----------
    X : iterable of str
        A list, tuple or iterator of strings, a NumPy array, a pandas or Polars series, a pyarrow
        array, or anything that implements the Arrow C data interface.

    Returns
    -------
    pyarrow.LargeStringArray
        The texts, without nulls, in valid UTF-8. A lone surrogate (half an emoji) becomes U+FFFD.

    Examples
    --------
    >>> from sureline.data import as_text
    >>> as_text(["one", "two"]).to_pylist()
    ['one', 'two']
    """
    if type(X) is list:
        return _text_from_list(X)
    if isinstance(X, str | bytes | bytearray):
        what = "one text" if isinstance(X, str) else "bytes"
        raise InvalidParameter(f"give a list of texts, not {what}: [text]")
    if isinstance(X, np.ndarray):
        return _text_from_numpy(X)
    array = _from_arrow_interface(X, "texts")
    if array is not None:
        return _text_from_arrow(array)
    return _text_from_list(_as_list(X, "texts"))


def as_labels(y: Any) -> NDArray[Any]:
    """Labels as a NumPy array: strings, numbers or booleans, as they are.

    Parameters
    ----------
    y : iterable
        A list, tuple or iterator, a NumPy array, a pandas or Polars series, a pyarrow array, or
        anything that implements the Arrow C data interface.

    Returns
    -------
    numpy.ndarray
        One label per row, none missing. Strings are an array of str, or of objects if one ends in
        a NUL character, which NumPy would drop.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sureline.data import as_labels
    >>> as_labels(pa.array(["ham", "spam", "ham"]))
    array(['ham', 'spam', 'ham'], dtype='<U4')
    """
    if isinstance(y, np.ndarray):
        array = y
    elif isinstance(y, str | bytes | bytearray):
        raise InvalidParameter("give a list of labels, one per row, not one label")
    else:
        found = None if isinstance(y, list | tuple) else _from_arrow_interface(y, "labels")
        if found is not None:
            return _labels_from_arrow(found)
        array = _labels_from_list(_as_list(y, "labels"))
    if array.ndim == 0:
        raise InvalidParameter("give a list of labels, one per row, not one label")
    check_not_missing(array)
    if array.dtype.kind == "O":
        for row, label in enumerate(array):
            _check_label(row, label)
    return array


def check_not_missing(labels: Any) -> None:
    """Raise a DataError at the first label of a list or an array that is None or NaN."""
    if isinstance(labels, list | tuple):
        if set(map(type, labels)) <= {str, int, bool}:
            return
    else:
        array = np.asarray(labels)
        kind = array.dtype.kind
        if not array.ndim or kind not in "fO" or (kind == "f" and not np.isnan(array).any()):
            return
        labels = array.ravel().tolist() if array.size == len(array) else []
    for row, label in enumerate(labels):
        if _is_missing(label):
            raise DataError(f"row {row}: the label is missing ({label}); leave such rows out")


def _as_list(values: Any, what: str) -> list[Any]:
    """The values of an iterable in which they have an order."""
    if not isinstance(values, Iterable) or isinstance(values, Mapping | Set):
        raise InvalidParameter(f"give a list of {what}, not {type(values).__name__}")
    return list(values)


def _from_arrow_interface(values: Any, what: str) -> pa.Array | None:
    """The Arrow array of an object that has one; None for all others."""
    if isinstance(values, pa.ChunkedArray):
        return combine_chunks(values)
    if isinstance(values, pa.Array):
        return decode(values)
    columns = getattr(values, "column_names", getattr(values, "columns", None))
    if columns is not None:
        if len(columns) != 1 or not hasattr(values, "__getitem__"):
            raise InvalidParameter(f"give one column of {what}, not a table: table['column']")
        return _from_arrow_interface(values[columns[0]], what)
    try:
        if hasattr(values, "__arrow_c_array__"):
            return decode(pa.array(values))
        if hasattr(values, "__arrow_c_stream__"):
            return combine_chunks(pa.chunked_array(values))
    except (pa.ArrowException, UnicodeEncodeError, TypeError):
        return None  # such as a series of objects: reading its values shows what is wrong
    return None


def _check_not_null(array: pa.Array, what: str, remedy: str) -> None:
    """Raise a DataError at the first null."""
    if array.null_count:
        row = int(np.argmax(null_mask(array)))
        raise DataError(f"row {row}: the {what} is missing (null); {remedy}")


def _text_from_arrow(array: pa.Array) -> pa.LargeStringArray:
    kind = array.type
    _check_not_null(array, "text", "leave it out or give ''")
    if pa.types.is_null(kind):
        return pa.array([], _LARGE)
    if not is_string(kind):
        hint = "; decode them first (text.decode('utf-8'))" if is_binary(kind) else ""
        raise DataError(f"texts must be strings, not {kind}{hint}")
    if not pa.types.is_large_string(kind):
        array = array.cast(_LARGE)
    bad = rows_not_utf8(array)
    if bad:
        raise DataError(f"row {bad[0]}: the text is not valid UTF-8; decode it first")
    return array


def _text_from_numpy(array: NDArray[Any]) -> pa.LargeStringArray:
    if array.ndim != 1:
        raise InvalidParameter(
            f"give texts in one dimension, not an array of shape {array.shape}: X[:, 0], X.ravel()"
        )
    if array.dtype.kind == "S":
        raise DataError("texts must be strings, not bytes; decode them first (np.char.decode)")
    if array.dtype.kind not in "UOT":
        raise DataError(f"texts must be strings, not {array.dtype}")
    return _text_from_list(array.tolist())


def _text_from_list(texts: list[Any]) -> pa.LargeStringArray:
    # Arrow would take bytes for text and None for null.
    kinds = set(map(type, texts))
    if kinds != _STR:
        _check_strings(texts, kinds)
    if len(texts) == 1:
        return _from_one(texts[0])
    try:
        array = pa.array(texts, _LARGE)
    except UnicodeEncodeError:
        array = pa.array([replace_surrogates(text) for text in texts], _LARGE)
    # Arrow makes chunks of a list of more than 2 GB.
    return combine_chunks(array) if isinstance(array, pa.ChunkedArray) else array


def _from_one(text: str) -> pa.LargeStringArray:
    """One text: the fast path of programs that predict one text at a time."""
    data = replace_surrogates(text).encode("utf-8")
    buffers = [None, pa.py_buffer(_OFFSETS.pack(0, len(data))), pa.py_buffer(data)]
    return pa.Array.from_buffers(_LARGE, 1, buffers, 0)


def _check_strings(texts: list[Any], kinds: set[type]) -> None:
    """Raise a DataError at the first text that is not a string."""
    if all(issubclass(kind, str) for kind in kinds):
        return
    for row, text in enumerate(texts):
        if isinstance(text, str):
            continue
        if isinstance(text, bytes | bytearray):
            raise DataError(
                f"row {row}: the text is bytes, not a string; decode it first "
                "(text.decode('utf-8'))"
            )
        if _is_missing(text):
            raise DataError(f"row {row}: the text is missing ({text}); leave it out or give ''")
        raise DataError(f"row {row}: the text is of type {type(text).__name__}, not a string")


def _is_missing(value: Any) -> bool:
    """Whether this is a missing value: None, NaN, or pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _check_label(row: int, label: Any) -> None:
    """Raise a DataError if a label is several."""
    if isinstance(label, SEVERAL):
        raise DataError(
            f"row {row}: the label is a {type(label).__name__}; give one label per row: a string, "
            "a number or a boolean"
        )


def _labels_from_list(labels: list[Any]) -> NDArray[Any]:
    kinds = set(map(type, labels))
    check_not_missing(labels)
    for row, label in enumerate(labels if not kinds <= {str} and not kinds <= {int, bool} else ()):
        _check_label(row, label)
    if str in kinds and not all(issubclass(kind, str) for kind in kinds):
        row = next(row for row, label in enumerate(labels) if type(label) is not type(labels[0]))
        raise DataError(
            f"row {row}: the label {show(labels[row])} has another type than those before it; make "
            "all labels strings, or all numbers"
        )
    if kinds and all(issubclass(kind, str) for kind in kinds):
        return _strings(labels)
    return np.asarray(labels)


def _strings(labels: list[str]) -> NDArray[Any]:
    """A NumPy array of str, or of objects if NumPy would drop a NUL at the end of one."""
    if any(label.endswith("\0") for label in labels):
        return np.array(labels, dtype=object)
    return np.array(labels, dtype=np.str_)


def _labels_from_arrow(array: pa.Array) -> NDArray[Any]:
    _check_not_null(array, "label", "leave such rows out")
    if is_string(array.type):
        codes = pc.dictionary_encode(array.cast(_LARGE))
        names = _strings(codes.dictionary.to_pylist())
        labels: NDArray[Any] = names[codes.indices.to_numpy(zero_copy_only=False)]
        return labels
    if is_binary(array.type):
        raise DataError("labels must be strings, not bytes; decode them first")
    if pa.types.is_nested(array.type) and len(array):
        _check_label(0, array[0].as_py())
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    check_not_missing(values)
    return values
