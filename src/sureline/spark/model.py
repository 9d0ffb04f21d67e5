"""`SurelineModel`: a fitted model that predicts on executors and learns from streams."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pyspark.ml.base import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import pandas_udf

from sureline.errors import DataError, InvalidParameter
from sureline.estimators import OnlineClassifier, TextClassifier, load, save
from sureline.options import MEMORY_LIMIT_GB
from sureline.spark.broadcast import PickledAsFile
from sureline.spark.input import check_classic, input_of
from sureline.spark.params import COLUMNS, Parameters
from sureline.spark.persistence import ModelStore
from sureline.spark.prediction import PredictionTask
from sureline.spark.pyspark_internals import set_uid
from sureline.spark.streaming import MODELS_FOLDER, learn_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

FILE = "model.sureline"
LIMIT = "spark.sureline.memoryLimitGb"  # in the configuration of a session
PREDICTED = "sureline_predicted"  # a column that exists while a DataFrame is built


class SurelineModel(Model, Parameters, MLReadable["SurelineModel"], MLWritable):
    """The fitted model of a `SurelineClassifier`.

    Parameters
    ----------
    classifier : TextClassifier or OnlineClassifier
        A fitted classifier of the library.
    """

    def __init__(self, classifier: Any = None) -> None:
        super().__init__()
        self._classifier = classifier
        # The application, the classifier and its broadcast.
        self._broadcast: tuple[str, Any, Any] | None = None

    # -- the classifier ------------------------------------------------------------------------

    @property
    def classifier(self) -> Any:
        """The library's classifier: it has the weights, explains, and predicts Python lists."""
        return self._classifier

    @property
    def classes(self) -> list[Any]:
        """The labels, in the order of the column of probabilities."""
        return list(self._classifier.classes_.tolist())

    @property
    def numClasses(self) -> int:  # noqa: N802
        """How many classes there are."""
        return len(self.classes)

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """How many features there are."""
        model = self._classifier
        return int(model.n_features_ if isinstance(model, TextClassifier) else model.n_features_in_)

    # -- prediction ----------------------------------------------------------------------------

    def _transform(self, dataset: DataFrame) -> DataFrame:
        check_classic(dataset)
        self.check()
        self._check_model_columns()
        given = input_of(self, dataset)
        outputs = self._output_columns()
        for name in outputs.values():
            if name in dataset.columns:
                raise DataError(
                    f"there is a column {name!r} already; drop it, or name the new one differently"
                )
        name, invalid = self.input_column, self.getOrDefault("handleInvalid")
        if invalid == "skip" and not self.columns:
            dataset = dataset.where(given.isNotNull())
        model = self._on_executors(dataset.sparkSession)
        task = PredictionTask(model, tuple(outputs), invalid, name)
        kinds = {"prediction": self._label_type()}
        fields = ", ".join(f"{key}: {kinds.get(key, 'array<double>')}" for key in outputs)
        make: Any = pandas_udf
        if self.columns:
            predicted = make(task.predict_tables, f"struct<{fields}>")(given)
        elif self.reads_texts:
            predicted = make(task.predict_texts, f"struct<{fields}>")(given)
        else:
            predicted = make(task.predict_vectors, f"struct<{fields}>")(sql.unwrap_udt(given))
        out = dataset.withColumn(PREDICTED, predicted)
        for key, target in outputs.items():
            value = sql.col(f"{PREDICTED}.{key}")
            if key != "prediction":
                value = sql.when(value.isNotNull(), array_to_vector(value))
            out = out.withColumn(target, value)
        return out.drop(PREDICTED)

    def _check_model_columns(self) -> None:
        """Refuse columns that are not those that the model has learned."""
        learned = getattr(self._classifier, "columns_", None) or {}
        if self.columns != learned:
            raise InvalidParameter(
                "SurelineModel: textCols, categoryCols and numberCols name "
                f"{', '.join(map(repr, self.columns)) or 'no column'}, but the model has learned "
                f"{', '.join(f'{n!r} ({kind})' for n, kind in learned.items()) or 'texts'}; "
                "columns are found by name, so leave these parameters as they are"
            )

    def _output_columns(self) -> dict[str, str]:
        """The names of the columns to add, by what they hold."""
        has_variance = bool(self._classifier.has_variance)
        probability = self.getOrDefault("probabilityCol")
        if self.isSet("probabilityCol") and probability and not has_variance:
            raise InvalidParameter(
                "SurelineModel: the rule keeps no variances, so that there are no probabilities; "
                "set probabilityCol=''"
            )
        columns = {
            "prediction": self.getOrDefault("predictionCol"),
            "probability": probability if has_variance else "",
            "raw": self.getOrDefault("rawPredictionCol"),
        }
        wanted = {key: str(name) for key, name in columns.items() if name}
        if not wanted:
            raise InvalidParameter(
                "SurelineModel: predictionCol, probabilityCol and rawPredictionCol are all empty, "
                "so that there is nothing to predict; name one of them"
            )
        return wanted

    def _label_type(self) -> str:
        """The type of the column of predictions."""
        kind = self._classifier.classes_.dtype.kind
        if getattr(self._classifier, "is_multilabel", False):
            return "array<bigint>" if kind in "iu" else "array<string>"
        return {"b": "boolean", "i": "double", "u": "double", "f": "double"}.get(kind, "string")

    def _on_executors(self, session: SparkSession) -> Any:
        """The broadcast of the classifier, one per application."""
        context = session.sparkContext
        known = self._broadcast
        if known is None or known[0] != context.applicationId or known[1] is not self._classifier:
            broadcast = context.broadcast(PickledAsFile(self._classifier))
            self._broadcast = known = (context.applicationId, self._classifier, broadcast)
        return known[2]

    # -- files ---------------------------------------------------------------------------------

    def write(self) -> MLWriter:
        """A writer that saves the model to a folder, on any file system that Spark knows."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[SurelineModel]:
        """A reader that loads a model from a folder.

        A model that takes more GB of memory than ``spark.sureline.memoryLimitGb`` in the
        configuration of the session, by default 4, is refused.
        """
        return _Reader()

    def exportTo(self, path: str | os.PathLike[str]) -> None:  # noqa: N802
        """Write the model to one file that `sureline.load` and the command line open.

        Parameters
        ----------
        path : str or path
            A file on the driver's machine, such as ``model.sureline``.
        """
        save(self._classifier, path)

    @classmethod
    def fromFile(cls, path: str | os.PathLike[str], **params: Any) -> SurelineModel:  # noqa: N802
        """Load a model file that `exportTo`, `save` or the command line wrote.

        Parameters
        ----------
        path : str or path
            A file on the driver's machine.
        **params
            Parameters such as `textCol` and `predictionCol`. For a model of texts `textCol` is
            ``"text"`` by default; a model of several columns finds them by name. A model that takes
            more than `memoryLimitGb`, by default 4, is refused.

        Returns
        -------
        SurelineModel
            The model.
        """
        return cls._of(load(path, _limit_gb(params)), params)

    @classmethod
    def fromCheckpoint(cls, checkpoint: str, **params: Any) -> SurelineModel:  # noqa: N802
        """Load the model that a stream has learned so far.

        Parameters
        ----------
        checkpoint : str
            The folder that `update_stream` was given.
        **params
            As in `fromFile`.

        Returns
        -------
        SurelineModel
            The model after the last batch that was learned.
        """
        context = SparkSession.builder.getOrCreate().sparkContext
        store = ModelStore(context, f"{checkpoint.rstrip('/')}/{MODELS_FOLDER}")
        stored = store.last_batch(_limit_gb(params))
        if stored is None:
            raise DataError(f"the checkpoint {checkpoint} holds no model yet")
        return cls._of(stored[1], params)

    @classmethod
    def _of(cls, classifier: Any, params: dict[str, Any]) -> SurelineModel:
        """The model of a classifier of the library."""
        if not isinstance(classifier, (TextClassifier, OnlineClassifier)):
            raise InvalidParameter(
                f"a {type(classifier).__name__} cannot predict on Spark; use one of the online "
                "classifiers or TextClassifier"
            )
        model = cls(classifier)
        columns = getattr(classifier, "columns_", None)
        if columns is not None:
            named = {p: [n for n, kind in columns.items() if kind == k] for p, k in COLUMNS.items()}
            params = {**{p: names for p, names in named.items() if names}, **params}
        elif isinstance(classifier, TextClassifier):
            params = {"textCol": "text", **params}
        for name, value in params.items():
            model.set(model.getParam(name), value)
        return model

    # -- streams -------------------------------------------------------------------------------

    def update_stream(
        self,
        stream: DataFrame,
        checkpoint: str,
        trigger: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> StreamingQuery:
        """Continue learning from a stream, every row exactly once, even across restarts.

        The model is written to the checkpoint after each batch. A query that is started again with
        the same checkpoint continues from there, whatever this model has learned. This model is
        updated: `transform` uses all that has been learned when it is called. New labels and words
        may appear at any time.

        Parameters
        ----------
        stream : DataFrame
            A stream with the columns that the model was trained on, labels included.
        checkpoint : str
            A folder, on a file system that Spark knows, for this query alone.
        trigger : dict, default=None
            When batches are made, as ``DataStreamWriter.trigger`` takes it: ``{"availableNow":
            True}``, ``{"processingTime": "10 seconds"}``. None: whenever there are new rows.
        name : str, default=None
            A name for the query.

        Returns
        -------
        StreamingQuery
            The query, running; it ends with ``stop()``.
        """
        check_classic(stream)
        self.check()
        self._check_model_columns()
        return learn_stream(
            self, self._classifier, stream, checkpoint, trigger, name, self._replace
        )

    def _replace(self, classifier: Any) -> None:
        """Predict with another classifier from now on."""
        self._classifier = classifier


class _Writer(MLWriter):
    """Saves parameters as Spark does, and the classifier as a file beside them."""

    def __init__(self, model: SurelineModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession)
        ModelStore(self.sparkSession.sparkContext, path).put(self._model.classifier, FILE)


class _Reader(MLReader[SurelineModel]):
    """Loads what `_Writer` has saved."""

    def load(self, path: str) -> SurelineModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        limit_gb = float(self.sparkSession.conf.get(LIMIT, str(MEMORY_LIMIT_GB)) or 0)
        store = ModelStore(self.sparkSession.sparkContext, path)
        model = SurelineModel(store.get(FILE, limit_gb))
        set_uid(model, metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _limit_gb(params: dict[str, Any]) -> float:
    """The most memory that a model may take when it is loaded."""
    return float(params.get("memoryLimitGb", MEMORY_LIMIT_GB))
