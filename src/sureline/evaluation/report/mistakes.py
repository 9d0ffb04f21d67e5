"""Mistakes: the most confident ones of every kind with their texts, and all of them as a table."""

from __future__ import annotations

import base64
import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sureline.evaluation.report.features import LeadContribution
from sureline.evaluation.report.highlight import Word
from sureline.evaluation.report.text import clip, visible

MOST_OF_A_PAIR = 10  # mistakes that are kept of one pair of labels
MOST_PAIRS = 2000
MOST_GROUPS = 20  # that are shown, the most frequent ones
MOST_SHOWN = 30  # mistakes, unless there are many groups
FEWEST_OF_A_GROUP = 3
MISSING, EXTRA = "missing", "extra"  # kinds of wrong labels among several
TABLE_ROWS = 200_000  # in the table, at most
TABLE_TEXT = 1000  # characters of a text in the table
TABLE_TEXTS = 4_000_000  # characters of all texts there


@dataclass(frozen=True)
class Mistake:
    """A row that was predicted wrongly."""

    row: Any  # its text, or a sparse matrix of one row
    true: Any
    predicted: Any
    probability: float | None  # of the predicted class; None for rules without probabilities
    margin: float  # the score of the predicted class
    source: str
    number: int  # in the file, from 1
    times: int = 1  # how many equal rows were predicted so
    words: Sequence[Word] = ()  # its text, with the words marked
    contributions: Sequence[LeadContribution] = ()  # the largest
    cut: bool = False  # whether only the beginning of its text is here

    @property
    def rank(self) -> tuple[float, float]:
        """By probability first; by margin, as many probabilities are as good as 1."""
        return self.probability or 0.0, self.margin

    @property
    def kind(self) -> tuple[str, str]:
        """What it has in common with other mistakes that are shown beside it."""
        return str(self.true), str(self.predicted)


@dataclass(frozen=True)
class LabelMistake(Mistake):
    """A row that lacks a label or was given a wrong one; `true` and `predicted` are its labels."""

    label: Any = None
    missing: bool = False

    @property
    def kind(self) -> tuple[str, str]:
        """The label, and whether it is missing."""
        return str(self.label), MISSING if self.missing else EXTRA

    @property
    def rank(self) -> tuple[float, float]:
        """How sure the model was of the label, or of its absence."""
        chance = self.probability or 0.0
        return (1.0 - chance if self.missing else chance), 0.0


class TopMistakes:
    """Keeps the most confident mistakes; equal rows with equal labels are kept once and counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Any, Mistake] = {}
        self._least = (-np.inf, -np.inf)  # a mistake of lower rank is not kept

    def is_candidate(self, probability: float | None, margin: float) -> bool:
        """Whether a mistake of this confidence would be kept."""
        return (probability or 0.0, margin) >= self._least

    def add(self, mistake: Mistake) -> None:
        """Keep a mistake if it is more confident than one that is kept; of equals, the first."""
        content, kept = mistake.row, self._kept
        if not isinstance(content, str):
            content.sort_indices()
            content = content.indices.tobytes(), content.data.tobytes()
        key = (content, *mistake.kind, str(mistake.true), str(mistake.predicted))
        if key in kept:
            kept[key] = replace(kept[key], times=kept[key].times + 1)
            return
        kept[key] = mistake
        if len(kept) > self._most:
            del kept[min(reversed(kept), key=lambda each: kept[each].rank)]
        if len(kept) == self._most:
            self._least = min(each.rank for each in kept.values())

    def ranked(self) -> list[Mistake]:
        """The mistakes, the most confident first."""
        return sorted(self._kept.values(), key=lambda each: each.rank, reverse=True)


class MistakeGroup(NamedTuple):
    """The mistakes of one kind: rows of one label that were given another."""

    true: Any
    predicted: Any
    rows: int
    mistakes: Sequence[Mistake]  # the most confident ones


class MistakeGroups:
    """Keeps the most confident mistakes of every pair of true and predicted label.

    Of very many pairs, those with the fewest mistakes are dropped.
    """

    def __init__(self, most: int = MOST_OF_A_PAIR) -> None:
        self._most = most
        self._pairs: dict[tuple[str, str], TopMistakes] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, mistake: Mistake) -> None:
        """Keep a mistake if it is more confident than one of its kind that is kept."""
        pair = mistake.kind
        self._counts[pair] += 1
        kept = self._pairs.get(pair)
        if kept is not None and not kept.is_candidate(*mistake.rank):
            return
        if kept is None and len(self._pairs) >= MOST_PAIRS:
            frequent = dict(self._counts.most_common(MOST_PAIRS // 2))
            self._counts = Counter(frequent)
            self._pairs = {each: self._pairs[each] for each in frequent if each in self._pairs}
        self._pairs.setdefault(pair, TopMistakes(self._most)).add(mistake)

    def groups(self, confusion: Iterable[tuple[Any, Any, int]]) -> list[MistakeGroup]:
        """The most frequent pairs of a confusion matrix, with their most confident mistakes."""
        wrong = [each for each in confusion if each[0] != each[1]]
        wrong = sorted(wrong, key=lambda each: -each[2])[:MOST_GROUPS]
        most = max(FEWEST_OF_A_GROUP, MOST_SHOWN // max(len(wrong), 1))
        found = list[MistakeGroup]()
        for true, predicted, rows in wrong:
            kept = self._pairs.get((str(true), str(predicted)))
            if kept is not None:
                found.append(MistakeGroup(true, predicted, rows, kept.ranked()[:most]))
        return found


class MistakeTable:
    """All mistakes as CSV: where each row is, its labels, how confident the model was, its text.

    Texts are cut, and left out once they have taken as much as they may.
    """

    def __init__(self) -> None:
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(["file", "row", "true", "predicted", "probability", "score", "text"])
        self._left = TABLE_TEXTS
        self.rows = self.longest = self.without_text = self.left_out = 0

    def add(self, mistake: Mistake) -> None:
        """Write a mistake."""
        if self.rows == TABLE_ROWS:
            self.left_out += 1
            return
        text = mistake.row if isinstance(mistake.row, str) else ""
        self.longest = max(self.longest, len(text))
        if self._left <= 0 and text:
            text, self.without_text = "", self.without_text + 1
        text = clip(text, TABLE_TEXT)
        self._left -= len(text)
        self.rows += 1
        chance = "" if mistake.probability is None else f"{mistake.probability:.6g}"
        labels = (plain_cell(visible(str(each))) for each in (mistake.true, mistake.predicted))
        place = plain_cell(visible(mistake.source)), mistake.number
        cells = [*place, *labels, chance, f"{mistake.margin:.6g}", plain_cell(visible(text))]
        self._writer.writerow(cells)

    def data_url(self) -> str:
        """The table as an address that a browser saves as a file."""
        content = base64.b64encode(self._text.getvalue().encode("utf-8")).decode("ascii")
        return f"data:text/csv;charset=utf-8;base64,{content}"


def plain_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
