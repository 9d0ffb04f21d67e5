"""The container of a model file: a safetensors file, written atomically and checked when read.

A file holds one JSON string of metadata and named arrays. It is written beside its target and
renamed, so that the target is never half a model; it is read by mapping it copy-on-write, after
every byte of its header has been checked, so that opening a large model costs next to nothing.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sureline.data.atomic_write import atomic_write
from sureline.errors import ModelFileError
from sureline.model.serialize.fields import dump_json, is_whole, parse_json, short

FORMAT = 1
KEY = "sureline"  # the name of the metadata in the header
CHECKSUM = "sha256"
LONGEST_HEADER = 64 * 2**20
MOST_DIMENSIONS = 8
LARGEST_SIZE = 2**63 - 1
ALIGNMENT = 64  # the data begin at a multiple of this: a cache line
CHUNK = 2**22  # bytes written or hashed at a time
SMALL = 2**20  # bytes: smaller files are read, as a mapped one may keep a file handle open

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


@dataclass(frozen=True)
class Opened:
    """What a model file holds; writing to the arrays does not change the file."""

    path: str
    metadata: dict[str, Any]
    tensors: dict[str, Array]
    text: str
    checksum: str | None

    @property
    def size(self) -> int:
        """The bytes of all tensors."""
        return sum(tensor.nbytes for tensor in self.tensors.values())


# -- writing -----------------------------------------------------------------------------------


def write(
    path: str | os.PathLike[str], metadata: Mapping[str, Any], tensors: Mapping[str, Array]
) -> None:
    """Write a model file, all of it or nothing.

    It is written beside its target, brought to the disk and renamed, so that whoever opens the
    target sees the old model or the new one. A link is followed; an existing file keeps its
    permissions. The versions of the format and of sureline are added to the metadata. No array is
    copied whole.
    """
    target = _target(path)
    text = dump_json({"format": FORMAT, "sureline": version("sureline"), **metadata})
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header = _header(text, {name: tensors[name] for name in order})
    if len(header) > LONGEST_HEADER:
        raise ModelFileError(
            f"{path} cannot be written: its metadata take {len(header) / 2**20:.0f} MB, more than "
            f"the {LONGEST_HEADER // 2**20} MB that the format allows; use fewer or shorter labels"
        )
    try:
        with atomic_write(target) as file:
            _write_contents(file, header, text, {name: tensors[name] for name in order})
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be written: {_reason(problem)}") from None


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that `path` means once links are followed, if it can be written."""
    try:
        target = Path(os.path.realpath(path))
        try:
            found = target.stat()
        except FileNotFoundError:
            found = None
        folder = target.parent
        if not folder.is_dir():
            raise ModelFileError(f"{path} cannot be written: there is no folder {folder}")
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{path} cannot be written: it is {_what(found.st_mode)}")
        if found is not None and not os.access(target, os.W_OK):
            raise ModelFileError(f"{path} cannot be written: it is write-protected")
        return target
    except (OSError, ValueError) as problem:
        raise ModelFileError(f"{path} cannot be written: {_reason(problem)}") from None


