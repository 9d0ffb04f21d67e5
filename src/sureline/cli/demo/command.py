"""``sureline demo``: learn to separate spam from ham, and show how certain the model is."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Train, test and explain a spam filter on real text messages, in seconds.

    The messages come with sureline: nothing is downloaded, and no file is written except the
    compiled code, which later runs load.
    """
    from time import perf_counter

    started = perf_counter()

    from rich.console import Console

    with Console(stderr=True).status("loading NumPy, scikit-learn and Numba") as status:
        from sureline.cli.demo.results import collect_results

        results = collect_results(status.update, started)

    from sureline.cli.screen import has_colour, print_json, show

    if json:
        print_json(results)
    else:
        from sureline.cli.demo.render import render

        show(render(results, has_colour()))
