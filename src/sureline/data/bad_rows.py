"""Rows that cannot be used: stop at the first, or count them and remember a few."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sureline.errors import DataError

REMEMBERED = 10


class BadRow(NamedTuple):
    """Where a bad row is and what is wrong with it; `line` counts from 1."""

    file: str
    line: int
    reason: str


@dataclass
class BadRows:
    """The bad rows of one pass: how many there were, and the first few of them.

    Parameters
    ----------
    skip : bool
        Count bad rows and go on, rather than stop at the first.
    """

    skip: bool
    count: int = 0
    first: list[BadRow] = field(default_factory=list)

    def __len__(self) -> int:
        return self.count

    def add(self, file: str, line: int, reason: str, remedy: str = "", unit: str = "line") -> None:
        """Note a bad row, or raise a DataError that says where it is and what to do."""
        if not self.skip:
            remedy = remedy or f"mend the {unit}, or skip bad rows (skip_bad=True, --skip-bad)"
            raise DataError(f"{file}, {unit} {line}: {reason}; {remedy}")
        self.count += 1
        if len(self.first) < REMEMBERED:
            self.first.append(BadRow(file, line, reason))
