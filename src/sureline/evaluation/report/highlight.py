"""The text of a mistake with its words marked by what they contributed, shortened around them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from sureline.evaluation.report.features import LeadContribution
from sureline.model.explanation import spread_over_words

WORD = re.compile(r"\w+")
SHOWN = 600  # characters of a text, unless it is hardly longer
AROUND = 40  # characters kept on each side of a marked word
WEAKEST = 0.15  # words with less than this share of the strongest are not marked


class Word(NamedTuple):
    """A word, or the text between words, with its contribution.

    `strength` is relative to the strongest word: above 0 towards the predicted class, below 0
    towards the true one. `unknown` words have no weight in the model. `gap` replaces text that is
    left out.
    """

    text: str
    strength: float = 0.0
    uncertain: bool = False
    unknown: bool = False
    gap: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is text without a mark."""
        return not (self.strength or self.unknown or self.gap)


GAP = Word("", gap=True)


def highlight_words(
    text: str, contributions: Sequence[LeadContribution], unknown: Iterable[str] = ()
) -> list[Word]:
    """Split a text into words, each with what it contributed; a long text is shortened.

    `unknown` are the features that the model does not know.
    """
    names = set(unknown)
    single = sorted({at for each in contributions if " " not in each.feature for at in each.places})
    others = (match.span() for match in WORD.finditer(text))
    spans = sorted([*single, *(span for span in others if not _overlaps(span, single))])
    new = {at for each in contributions if each.feature in names for at in each.places}
    shares = ((each.share, each.uncertain, each.places) for each in contributions)
    parts, uncertain = spread_over_words([start for start, _ in spans], shares)
    strongest = max(map(abs, parts), default=0.0) or 1.0
    words, end = list[Word](), 0
    for span, part, doubt in zip(spans, parts, uncertain, strict=True):
        words.append(Word(text[end : span[0]]))
        strength = part / strongest if abs(part) >= WEAKEST * strongest else 0.0
        words.append(Word(text[slice(*span)], strength, doubt, span in new))
        end = span[1]
    words.append(Word(text[end:]))
    return _join_plain(_shorten([word for word in words if word.text]))


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    """Whether a span overlaps one of the sorted others."""
    at = bisect_left(others, span)
    before = at > 0 and others[at - 1][1] > span[0]
    return before or (at < len(others) and others[at][0] < span[1])


def _shorten(words: list[Word]) -> list[Word]:
    """Keep the text around the strongest words, with gaps in place of the rest."""
    sizes = [len(word.text) for word in words]
    if sum(sizes) <= 1.25 * SHOWN:
        return words
    kept = [False] * len(words)
    budget = SHOWN
    for k in sorted(range(len(words)), key=lambda k: (-abs(words[k].strength), k)):
        if budget <= 0:
            break
        for step in (1, -1):
            left, at = AROUND, k
            while 0 <= at < len(words) and left > 0:
                if not kept[at]:
                    kept[at] = True
                    budget -= sizes[at]
                left -= sizes[at] if at != k else 0
                at += step
    short = list[Word]()
    for word, keep in zip(words, kept, strict=True):
        longest = SHOWN if word.strength else 2 * AROUND
        if keep and len(word.text) > longest:  # letters or signs without a space
            short += [word._replace(text=word.text[:longest]), GAP]
        elif keep:
            short.append(word)
        elif not (short and short[-1].gap):
            short.append(GAP)
    return short


def _join_plain(words: list[Word]) -> list[Word]:
    """The words with neighbours that have no mark joined."""
    joined = list[Word]()
    for plain, group in groupby(words, key=lambda word: word.plain):
        some = list(group)
        joined += [Word("".join(word.text for word in some))] if plain else some
    return joined
