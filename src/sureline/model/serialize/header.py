"""The header of a model file: the metadata as one JSON string, and where each array lies.

What a header says is checked whole before anything is allocated. The messages of errors are clauses
about the file, which `read` names.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from functools import cache
from importlib import metadata as packages
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.model.serialize.fields import dump_json, is_whole, parse_json, short

FORMAT = 2
KEY = "sureline"  # the name of the metadata in the header
CHECKSUM = "sha256"
LONGEST_HEADER = 64 * 2**20
MOST_DIMENSIONS = 8
LARGEST_SIZE = 2**63 - 1
ALIGNMENT = 64  # the data begin at a multiple of this: a cache line

# Booleans are left out: NumPy expects bytes of 0 and 1 there, and a file may hold any.
DTYPES = {
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "I8": "|i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "|u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
}
NAMES = {kind: name for name, kind in DTYPES.items()}

Array = NDArray[Any]


@cache
def version() -> str:
    """The version of sureline; looking it up takes longer than writing a small file."""
    return packages.version("sureline")


def kind_of(tensor: Array) -> str:
    """What safetensors calls the kind of an array's numbers."""
    return NAMES[tensor.dtype.newbyteorder("<").str]


def make_header(text: str, tensors: Mapping[str, Array]) -> bytes:
    """The header, padded so that the data begin at a multiple of `ALIGNMENT`; no checksum yet."""
    entries: dict[str, Any] = {"__metadata__": {CHECKSUM: "0" * 64, KEY: text}}
    begin = 0
    for name, tensor in tensors.items():
        end, kind = begin + tensor.nbytes, kind_of(tensor)
        entries[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    header = dump_json(entries).encode("ascii")
    return header + b" " * (-(8 + len(header)) % ALIGNMENT)


def parse_contents(
    data: mmap.mmap | bytearray,
) -> tuple[dict[str, Any], dict[str, Array], str, str | None]:
    """The metadata, the arrays, the JSON string of the metadata, and the checksum of a file."""
    start = _header_end(data)
    try:
        header = parse_json(data[8:start].decode("utf-8"))
    except ValueError as problem:
        raise ModelFileError(
            f"is not a sureline model: its header is no valid JSON ({problem})"
        ) from None
    if not isinstance(header, dict):
        raise ModelFileError("is not a sureline model: its header is no JSON object")
    text, checksum = _stored_text(header.pop("__metadata__", None))
    metadata = _stored_metadata(text)
    return metadata, _tensors(data, start, header), text, checksum


def _header_end(data: mmap.mmap | bytearray) -> int:
    """Where the header ends and the tensors begin."""
    if len(data) < 9:
        raise ModelFileError("is not a sureline model: it has fewer than 9 bytes")
    (length,) = struct.unpack("<Q", data[:8])
    if data[8:9] != b"{" or length > LONGEST_HEADER:
        raise ModelFileError("is not a sureline model: it does not begin as a safetensors file")
    if 8 + length > len(data):
        raise ModelFileError(
            f"is cut short: its header ends at byte {8 + length:,}, the file at byte {len(data):,}"
        )
    return int(8 + length)


def _stored_text(found: Any) -> tuple[str, str | None]:
    """The JSON string of metadata, and the checksum."""
    if not isinstance(found, dict) or not isinstance(found.get(KEY), str):
        raise ModelFileError(
            "is not a sureline model: it is a safetensors file without our metadata"
        )
    checksum = found.get(CHECKSUM)
    if not isinstance(checksum, str | None):
        raise ModelFileError("is damaged: its checksum is not a string")
    return found[KEY], checksum


def _stored_metadata(text: str) -> dict[str, Any]:
    """The metadata, if they are of a format that we know."""
    try:
        metadata = parse_json(text)
    except ValueError as problem:
        raise ModelFileError(f"is damaged: its metadata are no valid JSON ({problem})") from None
    if not isinstance(metadata, dict):
        raise ModelFileError("is damaged: its metadata are no JSON object")
    number: Any = metadata.get("format")
    if not is_whole(number, 1, LARGEST_SIZE):
        raise ModelFileError(f"is damaged: its format is {short(number)}, expected a number from 1")
    if number > FORMAT:
        writer = short(metadata.get("sureline", "an unknown version"))
        raise ModelFileError(
            f"has format {short(number)}, written by sureline {writer}; this is sureline "
            f"{version()}, which reads formats up to {FORMAT}: upgrade sureline"
        )
    return metadata


def _tensors(
    data: mmap.mmap | bytearray, start: int, header: Mapping[str, Any]
) -> dict[str, Array]:
    """The arrays that the header describes, which must fill the file from `start` on."""
    tensors, reached = dict[str, Array](), 0
    entries = {name: _entry(name, entry) for name, entry in header.items()}
    for name, (kind, shape, begin, end) in sorted(entries.items(), key=lambda each: each[1][2:]):
        if begin != reached:
            raise ModelFileError(
                f"is damaged: the tensor {short(name)} begins at byte {begin:,}, expected at byte "
                f"{reached:,}"
            )
        if start + end > len(data):
            raise ModelFileError(
                f"is cut short: the tensor {short(name)} ends at byte {start + end:,}, the file "
                f"at byte {len(data):,}"
            )
        if (start + begin) % kind.itemsize:
            raise ModelFileError(f"is damaged: the tensor {short(name)} is not aligned")
        flat: Array = np.empty(0, kind)
        if end > begin:
            flat = np.frombuffer(data, kind, (end - begin) // kind.itemsize, start + begin)
        try:
            tensors[name] = flat.reshape(shape)
        except ValueError:  # an empty tensor with sides that NumPy cannot hold
            raise ModelFileError(
                f"is damaged: the tensor {short(name)} has the shape {short(shape)}"
            ) from None
        reached = end
    if start + reached != len(data):
        raise ModelFileError(
            f"is damaged: its tensors end at byte {start + reached:,}, the file at byte "
            f"{len(data):,}"
        )
    return tensors


def _entry(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """A tensor's kind, shape, and where it begins and ends, which must agree with each other."""
    tensor = f"is damaged: the tensor {short(name)}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"{tensor} is not described as it should be")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in DTYPES:
        raise ModelFileError(f"{tensor} is of kind {short(kind)}; known are {', '.join(DTYPES)}")
    if not _are_sizes(shape) or len(shape) > MOST_DIMENSIONS:
        raise ModelFileError(f"{tensor} has the shape {short(shape)}")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise ModelFileError(f"{tensor} lies at {short(offsets)}")
    begin, end = offsets
    made = np.dtype(DTYPES[kind])
    if end - begin != math.prod(shape) * made.itemsize:
        raise ModelFileError(
            f"{tensor} of kind {kind} and shape {short(shape)} lies at {short(offsets)}"
        )
    return made, tuple(shape), begin, end


def _are_sizes(values: Any) -> bool:
    """Whether this is a list of whole numbers from 0."""
    return isinstance(values, list) and all(is_whole(value, 0, LARGEST_SIZE) for value in values)
