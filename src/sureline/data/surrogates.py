"""Strings with half an emoji: what is left of a pair that was cut apart is no character."""

from __future__ import annotations


def mend_surrogates(text: str) -> str:
    r"""The text with U+FFFD in place of each lone surrogate; pairs become one character.

    Parameters
    ----------
    text : str
        Any string.

    Examples
    --------
    >>> from sureline.data.surrogates import mend_surrogates
    >>> mend_surrogates("cut \ud83d off")
    'cut � off'
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
