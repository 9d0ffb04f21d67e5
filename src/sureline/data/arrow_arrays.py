"""Arrow arrays in plain forms: decoded, of one string type, their nulls and bad UTF-8 found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def decode(array: pa.Array) -> pa.Array:
    """The values of a column without extension type and dictionary."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    # Arrow cannot take from views, and the result may be more than 2 GB.
    if is_string(values.type):
        values = values.cast(pa.large_string())
    return values.take(array.indices)


def count_bytes(values: pa.Array | pa.RecordBatch) -> int:
    """The memory of values, without the rest of the buffers that a slice of them shares.

    Those of a view are counted with the whole buffer before pyarrow 24.
    """
    try:
        return int(values.nbytes)
    except pa.ArrowNotImplementedError:
        return int(values.get_total_buffer_size())


def is_string(kind: pa.DataType) -> bool:
    """Whether this is one of Arrow's types of strings."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_binary(kind: pa.DataType) -> bool:
    """Whether this is one of Arrow's types of bytes of any length."""
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


def combine_chunks(chunked: pa.ChunkedArray) -> pa.Array:
    """All chunks as one decoded array, without a copy if there is one chunk."""
    if not chunked.num_chunks:
        return decode(pa.array([], chunked.type))
    chunks = [decode(chunk) for chunk in chunked.chunks]
    if len(chunks) == 1:
        return chunks[0]
    if is_string(chunks[0].type):  # together they may be more than 2 GB
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks)


def null_mask(array: pa.Array) -> NDArray[np.bool_]:
    """Where an array is null, as a new array."""
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    return np.array(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def string_array(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> pa.LargeStringArray:
    """An array of strings over these buffers, without a copy; their UTF-8 is not checked."""
    return pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)
    )


def string_offsets(array: pa.LargeStringArray) -> NDArray[np.int64]:
    """The n + 1 offsets of an array of n strings, as its buffer holds them."""
    if not len(array):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(array.buffers()[1], np.int64)
    return offsets[array.offset : array.offset + len(array) + 1]


def is_utf8(array: pa.Array) -> bool:
    """Whether all strings of an array are valid UTF-8."""
    try:
        array.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return False
    return True


def rows_not_utf8(array: pa.Array) -> list[int]:
    """The rows of an array of strings that are not valid UTF-8."""
    if is_utf8(array):
        return []
    bad = []
    for row, value in enumerate(array.cast(pa.large_binary()).to_pylist()):
        try:
            (value or b"").decode("utf-8")
        except UnicodeDecodeError:
            bad.append(row)
    return bad
