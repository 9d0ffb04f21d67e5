"""What the estimators on texts have in common: their options, as a tokenizer and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sureline.data import as_text
from sureline.data.table import KINDS, NUMBER, TEXT, as_table, has_columns, infer_columns
from sureline.declaration import declared, validate
from sureline.errors import InvalidParameter, show
from sureline.features.hashing import Hashing
from sureline.features.moments import Moments
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import Tokenizer
from sureline.features.vocabulary import Vocabulary
from sureline.options import FeatureOptions, TextOptions

OPTIONS = tuple(declared(TextOptions))
FOR_VOCABULARIES = ("min_count", "max_features")


class TextEstimator(FeatureOptions):
    """What turns the options on texts into a tokenizer and columns, all of them checked."""

    def tokenizer(self) -> Tokenizer:
        """The tokenizer, all options checked."""
        owner = type(self).__name__
        if isinstance(self.stop_words, str):
            raise InvalidParameter(
                f"{owner}: stop_words must be a list of words, got the text "
                f"{show(self.stop_words)}; sureline ships no list of its own"
            )
        validate(self)
        known = declared(FeatureOptions)
        for name in FOR_VOCABULARIES:
            if self.features == "hash" and getattr(self, name) != known[name].default:
                raise InvalidParameter(
                    f"{owner}: {name} needs features='vocabulary'; with features='hash' the number "
                    "of columns is fixed, so leave it at its default"
                )
        made, columns = Tokenizer.from_options(self), self.table_columns()
        if columns is None or list(columns.values()) == [TEXT]:
            return made
        numbers = sum(kind == NUMBER for kind in columns.values())
        return TableTokenizer(
            **{each.name: getattr(made, each.name) for each in fields(made)},
            columns=tuple(columns.items()),
            scaled=bool(self.normalize),
            moments=Moments(numbers),
        )

    def columns_of(self, X: Any) -> dict[str, str] | None:
        """The columns of a table to be learned: those given, or else inferred; None for texts."""
        columns: Any = getattr(self, "columns", None)
        if columns is not None:
            check_columns(columns, type(self).__name__)
            return dict(columns)
        return infer_columns(X) if has_columns(X) else None

    def as_input(self, X: Any) -> Any:
        """Texts, or rows of the columns that were chosen, as an Arrow array."""
        columns = self.__dict__.get("columns_")
        if columns is None:
            return as_text(X)
        table = as_table(X, columns)
        return table.field(0) if list(columns.values()) == [TEXT] else table

    def table_columns(self) -> Mapping[str, str] | None:
        """The columns of a table by name, checked; None where there are texts alone."""
        if not isinstance(self, TextOptions):  # TextFeatures takes texts alone
            return None
        columns: Mapping[str, str] | None = self.columns
        if columns is None:
            inferred: Mapping[str, str] | None = self.__dict__.get("columns_")
            return inferred
        check_columns(columns, type(self).__name__)
        return columns

    def empty_columns(self, naming: bool) -> Any:
        """The columns before the first text; with hashing, whether they remember names."""
        if self.features == "hash":
            return Hashing(self.bits, naming)
        return Vocabulary(self.min_count, self.max_features or 0)


def check_columns(columns: Any, owner: str) -> None:
    """Refuse what does not describe the columns of a table."""
    example = "such as {'subject': 'text', 'sender': 'category', 'amount': 'number'}"
    if not isinstance(columns, Mapping) or not columns:
        raise InvalidParameter(
            f"{owner}: columns must have the kind of each column by name, {example}, got "
            f"{show(columns)}"
        )
    for name, kind in columns.items():
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"{owner}: the name of a column is {show(name)}, not a string")
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidParameter(
                f"{owner}: column {name!r} must be 'text', 'category' or 'number', got {show(kind)}"
            )
