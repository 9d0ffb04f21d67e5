"""Files that are complete or not there at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from sureline.errors import InvalidParameter


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that takes its place only once it is complete.

    Parameters
    ----------
    path : str or path
        The file; one that exists is replaced. A pipe or a device is written to as it is.
    content : bytes
        What it is to hold.
    """
    with open_whole(path) as file:
        file.write(content)


@contextmanager
def open_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The same for what is written bit by bit, while the file is open.

    Parameters
    ----------
    path : str or path
        The file.
    """
    given = Path(path)
    if given.exists() and not given.is_file() and not given.is_dir():
        with given.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise InvalidParameter(f"{given}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InvalidParameter(f"{given} is a folder; give the name of a file")
    temporary = target.with_name(f".sureline-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
