"""Lone surrogates: halves of characters, such as emoji, that were cut in two."""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    r"""The text with U+FFFD in place of each lone surrogate; pairs become one character.

    Parameters
    ----------
    text : str
        Any string.

    Examples
    --------
    >>> from sureline.data.surrogates import replace_surrogates
    >>> replace_surrogates("cut \ud83d off")
    'cut � off'
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
