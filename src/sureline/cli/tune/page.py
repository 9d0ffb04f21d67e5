"""How a search looks on a screen."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.search import describe_settings
from sureline.cli.tune.results import Facts
from sureline.evaluation import majority_baseline

STRONG = "bold"


def page(facts: Facts, top: int) -> RenderableType:
    """The rows, the best settings, and how they were found; the command follows."""
    sample = facts.sample
    majority = majority_baseline(sample.labels)
    title = Text.assemble(
        (sample.name, STRONG),
        f": {len(sample):,} rows, {sample.classes.size} classes; always answering "
        f"“{majority.label}” gets {majority.error:.2%} wrong",
    )
    return Group(title, "", _table(facts, top), "", *_notes(facts), "", Text("The best:", STRONG))


def _table(facts: Facts, top: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("rule", no_wrap=True)
    for heading in ("error %", "of rows", "passes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("settings", overflow="fold")
    for number, each in enumerate(facts.tried[:top], 1):
        strong = STRONG if number == 1 else ""
        table.add_row(
            str(number),
            Text(each.learner, strong),
            Text(f"{100 * each.error:.2f}", strong),
            f"{each.judged:,}",
            str(each.passes),
            describe_settings(each.settings),
        )
    return table


def _notes(facts: Facts) -> list[RenderableType]:
    count, rules = len(facts.tried), len({each.learner for each in facts.tried})
    finished = sum(each.finished for each in facts.tried)
    kinds = f"{rules} rule" if rules == 1 else f"{rules} rules"
    all_of_them = finished == count
    judged = "all judged on all rows" if all_of_them else f"the {finished} best judged on all rows"
    protocol = f"{facts.protocol[0].upper()}{facts.protocol[1:]}."
    notes = [f"{count:,} settings of {kinds}, {judged}. {protocol}"]
    for name, why in facts.failures.items():
        reason = why if why.startswith("cannot") else f"failed with some settings: {why}"
        notes.append(f"{name} {reason.rstrip('.')}.")
    return [Text(note, "dim") for note in notes]
