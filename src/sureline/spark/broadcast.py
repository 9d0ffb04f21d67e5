"""Models on executors: broadcast as the bytes of a model file.

Each executor keeps the file once, in its scratch folder. Its workers map the file, so that they
share the memory of a model that they only read.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

from sureline.errors import ModelFileError
from sureline.estimators import load, save
from sureline.spark.executor import scratch_folder

TRUSTED = sys.float_info.max  # the driver made the model, within a limit of its own
KEPT = 4  # model files that an executor keeps; a worker that has mapped a file needs it no more


class PickledAsFile:
    """A classifier, as it is now, that is pickled as its file; unpickling gives the classifier."""

    def __init__(self, model: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.sureline"
            save(model, path, mapped=True)
            self._bytes = path.read_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle, (secrets.token_hex(16), self._bytes)


def unpickle(name: str, content: bytes) -> Any:
    """The model in the bytes of a model file; no other model has this name."""
    folder = scratch_folder("models")
    path = folder / f"{name}.sureline"
    if path.exists():
        with contextlib.suppress(ModelFileError):  # it may be removed at this moment
            return load(path, TRUSTED)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(content)
    model = load(file.name, TRUSTED)
    Path(file.name).replace(path)
    with contextlib.suppress(OSError):  # another worker may remove them at the same time
        files = sorted(folder.glob("*.sureline"), key=lambda each: each.stat().st_mtime)
        for old in files[:-KEPT]:
            old.unlink(missing_ok=True)
    return model
