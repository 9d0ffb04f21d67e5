"""Selecting the columns of a table: by name, or by position counted from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sureline.data.read_options import ReadOptions
from sureline.errors import DataError, InvalidParameter

_SHOWN = 20


@dataclass(frozen=True)
class SelectedColumns:
    """The positions of the columns to read, and the names of all columns."""

    names: list[str]
    text: int
    label: int | None
    weight: int | None

    @property
    def others(self) -> list[int]:
        """The positions of the columns that have no role."""
        used = set(self.roles.values())
        return [column for column in range(len(self.names)) if column not in used]

    @property
    def roles(self) -> dict[str, int]:
        """The positions of the columns to read, by their role: text, label, weight."""
        positions = {"text": self.text, "label": self.label, "weight": self.weight}
        return {role: at for role, at in positions.items() if at is not None}

    @property
    def text_name(self) -> str:
        """The name of the text column."""
        return self.names[self.text]

    @property
    def label_name(self) -> str | None:
        """The name of the label column; None if no labels are read."""
        return None if self.label is None else self.names[self.label]


def select_columns(
    file: str, names: Sequence[str], options: ReadOptions, hint: str = ""
) -> SelectedColumns:
    """Find the columns to read among `names`, or raise a DataError that lists them.

    Parameters
    ----------
    file : str
        The name of the file, for errors.
    names : sequence of str
        The names of the columns of the file.
    options : ReadOptions
        Which columns to read.
    hint : str, default=""
        What else may be wrong if a column is not found.
    """
    found = {
        role: _find(file, names, column, role, hint) for role, column in options.columns.items()
    }
    text, label = found["text"], found.get("label")
    if label == text:
        raise InvalidParameter(f"column {names[text]!r} of {file} cannot be both text and label")
    return SelectedColumns(list(names), text, label, found.get("weight"))


def has_header(first: Sequence[str], options: ReadOptions) -> bool:
    """Whether the fields of a first line are the names of columns.

    Parameters
    ----------
    first : sequence of str
        The fields of the first line.
    options : ReadOptions
        Which columns to read.
    """
    columns = options.columns
    if not all(_is_position(column) for column in columns.values()):
        # If one of the names does not exist, the error lists those that do.
        return True
    # A row may hold the digits of a position; only the numbers of all columns are their names.
    if list(first) == [str(number) for number in range(len(first))]:
        return True
    # Positions alone: the first line is a header if it has the default names there.
    defaults = {int(at): role for role, at in columns.items() if role != "weight"}
    return all(at < len(first) and first[at].lower() == role for at, role in defaults.items())


def _is_position(column: str | int) -> bool:
    """Whether a column is given by its position."""
    return isinstance(column, int) or (column.isascii() and column.isdigit())


def _find(file: str, names: Sequence[str], column: str | int, role: str, hint: str) -> int:
    """The position of one column."""
    if isinstance(column, str):
        times = names.count(column)
        if times == 1:
            return names.index(column)
        if times > 1:
            raise DataError(
                f"{file} has {times} columns named {column!r}; give the position of the one you "
                f"mean, counted from 0 ({role}=...)"
            )
    if _is_position(column) and int(column) < len(names):
        return int(column)
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        shown += f" and {len(names) - _SHOWN} more"
    raise DataError(
        f"{file} has no column {column!r}; its columns are {shown}; name the {role} column "
        f"({role}=...){hint}"
    )
