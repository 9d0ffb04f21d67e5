"""Several threads for one model of texts: each reads and learns part of the texts.

In the first pass every shard gives columns to the features that it finds; when the shards are
merged, features are matched by fingerprint. Later passes share the columns.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sureline.data import NamedFeatures
from sureline.estimators.parallel.shards import Shards
from sureline.estimators.text.pipeline import TextPipeline
from sureline.features.hashing import Hashing
from sureline.features.merge import merge_hashings, merge_vocabularies
from sureline.features.table_tokenizer import TableTokenizer
from sureline.model.learner import NEW, Floats, Turn
from sureline.model.text import TextModel


class TextShards(Shards[TextModel]):
    """Copies of a model of texts that learn in turn."""

    @property
    def n_features(self) -> int:
        """How many features there are at least: two shards may have found the same new ones."""
        return max(model.n_features for model in [self.model, *self.shards])

    def learn_texts(
        self,
        texts: pa.LargeStringArray,
        y: NDArray[Any],
        weight: Floats,
        classes: ArrayLike | None,
        turn: Turn = NEW,
        named: NamedFeatures | None = None,
        order: NDArray[np.intp] | None = None,
    ) -> None:
        """Learn texts, in an `order` if one is given, all of whose labels are known or named."""
        tokenizer = self.model.tokenizer
        if isinstance(tokenizer, TableTokenizer) and not turn.counted:
            rows = np.arange(len(texts)) if order is None else order
            # Shards get numbers that are standardized already, by what came before in their order.
            texts = tokenizer.learned(texts.take(pa.array(rows)), weight[rows] > 0.0)
            y, weight, order = y[rows], weight[rows], None
            named = None if named is None else named.take(rows)
        if not self.shards:
            self.begin()
            if not turn.counted:  # new features get columns
                for shard in self.shards:
                    shard.columns = self.model.columns.copy()

        def learn(number: int) -> None:
            own = self.turns(number, len(texts))
            if order is not None:
                own = order[own]
            if own.size:
                part = texts.take(pa.array(own))
                features = None if named is None else named.take(own)
                shard = self.shards[number]
                TextPipeline(shard, part, y[own], weight[own], classes, turn, features).run()

        self.run(learn, len(texts))

    def merge(self) -> None:
        """Let the model have all that its shards have learned; the next texts begin a new round."""
        model, shards = self.model, self.shards
        if not self.fitted or shards[0].columns is model.columns:
            super().merge()
            return
        if isinstance(model.columns, Hashing):
            columns: list[Any] = [shard.columns for shard in shards]
            model.columns = merge_hashings(columns)
            super().merge()
        else:
            grown: list[Any] = [shard.columns for shard in self.fitted]
            merged, places = merge_vocabularies(grown, model.columns, self.pool.run)
            width = self.fitted[0].state.table.shape[2]
            features = merged.features + 1
            layout = model.learner.layout
            layout.check(features, width, model.memory_limit_gb, model.owner)
            publish = partial(setattr, model, "columns", merged)
            self.merge_states(self.common_start(features), places, publish)
            self.shards = []
        count = -1
        while model.columns.full and count != model.columns.features:
            count = model.columns.features
            model.prune()
