"""Tables of the characters that make words, fixed with the tokenizer's version."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from sureline.kernels.text.arguments import Characters

VERSION = 1


@cache
def characters(lowercase: bool) -> Characters:
    """The tables of version 1, made from Unicode 14."""
    stored: Any
    with files("sureline.features").joinpath(f"unicode-{VERSION}.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        pages, index = stored["pages"], stored["index"]
    letters = np.zeros(128, np.uint8)
    for code in range(128):
        if chr(code).isalnum() or chr(code) == "_":
            letters[code] = ord(chr(code).lower()) if lowercase else code
    for array in (letters, pages, index):
        array.flags.writeable = False
    return Characters(letters, pages, index)
