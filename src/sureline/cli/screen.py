"""How results reach the screen: in colour on a terminal, as plain lines in a pipe."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table


def results() -> Console:
    """The console on stdout, which is 80 columns wide where there is no terminal."""
    return Console(highlight=False, markup=False, emoji=False)


def messages() -> Console:
    """The console on stderr, for what is no result."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def write_message(line: str) -> None:
    """A line on stderr, as it is."""
    print(line, file=sys.stderr, flush=True)


def say(sentence: str) -> None:
    """Tell something on stderr."""
    write_message(f"sureline: {sentence}")


def warn(sentence: str) -> None:
    """Warn of something on stderr."""
    write_message(f"sureline: {' '.join(sentence.split())}")


def silent(sentence: str) -> None:
    """Tell nothing."""


def loading(quiet: bool) -> AbstractContextManager[Any]:
    """A sign of life on a terminal while large libraries are imported."""
    console = messages()
    if quiet or not console.is_terminal:
        return nullcontext()
    return console.status("loading NumPy, scikit-learn and Numba")


def has_colour(console: Console) -> bool:
    """Whether colours can tell anything, or signs must."""
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
