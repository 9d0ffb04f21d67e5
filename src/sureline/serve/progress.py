"""How often models are wrong on examples, just before they learn them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from sureline.estimators import TextClassifier

WINDOW = 1_000  # examples of which the recent error is taken


@dataclass
class Errors:
    """How often a model was wrong before it learned, over all examples and over recent ones.

    `expected` has the probability of a mistake that it gave for each of the recent ones.
    """

    examples: int = 0
    mistakes: int = 0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    expected: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def count(self, wrong: bool, probability: float | None) -> None:
        """Count an example."""
        self.examples += 1
        self.mistakes += wrong
        self.recent.append(wrong)
        if probability is not None:
            self.expected.append(1.0 - probability)

    @property
    def calibration_error(self) -> float:
        """How far the share of recent mistakes and their mean probability differ."""
        wrong, expected = list(self.recent), list(self.expected)
        if not wrong or not expected:
            return 0.0
        return abs(sum(wrong) / len(wrong) - sum(expected) / len(expected))


@dataclass
class Shadow:
    """A candidate that learns what the model learns."""

    name: str
    model: TextClassifier
    since: int
    errors: Errors = field(default_factory=Errors)
