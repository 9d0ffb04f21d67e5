"""`SurelineClassifier`: trains on all executors at once, and merges what they have learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import keyword_only
from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from sureline.errors import DataError
from sureline.spark.initial_model import begin
from sureline.spark.input import (
    as_classes,
    check_classic,
    count_features,
    find_classes,
    prepare,
)
from sureline.spark.merge import default_how, later_how, learn_round, told_plainly, warn_of
from sureline.spark.model import SurelineModel
from sureline.spark.params import Parameters
from sureline.spark.partition import MODELS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SurelineClassifier(
    Estimator[SurelineModel],
    Parameters,
    DefaultParamsReadable["SurelineClassifier"],
    DefaultParamsWritable,
):
    """Learn labels of texts or vectors, a model a partition, and merge the models into one.

    Every partition is read once a round, in the order in which its rows come, and never leaves its
    executor; what travels is one row of sums for each weight that it has changed. The same
    partitions give the same model, also where tasks fail and run again.

    Parameters
    ----------
    **kwargs
        Parameters of Spark's kind: `textCol` or `featuresCol`, `labelCol`, `weightCol`,
        `predictionCol`, `probabilityCol`, `rawPredictionCol`, `handleInvalid`, `rule` and what the
        rule takes (`r`, `C`, `confidence` and so on), `how`, `rounds`, `classes`, `shuffle`,
        `seed`, and how texts are read (`ngrams`, `chars`, `features`, `bits` and so on).
        `explainParams()` tells of each.

    Examples
    --------
    >>> from sureline.spark import SurelineClassifier
    >>> learner = SurelineClassifier(textCol="text", labelCol="label", rule="arow", r=0.1)
    >>> learner.getRule(), learner.setRounds(3).getRounds()
    ('arow', 3)
    """

    @keyword_only
    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        self.setParams(**kwargs)

    @keyword_only
    def setParams(self, **kwargs: Any) -> SurelineClassifier:  # noqa: N802
        """Set parameters by name.

        Parameters
        ----------
        **kwargs
            The parameters.

        Returns
        -------
        SurelineClassifier
            The classifier itself.
        """
        return self._set(**self._input_kwargs)  # type: ignore[attr-defined]

    def _fit(self, dataset: DataFrame) -> SurelineModel:
        check_classic(dataset)
        self.check()
        prepared, names = prepare(self, dataset)
        try:
            if self.isSet("classes"):
                classes = as_classes(self.getOrDefault("classes"), prepared)
            else:
                classes = find_classes(prepared)
            if classes.size < 2:
                raise DataError(
                    f"the column {names['label']!r} holds "
                    + (f"one class only, {classes.tolist()[0]!r}" if classes.size else "no label")
                    + "; training needs two classes"
                )
            features = None if self.reads_texts else count_features(prepared, names["input"])
            model = begin(self, classes, features)
            how = self.getOrDefault("how") if self.isSet("how") else default_how(model)
            rounds = int(self.getOrDefault("rounds"))
            for number in range(rounds):
                model, counts = learn_round(
                    model,
                    prepared,
                    later_how(how) if number else how,
                    self.getOrDefault("handleInvalid"),
                    settled=number > 0,
                    names=names,
                )
                if not number:
                    warn_of(counts, type(self).__name__)
                if not counts[MODELS]:
                    raise DataError("there is no row to learn from")
        except Exception as problem:
            plain = told_plainly(problem)
            if plain is problem:
                raise
            raise plain from None
        set_rounds(model, rounds)
        return self._copyValues(SurelineModel(model))


def set_rounds(model: Any, rounds: int) -> None:
    """Let a model tell how many passes were made.

    Parameters
    ----------
    model : classifier
        The model.
    rounds : int
        How many.
    """
    model.n_iter_ = rounds
