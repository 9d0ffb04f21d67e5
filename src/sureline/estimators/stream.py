"""Batches of rows into a model, and from a model to predictions, for texts and numbers alike.

Texts are learned by a `TextClassifier`, svmlight rows by an online classifier of rows, whose number
of features grows as larger ones come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.data import Batch, as_labels
from sureline.data.label_sets import LabelSets, are_label_sets, as_label_sets
from sureline.data.label_values import typed_labels
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.input_rows import as_rows, with_unknown
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.parallel.shards import Shards
from sureline.estimators.parallel.text_shards import TextShards
from sureline.estimators.parallel.thread_pool import ThreadPool
from sureline.estimators.text.classifier import TextClassifier
from sureline.estimators.text.passes import Choice, LabelledTexts, choose_passes
from sureline.estimators.text.pipeline import TextPipeline
from sureline.estimators.validation import check_stream_parameters, stream_weights
from sureline.features.rows import Rows
from sureline.model.drift import Change
from sureline.model.label_sets import LabelSetModel
from sureline.model.learner import COUNT_ONLY, NEW, Turn
from sureline.model.linear import LinearModel
from sureline.model.predictions import Counts, Predictions, join_predictions

Classifier = TextClassifier | OnlineClassifier


class StreamTrainer:
    """Learns batches into a classifier, one after the other; how rows are cut is irrelevant.

    Two threads share the work on every text, and learn the same model as one. More than two, or two
    that learn numbers, learn in rounds: each learns its part of the rows into a copy of the model,
    and `merge_shards` ends the round. A row that shows a new class is learned between two rounds.

    Labels to know beforehand are given as text by `classes`, and get the type of the first batch's
    labels, or else by `labels`, typed as those of the rows.
    """

    def __init__(
        self,
        classifier: Any,
        classes: Sequence[str] | None = None,
        labels: Sequence[Any] = (),
        threads: int = 1,
    ) -> None:
        self.classifier = classifier
        self._pool = ThreadPool(threads) if threads > 1 else None
        # Two threads that share the work on every text.
        pair = threads == 2 and isinstance(classifier, TextClassifier)
        self._pair = self._pool if pair else None
        self._shards: Shards[Any] | None = None
        self._named = None if classes is None else list(classes)
        self._classes: NDArray[Any] | None = as_labels(list(labels)) if labels else None

    @property
    def ordered(self) -> bool:
        """Whether rows are learned in their order, rather than in shards."""
        return self._pool is None or self._pair is not None

    @property
    def changes(self) -> list[Change]:
        """The changes in the stream so far."""
        return self.classifier.changes_ if self._fitted else []

    @property
    def in_round(self) -> bool:
        """Whether shards have learned rows that the model has not."""
        return self._shards is not None and self._shards.busy

    @property
    def _fitted(self) -> LinearModel | None:
        """The model, if it has learned anything."""
        return self.classifier.model_ if self.classifier.__sklearn_is_fitted__() else None

    @property
    def counts(self) -> Counts:
        """How much has been learned so far."""
        if self._shards is not None and self._shards.busy:
            updates, mistakes, seen = (int(count) for count in self._shards.counts)
            return Counts(seen, updates, mistakes)
        return self._fitted.counts if self._fitted else Counts()

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        if self._shards is not None and self._shards.busy:
            return self._shards.n_classes
        return int(self._fitted.classes.size) if self._fitted else 0

    @property
    def n_features(self) -> int:
        """How many features there are; within a round, how many one shard knows at most."""
        if isinstance(self._shards, TextShards) and self._shards.busy:
            return self._shards.n_features
        return count_features(self.classifier)

    def learn(self, batch: Batch, turn: Turn = NEW) -> None:
        """Learn the rows of a batch, in order.

        By its turn, rows may have been counted or learned before: these give no new feature a
        column and are not counted again.
        """
        check_kind(self.classifier, batch)
        if not len(batch):
            return
        labels = self._known_labels(batch)
        if self.ordered:
            self._learn(batch, labels, self._classes, turn)
            return
        turn = turn._replace(ordered=False)  # of a shard, which has a part of the rows
        begin = 0
        for row in self._rows_of_new_classes(labels, batch):
            self._learn(batch.slice(begin, row), labels[begin:row], self._classes, turn, self._pool)
            self.merge_shards()
            self._learn(batch.slice(row, row + 1), labels[row : row + 1], self._classes, turn)
            self._shards, begin = None, row + 1
        rest = batch.slice(begin, len(batch))
        self._learn(rest, labels[begin:], self._classes, turn, self._pool)

    def count(self, batch: Batch) -> None:
        """Count the texts of a batch and give their features columns, but learn nothing."""
        check_kind(self.classifier, batch)
        if batch.text is None:
            raise InvalidParameter(
                f"only texts can be counted first, but {batch.source or 'the input'} holds "
                "svmlight rows"
            )
        if not len(batch):
            return
        labels = self._known_labels(batch)
        # Classes that are counted must be known: otherwise a class begins when it is learned.
        kept = slice(None) if batch.weight is None else batch.weight > 0
        known = present_labels(labels[kept])
        known = known if self._classes is None else np.union1d(known, self._classes)
        before = self._fitted
        counts = before.state.counts.copy() if before else np.zeros(3, np.int64)
        clock = before.state.clock if before else 0
        self._learn(batch, labels, known, COUNT_ONLY)
        model = self._fitted
        if model:  # what was counted has not been learned
            model.state.counts[:], model.state.clock = counts, clock

    def merge_shards(self) -> None:
        """End a round: let the model have all that its shards have learned."""
        if self._shards is not None:
            model = self._shards.model
            with model.lock.learning:
                self._shards.merge()

    def settle(self) -> None:
        """Release the capacity for features that never came; learning may continue."""
        if isinstance(self.classifier, OnlineClassifier) and self._fitted:
            self._fitted.trim(self.classifier.n_features_in_)

    def _known_labels(self, batch: Batch) -> Any:
        """The labels of a batch; the first batch sets the type of those named."""
        labels = class_labels(batch.label, batch.source)
        if self._named is not None:
            self._classes, self._named = typed_labels(self._named, labels.dtype), None
        return labels

    def _rows_of_new_classes(self, labels: Any, batch: Batch) -> list[int]:
        """The rows that first show a class, in order; rows of weight 0 show none."""
        known = [self._fitted.labels] if self._fitted else []
        known += [] if self._classes is None else [self._classes]
        kept = np.arange(labels.size)
        if batch.weight is not None:
            kept = np.flatnonzero(batch.weight > 0)
        every = set(np.concatenate(known).tolist()) if known else set()
        if isinstance(labels, LabelSets):
            rows = np.repeat(np.arange(len(labels)), labels.counts)
            rows, codes = rows[np.isin(rows, kept)], labels.codes[np.isin(rows, kept)]
            _, first = np.unique(codes, return_index=True)
            return sorted({int(rows[k]) for k in first if labels.labels[codes[k]] not in every})
        values, first = np.unique(labels[kept], return_index=True)
        pairs = zip(values.tolist(), first.tolist(), strict=True)
        return sorted(int(kept[place]) for value, place in pairs if value not in every)

    def _learn(
        self,
        batch: Batch,
        labels: Any,
        classes: NDArray[Any] | None,
        turn: Turn,
        pool: ThreadPool | None = None,
    ) -> None:
        """Learn or count rows, into the model itself, or by one shard per thread of a pool."""
        if not len(batch):
            return
        classifier: Any = self.classifier
        shards: Any = self._shards
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        if batch.text is not None:
            model, weight = classifier.model_for(labels, weight)
        else:
            learner = classifier.learner()
            check_stream_parameters(classifier)
            model = classifier.model_for(learner) if shards is None else shards.model
            weight = stream_weights(classifier, learner.rule, labels, weight)
        if pool is not None and shards is None:
            kind = Shards if batch.text is None else TextShards
            shards = self._shards = kind(model, pool)
        with model.lock.learning:
            if batch.text is None:
                rows = _number_rows(classifier, batch)
                widest = int(rows.indices.max(initial=0)) + 1
                width = max(widest, getattr(classifier, "n_features_in_", 1))
                learned = model if pool is None else shards
                learned.learn(rows, labels, weight, classes, width, turn)
                classifier.n_features_in_ = width
                return
            texts = batch.text, labels, weight, classes, turn, batch.named_features
            if pool is None:
                TextPipeline(model, *texts).run(self._pair)
            else:
                shards.learn_texts(*texts)


def present_labels(labels: Any) -> NDArray[Any]:
    """The labels that occur, sorted."""
    return labels.present if isinstance(labels, LabelSets) else np.unique(labels)


def choose_passes_for(
    classifier: TextClassifier,
    sample: Batch,
    count: int,
    rng: np.random.RandomState,
    threads: int,
) -> Choice:
    """How many passes to make over so many texts, of which these, in random order, are a sample."""
    labels = class_labels(sample.label, sample.source)
    weight = np.ones(len(sample)) if sample.weight is None else sample.weight
    _, weight = classifier.model_for(labels, weight)
    texts = LabelledTexts(sample.text, labels, weight, sample.named_features)
    if threads != 2:
        return choose_passes(classifier, texts, count, rng)
    with ThreadPool(2) as pool:
        return choose_passes(classifier, texts, count, rng, pool)


def predict_batch(classifier: Any, batch: Batch) -> Predictions:
    """The predictions of a fitted classifier for the rows of a batch; labels are not needed.

    Unknown features count as in a model that has learned nothing: they move no score and make it
    less certain.
    """
    check_kind(classifier, batch)
    parts: list[Predictions]
    parts = [model.predictions(rows) for model, rows in _rows_of(classifier, batch)]
    return join_predictions(parts)


def _rows_of(classifier: Any, batch: Batch) -> Iterator[tuple[Any, Rows]]:
    """The rows of a batch, chunk by chunk, each with the model to predict them with."""
    model = classifier.model_
    if isinstance(model, LabelSetModel):
        model.threshold = classifier.threshold
    if batch.text is None:
        yield with_unknown(model, _number_rows(classifier, batch))
        return
    tokens = None
    for _, tokens in model.tokenizer.chunks(batch.text, batch.named_features):
        yield model, model.rows(tokens)
    if tokens is None:
        yield model, model.rows(model.tokenizer.read(batch.text))


def _number_rows(classifier: OnlineClassifier, batch: Batch) -> Rows:
    """Sparse rows of the classifier's dtype, all of them finite."""
    with np.errstate(over="ignore"):  # a number too large for float32 becomes an error
        matrix = csr_array(batch.matrix, dtype=classifier.dtype)
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if wrong.size:
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise DataError(
            f"{batch.source}, row {batch.first_row + row + 1}: feature "
            f"{matrix.indices[wrong[0]]} is {matrix.data[wrong[0]]}; give finite numbers that fit "
            f"{classifier.dtype}"
        )
    return as_rows(matrix)


