"""One round on the cluster: learn every partition, sum what was learned, build the merged model.

Executors sum by feature. The driver receives one row per weight of the merged model, some
partitions of the sums at a time, however many partitions were learned.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sureline.errors import DataError, InvalidParameter, ModelFileError
from sureline.estimators import TextClassifier
from sureline.features.hashing import MOST_NAMES, Hashing
from sureline.features.merge import grow_vocabulary
from sureline.features.moments import Moments, added
from sureline.features.names import Names
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import Tokenizer
from sureline.features.vocabulary import Vocabulary
from sureline.model.learner import Learner
from sureline.model.merge.algebra import How, check_how
from sureline.model.merge.calibration import calibration_size, set_calibration
from sureline.model.merge.sums import name_sums, set_counts, state_from_sums
from sureline.model.state import State
from sureline.spark.broadcast import PickledAsFile
from sureline.spark.params import Parameters
from sureline.spark.partition import PartitionTask
from sureline.spark.sum_rows import KEYS, Counters, Kind, SummedRows, pack, row_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Array = NDArray[Any]
ERRORS = {
    f"{error.__module__}.{error.__name__}": error
    for error in (DataError, InvalidParameter, ModelFileError)
}


def learn_round(
    start: Any,
    frame: DataFrame,
    how: How,
    invalid: str = "error",
    again: bool = False,
    names: dict[str, str] | None = None,
) -> tuple[Any, Counters]:
    """Learn all partitions, each from the same model, and merge their models.

    `start` knows all classes and is not changed. `frame` has the columns ``input``, ``label`` and,
    if examples have weights, ``weight``; `names` are the user's names of these. With `again`, an
    earlier round has learned these rows, so that no new feature gets a column. Returns the merged
    model, of the class of the start, and what the partitions have counted.
    """
    learner = start.model_.learner
    check_how(learner, how, "SurelineClassifier")
    if learner.layout.covariance == "full":
        raise InvalidParameter(
            "SurelineClassifier: covariance='full' keeps a number for every pair of features, "
            "which is not for a cluster; choose a diagonal covariance"
        )
    if learner.half_life is not None:
        raise InvalidParameter(
            f"SurelineClassifier: a model with half_life={learner.half_life} forgets in the order "
            "of its rows, which partitions do not have; train it elsewhere, or without half_life"
        )
    sums = name_sums(learner, how)
    broadcast = frame.sparkSession.sparkContext.broadcast(PickledAsFile(start))
    task = PartitionTask(broadcast, how, sums, again, invalid, names or {})
    learned = frame.mapInArrow(task.learn, row_schema(sums))
    # Rows go to the executor of their feature first: within one partition there is nothing to sum.
    summed = learned.repartition("feature").groupBy(*KEYS).sum(*sums)
    packed = summed.mapInArrow(pack, "packed binary")
    try:
        rows = SummedRows(row.packed for row in packed.toLocalIterator(prefetchPartitions=True))
    finally:
        broadcast.destroy()
    return build_merged(start, how, rows), rows.counters


def choose_how(stage: Parameters, model: Any, learned: bool) -> How:
    """How the partitions' models are merged, which start from a model that has `learned` or not."""
    how: How = "product-prior" if model.has_variance else "mean"
    if stage.isSet("how"):
        how = stage.getOrDefault("how")
    return later_how(how) if learned else how


def later_how(how: How) -> How:
    """How partitions are merged that start from a model that has learned.

    Such partitions correct the same mistakes. Adding up their changes makes the step as many times
    too long as there are partitions; the mean of their models does not.
    """
    return "kl" if how in ("product", "product-prior") else how


def build_merged(start: Any, how: How, rows: SummedRows) -> Any:
    """The classifier that follows from a start and the sums of what partitions have added.

    The start is not changed; the sums are used up.
    """
    begun = start.model_
    state, learner, columns = begun.state, begun.learner, getattr(begun, "columns", None)
    vocabulary, features = None, state.features
    if isinstance(columns, Vocabulary):
        columns = vocabulary = _grow(columns, rows)
        features = vocabulary.features + 1
    learner.layout.check(
        features, state.table.shape[2], begun.memory_limit_gb, "SurelineClassifier"
    )
    counters = rows.counters
    counts = np.array([counters.updates, counters.mistakes, counters.seen], np.int64)
    merged = state_from_sums(
        learner,
        how,
        state,
        features,
        counters.models,
        _weight_sums(rows, vocabulary),
        counters.clock,
        counts,
    )
    set_counts(merged, state, _class_counts(rows, vocabulary), _class_totals(rows))
    set_calibration(merged, state, rows.vector(Kind.CALIBRATION, calibration_size(state)))
    if isinstance(columns, Hashing):
        columns = _add_names(columns, rows, learner, merged)
    classifier: Any = clone(start)
    if isinstance(start, TextClassifier):
        model = begun.with_columns(columns, merged)
        model.tokenizer = _add_moments(begun.tokenizer, rows)
        classifier.columns_ = start.columns_
        classifier.adopt(clone(start.estimator_), model, start.n_iter_)
        classifier.fitted_options = start.fitted_options
    else:
        classifier.adopt(begun.on(merged), start.n_iter_)
        classifier.n_features_in_ = start.n_features_in_
        if hasattr(start, "feature_names_in_"):
            classifier.feature_names_in_ = start.feature_names_in_
    return classifier


