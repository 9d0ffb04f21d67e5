"""The files to read: paths, patterns and folders become a list of files in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from sureline.data.formats.detect import COMPRESSIONS, extension, known_extensions
from sureline.errors import DataError, InvalidParameter

STDIN = "-"


def find_files(inputs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str]) -> list[str]:
    """The files that `inputs` name, in order.

    A folder means all files with a known extension in it and below it, sorted by name, without
    hidden ones.
    """
    given = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    names = [os.fsdecode(each) for each in given]
    if not names:
        raise InvalidParameter('no input was given; name a file, a folder or "-" for stdin')
    if names.count(STDIN) > 1:
        raise InvalidParameter('stdin ("-") was given twice; it can be read only once')
    return [file for name in names for file in ([name] if name == STDIN else _expand(name))]


def list_files(files: Sequence[str], limit: int | None = None) -> str:
    """The names of files as a phrase, the first `limit` of them, with stdin by its name."""
    shown = ", ".join("stdin" if file == STDIN else file for file in files[:limit])
    more = 0 if limit is None else len(files) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def _expand(name: str) -> Iterable[str]:
    if os.path.isdir(name):  # noqa: PTH112
        return _walk(name)
    if os.path.lexists(name):
        return [name]
    if not glob.has_magic(name) or "\0" in name:
        raise DataError(f"there is no file {name!r}; check the path")
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    files = [match for match in matches if not os.path.isdir(match)]  # noqa: PTH112
    if not files:
        raise DataError(f"no file matches the pattern {name!r}; check the path")
    return files


def _walk(folder: str) -> list[str]:
    """All files with a known extension in a folder, sorted by name."""
    found = []
    unreadable: list[OSError] = []
    for base, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [
            Path(base, file)
            for file in files
            if not file.startswith(".") and extension(file) in known_extensions()
        ]
    if unreadable:
        error = unreadable[0]
        raise DataError(f"cannot read the folder {error.filename}: {error.strerror}")
    if not found:
        known = ", ".join(f".{each}" for each in known_extensions())
        packed = ", ".join(f".{each}" for each in COMPRESSIONS)
        raise DataError(
            f"the folder {folder!r} holds no data: no file in it ends in {known} (alone or with "
            f"{packed}); name the files, or a pattern such as '{Path(folder, '*.txt')}'"
        )
    return [str(path) for path in sorted(found, key=lambda path: path.parts)]
