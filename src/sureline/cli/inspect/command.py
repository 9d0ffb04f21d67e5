"""``sureline inspect``: everything that a model file holds."""

from __future__ import annotations

from typing import Annotated

import typer

from sureline.cli.groups import with_options
from sureline.cli.options import Json, MemoryFlags, Model


@with_options
def inspect(
    model: Model,
    top: Annotated[
        int,
        typer.Option("--top", min=0, metavar="N", help="How many features to list for each class."),
    ] = 5,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the contents against their checksum, too.")
    ] = False,
    json: Json = False,
    *,
    memory: MemoryFlags,
) -> None:
    """Print everything in a model: rule, parameters, classes, counters, features, tensors."""
    from sureline.cli.inspect.results import collect_results
    from sureline.cli.screen import print_json, show

    results = collect_results(model, top, verify, memory)
    if json:
        print_json(results)
    else:
        from sureline.cli.inspect.render import render

        show(render(results))
