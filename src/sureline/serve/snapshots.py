"""Snapshots in the background, so that a restart need not learn the whole journal."""

from __future__ import annotations

import sqlite3
import time
from copy import deepcopy
from threading import Thread

from sureline.errors import SurelineError
from sureline.estimators import TextClassifier
from sureline.serve.recovery import LOGGER, Store
from sureline.serve.requests import Limits

KEPT = 2  # beside the base


class Snapshots:
    """Writes snapshots when they are due, in a thread of its own.

    `number` is that of the newest snapshot or base, and `problem` why there is no newer one.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self.number = 0
        self.problem: str | None = None
        self._store, self._limits = store, limits
        self._thread: Thread | None = None
        self.look()

    def look(self) -> None:
        """Find the newest in the journal, and remove files that are no longer in it."""
        snapshots = self._store.journal.snapshots()
        self.number = max((each.number for each in snapshots), default=0)
        self._time = time.monotonic()
        self._store.remove_old(KEPT)

    def write_if_due(self, model: TextClassifier, number: int) -> None:
        """Begin to write a snapshot if enough was learned; the model may go on to learn."""
        new, waited = number - self.number, time.monotonic() - self._time
        limits = self._limits
        due = new >= limits.snapshot_every or (new > 0 and waited >= limits.snapshot_seconds)
        if not due or (self._thread is not None and self._thread.is_alive()):
            return
        self.number, self._time = number, time.monotonic()
        made = deepcopy(model), number
        thread = Thread(target=self._write, args=made, name="snapshot", daemon=True)
        thread.start()
        self._thread = thread

    def wait(self) -> None:
        """Wait for the snapshot that is being written."""
        if self._thread is not None:
            self._thread.join()

    def finish(self, model: TextClassifier, number: int) -> None:
        """Write the last snapshot, if it is newer than the others."""
        self.wait()
        if number > self.number:
            self._write(model, number)

    def _write(self, model: TextClassifier, number: int) -> None:
        try:
            self._store.add(model, number)
            self._store.remove_old(KEPT)
            self.problem = None
        except (OSError, SurelineError, sqlite3.Error) as error:
            # The journal has everything; only a restart would take longer.
            self.problem = str(error)
            LOGGER.error("no snapshot of example %s: %s", number, error)
