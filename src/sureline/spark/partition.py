"""What an executor does with one partition: learn its rows, and emit what was learned."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.label_sets import LabelSets
from sureline.estimators import TextClassifier
from sureline.estimators.stream import StreamTrainer, class_labels
from sureline.features.hashing import Hashing
from sureline.features.moments import removed
from sureline.features.names import Names
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import Tokenizer
from sureline.features.vocabulary import Vocabulary
from sureline.kernels.text.table import COUNT
from sureline.model.learner import AGAIN, NEW
from sureline.model.linear import LinearModel
from sureline.model.merge.algebra import How
from sureline.model.merge.calibration import calibration_since
from sureline.model.merge.sums import added_by, counts_since, totals_since
from sureline.model.text import TextModel
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
        trainer = StreamTrainer(model)
        turn = (AGAIN if self.again else NEW)._replace(ordered=False)  # a part of the rows
        features = None if isinstance(model, TextClassifier) else int(model.n_features_in_)
        columns = getattr(start, "columns_", None)
        rows, complete, labels = 0, 0, set[Any]()
        for given in batches:
            batch = drop_missing(given, self.invalid, self.names)
            rows, complete = rows + len(given), complete + len(batch)
            if len(batch):
                check_labels(batch[LABEL], start.classes_)
                if len(labels) < 2:
                    labels |= _kinds_of(batch[LABEL])
                trainer.learn(as_batch(batch, features, "a partition", columns), turn)
        if not rows:
            return
        write = RowWriter(self.sums)
        yield from changed_rows(start.model_, model.model_, self.how, write)
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


def _kinds_of(column: pa.Array) -> set[Any]:
    """The labels of some rows; of sets of labels, the sets, as one alone teaches something."""
    labels = class_labels(column, "a partition")
    return (
        set(labels.tolist()) if isinstance(labels, LabelSets) else set(np.unique(labels).tolist())
    )


def changed_rows(
    start: LinearModel, model: LinearModel, how: How, write: RowWriter
) -> Iterator[pa.RecordBatch]:
    """What a model has learned since its start, as rows to be summed."""
    fingerprints, origin = None, None
    if isinstance(model, TextModel) and isinstance(start, TextModel):
        yield from _moments(start.tokenizer, model.tokenizer, write)
        if isinstance(model.columns, Hashing):
            yield from _new_names(cast(Hashing, start.columns), model.columns, write)
        else:
            known, fingerprints = cast(Vocabulary, start.columns), model.columns.keys()
            origin = known.find(fingerprints)
            yield from _seen_features(known, model.columns, fingerprints, origin, write)
            if np.array_equal(origin[: known.features], np.arange(known.features)):
                origin = None

    def identify(numbers: Array) -> Array:
        """What all partitions call these features: their fingerprints or, without any, numbers."""
        return numbers if fingerprints is None else fingerprints[numbers].view(np.int64)

    begun, state, features = start.state, model.state, model.n_features
    for rows, values in added_by(model.learner, how, begun, state, features, origin):
        chosen, classes = np.nonzero(values.any(axis=1))
        row, sums = rows[chosen], values[chosen, :, classes]
        constant = row == 0
        yield from write.weights(Kind.INTERCEPT, row[constant], classes[constant], sums[constant])
        yield from write.weights(
            Kind.WEIGHT, identify(row[~constant] - 1), classes[~constant], sums[~constant]
        )
    for numbers, classes, more in counts_since(begun, state, features, origin):
        yield from write.numbers(Kind.CLASS_COUNT, identify(numbers), more, classes)
    totals, classes, more = totals_since(begun, state)
    yield from write.numbers(Kind.CLASS_TOTAL, totals, more, classes)
    calibration = calibration_since(begun, state)
    changed = np.flatnonzero(calibration)
    yield from write.numbers(Kind.CALIBRATION, changed, calibration[changed])


def _moments(start: Tokenizer, tokenizer: Tokenizer, write: RowWriter) -> Iterator[pa.RecordBatch]:
    """The moments of the numbers since the start, which no sum adds up, so that they are a name."""
    if isinstance(start, TableTokenizer) and isinstance(tokenizer, TableTokenizer):
        added = removed(tokenizer.moments.array, start.moments.array)
        if added[..., COUNT].any():
            name = Names.from_arrow(pa.array([added.tobytes()], pa.binary()))
            yield from write.numbers(Kind.MOMENTS, np.zeros(1, np.int64), np.ones(1), names=name)


def _new_names(start: Hashing, columns: Hashing, write: RowWriter) -> Iterator[pa.RecordBatch]:
    """The names of hashed columns that had none."""
    named = columns.named_columns()
    new = np.flatnonzero(~np.isin(named, start.named_columns()))
    if new.size:
        names = columns.arrays.names.kept(new)
        yield from write.numbers(Kind.FEATURE, named[new], np.zeros(new.size), names=names)


def _seen_features(
    start: Vocabulary, columns: Vocabulary, keys: Array, origin: Array, write: RowWriter
) -> Iterator[pa.RecordBatch]:
    """In how many texts features were seen since the start, with the names of new ones."""
    keys, seen = keys.view(np.int64), columns.arrays.seen[: columns.features]
    new, old = np.flatnonzero(origin < 0), np.flatnonzero(origin >= 0)
    names = columns.arrays.names.kept(new)
    yield from write.numbers(Kind.FEATURE, keys[new], seen[new], names=names)
    more = seen[old] - start.arrays.seen[origin[old]]
    changed = more != 0
    yield from write.numbers(Kind.FEATURE, keys[old[changed]], more[changed])
    waiting, counts = columns.waiting(start)
    changed = counts != 0
    yield from write.numbers(Kind.WAITING, waiting[changed].view(np.int64), counts[changed])
