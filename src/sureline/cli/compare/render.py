"""A comparison as a table: for a screen, or as Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.compare.results import Results, list_results
from sureline.cli.controls import without_formula
from sureline.cli.screen import write_json
from sureline.cli.search import as_sentence, describe_rows, describe_settings
from sureline.evaluation.search import DEFAULT
from sureline.evaluation.search.comparison import LEVELS, Comparison, Result

MEANING = ", ".join(f"{stars} p < {level:g}" for level, stars in reversed(LEVELS))
STRONG = "bold"
WORDS = ("learner", "settings")  # the columns that do not hold numbers


class Cell(NamedTuple):
    """A cell of a table: its text, its mark of significance, and whether it is emphasized."""

    text: str
    mark: str = ""
    strong: bool = False


class Block(NamedTuple):
    """A table: the headings of its columns, and its rows."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def _blocks(results: Results, abreast: int) -> list[Block]:
    """One table for one task; for several, errors side by side, `abreast` at a time."""
    comparisons = results.comparisons
    if not results.several:
        return [_rank(comparisons[0].results)]
    return [
        _compare_tasks(results, comparisons[begin : begin + abreast])
        for begin in range(0, len(comparisons), abreast)
    ]


def _rank(results: Sequence[Result]) -> Block:
    """Each learner on one task, the default first, then the best."""
    spread = any(not isnan(each.deviation) for each in results)
    deviation = ["±"] if spread else []
    headings = ["", "learner", "error %", *deviation, "seconds", "passes", "settings"]
    rows = [
        [
            Cell(str(rank)),
            Cell(each.learner, strong=rank == 1),
            Cell(f"{100 * each.error:.2f}", each.mark, rank == 1),
            *([Cell(f"{100 * each.deviation:.2f}")] if spread else []),
            Cell(f"{each.seconds:.3f}" if each.seconds < 1 else f"{each.seconds:.1f}"),
            Cell("" if each.passes is None else str(each.passes)),
            Cell(describe_settings(each.settings)),
        ]
        for rank, each in list_results(results)
    ]
    return Block(headings, rows)


def _compare_tasks(results: Results, comparisons: Sequence[Comparison]) -> Block:
    """The errors on several tasks, by mean rank over all of them."""
    ranks = results.ranks
    every = {each.learner for comparison in results.comparisons for each in comparison.results}
    names = dict.fromkeys([DEFAULT] * (DEFAULT in every) + [*ranks, *sorted(every)])
    by_task = [
        {
            each.learner: Cell(f"{100 * each.error:.2f}", each.mark, strong=rank == 0)
            for rank, each in enumerate(comparison.results)
        }
        for comparison in comparisons
    ]
    rows = [
        [
            Cell(name),
            Cell(f"{ranks[name]:.2f}" if name in ranks else ""),
            *(cells.get(name, Cell("")) for cells in by_task),
        ]
        for name in names
    ]
    tasks = [f"{comparison.task} %" for comparison in comparisons]
    return Block(["learner", "mean rank", *tasks], rows)


def _notes(results: Results) -> list[str]:
    """What the reader of the table must know."""
    against = "the best of its task" if results.several else "the best"
    notes = [
        as_sentence(results.protocol),
        f"Worse than {against} by McNemar's test, uncorrected: {MEANING}.",
    ]
    usual = any(each.learner == DEFAULT for each in results.comparisons[0].results)
    if usual:
        notes.append(f"{DEFAULT} is what train learns without options; nothing is tuned.")
    if results.joined:
        named = ", ".join(results.joined)
        but = f", except with {DEFAULT}, which learns from all columns by their kind"
        notes.append(
            f"Learners get the columns of texts ({named}) as one text{but if usual else ''}."
        )
    if not results.several:
        spread = any(not isnan(each.deviation) for each in results.comparisons[0].results)
        deviation = "± is the standard deviation over the folds, " if spread else ""
        but = f", except with {DEFAULT}" if usual else ""
        notes.append(
            f"{deviation}seconds the processor time of one training, features not counted{but}."
        )
    for comparison in results.comparisons:
        where = f" on {comparison.task}" if results.several else ""
        notes += [
            f"{each.learner} was stopped before it converged in {each.unconverged} of "
            f"{len(each.judgement.seconds)} trainings{where}."
            for each in comparison.results
            if each.unconverged
        ]
        for name, why in comparison.failures.items():
            reason = why if why.startswith("cannot") else f"failed: {why.rstrip('.')}"
            notes.append(f"Left out{where}: {name}, which {reason}.")
    return notes


