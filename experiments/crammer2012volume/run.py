"""Crammer and Wagner, Volume Regularization for Binary Classification, NIPS 2012.

Runs the figures, and writes ours.csv, claims.csv, the figures and what README.md says between its
markers. With --quick it writes to the cache and leaves the folder alone.
"""

from __future__ import annotations

from pathlib import Path

from experiments.cells import Settings, read_arguments, run_cells, start
from experiments.claims import show_claims, write_claims
from experiments.crammer2012volume.contest import DIGITS, DRAWS, TEXTS, grid_of, list_cells, work
from experiments.crammer2012volume.report import (
    draw_figure_1,
    draw_figure_2,
    list_claims,
    list_figures,
    sort_out,
    table_choices,
    table_copies,
    table_noise,
    table_noise_duels,
    table_text_duels,
    table_texts,
    table_tried,
)
from experiments.ends import show_ends
from experiments.summary import finish
from experiments.tables import read_figures, update_figures

HERE = Path(__file__).resolve().parent
PARTS = ("figure1", "figure2")


def main(given: list[str] | None = None) -> None:
    """Do the work that is left, then write the results."""
    options = read_arguments(__doc__, HERE, PARTS, given)
    settings: Settings = {"folds": 10, "grid": 0}
    texts, digits, draws = TEXTS, DIGITS, DRAWS
    if options.quick:
        settings = {"folds": 2, "grid": 2}
        texts, digits, draws = ("news/sci", "rcv1/retail", "spam/b"), DIGITS[::15], 1
    settings = {**settings, "seed": options.seed, "data": options.data}
    cells = [
        cell
        for cell in list_cells(texts, digits, draws)
        if ("figure2" if cell.stage.startswith("draw ") else "figure1") in options.parts
    ]
    results = sort_out(run_cells(cells, work, options.results, settings, options.jobs, grid_of))

    paper = read_figures(HERE / "paper.csv")
    parts = [*options.parts, *(f"{part}, copies" for part in options.parts)]
    update_figures(options.output / "ours.csv", list_figures(results, options.parts), parts)
    sections: dict[str, str] = {}
    if "figure1" in options.parts and results.tasks:
        sections |= {
            "texts": table_texts(results),
            "duels": table_text_duels(results, paper),
            "tried": table_tried(results),
            "copies": table_copies(results),
        }
        draw_figure_1(options.output / "figure1.png", results)
    if "figure2" in options.parts and results.pairs:
        sections |= {
            "noise": table_noise(results, paper),
            "noise-duels": table_noise_duels(results),
            "choices": table_choices(results),
        }
        draw_figure_2(options.output / "figure2.png", results)
    if set(PARTS) <= set(options.parts):
        claims = list_claims(results)
        write_claims(options.output / "claims.csv", claims)
        sections["ends"] = show_ends(results.list_choices(settings["grid"]))
        sections["claims"] = show_claims(claims)
    finish(options.output, sections, HERE)


if __name__ == "__main__":
    start(main)
