"""One set of columns from several that grew apart, and where each of theirs went."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sureline.features.naming import Names
from sureline.features.vocabulary import (
    KEPT_NAMES,
    MOST_NAMES,
    Hashing,
    Held,
    Vocabulary,
    filled,
)

Indices = NDArray[np.intp]


def join_vocabularies(several: Sequence[Vocabulary]) -> tuple[Vocabulary, list[Indices]]:
    """All features of all vocabularies, those of the first one first, and each one's new columns.

    Texts that had a feature add up. So they do for features that have no column yet; one that has
    had texts enough when all are counted gets its column from the next text that has it.
    """
    first = several[0]
    keys = [each.keys() for each in several]
    every, first_place, inverse = np.unique(
        np.concatenate(keys), return_index=True, return_inverse=True
    )
    arrival = np.argsort(first_place, kind="stable")
    column = np.empty(every.size, np.intp)
    column[arrival] = np.arange(every.size)
    bounds = np.cumsum([0, *(each.size for each in keys)])
    maps = [column[inverse[a:b]] for a, b in pairwise(bounds)]
    seen = np.zeros(every.size, np.int64)
    for each, places in zip(several, maps, strict=True):
        np.add.at(seen, places, each.held.seen[: each.features])
    names = _joined([each.held.names for each in several], [each.features for each in several])
    names = names.kept(first_place[arrival])

    waiting, counts = _waiting(several, every)
    table = filled(every[arrival], waiting, np.minimum(counts, first.least - 1))
    joined = Vocabulary(first.least, first.most)
    sizes = np.array([every.size, every.size + waiting.size, names.letters.size])
    joined.held = Held(table, seen, sizes, names)
    return joined, maps


def _waiting(
    several: Sequence[Vocabulary], known: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Features without a column in any vocabulary, and how many texts have had each."""
    keys, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for each in several:
        waiting, seen = each.waiting()
        keys.append(waiting)
        counts.append(seen)
    every, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.zeros(every.size, np.int64)
    np.add.at(total, inverse, np.concatenate(counts))
    strange = ~np.isin(every, known)
    return every[strange], total[strange]


def join_hashings(several: Sequence[Hashing]) -> Hashing:
    """The columns, which are the same in all, with the names that any of them remembers."""
    first = several[0]
    joined = Hashing(first.features.bit_length() - 1, naming=True)
    counts = [int(each.held.sizes[0]) for each in several]
    columns = np.concatenate([each.named_columns() for each in several])
    _, places = np.unique(columns, return_index=True)
    places = np.sort(places)[: KEPT_NAMES if places.size >= MOST_NAMES else None]
    names = _joined([each.held.names for each in several], counts)
    joined.held = joined.held._replace(columns=columns, names=names)
    joined.held = joined.pruned(places)
    return joined


def _joined(several: Sequence[Names], counts: Sequence[int]) -> Names:
    """The first names of each, one behind the other."""
    ends, letters, behind = list[NDArray[np.int64]](), list[NDArray[np.uint8]](), 0
    for names, count in zip(several, counts, strict=True):
        last = int(names.ends[count - 1]) if count else 0
        ends.append(names.ends[:count] + behind)
        letters.append(names.letters[:last])
        behind += last
    return Names(np.concatenate(ends), np.concatenate(letters))