def _header(text: str, tensors: Mapping[str, Array]) -> bytes:
    """The header, padded so that the data begin at a multiple of `ALIGNMENT`; no checksum yet."""
    entries: dict[str, Any] = {"__metadata__": {CHECKSUM: "0" * 64, KEY: text}}
    begin = 0
    for name, tensor in tensors.items():
        end, kind = begin + tensor.nbytes, _kind(tensor)
        entries[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    header = dump_json(entries).encode("ascii")
    return header + b" " * (-(8 + len(header)) % ALIGNMENT)


def _write_contents(file: BinaryIO, header: bytes, text: str, tensors: Mapping[str, Array]) -> None:
    """The whole file; the checksum is put into the header once the data have gone by."""
    file.write(struct.pack("<Q", len(header)))
    file.write(header)
    checksum = _checksum(text, tensors, file.write)
    file.seek(8 + header.index(b'"0000') + 1)
    file.write(checksum.encode("ascii"))


def _parts(tensor: Array) -> Iterator[memoryview]:
    """The little-endian bytes of an array, in parts, so that a view costs no whole copy."""
    kind = tensor.dtype.newbyteorder("<")
    if tensor.flags.c_contiguous:
        tensor = tensor.reshape(-1)
    step = max(1, CHUNK * len(tensor) // max(1, tensor.nbytes)) if tensor.ndim else 1
    for start in range(0, len(tensor), step):
        part = np.ascontiguousarray(tensor[start : start + step], kind)
        if part.size:
            yield part.reshape(-1).view(np.uint8).data


def _checksum(
    text: str, tensors: Mapping[str, Array], write: Callable[[memoryview], object] | None = None
) -> str:
    """SHA-256 of the metadata and of each tensor's name, kind, shape and SHA-256, by name.

    It does not depend on the order of the tensors in the file, nor on how the header is spaced. The
    bytes of the tensors are written on the way, if there is something to write them with.
    """
    lines = dict[str, str]()
    for name, tensor in tensors.items():
        digest = hashlib.sha256()
        for part in _parts(tensor):
            digest.update(part)
            if write is not None:
                write(part)
        lines[name] = dump_json([name, _kind(tensor), list(tensor.shape), digest.hexdigest()])
    whole = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(lines):
        whole.update(b"\n" + lines[name].encode("ascii"))
    return whole.hexdigest()


def _kind(tensor: Array) -> str:
    """What safetensors calls the kind of an array's numbers."""
    return NAMES[tensor.dtype.newbyteorder("<").str]


# -- reading -----------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Opened:
    """Open a model file without reading its arrays.

    Those of large files are mapped: pages are read when they are first used. Writing to an array
    changes neither the file nor what others see of it.
    """
    try:
        return _read(path)
    except ModelFileError as problem:
        raise ModelFileError(f"{path} {problem}") from None


def verify(path: str | os.PathLike[str]) -> Opened:
    """Open a model file and check that its contents are those that were written.

    The checksum detects damage by disks and networks; it is no signature, and an attacker can
    compute it anew.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Opened
        As `read` returns it.

    Raises
    ------
    ModelFileError
        If the file cannot be read or does not match its checksum.
    """
    opened = read(path)
    if opened.checksum is None:
        raise ModelFileError(f"{path} has no checksum; save the model again to give it one")
    if _checksum(opened.text, opened.tensors) != opened.checksum:
        raise ModelFileError(f"{path} is damaged: its contents do not match its checksum")
    return opened


# The messages of what follows are clauses about the file, which `read` names.


def _read(path: str | os.PathLike[str]) -> Opened:
    data = _contents(path)
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
    return Opened(os.fspath(path), metadata, _tensors(data, start, header), text, checksum)


def _contents(path: str | os.PathLike[str]) -> mmap.mmap | bytearray:
    """The bytes of a regular file, mapped copy-on-write unless it is small."""
    try:
        kind = Path(path).stat().st_mode
        if not stat.S_ISREG(kind):  # before opening: a pipe would wait for a writer
            raise ModelFileError(f"is not a sureline model: it is {_what(kind)}")
        # Without waiting, whatever the path has become since it was looked at.
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 a descriptor
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ModelFileError(f"is not a sureline model: it is {_what(found.st_mode)}")
            if found.st_size == 0:
                raise ModelFileError("is not a sureline model: it is empty")
            if found.st_size <= SMALL:
                return bytearray(file.read(found.st_size))
            # From Python 3.13 on, a mapping need not keep the file's handle.
            options: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY, **options)
    except FileNotFoundError:
        raise ModelFileError("does not exist") from None
    except (OSError, ValueError) as problem:
        raise ModelFileError(f"cannot be read: {_reason(problem)}") from None


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
            f"{version('sureline')}, which reads formats up to {FORMAT}: upgrade sureline"
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


def _what(mode: int) -> str:
    """What something is that is not a file."""
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "not a regular file"


def _reason(problem: Exception) -> str:
    """Why the system refused, in its words."""
    words = getattr(problem, "strerror", None) or str(problem)
    return f"{words[:1].lower()}{words[1:]}"
