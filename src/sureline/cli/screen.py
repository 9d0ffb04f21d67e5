"""How results reach the screen: in colour on a terminal, as plain lines in a pipe."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table


def results() -> Console:
    """The console on stdout, which is 80 columns wide where there is no terminal."""
    return Console(highlight=False, markup=False, emoji=False)


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
