"""A model on its way to the executors: as the bytes of its file, broadcast once.

Each executor keeps the file once, in its scratch folder, and its workers map it, so that they share
the memory of a model that they only read.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from pathlib import Path
from typing import Any

from sureline.errors import ModelFileError

KEPT = 4  # files of models that an executor keeps; a worker that has mapped one needs it no more


class Shipped:
    """A model that is pickled as its file.

    Parameters
    ----------
    model : classifier
        A fitted sureline classifier. It is written once, now; what it learns later does not
        travel.
    """

    def __init__(self, model: Any) -> None:
        from sureline.estimators import save

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.sureline"
            save(model, path)
            self._bytes = path.read_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return unpack, (secrets.token_hex(16), self._bytes)


def unpack(name: str, content: bytes) -> Any:
    """The model in the bytes of a file; `name` tells one model from another."""
    from sureline.spark.compile_cache import compiled_apart, scratch

    with compiled_apart():
        from sureline.estimators import load

        folder = scratch("sureline-models")
        path = folder / f"{name}.sureline"
        if path.exists():
            with contextlib.suppress(ModelFileError):  # it may be removed at this very moment
                return load(path)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        model = load(file.name)
        Path(file.name).replace(path)
        _forget_old(folder)
        return model


def _forget_old(folder: Path) -> None:
    """Remove the files that newer models have replaced."""
    with contextlib.suppress(OSError):  # another worker may remove them at the same time
        files = sorted(folder.glob("*.sureline"), key=lambda path: path.stat().st_mtime)
        for path in files[:-KEPT]:
            path.unlink(missing_ok=True)
