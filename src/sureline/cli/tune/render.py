"""The results of a search on a screen."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.screen import listing
from sureline.cli.search import as_sentence, describe_rows, describe_settings
from sureline.cli.tune.results import Results

STRONG = "bold"


def render(results: Results, top: int) -> RenderableType:
    """Render the rows, the best settings, and how they were found; the command follows."""
    dataset = results.dataset
    rows = describe_rows(len(dataset), dataset.classes.size, results.majority)
    title = Text.assemble((dataset.name, STRONG), f": {rows}")
    notes = [Text(note, "dim") for note in _notes(results)]
    return Group(title, "", _table(results, top), "", *notes, "", Text("The best:", STRONG))


def _table(results: Results, top: int) -> Table:
    table = listing("")
    table.columns[0].justify = "right"
    table.add_column("rule", no_wrap=True)
    for heading in ("error %", "of rows", "passes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("settings", overflow="fold")
    for rank, each in enumerate(results.tried[:top], 1):
        strong = STRONG if rank == 1 else ""
        table.add_row(
            str(rank),
            Text(each.rule, strong),
            Text(f"{100 * each.error:.2f}", strong),
            f"{each.judged:,}",
            str(each.passes),
            describe_settings(each.settings),
        )
    return table


def _notes(results: Results) -> list[str]:
    """How many settings were tried, how they were judged, and which failed."""
    count, rules = len(results.tried), len({each.rule for each in results.tried})
    finished = sum(each.finished for each in results.tried)
    judged = "all" if finished == count else f"the {finished} best"
    notes = [
        f"{count:,} settings of {rules} rule{'s' * (rules > 1)}, {judged} judged on all rows. "
        f"{as_sentence(results.protocol)}"
    ]
    for name, why in results.failures.items():
        reason = why if why.startswith("cannot") else f"failed with some settings: {why}"
        notes.append(f"{name} {reason.rstrip('.')}.")
    return notes
