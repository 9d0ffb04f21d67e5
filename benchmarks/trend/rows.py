"""One pass over sparse rows, and one row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from speed.zipf import count_once, draw_words

from sureline import AROWClassifier, CWClassifier, PAClassifier

ROWS, LENGTH = 10_000, 120


def draw(features: int, classes: int) -> tuple[Any, np.ndarray]:
    """Rows of words by Zipf's law, with labels from a linear concept."""
    rng = np.random.default_rng(0)
    X = count_once(draw_words(rng, ROWS, LENGTH, features), features)
    scores = X @ rng.standard_normal((features, classes)).astype(np.float32)
    return X, np.asarray(scores).argmax(axis=1)


class OnePass:
    """`fit`, one pass."""

    params = (["arow", "cw", "pa"], [2, 20])
    param_names = ("rule", "classes")

    def setup(self, rule: str, classes: int) -> None:
        """Draw rows, and compile."""
        cls: Any = {"arow": AROWClassifier, "cw": CWClassifier, "pa": PAClassifier}[rule]
        self.model = cls(max_iter=1, shuffle=False)
        self.X, self.y = draw(2**18, classes)
        self.model.fit(self.X, self.y)

    def time_fit(self, rule: str, classes: int) -> None:
        """Learn all rows."""
        self.model.fit(self.X, self.y)

    def time_predict_proba(self, rule: str, classes: int) -> None:
        """Say how likely each class is, for rules that can."""
        if rule != "pa":
            self.model.predict_proba(self.X)


class OneRow:
    """`partial_fit` of single rows."""

    def setup(self) -> None:
        """Draw rows, and begin."""
        X, y = draw(2**18, 20)
        self.model = AROWClassifier().partial_fit(X, y)
        self.rows = [(X[i : i + 1], y[i : i + 1]) for i in range(500)]

    def time_partial_fit(self) -> None:
        """Learn 500 rows, one per call."""
        for X, y in self.rows:
            self.model.partial_fit(X, y)