def count_features(classifier: Any) -> int:
    """How many features a classifier, fitted or not, has seen."""
    if not classifier.__sklearn_is_fitted__():
        return 0
    of_texts = isinstance(classifier, TextClassifier)
    return int(classifier.n_features_ if of_texts else classifier.n_features_in_)


def check_kind(classifier: Any, batch: Batch) -> None:
    """Refuse texts for a classifier of numbers, and numbers for a classifier of texts."""
    takes_text = isinstance(classifier, TextClassifier)
    if takes_text != (batch.text is not None):
        takes, holds = ("texts", "svmlight rows") if takes_text else ("svmlight rows", "texts")
        raise DataError(
            f"{batch.source or 'the input'} holds {holds}, but the model takes {takes}; give it "
            f"{takes}, or train a model of the other kind"
        )


def class_labels(column: Any, source: str) -> Any:
    """A column of labels, or `LabelSets` of one of lists; numbers with fractions are none."""
    if are_label_sets(column):
        return as_label_sets(column)
    labels = as_labels(column)
    if labels.dtype.kind == "f":
        broken = np.flatnonzero(~(labels == np.floor(labels)))
        if broken.size:
            raise DataError(
                f"{source}: the label {labels[broken[0]]} is a number with a fraction, not a "
                "class; give classes, or read labels as text (label_type='text')"
            )
    return labels
