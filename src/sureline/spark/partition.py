"""What an executor does with one partition: learn its rows, and emit what was learned."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data import as_labels
from sureline.estimators import TextClassifier
from sureline.estimators.stream import StreamTrainer
from sureline.features.hashing import Hashing
from sureline.features.vocabulary import Vocabulary
from sureline.model.learner import AGAIN, NEW
from sureline.model.merge.algebra import How
from sureline.model.merge.sums import added_by, calibration_since, counts_since, totals_since
from sureline.spark.batches import LABEL, as_batch, check_labels, drop_missing
from sureline.spark.sum_rows import Counters, Kind, RowWriter

Array = NDArray[Any]


@dataclass(frozen=True)
class PartitionTask:
    """How to learn a partition, from the broadcast model `start`.

    `how` is the way in which the partitions' models will be merged, and `sums` are the names of the
    sums of a weight. With `again`, an earlier round has learned these rows, so that no new feature
    gets a column. `names` are the user's names of the columns.
    """

    start: Any
    how: How
    sums: tuple[str, ...]
    again: bool
    invalid: str
    names: dict[str, str]

    def learn(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Learn the rows of a partition in order, and emit rows to be summed."""
        start = self.start.value
        model = copy.deepcopy(start)
        trainer, turn = StreamTrainer(model), AGAIN if self.again else NEW
        features = None if isinstance(model, TextClassifier) else int(model.n_features_in_)
        rows, complete, labels = 0, 0, set[Any]()
        for given in batches:
            batch = drop_missing(given, self.invalid, self.names)
            rows, complete = rows + len(given), complete + len(batch)
            if len(batch):
                check_labels(batch[LABEL], start.classes_)
                if len(labels) < 2:
                    labels |= set(np.unique(as_labels(batch[LABEL])).tolist())
                trainer.learn(as_batch(batch, features, "a partition"), turn)
        if not rows:
            return
        write = RowWriter(self.sums)
        yield from Changes(start.model_, model.model_, self.how, write).rows()
        state, begun = model.model_.state, start.model_.state
        updates, mistakes, seen = (state.counts - begun.counts).tolist()
        counters = Counters(
            models=int(complete > 0),
            clock=state.clock - begun.clock,
            updates=updates,
            mistakes=mistakes,
            seen=seen,
            incomplete=rows - complete,
            one_class=int(len(labels) == 1),
        )
        yield from write.numbers(Kind.COUNTER, np.arange(len(counters)), np.array(counters))


class Changes:
    """What a linear model has learned since its start, as rows to be summed."""

    def __init__(self, start: Any, model: Any, how: How, write: RowWriter) -> None:
        self._start, self._model, self._how, self._write = start, model, how, write
        # For each feature of a vocabulary, its fingerprint and which feature of the start it is.
        self._fingerprints: Array | None = None
        self._origin: Array | None = None

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Rows about features, weights, class counts and the calibrator."""
        columns = getattr(self._model, "columns", None)
        if isinstance(columns, Hashing):
            yield from self._names(self._start.columns, columns)
        elif isinstance(columns, Vocabulary):
            yield from self._features(self._start.columns, columns)
        yield from self._weights()
        yield from self._counts()

    def _identify(self, numbers: Array) -> Array:
        """What all partitions call these features: their fingerprints or, without any, numbers."""
        if self._fingerprints is None:
            return numbers
        return self._fingerprints[numbers].view(np.int64)

    def _names(self, start: Hashing, columns: Hashing) -> Iterator[pa.RecordBatch]:
        """The names of hashed columns that had none."""
        named = columns.named_columns()
        new = np.flatnonzero(~np.isin(named, start.named_columns()))
        if new.size:
            names = columns.arrays.names.kept(new)
            yield from self._write.numbers(
                Kind.FEATURE, named[new], np.zeros(new.size), names=names
            )

    def _features(self, start: Vocabulary, columns: Vocabulary) -> Iterator[pa.RecordBatch]:
        """How many texts have had each feature, with the names of those that are new."""
        write, known = self._write, start.features
        self._fingerprints = columns.keys()
        origin = start.find(self._fingerprints)
        seen, new = columns.arrays.seen[: columns.features], np.flatnonzero(origin < 0)
        names = columns.arrays.names.kept(new)
        yield from write.numbers(Kind.FEATURE, self._identify(new), seen[new], names=names)
        old = np.flatnonzero(origin >= 0)
        more = seen[old] - start.arrays.seen[origin[old]]
        changed = more != 0
        yield from write.numbers(Kind.FEATURE, self._identify(old[changed]), more[changed])
        waiting, counts = columns.waiting()
        before, had = start.waiting()
        _, ours, theirs = np.intersect1d(waiting, before, assume_unique=True, return_indices=True)
        counts[ours] -= had[theirs]
        changed = counts != 0
        yield from write.numbers(Kind.WAITING, waiting[changed].view(np.int64), counts[changed])
        if not np.array_equal(origin[:known], np.arange(known)):
            self._origin = origin

    def _weights(self) -> Iterator[pa.RecordBatch]:
        """What is added to the sums of the weights that have changed."""
        start, model = self._start.state, self._model
        for rows, values in added_by(
            model.learner, self._how, start, model.state, model.n_features, self._origin
        ):
            chosen, classes = np.nonzero(values.any(axis=1))
            row, sums = rows[chosen], values[chosen, :, classes]
            for kind, some in ((Kind.INTERCEPT, row == 0), (Kind.WEIGHT, row > 0)):
                features = row[some] if kind == Kind.INTERCEPT else self._identify(row[some] - 1)
                yield from self._write.weights(kind, features, classes[some], sums[some])

    def _counts(self) -> Iterator[pa.RecordBatch]:
        """What is added to the class counts, and to what the calibrator depends on."""
        start, state, write = self._start.state, self._model.state, self._write
        for features, classes, more in counts_since(
            start, state, self._model.n_features, self._origin
        ):
            yield from write.numbers(Kind.CLASS_COUNT, self._identify(features), more, classes)
        totals, classes, more = totals_since(start, state)
        yield from write.numbers(Kind.CLASS_TOTAL, totals, more, classes)
        sums = calibration_since(start, state)
        yield from write.numbers(Kind.CALIBRATION, np.flatnonzero(sums), sums[sums != 0.0])
