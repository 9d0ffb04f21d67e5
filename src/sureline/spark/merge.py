"""One round on the cluster: learn every partition, sum what was learned, build the model.

Sums are taken on the executors, by feature. What comes to the driver is one row for each weight
of the merged model, some partitions of the sums at a time, however many partitions were learned.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.errors import DataError, InvalidParameter, ModelFileError, SurelineError
from sureline.estimators import TextClassifier
from sureline.features.hashing import MOST_NAMES, Hashing
from sureline.features.names import Names
from sureline.features.vocabulary import Vocabulary, VocabularyArrays, fill_table
from sureline.model.merge.algebra import How, check_how
from sureline.model.merge.sums import name_sums, state_from_sums
from sureline.spark.broadcast import Shipped
from sureline.spark.class_counts import add_tallies, set_curve
from sureline.spark.fingerprint_index import Finder
from sureline.spark.partition import (
    CLOCK,
    CONSTANT,
    COUNT,
    CURVE,
    KINDS,
    LEFT_OUT,
    MISTAKES,
    MODELS,
    ONE_CLASS,
    SEEN,
    TALLY,
    TOTAL,
    UPDATES,
    WAITING,
    WEIGHT,
    WORD,
    Job,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Array = NDArray[Any]
ROWS = 2**18  # rows of sums in a piece on its way to the driver


def learn_round(
    start: Any,
    frame: DataFrame,
    how: How,
    invalid: str = "error",
    settled: bool = False,
    names: dict[str, str] | None = None,
) -> tuple[Any, dict[int, int]]:
    """The model that a round over all partitions makes of the one that it starts from.

    Parameters
    ----------
    start : classifier
        What every partition starts from; it knows all classes, and is left alone.
    frame : DataFrame
        The columns ``input``, ``label`` and, if examples have weights, ``weight``.
    how : {"kl", "mean", "product", "product-prior"}
        How the partitions' models are merged.
    invalid : {"error", "skip", "keep"}, default="error"
        Whether a missing value is an error, or leaves the row out.
    settled : bool, default=False
        Whether the same texts have been read before, so that no new feature gets a column.
    names : dict, default=None
        What the user calls the columns.

    Returns
    -------
    model : classifier
        A new model, of the class of the start.
    counts : dict
        What the partitions counted.
    """
    learner = start.model_.learner
    check_how(learner, how, "SurelineClassifier")
    if learner.layout.covariance == "full":
        raise InvalidParameter(
            "SurelineClassifier: covariance='full' keeps a number for every pair of features, "
            "which is not for a cluster; choose a diagonal covariance"
        )
    context = frame.sparkSession.sparkContext
    shipped = context.broadcast(Shipped(start))
    sums = name_sums(learner, how)
    job = Job(shipped, how, sums, settled, invalid, names or {})
    learned = frame.mapInArrow(job.learn, job.schema)
    # By feature, before any summing: a partition has nothing to sum by itself, and what belongs to
    # a feature stays together.
    summed = learned.repartition("feature").groupBy("kind", "feature", "class", "name")
    merged = summed.sum(*sums).mapInArrow(pack, "part binary")
    try:
        rows = Rows(row.part for row in merged.toLocalIterator(prefetchPartitions=True))
    except Exception as problem:
        raise told_plainly(problem) from None
    finally:
        shipped.destroy()
    return _built(start, how, rows), rows.counts


def default_how(model: Any) -> Any:
    """How partitions are merged if nothing was said.

    Parameters
    ----------
    model : classifier
        A model of the kind that partitions train.
    """
    return "product-prior" if model.has_variance else "mean"


def later_how(how: Any) -> Any:
    """How rounds are merged that start from a model that has learned before.

    Partitions that start from a model that has learned correct the same mistakes. Adding up what
    they change makes the step as many times too long as there are partitions; the mean of their
    models does not.

    Parameters
    ----------
    how : {"kl", "mean", "product", "product-prior"}
        How the first is.
    """
    return "kl" if how in ("product", "product-prior") else how


def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a partition of sums as a few bytes each, which reach the driver quickly.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
        Rows of sums.

    Yields
    ------
    pyarrow.RecordBatch
        Rows with bytes in which `Rows` finds the sums.
    """
    waiting, size = list[pa.RecordBatch](), 0
    for batch in batches:
        waiting.append(batch)
        size += len(batch)
        if size >= ROWS:
            yield _packed(waiting)
            waiting, size = [], 0
    if size:
        yield _packed(waiting)


