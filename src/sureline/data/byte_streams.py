"""Files as streams of bytes: opened, decompressed and transcoded to UTF-8."""

from __future__ import annotations

import codecs
import io
import os
import select
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa

from sureline.data.compression import XzFile, ZipFile
from sureline.data.formats.detect import SAMPLE_BYTES
from sureline.data.paths import STDIN
from sureline.data.read_options import ReadOptions
from sureline.errors import DataError, InvalidParameter

_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_XZ = b"\xfd7zXZ\x00"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
# After decompression.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive within another file",
    _XZ: "compressed with xz, twice",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"FEA1": "in the first version of the Feather format",
    b"Obj\x01": "in the Avro format",
    b"SQLite format 3\x00": "an SQLite database",
}
_BOM = codecs.BOM_UTF8
_REPLACE = "sureline-invalid-utf8"
_CHUNK = 2**24


def _invalid_utf8(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace what cannot be decoded by a byte that UTF-8 never has, so that its row is bad."""
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    if isinstance(error, UnicodeEncodeError):
        return b"\xff" * (error.end - error.start), error.end
    raise error


codecs.register_error(_REPLACE, _invalid_utf8)


def check_encoding(encoding: str) -> str:
    """The canonical name of an encoding, or an InvalidParameter if it is unknown."""
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError, TypeError):
        raise InvalidParameter(
            f"encoding {encoding!r} is unknown; give a name such as utf-8, latin-1, cp1252 or "
            "utf-16"
        ) from None


@contextmanager
def _as_data_error(name: str) -> Iterator[None]:
    """Turn the errors of the system and of Arrow into a DataError that names the file."""
    try:
        yield
    except (DataError, InvalidParameter):
        raise
    except FileNotFoundError:
        raise DataError(f"there is no file {name!r}; check the path") from None
    except PermissionError:
        raise DataError(f"{name} cannot be read: permission denied") from None
    except (OSError, EOFError, pa.ArrowException) as error:
        said = " ".join(str(error).split())
        if isinstance(error, OSError) and error.strerror:
            said = error.strerror
        raise DataError(f"{name} cannot be read: {said or type(error).__name__}") from None


class _Peekable(io.RawIOBase):
    """A binary stream whose next bytes can be examined before they are read.

    A `pipe` is the number of one: what has arrived in it need not wait for what has not.
    """

    def __init__(self, raw: Any, pipe: int | None = None) -> None:
        self._raw, self._pipe = raw, pipe
        self._head = b""
        self._position = 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or fewer at the end, without reading them.

        Of a pipe, a line that is neither blank nor a comment is enough.
        """
        while len(self._head) < size and not (self._pipe is not None and _has_line(self._head)):
            more = self._more(size - len(self._head), waits=self._pipe is None)
            if not more:
                break
            self._head += more
        return self._head[:size]

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        return self._read(sys.maxsize if size < 0 else size, waits=True)

    def read_available(self, size: int) -> bytes:
        """Up to `size` bytes; of a pipe, those that have arrived, and none only at the end."""
        return self._read(size, waits=self._pipe is None)

    def _read(self, size: int, waits: bool) -> bytes:
        data, self._head = self._head[:size], self._head[size:]
        if len(data) < size and (waits or not data or self._has_more()):
            more = self._more(size - len(data), waits)
            data = data + more if data else more
        self._position += len(data)
        return data

    def _more(self, size: int, waits: bool) -> bytes:
        """Up to `size` bytes that have not been examined; if it `waits`, fewer only at the end."""
        # A damaged file may claim to be larger than memory: allocate only what can be read.
        chunks = list[bytes]()
        while size > 0 and (waits or not chunks or self._has_more()):
            read = self._raw.read if waits else self._raw.read1
            chunk = read(min(size, _CHUNK))
            if not chunk:
                break
            chunks.append(chunk)
            size -= len(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _has_more(self) -> bool:
        """Whether a pipe can be read without waiting."""
        try:
            return self._pipe is not None and bool(select.select([self._pipe], [], [], 0)[0])
        except OSError:  # on Windows, for pipes
            return False

    def tell(self) -> int:
        """How many bytes have been read."""
        return self._position

    def readable(self) -> bool:
        """Whether this can be read."""
        return True


def _has_line(head: bytes) -> bool:
    """Whether there is a whole line that is neither blank nor a comment."""
    lines = head.split(b"\n")[:-1]
    return any(line.strip() and not line.startswith(b"#") for line in lines)


def _pipe_of(raw: Any) -> int | None:
    """The number of a pipe, or of a terminal; None for what is read at once."""
    try:
        number = int(raw.fileno())
        return None if stat.S_ISREG(os.fstat(number).st_mode) else number
    except (AttributeError, OSError, ValueError):
        return None


class ByteStream:
    """A file, or ``"-"`` for standard input, as a stream of decompressed bytes.

    `name` is its name for messages, `compression` the codec of a compressed file, `member` the name
    of the file in an archive. Formats that do not read a file from its beginning to its end set
    `fraction_read`, how much of it is read.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.name = "stdin" if file == STDIN else file
        self.compression: str | None = None
        self.member: str | None = None
        self.fraction_read: float | None = None
        self._opened: IO[bytes] | None = None
        self._spool: IO[bytes] | None = None
        self._archive: IO[bytes] | None = None
        try:
            with _as_data_error(self.name):
                self._open()
        except DataError:
            self.close()
            raise

    def _open(self) -> None:
        """Open the file and detect its compression from its first bytes."""
        if self.file == STDIN:
            raw: Any = getattr(sys.stdin, "buffer", None)
            if raw is None:
                raise DataError("stdin is closed; name a file instead")
        else:
            raw = self._opened = open(self.file, "rb")  # noqa: PTH123, SIM115
        self._raw = self._plain = _Peekable(raw, _pipe_of(raw))
        self._packed: Any = self._raw
        head = self._raw.peek(16)
        for magic, codec in _CODECS.items():
            if head.startswith(magic):
                self.compression = codec
                packed = pa.PythonFile(self._raw, mode="r")
                self._plain = _Peekable(pa.CompressedInputStream(packed, codec))
        if head.startswith(_XZ):
            self.compression = "xz"
            self._plain = _Peekable(XzFile(self._raw))
        elif head.startswith(_ZIP):
            self.compression = "zip"
            self._open_archive()
        with self._reading():
            head = self._plain.peek(16)
        for magic, what in _FOREIGN.items():
            if head.startswith(magic):
                raise DataError(f"{self.name} is {what}, which is not read; convert it first")

    def _open_archive(self) -> None:
        """Open the only file in a zip archive; one from a pipe is first saved."""
        file = self._opened
        if file is None or not is_seekable_file(self.file):
            file = self._archive = tempfile.TemporaryFile(prefix="sureline-")  # noqa: SIM115
            while chunk := self._raw.read(2**20):
                file.write(chunk)
        try:
            unpacked = ZipFile(file, self.name)
        except OSError as error:
            raise DataError(
                f"{self.name} is a damaged or truncated zip file ({error}); get it again"
            ) from None
        self.member, self._packed, self._plain = unpacked.member, unpacked, _Peekable(unpacked)

    @property
    def path(self) -> str | None:
        """The path of the file; None if it is compressed, a pipe or standard input."""
        if self._opened is None or self.compression is not None:
            return None
        return self.file if is_seekable_file(self.file) else None

    @property
    def position(self) -> int:
        """How many bytes of the file, as stored, have been read."""
        if self.fraction_read is None:
            return int(self._packed.tell())
        return int(self.fraction_read * file_size(self.file))

    def peek(self, size: int = SAMPLE_BYTES) -> bytes:
        """The next bytes, without reading them."""
        with self._reading():
            return self._plain.peek(size)

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        with self._reading():
            return self._plain.read(size)

    def read_available(self, size: int) -> bytes:
        """The next `size` bytes, or those that have arrived in a pipe; none only at the end."""
        with self._reading():
            return self._plain.read_available(size)

    def as_arrow(self) -> pa.NativeFile:
        """The rest of the stream as an Arrow file."""
        return pa.PythonFile(self._plain, mode="r")

    def on_disk(self, options: ReadOptions) -> pa.NativeFile:
        """The bytes as a file with random access; a stream is first saved to a temporary one."""
        if self.path is not None:
            return pa.OSFile(self.path)
        if self._spool is None:
            self._spool = tempfile.TemporaryFile(prefix="sureline-")  # noqa: SIM115
            while chunk := self.read(2**20):
                self._spool.write(chunk)
                options.check_expansion(self.name, self._packed.tell(), self._spool.tell())
        self._spool.seek(0)
        return pa.PythonFile(self._spool, mode="r")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn errors into a DataError that says whether the compression is at fault."""
        try:
            with _as_data_error(self.name):
                yield
        except DataError as error:
            if self.compression is None:
                raise
            raise DataError(
                f"{self.name} is a damaged or truncated {self.compression} file ({error}); get it "
                "again"
            ) from None

    def close(self) -> None:
        """Close the file; standard input stays open."""
        for file in (self._opened, self._spool, self._archive):
            if file is not None:
                file.close()


class Utf8Stream:
    """The bytes of a text file transcoded to UTF-8, without a byte order mark."""

    unit = "line"  # what a line is called in messages

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self.stream = stream
        self.name = stream.name
        self._decoder = None
        if encoding in ("utf-8", "utf-8-sig"):
            start = stream.peek(4)
            if start.startswith(_BOM):
                stream.read(len(_BOM))
            elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise DataError(
                    f"{self.name} begins with the byte order mark of UTF-16; name the encoding "
                    "(encoding='utf-16')"
                )
        else:
            self._decoder = codecs.getincrementaldecoder(encoding)(errors=_REPLACE)
        self._start = True
        self._done = False

    def read(self, size: int) -> bytes:
        """About `size` bytes; empty only at the end."""
        if self._decoder is None:
            return self.stream.read_available(size)
        while not self._done:
            chunk = self.stream.read_available(size)
            self._done = not chunk
            text = self._decoder.decode(chunk, final=self._done)
            if self._start and text:
                text, self._start = text.removeprefix("\ufeff"), False
            if text:
                return text.encode("utf-8", errors=_REPLACE)
        return b""


def is_seekable_file(file: str) -> bool:
    """Whether this is a file that can be read again, not a pipe or standard input."""
    try:
        return file != STDIN and stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return True  # opening it reports what is wrong


def file_size(file: str) -> int:
    """The size of a file in bytes; 0 if it cannot be determined."""
    try:
        return os.stat(file).st_size  # noqa: PTH116
    except OSError:
        return 0
