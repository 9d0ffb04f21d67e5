"""Strings as a page or a figure can show them."""

from __future__ import annotations

from sureline.data.surrogates import replace_surrogates

# Control characters are shown as the signs that Unicode has for them; tabs and line ends stay.
SIGNS = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)}
SIGNS |= {0x7F: 0x2421} | dict.fromkeys(range(128, 160), 0xFFFD)
SIGNS |= {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}


def visible(text: str) -> str:
    """Replace what cannot be shown, lone surrogates and control characters, by signs."""
    return replace_surrogates(text).translate(SIGNS)


def clip(text: str, most: int) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
