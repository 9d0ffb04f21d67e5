"""HTML and SVG made of elements: what is not markup already is escaped, always."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from sureline.data.surrogates import replace_surrogates

VOID = frozenset({"br", "link", "meta", "col"})
# Control characters are shown as the signs that stand for them; tabs and line ends stay.
SIGNS = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)}
SIGNS |= {0x7F: 0x2421} | dict.fromkeys(range(128, 160), 65533)
SIGNS |= {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}


class Markup(str):
    """A string that is HTML and is not escaped again."""

    __slots__ = ()


def visible(text: str) -> str:
    r"""Text as a page can hold it: half an emoji and control characters get a sign instead.

    Parameters
    ----------
    text : str
        Any string.

    Examples
    --------
    >>> from sureline.evaluation.report.markup import visible
    >>> visible("a\x00b\ud83d")
    'a␀b�'
    """
    return replace_surrogates(text).translate(SIGNS)


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """One element with all that is in it.

    Parameters
    ----------
    name : str
        Its name.
    *children : str, number, Markup, None, or an iterable of these
        What it holds. All but `Markup` is escaped; None is nothing.
    **attributes : str, number, True or None
        Its attributes: an underscore stands for a hyphen, one at the end for nothing; those that
        are None are left out, True gives one without a value.

    Examples
    --------
    >>> from sureline.evaluation.report.markup import element
    >>> element("p", "1 < 2 ", element("b", "&"), class_="note")
    '<p class="note">1 &lt; 2 <b>&amp;</b></p>'
    """
    opened = name + "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_worth(value)}"')
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{opened}>")
    return Markup(f"<{opened}>{joined(*children)}</{name}>")


def joined(*children: Any) -> Markup:
    """Children one after the other, escaped where they have to be."""
    return Markup("".join(_pieces(children)))


def _pieces(children: Iterable[Any]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str):
            yield escape(visible(child), quote=False)
        elif isinstance(child, int | float):
            yield number(child)
        else:
            yield from _pieces(child)


def _worth(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else escape(visible(str(value)))


def number(value: float) -> str:
    """A number as short as a drawing needs it."""
    return f"{round(value, 2) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"


def clip(text: str, most: int) -> str:
    """The text, or its beginning with three dots."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
