"""``sureline reproduce``: a paper's tables and figures, made with sureline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from sureline.cli.groups import flag, with_options
from sureline.errors import InvalidParameter, SurelineError


def complete_papers(incomplete: str) -> list[tuple[str, str]]:
    """The papers of the default checkout, with their titles."""
    from sureline.cli.reproduce.papers import find_experiments, list_papers

    try:
        papers = list_papers(find_experiments(None))
    except SurelineError:
        return []
    return [(name, title) for name, title in papers.items() if name.startswith(incomplete)]


@dataclass(frozen=True)
class ReproduceOptions:
    """What is run, on which data, and where results go."""

    PANEL: ClassVar[str] = "Options"
    table: list[str] | None = flag(
        "--table T", "Only this table or figure, such as 2, table2 or figure1. May be repeated."
    )
    data: Path | None = flag(
        "--data DIR",
        "The folder of the data sets. Default: the environment variable SURELINE_DATA. Tasks whose "
        "data is missing are marked in the tables.",
    )
    quick: bool = flag("--quick", "A short run: few tasks and folds, small grids.", False)
    jobs: int | None = flag("--jobs N", "The number of processes. Default: one per core.")
    seed: int = flag("--seed S", "The random seed of splits, folds and orders.", 0)
    fresh: bool = flag("--fresh", "Start again, and discard the results of earlier runs.", False)
    output: Path | None = flag(
        "--output -o DIR",
        "The folder to write to. Default: the paper's own; with --quick, the cache.",
    )
    experiments: Path | None = flag(
        "--experiments DIR",
        "The experiments folder of a checkout of sureline. Default: the one beside the installed "
        "package, else the one in the current folder.",
    )
    json: bool = flag("--json", "Print the result as JSON.", False)


@with_options
def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            show_default=False,
            help="The paper; or defaults, the comparison behind the defaults of TextClassifier. "
            "Default: list the papers.",
            autocompletion=complete_papers,
        ),
    ] = None,
    *,
    options: ReproduceOptions,
) -> None:
    """Reproduce a paper's tables and figures, next to the published numbers.

    Needs a checkout of sureline and the data sets that the paper used.

    A run that was stopped continues where it was; the same seed gives the same numbers.
    """
    from json import dumps

    from sureline.cli.reproduce.papers import find_experiments, list_papers, read_results, run_paper

    folder = find_experiments(options.experiments)
    papers = list_papers(folder)
    if paper is None and options.json:
        typer.echo(dumps([{"paper": name, "title": title} for name, title in papers.items()]))
        return
    if paper is None:
        from sureline.cli.screen import named_values, show

        show(named_values(papers))
        return
    if paper not in papers:
        known = ", ".join(papers) or "none"
        raise InvalidParameter(f"there is no paper {paper!r} in {folder}; there are: {known}")
    words = [word for each in options.table or () for word in ("--table", each)]
    for name, given in (("--data", options.data), ("--output", options.output)):
        if given is not None:
            words += [name, str(given.resolve())]
    words += ["--seed", str(options.seed)]
    if options.jobs is not None:
        words += ["--jobs", str(options.jobs)]
    words += ["--quick"] * options.quick + ["--fresh"] * options.fresh
    code = run_paper(paper, folder, words, quiet=options.json)
    if code:
        raise typer.Exit(code)
    if options.json:
        results = read_results(paper, folder, options.quick, options.output)
        typer.echo(dumps(results, indent=2, ensure_ascii=False))
