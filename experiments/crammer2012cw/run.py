"""Crammer, Dredze and Pereira, Confidence-Weighted Linear Classification, JMLR 2012.

Tables 2 to 5, Figures 1 to 7, and what the paper mentions without figures: averaging, tf-idf and
unbalanced labels or features; and the tasks with copies of rows. Every learner's parameters and
passes are chosen on one random split of each task and judged by ten folds. Writes ours.csv,
times.csv, claims.csv, the figures, and the tables of README.md; a run that was stopped goes on
where it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import read_arguments, run_cells, start
from experiments.claims import show_claims, write_claims
from experiments.combinations import (
    average_splits,
    choose_sizes,
    collect_combinations,
    collect_stream,
    draw_combinations,
    draw_stream,
    list_splits,
    show_combinations,
    show_sizes,
)
from experiments.combining import combine_cell, grids_of
from experiments.copies import show_both
from experiments.crammer2012cw.contest import (
    AMAZON,
    BATCH,
    COMPARED,
    CURVES,
    KL_AND_L2,
    LEARNERS_OF,
    NEWS,
    ONLINE,
    PARTS,
    SIX,
    STAGES,
    TECHNIQUES,
    TIMED,
    choose_settings,
    choose_tasks,
    list_cells,
)
from experiments.crammer2012cw.features import (
    describe_gaussian,
    draw_features,
    draw_gaussian,
    find_features,
    show_features,
)
from experiments.crammer2012cw.findings import count_ranks, list_claims
from experiments.ends import show_ends
from experiments.figures import draw_curves, draw_pairs
from experiments.folds import (
    COPIES,
    FEATURES,
    LABELS,
    Records,
    collect_curves,
    known,
    list_choices,
    make_figure,
    run_tables,
)
from experiments.learners import LEARNERS
from experiments.summary import finish
from experiments.tables import (
    LEGEND,
    NONE,
    Figures,
    differences,
    find_errors,
    make_table,
    read_figures,
    show_gap,
    show_ratio,
    side_by_side,
    titles,
    update_figures,
)
from experiments.tasks import TASKS

HERE = Path(__file__).resolve().parent
# -- tables ------------------------------------------------------------------------------------


def collect(parts: list[str], quick: bool, records: Records) -> Figures:
    """Our figures of these tables, with marks and what was chosen."""
    found: Figures = {}
    for part, rivals in (("table2", ()), ("table3", ONLINE), ("table4", BATCH)):
        if part in parts:
            for task in choose_tasks(part, quick):
                for name in LEARNERS_OF[part]:
                    others = rivals if name in KL_AND_L2 else ()
                    found[part, task, name] = make_figure(records, task, name, others)
    return found


def collect_variants(parts: list[str], quick: bool, records: Records) -> Figures:
    """Our figures of techniques, unbalanced variants and tasks with copies."""
    found: Figures = {}
    for part in ("techniques", "unbalanced", "copies"):
        for stage in STAGES.get(part, ("folds",)) if part in parts else ():
            for task in choose_tasks(part, quick):
                for name in LEARNERS_OF[part]:
                    key = (part if stage == "folds" else f"{part}, {stage}", task, name)
                    found[key] = make_figure(records, task, name, stage=stage)
    return found


def show_errors(
    records: Records, tasks: list[str], learners: tuple[str, ...], stage: str = "folds"
) -> str:
    """Errors of a stage, the lowest of a row in bold, and their means."""
    rows = []
    for task in tasks:
        found = [record for n in learners if (record := known(records, task, n, stage))]
        if len(found) == len(learners):
            errors = [one["error"] for one in found]
            cells = (f"**{e:.2f}**" if e == min(errors) else f"{e:.2f}" for e in errors)
            rows.append((TASKS[task].title, *cells))
    return make_table(("error in %", *(LEARNERS[name].title for name in learners)), rows)


def show_ranks(paper: Figures, ours: Figures, quick: bool) -> str:
    """The last row of Table 2, for the tasks that both have and for all."""
    tasks = choose_tasks("table2", quick)
    printed, errors = find_errors(paper, "table2", tasks, SIX)
    shared, mine = find_errors(ours, "table2", printed, SIX)
    every, both = find_errors(ours, "table2", tasks, SIX)
    rows = []
    if not quick:
        stated = [f"{paper['table2', 'mean rank', name].value:.2f}" for name in SIX]
        rows.append((f"paper as printed, {len(printed)} tasks", *stated))
        rows.append((f"paper, counted again, {len(printed)} tasks", *_show(count_ranks(errors))))
    if shared:
        again = errors[:, [printed.index(task) for task in shared]]
        rows.append((f"paper, the {len(shared)} tasks at hand", *_show(count_ranks(again))))
        rows.append((f"ours, the same {len(shared)} tasks", *_show(count_ranks(mine))))
    if every:
        rows.append((f"ours, with the stand-ins, {len(every)} tasks", *_show(count_ranks(both))))
    return make_table(("mean rank", *(LEARNERS[name].title for name in SIX)), rows)


def _show(values: np.ndarray) -> list[str]:
    return [f"{value:.2f}" for value in values]


def show_news(paper: Figures, ours: Figures) -> str:
    """The six variants on 20 Newsgroups: how far above the printed errors."""
    rows = []
    for name in SIX:
        gaps: list[float | None] = []
        for task in NEWS:
            mine, printed = ours.get(("table2", task, name)), paper["table2", task, name]
            if mine is None or mine.value is None or printed.value is None:
                gaps.append(None)
            else:
                gaps.append(mine.value - printed.value)
        fine = None if None in gaps else all(gap <= 1.5 for gap in gaps if gap is not None)
        words = {None: NONE, True: "yes", False: "no"}
        cells = [NONE if gap is None else show_gap(gap) for gap in gaps]
        rows.append((LEARNERS[name].title, *cells, words[fine]))
    head = ("ours − paper", *(TASKS[task].title for task in NEWS), "all within 1.5 points")
    return make_table(head, rows)


def show_failures(paper: Figures, records: Records) -> str:
    """Stdev L2 where it fails in print: our error, and the random split's for every φ."""
    rows = []
    for task in (*AMAZON, *NEWS):
        pair = [paper["table2", task, f"cw-stdev-{end}"].value or 0.0 for end in ("l2", "kl")]
        record = known(records, task, "cw-stdev-l2")
        if record and pair[0] > pair[1] + 5:
            ends = [f"{end(record['tuning']):.2f}" for end in (min, max)]
            rows.append((TASKS[task].title, f"{pair[0]:.2f}", f"{record['error']:.2f}", *ends))
    head = ("error in %", "printed", "ours", "split, best φ", "split, worst φ")
    return make_table(head, rows) if rows else "The data is not at hand."


