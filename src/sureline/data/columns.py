"""Selecting the columns of a table: by name, or by position counted from 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sureline.data.read_options import COLUMN, ReadOptions
from sureline.errors import DataError, InvalidParameter, show

_SHOWN = 20


@dataclass(frozen=True)
class SelectedColumns:
    """The names of all columns, and the positions of those to read: text, label, weight."""

    names: list[str]
    roles: dict[str, int]

    @property
    def others(self) -> list[int]:
        """The positions of the columns that have no role."""
        used = set(self.roles.values())
        return [column for column in range(len(self.names)) if column not in used]

    @property
    def text_name(self) -> str | None:
        """The name of the text column; None of a table."""
        return self.names[self.roles["text"]] if "text" in self.roles else None

    @property
    def label_name(self) -> str | None:
        """The name of the label column; None if no labels are read."""
        return self.names[self.roles["label"]] if "label" in self.roles else None

    def positions(self, keep: bool) -> list[int]:
        """The positions of the columns to read, in order; all if the others are kept."""
        return sorted({*self.roles.values(), *(self.others if keep else ())})

    def table(self, arrays: Mapping[int, pa.Array]) -> pa.RecordBatch | None:
        """The columns that have no role, as a table; None if there are none."""
        others = self.others
        if not others:
            return None
        names = [self.names[column] for column in others]
        return pa.RecordBatch.from_arrays([arrays[column] for column in others], names=names)


def select_columns(
    file: str, names: Sequence[str], options: ReadOptions, hint: str = ""
) -> SelectedColumns:
    """Find the columns to read among `names`, or raise a DataError that lists them.

    `hint` is what else may be wrong if a column is not found.
    """
    found = {
        role: _find(file, names, column, role, hint) for role, column in options.columns.items()
    }
    label = found.get("label")
    for role, column in found.items():
        if column == label and role != "label" and role != "weight":
            kind = "learned from" if options.table else "text"
            raise InvalidParameter(
                f"column {names[column]!r} of {file} cannot be both {kind} and label"
            )
    return SelectedColumns(list(names), found)


def has_header(first: Sequence[str], options: ReadOptions) -> bool:
    """Whether the fields of a first line are the names of columns."""
    columns = options.columns
    if not all(_is_position(column) for column in columns.values()):
        # If one of the names does not exist, the error lists those that do.
        return True
    # A row may hold the digits of a position; only the numbers of all columns are their names.
    if list(first) == [str(number) for number in range(len(first))]:
        return True
    # Positions alone: the first line is a header if it has the default names there.
    defaults = {int(at): role for role, at in columns.items() if role in ("text", "label")}
    if not defaults:
        return False
    return all(at < len(first) and first[at].lower() == role for at, role in defaults.items())


def _is_position(column: str | int) -> bool:
    return isinstance(column, int) or (column.isascii() and column.isdigit())


def _find(file: str, names: Sequence[str], column: str | int, role: str, hint: str) -> int:
    if isinstance(column, str):
        times = names.count(column)
        if times == 1:
            return names.index(column)
        if times > 1:
            raise DataError(
                f"{file} has {times} columns named {show(column)}; give the position of the one "
                f"you mean, counted from 0 ({role}=...)"
            )
    if _is_position(column) and int(column) < len(names):
        return int(column)
    remedy = f"; name the {role} column ({role}=...){hint}"
    if role.startswith(COLUMN):
        remedy = ""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        shown += f" and {len(names) - _SHOWN} more"
    raise DataError(f"{file} has no column {show(column)}; its columns are {shown}{remedy}")
