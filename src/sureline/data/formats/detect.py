"""Which format an input has: by the end of its name, or by its first bytes."""

from __future__ import annotations

import re
from pathlib import PurePath

from sureline.errors import DataError, InvalidParameter

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "svmlight", "fasttext", "vw")
EXTENSIONS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "arrows": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "svm": "svmlight",
    "svmlight": "svmlight",
    "libsvm": "svmlight",
    "tf": "svmlight",
    "fasttext": "fasttext",
    "ft": "fasttext",
    "vw": "vw",
}
COMPRESSIONS = ("gz", "bz2", "zst", "lz4")
COLUMNAR = ("parquet", "arrow")
# What has columns with names, and what has none.
WITH_COLUMNS = ("csv", "tsv", "jsonl", "parquet", "arrow")

# How much of an input is looked at to tell what it is.
LOOK = 2**16

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VW = re.compile(rb"\s*(?:%b(?:[ \t]+%b){0,2}[ \t]+)?(?:'[^\s|]*[ \t]*)?\|" % (_NUMBER, _NUMBER))
_FEATURE = rb"\d+:" + _NUMBER
_SVMLIGHT = re.compile(
    rb"(?:%b(?:[ \t]+qid:\d+)?|%b)(?:[ \t]+%b)+[ \t]*(?:#.*)?$" % (_NUMBER, _FEATURE, _FEATURE)
)


def check_format(name: str | None) -> None:
    """Raise InvalidParameter unless `name` is None or the name of a format."""
    if name is not None and name not in FORMATS:
        raise InvalidParameter(f"format {name!r} does not exist; it can be {', '.join(FORMATS)}")


def extension(name: str) -> str:
    """The end of a file's name that tells its kind, below that of a compression."""
    ends = [end[1:].lower() for end in PurePath(name).suffixes]
    if ends and ends[-1] in COMPRESSIONS:
        ends.pop()
    return ends[-1] if ends else ""


def guess_format(name: str, head: bytes, wanted: tuple[str, ...]) -> str:
    """The format of the input `name` that begins with `head`.

    Parameters
    ----------
    name : str
        The name of the file; its end tells the format where it is a known one.
    head : bytes
        The first bytes, decompressed; not empty.
    wanted : tuple of str
        The names of the columns asked for: a first line that holds one of them is a header.
    """
    known = EXTENSIONS.get(extension(name))
    if known is not None:
        return known
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    lines = head.removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()
    # svmlight files may begin with comments.
    if lines and lines[0].startswith(b"#"):
        lines = [line for line in lines if not line.startswith(b"#")] or lines
    first = lines[0] if lines else b""
    if len(lines) <= 1 and len(head) >= LOOK:  # a long line that we see only the beginning of
        first = first.rpartition(b" ")[0] or first
    found = _format_of_line(first, wanted)
    if found is None:
        raise DataError(
            f"cannot tell the format of {name}; name it (format=, --format): {', '.join(FORMATS)}"
        )
    return found


def _format_of_line(line: bytes, wanted: tuple[str, ...]) -> str | None:
    """The format that a first line looks like."""
    if line.startswith(b"{"):
        return "jsonl"
    if line.startswith(b"__label__"):
        return "fasttext"
    if _VW.match(line):
        return "vw"
    if _SVMLIGHT.match(line):
        return "svmlight"
    names = {name.encode() for name in wanted}
    for mark, kind in ((b"\t", "tsv"), (b",", "csv")):
        if names & {field.strip(b'"') for field in line.split(mark)}:
            return kind
    if b"\t" in line:
        return "tsv"
    return "csv" if b"," in line else None
