"""Crammer, Dredze and Kulesza, Multi-Class Confidence Weighted Algorithms, EMNLP 2009.

Runs the tables and figures, and writes ours.csv, claims.csv, the figures and what README.md says
between its markers. With --quick it writes to the cache and leaves the folder alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.cells import Cell, Settings, read_arguments, run_cells, start
from experiments.claims import show_claims, write_claims
from experiments.crammer2009multiclass.contest import (
    COPIED,
    CURVES,
    QUICK_TASKS,
    TASKS,
    WITH_COPIES,
    grid_of,
    list_cells,
    work,
)
from experiments.crammer2009multiclass.report import (
    MANY,
    SHOWN_IN_FIGURE_1,
    TABLE_3,
    accuracies,
    draw_figure_1,
    draw_figure_2,
    list_claims,
    list_figures,
    once,
    sort_out,
    table_1,
    table_copies,
    table_curves,
    table_doubts,
    table_passes,
    table_predictions,
)
from experiments.ends import show_ends
from experiments.folds import COPIES
from experiments.summary import finish
from experiments.tables import read_figures, update_figures

HERE = Path(__file__).resolve().parent
PARTS = ("table1", "table2", "table3", "figure1", "figure2", "predictions", "copies")


def select(cells: list[Cell], parts: list[str]) -> list[Cell]:
    """The cells that these tables and figures need."""
    needed: dict[str, Callable[[Cell], bool]] = {
        "table1": lambda c: c.stage == "folds" and c.learner == "cw-1",
        "table2": lambda c: c.stage == "folds" and c.learner in MANY,
        "table3": lambda c: c.stage == "once" or (c.stage == "folds" and c.learner in TABLE_3),
        "figure1": lambda c: c == Cell(CURVES, c.learner) and c.learner in SHOWN_IN_FIGURE_1,
        "figure2": lambda c: c.stage == "doubts",
        "predictions": lambda c: c.stage == "predictions",
        "copies": lambda c: (
            c.stage == COPIES
            or (c.stage == "folds" and c.task in COPIED and c.learner in WITH_COPIES)
        ),
    }
    return [cell for cell in cells if any(needed[part](cell) for part in parts)]


def main(given: list[str] | None = None) -> None:
    """Do the work that is left, then write the results."""
    options = read_arguments(__doc__, HERE, PARTS, given)
    settings: Settings = {"folds": 10, "passes": 10, "grid": 0}
    if options.quick:
        settings = {"folds": 2, "passes": 3, "grid": 2}
    settings = {**settings, "seed": options.seed, "data": options.data}
    cells = select(list_cells(QUICK_TASKS if options.quick else TASKS), options.parts)
    results = sort_out(run_cells(cells, work, options.results, settings, options.jobs, grid_of))

    paper = read_figures(HERE / "paper.csv")
    ours = list_figures(results, options.parts)
    parts = [*options.parts, *map(once, options.parts)]
    update_figures(options.output / "ours.csv", ours, parts)
    pages = {
        "table1": lambda: table_1(paper, ours, results),
        "table2": lambda: accuracies("table2", MANY, paper, ours, results),
        "table3": lambda: accuracies("table3", TABLE_3, paper, ours, results),
        "figure1": lambda: table_curves(results),
        "figure2": lambda: table_doubts(results),
        "predictions": lambda: table_predictions(results),
        "copies": lambda: table_copies(results),
    }
    sections = {part: pages[part]() for part in options.parts if part in pages}
    if set(PARTS) <= set(options.parts):
        claims = list_claims(results, paper)
        write_claims(options.output / "claims.csv", claims)
        sections |= {
            "passes": table_passes(paper, results),
            "ends": show_ends(results.list_choices(settings["grid"])),
            "claims": show_claims(claims),
        }
    if "figure1" in options.parts and CURVES in results.tasks:
        draw_figure_1(options.output / "figure1.png", results)
    if "figure2" in options.parts and results.doubts:
        draw_figure_2(options.output / "figure2.png", results)
    finish(options.output, sections, HERE)


if __name__ == "__main__":
    start(main)
