"""Predictions on executors: pandas functions over a column of texts, vectors or table rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sureline.data.arrow_arrays import null_mask
from sureline.errors import DataError
from sureline.estimators import TextClassifier
from sureline.estimators.stream import predict_batch
from sureline.spark.batches import INPUT, as_batch

VECTOR = (
    pa.field("type", pa.int8()),
    pa.field("size", pa.int32()),
    pa.field("indices", pa.list_(pa.int32())),
    pa.field("values", pa.list_(pa.float64())),
)


@dataclass(frozen=True)
class PredictionTask:
    """How to predict a column, by the user's `name` of it, with a broadcast model.

    `outputs` are some of ``prediction``, ``probability`` and ``raw``.
    """

    model: Any
    outputs: tuple[str, ...]
    invalid: str
    name: str

    def predict_texts(self, batches: Iterator[pd.Series]) -> Iterator[pd.DataFrame]:
        """Predictions for texts."""
        for texts in batches:
            yield self._predict(pa.array(texts, pa.large_string(), from_pandas=True))

    def predict_tables(self, batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Predictions for rows of several columns, whose missing values are like others."""
        for rows in batches:
            fields = [pa.array(rows[name], from_pandas=True) for name in rows.columns]
            yield self._predict(pa.StructArray.from_arrays(fields, names=list(rows.columns)))

    def predict_vectors(self, batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Predictions for the fields of vectors; a row without values is missing."""
        for vectors in batches:
            columns = [pa.array(vectors[f.name], f.type, from_pandas=True) for f in VECTOR]
            missing = columns[-1].is_null()
            yield self._predict(pa.StructArray.from_arrays(columns, fields=VECTOR, mask=missing))

    def _predict(self, column: pa.Array) -> pd.DataFrame:
        """The predictions for a column, null where the column is."""
        valid = ~null_mask(column)
        if self.invalid == "error" and not valid.all():
            raise DataError(
                f"the column {self.name!r} has a missing value; fill it, or set "
                "handleInvalid='keep' for a null as prediction or 'skip' to leave such rows out"
            )
        classifier = self.model.value
        texts = isinstance(classifier, TextClassifier)
        rows = pa.RecordBatch.from_arrays([column.filter(pa.array(valid))], [INPUT])
        features = None if texts else int(classifier.n_features_in_)
        columns = getattr(classifier, "columns_", None)
        batch = as_batch(rows, features, f"column {self.name!r}", columns)
        found = dict[str, Any]()
        if len(batch):
            predicted = predict_batch(classifier, batch)
            found["prediction"] = predicted.label
            if getattr(classifier, "is_multilabel", False):
                found["prediction"] = _as_lists(predicted.label)
            if predicted.label.dtype.kind in "iuf":
                found["prediction"] = predicted.label.astype(float)
            found["probability"] = predicted.probabilities
            if "raw" in self.outputs:
                given = batch.text if columns is None else rows[INPUT]
                found["raw"] = _raw(classifier, given if texts else batch.matrix)
        return pd.DataFrame({name: _with_nulls(found.get(name), valid) for name in self.outputs})


def _as_lists(sets: Any) -> Any:
    """Tuples of labels as lists, which Arrow takes for arrays."""
    made = np.empty(len(sets), object)
    for k, each in enumerate(sets):
        made[k] = list(each)
    return made


def _raw(classifier: Any, rows: Any) -> Any:
    """The score of every class; of two classes, that of the second with both signs."""
    scores = classifier.decision_function(rows)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _with_nulls(values: Any, valid: Any) -> pd.Series:
    """One object per row, None where there is no prediction."""
    objects = np.full(valid.size, None, object)
    if values is not None:
        rows = values.tolist() if values.ndim == 1 else list(values)
        for place, value in zip(np.flatnonzero(valid).tolist(), rows, strict=True):
            objects[place] = value
    return pd.Series(objects, dtype=object)
