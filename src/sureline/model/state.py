"""The arrays that a model learns, and the memory they take.

The table is feature-major: ``table[1 + j, slot, column]`` belongs to feature j, row 0 to the
constant feature that serves as intercept. Slot 0 is the mean, slot 1 the variance or whatever else
the rule keeps. Two classes share one column, so that all numbers of a feature are adjacent; a wide
state has one column per class, in order of arrival, and capacity for more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter
from sureline.kernels.calibration import (
    FIRST,
    FIRST_UNSCALED,
    INTERVALS,
    LOG_A,
    LOG_TAU,
    PRIOR_VARIANCE,
    SCALED,
    SIZE,
    WEIGHT,
)
from sureline.kernels.label_sets import FIRST_FIT, FIT, LINES
from sureline.model.device import Covariance, Device, DeviceMatrices
from sureline.model.matrices import FirstMatrices, HostMatrices

ARRAYS = (
    "table",
    "covariance",
    "last_changed",
    "counts",
    "class_counts",
    "class_tokens",
    "calibrator",
    "noise_sums",
    "outcomes",
    "novelty",
    "fits",
)
Places = slice | NDArray[np.intp]


def first_calibrator(initial_variance: float = 1.0, scaled: bool = False) -> NDArray[np.float64]:
    """The calibrator of a model that has learned nothing; rows may be `scaled` to length 1."""
    calibrator = np.zeros(SIZE)
    calibrator[LOG_A : LOG_TAU + 1] = FIRST
    if not scaled:
        calibrator[LOG_TAU] = FIRST_UNSCALED
    calibrator[SCALED], calibrator[PRIOR_VARIANCE] = float(scaled), initial_variance
    calibrator[WEIGHT] = 1.0
    return calibrator


def first_fits(columns: int, scaled: bool) -> NDArray[np.float64]:
    """The calibrators and sums of so many labels of which nothing was learned."""
    fits = np.zeros((columns, FIT))
    fits[:, :SIZE] = first_calibrator(1.0, scaled)
    fits[:, LOG_A : LOG_TAU + 1] = FIRST_FIT
    if not scaled:
        fits[:, LOG_TAU] = FIRST_UNSCALED
    return fits


def symmetric(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrices of three rows with these upper triangles, such as the precision of a calibrator."""
    matrix = np.zeros((*upper.shape[:-1], 3, 3))
    matrix[(..., *np.triu_indices(3))] = upper
    return np.asarray(matrix + np.swapaxes(np.triu(matrix, 1), -1, -2))


@dataclass(frozen=True)
class Layout:
    """What determines the shape of a state; it cannot change while a model learns."""

    rule: str
    covariance: str
    dtype: str
    fit_intercept: bool
    initial: tuple[float, ...]
    last_changed: bool = False  # whether the rule needs to know when each weight was last changed
    weighting: str | None = None  # what counts of rows by feature and class are for
    scaled: bool = False  # whether rows have length 1
    multilabel: bool = False  # whether rows have sets of labels; column 0 then counts all rows

    @property
    def counted(self) -> bool:
        """Whether there are class counts: how many rows of each class had each feature."""
        return self.weighting is not None

    @property
    def initial_variance(self) -> float:
        """The variance that weights begin with, or 1 where there is none."""
        return 1.0 if self.covariance == "identity" else (*self.initial, 1.0)[1]

    @property
    def slots(self) -> int:
        """How many numbers of a weight are in the table; a full covariance is kept apart."""
        return 1 if self.covariance == "full" else len(self.initial)

    @property
    def outcome_lines(self) -> int:
        """The number of lines of `outcomes`."""
        return LINES if self.multilabel else 1 + INTERVALS

    def size(self, rows: int, columns: int) -> int:
        """The bytes of a state with so many rows, the constant feature's among them."""
        item = np.dtype(self.dtype).itemsize
        matrices = rows * item if self.covariance == "full" else 0
        each = self.slots * item + 8 * self.last_changed + matrices
        return int(rows * columns * each + 4 * self.counted * rows * max(columns, 2))

    def size_gb(self, features: int, columns: int) -> float:
        """The memory that a state takes, in GB of 2^30 bytes."""
        return self.size(features + 1, columns) / 2**30

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
        self, features: int, columns: int, limit_gb: float = math.inf, owner: str = ""
    ) -> State:
        """A state that has learned nothing, or an error if it would be too large."""
        self.check(features, columns, limit_gb, owner)
        rows, classes = features + 1, max(columns, 2)
        initial = np.asarray(self.initial[: self.slots], self.dtype)
        full = self.covariance == "full"
        covariance: Any = np.zeros((0, 0, 0), self.dtype)
        if full:
            covariance = FirstMatrices(columns, rows, self.initial[1])
        return State(
            self,
            repeated(np.repeat(initial[:, np.newaxis], columns, axis=1), rows),
            covariance,
            np.zeros((rows if self.last_changed else 0, columns), np.int64),
            class_counts=np.zeros((rows if self.counted else 0, classes), np.int32),
            class_tokens=np.zeros(classes, np.int64),
            calibrator=first_calibrator(self.initial_variance, self.scaled),
            outcomes=np.zeros((self.outcome_lines, classes)),
            fits=first_fits(columns if self.multilabel else 0, self.scaled),
        )


