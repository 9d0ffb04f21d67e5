"""What an audit finds, one by one: suspects, pairs of labels, duplicates and their places."""

from __future__ import annotations

from typing import Any, NamedTuple


class Suspect(NamedTuple):
    """A text whose label is probably wrong.

    `row` is its place among the texts, from 0; `words` are those that speak most for the suggested
    label and against the given one.
    """

    row: int
    label: Any
    suggested: Any
    probability_wrong: float
    words: tuple[str, ...]


class LabelPair(NamedTuple):
    """How many texts of a label probably have another: `share` is of all texts of that label."""

    label: Any
    suggested: Any
    wrong: float
    share: float


class Place(NamedTuple):
    """Where a text is from: its source, if that is known, and its number there, from 1."""

    source: Any
    number: int


class DuplicateGroup(NamedTuple):
    """Texts that are the same, or nearly so: their rows from 0, labels and sources."""

    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    sources: tuple[Any, ...]
    identical: bool
