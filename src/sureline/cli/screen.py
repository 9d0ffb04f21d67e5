"""Results, messages and live lines on the screen; plain text in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

REFRESH = 0.1  # seconds between two drawings of a live line


def result_console() -> Console:
    """The console on stdout, which is 80 columns wide where there is no terminal."""
    return Console(highlight=False, markup=False, emoji=False)


def message_console() -> Console:
    """The console on stderr, for progress and messages."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def write_message(line: str) -> None:
    """A line on stderr, as it is."""
    print(line, file=sys.stderr, flush=True)


def say(sentence: str) -> None:
    """Print a note on stderr."""
    write_message(f"sureline: {sentence}")


def warn(sentence: str) -> None:
    """Print a warning on stderr."""
    write_message(f"sureline: {' '.join(sentence.split())}")


def silent(sentence: str) -> None:
    """Print nothing."""


def loading(quiet: bool) -> AbstractContextManager[Any]:
    """A spinner on a terminal while large libraries are imported."""
    console = message_console()
    if quiet or not console.is_terminal:
        return nullcontext()
    return console.status("loading NumPy, scikit-learn and Numba")


def has_colour(console: Console) -> bool:
    """Whether colours can be shown; if not, signs take their place."""
    return console.color_system is not None and not console.no_color


def show(content: RenderableType, console: Console) -> None:
    """Print `content` without the spaces that rich fills lines up with."""
    with console.capture() as captured:
        console.print(content)
    for line in captured.get().splitlines():
        print(line.rstrip())


def grid() -> Table:
    """A table without lines; the first column is never wrapped."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    return table


def indented(content: RenderableType) -> Padding:
    """`content`, two columns to the right."""
    return Padding(content, (0, 0, 0, 2))


def megabytes(count: int) -> str:
    """A number of bytes as people read it."""
    if count < 1000:
        return f"{count} bytes"
    unit, size = ("KB", 1000) if count < 999_950 else ("MB", 1_000_000)
    return f"{round(count / size, 1):,} {unit}"


def percent(part: int, whole: int) -> str:
    """A share in percent; a dash where there is nothing to share."""
    return f"{100 * part / whole:.2f}%" if whole else "-"


def rounded(number: float) -> str:
    """A number rounded to three digits."""
    return f"{float(f'{number:.2e}'):,.0f}"


def clock(seconds: float) -> str:
    """A duration as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def rate_line(console: Any, shown: bool) -> Iterator[Callable[[int, Any], None]]:
    """A live line of how many rows have been read, if it is to be shown."""
    if not shown:
        yield lambda rows, reader: None
        return
    from rich.live import Live
    from rich.text import Text

    begun = drawn = perf_counter()

    def update(rows: int, reader: Any) -> None:
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
        yield update
