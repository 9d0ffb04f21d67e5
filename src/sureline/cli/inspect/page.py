"""How the contents of a model file look on a screen."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sureline.cli.describe import enumerate_classes
from sureline.cli.screen import grid, indented, megabytes, percent

STRONG = "bold"
CLASSES = 20  # of so many classes the features are listed


def page(facts: dict[str, Any]) -> RenderableType:
    """The whole page."""
    sections: list[RenderableType] = [*_file(facts), "", *_model(facts)]
    if facts["texts"]:
        sections += ["", *_parameters("How texts are read", facts["texts"])]
    if facts["checkpoint"]:
        sections += ["", *_checkpoint(facts["checkpoint"])]
    sections += ["", *_tensors(facts["tensors"])]
    if facts["top_features"]:
        sections += ["", *_top(facts["top_features"])]
    return Group(*sections)


def _section(title: str, rows: dict[str, Any]) -> list[RenderableType]:
    table = grid()
    for name, value in rows.items():
        table.add_row(name, Text(str(value)))
    return [Text(title, STRONG), indented(table)]


def _file(facts: dict[str, Any]) -> list[RenderableType]:
    checked = ": matches the contents" if facts["verified"] else ""
    return _section(
        "File",
        {
            "name": facts["file"],
            "size": megabytes(facts["bytes"]),
            "format": f"{facts['format']}, written by sureline {facts['sureline']}",
            "sha256": f"{(facts['checksum'] or 'none')[:16]}…{checked}",
        },
    )


def _model(facts: dict[str, Any]) -> list[RenderableType]:
    seen = facts["learned"]
    rows = {
        "learns from": facts["kind"],
        "rule": f"{facts['rule']} ({facts['estimator']})",
        "classes": enumerate_classes(facts["classes"]),
        "features": _features(facts),
        "learned": f"{seen:,} examples, {facts['passes']} passes"
        if facts["passes"] != 1
        else f"{seen:,} examples, 1 pass",
        "updates": f"{facts['updates']:,} ({percent(facts['updates'], seen)} changed the model)",
        "mistakes": f"{facts['mistakes']:,} ({percent(facts['mistakes'], seen)} were wrong before "
        "they were learned)",
    }
    if facts["merged"] > 1:
        rows["merged"] = f"from {facts['merged']} models"
    columns = facts["columns"]
    names = [f"{kind} {columns[kind]!r}" for kind in ("text", "label") if kind in columns]
    if names:
        rows["columns"] = ", ".join(names)
    return [*_section("Model", rows), "", *_parameters("Parameters", facts["parameters"])]


def _features(facts: dict[str, Any]) -> str:
    count = f"{facts['features']:,}"
    if facts["scheme"] is None:
        return count
    return f"{count}, by version {facts['scheme']} of the reading of texts"


def _parameters(title: str, parameters: dict[str, Any]) -> list[RenderableType]:
    return _section(title, {name: _spoken(value) for name, value in parameters.items()})


def _spoken(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        shown = [str(each) for each in value[:12]] + ["…"] * (len(value) > 12)
        return ", ".join(shown)
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
            "stands": f"after {position['examples']:,} examples: {position['rows']:,} rows of pass "
            f"{position['passes'] + 1}",
            "inputs": ", ".join(inputs),
        },
    )


def _tensors(tensors: list[dict[str, Any]]) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("name", no_wrap=True)
    table.add_column("kind")
    table.add_column("shape")
    table.add_column("bytes", justify="right")
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
        table.add_row(str(each["label"]), Text(", ".join(words) or "none"))
    title = Text("What speaks most surely for each class", STRONG)
    if len(classes) > CLASSES:
        title.append(f": the first {CLASSES} of {len(classes):,} classes", "not bold")
    return [title, indented(table)]
