"""Merging vocabularies, or hashed columns with their names, that grew apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.features.hashing import KEPT_NAMES, MOST_NAMES, Hashing
from sureline.features.names import Names
from sureline.features.vocabulary import SMALLEST, Vocabulary, fill_table, move_entries
from sureline.kernels.text.arguments import VocabularyArrays
from sureline.kernels.text.vocabulary import PRUNE
from sureline.kernels.text.vocabulary_merge import COPY_NAMES, ENTER_KEYS

Indices = NDArray[np.intp]
Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]
# Applies a function to each item, perhaps in threads, and returns the results in order.
Run = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]


def run_serially(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Apply a function to each item, without threads."""
    return [function(item) for item in items]


def merge_vocabularies(
    several: Sequence[Vocabulary], begun: Vocabulary | None = None, run: Run = run_serially
) -> tuple[Vocabulary, list[Indices]]:
    """All features of all vocabularies, and the new column of each one's.

    The features of the first come first; or those of `begun`, if all are copies of it that have
    grown. Counts of texts add up, and what `begun` had counted counts once, also for features that
    have no column yet: one that is frequent enough now gets its column with its next text.
    """
    first = begun if begun is not None and begun.features else several[0]
    others = [each for each in several if each is not first]
    waiting, counts = _waiting(several, begun)
    capacity = first.features + sum(each.features for each in others) + waiting.size
    table = np.zeros((1 << int(2 * capacity + SMALLEST).bit_length(), 2), np.uint64)

    every = [first, *others]
    names = _reserve_names(every)

    def prepare(each: Vocabulary) -> Keys:
        if each is not first:
            return each.keys()
        PRUNE.compiled("float64")(first.arrays.table, np.arange(first.features), table)
        return table[:0, 0]

    keys = run(prepare, every)
    places = [np.arange(first.features)]
    sizes = [first.features]
    for own in keys[1:]:
        places.append(np.empty(own.size, np.int64))
        sizes.append(ENTER_KEYS.compiled("float64")(own, table, sizes[-1], places[-1]))
    maps = {id(each): own for each, own in zip(every, places, strict=True)}
    seen, letters = run(
        lambda add: add(),
        [
            lambda: _seen(several, begun, maps, sizes[-1]),
            lambda: _fill_names(names, every, places, sizes),
        ],
    )
    unknown = ~_known(waiting, table)
    entries = np.column_stack([waiting, (-np.minimum(counts, first.least - 1)).view(np.uint64)])
    move_entries(np.ascontiguousarray(entries[unknown]), table)
    merged = Vocabulary(first.least, first.most)
    taken = sizes[-1] + int(np.count_nonzero(unknown))
    merged.arrays = VocabularyArrays(table, seen, np.array([sizes[-1], taken, letters]), names)
    return merged, [maps[id(each)] for each in several]


def _known(keys: Keys, table: Keys) -> NDArray[np.bool_]:
    """Which fingerprints the table has."""
    return np.isin(keys, table[:, 0], kind="sort") if keys.size else np.zeros(0, np.bool_)


def _seen(
    several: Sequence[Vocabulary],
    begun: Vocabulary | None,
    maps: dict[int, Indices],
    size: int,
) -> Counts:
    """How many texts have had each feature."""
    seen = np.zeros(size, np.int64)
    old = 0 if begun is None else begun.features
    before = seen[:0] if begun is None else begun.arrays.seen[:old]
    seen[:old] = before
    for each in several:
        places, own = maps[id(each)], each.arrays.seen[: each.features]
        if old:
            own, known = own.copy(), places < old
            own[known] -= np.minimum(own[known], before[places[known]])
        seen[places] += own
    return seen


def _reserve_names(several: Sequence[Vocabulary]) -> Names:
    """Capacity for the names of all features."""
    letters = sum(int(each.arrays.sizes[2]) for each in several)
    features = sum(each.features for each in several)
    return Names(np.zeros(features, np.int64), np.empty(letters, np.uint8))


