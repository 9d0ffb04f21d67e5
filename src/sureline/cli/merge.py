"""``sureline merge``: one model from several that were trained separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sureline.cli.groups import complete_from
from sureline.cli.options import HOWS, OUTPUT, Json, any_of

if TYPE_CHECKING:
    from sureline.model.merge.algebra import How


def merge(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", show_default=False, help="Models that train wrote."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            show_default=False,
            help="Where to write the merged model. Required.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    how: Annotated[
        str,
        typer.Option(
            "--how",
            metavar="HOW",
            help="kl: as certain as the models on average; product: as certain as all together; "
            "product-prior: the same, with the prior counted once; mean: plain averages.",
            autocompletion=complete_from(HOWS),
        ),
    ] = "kl",
    json: Json = False,
) -> None:
    """Merge models that were trained separately, on parts of the data or at different times."""
    from sureline.errors import InvalidParameter

    if output is None:
        raise InvalidParameter("name the file to write the merged model to: -o MODEL")
    if how not in HOWS:
        raise InvalidParameter(f"--how must be {any_of(HOWS)}, got {how!r}")

    from pathlib import Path

    from sureline.cli.describe import describe_model, enumerate_classes
    from sureline.cli.model_files import open_model
    from sureline.cli.paths import check_place
    from sureline.cli.screen import grid, megabytes, result_console, show
    from sureline.estimators import merge as merge_models
    from sureline.estimators.file import save
    from sureline.estimators.stream import count_features

    check_place(output, "-o")
    opened = [open_model(path) for path in models]
    merged = merge_models([model for model, _ in opened], how=cast("How", how))
    columns = [notes.get("columns") for _, notes in opened]
    same = columns[0] if all(each == columns[0] for each in columns) else None
    save(merged, output, {"columns": same} if same else {})
    result: dict[str, Any] = {
        "model": output,
        "bytes": Path(output).stat().st_size,
        **describe_model(merged),
        "classes": merged.classes_.tolist(),
        "features": count_features(merged),
        "merged": len(models),
        "how": how,
        "learned": merged.n_seen_,
    }
    if json:
        from json import dumps

        typer.echo(dumps(result, indent=2))
        return
    table = grid()
    table.add_row("model", f"{output} ({megabytes(result['bytes'])})")
    table.add_row("merged", f"{len(models)} models ({how})")
    table.add_row("rule", result["rule"])
    table.add_row("classes", enumerate_classes(result["classes"]))
    table.add_row("features", f"{result['features']:,}")
    table.add_row("examples", f"{result['learned']:,}")
    show(table, result_console())
