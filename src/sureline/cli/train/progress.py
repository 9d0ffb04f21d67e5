"""The progress of a training run: a live line on a terminal, a log elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from sureline.cli.screen import REFRESH, clock, message_console, percent, rounded, write_message
from sureline.model.predictions import Counts

HEADER = (
    f"{'examples':>12} {'classes':>7} {'features':>11} {'error':>9} {'since':>9} {'changing':>9}"
)
SEPARATOR = " · "
BAR = 12  # columns
WINDOW = 1.0  # seconds of the recent past in the live line


@dataclass(frozen=True)
class Status:
    """How far training has come.

    `examples` counts all rows, also those of weight 0; `counts` what was learned. `share` is the
    part of the work that is done, if it is known, `done` the bytes learned.
    """

    examples: int
    counts: Counts
    classes: int
    features: int
    done: int
    share: float | None


class Progress:
    """Where the progress of training is shown: here, nowhere."""

    def next_stop(self, examples: int) -> int | None:
        """The next number of examples, above this one, at which it must be updated."""
        return None

    def begin(self, status: Status) -> None:
        """Training starts here, after what was learned before."""

    def update(self, status: Status) -> None:
        """Training has come so far."""

    def end(self) -> None:
        """Training is over, or interrupted."""


class ProgressLog(Progress):
    """A row at 1, 2, 4, 8, ... examples and one at the end, for logs and pipes.

    `error` is the share of examples that were misclassified just before they were learned; `since`
    is the same and `changing` the share that changed the model, both since the row before.
    """

    def __init__(self, write: Any) -> None:
        self._write = write
        self._last: Status | None = None
        self._shown = Counts()
        self._begun = False

    def next_stop(self, examples: int) -> int | None:
        """The next power of two."""
        return int(1 << examples.bit_length())

    def begin(self, status: Status) -> None:
        """What was learned before is not shown again."""
        self._shown = status.counts

    def update(self, status: Status) -> None:
        """Show a row, if the number of examples is a power of two."""
        self._last = status
        if status.examples & (status.examples - 1) == 0:
            self._show(status)

    def end(self) -> None:
        """Show where it ended, unless that row has been shown."""
        if self._last is not None and self._last.examples & (self._last.examples - 1):
            self._show(self._last)

    def _show(self, status: Status) -> None:
        if not self._begun:
            self._begun = True
            self._write(HEADER)
        since = difference(status.counts, self._shown)
        self._shown = status.counts
        cells = [
            f"{status.examples:>12,} {status.classes:>7,} {status.features:>11,}",
            f"{percent(status.counts.mistakes, status.counts.seen):>9}",
            f"{percent(since.mistakes, since.seen):>9}",
            f"{percent(since.updates, since.seen):>9}",
        ]
        self._write(" ".join(cells))


class ProgressLine(Progress):
    """One line on a terminal that is always up to date, with a bar where the end is known."""

    def __init__(self, console: Any) -> None:
        from rich.live import Live

        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._begun = self._drawn = perf_counter()
        self._first: Status | None = None
        self._window: list[tuple[float, Counts]] = []
        self._live.start()

    def begin(self, status: Status) -> None:
        """Rates are counted from here."""
        self._first = status
        self._window = [(perf_counter(), status.counts)]

    def update(self, status: Status) -> None:
        """Redraw the line, at most ten times per second."""
        now = perf_counter()
        if self._first is None:
            self.begin(status)
        self._window.append((now, status.counts))
        while len(self._window) > 2 and self._window[1][0] < now - WINDOW:
            self._window.pop(0)
        if now - self._drawn >= REFRESH:
            self._drawn = now
            self._live.update(self._line(status, now - self._begun), refresh=True)

    def end(self) -> None:
        """Remove the line; the results go to stdout."""
        self._live.stop()

    def _line(self, status: Status, seconds: float) -> Any:
        from rich.table import Table
        from rich.text import Text

        first = self._first or status
        lately = difference(status.counts, self._window[0][1])
        parts = [
            f"{status.examples:,}",
            f"{rounded((status.examples - first.examples) / seconds)}/s",
            f"error {percent(status.counts.mistakes, status.counts.seen)}"
            f" (now {percent(lately.mistakes, lately.seen)})",
            f"changing {percent(lately.updates, lately.seen)}",
        ]
        rate = f"{(status.done - first.done) / seconds / 1e6:.1f} MB/s"
        bar: Any = None
        if status.share is not None:
            from rich.progress_bar import ProgressBar

            gone = status.share - (first.share or 0.0)
            left = seconds * (1.0 - status.share) / gone if gone > 0 else 0.0
            bar = ProgressBar(total=1.0, completed=status.share, width=BAR)
            parts[0] = f"{100 * status.share:.0f}% {clock(left)} {parts[0]}"
        # What fits into the line, the most important first.
        width = self._live.console.width
        while len(parts) > 2 and len(SEPARATOR.join(parts)) > width:
            parts.pop()
        free = width - len(SEPARATOR.join(parts)) - (0 if bar is None else BAR + 1)
        if free >= len(rate) + len(SEPARATOR):
            parts.insert(2, rate)
        line = Table.grid(padding=(0, 1))
        cells = [] if bar is None or free < 0 else [bar]
        line.add_row(*cells, Text(SEPARATOR.join(parts), no_wrap=True, overflow="ellipsis"))
        return line


def choose_progress(quiet: bool) -> Progress:
    """A live line on a terminal, a log elsewhere, or nothing."""
    if quiet:
        return Progress()
    console = message_console()
    return ProgressLine(console) if console.is_terminal else ProgressLog(write_message)


def difference(now: Counts, before: Counts) -> Counts:
    """What was counted in between."""
    return Counts(*(a - b for a, b in zip(now, before, strict=True)))
