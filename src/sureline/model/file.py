"""The container of a model file: a safetensors file, written atomically and checked when read.

A file holds one JSON string of metadata and named arrays. It is written beside its target and
renamed, so that the target is never half a model; it is read by mapping it copy-on-write, after
every byte of its header has been checked, so that opening a large model costs next to nothing.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sureline.data.atomic_write import atomic_write
from sureline.errors import ModelFileError
from sureline.model.serialize.fields import dump_json
from sureline.model.serialize.header import (
    FORMAT,
    LONGEST_HEADER,
    Array,
    kind_of,
    make_header,
    parse_contents,
    version,
)

CHUNK = 2**22  # bytes written or hashed at a time
SMALL = 2**20  # bytes: smaller files are read, as a mapped one may keep a file handle open


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
    try:
        text = dump_json({"format": FORMAT, "sureline": version(), **metadata})
    except ValueError:
        raise ModelFileError(
            f"{path} cannot be written: the model has numbers that are not finite"
        ) from None
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header = make_header(text, {name: tensors[name] for name in order})
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
        lines[name] = dump_json([name, kind_of(tensor), list(tensor.shape), digest.hexdigest()])
    whole = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(lines):
        whole.update(b"\n" + lines[name].encode("ascii"))
    return whole.hexdigest()


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


def _read(path: str | os.PathLike[str]) -> Opened:
    """The file; the messages of errors are clauses about it."""
    return Opened(os.fspath(path), *parse_contents(_contents(path)))


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


def _what(mode: int) -> str:
    """What something is that is not a file."""
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "not a regular file"


def _reason(problem: Exception) -> str:
    """Why the system refused, in its words."""
    words = getattr(problem, "strerror", None) or str(problem)
    return f"{words[:1].lower()}{words[1:]}"
