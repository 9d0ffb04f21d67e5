"""The fitted model of texts: a linear model with the tokenizer and the columns of its features."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter, show
from sureline.features.compact_vocabulary import NAMELESS
from sureline.features.hashing import Hashing
from sureline.features.rows import Rows
from sureline.features.tokenizer import TokenizedTexts, Tokenizer
from sureline.features.vocabulary import KEPT_SHARE, Vocabulary, largest
from sureline.kernels.compiling import defer_signals
from sureline.model.explanation import Explanation, FeatureWeight, explain_row, lower_bound
from sureline.model.learner import Floats, Learner
from sureline.model.linear import LinearModel
from sureline.model.predictions import Labels
from sureline.model.sparse_state import SparseState
from sureline.model.state import State

FEATURES_AT_ONCE = 2**12  # whose weights are looked at together
TWO_CLASSES, WEIGHT_ONE, ONE_ROW = np.arange(2), np.ones(1), np.zeros(1, np.int64)


class ClassIndex(NamedTuple):
    """What learning or classifying one text needs to know of the `labels` of the columns.

    `codes` has the column of each label, as an array of one number; `rank` the position of each
    column's label among the sorted ones; `order` the columns of these; `sorted` the sorted labels.
    """

    labels: Labels
    codes: dict[Any, NDArray[np.int64]]
    rank: NDArray[np.int64]
    order: NDArray[np.int64]
    sorted: list[Any]


class TextModel(LinearModel):
    """A linear classifier of texts.

    Parameters
    ----------
    learner : Learner
        The rule with its constants, covariance and scheme.
    tokenizer : Tokenizer
        Which features a text has.
    columns : Vocabulary or Hashing
        The column of each feature.
    normalize : bool
        Whether every row is scaled to length 1.
    memory_limit_gb : float
        The most memory the state may take.
    """

    def __init__(
        self,
        learner: Learner,
        tokenizer: Tokenizer,
        columns: Vocabulary | Hashing,
        normalize: bool,
        memory_limit_gb: float,
    ) -> None:
        super().__init__(learner, memory_limit_gb, "TextClassifier")
        self.tokenizer, self.columns, self.normalize = tokenizer, columns, normalize
        self._index: ClassIndex | None = None

    def with_columns(self, columns: Vocabulary | Hashing, state: State | None = None) -> Self:
        """A model of the same kind with other columns, on another state or on a fresh one."""
        fresh = self.fresh_state(0, 0) if state is None else state
        model = self.on(fresh, self.labels[:0] if state is None else None)
        model.columns = columns
        return model

    @property
    def n_features(self) -> int:
        """How many features have a column."""
        return self.columns.features

    @property
    def class_index(self) -> ClassIndex:
        """The columns by label; made anew when classes come or go."""
        index = self._index
        if index is None or index.labels is not self.labels:
            labels = self.labels
            order = np.argsort(labels)
            codes = dict(zip(labels.tolist(), np.arange(labels.size)[:, np.newaxis], strict=True))
            index = ClassIndex(labels, codes, np.argsort(order), order, labels[order].tolist())
            self._index = index
        return index

    def rows(self, tokens: TokenizedTexts, out: Rows | None = None) -> Rows:
        """Rows of texts to be classified."""
        columns = self.columns
        return columns.look_up(tokens, self.normalize, self.learner.dtype, columns.unknown, out)

    # -- one text ------------------------------------------------------------------------------

    def learn_one(self, text: Any, code: NDArray[np.int64], weight: float) -> None:
        """Learn one text of the class in column ``code[0]``."""
        columns, learner, lock = self.columns, self.learner, self.lock
        single = self.tokenizer.read_one(text, learn=True)
        tokens, state = single.tokens, self.state
        if columns.most_after(tokens.indptr.item(1)) >= state.features:
            features = columns.reserve(tokens, 0) + 1
            state = self.state = state.with_features(features, self.memory_limit_gb, self.owner)
        out = single.rows(learner.dtype)
        rank = self.class_index.rank if state.wide else TWO_CLASSES
        weights = WEIGHT_ONE if weight == 1.0 else np.array([weight])
        sparse = isinstance(state, SparseState)
        monitor, mistakes = None if sparse else self.monitor, state.counts.item(1)
        with lock.write():
            rows, entered = columns.enter(tokens, 0, self.normalize, learner.dtype, out)
            if not entered:  # for want of capacity
                columns.reserve(tokens, 0)
                rows, _ = columns.enter(tokens, 0, self.normalize, learner.dtype, out)
            learner.learn_one(state, rows, code, weights, rank)
        if monitor is not None and monitor.count(1, state.counts.item(1) - mistakes):
            monitor.act(self, rows, self.labels[code], weights, ONE_ROW)
        if columns.full:
            self.prune()

    def predict_one(self, text: Any) -> Any:
        """The label of one text: the class of the highest mean score."""
        with self.lock.read():
            single, index = self.tokenizer.read_one(text), self.class_index
            if len(index.sorted) == 1:
                return index.sorted[0]
            rows = self.rows(single.tokens, single.rows(self.learner.dtype))
            scores = self.learner.scores(self.state, rows)[0]
            best = scores[index.order].argmax() if self.state.wide else scores.item() > 0.0
            return index.sorted[best]

    # -- columns -------------------------------------------------------------------------------

    def prune(self) -> None:
        """Forget the least certain features, or with hashing the names of the lightest."""
        columns, state = self.columns, self.state
        if isinstance(columns, Hashing):
            named = columns.named_columns()
            weights = np.abs(self.learner.weights(state, named + 1)).max(axis=1)
            names = columns.forgetful(weights)
            with self.lock.write():
                columns.arrays = names
            return
        count = columns.features
        if self.learner.forgetting is not None:
            with self.lock.write():
                self.learner.forgetting.settle(state)
        certainty: NDArray[Any]
        if isinstance(state, SparseState):
            certainty = state.certainty(self.has_variance)[:count]
        elif self.has_variance and not state.covariance.size:
            certainty = -state.table[1 : count + 1, 1, : state.used].min(axis=1)
        else:
            certainty = np.abs(self.learner.weights(state)[1 : count + 1]).max(axis=1)
        kept = largest(certainty, int(KEPT_SHARE * count))
        arrays, state = columns.pruned(kept), state.with_rows(kept)
        others = self.monitor.others() if self.monitor else []
        states = [other.state.resized(count).with_rows(kept) for other in others]
        with defer_signals(), self.lock.write():
            columns.arrays, self.state = arrays, state
            for other, pruned in zip(others, states, strict=True):
                other.state = pruned

    @property
    def named(self) -> bool:
        """Whether features have names."""
        return not self.learner.compact

    def check_names(self) -> None:
        """Refuse what needs the names of features where there are none."""
        if not self.named:
            raise InvalidParameter(f"{self.owner}: {NAMELESS}")

    def name(self, feature: int) -> str:
        """The name of a feature: its words, or its characters in angle quotes."""
        return self.columns.name(feature)

    # -- explanations --------------------------------------------------------------------------

    def explain(self, text: Any, top: int) -> Explanation:
        """What each feature of a text adds to each class's score; `top` of them are listed.

        A row of several columns is a dictionary.
        """
        row = self.tokenizer.as_rows([text])
        with self.lock.read():
            shown, places = self.tokenizer.places(row)
            tokens = self.tokenizer.read(row)
            names = self._spelled(tokens)
            return explain_row(self, self.rows(tokens), names, top, shown, places)

    def _spelled(self, tokens: TokenizedTexts) -> list[str]:
        """The names of one text's features, as the text has them, without those left out."""
        columns, names = self.columns, []
        left_out = columns.unknown < 0
        found = columns.find(tokens.keys[: tokens.indptr[1]])
        for k in np.flatnonzero((found >= 0) | (not left_out)).tolist():
            start, length = int(tokens.starts[k]), int(tokens.lengths[k])
            word = tokens.low[start : start + abs(length)].tobytes().decode()
            names.append(tokens.prefix(k) + (f"‹{word}›" if length < 0 else word))
        return names

    def top_features(self, label: Any, n: int) -> list[FeatureWeight]:
        """The features that speak most certainly for a class."""
        self.check_names()
        classes = self.classes.tolist()
        if label not in classes:
            raise InvalidParameter(
                f"{self.owner}: there is no class {show(label)}; there are "
                f"{', '.join(map(repr, classes))}"
            )
        k = classes.index(label)
        with self.lock.read():
            features = np.arange(self.columns.features)
            if isinstance(self.state, SparseState):  # all others have a weight of 0
                met = self.state.features_of(int(np.argsort(self.labels)[k]))
                features = met[met < self.columns.features]
            parts = [
                self.weights(features[begin : begin + FEATURES_AT_ONCE])
                for begin in range(0, max(features.size, 1), FEATURES_AT_ONCE)
            ]
            weights: Floats = np.concatenate([means[:, k] for means, _ in parts])
            spreads = [found[:, k] for _, found in parts if found is not None]
            spread = np.concatenate(spreads) if spreads else None
            bound = weights if spread is None else lower_bound(weights, np.sqrt(spread))
            best = np.argsort(-bound, kind="stable")[: min(n, bound.size)]
            return [
                FeatureWeight(
                    self.columns.name(int(features[j])),
                    float(weights[j]),
                    None if spread is None else float(spread[j]),
                )
                for j in best
            ]
