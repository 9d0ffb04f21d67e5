"""How an evaluation looks on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.controls import show_label
from sureline.cli.screen import grid, indented, listing, megabytes, rounded
from sureline.evaluation.label_sets import LabelMetrics, LabelSetEvaluation
from sureline.evaluation.metrics import METRICS, ClassMetrics, Evaluation

STRONG = "bold"
WIDEST = 8  # so many classes fit into a square of confusions
LONGEST = 60  # so many classes are listed
COMMON = 10  # so many confusions are listed where there is no square
NAMED = 5  # so many unknown labels are named


def render(evaluation: Evaluation, report: Path | None = None) -> RenderableType:
    """The results for a screen, and the report that was written."""
    parts = (_summary(evaluation, report), _classes(evaluation), _confusions(evaluation))
    return Group(*parts[0], "", *parts[1], "", *parts[2])


def _summary(evaluation: Evaluation, report: Path | None) -> list[RenderableType]:
    table = grid()
    remarks = {
        "accuracy": f" ({evaluation.correct:,} of {evaluation.rows:,} rows)",
        "error": f"; always predicting “{evaluation.majority}” gets "
        f"{1 - evaluation.majority_accuracy:.2%} wrong",
    }
    for metric in METRICS:
        value = evaluation.metrics[metric.name]
        if value is not None:
            style = STRONG if metric.name == "accuracy" else ""
            written = (format(value, metric.format), style), remarks.get(metric.name, "")
            table.add_row(Text(metric.title, style), Text.assemble(*written))
    if evaluation.unknown:
        table.add_row("unknown", _unknown(evaluation.unknown))
    rate = rounded(evaluation.rows / max(evaluation.seconds, 1e-9))
    table.add_row("seconds", f"{evaluation.seconds:.2f} ({rate} rows per second)")
    if report is not None:
        table.add_row("report", f"{report} ({megabytes(report.stat().st_size)})")
    return [table]


def render_sets(found: LabelSetEvaluation, report: Path | None = None) -> RenderableType:
    """The results of sets of labels for a screen."""
    table, rate = grid(), rounded(found.rows / max(found.seconds, 1e-9))
    rows = {
        "micro F1": f"{found.micro_f1:.4f}",
        "macro F1": f"{found.macro_f1:.4f}",
        "whole sets right": f"{found.subset_accuracy:.2%} of {found.rows:,} rows",
        "Hamming loss": f"{found.hamming_loss:.4f}",
    }
    if found.ranking_precision is not None:
        rows["ranking precision"] = f"{found.ranking_precision:.4f}"
    rows["labels per row"] = f"{found.labels_per_row:.2f}"
    if found.unknown:
        rows["unknown"] = _unknown(found.unknown)
    rows["seconds"] = f"{found.seconds:.2f} ({rate} rows per second)"
    if report is not None:
        rows["report"] = f"{report} ({megabytes(report.stat().st_size)})"
    for k, (name, value) in enumerate(rows.items()):
        style = STRONG if k == 0 else ""
        table.add_row(Text(name, style), Text(value, style))
    return Group(table, "", *_labels(found.labels))


def _unknown(unknown: dict[str, int]) -> str:
    """The labels that the model does not know, the most frequent first."""
    named = [f"{label!r} ({count:,})" for label, count in list(unknown.items())[:NAMED]]
    more = len(unknown) - len(named)
    rows = sum(unknown.values())
    tail = f" and {more} more" if more else ""
    have = "1 row has a label" if rows == 1 else f"{rows:,} rows have labels"
    return f"{have} that the model does not know: {', '.join(named)}{tail}"


def _classes(evaluation: Evaluation) -> list[RenderableType]:
    """The measures of every class."""
    return _labels(evaluation.classes)


def _labels(every: Sequence[ClassMetrics | LabelMetrics]) -> list[RenderableType]:
    table = listing("")
    for name in ("precision", "recall", "F1", "rows"):
        table.add_column(name, justify="right")
    shown = every
    if len(shown) > LONGEST:
        shown = sorted(shown, key=lambda each: -each.support)[:LONGEST]
    for each in shown:
        table.add_row(
            show_label(each.label),
            f"{each.precision:.4f}",
            f"{each.recall:.4f}",
            f"{each.f1:.4f}",
            f"{each.support:,}",
        )
    title = Text("Classes", STRONG)
    if len(every) > LONGEST:
        title.append(f": the {LONGEST} largest of {len(every):,}", "not bold")
    return [title, indented(table)]


def _confusions(evaluation: Evaluation) -> list[RenderableType]:
    labels = [each.label for each in evaluation.classes]
    if len(labels) <= WIDEST:
        return [
            Text("Confusion matrix", STRONG).append(
                " (rows: true, columns: predicted)", "not bold"
            ),
            indented(_square(evaluation, labels)),
        ]
    wrong = [each for each in evaluation.confusion if each[0] != each[1]]
    wrong.sort(key=lambda each: -each[2])
    if not wrong:
        return [Text("Most frequent confusions", STRONG).append(": none", "not bold")]
    table = listing("true")
    table.add_column("predicted", no_wrap=True)
    table.add_column("rows", justify="right")
    for true, predicted, count in wrong[:COMMON]:
        table.add_row(show_label(true), show_label(predicted), f"{count:,}")
    return [Text("Most frequent confusions", STRONG), indented(table)]


def _square(evaluation: Evaluation, labels: list[Any]) -> Table:
    counts = {(true, predicted): count for true, predicted, count in evaluation.confusion}
    table = listing("")
    for label in labels:
        table.add_column(show_label(label), justify="right")
    for true in labels:
        cells = []
        for predicted in labels:
            count = counts.get((true, predicted), 0)
            cells.append(Text(f"{count:,}", STRONG if true == predicted else ""))
        table.add_row(show_label(true), *cells)
    return table
