"""The file formats, one module each.

To add a format, add a module here that is named after it and defines ``FORMAT = Format(...)``, and
add its name to `FORMATS`. The reader, the detection of formats and the command line all work from
this list. It imports nothing heavy, so that ``--help`` can show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from sureline.data.bad_rows import BadRows
    from sureline.data.byte_streams import ByteStream
    from sureline.data.raw_batch import RawBatch
    from sureline.data.read_options import ReadOptions

# In the order of help texts and errors. Detection tries them from the last to the first: any line
# with a comma could be CSV, so CSV comes last there.
FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "svmlight", "fasttext", "vw", "lines")


class Sample(NamedTuple):
    """The beginning of a file, from which its format is detected.

    `head` has the first bytes, decompressed and in UTF-8; `line` is the first line with content,
    which ends after a whole word if it is too long for the sample. `columns` are the names of the
    columns to read: a line that holds one of them is a header.
    """

    head: bytes
    line: bytes
    columns: frozenset[bytes]


@dataclass(frozen=True)
class Format:
    """A file format: how its files are recognized and read.

    `name` is the name of its module, too; `extensions` are without the dot. `read` yields raw
    batches of about ``options.batch_bytes``, in order, and reports bad rows to the `BadRows`.
    `has_columns` is whether files have columns to choose from.
    """

    name: str
    extensions: tuple[str, ...]
    matches: Callable[[Sample], bool]
    read: Callable[[ByteStream, ReadOptions, BadRows], Iterator[RawBatch]]
    has_columns: bool = False


@cache
def load_format(name: str) -> Format:
    """Import the module of a format and return what it defines."""
    return cast(Format, import_module(f"{__name__}.{name}").FORMAT)
