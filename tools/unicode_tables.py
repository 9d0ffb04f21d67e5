"""Write the tables that say which characters make words and what their lower case is.

They are made once for a version of the feature scheme and kept, so that a model finds the same
words on every Python: ``python3.11 tools/unicode_tables.py`` (Unicode 14).
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "src/sureline/features/unicode-1.npz"
LOWER, WORD, WORD_AS_IS, CASED, IGNORABLE = (1 << 21) - 1, 1 << 21, 1 << 22, 1 << 23, 1 << 24
ASSIGNED = 1 << 25  # for tests on a Python that knows more characters
EXPANDS = 0x130  # İ, the one letter whose lower case is two characters; the kernel knows it


def is_word(character: str) -> bool:
    """What Python calls part of a word."""
    return character.isalnum() or character == "_"


def record(code: int) -> int:
    """All that the tokeniser knows of a character, in one number."""
    character = chr(code)
    lower = character if code == EXPANDS else character.lower()
    if len(lower) != 1:
        raise SystemExit(f"U+{code:04X} lower-cases to {len(lower)} characters")
    # A capital sigma after this character, and after a letter and this character, tells how
    # Python classes the character: both end in a final sigma if it is cased, the second if it is
    # ignored.
    cased = (character + "Σ").lower()[-1] == "ς"
    ignorable = not cased and ("A" + character + "Σ").lower()[-1] == "ς"
    return (
        ord(lower)
        | WORD * is_word(lower)
        | WORD_AS_IS * is_word(character)
        | CASED * cased
        | IGNORABLE * ignorable
        | ASSIGNED * (unicodedata.category(character) != "Cn")
    )


def main() -> None:
    """Fold the records of all characters into pages of 256, each kept once."""
    records = np.zeros(0x110000, np.int32)
    for code in range(records.size):
        if not 0xD800 <= code < 0xE000:
            records[code] = record(code)
    codes = np.arange(records.size, dtype=np.int32)
    shifts = np.where(records & LOWER == codes, 0, records & LOWER)  # 0: its own lower case
    packed = (records & ~np.int32(LOWER)) | shifts
    pages, index = np.unique(packed.reshape(-1, 256), axis=0, return_inverse=True)
    np.savez_compressed(
        TARGET,
        pages=pages.astype(np.int32),
        index=index.reshape(-1).astype(np.int32),
        unicode=np.array([int(part) for part in unicodedata.unidata_version.split(".")]),
    )
    print(f"{TARGET}: {len(pages)} pages, Unicode {unicodedata.unidata_version}")


if __name__ == "__main__":
    sys.exit(main())
