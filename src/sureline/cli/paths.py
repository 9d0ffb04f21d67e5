"""Whether files can be written where they are to be, found out before any work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sureline.errors import InvalidParameter


def check_place(path: str, option: str) -> None:
    """Refuse a path to which no file can be written, with the reason."""
    target = Path(os.path.realpath(path))
    if not path or target.is_dir():
        raise InvalidParameter(f"{option} {path} is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise InvalidParameter(
            f"{option} {path}: there is no folder {target.parent}; make it first"
        )
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InvalidParameter(f"{option} {path} cannot be written: permission denied")


def check_not_an_input(path: str, option: str, files: Iterable[str]) -> None:
    """Refuse to write over what is being read."""
    real = os.path.realpath(path)
    if any(os.path.realpath(file) == real for file in files if file != "-"):
        raise InvalidParameter(f"{option} {path} is one of the inputs; give another file")