def _describe(comparison: Comparison) -> str:
    return describe_rows(
        comparison.rows, comparison.classes, comparison.majority, comparison.judged
    )


# -- a screen ----------------------------------------------------------------------------------


def render(results: Results, width: int) -> RenderableType:
    """Render the comparison for a screen of so many columns."""
    parts: list[RenderableType] = [
        Text.assemble((comparison.task, STRONG), f": {_describe(comparison)}")
        for comparison in results.comparisons
    ]
    for block in _blocks(results, abreast=max(1, (width - 32) // 10)):
        parts += ["", _screen_table(block)]
    return Group(*parts, "", *(Text(note, "dim") for note in _notes(results)))


def _screen_table(block: Block) -> Table:
    """The table without lines; marks have columns of their own, so that digits line up."""
    table = Table(box=None, pad_edge=False, padding=0, header_style="dim", collapse_padding=True)
    last = len(block.headings) - 1
    marked = [any(row[k].mark for row in block.rows) for k in range(last + 1)]
    for k, heading in enumerate(block.headings):
        words = heading in WORDS
        wraps = (k == last and words) or (heading.endswith(" %") and heading != "error %")
        table.add_column(
            heading, justify="left" if words else "right", no_wrap=not wraps, overflow="fold"
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


@dataclass(frozen=True)
class Markup:
    """How a markup language writes a row, emphasis and a mark."""

    signs: dict[int, str]
    row: str
    separator: str
    strong: str
    mark: str

    def escape(self, text: str) -> str:
        """The text with signs that have a meaning in the language as they are to be shown."""
        return text.translate(self.signs)

    def write_row(self, cells: Iterable[Cell]) -> str:
        """One row of a table."""
        return self.row.format(self.separator.join(map(self._write, cells)))

    def write_block(self, block: Block, rule: str) -> list[str]:
        """The headings, a rule, and the rows."""
        headings = self.write_row(map(Cell, block.headings))
        return [headings, rule, *map(self.write_row, block.rows)]

    def _write(self, cell: Cell) -> str:
        text = self.escape(cell.text)
        shown = self.strong.format(text) if cell.strong and text else text
        return shown + self.mark.format(self.escape(cell.mark)) if cell.mark else shown


MARKDOWN = Markup(
    str.maketrans({sign: f"\\{sign}" for sign in "\\`*_|<"}), "| {} |", " | ", "**{}**", " {}"
)
LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "“": "``",
    "”": "''",
}
LATEX = Markup(str.maketrans(LATEX_SIGNS), r"{} \\", " & ", r"\textbf{{{}}}", "$^{{{}}}$")


def as_markdown(results: Results) -> str:
    """The comparison as Markdown."""
    lines = list[str]()
    for comparison in results.comparisons:
        title, rest = comparison.task, _describe(comparison)
        lines += [f"**{MARKDOWN.escape(title)}**: {MARKDOWN.escape(rest)}", ""]
    for block in _blocks(results, abreast=len(results.comparisons)):
        rules = ("---" if heading in WORDS else "---:" for heading in block.headings)
        lines += [*MARKDOWN.write_block(block, f"| {' | '.join(rules)} |"), ""]
    lines += [f"{MARKDOWN.escape(note)}  " for note in _notes(results)]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(results: Results) -> str:
    """The comparison as a LaTeX table that needs no package."""
    lines = list[str]()
    for block in _blocks(results, abreast=len(results.comparisons)):
        shape = "".join("l" if heading in WORDS else "r" for heading in block.headings)
        lines += [f"\\begin{{tabular}}{{{shape}}}", "\\hline"]
        lines += [*LATEX.write_block(block, "\\hline"), "\\hline", "\\end{tabular}"]
    titles = [f"{each.task}: {_describe(each)}." for each in results.comparisons]
    lines += [f"% {line}" for line in (*titles, *_notes(results))]
    return "\n".join(lines) + "\n"


# -- machines ----------------------------------------------------------------------------------


def as_csv(results: Results) -> str:
    """A row per learner and task, with all digits."""
    rows = results.rows()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: without_formula(row[name]) for name in row} for row in rows)
    return out.getvalue()


def as_json(results: Results) -> str:
    """All results as JSON."""
    return write_json(results.as_dict()) + "\n"


WRITERS = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv, "json": as_json}
