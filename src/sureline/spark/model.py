"""`SurelineModel`: a trained model that predicts on executors and learns from streams."""

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
from sureline.spark.broadcast import Shipped
from sureline.spark.input import check_classic, check_input, column
from sureline.spark.params import Parameters
from sureline.spark.persistence import Store
from sureline.spark.prediction import answer_texts, answer_vectors
from sureline.spark.streaming import MODELS_FOLDER, follow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

FILE = "model.sureline"
ANSWER = "sureline_answer"


class SurelineModel(Model, Parameters, MLReadable["SurelineModel"], MLWritable):
    """What `SurelineClassifier` has learned.

    Parameters
    ----------
    classifier : TextClassifier or OnlineClassifier
        A fitted classifier of the library.
    """

    def __init__(self, classifier: Any = None) -> None:
        super().__init__()
        self._classifier = classifier
        self._shipped: tuple[str, Any, Any] | None = None

    # -- what it knows -------------------------------------------------------------------------

    @property
    def classifier(self) -> Any:
        """The library's classifier: it explains, predicts lists, and has the weights."""
        return self._classifier

    @property
    def classes(self) -> list[Any]:
        """The labels, in the order of the numbers in the column of probabilities."""
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

    # -- predicting ----------------------------------------------------------------------------

    def _transform(self, dataset: DataFrame) -> DataFrame:
        check_classic(dataset)
        self.check()
        check_input(self, dataset)
        answers = self._answers()
        for name in answers.values():
            if name in dataset.columns:
                raise DataError(
                    f"there is a column {name!r} already; drop it, or give the answers another name"
                )
        name, invalid = self.input_column, self.getOrDefault("handleInvalid")
        given = column(dataset, name)
        if invalid == "skip":
            dataset = dataset.where(given.isNotNull())
        texts = self.reads_texts
        make = answer_texts if texts else answer_vectors
        kinds = {"prediction": self._label_type(), "probability": "array<double>"}
        fields = ", ".join(f"{key}: {kinds.get(key, 'array<double>')}" for key in answers)
        shipped = self._ship(dataset.sparkSession)
        vectorised: Any = pandas_udf
        answer = vectorised(make(shipped, tuple(answers), invalid, name), f"struct<{fields}>")
        out = dataset.withColumn(ANSWER, answer(given if texts else sql.unwrap_udt(given)))
        for key, target in answers.items():
            value = sql.col(f"{ANSWER}.{key}")
            if key != "prediction":
                value = sql.when(value.isNotNull(), array_to_vector(value))
            out = out.withColumn(target, value)
        return out.drop(ANSWER)

    def _answers(self) -> dict[str, str]:
        """Which columns to add, by what they tell."""
        unsure = bool(self._classifier.has_variance)
        if self.isSet("probabilityCol") and self.getOrDefault("probabilityCol") and not unsure:
            raise InvalidParameter(
                "SurelineModel: the rule keeps no variances, so that there are no probabilities; "
                "set probabilityCol=''"
            )
        columns = {
            "prediction": self.getOrDefault("predictionCol"),
            "probability": self.getOrDefault("probabilityCol") if unsure else "",
            "raw": self.getOrDefault("rawPredictionCol"),
        }
        wanted = {key: str(name) for key, name in columns.items() if name}
        if not wanted:
            raise InvalidParameter(
                "SurelineModel: predictionCol, probabilityCol and rawPredictionCol are all empty, "
                "so that there is nothing to answer; name one of them"
            )
        return wanted

    def _label_type(self) -> str:
        """The type of the column of predictions."""
        kind = self._classifier.classes_.dtype.kind
        return {"b": "boolean", "i": "double", "u": "double", "f": "double"}.get(kind, "string")

    def _ship(self, session: SparkSession) -> Any:
        """The classifier on the executors, broadcast once for every application."""
        context = session.sparkContext
        known = self._shipped
        if known is None or known[0] != context.applicationId or known[1] is not self._classifier:
            shipped = context.broadcast(Shipped(self._classifier))
            self._shipped = known = (context.applicationId, self._classifier, shipped)
        return known[2]

    # -- files ---------------------------------------------------------------------------------

    def write(self) -> MLWriter:
        """What saves the model in a folder, on any file system that Spark knows."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[SurelineModel]:
        """What loads a model from a folder."""
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
        """The model in a file that `exportTo`, `save` or the command line wrote.

        Parameters
        ----------
        path : str or path
            A file on the driver's machine.
        **params
            Parameters such as `textCol` and `predictionCol`. For a model of texts `textCol` is
            ``"text"`` if nothing else is said.

        Returns
        -------
        SurelineModel
            The model.
        """
        return cls._around(load(path), params)

    @classmethod
    def fromCheckpoint(cls, checkpoint: str, **params: Any) -> SurelineModel:  # noqa: N802
        """The model that a stream has learned so far.

        Parameters
        ----------
        checkpoint : str
            The folder that `update_stream` was given.
        **params
            As of `fromFile`.

        Returns
        -------
        SurelineModel
            The model after the last batch that was learned.
        """
        context = SparkSession.builder.getOrCreate().sparkContext
        stored = Store(context, f"{checkpoint.rstrip('/')}/{MODELS_FOLDER}").last_batch()
        if stored is None:
            raise DataError(f"the checkpoint {checkpoint} holds no model yet")
        return cls._around(stored[1], params)

    @classmethod
    def _around(cls, classifier: Any, params: dict[str, Any]) -> SurelineModel:
        """A model with a classifier of the library inside."""
        if not isinstance(classifier, (TextClassifier, OnlineClassifier)):
            raise InvalidParameter(
                f"a {type(classifier).__name__} cannot predict on Spark; use one of the online "
                "classifiers or TextClassifier"
            )
        model = cls(classifier)
        if isinstance(classifier, TextClassifier):
            params = {"textCol": "text", **params}
        model._set(**params)
        return model

    # -- streams -------------------------------------------------------------------------------

    def update_stream(
        self,
        stream: DataFrame,
        checkpoint: str,
        trigger: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> StreamingQuery:
        """Go on learning from a stream, every row exactly once, also across restarts.

        The model is stored in the checkpoint after each batch. A query that is started again with
        the same checkpoint goes on from there, whatever this model knows. This model moves along:
        a `transform` uses what has been learned by then. New labels and words may come at any
        time.

        Parameters
        ----------
        stream : DataFrame
            A stream with the columns that the model was trained on, labels included.
        checkpoint : str
            A folder, on a file system that Spark knows, for this query alone.
        trigger : dict, default=None
            When batches are made, as ``DataStreamWriter.trigger`` takes it: ``{"availableNow":
            True}``, ``{"processingTime": "10 seconds"}``. None: whenever there is something new.
        name : str, default=None
            A name for the query.

        Returns
        -------
        StreamingQuery
            The query, running; it ends with ``stop()``.
        """
        check_classic(stream)
        self.check()
        return follow(self, self._classifier, stream, checkpoint, trigger, name, self._move_to)

    def _move_to(self, classifier: Any) -> None:
        """Answer with another classifier from now on."""
        self._classifier = classifier


class _Writer(MLWriter):
    """Saves parameters as Spark does, and the classifier as a file beside them."""

    def __init__(self, model: SurelineModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession)
        Store(self.sparkSession.sparkContext, path).put(self._model.classifier, FILE)


class _Reader(MLReader[SurelineModel]):
    """Loads what `_Writer` saved."""

    def load(self, path: str) -> SurelineModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        model = SurelineModel(Store(self.sparkSession.sparkContext, path).get(FILE))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
