"""sureline and its rivals on the same work, in one run: times, ratios, accuracy and goals.

All learn the same rows in one fixed random order. Runs take turns (A B C, A B C, ...), compiled
code is warm, garbage is collected before each, and the best of the repeats counts. Progress goes
to standard error, tables to standard output. A rival that is not installed, or a contest whose
data is missing, is named and left out.

    python -m benchmarks.rivals.run --only text sparse --repeats 3
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.rivals import machine
from benchmarks.rivals.contests import CONTESTS
from benchmarks.rivals.data import Setting
from benchmarks.rivals.entries import Contest, Entry, Missing, Results, Row, Task
from benchmarks.rivals.page import Outcome, markdown, show
from benchmarks.rivals.timing import Watch, explain, measure
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

OURS = "sureline"
RIVALS = (
    *("scikit_learn", "vowpal_wabbit", "fasttext", "river", "liblinear"),
    *("floor", "plain_numpy"),
)
BUSY = 0.5  # processes that wanted to run, beyond which the page says that times are too long


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rivals.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data", type=Path, help="folder of the data; else SURELINE_DATA, else ../shared/data"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of each entry (default 5)")
    parser.add_argument(
        "--only", nargs="+", choices=CONTESTS, metavar="CONTEST", help=", ".join(CONTESTS)
    )
    parser.add_argument(
        "--rivals", nargs="+", choices=RIVALS, metavar="RIVAL", help=", ".join(RIVALS)
    )
    parser.add_argument("--rows", type=int, help="learn and test at most so many rows, to try it")
    parser.add_argument("--output", type=Path, help="write a Markdown page, too")
    found = parser.parse_args(arguments)
    if found.repeats < 1:
        parser.error(f"--repeats {found.repeats}: at least one run is needed")
    if found.rows is not None and found.rows < 100:
        parser.error(f"--rows {found.rows}: at least 100 rows are needed")
    if found.data is not None and not found.data.is_dir():
        parser.error(f"--data {found.data} is not a folder")
    if found.output is not None and not found.output.resolve().parent.is_dir():
        parser.error(f"--output {found.output}: there is no folder {found.output.parent}")
    return found


def hold(
    contest: Contest, task: Task, rivals: dict[str, ModuleType], repeats: int, watch: Watch
) -> Results:
    """The table of one task."""
    entries: list[tuple[str, Entry]] = []
    failed: list[Row] = []
    absent: list[str] = []
    for name, rival in rivals.items():
        enter = getattr(rival, contest.name.replace("-", "_"), None)
        if enter is None:
            continue
        if sentence := rival.missing():
            absent.append(sentence)
            continue
        watch(f"{contest.name}: {rival.NAME} prepares")
        try:
            entries += [(name, entry) for entry in enter(task.given)]
        except Exception as error:  # a rival may raise anything, and the others go on
            entry = Entry("getting ready", "nothing", rival.missing, threads=0)
            failed.append(Row(name, entry, problem=f"failed: {explain(error)}"))
    rows = measure(entries, repeats, lambda what: watch(f"{contest.name}: {what}"))
    return Results(task.caption, rows + failed, absent)


def attend(
    contest: Contest, setting: Setting, rivals: dict[str, ModuleType], repeats: int, watch: Watch
) -> Outcome:
    """All tables of a contest, or why there are none."""
    outcome = Outcome(contest)
    try:
        for task in contest.tasks(setting):
            outcome.tables.append(hold(contest, task, rivals, repeats, watch))
    except Missing as absent:
        outcome.left_out = str(absent)
        return outcome
    outcome.goals = contest.goals(outcome.tables)
    return outcome


@contextmanager
def watching() -> Iterator[Watch]:
    """Tells what is being done: on one line of a terminal, or line by line in a log."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: console.print(what, soft_wrap=True, markup=False, highlight=False)
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task("")
        yield lambda what: progress.update(task, description=what)


def head(asked: argparse.Namespace, rivals: dict[str, ModuleType], load: float | None) -> list[str]:
    """What the page says before its tables."""
    given = {
        "repeats": [str(asked.repeats)],
        "only": asked.only,
        "rivals": asked.rivals,
        "rows": [str(asked.rows)] if asked.rows is not None else None,
    }
    arguments = [f"--{name} {' '.join(values)}" for name, values in given.items() if values]
    versions = [
        f"{rival.NAME} {rival.version()}" for rival in rivals.values() if not rival.missing()
    ]
    lines = [
        "`make bench` writes this page. This version was written by",
        "",
        "```sh",
        f"python -m benchmarks.rivals.run {' '.join(arguments)} --output benchmarks/results.md",
        "```",
        "",
        f"- Machine: {machine.describe()}.",
        f"- {machine.libraries()}.",
        f"- Rivals: {', '.join(versions)}.",
        f"- Times are the best of {asked.repeats} run{'s' * (asked.repeats != 1)}. Runs take "
        "turns, after a warm-up run, which separate programs and slow learners go without. All "
        "learn the same rows in the same random order. Ratios are between times of this run; below "
        "1 is faster than the divisor.",
        "- Accuracy is measured on rows that were not learned.",
    ]
    if asked.rows is not None:
        lines.append(
            f"- **A trial**: sets are cut to {asked.rows:,} rows. These figures show nothing else."
        )
    if asked.repeats < 3:
        lines.append(
            "- **A trial**: so few repeats show that everything runs, and little about speed."
        )
    if load is not None and load > BUSY:
        lines.append(
            f"- The machine had other work at the start (load {load:.1f} on {machine.cores()} "
            "cores), so times are too long, and ratios less reliable."
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the contests, print their tables, and write the page."""
    asked = options(arguments)
    load = machine.load()
    chosen = [OURS, *(asked.rivals or RIVALS)]
    rivals = {name: import_module(f"benchmarks.rivals.{name}") for name in chosen}
    names = {name: rival.NAME for name, rival in rivals.items()}
    out = Console()
    if not out.is_terminal:
        out = Console(width=200)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="rivals-") as folder, watching() as watch:
        setting = Setting(asked.data, Path(folder), asked.rows)
        for contest in (CONTESTS[name] for name in asked.only or CONTESTS):
            watch(f"{contest.name}: data")
            outcomes.append(attend(contest, setting, rivals, asked.repeats, watch))
            show(outcomes[-1], names, out)
    if asked.output is not None:
        page = markdown(outcomes, names, head(asked, rivals, load))
        asked.output.write_text(page, encoding="utf-8")
    tables = [found for each in outcomes for found in each.tables]
    well = all(not row.problem for found in tables for row in found.of_rival(OURS))
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        sys.exit(130)