def _packed(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches as one row of bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return pa.RecordBatch.from_pydict({"part": pa.array([sink.getvalue().to_pybytes()])})


class Rows:
    """The rows of sums, apart by what they are about.

    Parameters
    ----------
    parts : iterable of bytes
        What `pack` made of them.
    """

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._found: dict[int, list[tuple[Array, Array, Array]]] = {kind: [] for kind in KINDS}
        self._names = list[tuple[Array, pa.Array]]()
        for part in parts:
            with pa.ipc.open_stream(pa.py_buffer(part)) as stream:
                for batch in stream:
                    self._take(batch)
        features, values = self.numbers(COUNT)
        totals = dict(zip(features.tolist(), values.tolist(), strict=True))
        self.counts = {kind: round(totals.get(kind, 0.0)) for kind in range(7)}

    def _take(self, batch: pa.RecordBatch) -> None:
        kind, feature, column, name, *sums = batch.columns
        kinds = kind.to_numpy(zero_copy_only=False)
        arrays = [each.to_numpy(zero_copy_only=False) for each in (feature, column, *sums)]
        for which in np.unique(kinds).tolist():
            chosen = np.flatnonzero(kinds == which)
            features, classes, *values = (each[chosen] for each in arrays)
            if which in (WEIGHT, CONSTANT):
                self._found[which].append((features, classes, np.column_stack(values)))
                continue
            self._found[which].append((features, classes, values[0]))
            if which == WORD:
                spelled = name.take(pa.array(chosen))
                there = np.flatnonzero(spelled.is_valid().to_numpy(zero_copy_only=False))
                self._names.append((features[there], spelled.take(pa.array(there))))

    def numbers(self, kind: int) -> tuple[Array, Array]:
        """Features with one number each, sorted by feature; what comes more often adds up."""
        parts = self._found[kind]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0)
        every, inverse = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
        total = np.zeros(every.size)
        np.add.at(total, inverse, np.concatenate([p[2] for p in parts]))
        return every, total

    def by_class(self, kind: int) -> Iterator[tuple[Array, Array, Array]]:
        """The features, the classes or columns, and the sums of them, each part once."""
        parts = self._found[kind]
        while parts:
            yield parts.pop()

    def names(self) -> tuple[Array, pa.Array]:
        """Features and their names; of several, the first in the alphabet."""
        if not any(each.size for each, _ in self._names):
            return np.zeros(0, np.int64), pa.array([], pa.binary())
        features = np.concatenate([each for each, _ in self._names])
        names = pa.concat_arrays([each for _, each in self._names])
        table = pa.table({"feature": features, "name": names})
        table = table.sort_by([("feature", "ascending"), ("name", "ascending")]).combine_chunks()
        features = table["feature"].to_numpy()
        first = np.flatnonzero(np.concatenate([[True], features[1:] != features[:-1]]))
        return features[first], pa.chunked_array(table["name"]).take(pa.array(first))


def _built(start: Any, how: How, rows: Rows) -> Any:
    """The classifier that the sums make of the start."""
    counts, begun = rows.counts, start.model_
    state, text = begun.state, isinstance(start, TextClassifier)
    large: list[Any] = [state]  # what will be replaced is not copied
    if text and isinstance(begun.columns, Vocabulary):
        large.append(begun.columns)
    classifier = copy.deepcopy(start, {id(each): each for each in large})
    model, learner = classifier.model_, begun.learner
    places, count = None, state.features
    if text and isinstance(model.columns, Vocabulary):
        model.columns = _grow(model.columns, rows)
        places, count = Finder(model.columns.keys()), model.columns.features + 1
    limit = model.memory_limit_gb
    learner.layout.check(count, state.table.shape[2], limit, "SurelineClassifier")
    learned = np.array([counts[UPDATES], counts[MISTAKES], counts[SEEN]], np.int64)
    entries = _entries(rows, places)
    model.state = state_from_sums(
        learner, how, state, count, counts[MODELS], entries, counts[CLOCK], learned
    )
    _add_counts(model.state, state, rows, places)
    if text and isinstance(model.columns, Hashing):
        _name(model.columns, rows, learner, model.state)
    return classifier


def _entries(rows: Rows, places: Finder | None) -> Iterator[tuple[Array, Array, Array]]:
    """The sums of all changed weights, with the rows of the table that they belong to."""
    for _, classes, values in rows.by_class(CONSTANT):
        yield np.zeros(classes.size, np.intp), classes, values
    for features, classes, values in rows.by_class(WEIGHT):
        yield _found(features, places) + 1, classes, values


def _found(features: Array, places: Finder | None) -> Array:
    """The numbers of features in the merged model."""
    found = features if places is None else places.find(features.view(np.uint64))
    if (found < 0).any():
        raise ModelFileError("a weight came without its word; train again")
    return found


