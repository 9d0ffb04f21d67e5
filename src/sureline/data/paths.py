"""Which files to read: paths, patterns and folders become a list of files in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from sureline.data.formats.detect import COMPRESSIONS, EXTENSIONS, extension
from sureline.errors import DataError, InvalidParameter

STDIN = "-"


def find_files(inputs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str]) -> list[str]:
    """The files that `inputs` name, in order.

    Parameters
    ----------
    inputs : sequence of path-like
        Files, patterns such as ``"logs/*.csv"``, folders, and ``"-"`` for standard input. A folder
        stands for all files of a known kind in it and below it, sorted by name; hidden ones are
        left out.

    Returns
    -------
    list of str
        The names of files to read.
    """
    given = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    names = [os.fsdecode(each) for each in given]
    if not names:
        raise InvalidParameter('no input was given; name a file, a folder or "-" for stdin')
    if names.count(STDIN) > 1:
        raise InvalidParameter('stdin ("-") was given twice; it can be read only once')
    found: list[str] = []
    for name in names:
        found.extend([name] if name == STDIN else _files_of(name))
    return found


def _files_of(name: str) -> Iterable[str]:
    """The files that one name stands for."""
    if os.path.isdir(name):  # noqa: PTH112
        return _files_below(name)
    if os.path.lexists(name):
        return [name]
    if not glob.has_magic(name) or "\0" in name:
        raise DataError(f"there is no file {name!r}; check the path")
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    files = [match for match in matches if not os.path.isdir(match)]  # noqa: PTH112
    if not files:
        raise DataError(f"no file matches the pattern {name!r}; check the path")
    return files


def _files_below(folder: str) -> list[str]:
    """All files of a known kind in a folder, sorted by name."""
    found = []
    unreadable: list[OSError] = []
    for base, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [
            Path(base, file)
            for file in files
            if not file.startswith(".") and extension(file) in EXTENSIONS
        ]
    if unreadable:
        error = unreadable[0]
        raise DataError(f"cannot read the folder {error.filename}: {error.strerror}")
    if not found:
        known = ", ".join(f".{each}" for each in EXTENSIONS)
        packed = ", ".join(f".{each}" for each in COMPRESSIONS)
        raise DataError(
            f"the folder {folder!r} holds no data: no file in it ends in {known} (alone or with "
            f"{packed}); name the files, or a pattern such as '{Path(folder, '*.txt')}'"
        )
    return [str(path) for path in sorted(found, key=lambda path: path.parts)]
