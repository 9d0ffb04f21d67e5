"""Texts that are the same or nearly the same, found in time linear in their length.

Nearly the same are texts that have four fifths of their features in common (the Jaccard index of
words and pairs of words). Candidates come from MinHash with one permutation: features are hashed
and fall into buckets, the smallest hash of each bucket is kept, and three buckets make a band.
Texts that agree in a band are compared with the first and the one before that do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from sureline.evaluation.label_errors.features import TextRows, scramble

NEARLY = 0.8  # of the features that two texts have are in both
BANDS, WIDTH = 8, 3  # of buckets; texts at the limit share no band once in 300 times
AT_ONCE = 2**13  # pairs that are compared together
EMPTY = np.uint64(2**64 - 1)

Integers = NDArray[np.intp]


class Duplicates(NamedTuple):
    """For each text, the number of a group: of identical texts, and of nearly the same ones."""

    identical: Integers
    similar: Integers

    def groups(self, of: Integers) -> list[Integers]:
        """The rows of each group of two or more, in order of the first."""
        several = np.flatnonzero(np.bincount(of)[of] > 1)
        order = several[np.argsort(of[several], kind="stable")]
        cuts = np.flatnonzero(np.diff(of[order])) + 1
        groups = np.split(order, cuts) if order.size else []
        return sorted(groups, key=lambda rows: int(rows[0]))


def find_duplicates(texts: pa.LargeStringArray, read: TextRows) -> Duplicates:
    """Groups of texts that are identical, and of those that are nearly the same."""
    identical = np.asarray(texts.dictionary_encode().indices.to_numpy(), np.intp)
    # Texts without features are the same only if they are identical.
    key = np.where(read.sizes > 0, read.prints, scramble(identical.astype(np.uint64)))
    first, of = np.unique(key, return_index=True, return_inverse=True)[1:]
    some = first[read.sizes[first] > 0]
    pairs = _similar_pairs(read, some)
    left, right = np.concatenate([of[pairs[:, 0]], of]), np.concatenate([of[pairs[:, 1]], of])
    graph = scipy.sparse.coo_array((np.ones(left.size), (left, right)), (first.size, first.size))
    found = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    return Duplicates(identical, np.asarray(found[of], np.intp))


def _similar_pairs(read: TextRows, some: Integers) -> NDArray[np.intp]:
    """Pairs among some texts that are nearly the same, enough to connect every group of them."""
    found = [np.zeros((0, 2), np.intp)]
    if some.size > 1:
        candidates = _candidates(_signatures(read, some))
        binary = _binary(read)
        for begin in range(0, len(candidates), AT_ONCE):
            pairs = some[candidates[begin : begin + AT_ONCE]]
            left, right = pairs.T
            common = np.asarray(binary[left].multiply(binary[right]).sum(axis=1)).ravel()
            either = read.sizes[left] + read.sizes[right] - common
            found.append(pairs[common >= NEARLY * either])
    return np.concatenate(found)


def _signatures(read: TextRows, some: Integers) -> NDArray[np.uint64]:
    """A number for each text and band."""
    rows = read.rows.take(some)
    buckets = BANDS * WIDTH
    hashes = scramble(np.arange(read.features, dtype=np.uint64))
    bucket = (hashes % np.uint64(buckets)).astype(np.int64)
    owner = np.repeat(np.arange(len(rows)) * buckets, np.diff(rows.indptr))
    smallest = np.full(len(rows) * buckets, EMPTY)
    size = int(rows.indptr[-1])
    index = rows.indices[:size]
    np.minimum.at(smallest, owner + bucket[index], hashes[index])
    least = smallest.reshape(-1, buckets)
    for _ in range(buckets):  # an empty bucket has what the next one has
        empty = least == EMPTY
        if not empty.any():
            break
        least = np.where(empty, np.roll(least, -1, axis=1), least)
    bands = least.reshape(-1, BANDS, WIDTH)
    with np.errstate(over="ignore"):
        return np.asarray(scramble(scramble(bands[..., 0]) + bands[..., 1]) + bands[..., 2])


def _candidates(signatures: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Pairs of texts that agree in a band: each with the first, and with the one before."""
    made = [np.zeros((0, 2), np.intp)]
    for band in signatures.T:
        order = np.argsort(band, kind="stable")
        new = np.concatenate([[True], np.diff(band[order].astype(np.int64)) != 0])
        first = order[np.maximum.accumulate(np.where(new, np.arange(order.size), 0))]
        later = np.flatnonzero(~new)
        made += [
            np.column_stack([first[later], order[later]]),
            np.column_stack([order[later - 1], order[later]]),
        ]
    return np.unique(np.concatenate(made), axis=0)


def _binary(read: TextRows) -> scipy.sparse.csr_array:
    """Which text has which feature."""
    rows = read.rows
    ones = np.ones(rows.indices.size, np.float32)
    return scipy.sparse.csr_array(
        (ones, rows.indices, rows.indptr), (len(rows), max(read.features, 1))
    )