def _add_counts(merged: Any, start: Any, rows: Rows, places: Finder | None) -> None:
    """Let the merged state have all that was counted, and a curve of probabilities."""
    tallies = (
        (_found(features, places), classes, np.rint(values).astype(np.int64))
        for features, classes, values in rows.by_class(TALLY)
    )
    totals = [np.zeros(0, np.int64)] * 3
    for each in rows.by_class(TOTAL):
        whole = (np.rint(values).astype(np.int64) for values in each)
        totals = [np.concatenate(pair) for pair in zip(totals, whole, strict=True)]
    add_tallies(merged, start, tallies, (totals[0], totals[1], totals[2]))
    which, values = rows.numbers(CURVE)
    sums = np.zeros(7)
    sums[which] = values
    set_curve(merged, start, sums)


def _grow(columns: Vocabulary, rows: Rows) -> Vocabulary:
    """The vocabulary with what the partitions have met, the most frequent first."""
    before = columns.keys()
    features, more = rows.numbers(WORD)
    found = features.view(np.uint64)
    places = Finder(before).find(found)
    seen = columns.arrays.seen[: before.size].copy()
    seen[places[places >= 0]] += more[places >= 0].astype(np.int64)
    new, often = found[places < 0], more[places < 0].astype(np.int64)
    order = np.lexsort((new, -often))
    new, often = new[order], often[order]
    spelled, names = rows.names()
    picked = Finder(spelled.view(np.uint64)).find(new)
    letters = Names.from_arrow(names.take(pa.array(picked)))
    joined = columns.arrays.names.followed_by(before.size, letters)
    keys = np.concatenate([before, new])
    waiting, counts = _still_waiting(columns, rows, keys)
    grown = Vocabulary(columns.least, columns.most)
    sizes = np.array([keys.size, keys.size + waiting.size, joined.letters.size])
    table = fill_table(keys, waiting, np.minimum(counts, columns.least - 1))
    grown.arrays = VocabularyArrays(table, np.concatenate([seen, often]), sizes, joined)
    return grown


def _still_waiting(columns: Vocabulary, rows: Rows, keys: Array) -> tuple[Array, Array]:
    """The features that have no column yet, sorted, and how many texts have had each."""
    before, had = columns.waiting()
    features, more = rows.numbers(WAITING)
    every, inverse = np.unique(
        np.concatenate([before, features.view(np.uint64)]), return_inverse=True
    )
    total = np.zeros(every.size, np.int64)
    np.add.at(total, inverse, np.concatenate([had, more.astype(np.int64)]))
    strange = ~np.isin(every, keys) & (total > 0)
    return every[strange], total[strange]


def _name(columns: Hashing, rows: Rows, learner: Any, state: Any) -> None:
    """Add the names that partitions remember, and forget the lightest if there are too many."""
    spelled, names = rows.names()
    count = int(columns.arrays.sizes[0])
    joined = columns.arrays.names.followed_by(count, Names.from_arrow(names))
    named = np.concatenate([columns.named_columns(), spelled.astype(np.int32)])
    columns.arrays = columns.arrays._replace(columns=named, names=joined)
    if named.size >= MOST_NAMES:
        heavy = np.abs(learner.weights(state, named + 1)).max(axis=1)
        columns.arrays = columns.forgetful(heavy)
    else:
        columns.arrays = columns.pruned(np.arange(named.size), int(columns.arrays.sizes[1]))


def warn_of(counts: dict[int, int], owner: str) -> None:
    """Tell of rows that were left out, and of data that are sorted by label.

    Parameters
    ----------
    counts : dict
        What the partitions counted.
    owner : str
        Who tells.
    """
    if counts[LEFT_OUT]:
        warnings.warn(
            f"{owner}: {counts[LEFT_OUT]:,} rows were left out, because their text, vector, label "
            "or weight is missing",
            stacklevel=4,
        )
    if counts[MODELS] > 1 and 2 * counts[ONE_CLASS] > counts[MODELS]:
        warnings.warn(
            f"{owner}: {counts[ONE_CLASS]:,} of {counts[MODELS]:,} partitions hold examples of one "
            "class only, from which nothing can be learned; set shuffle='all' to mix the rows",
            stacklevel=4,
        )


def told_plainly(problem: Exception) -> Exception:
    """The error that a worker raised, without Spark's and Python's tracebacks around it.

    Parameters
    ----------
    problem : Exception
        What Spark raised on the driver.

    Returns
    -------
    Exception
        A SurelineError if a worker raised one, otherwise the same.
    """
    known: dict[str, type[SurelineError]] = {
        "DataError": DataError,
        "InvalidParameter": InvalidParameter,
        "ModelFileError": ModelFileError,
    }
    for line in str(problem).splitlines():
        name, _, message = line.strip().partition(": ")
        kind = known.get(name.removeprefix("sureline.errors."))
        if kind is not None and name.startswith("sureline.errors.") and message:
            return kind(message)
    return problem
