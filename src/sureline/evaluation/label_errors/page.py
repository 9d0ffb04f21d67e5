"""The HTML page of an audit: suspects with their words marked, and corrections to download.

The markup is in audit.html, the style in audit.css and that of reports, the script in audit.js.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from sureline.data.atomic_write import atomic_write
from sureline.evaluation.report.highlight import Word, highlight_words
from sureline.evaluation.report.page import page_environment, page_policy
from sureline.evaluation.report.text import clip

if TYPE_CHECKING:
    from sureline.evaluation.label_errors.audit import Audit
    from sureline.evaluation.label_errors.findings import DuplicateGroup, Place

PACKAGE = "sureline.evaluation.label_errors"
MOST_SUSPECTS = 1000
MOST_PAIRS = 30
MOST_GROUPS = 50
MOST_MEMBERS = 12  # of a group
EXCERPT = 240  # characters of a duplicate


class ShownSuspect(NamedTuple):
    """A suspect as the page shows it; `pair` is the number of its pair of labels."""

    place: Place
    label: str
    suggested: str
    probability: float
    words: Sequence[Word]
    pair: int


class ShownGroup(NamedTuple):
    """A group of duplicates as the page shows it: some members, and how many there are."""

    text: str
    members: Sequence[tuple[Place, str]]
    total: int
    identical: bool


def save_page(path: str | os.PathLike[str], name: str, audit: Audit, threshold: float) -> None:
    """Write the page of an audit, complete or not at all."""
    import sureline

    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    page = render_page(audit, name, threshold, made, sureline.__version__)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def render_page(audit: Audit, name: str, threshold: float, made: str, version: str) -> str:
    """The whole page, as a string."""
    report, own = files("sureline.evaluation.report"), files(PACKAGE)
    style = report.joinpath("report.css").read_text("utf-8")
    style += own.joinpath("audit.css").read_text("utf-8")
    script = own.joinpath("audit.js").read_text("utf-8")
    rows = audit.ranked(threshold)
    suspects, pairs = _suspects(audit, rows[:MOST_SUSPECTS].tolist())
    several = audit.sources is not None
    sections = {
        "pairs": "Pairs of labels",
        "suspects": "Suspects",
        "conflicts": "Conflicting duplicates" if audit.conflicts else "",
        "leaks": "Leaks" if audit.leaks else "",
        "duplicates": "Exact duplicates" if audit.duplicates else "",
    }
    contents = {
        "style": style,
        "script": script,
        "policy": page_policy(style, script),
        "name": name,
        "made": made,
        "version": version,
        "audit": audit,
        "several": several,
        "threshold": threshold,
        "found": len(rows),
        "suspects": suspects,
        "shown_pairs": pairs,
        "pairs": audit.pairs()[:MOST_PAIRS],
        "labels": [str(label) for label in audit.classes.tolist()],
        "conflicts": _groups(audit, audit.conflicts),
        "leaks": _groups(audit, audit.leaks),
        "duplicates": _groups(audit, audit.duplicates),
        "sections": [(key, title) for key, title in sections.items() if title],
    }
    return page_environment(PACKAGE).get_template("audit.html").render(contents)


def _suspects(
    audit: Audit, rows: Sequence[int]
) -> tuple[list[ShownSuspect], list[tuple[str, str, int]]]:
    """The suspects, and the pairs of label and suggested label among them with their numbers."""
    counts, numbers = dict[tuple[str, str], int](), dict[tuple[str, str], int]()
    shown = list[ShownSuspect]()
    for row in rows:
        pair = str(audit.labels[row]), str(audit.suggested[row])
        numbers.setdefault(pair, len(numbers))
        counts[pair] = counts.get(pair, 0) + 1
        words = highlight_words(audit.text(row), audit.contributions(row))
        chance = float(audit.probability_wrong[row])
        shown.append(ShownSuspect(audit.place(row), *pair, chance, words, numbers[pair]))
    return shown, [(*pair, count) for pair, count in counts.items()]


def _groups(audit: Audit, groups: Sequence[DuplicateGroup]) -> list[ShownGroup]:
    """Some groups of duplicates, the largest first."""
    made = list[ShownGroup]()
    for group in sorted(groups, key=lambda each: -len(each.rows))[:MOST_GROUPS]:
        some: list[tuple[Place, Any]] = [
            (audit.place(row), str(label))
            for row, label in zip(group.rows, group.labels, strict=True)
        ]
        text = clip(" ".join(audit.text(group.rows[0]).split()), EXCERPT)
        made.append(ShownGroup(text, some[:MOST_MEMBERS], len(some), group.identical))
    return made
