"""Learns the rows of one partition on an executor, and takes apart what was learned."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data import as_labels
from sureline.estimators import TextClassifier
from sureline.estimators.stream import StreamTrainer
from sureline.features.hashing import Hashing
from sureline.features.names import Names
from sureline.model.learner import AGAIN, NEW
from sureline.model.merge.sums import added_by
from sureline.spark.class_counts import curve_since, tallies_since, totals_since
from sureline.spark.columns import LABEL, as_batch, check_known, without_missing
from sureline.spark.fingerprint_index import Finder
from sureline.spark.partition import (
    CLOCK,
    CONSTANT,
    COUNT,
    CURVE,
    LEFT_OUT,
    MISTAKES,
    MODELS,
    ONE_CLASS,
    ROWS,
    SEEN,
    TALLY,
    TOTAL,
    UPDATES,
    WAITING,
    WEIGHT,
    WORD,
    Job,
)

Array = NDArray[Any]


def learn_partition(
    job: Job, start: Any, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Learn a partition from a start, and tell what was learned; without rows, nothing.

    Parameters
    ----------
    job : Job
        What to do.
    start : classifier
        The model to start from; it is left alone.
    batches : iterator of pyarrow.RecordBatch
        The rows.

    Yields
    ------
    pyarrow.RecordBatch
        Rows to be summed by all columns but the sums.
    """
    model = copy.deepcopy(start)
    stream = StreamTrainer(model)
    classes = start.classes_
    features = None if isinstance(model, TextClassifier) else int(model.n_features_in_)
    rows, kept, seen = 0, 0, set[Any]()
    for given in batches:
        batch = without_missing(given, job.invalid, job.names)
        rows, kept = rows + len(given), kept + len(batch)
        if len(batch):
            check_known(batch[LABEL], classes)
            if len(seen) < 2:
                seen |= set(np.unique(as_labels(batch[LABEL])).tolist())
            stream.learn(as_batch(batch, features, "a partition"), AGAIN if job.settled else NEW)
    if rows:
        tell = _Telling(job.sums)
        yield from _told(job, start, model, tell)
        ours, begun = model.model_.state, start.model_.state
        updates, mistakes, learned = (ours.counts - begun.counts).tolist()
        counts = {
            MODELS: kept > 0,
            CLOCK: ours.clock - begun.clock,
            UPDATES: updates,
            MISTAKES: mistakes,
            SEEN: learned,
            LEFT_OUT: rows - kept,
            ONE_CLASS: len(seen) == 1,
        }
        yield from tell.numbers(COUNT, np.array([*counts]), np.array([*counts.values()]))


class _Telling:
    """Makes the batches that tell of sums."""

    def __init__(self, sums: tuple[str, ...]) -> None:
        self._sums = sums

    def weights(
        self, kind: int, features: Array, classes: Array, values: Array
    ) -> Iterator[pa.RecordBatch]:
        """What is added to the sums of some weights, the values of which are rows."""
        return self._batches(kind, features, classes, [*values.T], None)

    def numbers(
        self,
        kind: int,
        features: Array,
        values: Array,
        names: Names | None = None,
        classes: Array | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """One number for each of some features, or features and classes, and their names."""
        sums = [values.astype(np.float64), *[np.zeros(features.size)] * (len(self._sums) - 1)]
        which = np.zeros(features.size) if classes is None else classes
        return self._batches(kind, features, which, sums, names)

    def _batches(
        self, kind: int, features: Array, classes: Array, sums: list[Array], names: Names | None
    ) -> Iterator[pa.RecordBatch]:
        for first in range(0, features.size, ROWS):
            part = slice(first, first + ROWS)
            size = features[part].size
            some: Any = pa.nulls(size, pa.binary())
            if names is not None:
                some = names.kept(np.arange(first, first + size)).to_arrow()
            columns = [
                pa.array(np.full(size, kind, np.int8)),
                pa.array(features[part].astype(np.int64, copy=False)),
                pa.array(classes[part].astype(np.int32)),
                some,
                *(pa.array(np.ascontiguousarray(each[part], np.float64)) for each in sums),
            ]
            titles = ["kind", "feature", "class", "name", *self._sums]
            yield pa.RecordBatch.from_arrays(columns, titles)


def _told(job: Job, start: Any, model: Any, tell: _Telling) -> Iterator[pa.RecordBatch]:
    """What the model has learned since the start: weights, words, counts, and the curve."""
    keys: Array | None = None
    origin: Array | None = None
    features = model.model_.state.features
    if isinstance(model, TextClassifier):
        columns, begun = model.model_.columns, start.model_.columns
        features = columns.features
        if isinstance(columns, Hashing):
            count, before = int(columns.arrays.sizes[0]), begun.named_columns()
            new = np.flatnonzero(~np.isin(columns.named_columns(), before))
            named = columns.named_columns()[new]
            names = columns.arrays.names.kept(new) if count else None
            yield from tell.numbers(WORD, named, np.zeros(new.size), names)
        else:
            keys, known = columns.keys(), begun.keys()
            origin = Finder(known).find(keys)
            yield from _told_words(columns, begun, keys, origin, tell)
            if np.array_equal(origin[: known.size], np.arange(known.size)):
                origin = None
    for rows, values in added_by(
        model.model_.learner, job.how, start.model_.state, model.model_.state, features, origin
    ):
        chosen, classes = np.nonzero(values.any(axis=1))
        row, sums = rows[chosen], values[chosen, :, classes]
        constant = row == 0
        if constant.any():
            yield from tell.weights(CONSTANT, row[constant], classes[constant], sums[constant])
        numbers = row[~constant] - 1
        feature = numbers if keys is None else keys[numbers].view(np.int64)
        yield from tell.weights(WEIGHT, feature, classes[~constant], sums[~constant])
    begun, ours = start.model_.state, model.model_.state
    for numbers, classes, more in tallies_since(begun, ours, features, origin):
        feature = numbers if keys is None else keys[numbers].view(np.int64)
        yield from tell.numbers(TALLY, feature, more, classes=classes)
    totals, classes, more = totals_since(begun, ours)
    yield from tell.numbers(TOTAL, totals, more, classes=classes)
    curve = curve_since(begun, ours)
    yield from tell.numbers(CURVE, np.flatnonzero(curve), curve[curve != 0.0])


def _told_words(
    columns: Any, begun: Any, keys: Array, origin: Array, tell: _Telling
) -> Iterator[pa.RecordBatch]:
    """New words with their names, known ones without, and how many texts had each."""
    seen = columns.arrays.seen[: columns.features]
    new = np.flatnonzero(origin < 0)
    names = columns.arrays.names.kept(new)
    yield from tell.numbers(WORD, keys[new].view(np.int64), seen[new], names)
    old = np.flatnonzero(origin >= 0)
    more = seen[old] - begun.arrays.seen[origin[old]]
    some = more != 0
    yield from tell.numbers(WORD, keys[old[some]].view(np.int64), more[some])
    waiting, counts = columns.waiting()
    before, had = begun.waiting()
    place = Finder(before).find(waiting)
    counts[place >= 0] -= had[place[place >= 0]]
    some = counts != 0
    yield from tell.numbers(WAITING, waiting[some].view(np.int64), counts[some])
