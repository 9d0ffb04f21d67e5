"""From scores to probabilities: how likely it is that a text has another label than it is given.

A text has a true label j with the probability p(j), the softmax of its scores times a factor, plus
a constant per class. It is given the label k with the probability T[j, k]. Given label and scores
are known; factor, constants and T are estimated by expectation maximization, and Bayes' rule gives
the probability of each true label. So a text is suspicious where its scores speak against its
label, and the more so the more often that pair of labels is confused.

Little is known of T where there are few texts: it is drawn towards equal shares of wrong labels in
all classes, and these towards one in twenty. In the end, there
is taken to be one text whose scores show nothing for ten with wrong labels, so that no probability
is beyond what such a model can know, and texts whose scores are extreme are ranked by how well
their label fits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PAIR_ROWS = 300.0  # texts of each class that speak for an equal share of wrong labels
WRONG_SHARE, SHARE_ROWS = 0.05, 500.0  # the share that so many texts speak for
FIRST_STEPS, STEPS = 20, 200  # taking all labels for right, and of expectation maximization
ENOUGH = 1e-5  # change of the log likelihood per text below which it ends
UNINFORMED = 0.1  # texts whose scores show nothing, as a share of those with wrong labels
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
    scores /= max(float(np.abs(scores).mean()), SMALLEST)
    given = np.zeros((n, classes))
    given[np.arange(n), codes] = 1.0
    link = _Link(1.0, np.zeros(classes))
    for _ in range(FIRST_STEPS):
        link = link.improved(scores, link.chances(scores), given)
    transition, truth, before = _transition(np.zeros((classes, classes))), given, -np.inf
    for _ in range(STEPS):
        chance = link.chances(scores)
        truth = chance * transition.T[codes] + SMALLEST
        total = truth.sum(axis=1, keepdims=True)
        truth /= total
        likelihood = float(np.log(total).mean())
        if abs(likelihood - before) < ENOUGH:
            break
        transition = _transition(truth.T @ given)
        link, before = link.improved(scores, chance, truth), likelihood
    blind = UNINFORMED * (1.0 - float((truth * given).sum()) / n)
    chance = (1.0 - blind) * link.chances(scores) + blind * given.mean(axis=0)
    truth = chance * transition.T[codes]
    return NoiseModel(truth / truth.sum(axis=1, keepdims=True), transition)


def _transition(counts: Floats) -> Floats:
    """The share of each given label by true label, from counts and what is known beforehand."""
    classes, n = len(counts), float(counts.sum())
    wrong = n - float(np.trace(counts))
    share = (wrong + WRONG_SHARE * SHARE_ROWS) / (n + SHARE_ROWS)
    known = np.full((classes, classes), PAIR_ROWS * share / (classes - 1))
    np.fill_diagonal(known, PAIR_ROWS * (1.0 - share))
    return np.asarray((counts + known) / (counts.sum(axis=1, keepdims=True) + PAIR_ROWS))


class _Link(NamedTuple):
    """The factor of scores and the constants of classes."""

    factor: float
    constants: Floats

    def chances(self, scores: Floats) -> Floats:
        """The probability of each true label."""
        logits = self.factor * scores + self.constants
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def improved(self, scores: Floats, chance: Floats, truth: Floats) -> _Link:
        """One that explains true labels better, by a step; `chance` is what this one gives."""
        constants = self.constants + np.log((truth.sum(axis=0) + 1.0) / (chance.sum(axis=0) + 1.0))
        mean = np.einsum("ij,ij->i", chance, scores)
        slope = float(np.einsum("ij,ij,ij->", chance, scores, scores) - mean @ mean) + 1.0
        step = (float(np.einsum("ij,ij->", truth, scores)) - float(mean.sum())) / slope
        step = float(np.clip(step, -0.5 * self.factor, self.factor))
        factor = float(np.clip(self.factor + step, LEAST_FACTOR, MOST_FACTOR))
        return _Link(factor, constants)
