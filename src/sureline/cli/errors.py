"""Errors of the Python interface in the words of the command line."""

from __future__ import annotations

import inspect
import re

_PARAMETER = re.compile(r"\((\w+)=('[^']*'|\w+|\.\.\.)\)")


def name_options(message: str) -> str:
    """Replace the parameters of `Reader` that a message names by the options of the commands.

    Parameters
    ----------
    message : str
        What an error says, such as ``"skip bad rows (skip_bad=True)"``.

    Examples
    --------
    >>> from sureline.cli.errors import name_options
    >>> name_options("skip bad rows (skip_bad=True), or name the encoding (encoding='latin-1')")
    'skip bad rows (--skip-bad), or name the encoding (--encoding latin-1)'
    """
    return _PARAMETER.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    """The option for a parameter with a value, or with an ellipsis for any."""
    from sureline.data import Reader

    name, value = found.groups()
    if name not in inspect.signature(Reader).parameters:
        return found.group()
    option = name.replace("_", "-")
    if value == "False":
        return f"(--no-{option})"
    if value in ("True", "..."):
        return f"(--{option})"
    plain = value.strip("'")
    return f"(--{option} {plain if re.fullmatch('[-a-z0-9]+', plain) else value})"
