"""A grid of cells, each a task, a learner and a stage, run in parallel and resumable.

Every finished cell is a line of a results file. A run skips what is there already, so one that was
stopped goes on where it was, and the same seed gives the same figures whatever the order.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from time import process_time, sleep
from typing import Any, NoReturn

from experiments.tasks import VERSION, MissingData, open_cache
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Record = dict[str, Any]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """One unit of work."""

    task: str
    learner: str = ""
    stage: str = "folds"

    def __str__(self) -> str:
        return " ".join(part for part in (self.task, self.learner, self.stage) if part)


Work = Callable[[Cell, Settings], Record]


def run_cells(
    cells: Iterable[Cell],
    work: Work,
    results: Path,
    settings: Settings,
    jobs: int = 1,
    grid_of: Callable[[Cell], Any] | None = None,
) -> dict[Cell, Record]:
    """Do the work of every cell that the results file does not hold, and return all of them.

    Parameters
    ----------
    cells : iterable of Cell
        What to do; those that take longest should come first.
    work : function of a cell and the settings
        Returns what goes into the results file, as JSON can hold it. It must be a function of a
        module, because it runs in other processes. Where it raises MissingData, the cell's record
        is ``{"missing": sentence}``, and it is tried again in the next run.
    results : Path
        The results file, one JSON object per line.
    settings : mapping
        What else the work depends on, such as the seed; a record made with other settings does
        not count. ``data``, the folder of data sets, may differ.
    jobs : int
        How many processes work at a time, each with one thread.
    grid_of : function of a cell, default=None
        The grid that the cell's parameters are chosen from; a record made with another one does
        not count.

    Returns
    -------
    dict of Cell to record
        In the order of `cells`.
    """
    wanted = list(dict.fromkeys(cells))
    known = read_records(results)
    keys = {cell: _key(cell, settings, grid_of(cell) if grid_of else None) for cell in wanted}
    found = {cell: known[key] for cell, key in keys.items() if key in known}
    todo = [cell for cell in wanted if cell not in found]
    if todo:
        results.parent.mkdir(parents=True, exist_ok=True)
        _mend(results)
        with (
            results.open("a", encoding="utf-8") as file,
            _bar(len(wanted), len(found)) as advance,
            closing(_work_off(todo, work, settings, jobs)) as finished,
        ):
            for cell, record in finished:
                if "missing" not in record:
                    line = {"key": keys[cell], "record": record}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    file.flush()
                found[cell] = record
                advance(str(cell))
    return {cell: found[cell] for cell in wanted}


def read_records(results: Path) -> dict[str, Record]:
    """The records of a results file by key; a line that was cut off is left out."""
    found: dict[str, Record] = {}
    if not results.is_file():
        return found
    for line in results.read_text(encoding="utf-8").splitlines():
        try:
            stored = json.loads(line)
            found[stored["key"]] = stored["record"]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return found


def _key(cell: Cell, settings: Settings, values: Any) -> str:
    """What a record is found by."""
    known = {name: value for name, value in settings.items() if name != "data"}
    return json.dumps({**asdict(cell), **known, "values": values, "tasks": VERSION}, sort_keys=True)


def _mend(results: Path) -> None:
    """End a last line that was cut off, so that the next record has a line of its own."""
    if results.is_file() and results.stat().st_size and not results.read_bytes().endswith(b"\n"):
        with results.open("a", encoding="utf-8") as file:
            file.write("\n")


def _work_off(
    todo: list[Cell], work: Work, settings: Settings, jobs: int
) -> Generator[tuple[Cell, Record], None, None]:
    """Cells and their records, as they are done; closing it ends the workers."""
    # Spawned, not forked: this process has threads of its own.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin)
    try:
        running: dict[Future[Record], Cell] = {
            pool.submit(_do, work, cell, dict(settings)): cell for cell in todo
        }
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            # Failures last, so that nothing that was done is lost.
            for future in sorted(done, key=lambda one: one.exception() is not None):
                yield running.pop(future), future.result()
    finally:
        workers = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
            worker.join()


def _begin() -> None:
    """Keep a worker to one thread, leave Ctrl-C to the parent, and end when the parent does."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    threadpool_limits(1)  # type: ignore[no-untyped-call]


