"""Ctrl-C is deferred until the present work is complete."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from types import FrameType
from typing import Any, Self

NUDGE = getattr(signal, "SIGURG", None)  # ignored by default
SOON = 0.05  # seconds


class DeferredInterrupt:
    """Defers an interruption until the present work is complete; a second one is not deferred."""

    def __init__(self) -> None:
        self._busy = self._pending = False
        self._before: dict[int, Any] = {}
        self._wakeup: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        # Signals reach the main thread only, and only it may say what they do.
        if threading.current_thread() is threading.main_thread():
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
            if NUDGE is not None:
                self._before[NUDGE] = signal.signal(NUDGE, lambda number, frame: None)
                self._listen(NUDGE)
        return self

    def __exit__(self, *error: object) -> None:
        if self._wakeup is not None:
            before, writing = self._wakeup
            signal.set_wakeup_fd(before)
            os.close(writing)  # which ends the thread
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Work that an interruption must not split."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._busy or self._pending:
            self._pending = False
            raise KeyboardInterrupt
        self._pending = True

    def _listen(self, nudge: int) -> None:
        """Let a main thread that waits for a pipe notice an interruption.

        A signal that comes just before the thread begins to wait is noted, but the handler is not
        called before the wait is over. A second signal, soon after, ends it.
        """
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        self._wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False), writing
        main = threading.main_thread().ident or 0

        def listen() -> None:
            while noted := os.read(reading, 1):
                if noted[0] == signal.SIGINT:
                    sleep(SOON)
                    signal.pthread_kill(main, nudge)
            os.close(reading)

        threading.Thread(target=listen, daemon=True).start()
