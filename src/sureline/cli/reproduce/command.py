"""``sureline reproduce``: a paper's tables and figures, made with sureline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureline.cli.options import OUTPUT, Json


def complete_papers(incomplete: str) -> list[tuple[str, str]]:
    """The papers of the default checkout, with their titles."""
    from sureline.cli.reproduce.papers import find_experiments, list_papers
    from sureline.errors import SurelineError

    try:
        papers = list_papers(find_experiments(None))
    except SurelineError:
        return []
    return [(name, title) for name, title in papers.items() if name.startswith(incomplete)]


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
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="T",
            show_default=False,
            help="Only this table or figure, such as 2, table2 or figure1. May be repeated.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            show_default=False,
            help="The folder of the data sets. Default: the environment variable SURELINE_DATA. "
            "Tasks whose data is missing are marked in the tables.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short run: few tasks and folds, small grids.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            show_default=False,
            help="The number of processes. Default: one per core.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="S", help="The random seed of splits, folds and orders."),
    ] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again, and discard the results of earlier runs.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            show_default=False,
            help="The folder to write to. Default: the paper's own; with --quick, the cache.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    experiments: Annotated[
        Path | None,
        typer.Option(
            "--experiments",
            metavar="DIR",
            show_default=False,
            help="The experiments folder of a checkout of sureline. Default: the one beside the "
            "installed package, else the one in the current folder.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Reproduce a paper's tables and figures, next to the published numbers.

    Needs a checkout of sureline and the data sets that the paper used.

    A run that was stopped continues where it was; the same seed gives the same numbers.
    """
    from json import dumps

    from sureline.cli.reproduce.papers import find_experiments, find_paper, list_papers

    folder = find_experiments(experiments)
    papers = list_papers(folder)
    if paper is None and json:
        typer.echo(dumps([{"paper": name, "title": title} for name, title in papers.items()]))
        return
    if paper is None:
        from sureline.cli.screen import grid, result_console, show

        listing = grid()
        for name, title in papers.items():
            listing.add_row(name, title)
        show(listing, result_console())
        return
    find_paper(paper, papers, folder)

    from sureline.cli.reproduce.papers import read_results, run_paper

    options = [word for each in table or () for word in ("--table", each)]
    for flag, given in (("--data", data), ("--output", output)):
        if given is not None:
            options += [flag, str(given.resolve())]
    options += ["--seed", str(seed)]
    if jobs is not None:
        options += ["--jobs", str(jobs)]
    options += [flag for flag, given in (("--quick", quick), ("--fresh", fresh)) if given]
    code = run_paper(paper, folder, options, quiet=json)
    if code:
        raise typer.Exit(code)
    if json:
        typer.echo(dumps(read_results(paper, folder, quick, output), indent=2, ensure_ascii=False))
