"""What an executor does with one partition: learn it, and tell what was learned, row by row.

Every row says what the partition's model adds to a sum: (feature, class, precision × mean,
precision) for weights, and alike for counts and for the curve of probabilities. Names of features
travel as keys, so that nothing but numbers is ever added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

# What a row is about.
KINDS = range(8)
WEIGHT, CONSTANT, WORD, WAITING, COUNT, TALLY, TOTAL, CURVE = KINDS
# The counters, as the features of rows of kind COUNT.
MODELS, CLOCK, UPDATES, MISTAKES, SEEN, LEFT_OUT, ONE_CLASS = range(7)
KEYS = "kind tinyint, feature bigint, class int, name binary"
ROWS = 2**16  # rows a batch


@dataclass(frozen=True)
class Job:
    """What to do with a partition.

    Parameters
    ----------
    start : pyspark Broadcast
        The model that the round starts from.
    how : {"kl", "mean", "product", "product-prior"}
        How the partitions' models will be merged.
    sums : tuple of str
        The names of the sums.
    settled : bool
        Whether these texts have been read before, so that no new feature gets a column.
    invalid : {"error", "skip", "keep"}
        What to do about missing values.
    names : dict
        What the user calls the columns.
    """

    start: Any
    how: Any
    sums: tuple[str, ...]
    settled: bool
    invalid: str
    names: dict[str, str]

    @property
    def schema(self) -> str:
        """The columns of the rows that tell what was learned."""
        return ", ".join([KEYS, *(f"{name} double" for name in self.sums)])

    def learn(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Learn a partition in the order in which its rows come, and tell what was learned."""
        from sureline.spark.compile_cache import compiled_apart

        with compiled_apart():
            from sureline.spark.partition_learning import learn_partition

            told = learn_partition(self, self.start.value, batches)
            first = next(told, None)  # all is learned, and compiled, before the first row comes
        if first is not None:
            yield first
            yield from told
