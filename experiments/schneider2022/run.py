"""Schneider, Linear Models for Classification, slides of 2022: the claims of a lecture.

Naive Bayes, perceptron, maxent and SVM on public tasks, with averaging, early stopping, penalties
and feature ablation. Writes ours.csv, claims.csv and what README.md says between its markers.
"""

from __future__ import annotations

from pathlib import Path

from experiments.cells import read_arguments, run_cells, start
from experiments.claims import show_claims, write_claims
from experiments.ends import show_ends
from experiments.schneider2022.contest import QUICK_TASKS, TASKS, grid_of, list_cells, work
from experiments.schneider2022.report import (
    list_claims,
    list_figures,
    sort_out,
    table_ablation,
    table_accuracies,
    table_seconds,
    table_stopped,
)
from experiments.summary import finish
from experiments.tables import write_figures

HERE = Path(__file__).resolve().parent


def main(given: list[str] | None = None) -> None:
    """Do the work that is left, then write the results."""
    options = read_arguments(__doc__, HERE, ["table1"], given)
    settings = {"seed": options.seed, "data": options.data}
    cells = list_cells(QUICK_TASKS if options.quick else TASKS)
    found = run_cells(cells, work, options.results, settings, options.jobs, grid_of)
    results = sort_out(found)
    write_figures(options.output / "ours.csv", list_figures(results))
    claims = list_claims(results)
    write_claims(options.output / "claims.csv", claims)
    sections = {"claims": show_claims(claims)}
    if results.tasks:
        sections |= {
            "accuracies": table_accuracies(results),
            "seconds": table_seconds(results),
            "stopped": table_stopped(results),
            "ends": show_ends(results.list_choices()),
        }
    if results.without:
        sections["ablation"] = table_ablation(results)
    finish(options.output, sections, HERE)


if __name__ == "__main__":
    start(main)