def show_times(paper: Figures, records: Records, quick: bool) -> str:
    """Table 5 as ratios to the time of var KL, ours and the paper's, and our milliseconds."""
    rows = []
    columns: dict[str, list[float]] = {name: [] for name in TIMED}
    for task in choose_tasks("table5", quick):
        times = [known(records, task, name) for name in TIMED]
        title = titles([task])[task]
        printed = [paper.get(("table5", task, name)) for name in TIMED]
        base = printed[0].value if printed[0] else None
        cells = []
        for name, record, figure in zip(TIMED, times, printed, strict=True):
            text = NONE
            if record and times[0]:
                ratio = record["seconds"] / times[0]["seconds"]
                columns[name].append(ratio)
                text = show_ratio(ratio)
            if figure and figure.value is not None and base:
                text += f" ({show_ratio(figure.value / base)})"
            cells.append(text)
        first = f"{1000 * times[0]['seconds']:.0f}" if times[0] else NONE
        rows.append((title, first, *cells[1:]))
    middle = [show_ratio(float(np.median(some))) if some else NONE for some in columns.values()]
    rows.append(("median", "", *middle[1:]))
    names = [LEARNERS[name].title for name in TIMED]
    return make_table(("ours (paper)", f"{names[0]}, ms", *(f"× {one}" for one in names[1:])), rows)


def show_choices(ours: Figures, quick: bool) -> str:
    """The setting and passes that the random split chose, for every learner and task."""
    learners = (*SIX, *ONLINE, *BATCH)
    rows = []
    for task in choose_tasks("table3", quick):
        found = [
            next((ours[p, task, n] for p in LEARNERS_OF if (p, task, n) in ours), None)
            for n in learners
        ]
        if any(one and one.value is not None for one in found):
            texts = [one.note if one and one.note else NONE for one in found]
            rows.append((TASKS[task].title, *texts))
    return make_table(("chosen", *(LEARNERS[name].title for name in learners)), rows)


def write_times(path: Path, records: Records, quick: bool) -> None:
    """The CPU seconds of one training run, which differ from run to run."""
    lines = ["task,learner,seconds"]
    for task in choose_tasks("table5", quick):
        for name in TIMED:
            record = known(records, task, name)
            lines.append(f"{task},{name},{record['seconds']:.5f}" if record else f"{task},{name},")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- figures -----------------------------------------------------------------------------------


def draw_passes(path: Path, part: str, records: Records, quick: bool) -> None:
    """Test accuracy after each pass, one panel per task."""
    panels: dict[str, dict[str, Any]] = {}
    for task in choose_tasks(part, quick):
        lines = {LEARNERS[name].title: known(records, task, name) for name in CURVES}
        if all(lines.values()):
            panels[TASKS[task].title] = {k: one["curve"] for k, one in lines.items() if one}
    if panels:
        longest = max(len(one) for lines in panels.values() for one in lines.values())
        x = list(range(1, longest + 1))
        draw_curves(path, panels, x, "passes over the training data", "test accuracy (%)")


def find_training(records: Records, quick: bool) -> dict[str, tuple[float, float]]:
    """Training accuracy of the L2 and the exact diagonal, deviation constraint, by task."""
    points = {}
    for task in choose_tasks("figure5", quick):
        pair = [known(records, task, name) for name in LEARNERS_OF["figure5"]]
        found = [one["training"] for one in pair if one]
        if len(found) == 2:
            points[TASKS[task].title] = (found[0], found[1])
    return points


