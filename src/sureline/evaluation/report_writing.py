"""Files that are complete or not there at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

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
    given = Path(path)
    if given.exists() and not given.is_file() and not given.is_dir():
        given.write_bytes(content)
        return
    target = Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise InvalidParameter(f"{given}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InvalidParameter(f"{given} is a folder; give the name of a file")
    temporary = target.with_name(f".sureline-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
