"""What the Python workers of an executor share: its scratch folder, which is removed with it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def scratch_folder(name: str) -> Path:
    """A folder that the workers of this executor share."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    folder = Path(given or tempfile.gettempdir()) / "python" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def share_compiled_code() -> None:
    """Where compiled code cannot be kept beside the sources, keep it in the scratch folder.

    `NUMBA_CACHE_DIR` has precedence. Numba reads it when it is imported, so that this has no effect
    afterwards.
    """
    writeable = os.access(Path(__file__).parents[1], os.W_OK)
    if not writeable and "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(scratch_folder("sureline-compiled")))
