"""The arrays a model learns, and the memory they take.

The table is feature-major: ``table[1 + j, slot, column]`` belongs to feature j, row 0 to the
constant feature that serves as intercept. Slot 0 is the mean, slot 1 the variance or whatever else
the rule keeps. Two classes need one column, so that all that is known of a feature lies side by
side; K classes need K.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter


@dataclass(frozen=True)
class Layout:
    """What decides the shape of a state; it cannot change while a model learns."""

    rule: str
    covariance: str
    dtype: str
    fit_intercept: bool
    initial: tuple[float, ...]
    stamps: bool = False

    def allocate(self, features: int, columns: int, limit_gb: float, owner: str) -> State:
        """A state that has seen nothing, or an error that tells what it would have taken."""
        rows = features + 1
        item = np.dtype(self.dtype).itemsize
        size = rows * columns * (len(self.initial) * item + 8 * self.stamps)
        full = self.covariance == "full"
        if full:
            size += columns * rows * rows * item
        if size > limit_gb * 2**30:
            shape = f"{features:,} features" + (f" x {columns} classes" if columns > 1 else "")
            cure = ", or choose a diagonal covariance" if full else ", or use fewer features"
            raise InvalidParameter(
                f"{owner}: {shape} with covariance={self.covariance!r} would take "
                f"{size / 2**30:.3g} GB, more than memory_limit_gb={limit_gb:g}; "
                f"raise memory_limit_gb{cure}"
            )
        table = np.empty((rows, len(self.initial), columns), self.dtype)
        table[:] = np.asarray(self.initial, self.dtype)[:, np.newaxis]
        covariance: NDArray[Any] = np.zeros(
            (columns, rows, rows) if full else (0, 0, 0), self.dtype
        )
        if full:
            covariance[:, np.arange(rows), np.arange(rows)] = self.initial[1]
            table = np.ascontiguousarray(table[:, :1])
        stamps = np.zeros((rows, columns) if self.stamps else (0, columns), np.int64)
        return State(self, table, covariance, stamps)


@dataclass
class State:
    """The arrays of one model; `clock` counts the examples that formed them.

    `counts` holds the updates, the mistakes and the examples since learning began, also those of
    passes that were undone.
    """

    layout: Layout
    table: NDArray[Any]
    covariance: NDArray[Any]
    stamps: NDArray[np.int64]
    clock: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))

    def writeable(self) -> State:
        """The state itself, or a copy where its arrays were mapped from a file for reading only."""
        arrays = (self.table, self.covariance, self.stamps, self.counts)
        return self if all(array.flags.writeable for array in arrays) else self.copy()

    def copy(self) -> State:
        """A state that further learning leaves alone."""
        return replace(
            self,
            table=self.table.copy(),
            covariance=self.covariance.copy(),
            stamps=self.stamps.copy(),
            counts=self.counts.copy(),
        )