def _watch(parent: int) -> None:
    """End this process when its parent is gone, however that was ended."""
    while os.getppid() == parent:
        sleep(1.0)
    os._exit(1)


def _do(work: Work, cell: Cell, settings: Settings) -> Record:
    """The record of a cell, with its CPU seconds and the kinds of warnings it gave."""
    start = process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = work(cell, settings)
        except MissingData as error:
            return {"missing": str(error)}
    kinds = sorted({warning.category.__name__ for warning in caught})
    return {**record, "cpu": round(process_time() - start, 3), "warnings": kinds}


@contextmanager
def _bar(total: int, done: int) -> Iterator[Callable[[str], None]]:
    """A progress bar on stderr, advanced by every finished cell."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("begun", total=total, completed=done)

        def advance(what: str) -> None:
            progress.update(task, advance=1, description=what)
            if not progress.console.is_terminal:
                print(f"done: {what}", file=sys.stderr, flush=True)

        yield advance


# -- the command line of a paper's run.py ------------------------------------------------------


def start(main: Callable[[], None]) -> None:
    """Run a paper's main function; when it is stopped, say how to go on."""
    try:
        main()
    except KeyboardInterrupt:
        print("stopped; the same command goes on where it was", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenProcessPool:
        print(
            "sureline: a process was ended from outside, perhaps for want of memory; the same "
            "command goes on where it was, and fewer --jobs take less memory",
            file=sys.stderr,
        )
        raise SystemExit(1) from None


class _Parser(ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"sureline: {message} (see {self.prog} --help)\n")


def read_arguments(
    description: str | None,
    folder: Path,
    parts: Sequence[str],
    given: Sequence[str] | None = None,
    module: str = "run",
) -> Namespace:
    """The options that every paper's run.py takes.

    Parameters
    ----------
    description : str
        The module's docstring.
    folder : Path
        The paper's folder, to which a full run writes.
    parts : sequence of str
        The tables and figures, such as ``table2`` and ``figure1``.
    given : sequence of str, default=None
        The arguments; by default, the command line's.
    module : str
        Which module of the folder is run. One that is not run.py has a results file of its own.

    Returns
    -------
    Namespace
        ``data``, ``parts`` (those asked for), ``quick``, ``jobs``, ``seed``, ``output`` (the
        folder to write to), ``results`` (the results file, in that folder if it is given) and
        ``shared`` (the results file of cells that several papers have in common).
    """
    parser = _Parser(
        prog=f"python -m experiments.{folder.name}.{module}",
        description=description,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data", type=Path, help="folder of the data; else SURELINE_DATA, else ../shared/data"
    )
    parser.add_argument(
        "--table",
        action="append",
        metavar="T",
        help=f"only this table or figure ({', '.join(parts)}; 2 means table2); may be repeated",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a short look: fewer tasks and folds, small grids"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, default=0, help="of splits, folds and orders")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have done")
    parser.add_argument(
        "--output",
        type=Path,
        help="folder to write to; else the paper's own, or with --quick one in the cache",
    )
    options = parser.parse_args(given)
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}")
    if options.seed < 0:
        parser.error(f"--seed must be at least 0, got {options.seed}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data must name a folder, got {str(options.data)!r}")
    options.parts = []
    for part in options.table or parts:
        name = f"table{part}" if part.isdigit() else part.lower().replace(" ", "")
        if name not in parts:
            parser.error(f"--table must be one of {', '.join(parts)}, got {part!r}")
        options.parts.append(name)
    kept = options.output or open_cache("results", folder.name + "-quick" * options.quick)
    kept.mkdir(parents=True, exist_ok=True)
    options.results = kept / ("cells.jsonl" if module == "run" else f"{module}.jsonl")
    options.shared = options.results
    if options.output is None and not options.quick and module == "run":
        options.shared = open_cache("results", "shared") / "cells.jsonl"
    if options.output is None:
        options.output = kept if options.quick else folder
    if options.fresh:
        for path in (options.results, options.shared):
            path.unlink(missing_ok=True)
    return options
