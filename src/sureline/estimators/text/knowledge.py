"""What a text classifier has learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.estimators.online import OnlineClassifier
from sureline.features.tokenizer import Scheme
from sureline.features.vocabulary import Hashing, Vocabulary
from sureline.model.learner import Learner


class Classes(NamedTuple):
    """What follows from the `labels` of the columns, to learn or classify one text.

    `codes` have the column of each label, as an array of one number; `rank` tells where each
    column's label stands among the sorted ones, `order` the columns of those, `sorted` them.
    """

    labels: NDArray[Any]
    codes: dict[Any, NDArray[np.int64]]
    rank: NDArray[np.int64]
    order: NDArray[np.int64]
    sorted: list[Any]


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
    _classes: Classes | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def learner(self) -> Learner:
        """What learns rows."""
        return self.online._learner()

    @property
    def classes(self) -> Classes:
        """The classes that there are; something must have been learned."""
        labels, known = self.online._labels, self._classes
        if known is None or known.labels is not labels:
            order = np.argsort(labels)
            codes = dict(zip(labels.tolist(), np.arange(labels.size)[:, np.newaxis], strict=True))
            known = Classes(labels, codes, np.argsort(order), order, labels[order].tolist())
            self._classes = known
        return known

    def shard(self, online: OnlineClassifier, columns: Vocabulary | Hashing) -> Knowledge:
        """The same knowledge with other columns and weights."""
        return replace(self, online=online, columns=columns)

    def __getstate__(self) -> dict[str, Any]:
        """All but the learner, which compiled code belongs to."""
        return {name: value for name, value in vars(self).items() if name != "learner"}
