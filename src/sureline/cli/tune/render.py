"""The results of a search on a screen."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.screen import listing
from sureline.cli.search import as_sentence, describe_rows, describe_settings
from sureline.evaluation import Majority

STRONG = "bold"


def render(results: dict[str, Any], name: str, top: int) -> RenderableType:
    """Render the rows, the best settings, and how they were found; the command follows."""
    majority = Majority(results["majority"], results["majority_error"])
    rows = describe_rows(results["rows"], results["classes"], majority)
    title = Text.assemble((name, STRONG), f": {rows}")
    notes = [Text(note, "dim") for note in _notes(results)]
    table = _table(results["tried"][:top])
    return Group(title, "", table, "", *notes, "", Text("The best:", STRONG))


def _table(tried: list[dict[str, Any]]) -> Table:
    table = listing("")
    table.columns[0].justify = "right"
    table.add_column("rule", no_wrap=True)
    for heading in ("error %", "of rows", "passes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("settings", overflow="fold")
    for rank, each in enumerate(tried, 1):
        strong = STRONG if rank == 1 else ""
        table.add_row(
            str(rank),
            Text(each["rule"], strong),
            Text(f"{100 * each['error']:.2f}", strong),
            f"{each['judged']:,}",
            str(each["passes"]),
            describe_settings(each["settings"]),
        )
    return table


def _notes(results: dict[str, Any]) -> list[str]:
    """How many settings were tried, how they were evaluated, and which failed."""
    tried = results["tried"]
    count, rules = len(tried), len({each["rule"] for each in tried})
    finished = sum(each["finished"] for each in tried)
    which = "all" if finished == count else f"the {finished} best"
    notes = [
        f"{count:,} settings of {rules} rule{'s' * (rules > 1)}, {which} evaluated on all rows. "
        f"{as_sentence(results['protocol'])}"
    ]
    for name, why in results["left_out"].items():
        reason = why if why.startswith("cannot") else f"failed with some settings: {why}"
        notes.append(f"{name} {reason.rstrip('.')}.")
    return notes
