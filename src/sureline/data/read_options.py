"""The options of a reader, as every format receives them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sureline.errors import DataError, InvalidParameter, show

# A text of 16 MB has the words of some fifty novels.
ROW_LIMIT_MB = 16.0
# How many times its size a file may expand that is not read as a stream; so much it may always.
EXPANSION_LIMIT = 100.0
ALLOWANCE = 256 * 2**20
COLUMN = "column "  # begins the role of a column of a table
LABEL_TYPES = ("auto", "text", "int", "float", "bool")


@dataclass(frozen=True)
class ReadOptions:
    """What to read from every file; `Reader` describes the fields."""

    text: str | int = "text"
    label: str | int = "label"
    weight: str | int | None = None
    table: tuple[tuple[str, str], ...] = ()  # names and kinds of the columns of a table
    header: bool | None = None
    delimiter: str | None = None
    quotes: bool = True
    encoding: str = "utf-8"
    labelled: bool = True
    label_as_text: bool = False
    label_separator: str | None = None
    label_sets: bool = False
    keep: bool = False
    batch_bytes: int = 2**20
    row_limit_mb: float = ROW_LIMIT_MB
    expansion_limit: float = EXPANSION_LIMIT

    def __post_init__(self) -> None:
        for role in ("text", "label", "weight"):
            _check_column(role, getattr(self, role))
        delimiter = self.delimiter
        if delimiter is not None and (
            len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'
        ):
            raise InvalidParameter(
                f"delimiter {delimiter!r} cannot be used; give one ASCII character, not a quote"
            )
        if self.label_separator == "":
            raise InvalidParameter("label_separator cannot be empty; give the text between labels")
        if self.batch_bytes < 1:
            raise InvalidParameter(f"batch_bytes must be 1 or more, not {self.batch_bytes}")
        if not 0 < self.row_limit_mb < math.inf:
            raise InvalidParameter(
                f"row_limit_mb must be a number above 0, not {self.row_limit_mb}"
            )
        if not self.expansion_limit > 0:
            raise InvalidParameter(
                f"expansion_limit must be a number above 0, not {self.expansion_limit}"
            )

    @property
    def columns(self) -> dict[str, str | int]:
        """The columns to read, by their role: text or those of a table, label, weight."""
        columns: dict[str, str | int] = {"text": self.text}
        if self.table:
            columns = {f"{COLUMN}{name}": name for name, _ in self.table}
        if self.labelled:
            columns["label"] = self.label
        if self.weight is not None:
            columns["weight"] = self.weight
        return columns

    @property
    def row_limit(self) -> int:
        """How many bytes a row may have."""
        return int(self.row_limit_mb * 2**20)

    @property
    def too_long(self) -> tuple[str, str]:
        """What is wrong with a longer row, and what to do about it."""
        return (
            f"the row is longer than {self.row_limit_mb:g} MB",
            "raise the limit (row_limit_mb=...), or skip bad rows (skip_bad=True)",
        )

    def check_expansion(self, name: str, packed: int, unpacked: int) -> None:
        """Refuse a file that takes far more bytes than it has once it is decompressed."""
        if unpacked > max(ALLOWANCE, self.expansion_limit * packed):
            raise DataError(
                f"{name} expands to more than {self.expansion_limit:g} times its size when it is "
                "decompressed; raise the limit (expansion_limit=...) if you trust the file"
            )

    @property
    def is_utf8(self) -> bool:
        """Whether text files are in UTF-8 and need no transcoding."""
        return self.encoding in ("utf-8", "utf-8-sig")


def _check_column(role: str, column: str | int | None) -> None:
    """Raise InvalidParameter unless `column` is a name, a position from 0 up, or None."""
    if column is None or (isinstance(column, str) and column):
        return
    if isinstance(column, int) and not isinstance(column, bool) and column >= 0:
        return
    raise InvalidParameter(
        f"{role}={show(column)} is not a column; give its name, or its position counted from 0"
    )
