"""Files that are compressed, as streams of plain bytes: xz streams, and zip archives of one file.

Arrow decompresses the other kinds. Each reads no more ahead than it is asked for, and takes memory
that does not depend on the file.
"""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from typing import IO, Any

from sureline.errors import DataError

# What the decompressor of xz may take; files of ``xz -9`` need 65 MB.
_XZ_MEMORY = 128 * 2**20
_CHUNK = 2**16
# The list of files in an archive: one of a single file has far less.
_DIRECTORY = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class XzFile:
    """The plain bytes of xz streams, one after the other."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._decompressor: lzma.LZMADecompressor | None = None
        self._left = b""  # what follows the end of a stream

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none only at the end."""
        while True:
            packed = self._left
            self._left = b""
            if self._decompressor is None:
                packed = packed.lstrip(b"\0") or self._raw.read(_CHUNK).lstrip(b"\0")  # padding
                if not packed:
                    return b""
                self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)
            elif not packed and self._decompressor.needs_input:
                packed = self._raw.read(_CHUNK)
                if not packed:
                    raise EOFError("it ends in the middle")
            try:
                data = self._decompressor.decompress(packed, size)
            except lzma.LZMAError as error:
                raise OSError(str(error)) from None
            if self._decompressor.eof:
                self._left, self._decompressor = self._decompressor.unused_data, None
            if data:
                return data


class ZipFile:
    """The plain bytes of the only file in a zip archive, which is called `member`."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        cautious = _Cautious(file, name)
        try:
            archive = zipfile.ZipFile(cautious)
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise OSError(str(error)) from None
        cautious.begun = True
        # macOS adds a file of its own to each, in a folder of that name.
        members = [
            each
            for each in archive.infolist()
            if not each.is_dir() and not each.filename.startswith("__MACOSX/")
        ]
        if len(members) != 1:
            raise _not_one(name, f"{len(members):,} files" if members else "no file")
        [only] = members
        if only.flag_bits & 1 or only.compress_type not in _METHODS:
            how = "encrypted" if only.flag_bits & 1 else "compressed in a way that is not read"
            raise DataError(f"{name} is a zip archive that is {how}; extract it first")
        self.member = only.filename
        self._archive, self._file = file, archive.open(only)
        self._position, self._size = 0, file.seek(0, io.SEEK_END)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none only at the end."""
        try:
            data = self._file.read(min(size, _DIRECTORY))
        except (zipfile.BadZipFile, zlib.error) as error:
            raise OSError(str(error)) from None
        # After the file comes the directory, which has been read.
        self._position = self._archive.tell() if data else self._size
        return data

    def tell(self) -> int:
        """How much of the archive has been read."""
        return self._position


def _not_one(name: str, many: str) -> DataError:
    return DataError(
        f"{name} is a zip archive of {many}, but only one of a single file is read; extract it, "
        "and name the files to read"
    )


class _Cautious(io.RawIOBase):
    """An archive whose directory, which is read as a whole, must not be large."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self.begun = False

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        if not self.begun and size > _DIRECTORY:
            raise _not_one(self._name, "many files")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The position."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Whether this can be read in any order."""
        return True
