"""``sureline merge``: one model from several that were trained apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sureline.cli.options import HOWS, OUTPUT, Json, complete_from

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
            help="Where to write the merged model. Must be given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    how: Annotated[
        str,
        typer.Option(
            "--how",
            metavar="HOW",
            help="kl: as sure as the models are on average; product: as sure as all together; "
            "product-prior: the same, the beginning counted once; mean: plain averages.",
            autocompletion=complete_from(HOWS),
        ),
    ] = "kl",
    json: Json = False,
) -> None:
    """Make one model of several that were trained apart, on parts of the data or at other times."""
    from sureline.errors import InvalidParameter

    if output is None:
        raise InvalidParameter("name the file to write the merged model to: -o MODEL")
    if how not in HOWS:
        raise InvalidParameter(f"--how must be {', '.join(HOWS[:-1])} or {HOWS[-1]}, got {how!r}")

    from pathlib import Path

    from sureline.cli.describe import describe_model, enumerate_classes
    from sureline.cli.model_files import open_model
    from sureline.cli.paths import check_place
    from sureline.cli.screen import grid, megabytes, results, show
    from sureline.estimators import merge as merge_models
    from sureline.estimators.file import save
    from sureline.estimators.stream import count_features

    check_place(output, "-o")
    opened = [open_model(path) for path in models]
    merged = merge_models([model for model, _ in opened], how=cast("How", how))
    columns = [notes.get("columns") for _, notes in opened]
    same = columns[0] if all(each == columns[0] for each in columns) else None
    save(merged, output, {"columns": same} if same else {})
    facts: dict[str, Any] = {
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

        typer.echo(dumps(facts, indent=2))
        return
    table = grid()
    table.add_row("model", f"{output} ({megabytes(facts['bytes'])})")
    table.add_row("merged", f"{len(models)} models ({how})")
    table.add_row("rule", facts["rule"])
    table.add_row("classes", enumerate_classes(facts["classes"]))
    table.add_row("features", f"{facts['features']:,}")
    table.add_row("examples", f"{facts['learned']:,}")
    show(table, results())
