"""Learning from a stream, batch by batch, every batch exactly once.

Spark numbers the batches of a query and, after a crash, repeats the last one. The model is written
under the number of the last batch that it has learned, atomically: which batches were learned and
what was learned from them cannot disagree.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from pyspark import StorageLevel

from sureline.errors import InvalidParameter
from sureline.spark.initial_model import add_classes
from sureline.spark.input import find_classes, prepare
from sureline.spark.merge import choose_how, learn_round, plain_errors
from sureline.spark.params import Parameters
from sureline.spark.persistence import ModelStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

MODELS_FOLDER, QUERY_FOLDER = "models", "query"


class BatchTrainer:
    """Learns the batches of a stream into a model, unless the store has a later one.

    The model is written to the store after each batch, and `publish` is called with it.
    """

    def __init__(
        self, stage: Parameters, model: Any, store: ModelStore, publish: Callable[[Any], None]
    ) -> None:
        self._stage, self._store, self._publish = stage, store, publish
        self.model, self.done = model, -1
        stored = store.last_batch(model.model_.memory_limit_gb)
        if stored is not None:
            self.done, found = stored
            if type(found) is not type(model):
                raise InvalidParameter(
                    f"the checkpoint holds a {type(found).__name__}, the model to update is a "
                    f"{type(model).__name__}; give another checkpoint"
                )
            self.model = found
            publish(found)

    def learn(self, frame: DataFrame, batch: int) -> None:
        """Learn a batch, unless that has been done."""
        if batch <= self.done:
            return
        prepared, names = prepare(self._stage, frame)
        prepared.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with plain_errors():
                start = _with_classes(self.model, find_classes(prepared))
                how = choose_how(self._stage, start, start.n_seen_ > 0)
                invalid = self._stage.getOrDefault("handleInvalid")
                model, counters = learn_round(start, prepared, how, invalid, names=names)
        finally:
            prepared.unpersist()
        if counters.models:
            self._store.put_batch(model, batch)
            self.model = model
            self._publish(model)
        self.done = batch


def _with_classes(model: Any, classes: NDArray[Any]) -> Any:
    """The model, or a copy with the classes that are new to it."""
    if set(classes.tolist()) <= set(model.classes_.tolist()):
        return model
    return add_classes(copy.deepcopy(model), classes)


def learn_stream(
    stage: Parameters,
    model: Any,
    stream: DataFrame,
    checkpoint: str,
    trigger: dict[str, Any] | None,
    name: str | None,
    publish: Callable[[Any], None],
) -> StreamingQuery:
    """Start a query that learns a stream into a model, or into the one in the checkpoint.

    The checkpoint is a folder for the model and for what Spark stores about the query; `publish` is
    called with every new model.
    """
    folder = checkpoint.rstrip("/")
    if not folder:
        raise InvalidParameter("update_stream needs a folder as checkpoint, got ''")
    if not stream.isStreaming:
        raise InvalidParameter(
            "update_stream learns from a stream, such as spark.readStream returns; got a DataFrame "
            "that is not streaming. Use SurelineClassifier.fit"
        )
    prepare(stage, stream, shuffle=False)  # wrong columns are an error now, not in the query
    store = ModelStore(stream.sparkSession.sparkContext, f"{folder}/{MODELS_FOLDER}")
    trainer = BatchTrainer(stage, model, store, publish)
    writer = stream.writeStream.foreachBatch(trainer.learn)
    writer = writer.option("checkpointLocation", f"{folder}/{QUERY_FOLDER}")
    if trigger is not None:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    return writer.start()
