"""Labels as people write them, as values of the type that a model or an input has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter

WHOLE = re.compile(r"[-+]?\d+(?:\.0*)?", re.ASCII)
BOOLEANS = {"true": True, "false": False}


def typed_labels(words: Sequence[str], kind: np.dtype[Any]) -> NDArray[Any]:
    """Labels written as text, as values of the kind that a model or an input has.

    An InvalidParameter where one cannot be such a value.
    """
    if kind.kind in "USOT":
        return np.array(list(words), dtype=object if kind.kind == "O" else None)
    values = [read_label(word, kind) for word in words]
    for word, value in zip(words, values, strict=True):
        if value is None:
            are = {"i": "whole numbers", "u": "whole numbers", "f": "numbers", "b": "true or false"}
            raise InvalidParameter(
                f"the class {word!r} was named, but the labels of the input are "
                f"{are.get(kind.kind, str(kind))}; name such, or read labels as text "
                "(label_type='text')"
            )
    return np.array(values, dtype=kind)


def read_label(word: str, kind: np.dtype[Any]) -> Any:
    """A label written as text as a value of a kind, or None if it is none.

    >>> import numpy as np
    >>> from sureline.data.label_values import read_label
    >>> read_label("+1.0", np.dtype(int)), read_label("one", np.dtype(int))
    (1, None)
    """
    if kind.kind in "USOT":
        return word
    if kind.kind == "b":
        return BOOLEANS.get(word.lower())
    if kind.kind in "iu":
        return int(word.partition(".")[0]) if WHOLE.fullmatch(word) else None
    try:
        return float(word)
    except ValueError:
        return None