def _fill_names(
    names: Names,
    several: Sequence[Vocabulary],
    places: Sequence[Indices],
    sizes: Sequence[int],
) -> int:
    """Copy the names of the first, then those that each of the others adds; return their bytes."""
    first = several[0]
    last = int(first.arrays.sizes[2])
    names.ends[: first.features] = first.arrays.names.ends[: first.features]
    names.letters[:last] = first.arrays.names.letters[:last]
    for each, own, before in zip(several[1:], places[1:], sizes[:-1], strict=True):
        last = COPY_NAMES.loop("float64")(each.arrays.names, own, before, names)
    return last


def _waiting(several: Sequence[Vocabulary], begun: Vocabulary | None) -> tuple[Keys, Counts]:
    """Features without a column in some vocabularies, and how many texts have had each."""
    if several[0].least == 1:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    parts = [] if begun is None else [begun.waiting()]
    for each in several:
        keys, counts = each.waiting(begun)
        parts.append((keys, np.maximum(counts, 0)))
    return _sum_waiting(*parts)


def grow_vocabulary(
    begun: Vocabulary,
    seen: tuple[Keys, Counts],
    waiting: tuple[Keys, Counts],
    named: tuple[Keys, Names],
) -> Vocabulary:
    """A vocabulary with the features that copies of it have added, the most frequent first.

    The copies have `seen` features in so many more texts, and others that are `waiting` for a
    column; `named` are the names of the new ones. All are by fingerprint, in any order.
    """
    before, (keys, more) = begun.keys(), seen
    place = begun.find(keys)
    known = place >= 0
    had = begun.arrays.seen[: before.size].copy()
    had[place[known]] += more[known]
    new, new_seen = keys[~known], more[~known]
    order = np.lexsort((new, -new_seen))
    new, new_seen = new[order], new_seen[order]
    by_key = np.argsort(named[0])
    own = named[1].kept(by_key[np.searchsorted(named[0], new, sorter=by_key)])
    names = Names.concatenated([begun.arrays.names, own], [before.size, new.size])
    every = np.concatenate([before, new])
    waiting_keys, counts = _sum_waiting(begun.waiting(), waiting)
    left = ~np.isin(waiting_keys, every, kind="sort") & (counts > 0)
    waiting_keys, counts = waiting_keys[left], np.minimum(counts[left], begun.least - 1)
    grown = Vocabulary(begun.least, begun.most)
    sizes = np.array([every.size, every.size + waiting_keys.size, names.letters.size])
    table = fill_table(every, waiting_keys, counts)
    grown.arrays = VocabularyArrays(table, np.concatenate([had, new_seen]), sizes, names)
    return grown


def _sum_waiting(*several: tuple[Keys, Counts]) -> tuple[Keys, Counts]:
    """All fingerprints, sorted, and the sum of the counts of each."""
    keys, counts = (np.concatenate(each) for each in zip(*several, strict=True))
    every, inverse = np.unique(keys, return_inverse=True)
    total = np.zeros(every.size, np.int64)
    np.add.at(total, inverse, counts)
    return every, total


def merge_hashings(several: Sequence[Hashing]) -> Hashing:
    """The columns, the same in all, with the names that any of them remembers."""
    first = several[0]
    naming = bool(first.arrays.bits.size)
    merged = Hashing(first.features.bit_length() - 1, naming)
    if not naming:
        return merged
    counts = [int(each.arrays.sizes[0]) for each in several]
    columns = np.concatenate([each.named_columns() for each in several])
    _, places = np.unique(columns, return_index=True)
    crowded = places.size >= MOST_NAMES
    places = np.sort(places)[: KEPT_NAMES if crowded else None]
    names = Names.concatenated([each.arrays.names for each in several], counts)
    merged.arrays = merged.arrays._replace(columns=columns, names=names)
    since = max(int(crowded), *(int(each.arrays.sizes[1]) for each in several))
    merged.arrays = merged.pruned(places, since)
    return merged
