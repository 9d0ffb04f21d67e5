"""What the Python workers of an executor share: its scratch folder, which is removed with it."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path


def scratch_folder(name: str) -> Path:
    """A folder that the workers of this executor share, and that no other user can write to.

    Whoever can write to it decides which code and which models the workers load.
    """
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return _own_folder(Path(given or tempfile.gettempdir()) / f"sureline-{_user()}" / name)


@cache
def _own_folder(folder: Path) -> Path:
    """The folder, or one of this process alone if others can write to it."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(each):
            return Path(tempfile.mkdtemp(prefix="sureline-"))
    return folder


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_own(folder: Path) -> bool:
    """Whether a folder belongs to this user, and only this user can write to it."""
    if not hasattr(os, "getuid"):  # Windows: folders for temporary files are the user's own
        return True
    found = folder.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISDIR(found.st_mode) and found.st_uid == _user() and not found.st_mode & others


def share_compiled_code() -> None:
    """Where compiled code cannot be kept beside the sources, keep it in the scratch folder.

    `NUMBA_CACHE_DIR` has precedence. Numba reads it when it is imported, so that this has no effect
    afterwards.
    """
    writeable = os.access(Path(__file__).parents[1], os.W_OK)
    if not writeable and "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(scratch_folder("compiled")))
