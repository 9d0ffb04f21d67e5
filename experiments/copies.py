"""Rows that are the same, in every task: how many there are, and what they do to the figures.

`python -m experiments.copies` reads all tasks and writes copies.csv and the table in README.md. A
copy of a test row among the training rows gives its label away, so `tasks.load` keeps each row
once. The papers do not say whether their data had copies; their pages show both.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.cells import Record
from experiments.tables import NONE, fill_in, make_table
from experiments.tasks import TASKS, Task, at_hand, find_copies, load

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Copies:
    """What a task has of them."""

    task: str
    rows: int
    dropped: int  # all but one of each group of equal rows
    largest: int  # the size of the largest group
    contradicting: int  # groups whose rows have different labels


def count_copies(task: Task) -> Copies:
    """The copies in a task that still has all rows."""
    first = find_copies(task.X)
    sizes = np.bincount(first)
    several = np.flatnonzero(sizes > 1)
    order = np.argsort(first, kind="stable")
    starts = np.searchsorted(first[order], several)
    contradicting = sum(
        np.unique(task.y[order[start : start + sizes[row]]]).size > 1
        for row, start in zip(several, starts, strict=True)
    )
    rows = task.y.size
    return Copies(task.name, rows, rows - np.unique(first).size, int(sizes.max()), contradicting)


def show_copies(found: Sequence[Copies]) -> str:
    """A Markdown table of the tasks that have copies, and one line on those that have none."""
    rows = [
        (
            f"{TASKS[one.task].title} (`{one.task}`)",
            f"{one.rows:,}",
            f"{one.dropped:,}",
            f"{100 * one.dropped / one.rows:.1f} %",
            f"{one.largest}",
            f"{one.contradicting}",
        )
        for one in found
        if one.dropped
    ]
    head = ("task", "rows", "copies", "share", "largest group", "groups with several labels")
    clean = sum(not one.dropped for one in found)
    return f"{make_table(head, rows)}\n\nThe other {clean} tasks have none."


def show_both(
    tasks: Mapping[str, str],
    learners: Mapping[str, str],
    records: Mapping[tuple[str, str], tuple[Record | None, Record | None]],
    fact: str,
) -> str:
    """A fact of cells with all rows and, after it, with each row once; in %.

    `records` are by task and learner, those of all rows first.
    """
    rows = []
    for task, title in tasks.items():
        cells = []
        for learner in learners:
            pair = records.get((task, learner), (None, None))
            cells.append(" → ".join(f"{one[fact]:.2f}" if one else NONE for one in pair))
        rows.append((title, *cells))
    return make_table((f"{fact} in %, with → without copies", *learners.values()), rows)


def main() -> None:
    """Read every task that is at hand, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder that holds the data files")
    folder = parser.parse_args().data
    found = []
    for name in TASKS:
        if at_hand(name, folder):
            print(name, file=sys.stderr)
            found.append(count_copies(load(name, folder, copies=True)))
    with (HERE / "copies.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("task", "rows", "copies", "largest group", "groups with several labels"))
        out.writerows(
            (one.task, one.rows, one.dropped, one.largest, one.contradicting) for one in found
        )
    table = show_copies(found)
    fill_in(HERE / "README.md", "copies", table)
    print(table)


if __name__ == "__main__":
    main()
