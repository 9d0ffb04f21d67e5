"""What a terminal or a spreadsheet would execute in labels, texts and the names of files."""

from __future__ import annotations

import re
from typing import Any

# All but the tab and the newline; and those that change the direction of what follows.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a spreadsheet's formulas begin


def escape_controls(text: str) -> str:
    r"""The text with control characters as Python writes them: ``\x1b`` for the escape.

    >>> from sureline.cli.controls import escape_controls
    >>> escape_controls("a \x1b[31mred\x1b[0m word")
    'a \\x1b[31mred\\x1b[0m word'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def show_label(label: Any) -> str:
    """A label as results show it: quoted if it is empty or has spaces that would not be seen.

    >>> from sureline.cli.controls import show_label
    >>> show_label("spam"), show_label("spam "), show_label(1)
    ('spam', "'spam '", '1')
    """
    text = str(label)
    return text if text and text == " ".join(text.split()) else repr(text)


def without_formula(value: Any) -> Any:
    """The value, with an apostrophe before a text that a spreadsheet would take for a formula.

    >>> from sureline.cli.controls import without_formula
    >>> without_formula("=1+1"), without_formula("one"), without_formula(-1.0)
    ("'=1+1", 'one', -1.0)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