def repeated(row: NDArray[Any], times: int) -> NDArray[Any]:
    """The same row so many times; copying ever longer parts is much faster than broadcasting."""
    table = np.empty((times, *row.shape), row.dtype)
    table[:1], done = row, 1
    while done < times:
        table[done : 2 * done] = table[: min(done, times - done)]
        done *= 2
    return table


@dataclass
class State:
    """The arrays of one model; `clock` counts the examples that formed them.

    The first `used` columns hold something; `wide` says whether every class has one of its own.
    `last_changed` has the clock at which each weight was last changed, where the rule needs it.
    `counts` holds the updates, the mistakes and the examples since learning began, also those
    of passes that were undone. `merged` is the number of models, each trained on its own, that the
    state stands for.

    Where rows are counted, `class_counts` has how many rows of each class have had a feature, in
    row 0 how many rows there were, and `class_tokens` each class's nonzeros. Two classes that share
    a column have two counts all the same, in the order of their labels.

    `calibrator` turns scores into probabilities; `outcomes` and `novelty` count what it said of
    rows before they were learned; `kernels.calibration` explains all three. `noise_sums` are the
    sums of the squares of scores before rows were learned, of those on the wrong side and of all,
    from which r="auto" is estimated.

    Where rows have sets of labels, the first column of all arrays belongs to no label: it counts
    all rows. `kernels.label_sets` explains that and `fits`: each label's calibrator and noise sums.
    """

    layout: Layout
    table: NDArray[Any]
    covariance: NDArray[Any] = cast(Any, Covariance())
    last_changed: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 1), np.int64))
    wide: bool = False
    used: int = 1
    clock: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    merged: int = 1
    class_counts: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    class_tokens: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    calibrator: NDArray[np.float64] = field(default_factory=first_calibrator)
    noise_sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    outcomes: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1 + INTERVALS, 2)))
    novelty: NDArray[np.float64] = field(default_factory=lambda: np.zeros(INTERVALS))
    fits: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, FIT)))

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: no array on a device."""
        return {**self.__dict__, "covariance": self.covariance}

    # -- where the full covariances are ---------------------------------------------------------

    @property
    def is_on_device(self) -> bool:
        """Whether the full covariances are on a device."""
        return isinstance(self.__dict__["covariance"], DeviceMatrices)

    def matrices(self) -> HostMatrices | DeviceMatrices:
        """The full covariances, where they are."""
        if self.is_on_device:
            return cast(DeviceMatrices, self.__dict__["covariance"])
        return HostMatrices(self.covariance)

    def move_to(self, device: Device | None) -> None:
        """Keep the full covariances on a device from now on, or on the host."""
        if device is None and self.is_on_device:
            self.covariance = self.covariance
        elif device is not None and not self.is_on_device:
            self.__dict__["covariance"] = DeviceMatrices(device, self.__dict__["covariance"])

    # -- what is known ---------------------------------------------------------------------------

    @property
    def features(self) -> int:
        """The number of features, the constant one aside."""
        return int(self.table.shape[0]) - 1

    @property
    def classes(self) -> int:
        """How many classes have counts."""
        return self.used if self.wide else 2

    def touched(self) -> NDArray[np.bool_]:
        """Which rows of the table learning has changed, the constant feature's first."""
        initial = self.layout.initial
        changed = np.zeros(self.table.shape[0], np.bool_)
        for slot, value in enumerate(initial[: self.layout.slots]):
            columns = self.table[:, slot, : self.used]
            changed |= (columns != np.asarray(value, columns.dtype)).any(axis=1)
        if self.covariance.size:
            variances = np.diagonal(self.covariance[: self.used], axis1=1, axis2=2)
            changed |= (variances != np.asarray(initial[1], variances.dtype)).any(axis=0)
        return changed

    def known(self) -> NDArray[np.bool_]:
        """Which rows have been learned or counted."""
        known = self.touched()
        if self.layout.counted:
            known |= (self.class_counts != 0).any(axis=1)
        return known

    @property
    def extent(self) -> int:
        """The number of features up to the last one of which anything is known."""
        rows = np.flatnonzero(self.known())
        return int(rows[-1]) if rows.size else 0

    def swap(self) -> None:
        """Swap two classes of which nothing but counts is known."""
        self.class_counts = self.class_counts[:, ::-1].copy()
        self.class_tokens = self.class_tokens[::-1].copy()
        self.outcomes = self.outcomes[:, ::-1].copy()

    def writeable(self) -> State:
        """The state, or a copy where its arrays are read-only, mapped from a file."""
        on_device = "covariance" if self.is_on_device else ""
        arrays = (getattr(self, name) for name in ARRAYS if name != on_device)
        return self if all(array.flags.writeable for array in arrays) else self.copy()

    def copy(self, table: NDArray[Any] | None = None) -> State:
        """An independent copy, on a table that is filled already if one is given."""
        copies = {name: getattr(self, name).copy() for name in ARRAYS if name != "table"}
        return replace(self, table=self.table.copy() if table is None else table, **copies)

    # -- rows ----------------------------------------------------------------------------------

    def put_rows(self, here: Places, source: State, there: Places) -> None:
        """Let these rows have what some rows of another state have."""
        self.table[here] = source.table[there]
        if self.layout.counted:
            self.class_counts[here] = source.class_counts[there]
        if self.layout.last_changed:
            self.last_changed[here] = source.last_changed[there]
        if self.layout.covariance == "full":
            self.move_to(None)
            self.covariance[matrix_block(here)] = source.covariance[matrix_block(there)]

    def with_features(self, features: int, limit_gb: float = math.inf, owner: str = "") -> State:
        """A state with at least so many features; it doubles, so that it seldom grows."""
        if features <= self.features:
            return self
        doubled = max(features, 2 * self.features)
        fits = self.layout.size_gb(doubled, self.table.shape[2]) <= limit_gb
        return self.resized(doubled if fits else features, limit_gb, owner)

    def resized(self, features: int, limit_gb: float = math.inf, owner: str = "") -> State:
        """The state with exactly so many features; new ones are as if never touched."""
        if features == self.features:
            return self
        state = self.layout.allocate(features, self.table.shape[2], limit_gb, owner)
        have = slice(0, min(self.features, features) + 1)
        state.put_rows(have, self, have)
        return self._on(state)

    def with_rows(self, kept: NDArray[np.intp]) -> State:
        """A state that has these features alone, in this order, and capacity for one more."""
        state = self.layout.allocate(kept.size + 1, self.table.shape[2])
        state.put_rows(slice(0, kept.size + 1), self, table_rows(kept))
        return self._on(state)

    def trimmed(self, features: int) -> State:
        """The state without the rows beyond so many features; nothing is copied."""
        rows = features + 1
        return replace(
            self,
            table=self.table[:rows],
            covariance=self.covariance[:, :rows, :rows],
            last_changed=self.last_changed[:rows],
            class_counts=self.class_counts[:rows],
        )

    def _on(self, other: State) -> State:
        """The state with the rows of another, which has the same columns."""
        return replace(
            self,
            table=other.table,
            covariance=other.covariance,
            last_changed=other.last_changed,
            class_counts=other.class_counts,
            class_tokens=self.class_tokens.copy(),
        )

    # -- columns -------------------------------------------------------------------------------

    def with_columns(self, columns: int, limit_gb: float, owner: str) -> State:
        """A wide state with at least so many columns; it doubles, so that it seldom grows."""
        have = self.table.shape[2]
        if columns <= have:
            return self
        doubled = max(columns, 2 * have)
        fits = self.layout.size_gb(self.features, doubled) <= limit_gb
        larger = self.layout.allocate(self.features, doubled if fits else columns, limit_gb, owner)
        return self._first_columns(larger, slice(0, have), have)

    def without(self, column: int) -> State:
        """A wide state without that column, and with a fresh one behind the others."""
        columns = self.table.shape[2]
        kept = np.delete(np.arange(columns), column)
        fresh = self.layout.allocate(self.features, columns)
        return replace(self._first_columns(fresh, kept, kept.size), used=self.used - 1)

    def _first_columns(self, fresh: State, kept: Places, count: int) -> State:
        """The state on the arrays of a fresh one, whose first columns are those kept."""
        fresh.table[:, :, :count] = self.table[:, :, kept]
        fresh.last_changed[:, :count] = self.last_changed[:, kept]
        fresh.class_counts[:, :count] = self.class_counts[:, kept]
        fresh.class_tokens[:count] = self.class_tokens[kept]
        fresh.outcomes[:, :count] = self.outcomes[:, kept]
        fresh.fits[:count] = self.fits[kept if self.layout.multilabel else slice(0)]
        if self.covariance.size:
            fresh.covariance[:count] = self.covariance[kept]
        own = {name: getattr(fresh, name) for name in ("class_tokens", "outcomes", "fits")}
        return replace(self._on(fresh), **own)


def table_rows(features: NDArray[Any]) -> NDArray[np.intp]:
    """The rows of the table that belong to `features`, after the constant one's."""
    return np.concatenate([np.zeros(1, np.intp), 1 + np.asarray(features, np.intp)])


def matrix_block(rows: Places) -> tuple[Any, ...]:
    """Some rows and the same columns of every matrix."""
    return (slice(None), rows if isinstance(rows, slice) else rows[:, np.newaxis], rows)
