"""Learning from a stream, batch by batch, every batch once.

Spark numbers the batches of a query and, after a crash, gives the last one again. The model is
stored under the number of the batch that it has learned last, in one step: whether a batch has
been learned and what was learned from it can never disagree.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import StorageLevel

from sureline.errors import DataError, InvalidParameter
from sureline.spark.initial_model import know
from sureline.spark.input import find_classes, prepare
from sureline.spark.merge import default_how, later_how, learn_round, told_plainly
from sureline.spark.params import Parameters
from sureline.spark.partition import MODELS
from sureline.spark.persistence import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

MODELS_FOLDER, QUERY_FOLDER = "models", "query"


class Follower:
    """Learns the batches of a stream into a model.

    Parameters
    ----------
    stage : Parameters
        How the columns are called, and what to do about missing values.
    model : classifier
        The model to start from, if the store has none.
    store : Store
        Where the model is kept after each batch.
    tell : callable
        Is given every new model.
    """

    def __init__(
        self, stage: Parameters, model: Any, store: Store, tell: Callable[[Any], None]
    ) -> None:
        self._stage, self._store, self._tell = stage, store, tell
        self.model, self.done = model, -1
        stored = store.last_batch()
        if stored is not None:
            self.done, found = stored
            if type(found) is not type(model):
                raise InvalidParameter(
                    f"the checkpoint holds a {type(found).__name__}, the model to update is a "
                    f"{type(model).__name__}; give another checkpoint"
                )
            self.model = found
            tell(found)

    def learn(self, frame: DataFrame, batch: int) -> None:
        """Learn a batch, unless it has been learned.

        Parameters
        ----------
        frame : DataFrame
            The rows of the batch.
        batch : int
            Its number.
        """
        if batch <= self.done:
            return
        prepared, names = prepare(self._stage, frame)
        prepared.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            start = _with_classes(self.model, find_classes(prepared))
            how = default_how(start)
            if self._stage.isSet("how"):
                how = self._stage.getOrDefault("how")
            if start.n_seen_:
                how = later_how(how)
            invalid = self._stage.getOrDefault("handleInvalid")
            model, counts = learn_round(start, prepared, how, invalid, names=names)
        except Exception as problem:
            raise told_plainly(problem) from None
        finally:
            prepared.unpersist()
        if counts[MODELS]:
            self._store.put_batch(model, batch)
            self.model = model
            self._tell(model)
        self.done = batch


def _with_classes(model: Any, classes: Any) -> Any:
    """The model, or a copy that knows classes which are new to it."""
    if not classes.size or not np.setdiff1d(_comparable(classes, model), model.classes_).size:
        return model
    return know(copy.deepcopy(model), _comparable(classes, model))


def _comparable(classes: Any, model: Any) -> Any:
    """Labels of a batch as labels of the kind that the model has."""
    texts = [labels.dtype.kind in "USOT" for labels in (classes, model.classes_)]
    if texts[0] != texts[1]:
        kinds = ["text" if text else "numbers" for text in texts]
        raise DataError(f"labels were {kinds[1]} before and are {kinds[0]} now")
    return classes


def follow(
    stage: Parameters,
    model: Any,
    stream: DataFrame,
    checkpoint: str,
    trigger: dict[str, Any] | None,
    name: str | None,
    tell: Callable[[Any], None],
) -> StreamingQuery:
    """Start a query that learns a stream into a model.

    Parameters
    ----------
    stage : Parameters
        How the columns are called, and what to do about missing values.
    model : classifier
        The model to start from, if the checkpoint has none.
    stream : DataFrame
        A stream with labels.
    checkpoint : str
        A folder for the model and for what Spark keeps of the query.
    trigger : dict or None
        What ``DataStreamWriter.trigger`` takes; None for a batch whenever there is something new.
    name : str or None
        The name of the query.
    tell : callable
        Is given every new model.

    Returns
    -------
    StreamingQuery
        The query, running.
    """
    folder = checkpoint.rstrip("/")
    if not folder:
        raise InvalidParameter("update_stream needs a folder as checkpoint, got ''")
    if not stream.isStreaming:
        raise InvalidParameter(
            "update_stream learns from a stream, such as spark.readStream gives; got a DataFrame "
            "that is none. Use SurelineClassifier.fit"
        )
    prepare(
        stage, stream, mix=False
    )  # what is wrong with the columns is told now, not by the query
    store = Store(stream.sparkSession.sparkContext, f"{folder}/{MODELS_FOLDER}")
    follower = Follower(stage, model, store, tell)
    writer = stream.writeStream.foreachBatch(follower.learn)
    writer = writer.option("checkpointLocation", f"{folder}/{QUERY_FOLDER}")
    if trigger is not None:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    return writer.start()
