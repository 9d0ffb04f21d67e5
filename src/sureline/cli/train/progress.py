"""How training shows that it gets on: a live line on a terminal, rows that double elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from sureline.model.linear import Counts

HEADER = (
    f"{'examples':>12} {'classes':>7} {'features':>11} {'error':>9} {'since':>9} {'changing':>9}"
)
REFRESH = 0.1  # seconds
WINDOW = 1.0  # seconds over which the live line tells what happened lately


@dataclass(frozen=True)
class Moment:
    """How far training has come.

    `examples` counts all rows, also those of weight 0; `counts` what was learned. `share` is the
    part of the work that is done, where it can be told, `done` the bytes learned.
    """

    examples: int
    counts: Counts
    classes: int
    features: int
    done: int
    share: float | None


class Progress(Protocol):
    """What training tells about itself."""

    def next_stop(self, examples: int) -> int | None:
        """The number of examples, above this one, at which it wants to be told exactly."""

    def begin(self, moment: Moment) -> None:
        """Training starts here, after what was learned before."""

    def tell(self, moment: Moment) -> None:
        """Training has come so far."""

    def end(self) -> None:
        """Training is over, or interrupted."""


class Silence:
    """Shows nothing."""

    def next_stop(self, examples: int) -> int | None:
        """At no number."""
        return None

    def begin(self, moment: Moment) -> None:
        """Say nothing."""

    def tell(self, moment: Moment) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


class DoublingRows:
    """A row at 1, 2, 4, 8, ... examples and one at the end, for logs and pipes.

    `error` is the share of examples that were mistaken just before they were learned, `since` the
    same and `changing` the share that changed the model, both since the row before.
    """

    def __init__(self, write: Any) -> None:
        self._write = write
        self._last: Moment | None = None
        self._shown = Counts()
        self._begun = False

    def next_stop(self, examples: int) -> int | None:
        """The next power of two."""
        return int(1 << examples.bit_length())

    def begin(self, moment: Moment) -> None:
        """What was learned before is not told again."""
        self._shown = moment.counts

    def tell(self, moment: Moment) -> None:
        """Show a row, if the number of examples is a power of two."""
        self._last = moment
        if moment.examples & (moment.examples - 1) == 0:
            self._show(moment)

    def end(self) -> None:
        """Show where it ended, unless that row has been shown."""
        if self._last is not None and self._last.examples & (self._last.examples - 1):
            self._show(self._last)

    def _show(self, moment: Moment) -> None:
        if not self._begun:
            self._begun = True
            self._write(HEADER)
        since = difference(moment.counts, self._shown)
        self._shown = moment.counts
        cells = [
            f"{moment.examples:>12,} {moment.classes:>7,} {moment.features:>11,}",
            f"{percent(moment.counts.mistakes, moment.counts.seen):>9}",
            f"{percent(since.mistakes, since.seen):>9}",
            f"{percent(since.updates, since.seen):>9}",
        ]
        self._write(" ".join(cells))


class LiveLine:
    """One line on a terminal that is always up to date, with a bar where the end is known."""

    def __init__(self, console: Any) -> None:
        from rich.live import Live

        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._begun = self._drawn = perf_counter()
        self._first: Moment | None = None
        self._window: list[tuple[float, Counts]] = []
        self._live.start()

    def next_stop(self, examples: int) -> int | None:
        """At no number."""
        return None

    def begin(self, moment: Moment) -> None:
        """Rates are counted from here."""
        self._first = moment
        self._window = [(perf_counter(), moment.counts)]

    def tell(self, moment: Moment) -> None:
        """Redraw the line, but not more often than anybody can read."""
        now = perf_counter()
        if self._first is None:
            self.begin(moment)
        self._window.append((now, moment.counts))
        while len(self._window) > 2 and self._window[1][0] < now - WINDOW:
            self._window.pop(0)
        if now - self._drawn >= REFRESH:
            self._drawn = now
            self._live.update(self._line(moment, now - self._begun), refresh=True)

    def end(self) -> None:
        """Take the line away; what is found goes to stdout."""
        self._live.stop()

    def _line(self, moment: Moment, seconds: float) -> Any:
        from rich.table import Table
        from rich.text import Text

        first = self._first or moment
        lately = difference(moment.counts, self._window[0][1])
        parts = [f"{moment.examples:,}"]
        parts.append(f"{rounded((moment.examples - first.examples) / seconds)}/s")
        parts.append(f"{(moment.done - first.done) / seconds / 1e6:.1f} MB/s")
        parts.append(
            f"error {percent(moment.counts.mistakes, moment.counts.seen)}"
            f" (now {percent(lately.mistakes, lately.seen)})"
        )
        parts.append(f"changing {percent(lately.updates, lately.seen)}")
        line = Table.grid(padding=(0, 1))
        cells: list[Any] = []
        if moment.share is not None:
            from rich.progress_bar import ProgressBar

            begun = first.share or 0.0
            gone = moment.share - begun
            left = seconds * (1.0 - moment.share) / gone if gone > 0 else 0.0
            cells = [ProgressBar(total=1.0, completed=moment.share, width=12)]
            cells.append(f"{100 * moment.share:.0f}% {clock(left)}")
        line.add_row(*cells, Text(" · ".join(parts), no_wrap=True, overflow="ellipsis"))
        return line


@contextmanager
def rate_line(console: Any, shown: bool) -> Iterator[Callable[[int, Any], None]]:
    """A live line of how many rows a reader has given, where it is to be shown."""
    if not shown:
        yield lambda rows, reader: None
        return
    from rich.live import Live
    from rich.text import Text

    begun = drawn = perf_counter()

    def tell(rows: int, reader: Any) -> None:
        nonlocal drawn
        now = perf_counter()
        if now - drawn < REFRESH:
            return
        drawn = now
        words = [f"{rows:,} rows", f"{rounded(rows / (now - begun))}/s"]
        if reader.bytes_total:
            words.insert(0, f"{100 * reader.bytes_read / reader.bytes_total:.0f}%")
        live.update(Text(" · ".join(words)), refresh=True)

    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield tell


def difference(now: Counts, before: Counts) -> Counts:
    """What was counted in between."""
    return Counts(*(a - b for a, b in zip(now, before, strict=True)))


def percent(part: int, whole: int) -> str:
    """A share as people read it; a dash where there is nothing to share."""
    return f"{100 * part / whole:.2f}%" if whole else "-"


def rounded(number: float) -> str:
    """A number to three digits: more are not worth reading."""
    return f"{float(f'{number:.2e}'):,.0f}"


def clock(seconds: float) -> str:
    """A duration as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
