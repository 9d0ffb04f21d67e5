"""Answers on the executors: a vectorised function over the column of texts or vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sureline.errors import DataError


def answer_texts(shipped: Any, wanted: tuple[str, ...], invalid: str, name: str) -> Any:
    """A function from texts to answers, to be made a pandas UDF.

    Parameters
    ----------
    shipped : pyspark Broadcast
        The model.
    wanted : tuple of str
        Which of ``prediction``, ``probability`` and ``raw`` to answer.
    invalid : {"error", "skip", "keep"}
        What to do about missing texts.
    name : str
        The user's name of the column.
    """

    def answer(batches: Iterator[pd.Series]) -> Iterator[pd.DataFrame]:
        for texts in batches:
            column = pa.array(texts, pa.large_string(), from_pandas=True)
            yield _answers(shipped, wanted, invalid, name, column)

    return answer


def answer_vectors(shipped: Any, wanted: tuple[str, ...], invalid: str, name: str) -> Any:
    """A function from vectors, unwrapped, to answers; parameters as of `answer_texts`.

    Parameters
    ----------
    shipped, wanted, invalid, name
        As of `answer_texts`.
    """

    def answer(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for vectors in batches:
            yield _answers(shipped, wanted, invalid, name, _as_struct(vectors))

    return answer


def _as_struct(vectors: pd.DataFrame) -> pa.StructArray:
    """Vectors as Arrow would have brought them; a row without values is missing."""
    fields = [
        pa.field("type", pa.int8()),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.int32())),
        pa.field("values", pa.list_(pa.float64())),
    ]
    columns = [pa.array(vectors[f.name], f.type, from_pandas=True) for f in fields]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=columns[3].is_null())


def _answers(
    shipped: Any, wanted: tuple[str, ...], invalid: str, name: str, column: pa.Array
) -> pd.DataFrame:
    """What the model says of a column, null where the column is."""
    from sureline.spark.compile_cache import compiled_apart

    there = column.is_valid().to_numpy(zero_copy_only=False)
    if invalid == "error" and not there.all():
        raise DataError(
            f"the column {name!r} has a missing value; fill it, or set handleInvalid='keep' for a "
            "null as prediction or 'skip' to leave such rows out"
        )
    with compiled_apart():
        from sureline.estimators import TextClassifier
        from sureline.estimators.stream import predict_batch
        from sureline.spark.columns import as_batch

        model = shipped.value
        texts = isinstance(model, TextClassifier)
        rows = pa.RecordBatch.from_arrays([column.filter(pa.array(there))], ["input"])
        batch = as_batch(rows, None if texts else int(model.n_features_in_), f"column {name!r}")
        answers = predict_batch(model, batch)
        made = dict[str, Any]()
        if "prediction" in wanted:
            number = answers.label.dtype.kind in "iuf"
            made["prediction"] = answers.label.astype(float) if number else answers.label.tolist()
        if "probability" in wanted:
            made["probability"] = answers.probabilities
        if "raw" in wanted and len(batch):
            made["raw"] = _raw(model, batch.text if texts else batch.matrix)
    return pd.DataFrame({key: _spread(made.get(key), there) for key in wanted})


def _raw(model: Any, rows: Any) -> Any:
    """The scores of all classes; of two, the second's with both signs."""
    scores = model.decision_function(rows)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _spread(values: Any, there: Any) -> pd.Series:
    """One object a row, None where there is no answer."""
    spread = np.full(there.size, None, object)
    if values is not None and there.any():
        places = np.flatnonzero(there)
        for place, value in zip(places.tolist(), values, strict=True):
            spread[place] = value
    return pd.Series(spread, dtype=object)
