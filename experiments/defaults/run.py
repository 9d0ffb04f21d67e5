"""TextClassifier's defaults: every candidate over all data sets, and the choice among them.

Runs what has not been run, and writes ours.csv, claims.csv, reliability.png and what README.md and
docs/defaults.md say between their markers. With --quick it writes to the cache and leaves these
alone. --orders N takes so many random orders (4 by default); --orders 1 is a first look, and what
it has run counts for more.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from experiments.cells import Cell, Record, read_arguments, run_cells, start
from experiments.claims import write_claims
from experiments.defaults.contest import (
    BASELINES,
    CANDIDATES,
    FIRST,
    NOISE_TO_CHOOSE,
    ORDERS,
    SVM,
    find_default,
    plan_baselines,
    plan_choice,
    plan_reliability,
    plan_tests,
    title,
    work,
)
from experiments.defaults.report import (
    choose,
    describe_choice,
    draw_trust,
    list_figures,
    list_goals,
    show_goals,
    sort_out,
    table_all,
    table_choice,
    table_copies,
    table_noise,
    table_passes,
    table_tasks,
    table_trust,
)
from experiments.defaults.texts import TASKS, VERSION
from experiments.tables import fill_in, publish, write_figures

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "defaults.md"
PICTURE = PAGE.parent / "_static" / "defaults-reliability.png"
PARTS = ("choice", "test", "reliability")
QUICK_TASKS = ("sci", "talk", "sms")
QUICK_LEARNERS = ("arow-idf-1.0", "arow-nb-1.0", "arow-nb-auto", "cw-nb")
AUTO = "arow-nb-auto"  # on the short list whatever is chosen


def main(given: list[str] | None = None) -> None:
    """Do the work that is left, then write the results."""
    wanted = ArgumentParser(add_help=False, allow_abbrev=False)
    wanted.add_argument("--orders", type=int, default=ORDERS)
    some, rest = wanted.parse_known_args(given)
    options = read_arguments(__doc__, HERE, PARTS, rest)
    if some.orders < 1:
        print(f"sureline: --orders must be at least 1, got {some.orders}", file=sys.stderr)
        raise SystemExit(2)
    tasks, names, baselines = tuple(TASKS), tuple(CANDIDATES), tuple(BASELINES)
    orders = some.orders
    noise: tuple[int, ...] = NOISE_TO_CHOOSE
    if options.quick:
        tasks, names, baselines = QUICK_TASKS, QUICK_LEARNERS, (SVM, "complement-nb")
        orders, noise = 1, (0, 20)
    present = find_default()
    names = names if present in names else (*names, present)

    settings = {"data": options.data, "texts": VERSION}
    if options.seed:
        settings["seed"] = options.seed

    def run(cells: list[Cell]) -> dict[Cell, Record]:
        return run_cells(cells, work, options.results, settings, options.jobs)

    found = run(plan_choice(names, tasks, orders, noise))
    choice = choose(sort_out(found), names)
    if choice is None:
        raise SystemExit(
            "sureline: there is no data to choose by: name the folder that holds it with --data or "
            "in the environment variable SURELINE_DATA"
        )
    both = tuple(dict.fromkeys((present, choice.best)))
    short = tuple(dict.fromkeys((*both, AUTO, choice.best + FIRST)))
    cells = list[Cell]()
    if "test" in options.parts:
        cells += plan_baselines(baselines, tasks, orders)
        cells += plan_tests(names, short, tasks, orders)
    if "reliability" in options.parts:
        cells += [cell for name in both for cell in plan_reliability(name, tasks, orders)]
    found |= run(cells)
    results = sort_out(found)

    sections = {"choice": f"{describe_choice(choice, present)}\n\n{table_choice(choice, present)}"}
    if "test" in options.parts:
        main_tasks = [task for task in results.main if TASKS[task].kind == "main"]
        sections |= {
            "all": table_all(results, short, present),
            "copies": table_copies(results.main + results.further, options.data),
            "tasks": table_tasks(results, present, choice.best),
            "noise": table_noise(results, results.main, (*short, *baselines), present),
            "passes": table_passes(results, main_tasks, (*names, choice.best + FIRST), present),
            "noise-candidates": table_noise(results, main_tasks, (*names, *baselines), present),
        }
    if "reliability" in options.parts:
        tables = [f"{title(name)}:\n\n{table_trust(results, name)}" for name in both]
        sections["reliability"] = "\n\n".join(tables)
        draw_trust(options.output / "reliability.png", results, present)
    if set(PARTS) <= set(options.parts):
        goals = list_goals(results, present)
        if choice.best != present:
            goals += list_goals(results, choice.best, f"{title(choice.best)}: ")
        sections["claims"] = show_goals(goals)
        write_claims(options.output / "claims.csv", goals)
        write_figures(options.output / "ours.csv", list_figures(results), 4)
    publish(options.output, sections)
    if options.output == HERE and set(PARTS) <= set(options.parts):
        for name in ("choice", "all", "tasks", "noise", "reliability", "claims"):
            fill_in(PAGE, name, sections[name])
        PICTURE.write_bytes((HERE / "reliability.png").read_bytes())
    print("\n\n".join(sections.values()))
    for sentence in results.missing:
        print(f"left out: {sentence}", file=sys.stderr)
    if choice.best != present:
        print(f"NOT THE DEFAULT: {choice.best} was chosen, not {present}", file=sys.stderr)
    print(f"written to {options.output}", file=sys.stderr)


if __name__ == "__main__":
    start(main)
