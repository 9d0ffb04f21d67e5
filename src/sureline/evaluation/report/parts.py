"""Small parts that every section of a report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sureline.evaluation.report.markup import Markup, clip, element

LABEL = 60  # characters of a label
NAME = 48  # characters of a feature


def head_section(name: str, title: str) -> Markup:
    """The heading of a section, which names it for those who do not see it."""
    return element("h2", title, id=f"{name}-heading")


def show_label(label: Any) -> Markup:
    """A label, kept apart from the direction of the text around it."""
    text = str(label)
    return element(
        "bdi", clip(text, LABEL) if text else "(empty)", title=text if len(text) > LABEL else None
    )


def write_signed(number: float) -> str:
    """A number with its sign; adding 0 turns a negative zero into a positive one."""
    return f"{round(number, 2) + 0.0:+.2f}".replace("-", "−")


def count_noun(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def build_table(
    names: Sequence[str], kinds: Sequence[str | None], rows: Sequence[Markup], title: str | None
) -> Markup:
    """A table that scrolls where it is too wide."""
    head = [
        element("th", name, scope="col", class_=kind) if name else element("td", class_=kind)
        for name, kind in zip(names, kinds, strict=True)
    ]
    table = element(
        "table",
        element("caption", title) if title else None,
        element("thead", element("tr", head)),
        element("tbody", rows),
    )
    return element("div", table, class_="wide")
