"""A folder that one process uses at a time."""

from __future__ import annotations

from pathlib import Path

from sureline.errors import InvalidParameter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FolderLock:
    """Hold a folder, which is made if it is not there, until it is released or the process ends."""

    def __init__(self, folder: Path, what: str) -> None:
        if not folder.parent.is_dir():
            raise InvalidParameter(f"there is no folder {folder.parent}")
        folder.mkdir(exist_ok=True)
        self._file = (folder / "lock").open("a")
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise InvalidParameter(f"{what} is in use by another process") from None

    def release(self) -> None:
        """Let others use the folder."""
        self._file.close()
