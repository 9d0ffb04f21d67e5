"""Printed figures next to ours: CSV files, Markdown tables, and McNemar's marks."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.protocol import Marks
from experiments.tasks import TASKS
from numpy.typing import NDArray

from sureline.evaluation import mcnemar

LEVELS = {0.001: "ᶜ", 0.01: "ᵇ", 0.05: "ᵃ"}
LEGEND = "Marks: ᵃ p < 0.05, ᵇ p < 0.01, ᶜ p < 0.001 (McNemar's test)."
NONE = "–"

Key = tuple[str, str, str]  # table or figure, task, learner


@dataclass(frozen=True)
class Figure:
    """One figure of a table; `level` is that of its mark, None where it has none."""

    value: float | None
    level: float | None = None
    note: str = ""


Figures = dict[Key, Figure]


def read_figures(path: Path) -> Figures:
    """The figures of a paper.csv or ours.csv by table, task and learner, in their order."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (row["part"], row["task"], row["learner"]): Figure(
                float(row["figure"]) if row["figure"] else None,
                float(row["level"]) if row["level"] else None,
                row["note"],
            )
            for row in csv.DictReader(file)
        }


def write_figures(path: Path, figures: Mapping[Key, Figure], digits: int = 6) -> None:
    """Write figures as `read_figures` reads them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("part", "task", "learner", "figure", "level", "note"))
        for key, one in figures.items():
            value = "" if one.value is None else f"{one.value:.{digits}f}"
            out.writerow((*key, value, "" if one.level is None else f"{one.level:g}", one.note))


def update_figures(path: Path, figures: Mapping[Key, Figure], parts: Sequence[str]) -> Figures:
    """Replace the figures of these parts in the file, keep those of others, and return all."""
    old = read_figures(path) if path.is_file() else {}
    kept = {key: one for key, one in old.items() if key[0] not in parts}
    both = {**kept, **figures}
    order = list(dict.fromkeys([*(key[0] for key in old), *(key[0] for key in figures)]))
    # Parts in the order of their names, so that the order of runs leaves no trace.
    order.sort(key=lambda part: re.sub(r"\d+", lambda found: found.group().zfill(3), part))
    both = {key: both[key] for part in order for key in both if key[0] == part}
    write_figures(path, both)
    return both


# -- significance ------------------------------------------------------------------------------


def level(p_value: float) -> float | None:
    """The strictest level that a p value passes."""
    return next((each for each in LEVELS if p_value < each), None)


def compare(right: Marks, others: Iterable[Marks]) -> float | None:
    """The level at which a learner differs from each of the others, better or worse."""
    chances = [mcnemar(right, other).p_value for other in others]
    return level(max(chances)) if chances else None


# -- Markdown ----------------------------------------------------------------------------------


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def show_figure(figure: Figure | None, digits: int = 2) -> str:
    """A figure with its mark, or a dash."""
    if figure is None or figure.value is None:
        return NONE
    return f"{figure.value:.{digits}f}{LEVELS.get(figure.level or 0.0, '')}"


def show_gap(gap: float, digits: int = 2) -> str:
    """A difference with its sign; zero is +0."""
    return f"{round(gap, digits) + 0.0:+.{digits}f}"


def show_ratio(ratio: float) -> str:
    """A ratio with two digits or more."""
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.95 else f"{ratio:.2f}"


def side_by_side(
    part: str,
    tasks: Mapping[str, str],
    learners: Mapping[str, str],
    paper: Mapping[Key, Figure],
    ours: Mapping[Key, Figure],
    digits: int = 2,
) -> str:
    """Our figures with the printed ones in brackets; our lowest of each row in bold.

    Parameters
    ----------
    part : str
        The table, as in the CSV files.
    tasks, learners : mapping of names to titles
        Rows and columns.
    paper, ours : figures
        The printed figures and ours. Where ours are missing, there is a dash.
    digits : int
        How many after the point.

    Returns
    -------
    str
        A Markdown table.
    """
    rows = []
    for task, title in tasks.items():
        mine = {name: ours.get((part, task, name)) for name in learners}
        known = [one.value for one in mine.values() if one and one.value is not None]
        least = round(min(known), digits) if known else None
        cells = []
        for name, figure in mine.items():
            text = show_figure(figure, digits)
            if figure and figure.value is not None and round(figure.value, digits) == least:
                text = f"**{text}**"
            printed = paper.get((part, task, name))
            cells.append(text if printed is None else f"{text} ({show_figure(printed, digits)})")
        rows.append((title, *cells))
    return make_table(("ours (paper)", *learners.values()), rows)


def differences(
    part: str,
    tasks: Mapping[str, str],
    learners: Mapping[str, str],
    paper: Mapping[Key, Figure],
    ours: Mapping[Key, Figure],
    digits: int = 2,
) -> str:
    """Our figures minus the printed ones, where there are both, and their means."""
    rows, columns = [], {name: list[float]() for name in learners}
    for task, title in tasks.items():
        cells = []
        for name in learners:
            pair = [each.get((part, task, name)) for each in (ours, paper)]
            values = [one.value for one in pair if one is not None and one.value is not None]
            if len(values) == 2:
                columns[name].append(values[0] - values[1])
                cells.append(show_gap(values[0] - values[1], digits))
            else:
                cells.append(NONE)
        if set(cells) != {NONE}:
            rows.append((title, *cells))
    means = [show_gap(float(np.mean(some)), digits) if some else NONE for some in columns.values()]
    rows.append(("mean", *means))
    return make_table(("ours − paper", *learners.values()), rows)


def titles(tasks: Iterable[str]) -> dict[str, str]:
    """Tasks with the names that the tables give them."""
    found = {task: TASKS[task] for task in tasks}
    return {t: info.title + " (no data)" * (not info.can_be_had) for t, info in found.items()}


def find_errors(
    figures: Mapping[Key, Figure], part: str, tasks: Iterable[str], learners: Sequence[str]
) -> tuple[list[str], NDArray[np.float64]]:
    """The tasks for which all these learners have figures, and those, one row per learner."""
    found = {
        task: values
        for task in tasks
        if None not in (values := [_value(figures, part, task, name) for name in learners])
    }
    table = np.array(list(found.values()), np.float64).reshape(len(found), len(learners))
    return list(found), table.T


def _value(figures: Mapping[Key, Figure], part: str, task: str, learner: str) -> float | None:
    figure = figures.get((part, task, learner))
    return None if figure is None else figure.value


def fill_in(path: Path, name: str, text: str) -> None:
    """Put generated text into a Markdown file, between the markers of that name.

    The markers are ``<!-- begin NAME -->`` and ``<!-- end NAME -->``, each on a line of its own.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = path.read_text(encoding="utf-8")
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(end) < page.index(begin):
        raise ValueError(f"{path} must hold {begin} and, after it, {end}, once each")
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    fresh = f"{before}{begin}\n{text.strip()}\n{end}{after}"
    if fresh != page:
        path.write_text(fresh, encoding="utf-8")


def publish(folder: Path, texts: Mapping[str, str]) -> None:
    """Put generated texts between the markers of the folder's README, or into a tables.md."""
    page = folder / "README.md"
    if page.is_file():
        for name, text in texts.items():
            fill_in(page, name, text)
    else:
        parts = [f"## {name}\n\n{text.strip()}\n" for name, text in texts.items()]
        (folder / "tables.md").write_text("\n".join(parts), encoding="utf-8")