def show_training(points: dict[str, tuple[float, float]]) -> str:
    """Figure 5 in figures."""
    rows = [(title, *(f"{value:.2f}" for value in pair)) for title, pair in points.items()]
    names = [LEARNERS[name].title for name in LEARNERS_OF["figure5"]]
    head = ("training accuracy in %", *names)
    return make_table(head, rows) if rows else "The data is not at hand."


def draw_training(path: Path, points: dict[str, tuple[float, float]]) -> None:
    """Figure 5: training accuracy of the exact against the L2 diagonal."""
    if points:
        x, y = (f"stdev {end}: training accuracy (%)" for end in ("L2", "exact"))
        draw_pairs(path, {"": points}, x, y, numbered=False)


# -- everything --------------------------------------------------------------------------------


def main(given: list[str] | None = None) -> None:
    """Run what is asked for and write the results."""
    options = read_arguments(__doc__, HERE, PARTS, given)
    parts, quick, output = options.parts, options.quick, options.output
    basis = (quick, options.seed, options.data)
    splits = list_splits(quick, options.data) if {"figure6", "figure7"} & set(parts) else []
    large = average_splits(
        run_cells(
            splits, combine_cell, options.shared, choose_sizes(*basis), options.jobs, grids_of
        )
    )
    settings = choose_settings(*basis)
    records = run_tables(list_cells(parts, quick), options, settings)

    paper = read_figures(HERE / "paper.csv")
    features = find_features(quick, options.data) if "figure1" in parts else []
    found = collect(parts, quick, records) | collect_variants(parts, quick, records)
    for part in {"figure3", "figure4"} & set(parts):
        found |= collect_curves(part, records, choose_tasks(part, quick), CURVES)
    if "figure6" in parts:
        found |= collect_combinations("figure6", large)
    if "figure7" in parts:
        found |= collect_stream("figure7", large)
    stages = [f"{part}, {stage}" for part in parts for stage in STAGES.get(part, ())]
    ours = update_figures(output / "ours.csv", found, [*parts, *stages])
    texts = {}
    for part in parts:
        if part in ("table2", "table3", "table4"):
            names = {name: LEARNERS[name].title for name in LEARNERS_OF[part]}
            rows = titles(choose_tasks(part, quick))
            texts[part] = side_by_side(part, rows, names, paper, ours)
            if part != "table2":
                texts[part] += f"\n\n{LEGEND}"
            texts[f"{part}-differences"] = differences(part, rows, names, paper, ours)
    if "table2" in parts:
        texts["ranks"] = show_ranks(paper, ours, quick)
        texts["news"] = show_news(paper, ours)
        texts["failures"] = show_failures(paper, records)
    if "table5" in parts:
        texts["table5"] = show_times(paper, records, quick)
        write_times(output / "times.csv", records, quick)
    if "techniques" in parts:
        names = tuple(name for pair in TECHNIQUES for name in pair)
        texts["techniques"] = show_errors(records, choose_tasks("techniques", quick), names)
    if "unbalanced" in parts:
        tasks = choose_tasks("unbalanced", quick)
        for stage, name in ((LABELS, "labels"), (FEATURES, "features")):
            texts[f"unbalanced-{name}"] = show_errors(records, tasks, COMPARED, stage)
    if "copies" in parts:
        names = {name: LEARNERS[name].title for name in LEARNERS_OF["copies"]}
        tasks = choose_tasks("copies", quick)
        both = {
            (t, n): (known(records, t, n, COPIES), known(records, t, n))
            for t in tasks
            for n in names
        }
        texts["copies"] = show_both(titles(tasks), names, both, "error")
    if "figure1" in parts:
        texts["figure1"] = show_features(features)
        draw_features(output / "figure1.png", features)
    if "figure2" in parts:
        texts["figure2"] = describe_gaussian()
        draw_gaussian(output / "figure2.png")
    for part in ("figure3", "figure4"):
        if part in parts:
            draw_passes(output / f"{part}.png", part, records, quick)
    if "figure5" in parts:
        points = find_training(records, quick)
        texts["figure5"] = show_training(points)
        draw_training(output / "figure5.png", points)
    if "figure6" in parts:
        texts["figure6"] = show_combinations(large)
        texts["sizes"] = show_sizes(large)
        draw_combinations(output / "figure6.png", large)
    if "figure7" in parts:
        draw_stream(output / "figure7.png", large)
    if set(parts) == set(PARTS):
        texts["choices"] = show_choices(ours, quick)
        texts["ends"] = show_ends(list_choices(records, settings["grid"]))
        claims = list_claims(paper, ours, records, large, features)
        write_claims(output / "claims.csv", claims)
        texts["claims"] = show_claims(claims)
    finish(output, texts, HERE)


if __name__ == "__main__":
    start(main)
