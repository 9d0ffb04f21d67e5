"""How an evaluation looks on a screen."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.screen import grid, indented, rounded
from sureline.evaluation.report.counts import Facts

STRONG = "bold"
WIDEST = 8  # so many classes fit into a square of confusions
LONGEST = 60  # so many classes are listed
COMMON = 10  # so many confusions are listed where there is no square
NAMED = 5  # so many unknown labels are named


def page(facts: Facts) -> RenderableType:
    """The whole page."""
    parts: list[RenderableType] = [*_summary(facts), "", *_classes(facts), "", *_confusions(facts)]
    return Group(*parts)


def _summary(facts: Facts) -> list[RenderableType]:
    table = grid()
    table.add_row(
        Text("accuracy", STRONG),
        Text.assemble(
            (f"{facts.accuracy:.4f}", STRONG), f" ({facts.correct:,} of {facts.rows:,} rows)"
        ),
    )
    table.add_row(
        "error",
        f"{facts.error:.2%}; always answering “{facts.majority}” gets "
        f"{1 - facts.majority_accuracy:.2%} wrong",
    )
    table.add_row("F1", f"{facts.macro_f1:.4f} macro, {facts.micro_f1:.4f} micro")
    if facts.log_loss is not None:
        table.add_row("log loss", f"{facts.log_loss:.4f}")
        table.add_row("Brier score", f"{facts.brier:.4f}")
    if facts.unknown:
        table.add_row("unknown", _unknown(facts.unknown))
    rate = rounded(facts.rows / max(facts.seconds, 1e-9))
    table.add_row("seconds", f"{facts.seconds:.2f} ({rate} rows per second)")
    return [table]


def _unknown(unknown: dict[str, int]) -> str:
    """The labels that the model does not know, the most frequent first."""
    named = [f"{label!r} ({count:,})" for label, count in list(unknown.items())[:NAMED]]
    more = len(unknown) - len(named)
    rows = sum(unknown.values())
    tail = f" and {more} more" if more else ""
    return f"{rows:,} rows have labels that the model does not know: {', '.join(named)}{tail}"


def _plain_table() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    return table


def _classes(facts: Facts) -> list[RenderableType]:
    table = _plain_table()
    for name in ("precision", "recall", "F1", "rows"):
        table.add_column(name, justify="right")
    shown = facts.classes
    if len(shown) > LONGEST:
        shown = sorted(shown, key=lambda each: -each.support)[:LONGEST]
    for each in shown:
        table.add_row(
            str(each.label),
            f"{each.precision:.4f}",
            f"{each.recall:.4f}",
            f"{each.f1:.4f}",
            f"{each.support:,}",
        )
    title = Text("Classes", STRONG)
    if len(facts.classes) > LONGEST:
        title.append(f": the {LONGEST} largest of {len(facts.classes):,}", "not bold")
    return [title, indented(table)]


def _confusions(facts: Facts) -> list[RenderableType]:
    labels = [each.label for each in facts.classes]
    if len(labels) <= WIDEST:
        return [
            Text("Confusions", STRONG).append(" (a row is true, a column predicted)", "not bold"),
            indented(_square(facts, labels)),
        ]
    wrong = sorted((each for each in facts.confusion if each[0] != each[1]), key=lambda e: -e[2])
    if not wrong:
        return [Text("Most frequent confusions", STRONG).append(": none", "not bold")]
    table = _plain_table()
    table.columns[0].header = "true"
    table.add_column("predicted", no_wrap=True)
    table.add_column("rows", justify="right")
    for true, predicted, count in wrong[:COMMON]:
        table.add_row(str(true), str(predicted), f"{count:,}")
    return [Text("Most frequent confusions", STRONG), indented(table)]


def _square(facts: Facts, labels: list[Any]) -> Table:
    counts = {(true, predicted): count for true, predicted, count in facts.confusion}
    table = _plain_table()
    for label in labels:
        table.add_column(str(label), justify="right")
    for true in labels:
        cells = []
        for predicted in labels:
            count = counts.get((true, predicted), 0)
            cells.append(Text(f"{count:,}", STRONG if true == predicted else ""))
        table.add_row(str(true), *cells)
    return table
