"""Which columns of a table to use: by name, or by position counted from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sureline.data.formats.raw_rows import Ask
from sureline.errors import DataError, InvalidParameter

TEXT, LABEL = "text", "label"
_SHOWN = 20


@dataclass(frozen=True)
class Columns:
    """The positions of the columns in use, and the names of all."""

    names: list[str]
    text: int
    label: int | None
    weight: int | None

    @property
    def others(self) -> list[int]:
        """The positions of the columns that are not in use."""
        used = {self.text, self.label, self.weight}
        return [column for column in range(len(self.names)) if column not in used]

    @property
    def label_name(self) -> str | None:
        """The name of the label column, if one is in use."""
        return None if self.label is None else self.names[self.label]


def check_column(what: str, column: str | int | None) -> None:
    """Raise InvalidParameter unless `column` is a name, a position from 0 up, or None."""
    if column is None or (isinstance(column, str) and column):
        return
    if isinstance(column, int) and not isinstance(column, bool) and column >= 0:
        return
    raise InvalidParameter(
        f"{what}={column!r} is not a column; give its name, or its position counted from 0"
    )


def choose_columns(file: str, names: Sequence[str], ask: Ask, hint: str = "") -> Columns:
    """Find the columns asked for among `names`, or raise a DataError that lists them."""
    text = _find(file, names, TEXT if ask.text is None else ask.text, "text", hint)
    label = weight = None
    if ask.labelled:
        label = _find(file, names, LABEL if ask.label is None else ask.label, "label", hint)
    if ask.weight is not None:
        weight = _find(file, names, ask.weight, "weight", hint)
    if label == text:
        raise InvalidParameter(f"column {names[text]!r} of {file} cannot be both text and label")
    return Columns(list(names), text, label, weight)


def has_header(first: Sequence[str], ask: Ask) -> bool:
    """Whether a first line is a header: it holds a name that was asked for."""
    asked = [TEXT if ask.text is None else ask.text]
    if ask.labelled:
        asked.append(LABEL if ask.label is None else ask.label)
    if ask.weight is not None:
        asked.append(ask.weight)
    if not all(is_position(each) for each in asked):
        # Where a name is nowhere to be found, the error will list what there is.
        return True
    # A row may hold the digits asked for; only the numbers of all columns are their names.
    if list(first) == [str(number) for number in range(len(first))]:
        return True
    # Positions alone: a first line that holds the usual names there is a header.
    usual = dict(zip(map(int, asked), (TEXT, LABEL), strict=False))
    return all(at < len(first) and first[at].lower() == name for at, name in usual.items())


def is_position(column: str | int) -> bool:
    """Whether a column is asked for by position."""
    return isinstance(column, int) or (column.isascii() and column.isdigit())


def _find(file: str, names: Sequence[str], column: str | int, option: str, hint: str) -> int:
    """The position of one column."""
    if isinstance(column, str):
        times = names.count(column)
        if times == 1:
            return names.index(column)
        if times > 1:
            raise DataError(
                f"{file} has {times} columns named {column!r}; give the position of the one you "
                f"mean, counted from 0 ({option}=, --{option})"
            )
    if is_position(column) and int(column) < len(names):
        return int(column)
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        shown += f" and {len(names) - _SHOWN} more"
    what = f"column {column}" if isinstance(column, int) else f"column {column!r}"
    raise DataError(
        f"{file} has no {what}; its columns are {shown}; name the {option} column "
        f"({option}=, --{option}){hint}"
    )
