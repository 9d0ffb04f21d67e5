"""Arrow batches from Spark as batches of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.data import as_text
from sureline.data.batch import Batch
from sureline.data.table import TEXT, Columns, as_table
from sureline.errors import DataError
from sureline.estimators.stream import class_labels, present_labels

INPUT, LABEL, WEIGHT = "input", "label", "weight"


def drop_missing(batch: pa.RecordBatch, invalid: str, names: dict[str, str]) -> pa.RecordBatch:
    """The complete rows of a batch; `names` are the user's names of its columns."""
    complete = None
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        valid = column.is_valid()
        if pa.types.is_floating(column.type):
            valid = pc.and_(valid, pc.invert(pc.fill_null(pc.is_nan(column), True)))
        if pc.all(valid).as_py() is not False:
            continue
        if invalid == "error":
            raise DataError(
                f"the column {names[name]!r} has a missing value; fill it, or set "
                "handleInvalid='skip' to leave such rows out"
            )
        complete = valid if complete is None else pc.and_(complete, valid)
    return batch if complete is None else batch.filter(complete)


def as_batch(
    batch: pa.RecordBatch, features: int | None, source: str, columns: Columns | None = None
) -> Batch:
    """Complete rows as the library takes them.

    `features` is how many numbers every vector must have, None for texts and for rows of several
    `columns`; messages name the rows by `source`.
    """
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    weight = given.get(WEIGHT)
    if weight is not None:
        weight = weight.to_numpy(zero_copy_only=False).astype(np.float64)
        if not (np.isfinite(weight) & (weight >= 0.0)).all():
            raise DataError(f"{source}: weights must be finite and at least 0")
    return Batch(
        text=as_texts(given[INPUT], source, columns) if features is None else None,
        matrix=None if features is None else as_matrix(given[INPUT], features, source),
        label=given.get(LABEL),
        weight=weight,
        source=source,
    )


def as_texts(column: pa.Array, source: str, columns: Columns | None) -> pa.Array:
    """Texts, or rows of several columns."""
    if columns is None:
        return as_text(column)
    try:
        table = as_table(column, columns)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    return table.field(0) if list(columns.values()) == [TEXT] else table


def as_matrix(vectors: pa.StructArray, features: int, source: str) -> Any:
    """Spark's vectors, structs of type (0 for sparse), size, indices and values, as a matrix."""
    kind, size, indices, values = vectors.flatten()
    sparse = kind.to_numpy(zero_copy_only=False) == 0
    lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    sizes = np.where(sparse, pc.fill_null(size, 0).to_numpy(zero_copy_only=False), lengths)
    wrong = np.flatnonzero(sizes != features)
    if wrong.size:
        raise DataError(
            f"{source}: a vector has {sizes[wrong[0]]:,} numbers, others have {features:,}; give "
            "vectors of one length"
        )
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    positions = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    positions[np.repeat(sparse, lengths)] = indices.flatten().to_numpy(zero_copy_only=False)
    data = values.flatten().to_numpy(zero_copy_only=False)
    return csr_array((data, positions, indptr), shape=(len(vectors), features))


def check_labels(labels: pa.Array, classes: NDArray[Any]) -> None:
    """Refuse labels that are not among the classes."""
    found = present_labels(class_labels(labels, "a partition"))
    unknown = found[~np.isin(found, classes)]
    if unknown.size:
        raise DataError(
            f"the label {unknown.tolist()[0]!r} is not among the classes, which are "
            f"{', '.join(map(repr, classes.tolist()[:10]))}{' ...' if classes.size > 10 else ''}; "
            "name all classes in 'classes', or leave it out"
        )
