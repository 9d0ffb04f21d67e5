"""From scores to probabilities: how likely it is that a text has another label than it is given.

A text has a true label j with the probability p(j), the softmax of its scores times a factor, plus
a constant per class. It is given the label k with the probability T[j, k]. Given label and scores
are known; factor, constants and T are estimated by expectation maximization, and Bayes' rule gives
the probability of each true label. So a text is suspicious where its scores speak against its
label, and the more so the more often that pair of labels is confused.

Little is known of T where there are few texts: it is drawn towards equal shares of wrong labels in
all classes, and these towards one in twenty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

PAIR_ROWS = 100.0  # texts of each class that speak for an equal share of wrong labels
WRONG_SHARE, SHARE_ROWS = 0.05, 500.0  # the share that so many texts speak for
STEPS = 100  # of expectation maximization, at most
ENOUGH = 1e-5  # gain in log likelihood per text below which it ends
FIRST_STEPS, INNER_STEPS = 20, 3  # for factor and constants
LEAST_FACTOR, MOST_FACTOR = 1e-3, 1e3
SMALLEST = 1e-12

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


class NoiseModel(NamedTuple):
    """The probability of each true label for each text, and of given labels by true ones."""

    probabilities: Floats
    transition: Floats


def fit_noise(scores: Floats, codes: Integers) -> NoiseModel:
    """Estimate how labels went wrong, from scores of models that had not learned the texts."""
    n, classes = scores.shape
    scores = scores - scores.mean(axis=1, keepdims=True)
    scores = scores / max(float(np.abs(scores).mean()), SMALLEST)
    given = np.zeros((n, classes))
    given[np.arange(n), codes] = 1.0
    link = _Link(1.0, np.zeros(classes)).fitted(scores, given, FIRST_STEPS)
    transition = _shares(np.full((classes, classes), 0.0), n)
    truth, before = given, -np.inf
    for _ in range(STEPS):
        logs = np.log(softmax(link.logits(scores), axis=1) + SMALLEST)
        logs += np.log(transition[:, codes].T)
        total = logsumexp(logs, axis=1, keepdims=True)
        truth, likelihood = np.exp(logs - total), float(total.mean())
        transition = _shares(truth.T @ given, n)
        if likelihood - before < ENOUGH:
            break
        link, before = link.fitted(scores, truth, INNER_STEPS), likelihood
    return NoiseModel(truth, transition)


def _shares(counts: Floats, n: int) -> Floats:
    """The share of each given label by true label, from counts and what is known beforehand."""
    classes = len(counts)
    wrong = float(counts.sum() - np.trace(counts))
    share = (wrong + WRONG_SHARE * SHARE_ROWS) / (n + SHARE_ROWS if counts.any() else SHARE_ROWS)
    share = min(share, 1.0 - 1.0 / classes)
    known = np.full((classes, classes), PAIR_ROWS * share / max(classes - 1, 1))
    np.fill_diagonal(known, PAIR_ROWS * (1.0 - share))
    return np.asarray((counts + known) / (counts.sum(axis=1, keepdims=True) + PAIR_ROWS))


class _Link(NamedTuple):
    """The factor of scores and the constants of classes."""

    factor: float
    constants: Floats

    def logits(self, scores: Floats) -> Floats:
        """The logarithm of probabilities, up to a constant per text."""
        return self.factor * scores + self.constants

    def fitted(self, scores: Floats, truth: Floats, steps: int) -> _Link:
        """The one that explains true labels best, after so many steps."""
        factor, constants = self
        wanted, shares = float((truth * scores).sum()), truth.sum(axis=0)
        for _ in range(steps):
            chance = softmax(factor * scores + constants, axis=1)
            constants = constants + np.log((shares + 1.0) / (chance.sum(axis=0) + 1.0))
            chance = softmax(factor * scores + constants, axis=1)
            parts = chance * scores
            mean = parts.sum(axis=1)
            slope = float((parts * scores).sum() - mean @ mean) + 1.0
            step = (wanted - float(mean.sum())) / slope
            step = float(np.clip(step, -0.5 * factor, factor))
            factor = float(np.clip(factor + step, LEAST_FACTOR, MOST_FACTOR))
        return _Link(factor, constants)
