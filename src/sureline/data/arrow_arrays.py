"""Arrow arrays in plain forms: decoded, of one string type, their nulls and bad UTF-8 found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def decode(array: pa.Array) -> pa.Array:
    """The values of a column without extension type and dictionary."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not pa.types.is_dictionary(array.type):
        return array
    return without_views(array.dictionary).take(array.indices)


def check_indices(array: pa.Array) -> None:
    """Raise what Arrow raises for an index beyond the dictionary, which it does not look for."""
    if pa.types.is_dictionary(array.type) and len(array) > array.null_count:
        bounds = pc.min_max(array.indices)
        if bounds["min"].as_py() < 0 or bounds["max"].as_py() >= len(array.dictionary):
            raise pa.ArrowInvalid("an index is beyond the dictionary")


def without_views(array: pa.Array) -> pa.Array:
    """Strings and bytes with 64-bit offsets: Arrow cannot take rows of views.

    Nor can it take more than 2 GB of those with 32-bit offsets.
    """
    if is_string(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if is_binary(array.type) else array


def count_bytes(values: pa.Array | pa.RecordBatch) -> int:
    """The memory of values, without the rest of the buffers that a slice of them shares.

    Those of a view are counted with the whole buffer before pyarrow 24.
    """
    try:
        return int(values.nbytes)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return int(values.get_total_buffer_size())


def value_sizes(array: pa.Array) -> NDArray[np.int64]:
    """The bytes of each string of an array once it is decoded; 0 for values of other types."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        sizes = value_sizes(array.dictionary)
        places = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return sizes[places] if sizes.size else np.zeros(len(array), np.int64)
    if not (is_string(kind) or is_binary(kind)):
        return np.zeros(len(array), np.int64)
    starts, end = array.buffers()[1], array.offset + len(array)
    if starts is None or not len(array):
        return np.zeros(len(array), np.int64)
    # A buffer may be longer than its contents, in a damaged file by any number of bytes.
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # A view has 16 bytes; the first four are the length.
        views = np.frombuffer(starts, np.int32, 4 * end).reshape(-1, 4)
        return views[array.offset :, 0].astype(np.int64)
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    offsets = np.frombuffer(starts, np.int64 if wide else np.int32, end + 1)
    return np.diff(offsets[array.offset :]).astype(np.int64)


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


def is_list(kind: pa.DataType) -> bool:
    """Whether this is one of Arrow's types of lists."""
    checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(check(kind) for check in checks)


def split_strings(array: pa.LargeStringArray, separator: str) -> pa.LargeListArray:
    """Lists of the parts of strings, without spaces around them and without empty ones."""
    lists = pc.split_pattern(array, separator)
    parts = pc.utf8_trim_whitespace(lists.flatten())
    kept = pc.greater(pc.binary_length(parts), 0).to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    starts = ends[np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])]
    values = parts.filter(pa.array(kept)).cast(pa.large_string())
    return pa.LargeListArray.from_arrays(starts, values)


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
    # A buffer of a damaged file may have some bytes more than whole numbers.
    return np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, 8 * array.offset)


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


def with_valid_utf8(array: pa.LargeStringArray) -> pa.LargeStringArray:
    """The strings, empty where they are not valid UTF-8."""
    bad = rows_not_utf8(array)
    if not bad:
        return array
    good = np.ones(len(array), np.bool_)
    good[bad] = False
    values = array.cast(pa.large_binary())
    return pc.if_else(pa.array(good), values, b"").cast(pa.large_string())
