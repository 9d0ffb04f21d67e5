"""`SurelineClassifier`: trains on all executors at once and merges their models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import keyword_only
from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from sureline.errors import DataError
from sureline.spark.initial_model import initial_model
from sureline.spark.input import (
    as_classes,
    check_classic,
    count_features,
    find_classes,
    has_sets,
    prepare,
)
from sureline.spark.merge import (
    choose_how,
    learn_round,
    plain_errors,
    warn_about_rows,
)
from sureline.spark.model import SurelineModel
from sureline.spark.params import Parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SurelineClassifier(
    Estimator[SurelineModel],
    Parameters,
    DefaultParamsReadable["SurelineClassifier"],
    DefaultParamsWritable,
):
    """Learn labels of texts, table rows or vectors: one model per partition, merged into one.

    Every partition is read once per round, in the order of its rows, and never leaves its executor;
    what is sent is one row per weight that it has changed. The same partitions give the same model,
    even if tasks fail and run again.

    Parameters
    ----------
    **kwargs
        The parameters: `textCol`, or `textCols`, `categoryCols` and `numberCols`, or
        `featuresCol`; `labelCol`, `weightCol`, `predictionCol`, `probabilityCol`,
        `rawPredictionCol`, `handleInvalid`, `rule` and those of the rule (`r`, `C`, `confidence`
        and so on), `how`, `rounds`, `classes`, `shuffle`, `seed`, and those of texts (`ngrams`,
        `chars`, `features`, `bits` and so on). `explainParams()` describes each.

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
        with plain_errors():
            if self.isSet("classes"):
                classes = as_classes(self.getOrDefault("classes"), prepared)
            else:
                classes = find_classes(prepared)
            several = has_sets(prepared)
            if classes.size < 2 - several:
                raise DataError(
                    f"the column {names['label']!r} holds "
                    + (f"one class only, {classes.tolist()[0]!r}" if classes.size else "no label")
                    + f"; training needs {'a label' if several else 'two classes'}"
                )
            features = None if self.reads_texts else count_features(prepared, names["input"])
            model = initial_model(self, classes, features, several)
            invalid, rounds = self.getOrDefault("handleInvalid"), int(self.getOrDefault("rounds"))
            for number in range(rounds):
                again = number > 0
                how = choose_how(self, model, again)
                model, counters = learn_round(model, prepared, how, invalid, again, names)
                if not again:
                    warn_about_rows(counters, type(self).__name__)
                if not counters.models:
                    raise DataError("there is no row to learn from")
        model.n_iter_ = rounds
        return self._copyValues(SurelineModel(model))
