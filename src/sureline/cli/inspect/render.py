"""How the contents of a model file look on a screen."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sureline.cli.controls import show_label
from sureline.cli.model_files import WENT_ON, describe_moved, enumerate_classes, show_rarity
from sureline.cli.screen import grid, indented, listing, megabytes, named_values, percent

STRONG = "bold"
CHANGES = 5  # so many changes are shown
CLASSES = 20  # of so many classes the features are listed


def render(results: dict[str, Any]) -> RenderableType:
    """The results for a screen."""
    sections: list[RenderableType] = [*_file(results), "", *_model(results)]
    if results["texts"]:
        sections += ["", *_parameters("Features of texts", results["texts"])]
    if results["changes"]:
        sections += ["", *_changes(results["changes"])]
    if results["checkpoint"]:
        sections += ["", *_checkpoint(results["checkpoint"])]
    sections += ["", *_tensors(results["tensors"])]
    if results["top_features"]:
        sections += ["", *_top(results["top_features"])]
    return Group(*sections)


def _section(title: str, rows: dict[str, Any]) -> list[RenderableType]:
    return [Text(title, STRONG), indented(named_values(rows))]


def _file(results: dict[str, Any]) -> list[RenderableType]:
    checked = ": matches the contents" if results["verified"] else ""
    return _section(
        "File",
        {
            "name": results["file"],
            "size": megabytes(results["bytes"]),
            "format": f"{results['format']}, written by sureline {results['sureline']}",
            "sha256": f"{(results['checksum'] or 'none')[:16]}…{checked}",
        },
    )


def _model(results: dict[str, Any]) -> list[RenderableType]:
    seen, updates, mistakes = (results[name] for name in ("learned", "updates", "mistakes"))
    rows = {
        "learns from": results["kind"],
        "rule": f"{results['rule']} ({results['estimator']})",
        "classes": enumerate_classes(results["classes"]),
        "features": _features(results),
    }
    passes = f"{results['passes']} pass{'es' if results['passes'] != 1 else ''}"
    if seen is None:
        rows["learned"] = passes
    else:
        when = "were wrong before they were learned"
        if results["passes"] > 1:
            when += "; only those of the first pass were new"
        rows |= {
            "learned": f"{seen:,} examples, {passes}",
            "updates": f"{updates:,} ({percent(updates, seen)} changed the model)",
            "mistakes": f"{mistakes:,} ({percent(mistakes, seen)} {when})",
        }
    if results["merged"] > 1:
        rows["merged"] = f"from {results['merged']} models"
    if results["compact"]:
        rows["compact"] = "it can predict, but neither learn nor be merged"
    columns = results["columns"]
    names = [_column(each) for each in results["table"]]
    names += [f"{kind} {columns[kind]!r}" for kind in ("text", "label") if kind in columns]
    if names:
        rows["columns"] = ", ".join(names)
    return [*_section("Model", rows), "", *_parameters("Parameters", results["parameters"])]


def _column(column: dict[str, Any]) -> str:
    """A column of a table; of numbers with what they are like."""
    words = f"{column['kind']} {column['name']!r}"
    if "mean" in column:
        words += f" (mean {column['mean']:.4g}, deviation {column['deviation']:.4g})"
    return words


def _features(results: dict[str, Any]) -> str:
    count = f"{results['features']:,}"
    if results["scheme"] is None:
        return count
    return f"{count}, by version {results['scheme']} of the tokenizer"


def _parameters(title: str, parameters: dict[str, Any]) -> list[RenderableType]:
    return _section(title, {name: _spoken(value) for name, value in parameters.items()})


def _spoken(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        shown = [str(each) for each in value[:12]] + ["…"] * (len(value) > 12)
        return ", ".join(shown)
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_spoken(each)}" for name, each in value.items())
    return str(value)


def _checkpoint(run: dict[str, Any]) -> list[RenderableType]:
    position = run["position"]
    inputs = [
        f"{name} ({size:,} bytes)" if isinstance(size, int) else str(name)
        for name, size in run["inputs"] or []
    ]
    return _section(
        "Checkpoint of a run",
        {
            "position": f"after {position['examples']:,} examples: {position['rows']:,} rows of "
            f"pass {position['passes'] + 1}",
            "inputs": ", ".join(inputs),
        },
    )


def _changes(changes: list[dict[str, Any]]) -> list[RenderableType]:
    """What changed in the stream, the last first."""
    sections: list[RenderableType] = []
    title = Text("Changes in the stream", STRONG)
    if len(changes) > CHANGES:
        title.append(f": the last {CHANGES} of {len(changes):,}", "not bold")
    for each in reversed(changes[-CHANGES:]):
        table = grid()
        table.add_row("at example", f"{each['at']:,}, decided at {each['decided']:,}")
        table.add_row("by chance", f"once in {show_rarity(each['rarity'])} examples, at most")
        table.add_row("since then", WENT_ON[each["model"]])
        moved = [describe_moved(**feature) for feature in each["moved"]]
        if moved:
            table.add_row("moved", Text(", ".join(moved)))
        sections += ["", indented(table)] if sections else [indented(table)]
    return [title, *sections]


def _tensors(tensors: list[dict[str, Any]]) -> list[RenderableType]:
    table = listing("name", "kind", "shape", "bytes")
    table.columns[-1].justify = "right"
    for each in tensors:
        shape = " x ".join(f"{size:,}" for size in each["shape"]) or "one"
        table.add_row(each["name"], each["dtype"], shape, f"{each['bytes']:,}")
    return [Text("Tensors", STRONG), indented(table)]


def _top(classes: list[dict[str, Any]]) -> list[RenderableType]:
    table = grid()
    for each in classes[:CLASSES]:
        words = []
        for feature in each["features"]:
            spread = "" if feature["deviation"] is None else f" ± {feature['deviation']:.2f}"
            words.append(f"{feature['feature']} ({feature['weight']:+.2f}{spread})")
        table.add_row(show_label(each["label"]), Text(", ".join(words) or "none"))
    title = Text("The features that most certainly indicate each class", STRONG)
    if len(classes) > CLASSES:
        title.append(f": the first {CLASSES} of {len(classes):,} classes", "not bold")
    return [title, indented(table)]
