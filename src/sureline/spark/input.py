"""The columns of the user's DataFrame that training and prediction read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as sql
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from sureline.data.table import CATEGORY, TEXT
from sureline.errors import DataError, InvalidParameter, show
from sureline.spark.batches import INPUT, LABEL, WEIGHT
from sureline.spark.params import Parameters
from sureline.spark.pyspark_internals import is_classic, is_order_determined

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_CLASSES = 2**16
DAY = 86_400e6  # microseconds


def check_classic(frame: Any) -> None:
    """Refuse a session of Spark Connect, which has no broadcasts."""
    if not is_classic(frame):
        raise InvalidParameter(
            "sureline.spark needs a classic Spark session, because models are broadcast; got a "
            f"{type(frame).__module__}.{type(frame).__name__}. Start the session with "
            "SparkSession.builder.master(...), not with remote(...)"
        )


def column(frame: DataFrame, name: str) -> Column:
    """A column of a DataFrame, or an error if there is none; dots are part of its name."""
    if name not in frame.columns:
        raise DataError(
            f"there is no column {name!r}; there are {', '.join(map(repr, frame.columns))}"
        )
    escaped = name.replace("`", "``")
    return sql.col(f"`{escaped}`")


def table_of(frame: DataFrame, columns: Mapping[str, str]) -> Column:
    """The columns of a table as one column of structs, of types that all of Spark reads alike."""
    return sql.struct(
        *[table_column(frame, name, kind).alias(name) for name, kind in columns.items()]
    )


def table_column(frame: DataFrame, name: str, kind: str) -> Column:
    """A column of a table: texts and categories as strings, numbers, and dates in days.

    Numbers that are written as text are left to the library.
    """
    given, found = column(frame, name), frame.schema[name].dataType
    if isinstance(found, StringType):
        return given
    if kind == TEXT:
        raise DataError(
            f"the column {name!r} is of type {found.simpleString()}, not of texts; name it in "
            "categoryCols or numberCols"
        )
    if kind == CATEGORY:
        if isinstance(found, IntegralType | BooleanType):
            return given.cast("string")
        raise DataError(
            f"the column {name!r} is of type {found.simpleString()}; categories are strings, whole "
            "numbers or booleans"
        )
    if isinstance(found, NumericType):
        return given.cast("double")
    if isinstance(found, DateType):
        return sql.unix_date(given).cast("double")
    if isinstance(found, TimestampType):
        return sql.unix_micros(given) / DAY
    if isinstance(found, TimestampNTZType):
        start = sql.expr("timestamp_ntz'1970-01-01 00:00:00'")
        return sql.timestamp_diff("MICROSECOND", start, given) / DAY
    raise DataError(
        f"the column {name!r} is of type {found.simpleString()}; numbers are numbers, strings, "
        "dates or times"
    )


def input_of(stage: Parameters, frame: DataFrame) -> Column:
    """What the stage reads: a column of texts or vectors, or the structs of several columns."""
    if stage.columns:
        return table_of(frame, stage.columns)
    name = stage.input_column
    given = column(frame, name)
    kind, texts = frame.schema[name].dataType, stage.reads_texts
    if not isinstance(kind, StringType if texts else VectorUDT):
        expected = "texts" if texts else "vectors; for a column of texts set textCol"
        raise DataError(
            f"the column {name!r} is of type {kind.simpleString()}, expected {expected}"
        )
    return given


def label_kind(frame: DataFrame, name: str) -> str:
    """The type that labels are read as: string, bigint, double or boolean, or an array of such."""
    column(frame, name)
    kind = frame.schema[name].dataType
    if isinstance(kind, ArrayType):
        if isinstance(kind.elementType, StringType):
            return "array<string>"
        if isinstance(kind.elementType, IntegralType):
            return "array<bigint>"
    for types, read in (
        (StringType, "string"),
        (IntegralType, "bigint"),
        ((FloatType, DoubleType, DecimalType), "double"),
        (BooleanType, "boolean"),
    ):
        if isinstance(kind, types):
            return read
    raise DataError(
        f"the column {name!r} is of type {kind.simpleString()}; labels must be strings, numbers or "
        "booleans, or arrays of strings or whole numbers"
    )


def prepare(
    stage: Parameters, frame: DataFrame, shuffle: bool = True
) -> tuple[DataFrame, dict[str, str]]:
    """The columns that training reads, ``input``, ``label`` and perhaps ``weight``.

    They are shuffled if the stage says so; streams are shuffled batch by batch. Also returns the
    user's names of these columns.
    """
    label = stage.getOrDefault("labelCol")
    names = {INPUT: stage.input_column, LABEL: label}
    chosen = [
        input_of(stage, frame).alias(INPUT),
        column(frame, label).cast(label_kind(frame, label)).alias(LABEL),
    ]
    if stage.isSet("weightCol") and stage.getOrDefault("weightCol"):
        names[WEIGHT] = stage.getOrDefault("weightCol")
        weight = column(frame, names[WEIGHT])
        kind = frame.schema[names[WEIGHT]].dataType
        if not isinstance(kind, NumericType):
            raise DataError(
                f"the column {names[WEIGHT]!r} is of type {kind.simpleString()}, expected numbers"
            )
        chosen.append(weight.cast("double").alias(WEIGHT))
    prepared = frame.select(*chosen)
    return _shuffled(stage, prepared) if shuffle else prepared, names


def _shuffled(stage: Parameters, prepared: DataFrame) -> DataFrame:
    """The rows in an order that depends on the rows and the seed alone, if it is to be changed."""
    shuffle = stage.getOrDefault("shuffle")
    if shuffle == "none":
        if not is_order_determined(prepared):
            warnings.warn(
                f"{type(stage).__name__}: rows come from a shuffle, such as a repartition or a "
                "join, in an order that changes when a task runs again, and the model with it; set "
                'shuffle="partition", or sort rows within partitions first',
                UserWarning,
                stacklevel=4,
            )
        return prepared
    content = sql.col(INPUT) if stage.reads_texts else sql.unwrap_udt(INPUT)
    seed = sql.lit(int(stage.getOrDefault("seed")))
    key = sql.xxhash64(seed, content, sql.col(LABEL))
    if shuffle == "all":
        prepared = prepared.repartition(prepared.rdd.getNumPartitions(), key)
    # Rows with equal keys are the same but for their weights.
    return prepared.sortWithinPartitions(key, *prepared.columns[2:])


def has_sets(prepared: DataFrame) -> bool:
    """Whether the rows of prepared data have any number of labels each."""
    return isinstance(prepared.schema[LABEL].dataType, ArrayType)


def find_classes(prepared: DataFrame) -> NDArray[Any]:
    """All labels of prepared data, sorted."""
    every = prepared
    if has_sets(prepared):
        every = prepared.select(sql.explode(LABEL).alias(LABEL))
    labels = every.select(LABEL).where(sql.col(LABEL).isNotNull()).distinct()
    found = [row[0] for row in labels.limit(MOST_CLASSES + 1).collect()]
    if len(found) > MOST_CLASSES:
        raise DataError(
            f"there are more than {MOST_CLASSES:,} different labels; is labelCol the right column?"
        )
    return as_classes([label for label in found if label == label], prepared)  # without NaN


def as_classes(labels: Sequence[Any], prepared: DataFrame) -> NDArray[Any]:
    """Labels, sorted, of the type of the column of labels in prepared data."""
    kind = prepared.schema[LABEL].dataType.simpleString()
    kind = kind.removeprefix("array<").removesuffix(">")
    read: Any = {"string": str, "bigint": int, "double": float, "boolean": bool}[kind]
    for label in labels:
        exact = isinstance(label, (int, float)) if read is float else isinstance(label, read)
        if not exact or (read is not bool and isinstance(label, bool)):
            raise InvalidParameter(
                f"classes has {show(label)}, but the labels are of type {kind}; give classes of "
                "the same type"
            )
    if read is str:
        return np.unique(np.array([*labels], dtype=np.str_))
    return np.unique(np.array([read(label) for label in labels], dtype=read))


def count_features(prepared: DataFrame, name: str) -> int:
    """How many numbers each vector has, as the first of them shows; `name` is the user's column."""
    first = prepared.select(INPUT).where(sql.col(INPUT).isNotNull()).first()
    if first is None:
        raise DataError(f"the column {name!r} holds no vector")
    return int(first[0].size)