def _add_moments(tokenizer: Tokenizer, rows: SummedRows) -> Tokenizer:
    """The tokenizer, which has seen the numbers of all partitions, too."""
    if not isinstance(tokenizer, TableTokenizer):
        return tokenizer
    array = tokenizer.moments.array
    for part in rows.moments():
        array = added(array, part.reshape(array.shape))
    return replace(tokenizer, moments=Moments(0, array))


def _weight_sums(
    rows: SummedRows, vocabulary: Vocabulary | None
) -> Iterator[tuple[Array, Array, Array]]:
    """The rows of the merged table, the columns and the sums of all changed weights."""
    for _, classes, values in rows.take(Kind.INTERCEPT):
        yield np.zeros(classes.size, np.intp), classes, values
    for features, classes, values in rows.take(Kind.WEIGHT):
        yield _find(features, vocabulary) + 1, classes, values


def _class_counts(
    rows: SummedRows, vocabulary: Vocabulary | None
) -> Iterator[tuple[Array, Array, Array]]:
    """The features of the merged state, the classes, and what was added to their counts."""
    for features, classes, values in rows.take(Kind.CLASS_COUNT):
        yield _find(features, vocabulary), classes, np.rint(values).astype(np.int64)


def _class_totals(rows: SummedRows) -> tuple[Array, Array, Array]:
    """What was added to the totals of each class."""
    parts = [*rows.take(Kind.CLASS_TOTAL), (np.zeros(0, np.int64),) * 3]
    totals, classes, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return totals, classes, np.rint(values).astype(np.int64)


def _find(features: Array, vocabulary: Vocabulary | None) -> Array:
    """The numbers of features in the merged model."""
    if vocabulary is None:
        return features
    found = vocabulary.find(features.view(np.uint64))
    if (found < 0).any():
        raise ModelFileError("a weight has arrived without the name of its feature; train again")
    return found


def _grow(columns: Vocabulary, rows: SummedRows) -> Vocabulary:
    """The vocabulary with the new features of all partitions, the most frequent first."""

    def counts(kind: Kind) -> tuple[Array, Array]:
        features, more = rows.numbers(kind)
        return features.view(np.uint64), more.astype(np.int64)

    named, names = rows.names()
    spelled = named.view(np.uint64), Names.from_arrow(names)
    return grow_vocabulary(columns, counts(Kind.FEATURE), counts(Kind.WAITING), spelled)


def _add_names(columns: Hashing, rows: SummedRows, learner: Learner, state: State) -> Hashing:
    """Hashed columns with the names of all partitions; of too many names the heaviest are kept."""
    named, names = rows.names()
    before = columns.arrays
    every = np.concatenate([columns.named_columns(), named.astype(np.int32)])
    spelled = Names.concatenated(
        [before.names, Names.from_arrow(names)], [int(before.sizes[0]), named.size]
    )
    merged = columns.copy()
    merged.arrays = merged.arrays._replace(columns=every, names=spelled)
    if every.size >= MOST_NAMES:
        merged.arrays = merged.forgetful(np.abs(learner.weights(state, every + 1)).max(axis=1))
    else:
        merged.arrays = merged.pruned(np.arange(every.size), int(before.sizes[1]))
    return merged


def warn_about_rows(counters: Counters, owner: str) -> None:
    """Warn about rows with missing values, and about data sorted by label."""
    if counters.incomplete:
        warnings.warn(
            f"{owner}: {counters.incomplete:,} rows were left out, because their text, vector, "
            "label or weight is missing",
            stacklevel=4,
        )
    if counters.models > 1 and 2 * counters.one_class > counters.models:
        warnings.warn(
            f"{owner}: {counters.one_class:,} of {counters.models:,} partitions hold examples of "
            "one class only, from which nothing can be learned; set shuffle='all' to shuffle the "
            "rows",
            stacklevel=4,
        )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise the errors of workers on the driver, without the tracebacks that Spark adds."""
    try:
        yield
    except Exception as error:
        for line in str(error).splitlines():
            name, _, message = line.strip().partition(": ")
            if name in ERRORS and message:
                raise ERRORS[name](message) from None
        raise
