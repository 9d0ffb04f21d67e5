"""``sureline demo``: learn to tell spam from ham, and show how sure the model is."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    json: Annotated[bool, typer.Option("--json", help="Print the same facts as JSON.")] = False,
) -> None:
    """Train, test and explain a spam filter on real text messages, in seconds.

    The messages come with sureline: nothing is downloaded and no file is written, but for the
    compiled code that the first run keeps for the next.
    """
    from time import perf_counter

    started = perf_counter()

    from rich.console import Console

    with Console(stderr=True).status("loading NumPy, scikit-learn and Numba") as status:
        from sureline.cli.demo.results import find_facts

        facts = find_facts(status.update, started)

    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps(asdict(facts), indent=2))
        return

    from sureline.cli.demo.page import page
    from sureline.cli.screen import has_colour, results, show

    console = results()
    show(page(facts, has_colour(console)), console)
