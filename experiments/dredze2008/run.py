"""Dredze, Crammer and Pereira, Confidence-Weighted Linear Classification, ICML 2008.

Tables 1 and 2 and Figures 1 and 2. Every learner's parameter is chosen on one random split of each
task and judged by ten folds, the online ones with five passes. Writes ours.csv, claims.csv, the
figures, and the tables of README.md; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.cells import Cell, Settings, read_arguments, run_cells, start
from experiments.claims import show_claims, write_claims
from experiments.combinations import (
    average_splits,
    choose_sizes,
    collect_combinations,
    draw_combinations,
    list_splits,
    show_combinations,
    show_sizes,
)
from experiments.combining import combine_cell, grids_of
from experiments.dredze2008.findings import (
    BATCH,
    LEARNERS_OF_TABLE,
    NAMES,
    ONLINE,
    PASSES,
    TABLE,
    list_claims,
)
from experiments.ends import show_ends
from experiments.figures import draw_curves
from experiments.folds import (
    Records,
    collect_curves,
    known,
    list_choices,
    make_figure,
    run_tables,
)
from experiments.summary import finish
from experiments.tables import (
    LEGEND,
    NONE,
    Figures,
    differences,
    make_table,
    read_figures,
    side_by_side,
    titles,
    update_figures,
)
from experiments.tasks import NEWS_PAIRS, TASKS, MissingData, find_data, load

HERE = Path(__file__).resolve().parent
PARTS = ("table1", "table2", "figure1", "figure2")
STAND_INS = ("reuters/acq-earn", "reuters/interest-money-fx", "reuters/corn-wheat")
QUICK = ("news/talk", "rcv1/retail", "reuters/corn-wheat")
SLOW = ("svm", "maxent")  # these cells go first


def choose_tasks(quick: bool) -> list[str]:
    """The tasks of Table 2."""
    return [task for task in (*TABLE, *STAND_INS) if not quick or task in QUICK]


def choose_settings(quick: bool, seed: int, data: Path | None) -> Settings:
    """What the cells of the table depend on."""
    settings = {"seed": seed, "folds": 10, "passes": PASSES, "fixed": True, "grid": 0}
    quicker = {"folds": 3, "grid": 3} if quick else {}
    return {**settings, **quicker, "data": str(data) if data else None}


def list_cells(parts: list[str], quick: bool) -> list[Cell]:
    """The cells that these tables and figures need, those that take longest first."""
    cells = []
    if "table2" in parts:
        cells += [Cell(t, name) for t in choose_tasks(quick) for name in LEARNERS_OF_TABLE]
    if "figure1" in parts:
        cells += [Cell("news/talk", name) for name in ONLINE]
    return sorted(cells, key=lambda cell: cell.learner not in SLOW)


def show_groups(data: Path | None) -> str:
    """Table 1: the groups of the three tasks, and what was made of them."""
    rows = []
    for name, pair in NEWS_PAIRS.items():
        posts = words = NONE
        try:
            task = load(f"news/{name}", data)
            posts, words = f"{task.y.size:,}", f"{task.X.shape[1]:,}"
        except MissingData:
            print(f"{TASKS[f'news/{name}'].file} is not in {find_data(data)}", file=sys.stderr)
        rows.append((name, *pair, posts, words))
    head = ("task", "first group", "second group", "posts", "words")
    return make_table(head, rows).replace("|---|---:|---:|", "|---|---|---|")


def collect(quick: bool, records: Records) -> Figures:
    """Our figures of Table 2; CW is marked against PA, the batch methods against Variance."""
    found: Figures = {}
    for task in choose_tasks(quick):
        for name in LEARNERS_OF_TABLE:
            rival = "cw-var-kl" if name in BATCH else "pa"
            others = () if name == "pa" else (rival,)
            found["table2", task, name] = make_figure(records, task, name, others)
    return found


def draw_talk(path: Path, records: Records) -> None:
    """Figure 1: test accuracy on "talk" after each pass."""
    lines = {NAMES[name]: known(records, "news/talk", name) for name in ONLINE}
    if all(lines.values()):
        panel = {name: one["curve"] for name, one in lines.items() if one}
        x = list(range(1, PASSES + 1))
        draw_curves(path, {"talk": panel}, x, "passes over the training data", "test accuracy (%)")


def show_talk(records: Records) -> str:
    """Figure 1 in figures."""
    lines = {name: known(records, "news/talk", name) for name in ONLINE}
    rows = [
        (NAMES[name], *(f"{x:.2f}" for x in one["curve"])) for name, one in lines.items() if one
    ]
    head = ("test accuracy in %", *(f"pass {k}" for k in range(1, PASSES + 1)))
    return make_table(head, rows) if rows else "The data is not at hand."


def main(given: list[str] | None = None) -> None:
    """Run what is asked for and write the results."""
    options = read_arguments(__doc__, HERE, PARTS, given)
    parts, quick, output = options.parts, options.quick, options.output
    basis = (quick, options.seed, options.data)
    splits = list_splits(quick, options.data) if "figure2" in parts else []
    large = average_splits(
        run_cells(
            splits, combine_cell, options.shared, choose_sizes(*basis), options.jobs, grids_of
        )
    )
    settings = choose_settings(*basis)
    records = run_tables(list_cells(parts, quick), options, settings)

    paper = read_figures(HERE / "paper.csv")
    found = collect(quick, records) if "table2" in parts else {}
    if "figure1" in parts:
        found |= collect_curves("figure1", records, ["news/talk"], ONLINE)
    if "figure2" in parts:
        found |= collect_combinations("figure2", large)
    ours = update_figures(output / "ours.csv", found, parts)
    texts = {}
    if "table1" in parts:
        texts["table1"] = show_groups(options.data)
    if "table2" in parts:
        rows = titles(choose_tasks(quick))
        texts["table2"] = side_by_side("table2", rows, NAMES, paper, ours) + f"\n\n{LEGEND}"
        texts["table2-differences"] = differences("table2", rows, NAMES, paper, ours)
    if "figure1" in parts:
        texts["figure1"] = show_talk(records)
        draw_talk(output / "figure1.png", records)
    if "figure2" in parts:
        texts["figure2"] = show_combinations(large)
        texts["sizes"] = show_sizes(large)
        draw_combinations(output / "figure2.png", large)
    if set(parts) == set(PARTS):
        texts["ends"] = show_ends(list_choices(records, settings["grid"]))
        claims = list_claims(paper, ours, records, large)
        write_claims(output / "claims.csv", claims)
        texts["claims"] = show_claims(claims)
    finish(output, texts, HERE)


if __name__ == "__main__":
    start(main)
