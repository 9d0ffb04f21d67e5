"""What models that have not learned a text say of it: scores without folds.

Texts are learned in a random order, each scored just before, and in the same order backwards. The
two models that score a text have learned all other texts between them, in two passes instead of
the many of a cross-validation. The sums of their scores rank the labels. Texts that are nearly the
same are scored together, before any of them is learned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sureline.estimators import TextClassifier
from sureline.evaluation.label_errors.features import TextRows
from sureline.model.linear import LinearModel

ORDERS = 2  # each of them forwards and backwards
LARGE = 3_000  # texts from which on one order is enough
BLOCKS = 30  # of texts that are scored, then learned; later ones are longer
FIRST_BLOCK = 400  # the first has a text of so many, or `FEWEST`
FEWEST = 10

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def cross_scores(
    classifier: TextClassifier,
    read: TextRows,
    codes: Integers,
    classes: int,
    groups: Integers,
    rng: np.random.Generator,
) -> Floats:
    """The score of each class for each text, of shape (n, classes).

    `codes` has the label of each text as a number, `groups` which texts stay together.
    """
    scores = np.zeros((codes.size, classes))
    plain = clone(classifier).set_params(calibration=None, drift=None)  # which scores do not need
    every = np.arange(int(groups.max(initial=0)) + 1)
    for _ in range(ORDERS if codes.size < LARGE else 1):
        place = rng.permutation(every)[groups]
        order = np.argsort(place, kind="stable")
        for each in (order, order[::-1]):
            _score(plain, read, codes, groups, each, scores)
    return scores


def _score(
    classifier: TextClassifier,
    read: TextRows,
    codes: Integers,
    groups: Integers,
    order: Integers,
    scores: Floats,
) -> None:
    """Add the scores of texts in this order, each before it is learned."""
    _, fresh = classifier.begin()
    model = LinearModel(fresh.learner, fresh.memory_limit_gb, fresh.owner)
    rows, y, weight = read.rows.take(order), codes[order], np.ones(order.size)
    known = np.arange(scores.shape[1])
    begin = 0
    for end in _block_ends(groups[order]):
        block = rows.part(begin, end)
        if begin:
            found = model.scores(block)
            both = found if found.shape[1] > 1 else np.column_stack([-found[:, 0], found[:, 0]])
            scores[order[begin:end]] += both
        model.learn(block, y[begin:end], weight[begin:end], known, read.features)
        begin = end


def _block_ends(groups: Integers) -> list[int]:
    """Where blocks of texts end; they do not cut a group."""
    n = groups.size
    ends = np.flatnonzero(np.diff(groups)) + 1  # of groups
    ends = np.append(ends, n)
    first = min(n, max(FEWEST, n // FIRST_BLOCK))
    wanted = np.geomspace(first, n, BLOCKS).round()
    places = np.minimum(np.searchsorted(ends, wanted), ends.size - 1)
    return [int(ends[place]) for place in np.unique(places)]
