"""What a text classifier has learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.estimators.learner import Learner
from sureline.estimators.online import OnlineClassifier
from sureline.features.scheme import Scheme
from sureline.features.vocabulary import Hashing, Vocabulary

Codes = tuple[NDArray[Any], dict[Any, int], NDArray[np.int64]]


@dataclass
class Knowledge:
    """What a text classifier has learned: how to read, which columns there are, and the weights.

    `options` are the parameters that it reads texts by. The parameters of `online` never change, so
    neither does its learner.
    """

    scheme: Scheme
    columns: Vocabulary | Hashing
    online: OnlineClassifier
    options: tuple[Any, ...]
    _codes: Codes | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def learner(self) -> Learner:
        """What learns rows."""
        return self.online._learner()

    @property
    def codes(self) -> tuple[dict[Any, int], NDArray[np.int64]]:
        """The column of each label, and where each column's label stands among the sorted ones."""
        labels, known = self.online._labels, self._codes
        if known is None or known[0] is not labels:
            rank = np.argsort(np.argsort(labels))
            known = labels, dict(zip(labels.tolist(), range(labels.size), strict=True)), rank
            self._codes = known
        return known[1:]

    def shard(self, online: OnlineClassifier, columns: Vocabulary | Hashing) -> Knowledge:
        """The same knowledge with other columns and weights."""
        return replace(self, online=online, columns=columns)

    def __getstate__(self) -> dict[str, Any]:
        """All but the learner, which compiled code belongs to."""
        return {name: value for name, value in vars(self).items() if name != "learner"}
