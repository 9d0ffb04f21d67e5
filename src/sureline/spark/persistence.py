"""Model files on any file system that Spark knows."""

from __future__ import annotations

import re
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sureline.errors import ModelFileError
from sureline.estimators import load, save
from sureline.spark.pyspark_internals import hadoop

if TYPE_CHECKING:
    from pyspark import SparkContext

BATCH = re.compile(r"batch-(\d+)\.sureline")
KEPT = 2  # models of a stream; somebody may just be reading the older one


class ModelStore:
    """A folder of model files, on a file system that Spark knows.

    Without a scheme such as ``hdfs://`` it is on the file system that Spark uses by default.
    """

    def __init__(self, context: SparkContext, folder: str) -> None:
        self._new_path, configuration = hadoop(context)
        self._folder = self._new_path(folder)
        self._files = self._folder.getFileSystem(configuration)

    def _path(self, name: str) -> Any:
        return self._new_path(self._folder, name)

    def put(self, model: Any, name: str, notes: dict[str, Any] | None = None) -> None:
        """Write a model under a name, all of it or nothing; an existing one is replaced."""
        unfinished = self._path(f".{name}.{secrets.token_hex(4)}.tmp")
        with tempfile.TemporaryDirectory() as folder:
            local = Path(folder) / name
            save(model, local, notes)
            source = self._new_path(local.as_uri())
            self._files.mkdirs(self._folder)
            self._files.copyFromLocalFile(False, True, source, unfinished)
        target = self._path(name)
        if self._files.exists(target):
            self._files.delete(target, False)
        if not self._files.rename(unfinished, target):
            raise ModelFileError(f"{target.toString()} cannot be written")

    def get(self, name: str, limit_gb: float) -> Any:
        """Read the model under a name, which may take so much memory."""
        path = self._path(name)
        if not self._files.exists(path):
            raise ModelFileError(f"there is no file {path.toString()}")
        with tempfile.TemporaryDirectory() as folder:
            local = Path(folder) / "model.sureline"
            self._files.copyToLocalFile(False, path, self._new_path(local.as_uri()), True)
            return load(local, limit_gb)

    # -- the models of a stream ----------------------------------------------------------------

    def batches(self) -> list[int]:
        """The numbers of the batches after which a model was written, in order."""
        if not self._files.exists(self._folder):
            return []
        names = [each.getPath().getName() for each in self._files.listStatus(self._folder)]
        return sorted(int(match[1]) for name in names if (match := BATCH.fullmatch(name)))

    def put_batch(self, model: Any, batch: int) -> None:
        """Write the model after a batch, and remove all older ones but the last."""
        self.put(model, f"batch-{batch}.sureline", {"batch": batch})
        for old in self.batches()[:-KEPT]:
            self._files.delete(self._path(f"batch-{old}.sureline"), False)

    def last_batch(self, limit_gb: float) -> tuple[int, Any] | None:
        """The number of the last batch and the model after it; None if there is no model."""
        stored = self.batches()
        return (stored[-1], self.get(f"batch-{stored[-1]}.sureline", limit_gb)) if stored else None
