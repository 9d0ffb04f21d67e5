"""The arrays that a model learns, and the memory they take.

The table is feature-major: ``table[1 + j, slot, column]`` belongs to feature j, row 0 to the
constant feature that serves as intercept. Slot 0 is the mean, slot 1 the variance or whatever else
the rule keeps. Two classes share one column, so that all numbers of a feature are adjacent; a wide
state has one column per class, in order of arrival, and capacity for more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter

CURVE = (1.5, 0.5, 0.0, 0.0, 0.0)  # that probabilities begin with: log a, b, and their precision


@dataclass(frozen=True)
class Layout:
    """What determines the shape of a state; it cannot change while a model learns."""

    rule: str
    covariance: str
    dtype: str
    fit_intercept: bool
    initial: tuple[float, ...]
    stamps: bool = False
    weighting: str | None = None  # what counts of rows by feature and class are for

    @property
    def counted(self) -> bool:
        """Whether there are class counts: how many rows of each class had each feature."""
        return self.weighting is not None

    def size_gb(self, features: int, columns: int) -> float:
        """The memory that a state takes, in GB of 2^30 bytes."""
        rows, item = features + 1, np.dtype(self.dtype).itemsize
        size = rows * columns * (len(self.initial) * item + 8 * self.stamps)
        size += 4 * self.counted * rows * max(columns, 2)
        if self.covariance == "full":
            size += columns * rows * rows * item
        return size / 2**30

    def check(self, features: int, columns: int, limit_gb: float, owner: str) -> None:
        """Refuse a state that would be too large, and say how large."""
        size = self.size_gb(features, columns)
        if size > limit_gb:
            shape = f"{features:,} features" + (f" x {columns:,} classes" if columns > 1 else "")
            cure = (
                "choose a diagonal covariance"
                if self.covariance == "full"
                else "use fewer features"
            )
            raise InvalidParameter(
                f"{owner}: {shape} with covariance={self.covariance!r} would take "
                f"{size:.3g} GB, more than memory_limit_gb={limit_gb:g}; "
                f"raise memory_limit_gb, or {cure}"
            )

    def allocate(
        self,
        features: int,
        columns: int,
        limit_gb: float,
        owner: str,
        known: NDArray[Any] | None = None,
    ) -> State:
        """A state that has learned nothing, or an error if it would be too large.

        The first rows of the table are those `known`.
        """
        self.check(features, columns, limit_gb, owner)
        full = self.covariance == "full"
        rows = features + 1
        initial = np.asarray(self.initial[:1] if full else self.initial, self.dtype)
        table = repeated(np.repeat(initial[:, np.newaxis], columns, axis=1), rows, known)
        matrices = (columns, rows, rows) if full else (0, 0, 0)
        covariance: NDArray[Any] = np.zeros(matrices, self.dtype)
        if full:
            covariance[:, np.arange(rows), np.arange(rows)] = self.initial[1]
        stamps = np.zeros((rows, columns) if self.stamps else (0, columns), np.int64)
        classes = max(columns, 2)
        tallies = np.zeros((rows, classes) if self.counted else (0, classes), np.int32)
        return State(
            self, table, covariance, stamps, tallies=tallies, tokens=np.zeros(classes, np.int64)
        )


def repeated(row: NDArray[Any], times: int, known: NDArray[Any] | None = None) -> NDArray[Any]:
    """`times` rows: those known, then the same one repeated.

    Copying ever longer parts is much faster than broadcasting.
    """
    table = np.empty((times, *row.shape), row.dtype)
    rest = table
    if known is not None:
        table[: len(known)], rest = known, table[len(known) :]
    rest[:1], done = row, 1
    while done < len(rest):
        rest[done : 2 * done] = rest[: min(done, len(rest) - done)]
        done *= 2
    return table


@dataclass
class State:
    """The arrays of one model; `clock` counts the examples that formed them.

    The first `used` columns hold something; `wide` says whether every class has one of its own.
    `counts` holds the updates, the mistakes and the examples since learning began, also those
    of passes that were undone. `merged` is the number of models, each trained on its own, that the
    state stands for.

    Where rows are counted, `tallies` has how many rows of each class have had a feature, in row 0
    how many rows there were, and `tokens` each class's nonzeros. Two classes that share a column
    have two counts all the same, in the order of their labels.

    `curve` is how scores become probabilities, and how firmly that is known. `errors` sums up the
    squares of scores before rows were learned, those on the wrong side and all, where r follows
    them.
    """

    layout: Layout
    table: NDArray[Any]
    covariance: NDArray[Any]
    stamps: NDArray[np.int64]
    wide: bool = False
    used: int = 1
    clock: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    merged: int = 1
    tallies: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    tokens: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    curve: NDArray[np.float64] = field(default_factory=lambda: np.array(CURVE))
    errors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))

    @property
    def features(self) -> int:
        """The number of features, the constant one aside."""
        return int(self.table.shape[0]) - 1

    def touched(self) -> NDArray[np.bool_]:
        """Which rows of the table learning has changed, the constant feature's first."""
        initial = self.layout.initial
        full = bool(self.covariance.size)
        changed = np.zeros(self.table.shape[0], np.bool_)
        for slot, value in enumerate(initial[:1] if full else initial):
            columns = self.table[:, slot, : self.used]
            changed |= (columns != np.asarray(value, columns.dtype)).any(axis=1)
        if full:
            variances = np.diagonal(self.covariance[: self.used], axis1=1, axis2=2)
            changed |= (variances != np.asarray(initial[1], variances.dtype)).any(axis=0)
        return changed

    @property
    def classes(self) -> int:
        """How many classes have counts."""
        return self.used if self.wide else 2

    def swap(self) -> None:
        """Swap two classes of which nothing but counts is known."""
        self.tallies = self.tallies[:, ::-1].copy()
        self.tokens = self.tokens[::-1].copy()

    def writeable(self) -> State:
        """The state, or a copy where its arrays are read-only, mapped from a file."""
        arrays = (
            *(self.table, self.covariance, self.stamps, self.counts),
            *(self.tallies, self.tokens, self.curve, self.errors),
        )
        return self if all(array.flags.writeable for array in arrays) else self.copy()

    def copy(self, table: NDArray[Any] | None = None) -> State:
        """An independent copy, on a table that is filled already if one is given."""
        return replace(
            self,
            table=self.table.copy() if table is None else table,
            covariance=self.covariance.copy(),
            stamps=self.stamps.copy(),
            counts=self.counts.copy(),
            tallies=self.tallies.copy(),
            tokens=self.tokens.copy(),
            curve=self.curve.copy(),
            errors=self.errors.copy(),
        )

    def with_columns(self, columns: int, limit_gb: float, owner: str) -> State:
        """A wide state with at least so many columns; it doubles, so that it seldom grows."""
        have = self.table.shape[2]
        if columns <= have:
            return self
        doubled = max(columns, 2 * have)
        fits = self.layout.size_gb(self.features, doubled) <= limit_gb
        larger = self.layout.allocate(self.features, doubled if fits else columns, limit_gb, owner)
        larger.table[:, :, :have] = self.table
        larger.covariance[:have] = self.covariance
        larger.stamps[:, :have] = self.stamps
        counted = self.tokens.size
        larger.tallies[:, :counted], larger.tokens[:counted] = self.tallies, self.tokens
        return self._on(larger)

    def with_features(self, features: int, limit_gb: float, owner: str) -> State:
        """A state with at least so many features; the new ones are as if never touched."""
        have = self.features
        if features <= have:
            return self
        columns = self.table.shape[2]
        doubled = max(features, 2 * have)
        fits = self.layout.size_gb(doubled, columns) <= limit_gb
        features = doubled if fits else features
        larger = self.layout.allocate(features, columns, limit_gb, owner, self.table)
        larger.covariance[:, : have + 1, : have + 1] = self.covariance
        larger.stamps[: self.stamps.shape[0]] = self.stamps
        larger.tallies[: self.tallies.shape[0]], larger.tokens[:] = self.tallies, self.tokens
        return self._on(larger)

    def with_rows(self, kept: NDArray[np.intp]) -> State:
        """A state that has these features alone, in this order, and capacity for one more."""
        rows = np.concatenate([[0], np.asarray(kept) + 1])
        state = self.layout.allocate(kept.size + 1, self.table.shape[2], np.inf, "")
        state.table[: rows.size] = self.table[rows]
        if self.covariance.size:
            state.covariance[:, : rows.size, : rows.size] = self.covariance[
                :, rows[:, np.newaxis], rows
            ]
        if self.layout.stamps:
            state.stamps[: rows.size] = self.stamps[rows]
        if self.layout.counted:
            state.tallies[: rows.size] = self.tallies[rows]
        state.tokens[:] = self.tokens
        return self._on(state)

    def resized(self, features: int) -> State:
        """The state with exactly so many features; itself where it has them."""
        if features == self.features:
            return self
        state = self.layout.allocate(features, self.table.shape[2], np.inf, "")
        have = min(self.features, features) + 1
        state.table[:have] = self.table[:have]
        state.stamps[:have] = self.stamps[:have]
        state.covariance[:, :have, :have] = self.covariance[:, :have, :have]
        state.tallies[:have] = self.tallies[:have]
        return replace(self._on(state), tokens=self.tokens)

    def trimmed(self, features: int) -> State:
        """The state without the rows beyond so many features; nothing is copied."""
        rows = features + 1
        return replace(
            self,
            table=self.table[:rows],
            covariance=self.covariance[:, :rows, :rows],
            stamps=self.stamps[:rows],
            tallies=self.tallies[:rows],
        )

    def _on(self, larger: State) -> State:
        """The state on the arrays of another."""
        return replace(
            self,
            table=larger.table,
            covariance=larger.covariance,
            stamps=larger.stamps,
            tallies=larger.tallies,
            tokens=larger.tokens,
        )

    def without(self, column: int) -> State:
        """A wide state without that column."""
        fresh = self.layout.allocate(self.features, 1, np.inf, "")
        last = self.table.shape[2] - 1
        kept = [k for k in range(last + 1) if k != column]
        state = self.copy()
        state.table[:, :, :last], state.table[:, :, last:] = self.table[:, :, kept], fresh.table
        state.stamps[:, :last], state.stamps[:, last:] = self.stamps[:, kept], fresh.stamps
        state.tallies[:, :last], state.tallies[:, last:] = self.tallies[:, kept], 0
        state.tokens[:last], state.tokens[last:] = self.tokens[kept], 0
        if state.covariance.size:
            state.covariance[:last], state.covariance[last:] = (
                self.covariance[kept],
                fresh.covariance,
            )
        state.used -= 1
        return state
