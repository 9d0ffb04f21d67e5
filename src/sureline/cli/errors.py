"""Errors of the Python interface in the words of the command line."""

from __future__ import annotations

import inspect
import re

from sureline.cli.groups import FLAGS

# After a space or a parenthesis, but not as `--set name`: neither a path nor what the user wrote.
_BEFORE = r"(?<=[ (])(?<!--set )(?<!--try )"
_VALUE = r"""('[^']*'|"[^"]*"|\(\d+, \d+\)|\w+|\.\.\.)"""
_PARAMETER = re.compile(rf"{_BEFORE}(\w+)={_VALUE}")
_LONG_NAME = re.compile(rf"{_BEFORE}({'|'.join(name for name in FLAGS if '_' in name)})\b")
_CLASS = re.compile(r"^(\w+Classifier|TextFeatures)(\.\w+)?: ")


def name_options(message: str) -> str:
    """Replace the Python parameters that a message names by the options of the commands.

    The class at the beginning of a message is left out, as nobody wrote it.

    >>> from sureline.cli.errors import name_options
    >>> name_options("TextClassifier: name the encoding (encoding='latin-1'), or (features=...)")
    'name the encoding (--encoding latin-1), or (--features)'
    >>> name_options("--set max_iter: use --passes instead")
    '--set max_iter: use --passes instead'
    """
    if not message.startswith("--"):
        message = f" {_CLASS.sub('', message)}"
    message = _PARAMETER.sub(_option, message)
    return _LONG_NAME.sub(lambda found: FLAGS[found.group()], message).strip()


def _option(found: re.Match[str]) -> str:
    """The option for a parameter with a value, or with an ellipsis for any."""
    from sureline.data import Reader

    name, value = found.groups()
    option = FLAGS.get(name)
    if option is None:
        if name not in inspect.signature(Reader).parameters:
            return found.group()
        option = f"--{name.removesuffix('_mb').replace('_', '-')}"
        if value == "False":
            option = option.replace("--", "--no-")
    if value in ("True", "False", "..."):
        return option
    plain = value.strip("'\"()").replace(", ", ",")
    return f"{option} {plain if re.fullmatch('[-a-z0-9,]+', plain) else value}"
