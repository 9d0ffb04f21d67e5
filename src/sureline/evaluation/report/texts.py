"""Texts of mistakes, cut around the words that led there, and words that the model never met."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data import Batch
from sureline.estimators import TextClassifier
from sureline.evaluation.report.features import Pull
from sureline.features.tokenizer import TokenizedTexts
from sureline.features.vocabulary import Vocabulary
from sureline.model.explanation import spread_over_words

WORD = re.compile(r"\w+")
SHOWN = 600  # characters of a text, unless it is hardly longer
AROUND = 40  # characters kept on each side of a telling word
TELLING = 0.15  # words with less than this share of the strongest are not marked
MOST_WORDS = 200_000  # unknown words that are counted; the rarer half is then forgotten
SPACE = 32
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a text's words; bins that hold their upper edge


@dataclass(frozen=True)
class Word:
    """A word, or what stands between words, with its part of what draws the score.

    `strength` is that part, as a share of the strongest word's: above 0 towards the answer, below
    0 towards the true label. A word is `strange` if the model has never met it. `gap` stands for
    text that is left out.
    """

    text: str
    strength: float = 0.0
    unsure: bool = False
    strange: bool = False
    gap: bool = False


def mark_words(text: str, pulls: Sequence[Pull], strange: Iterable[str] = ()) -> list[Word]:
    """The text cut at its words, each with its part of the pulls; long texts are shortened.

    Parameters
    ----------
    text : str
        The text.
    pulls : sequence of Pull
        What its features add.
    strange : iterable of str, default=()
        Features that the model has never met.

    Examples
    --------
    >>> from sureline.evaluation.report.features import Pull
    >>> from sureline.evaluation.report.texts import mark_words
    >>> pulls = [Pull("free", 2.0, 0.1, ((2, 6),)), Pull("free lunch", 1.0, 0.1, ((2, 12),))]
    >>> [(word.text, word.strength) for word in mark_words("A free lunch", pulls)]
    [('A ', 0.0), ('free', 1.0), (' ', 0.0), ('lunch', 0.2)]
    """
    names, places = set(strange), set[tuple[int, int]]()
    single = sorted({at for each in pulls if " " not in each.feature for at in each.places})
    others = (match.span() for match in WORD.finditer(text))
    spans = sorted([*single, *(span for span in others if not _touches(span, single))])
    for each in pulls:
        if each.feature in names:
            places.update(each.places)
    told = ((each.share, each.unsure, each.places) for each in pulls)
    parts, unsure = spread_over_words([start for start, _ in spans], told)
    strongest = max(map(abs, parts), default=0.0) or 1.0
    words, end = list[Word](), 0
    for span, part, doubt in zip(spans, parts, unsure, strict=True):
        words.append(Word(text[end : span[0]]))
        strength = part / strongest if abs(part) >= TELLING * strongest else 0.0
        words.append(Word(text[slice(*span)], strength, doubt, span in places))
        end = span[1]
    words.append(Word(text[end:]))
    return _joined(shorten([word for word in words if word.text]))


def _touches(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    """Whether a span touches one of the sorted others."""
    at = bisect_left(others, span)
    before = at > 0 and others[at - 1][1] > span[0]
    return before or (at < len(others) and others[at][0] < span[1])


def shorten(words: list[Word]) -> list[Word]:
    """Keep what lies around the most telling words, and gaps for the rest."""
    sizes = [len(word.text) for word in words]
    if sum(sizes) <= 1.25 * SHOWN:
        return words
    kept = [False] * len(words)
    budget = SHOWN
    ranked = sorted(range(len(words)), key=lambda k: (-abs(words[k].strength), k))
    for k in ranked:
        if budget <= 0:
            break
        for step in (1, -1):
            room, at = AROUND, k
            while 0 <= at < len(words) and room > 0:
                if not kept[at]:
                    kept[at] = True
                    budget -= sizes[at]
                room -= sizes[at] if at != k else 0
                at += step
    short = list[Word]()
    for word, keep in zip(words, kept, strict=True):
        if keep:
            longest = 2 * AROUND if not word.strength else SHOWN
            if len(word.text) > longest:  # a run of signs or letters without an end
                word = Word(word.text[:longest], word.strength, word.unsure, word.strange)
                short += [word, Word("", gap=True)]
            else:
                short.append(word)
        elif not (short and short[-1].gap):
            short.append(Word("", gap=True))
    return short


def _joined(words: list[Word]) -> list[Word]:
    """Neighbours that are not marked as one piece."""
    made = list[Word]()
    for word in words:
        plain = not (word.strength or word.strange or word.gap)
        last = made[-1] if made else None
        if plain and last and not (last.strength or last.strange or last.gap):
            made[-1] = Word(last.text + word.text)
        else:
            made.append(word if not plain else Word(word.text))
    return made


@dataclass(frozen=True)
class Strangeness:
    """How many words of the texts the model had never met.

    `words` and `strange` count each word once a text. `frequent` are unknown words and in how many
    texts each is. `shares` are rows by the share of unknown words: the limits, how many rows, how
    many of them were answered wrongly.
    """

    words: int
    strange: int
    frequent: list[tuple[str, int]]
    shares: list[tuple[float, float, int, int]]


class StrangeWords:
    """Counts the words that a model has never met, in memory that does not grow with the rows.

    Parameters
    ----------
    model : TextClassifier
        A fitted model; see `can_tell`.
    """

    def __init__(self, model: TextClassifier) -> None:
        self._known = model.model_
        self._words = self._strange = 0
        self._counts: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._rows = np.zeros((2, len(SHARES)), np.int64)

    @staticmethod
    def can_tell(model: Any) -> bool:
        """Whether a model has a column for each single word, so that it knows what it has met."""
        if not isinstance(model, TextClassifier):
            return False
        known = model.model_
        words = known.tokenizer.ngrams
        return isinstance(known.columns, Vocabulary) and words is not None and words[0] == 1

    def add(self, batch: Batch, right: NDArray[np.bool_]) -> None:
        """Count the words of some more rows.

        Parameters
        ----------
        batch : Batch
            Rows of texts.
        right : bool array
            Whether each was answered rightly.
        """
        for piece, found in self._known.tokenizer.chunks(batch.text):
            single, strange = self._look(found)
            owners = np.repeat(np.arange(len(found)), np.diff(found.indptr))
            words = np.bincount(owners[single], minlength=len(found))
            odd = np.bincount(owners[strange], minlength=len(found))
            self._words += int(words.sum())
            self._strange += int(odd.sum())
            place = np.searchsorted(SHARES, odd / np.maximum(words, 1), side="left")
            self._rows[0] += np.bincount(place, minlength=len(SHARES))
            self._rows[1] += np.bincount(place[~right[piece]], minlength=len(SHARES))
            self._count(found, strange)

    def _look(self, found: TokenizedTexts) -> tuple[NDArray[Any], NDArray[Any]]:
        """The places of single words among all that was found, and of those never met."""
        columns = self._known.columns
        size = int(found.indptr[-1])
        nowhere = columns.features
        rows = columns.look_up(found, False, "float32", nowhere)
        starts, lengths = found.starts[:size], found.lengths[:size].astype(np.int64)
        end = int((starts + np.abs(lengths)).max(initial=0))
        spaces = np.concatenate([[0], np.cumsum(found.low[:end] == SPACE)])
        single = np.flatnonzero(
            (lengths > 0) & (spaces[starts] == spaces[starts + np.maximum(lengths, 0)])
        )
        return single, single[rows.indices[single] == nowhere]

    def _count(self, found: TokenizedTexts, strange: NDArray[Any]) -> None:
        keys, first, counts = np.unique(found.keys[strange], return_index=True, return_counts=True)
        for key, at, count in zip(
            keys.tolist(), strange[first].tolist(), counts.tolist(), strict=True
        ):
            if key not in self._counts:
                start, length = int(found.starts[at]), int(found.lengths[at])
                name = found.low[start : start + length].tobytes()
                self._names[key] = name.decode("utf-8", "replace")
            self._counts[key] = self._counts.get(key, 0) + count
        if len(self._counts) > MOST_WORDS:
            kept = sorted(self._counts, key=lambda key: -self._counts[key])[: MOST_WORDS // 2]
            self._counts = {key: self._counts[key] for key in kept}
            self._names = {key: self._names[key] for key in kept}

    def strange_in(self, text: str) -> set[str]:
        """The words of one text that the model has never met.

        Parameters
        ----------
        text : str
            The text.
        """
        found = self._known.tokenizer.read(pa.array([text], pa.large_string()))
        _, strange = self._look(found)
        return {
            found.low[start : start + length].tobytes().decode("utf-8", "replace")
            for start, length in zip(
                found.starts[strange].tolist(), found.lengths[strange].tolist(), strict=True
            )
        }

    def found(self, most: int) -> Strangeness:
        """What was counted, with so many of the most frequent words."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], self._names[item[0]]))
        low = (0.0, *SHARES[:-1])
        return Strangeness(
            self._words,
            self._strange,
            [(self._names[key], count) for key, count in ranked[:most]],
            [
                (low[k], SHARES[k], int(rows), int(wrong))
                for k, (rows, wrong) in enumerate(self._rows.T.tolist())
            ],
        )
