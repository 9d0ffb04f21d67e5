"""Lone surrogates: halves of characters, such as emoji, that were cut in two."""

from __future__ import annotations

from typing import Any


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD in place of each lone surrogate; pairs become one character."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def has_surrogates(value: Any) -> bool:
    """Whether a value is a text that holds surrogates, which no file can."""
    return isinstance(value, str) and replace_surrogates(value) != value
