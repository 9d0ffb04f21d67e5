"""A comparison as a table to read, or to paste: for a screen, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.compare.results import MEANING, Facts
from sureline.cli.search import describe_settings
from sureline.evaluation.search.comparison import Contest, Standing

FORMATS = ("table", "markdown", "latex", "csv", "json")
STRONG = "bold"
ABREAST = 5  # so many tasks fit beside each other into 80 columns
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    mark: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Block:
    """A table: headings, whether each column is of numbers, and rows."""

    headings: Sequence[str]
    numbers: Sequence[bool]
    rows: Sequence[Sequence[Cell]]


def blocks_of(facts: Facts, abreast: int = ABREAST) -> list[Block]:
    """One table for one task; for several, errors side by side, `abreast` at a time."""
    if len(facts.contests) == 1:
        return [_ranking(facts.contests[0])]
    contests = list(facts.contests)
    return [
        _side_by_side(facts, contests[begin : begin + abreast])
        for begin in range(0, len(contests), abreast)
    ]


def _ranking(contest: Contest) -> Block:
    """All that is known of each learner on one task, the best first."""
    headings = ["", "learner", "error %", "±", "seconds", "passes", "settings"]
    numbers = [True, False, True, True, True, True, False]
    rows = list[list[Cell]]()
    for number, each in enumerate(contest.standings, 1):
        best = number == 1
        rows.append(
            [
                Cell(str(number)),
                Cell(each.learner, strong=best),
                Cell(f"{100 * each.error:.2f}", each.mark, best),
                Cell("" if isnan(each.deviation) else f"{100 * each.deviation:.2f}"),
                Cell(_seconds(each.seconds)),
                Cell("" if each.passes is None else str(each.passes)),
                Cell(describe_settings(each.settings)),
            ]
        )
    if all(isnan(each.deviation) for each in contest.standings):
        kept = [k for k in range(len(headings)) if headings[k] != "±"]
        headings, numbers = [headings[k] for k in kept], [numbers[k] for k in kept]
        rows = [[row[k] for k in kept] for row in rows]
    return Block(headings, numbers, rows)


def _side_by_side(facts: Facts, contests: Sequence[Contest]) -> Block:
    """The errors on several tasks, by mean rank over all of them."""
    by_task = [{each.learner: each for each in contest.standings} for contest in contests]
    ranks = facts.ranks
    others = dict.fromkeys(
        each.learner
        for contest in facts.contests
        for each in contest.standings
        if each.learner not in ranks
    )
    rows = list[list[Cell]]()
    for name in (*ranks, *others):
        rank = f"{ranks[name]:.2f}" if name in ranks else ""
        errors = [
            _error(some.get(name), contest) for some, contest in zip(by_task, contests, strict=True)
        ]
        rows.append([Cell(name), Cell(rank), *errors])
    headings = ["learner", "mean rank", *(f"{contest.task} %" for contest in contests)]
    return Block(headings, [False, True, *(True for _ in contests)], rows)


def _error(standing: Standing | None, contest: Contest) -> Cell:
    if standing is None:
        return Cell("")
    return Cell(f"{100 * standing.error:.2f}", standing.mark, standing is contest.standings[0])


def _seconds(seconds: float) -> str:
    """A duration to two digits or so."""
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"


def notes_of(facts: Facts) -> list[str]:
    """What one must know to read the table."""
    several = len(facts.contests) > 1
    against = "the best of its task" if several else "the best"
    notes = [
        f"{facts.protocol[0].upper()}{facts.protocol[1:]}.",
        f"Worse than {against} by McNemar's test, uncorrected: {MEANING}.",
    ]
    if not several:
        spread = any(not isnan(each.deviation) for each in facts.contests[0].standings)
        deviation = "± is the standard deviation over the folds, " if spread else ""
        notes.append(
            f"{deviation}seconds the processor time of one training, features not counted."
        )
    for contest in facts.contests:
        of = f" on {contest.task}" if several else ""
        notes += [
            f"{each.learner} was stopped before it converged in {each.unfinished} of "
            f"{len(each.judgement.seconds)} trainings{of}."
            for each in contest.standings
            if each.unfinished
        ]
        notes += [
            f"Left out{of}: {name}, which {_reason(why)}." for name, why in contest.failures.items()
        ]
    return notes


def _reason(why: str) -> str:
    return why if why.startswith("cannot") else f"failed: {why.rstrip('.')}"


def title_of(contest: Contest) -> str:
    """What the rows are, and what must be beaten."""
    judged = "" if contest.judged == contest.rows else f", {contest.judged:,} of them judged"
    return (
        f"{contest.rows:,} rows{judged}, {contest.classes} classes; always answering "
        f"“{contest.majority.label}” gets {contest.majority.error:.2%} wrong"
    )


# -- a screen ----------------------------------------------------------------------------------


def page(facts: Facts, width: int) -> RenderableType:
    """The comparison on a screen of so many columns."""
    parts = list[RenderableType]()
    for contest in facts.contests:
        parts.append(Text.assemble((contest.task, STRONG), f": {title_of(contest)}"))
    abreast = max(1, (width - 32) // 10)
    for block in blocks_of(facts, abreast):
        parts += ["", _screen_table(block)]
    parts.append("")
    parts += [Text(note, "dim") for note in notes_of(facts)]
    return Group(*parts)


def _screen_table(block: Block) -> Table:
    """The table without lines; marks stand in columns of their own, so that digits line up."""
    table = Table(box=None, pad_edge=False, padding=0, header_style="dim", collapse_padding=True)
    last = len(block.headings) - 1
    marked = [any(row[k].mark for row in block.rows) for k in range(last + 1)]
    for k, (heading, number) in enumerate(zip(block.headings, block.numbers, strict=True)):
        wraps = (k == last and not number) or (heading.endswith(" %") and heading != "error %")
        table.add_column(
            heading, justify="right" if number else "left", no_wrap=not wraps, overflow="fold"
        )
        if marked[k]:
            table.add_column("", no_wrap=True)
        if k < last:
            table.add_column("", min_width=1 if marked[k] or not heading else 2)
    for row in block.rows:
        cells = list[Text]()
        for k, cell in enumerate(row):
            cells.append(Text(cell.text, STRONG if cell.strong else ""))
            if marked[k]:
                cells.append(Text(f" {cell.mark}"))
            if k < last:
                cells.append(Text(""))
        table.add_row(*cells)
    return table


# -- papers ------------------------------------------------------------------------------------


def as_markdown(facts: Facts) -> str:
    """The comparison as Markdown."""
    lines = list[str]()
    for contest in facts.contests:
        lines += [f"**{_markdown(contest.task)}**: {_markdown(title_of(contest))}", ""]
    for block in blocks_of(facts, len(facts.contests)):
        lines.append(_markdown_row(map(_markdown, block.headings)))
        lines.append(_markdown_row("---:" if number else "---" for number in block.numbers))
        for row in block.rows:
            lines.append(_markdown_row(_markdown_cell(cell) for cell in row))
        lines.append("")
    lines += [f"{_markdown(note)}  " for note in notes_of(facts)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(cell.text)
    shown = f"**{text}**" if cell.strong and text else text
    return f"{shown} {_markdown(cell.mark)}".rstrip()


def _markdown(text: str) -> str:
    for sign in "\\`*_|<":
        text = text.replace(sign, f"\\{sign}")
    return text


def as_latex(facts: Facts) -> str:
    """The comparison as a LaTeX table that needs no package."""
    lines = list[str]()
    for block in blocks_of(facts, len(facts.contests)):
        shape = "".join("r" if number else "l" for number in block.numbers)
        lines += [f"\\begin{{tabular}}{{{shape}}}", "\\hline"]
        lines += [_latex_row(map(_latex, block.headings)), "\\hline"]
        lines += [_latex_row(_latex_cell(cell) for cell in row) for row in block.rows]
        lines += ["\\hline", "\\end{tabular}"]
    titles = [f"{contest.task}: {title_of(contest)}." for contest in facts.contests]
    lines += [f"% {line}" for line in (*titles, *notes_of(facts))]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Any) -> str:
    return f"{' & '.join(cells)} \\\\"


def _latex_cell(cell: Cell) -> str:
    text = _latex(cell.text)
    shown = f"\\textbf{{{text}}}" if cell.strong and text else text
    return f"{shown}$^{{{cell.mark}}}$" if cell.mark else shown


def _latex(text: str) -> str:
    written = "".join(LATEX.get(letter, letter) for letter in text)
    return written.replace("±", "$\\pm$").replace("“", "``").replace("”", "''")


# -- machines ----------------------------------------------------------------------------------


def as_csv(facts: Facts) -> str:
    """A row for each learner and task, with all digits."""
    rows = facts.rows()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(facts: Facts) -> str:
    """All facts as JSON."""
    from json import dumps

    return dumps(facts.as_json(), indent=2, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    """A NumPy number as JSON can have it."""
    return value.item() if hasattr(value, "item") else str(value)


WRITERS = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv, "json": as_json}
