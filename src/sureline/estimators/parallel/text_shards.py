"""Several threads for one text classifier: each reads and learns a part of the texts.

In the first pass every shard gives columns to the features that it finds; when the shards are
gathered, the features find each other by fingerprint. Later passes share the columns.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sureline.data import Given
from sureline.estimators.parallel.shards import Crew, Shards
from sureline.estimators.text.knowledge import Knowledge
from sureline.features.merge import join_hashings, join_vocabularies
from sureline.features.vocabulary import Hashing
from sureline.model.learner import NEW, Floats, Turn

if TYPE_CHECKING:
    from sureline.estimators.text.classifier import TextClassifier


class TextShards(Shards):
    """Copies of what a text classifier knows that learn texts in turns.

    Parameters
    ----------
    model : TextClassifier
        What reads the texts.
    known : Knowledge
        What it knows so far; it changes when the shards are gathered.
    crew : Crew
        The threads, one a shard.
    """

    def __init__(self, model: TextClassifier, known: Knowledge, crew: Crew) -> None:
        super().__init__(known.online, known.learner, crew, "TextClassifier")
        self.model, self.known = model, known
        self.columns = list[Any]()

    @property
    def features(self) -> int:
        """How many features there are at least: two shards may have found the same new ones."""
        return max(int(columns.features) for columns in [self.known.columns, *self.columns])

    def learn_texts(
        self,
        texts: pa.Array,
        y: NDArray[Any],
        weight: Floats,
        classes: ArrayLike | None,
        turn: Turn = NEW,
        given: Given | None = None,
        order: NDArray[np.intp] | None = None,
    ) -> None:
        """Learn texts, in some `order` if one is given, all of whose labels are known or named.

        Texts that have been read before give no new feature a column.
        """
        self.begin()
        if not self.columns:
            shared = self.known.columns
            self.columns = [shared if turn.read else shared.copy() for _ in self.onlines]

        def learn(number: int) -> None:
            own = self.turns(number, len(texts))
            if order is not None:
                own = order[own]
            if own.size:
                known = self.known.shard(self.onlines[number], self.columns[number])
                part = texts.take(pa.array(own))
                features = None if given is None else given.take(own)
                self.model._learn(
                    known, self.learner, part, y[own], weight[own], classes, turn, features
                )

        self.crew.run(learn, range(self.crew.jobs))
        self.deal(len(texts))

    def gather(self) -> None:
        """Let the model have all that its shards have learned; the next texts begin a new round."""
        known, columns = self.known, self.columns
        self.columns = []
        if not self.begun or columns[0] is known.columns:
            super().gather()
            return
        if isinstance(known.columns, Hashing):
            known.columns = join_hashings(columns)
            super().gather()
        else:
            grown = zip(columns, self.onlines, strict=True)
            used = [each for each, online in grown if online.__sklearn_is_fitted__()]
            joined, places = join_vocabularies(used, known.columns, self.crew.run)
            features, limit = joined.features + 1, self.online.memory_limit_gb
            width = self.begun[0]._state.table.shape[2]
            self.learner.layout.check(features, width, limit, self.owner)
            publish = partial(setattr, known, "columns", joined)
            self.rejoin(self.begin_with(features), places, publish)
            self.onlines = []
        count = -1
        while known.columns.full and count != known.columns.features:
            count = known.columns.features
            self.model._prune(known)
