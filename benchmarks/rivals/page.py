"""The results as tables, on a terminal and as a Markdown page."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.rivals.entries import Contest, Goal, Results, Row
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass
class Outcome:
    """The result of a contest: its tables and goals, or a sentence on why there are none."""

    contest: Contest
    tables: list[Results] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    left_out: str = ""


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, and never an exponent."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    size = abs(value)
    places = digits - 1
    while size >= 10 and places > 0:
        size, places = size / 10, places - 1
    while size < 1 and places < 6:
        size, places = size * 10, places + 1
    return f"{value:,.{places}f}"


def columns(contest: Contest, found: Results, names: dict[str, str]) -> dict[str, list[str]]:
    """The cells of a table, by column; empty columns are left out."""
    rows = found.rows
    cells: dict[str, list[str]] = {
        "rival": [names[row.rival] for row in rows],
        "run": [row.entry.name for row in rows],
        "what is timed": [row.entry.work for row in rows],
        "threads": [str(row.entry.threads or "") for row in rows],
        "seconds": [row.problem or number(row.seconds) for row in rows],
        "per second": [_rate(row) for row in rows],
    }
    for ratio in contest.ratios:
        base = found.fastest(ratio.rival, *ratio.tags)
        cells[ratio.heading] = [
            f"{row.seconds / base:.2f}" if base and row.seconds is not None else "" for row in rows
        ]
    for name in dict.fromkeys(name for row in rows for name in row.figures):
        cells[name] = [f"{row.figures[name]:.2f}" if name in row.figures else "" for row in rows]
    cells["accuracy"] = ["" if row.accuracy is None else f"{row.accuracy:.4f}" for row in rows]
    return {name: column for name, column in cells.items() if any(column)}


def _rate(row: Row) -> str:
    """Calls per second."""
    if not row.entry.count or row.seconds is None:
        return ""
    return f"{row.entry.count / row.seconds:,.0f}"


def verdict(goal: Goal) -> str:
    """Whether a goal was reached, in a word or two."""
    return {True: "reached", False: "not reached", None: "not measured"}[goal.reached]


def show(outcome: Outcome, names: dict[str, str], console: Console) -> None:
    """Print a contest's tables and goals."""
    if outcome.left_out:
        console.print(f"{escape(outcome.contest.title)}: left out. {escape(outcome.left_out)}\n")
    for found in outcome.tables:
        cells = columns(outcome.contest, found, names)
        title = f"{outcome.contest.title}. {found.caption}"
        table = Table(title=escape(title), box=box.SIMPLE_HEAD, title_justify="left")
        for name in cells:
            plain = name in ("rival", "run", "what is timed")
            table.add_column(name, justify="left" if plain else "right", overflow="fold")
        for line in zip(*cells.values(), strict=True):
            table.add_row(*map(escape, line))
        console.print(table)
        for sentence in found.absent:
            console.print(escape(sentence))
    for goal in outcome.goals:
        line = f"{goal.text}: {goal.measured or 'no figure'}: {verdict(goal)}"
        console.print(escape(line), soft_wrap=True)
    console.print()


def markdown(outcomes: list[Outcome], names: dict[str, str], head: list[str]) -> str:
    """The whole page."""
    lines = ["# sureline and its rivals", "", *head, "", "## Goals", ""]
    lines += _table(
        {
            "goal": [goal.text for each in outcomes for goal in each.goals],
            "measured": [goal.measured for each in outcomes for goal in each.goals],
            "": [verdict(goal) for each in outcomes for goal in each.goals],
        }
    )
    for each in outcomes:
        lines += ["", f"## {each.contest.title}", ""]
        if each.left_out:
            lines.append(f"Left out. {each.left_out}")
            continue
        lines.append(each.contest.about)
        for found in each.tables:
            lines += ["", f"{found.caption}.", ""]
            lines += _table(columns(each.contest, found, names))
            for sentence in found.absent:
                lines += ["", sentence]
    return "\n".join(lines) + "\n"


def _table(cells: dict[str, list[str]]) -> list[str]:
    """A table in Markdown; a bar would end a cell."""
    words = ("rival", "run", "what is timed", "goal", "measured", "")
    rules = ["---" if name in words else "---:" for name in cells]
    body = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in zip(*cells.values(), strict=True)
    ]
    return ["| " + " | ".join(cells) + " |", "| " + " | ".join(rules) + " |", *body]
