"""Labels in long runs, as in files sorted by label, are worth a warning."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import Any

import pyarrow.compute as pc

from sureline.data import Batch, LongestRun
from sureline.data.arrow_arrays import is_list

# So many rows of one label at the beginning of an input that keeps its order are worth a warning.
MANY = 10_000


def add_counts(counts: Counter[Any], batch: Batch) -> None:
    """Count the labels of some more rows."""
    if batch.label is not None:
        label = batch.label.flatten() if is_list(batch.label.type) else batch.label
        for each in pc.value_counts(label).to_pylist():
            counts[each["values"]] += each["counts"]


class LabelRuns:
    """Watches labels for long runs of equal ones, from which one pass learns little."""

    def __init__(self, in_order: bool, limit: int) -> None:
        self._in_order, self._limit = in_order, limit
        self._run = LongestRun()
        self.counts: Counter[Any] = Counter()  # the rows of each label so far
        self._bytes = 0
        self._warned = False

    def update(self, batch: Batch) -> None:
        """Watch the labels of some more rows."""
        self._run.update(batch.label)
        self._bytes += int(batch.row_bytes.sum())
        add_counts(self.counts, batch)

    def early(self) -> bool:
        """Whether to warn at once: many rows in their own order, all of one label."""
        return self._once(self._in_order and len(self.counts) == 1 and self._run.rows >= MANY)

    def late(self) -> bool:
        """Whether to warn when all rows have been seen."""
        run = self._run
        if len(self.counts) < 2 or not run.rows:
            return False
        # In random order, a run of a label of share p rarely is longer than log n / -log p.
        share = self.counts[run.label] / run.rows
        usual = log(run.rows) / -log(share)
        long = run.length > 20 + 3 * usual
        if not self._in_order:
            mean = self._bytes / run.rows
            long = long and self._bytes > self._limit and 4 * run.length * mean > self._limit
        return self._once(long)

    def _once(self, true: bool) -> bool:
        if self._warned or not true:
            return False
        self._warned = True
        return True

    def warning(self) -> str:
        """The warning."""
        run = self._run
        sentence = (
            f"labels come in long runs: {run.length:,} consecutive rows have the label "
            f"{run.label!r}, and one pass over such rows learns little"
        )
        if self._in_order:
            return f"{sentence}; leave out --no-shuffle, or shuffle the rows beforehand"
        limit = f"{self._limit / 2**20:g} MB"
        return f"{sentence}; raise --buffer above {limit}, or shuffle the rows beforehand"
