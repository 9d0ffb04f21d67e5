"""Detecting the format of a file: from the extension of its name, or else from its first bytes."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath

from sureline.data.formats import FORMATS, Format, Sample, load_format
from sureline.errors import DataError

COMPRESSIONS = ("gz", "bz2", "zst", "lz4", "xz", "zip")

# How many bytes of a file are examined.
SAMPLE_BYTES = 2**16


@cache
def known_extensions() -> dict[str, str]:
    """All file name extensions, and the names of their formats."""
    return {each: name for name in FORMATS for each in load_format(name).extensions}


def extension(name: str) -> str:
    """The extension of a file name in lower case, without that of a compression."""
    suffixes = [suffix[1:].lower() for suffix in PurePath(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def detect_format(name: str, head: bytes, columns: list[str], member: str | None = None) -> Format:
    """Detect the format of a file: a known extension settles it, that of an archive's `member` too.

    `head` has the first bytes, decompressed and in UTF-8; a first line that holds one of the names
    `columns` is a header.
    """
    for each in (member, name):
        known = known_extensions().get(extension(each or ""))
        if known is not None:
            return load_format(known)
    names = frozenset(column.encode() for column in columns)
    sample = Sample(head, _first_line(head), names)
    for candidate in map(load_format, reversed(FORMATS)):
        if candidate.matches(sample):
            return candidate
    raise DataError(
        f"cannot detect the format of {name}; name it (format=...): {', '.join(FORMATS)}"
    )


def _first_line(head: bytes) -> bytes:
    """The first line that is neither blank nor a comment, as svmlight files have them."""
    lines = head.removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()
    if not lines:
        return b""
    if lines[0].startswith(b"#"):
        lines = [line for line in lines if not line.startswith(b"#")] or lines
    if len(lines) == 1 and len(head) >= SAMPLE_BYTES:  # the line goes on beyond the sample
        return lines[0].rpartition(b" ")[0] or lines[0]
    return lines[0]
