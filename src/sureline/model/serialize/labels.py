"""Labels and names as JSON and tensors, and back."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sureline.data.surrogates import has_surrogates
from sureline.errors import ModelFileError
from sureline.model.serialize.fields import (
    GROWTH,
    Array,
    Json,
    Tensors,
    check_size,
    member,
    short,
)
from sureline.model.state import State

LETTERS = 2**22  # what an array of labels may hold, however short they are
INTEGERS = ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8")


def labels_to_json(labels: Array) -> dict[str, Json]:
    """An array of labels, its dtype included."""
    kind = labels.dtype
    values: Sequence[Any] = labels.tolist()
    for value in filter(has_surrogates, values):
        raise ModelFileError(
            f"cannot save the label {ascii(value)[:100]}, which holds half a character (a lone "
            "surrogate); replace it"
        )
    if kind.kind in "US":
        longest = max(map(len, values), default=1)
        width = kind.itemsize // (4 if kind.kind == "U" else 1)
        if not _may_be_wide(width, values):
            width = max(1, longest)
        if not _may_be_wide(width, values):
            raise ModelFileError(
                f"cannot save labels of up to {longest:,} letters among {len(values):,}; use "
                "shorter ones"
            )
        if kind.kind == "S":
            return {"dtype": f"|S{width}", "values": [value.decode("latin-1") for value in values]}
        return {"dtype": f"<U{width}", "values": values}
    if kind.kind in "iub" or (kind.kind == "f" and kind.itemsize <= 8):
        return {"dtype": kind.newbyteorder("<").str, "values": values}
    if kind.kind == "O":
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        if _same_sort(values):
            return {"dtype": "|O", "values": values}
    example = reprlib.repr(values[0]) if values else ""
    raise ModelFileError(
        f"cannot save labels of dtype {kind}, such as {example}; use text, whole numbers, floats "
        "or booleans"
    )


def labels_from_json(stored: Json, limit_gb: float) -> Array:
    """The array of distinct labels that `labels_to_json` wrote, if it takes `limit_gb` at most."""
    if not isinstance(stored, dict) or set(stored) != {"dtype", "values"}:
        raise ModelFileError(f"its labels are {short(stored)}")
    name, values = member(stored, "dtype", str), member(stored, "values", list)
    if not values:
        raise ModelFileError("it has no labels")
    if not _same_sort(values):
        raise ModelFileError(f"its labels are of several kinds: {short(values)}")
    for value in filter(has_surrogates, values):
        raise ModelFileError(f"its label {ascii(value)[:100]} holds half a character")
    labels = _labels(name, values, limit_gb)
    if labels is None:
        raise ModelFileError(f"its labels {short(values)} are not of dtype {short(name)}")
    if np.unique(labels).size != labels.size:
        raise ModelFileError(f"its labels repeat: {short(values)}")
    return labels


def _labels(name: str, values: list[Any], limit_gb: float) -> Array | None:
    """The labels of the dtype that `name` means, or None if they are none of it."""
    texts = isinstance(values[0], str)
    made: Array | None = None
    if name == "|O":
        made = np.empty(len(values), object)
        made[:] = values
    elif name[:2] in ("<U", "|S") and name[2:].isascii() and name[2:].isdigit() and texts:
        end: Any = "\0"
        items = values
        if name[0] == "|":
            end, items = b"\0", [as_bytes(value) for value in values]
        if len(name) < 12 and int(name[2:]) >= 1 and _may_be_wide(int(name[2:]), items):
            check_size(np.dtype(name).itemsize * len(items), limit_gb, "array of labels")
            made = np.array(items, name)
            items = [item.rstrip(end) for item in items]
            return made if made.tolist() == items else None
    elif name == "|b1" and isinstance(values[0], bool):
        made = np.array(values, bool)
    elif name in ("<f2", "<f4", "<f8") and isinstance(values[0], float):
        made = np.array(values, "<f8").astype(name)
    elif name in INTEGERS and isinstance(values[0], int) and not isinstance(values[0], bool):
        bounds = np.iinfo(name)
        if all(bounds.min <= value <= bounds.max for value in values):
            made = np.array(values, name)
    return made if made is not None and made.tolist() == values else None


def _may_be_wide(width: int, values: Sequence[Any]) -> bool:
    """Whether an array of text may be so wide, given the labels that it holds."""
    letters = sum(map(len, values))
    return width * len(values) <= max(LETTERS, GROWTH * letters)


def _same_sort(values: Sequence[Any]) -> bool:
    """Whether labels are all text, all booleans, or all finite numbers."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        return all(
            abs(value) < 2**64 if type(value) is int else math.isfinite(value) for value in values
        )
    return kinds <= {str} or kinds <= {bool}


def as_bytes(text: str) -> bytes:
    """The bytes that are written as the letters of the same numbers."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise ModelFileError(f"{short(text)} does not stand for bytes") from None


def strings_to_tensors(name: str, strings: Iterable[str]) -> Tensors:
    """Many strings as two tensors: their UTF-8, and where each ends."""
    encoded = [str(string).encode("utf-8", "surrogatepass") for string in strings]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return {
        name: np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}.ends": np.cumsum(lengths, dtype=np.int64),
    }


def strings_from_tensors(name: str, tensors: Mapping[str, Array]) -> list[str]:
    """The strings that `strings_to_tensors` made tensors of."""
    letters, ends = tensors.get(name), tensors.get(f"{name}.ends")
    if (
        letters is None
        or ends is None
        or letters.dtype != np.uint8
        or ends.dtype != np.int64
        or letters.ndim != 1
        or ends.ndim != 1
        or (ends[-1:] != letters.size).any()
        or (np.diff(ends, prepend=0) < 0).any()
        or (not ends.size and letters.size)
    ):
        raise ModelFileError(f"its tensors {name!r} and '{name}.ends' do not fit each other")
    whole_, begin, strings = letters.tobytes(), 0, []
    try:
        for end in ends.tolist():
            strings.append(whole_[begin:end].decode("utf-8", "surrogatepass"))
            begin = end
    except UnicodeDecodeError:
        raise ModelFileError(f"its tensor {name!r} is not UTF-8") from None
    return strings


def check_labels(labels: Array, state: State) -> None:
    """Refuse labels that do not fit the columns of `state`."""
    columns = state.used - state.layout.multilabel  # the first one belongs to no label
    fits = labels.size == columns if state.wide else labels.size <= 2 and state.used == 1
    if not fits:
        raise ModelFileError(
            f"it has {labels.size:,} labels and {state.used:,} columns of "
            f"{'one class each' if state.wide else 'two classes'}"
        )
    if not state.wide and (np.sort(labels) != labels).any():
        raise ModelFileError("its two labels are not sorted")
