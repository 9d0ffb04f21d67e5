"""How an audit looks on a screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sureline.cli.controls import show_label
from sureline.cli.screen import grid, indented, listing, megabytes

STRONG = "bold"
PAIRS = 10  # so many pairs of labels are listed
GROUPS = 5  # so many groups of duplicates are listed
MEMBERS = 6  # so many members of a group are named


def render(results: dict[str, Any]) -> RenderableType:
    """The results for a screen."""
    parts: list[RenderableType] = [_summary(results)]
    for title, content in (
        ("Suspects", _suspects(results)),
        ("Wrong labels by pair", _pairs(results)),
        ("Conflicting duplicates", _groups(results, "conflict")),
        ("In several files", _groups(results, "leak")),
    ):
        if content is not None:
            parts += ["", Text(title, STRONG), indented(content)]
    return Group(*parts)


def _summary(results: dict[str, Any]) -> RenderableType:
    table = grid()
    table.add_row("rows", f"{results['rows']:,} of {results['classes']:,} classes")
    digits = ".0f" if results["wrong"] >= 10.0 else ".1f"
    share = f"about {results['wrong']:,{digits}} labels ({results['share_wrong']:.1%})"
    table.add_row(Text("wrong", STRONG), Text(share, STRONG))
    chance = f"{results['threshold']:.0%}"
    table.add_row(
        "suspects", f"{results['suspects_found']:,} with a probability of {chance} or more"
    )
    same = results["duplicates"]
    groups = "1 group" if same["groups"] == 1 else f"{same['groups']:,} groups"
    table.add_row(
        "duplicates",
        f"{same['rows']:,} rows in {groups} of identical texts, the largest of {same['largest']:,}"
        if same["rows"]
        else "none",
    )
    table.add_row("conflicts", _count(results["conflict_groups"], "with different labels"))
    for name in ("output", "report"):
        if name in results and results[name] != "-":
            size = megabytes(Path(results[name]).stat().st_size)
            table.add_row(name, f"{results[name]} ({size})")
    return table


def _count(groups: int, what: str) -> str:
    """How many groups of duplicates there are."""
    if not groups:
        return "none"
    return f"{groups:,} {'group' if groups == 1 else 'groups'} of equal or similar texts {what}"


def _suspects(results: dict[str, Any]) -> RenderableType | None:
    found = results["suspects"]
    if not found:
        return None
    several = "file" in found[0]
    table = listing("row", *(["file"] if several else []), "label", "suggested", "wrong", "words")
    table.columns[0].justify = "right"
    for each in found:
        labels = show_label(each["label"]), show_label(each["suggested"])
        place = [f"{each['row']:,}", *([each["file"]] if several else [])]
        chance = min(each["probability_wrong"], 0.999)
        table.add_row(*map(Text, (*place, *labels, f"{chance:.1%}", each["words"])))
    more = results["suspects_found"] - len(found)
    return Group(table, f"and {more:,} more") if more else table


def _pairs(results: dict[str, Any]) -> RenderableType | None:
    found = results["pairs"]
    if not found:
        return None
    table = listing("label", "probably")
    table.add_column("wrong", justify="right")
    table.add_column("share of label", justify="right")
    for each in found[:PAIRS]:
        labels = show_label(each["label"]), show_label(each["suggested"])
        table.add_row(*map(Text, (*labels, f"{each['wrong']:,.1f}", f"{each['share']:.1%}")))
    more = len(found) - PAIRS
    return Group(table, f"and {more:,} more pairs") if more > 0 else table


def _groups(results: dict[str, Any], kind: str) -> RenderableType | None:
    found, total = results[f"{kind}s"], results[f"{kind}_groups"]
    if not found:
        return None
    lines = list[RenderableType]()
    for each in found[:GROUPS]:
        files = each.get("files", [None] * len(each["rows"]))
        members = [
            f"{show_label(label)} (row {row:,}{'' if file is None else f' of {file}'})"
            for row, label, file in zip(each["rows"], each["labels"], files, strict=True)
        ]
        more = f" and {len(members) - MEMBERS:,} more" if len(members) > MEMBERS else ""
        same = "identical: " if each["identical"] else "similar: "
        lines.append(Text(same + ", ".join(members[:MEMBERS]) + more))
    if total > GROUPS:
        lines.append(f"and {total - GROUPS:,} more groups")
    return Group(*lines)
