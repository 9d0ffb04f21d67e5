"""The options of a reader, as every format receives them."""

from __future__ import annotations

from dataclasses import dataclass

from sureline.errors import InvalidParameter

LABEL_TYPES = ("auto", "text", "int", "float", "bool")


@dataclass(frozen=True)
class ReadOptions:
    """What to read from every file; `Reader` describes the fields."""

    text: str | int = "text"
    label: str | int = "label"
    weight: str | int | None = None
    header: bool | None = None
    delimiter: str | None = None
    quotes: bool = True
    encoding: str = "utf-8"
    labelled: bool = True
    label_as_text: bool = False
    keep: bool = False
    batch_bytes: int = 2**20

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
        if self.batch_bytes < 1:
            raise InvalidParameter(f"batch_bytes must be 1 or more, not {self.batch_bytes}")

    @property
    def columns(self) -> dict[str, str | int]:
        """The columns to read, by their role: text, label, weight."""
        columns = {"text": self.text}
        if self.labelled:
            columns["label"] = self.label
        if self.weight is not None:
            columns["weight"] = self.weight
        return columns

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
        f"{role}={column!r} is not a column; give its name, or its position counted from 0"
    )
