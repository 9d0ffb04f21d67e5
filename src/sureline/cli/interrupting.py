"""Ctrl-C at a good moment: what is being learned or written is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class Patience:
    """Holds an interruption back until a piece of work is whole; a second one is not held back."""

    def __init__(self) -> None:
        self._busy = self._asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        # Signals reach the main thread only, and only it may say what they do.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work that an interruption must not cut in two."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._asked:
            self._asked = False
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._busy or self._asked:
            self._asked = False
            raise KeyboardInterrupt
        self._asked = True
