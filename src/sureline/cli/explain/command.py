"""``sureline explain``: why a text gets its label."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sureline.cli.groups import with_options
from sureline.cli.options import Json, MemoryFlags, Model


@with_options
def explain(
    model: Model,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            show_default=False,
            help='The text, or - to read it from stdin; for a model of numbers, "3:0.5 7:1".',
        ),
    ],
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="How many features to list.")
    ] = 10,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="LABEL",
            show_default=False,
            help="Explain the score of this class. Default: the predicted one.",
        ),
    ] = None,
    json: Json = False,
    *,
    memory: MemoryFlags,
) -> None:
    """Show why a text gets its label: its words, their weights and how certain these are.

    Words for the label are green, words against it red, and words of uncertain weight dim.
    """
    if text == "-":
        import sys

        text = sys.stdin.read().removesuffix("\n")

    from sureline.cli.explain.results import find_reasons
    from sureline.cli.model_files import open_model, parse_rows

    loaded, _ = open_model(model, memory)
    row: Any = text
    if getattr(loaded, "columns_", None) is not None:
        row = parse_rows(loaded, [text], "the text")[0].as_py()
        if isinstance(row, str):
            row = {next(iter(loaded.columns_)): row}
    results = find_reasons(loaded, row, label, top)

    from sureline.cli.screen import has_colour, print_json, show

    if json:
        print_json(results)
    else:
        from sureline.cli.explain.render import render

        show(render(results, has_colour()))
