"""``sureline merge``: one model from several that were trained separately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import typer

from sureline.cli.groups import flag, with_options
from sureline.cli.options import OUTPUT, MemoryFlags
from sureline.cli.paths import check_place
from sureline.errors import InvalidParameter

if TYPE_CHECKING:
    from sureline.model.merge.algebra import How


@dataclass(frozen=True)
class MergeOptions:
    """How models are merged, and where to."""

    PANEL: ClassVar[str] = OUTPUT
    output: str | None = flag("--output -o MODEL", "Where to write the merged model. Required.")
    how: str = flag(
        "--how HOW",
        "kl: as certain as the models on average; product: as certain as all together; "
        "product-prior: the same, with the prior counted once; mean: plain averages.",
        "kl",
        choices=("kl", "mean", "product", "product-prior"),
    )
    json: bool = flag("--json", "Print the result as JSON.", False)


@with_options
def merge(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", show_default=False, help="Models that train wrote."),
    ],
    options: MergeOptions,
    memory: MemoryFlags,
) -> None:
    """Merge models that were trained separately, on parts of the data or at different times."""
    output, how = options.output, cast("How", options.how)
    if output is None:
        raise InvalidParameter("name the file to write the merged model to: -o MODEL")

    from pathlib import Path

    from sureline.cli.model_files import describe_model, enumerate_classes, open_model
    from sureline.cli.screen import megabytes, named_values, print_json, show
    from sureline.estimators import merge as merge_models
    from sureline.estimators.file import save
    from sureline.estimators.stream import count_features

    check_place(output, "-o")
    opened = [open_model(path, memory, verified=True) for path in models]
    merged = merge_models([model for model, _ in opened], how=how)
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
    if options.json:
        print_json(result)
        return
    rows = {
        "model": f"{output} ({megabytes(result['bytes'])})",
        "merged": f"{len(models)} models ({how})",
        "rule": result["rule"],
        "classes": enumerate_classes(result["classes"]),
        "features": f"{result['features']:,}",
        "examples": f"{result['learned']:,}",
    }
    show(named_values(rows))
