"""Results, messages and live lines on the screen; plain text in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from sureline.cli.controls import escape_controls

if TYPE_CHECKING:
    from sureline.data import BadRows

REFRESH = 0.1  # seconds between two drawings of a live line


def result_console() -> Console:
    """The console on stdout, which is 80 columns wide where there is no terminal."""
    return Console(highlight=False, markup=False, emoji=False)


def message_console() -> Console:
    """The console on stderr, for progress and messages."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def write_message(line: str) -> None:
    """A line on stderr."""
    print(escape_controls(line), file=sys.stderr, flush=True)


def say(sentence: str) -> None:
    """Print a note or a warning on stderr, on one line."""
    write_message(f"sureline: {' '.join(sentence.split())}")


def warn_of_bad_rows(bad: BadRows) -> None:
    """Report how many rows were left out, if any, and the first of them."""
    if bad.count:
        file, line, reason = bad.first[0]
        many = f"{bad.count:,} bad rows were left out; the first is"
        first = "1 bad row was left out:" if bad.count == 1 else many
        say(f"{first} {file}, line {line}: {reason}")


def loading(quiet: bool) -> AbstractContextManager[Any]:
    """A spinner on a terminal while large libraries are imported."""
    console = message_console()
    if quiet or not console.is_terminal:
        return nullcontext()
    return console.status("loading NumPy, scikit-learn and Numba")


def has_colour() -> bool:
    """Whether stdout shows colours; if not, signs take their place."""
    console = result_console()
    return console.color_system is not None and not console.no_color


def write_json(results: Any) -> str:
    """Results as JSON; NumPy's numbers become plain ones, dataclasses dictionaries."""
    from dataclasses import asdict, is_dataclass
    from json import dumps

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        return value.item() if hasattr(value, "item") else str(value)

    return dumps(results, indent=2, default=plain)


def print_json(results: Any) -> None:
    """Print results as JSON."""
    print(write_json(results))


def show(content: RenderableType) -> None:
    """Print `content` on stdout without the spaces that rich fills lines up with."""
    console = result_console()
    # Before styles become control characters themselves.
    segments = [
        segment if segment.control else segment._replace(text=escape_controls(segment.text))
        for segment in console.render(content)
    ]
    with console.capture() as captured:
        console.print(Segments(segments), end="")
    for line in captured.get().split("\n")[:-1]:
        print(line.rstrip())


def grid() -> Table:
    """A table without lines; the first column is never wrapped."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    return table


def named_values(values: Mapping[str, Any], style: str = "") -> Table:
    """A table of names, in this style, and values."""
    table = grid()
    for name, value in values.items():
        table.add_row(Text(name, style), Text(str(value)))
    return table


def listing(*headings: str) -> Table:
    """A table without lines below dim headings; the first column is never wrapped."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, no_wrap=not table.columns)
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
def rate_line(shown: bool) -> Iterator[Callable[[int, Any], None]]:
    """A live line of how many rows have been read, on a terminal, if it is to be shown."""
    console = message_console()
    if not shown or not console.is_terminal:
        yield lambda rows, reader: None
        return
    from rich.live import Live

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
