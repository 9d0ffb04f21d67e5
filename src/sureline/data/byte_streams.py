"""Inputs as streams of bytes: opened, decompressed, and turned into UTF-8."""

from __future__ import annotations

import codecs
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa

from sureline.data.formats.detect import LOOK
from sureline.data.paths import STDIN
from sureline.errors import DataError, InvalidParameter

_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"FEA1": "in the first version of the Feather format",
    b"Obj\x01": "in the Avro format",
    b"SQLite format 3\x00": "an SQLite database",
}
_BOM = codecs.BOM_UTF8
_MARK = "sureline-mark"
_PIECE = 2**24


def _mark(error: UnicodeError) -> tuple[str | bytes, int]:
    """Put a byte that is never UTF-8 in place of what cannot be decoded; its row is then bad."""
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    if isinstance(error, UnicodeEncodeError):
        return b"\xff" * (error.end - error.start), error.end
    raise error


codecs.register_error(_MARK, _mark)


def check_encoding(encoding: str) -> str:
    """The usual name of an encoding, or an InvalidParameter where there is no such one."""
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError, TypeError):
        raise InvalidParameter(
            f"encoding {encoding!r} is unknown; give a name such as utf-8, latin-1, cp1252 or "
            "utf-16"
        ) from None


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what the system and Arrow say of an input into one sentence that names it."""
    try:
        yield
    except (DataError, InvalidParameter):
        raise
    except FileNotFoundError:
        raise DataError(f"there is no file {name!r}; check the path") from None
    except PermissionError:
        raise DataError(f"{name} may not be read: permission denied") from None
    except (OSError, EOFError, pa.ArrowException) as error:
        said = " ".join(str(error).split())
        if isinstance(error, OSError) and error.strerror:
            said = error.strerror
        raise DataError(f"{name} cannot be read: {said or type(error).__name__}") from None


class _Ahead:
    """A binary stream whose beginning can be looked at before it is read."""

    closed = False

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._head = b""
        self._position = 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or fewer at the end; they are still to be read."""
        if len(self._head) < size:
            self._head += self._more(size - len(self._head))
        return self._head[:size]

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        if size < 0:
            size = sys.maxsize
        given, self._head = self._head[:size], self._head[size:]
        if len(given) < size:
            more = self._more(size - len(given))
            given = given + more if given else more
        self._position += len(given)
        return given

    def _more(self, size: int) -> bytes:
        """Up to `size` bytes that have not been looked at."""
        # A damaged file may ask for more than there is memory: no more is taken than comes.
        pieces = []
        while size > 0:
            piece = self._raw.read(min(size, _PIECE))
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def tell(self) -> int:
        """How many bytes have been read."""
        return self._position

    def readable(self) -> bool:
        """A stream is there to be read."""
        return True

    def seekable(self) -> bool:
        """A stream goes only forward."""
        return False

    def close(self) -> None:
        """Nothing: who opened the file closes it."""

    def flush(self) -> None:
        """Nothing: a stream is only read."""


class Stream:
    """One input as a stream of decompressed bytes.

    Parameters
    ----------
    file : str
        The name of the file, or ``"-"`` for standard input.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.name = "stdin" if file == STDIN else file
        self.compression: str | None = None
        self._opened: IO[bytes] | None = None
        self._spool: IO[bytes] | None = None
        try:
            with explained(self.name):
                self._open()
        except DataError:
            self.close()
            raise

    def _open(self) -> None:
        """Open the file and tell its compression by its first bytes."""
        if self.file == STDIN:
            raw: Any = getattr(sys.stdin, "buffer", None)
            if raw is None:
                raise DataError("stdin is closed; name a file instead")
        else:
            raw = self._opened = open(self.file, "rb")  # noqa: PTH123, SIM115
        self._raw = _Ahead(raw)
        head = self._raw.peek(16)
        for magic, codec in _CODECS.items():
            if head.startswith(magic):
                self.compression = codec
                packed = pa.PythonFile(self._raw, mode="r")
                self._plain = _Ahead(pa.CompressedInputStream(packed, codec))
                break
        else:
            self._plain = self._raw
        with self._named():
            head = self._plain.peek(16)
        for magic, what in _FOREIGN.items():
            if head.startswith(magic):
                raise DataError(f"{self.name} is {what}, which is not read; convert it first")

    @property
    def path(self) -> str | None:
        """Where the bytes lie on disk as they are; None if they are compressed or a stream."""
        if self._opened is None or self.compression is not None:
            return None
        return self.file if is_file(self.file) else None

    @property
    def position(self) -> int:
        """How many bytes of the input, as it is stored, have been read."""
        return self._raw.tell()

    def peek(self, size: int = LOOK) -> bytes:
        """The first bytes, which are still to be read."""
        with self._named():
            return self._plain.peek(size)

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        with self._named():
            return self._plain.read(size)

    def as_arrow(self) -> pa.NativeFile:
        """The bytes still to be read, as Arrow reads files."""
        return pa.PythonFile(self._plain, mode="r")

    def on_disk(self) -> pa.NativeFile:
        """The bytes as a file that can be read in any order; a stream is saved to one."""
        if self.path is not None:
            return pa.OSFile(self.path)
        if self._spool is None:
            self._spool = tempfile.TemporaryFile(prefix="sureline-")  # noqa: SIM115
            while piece := self.read(2**20):
                self._spool.write(piece)
        self._spool.seek(0)
        return pa.PythonFile(self._spool, mode="r")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of reading, in one sentence."""
        try:
            with explained(self.name):
                yield
        except DataError as error:
            if self.compression is None:
                raise
            raise DataError(
                f"{self.name} is a damaged or cut off {self.compression} file ({error}); "
                "get it again"
            ) from None

    def close(self) -> None:
        """Close the file; standard input stays open."""
        for file in (self._opened, self._spool):
            if file is not None:
                file.close()


class Utf8:
    """The bytes of a text file in UTF-8, whatever its encoding, without a byte order mark.

    Parameters
    ----------
    stream : Stream
        Where the bytes come from.
    encoding : str
        The encoding they are in.
    """

    def __init__(self, stream: Stream, encoding: str) -> None:
        self.stream = stream
        self.name = stream.name
        self.encoding = encoding
        self._decoder = None
        if encoding in ("utf-8", "utf-8-sig"):
            start = stream.peek(4)
            if start.startswith(_BOM):
                stream.read(len(_BOM))
            elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise DataError(
                    f"{self.name} begins with the mark of UTF-16; say so (encoding='utf-16', "
                    "--encoding utf-16)"
                )
        else:
            self._decoder = codecs.getincrementaldecoder(encoding)(errors=_MARK)
        self._start = True
        self._done = False

    def read(self, size: int) -> bytes:
        """About `size` bytes; none only at the end."""
        if self._decoder is None:
            return self.stream.read(size)
        while not self._done:
            piece = self.stream.read(size)
            self._done = not piece
            text = self._decoder.decode(piece, final=self._done)
            if self._start and text:
                text, self._start = text.removeprefix("\ufeff"), False
            if text:
                return text.encode("utf-8", errors=_MARK)
        return b""


def is_file(file: str) -> bool:
    """Whether this is the name of a file that can be read again, not of a pipe or stdin."""
    try:
        return file != STDIN and stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return True  # opening it will tell what is wrong
