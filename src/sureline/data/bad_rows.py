"""Rows that cannot be used: stop at the first, or skip and count them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sureline.errors import DataError

_REMEMBERED = 10


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
        Skip and count bad rows rather than stop at the first.
    count : int, default=0
        How many there were so far.
    first : list of BadRow
        The first ten of them.
    """

    skip: bool
    count: int = 0
    first: list[BadRow] = field(default_factory=list)

    def __len__(self) -> int:
        return self.count

    def add(self, file: str, line: int, reason: str, remedy: str = "", unit: str = "line") -> None:
        """Count a bad row, or raise a DataError that says where it is and what to do.

        Parameters
        ----------
        file : str
            The name of the file.
        line : int
            The number of the line or row, counted from 1.
        reason : str
            What is wrong with it.
        remedy : str, default=""
            What to do about it, if not to fix or skip the row.
        unit : {"line", "row"}, default="line"
            What `line` counts.
        """
        if not self.skip:
            remedy = remedy or f"fix the {unit}, or skip bad rows (skip_bad=True)"
            raise DataError(f"{file}, {unit} {line}: {reason}; {remedy}")
        self.count += 1
        if len(self.first) < _REMEMBERED:
            self.first.append(BadRow(file, line, reason))
