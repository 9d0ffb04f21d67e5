"""Files that are replaced only once their new content is complete."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sureline.errors import InvalidParameter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SETTLED = 60.0  # seconds after which an unfinished file that nobody holds is left over from a kill


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes its name once it is closed without an error.

    The content goes to a temporary file in the same folder, which is flushed to the disk and
    renamed, so that a reader sees the old file or the new one and a failure leaves the old one. A
    link is followed, an existing file keeps its permissions, and a pipe or a device is written to
    directly. Temporary files of processes that were killed are removed.
    """
    try:
        mode: int | None = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise InvalidParameter(f"{path} is a folder; give the name of a file")
    if mode is not None and not stat.S_ISREG(mode):
        with Path(path).open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InvalidParameter(f"{path}: there is no folder {target.parent}; create it first")
    _remove_left_over(target.parent)
    temporary = target.with_name(f".sureline-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            _hold(file)
            yield file
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _hold(file: BinaryIO) -> bool:
    """Lock a file until it is closed; False if another process holds it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or a file system without locks
        return False
    return True


def _remove_left_over(folder: Path) -> None:
    """Remove temporary files that no process holds any more."""
    with suppress(OSError):
        for path in folder.glob(".sureline-*.tmp"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - SETTLED:
                    with path.open("rb") as file:
                        if _hold(file):
                            path.unlink()


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # some file systems cannot; the file itself is safe
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
