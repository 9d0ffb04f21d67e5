"""What loops are given: arguments that belong together, as NamedTuples, and their Numba types.

Numba reads a NamedTuple field by field, so that it costs a loop nothing. A field that is an array
has exactly one type of number; `dtype` of a model decides that of values and tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from sureline.kernels.numba_internals import Callee

REAL = {"float32": types.float32, "float64": types.float64}
f8, i8, flag = types.float64, types.int64, types.boolean


def array(item: Any, ndim: int = 1) -> Any:
    """A contiguous array that a kernel writes to."""
    return types.Array(item, ndim, "C")


def given(item: Any, ndim: int = 1) -> Any:
    """A contiguous array that a kernel only reads."""
    return types.Array(item, ndim, "C", readonly=True)


class Rows(NamedTuple):
    """CSR rows: int64 starts, int32 feature numbers (distinct within a row) and values."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[Any]

    @property
    def longest(self) -> int:
        """The number of nonzeros in the longest row."""
        ends = self.indptr
        if ends.size == 2:  # NumPy's reductions take longer than learning one short row
            return ends.item(1) - ends.item(0)
        return int(np.diff(ends).max(initial=0))


class Row(NamedTuple):
    """One of the rows: its entries are those from `start` to `stop`; `constant` is the intercept's.

    The constant feature has the value 1 with an intercept and 0 without.
    """

    start: int
    stop: int
    indices: NDArray[np.int32]
    data: NDArray[Any]
    constant: float


class Examples(NamedTuple):
    """Labelled rows, and the order in which to learn them.

    `codes` are columns of a wide table; where two classes share a column, they are 0 and 1.
    `weight` is how much each row counts, `rank` the position of each column's label among the
    sorted ones, and `before` how many rows the caller has learned before these, for messages.
    """

    rows: Rows
    codes: NDArray[np.int64]
    weight: NDArray[np.float64]
    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    before: int = 0


class ModelArrays(NamedTuple):
    """What loops learn into; an array that is not in use is empty.

    `table` is feature-major, with the constant feature first. `counters` counts updates and
    mistakes. `class_counts` and `class_tokens` are explained in `class_counts`, `calibrator`,
    `outcomes` and `novelty` in `calibration`, and `noise_sums` in `noise`.
    """

    table: NDArray[Any]
    covariance: NDArray[Any]
    stamps: NDArray[np.int64]
    counters: NDArray[np.int64]
    class_counts: NDArray[np.int32]
    class_tokens: NDArray[np.int64]
    calibrator: NDArray[np.float64]
    noise_sums: NDArray[np.float64]
    outcomes: NDArray[np.float64]
    novelty: NDArray[np.float64]


class StepRule(NamedTuple):
    """A rule of the shape (m, v) -> (t, E), with its two constants.

    `share` says that a weight is a share of the way to the new Gaussian and not a factor on the
    cost; no variance falls below `floor`; `constant` is the value of the constant feature.
    """

    step: Any
    a: float
    b: float
    share: bool
    floor: float
    constant: float


class CustomRule(NamedTuple):
    """A rule with its own row functions, its constants `p`, and the constant feature's value."""

    score: Any
    update: Any
    p: NDArray[np.float64]
    constant: float


class Scheme(NamedTuple):
    """How many classes are learned: with which rivals, and what is kept of the covariance.

    `kind` and `projection` are numbers that `rivals` names. With `average`, the second slot of the
    table serves the average of all weight vectors.
    """

    kind: int
    projection: int
    competitors: int
    average: bool


class Prior(NamedTuple):
    """Whether class counts inform the prior, whether rows are counted, and 1/initial variance."""

    informed: bool
    counting: bool
    inverse: float


STEP = types.UniTuple(f8, 2)(f8, f8, f8, f8, f8)
EXACT = f8(f8, f8, array(f8), f8, f8, f8, f8, f8)
JOINT = flag(
    array(f8),
    f8,
    array(f8),
    array(f8),
    types.Array(f8, 2, "A"),
    f8,
    f8,
    f8,
    array(f8),
    array(f8),
)
STEP_RULE = types.NamedTuple([Callee(STEP), f8, f8, flag, f8, f8], StepRule)
SCHEME = types.NamedTuple([i8, i8, i8, flag], Scheme)
PRIOR = types.NamedTuple([flag, flag, f8], Prior)


def rows(real: Any) -> Any:
    """The type of `Rows`."""
    return types.NamedTuple([given(i8), given(types.int32), given(real)], Rows)


def row(real: Any) -> Any:
    """The type of a `Row`."""
    return types.NamedTuple([i8, i8, given(types.int32), given(real), f8], Row)


def examples(real: Any) -> Any:
    """The type of `Examples`."""
    fields = [rows(real), given(i8), given(f8), given(i8), given(i8), i8]
    return types.NamedTuple(fields, Examples)


def model_arrays(real: Any, ndim: int = 3, kind: Any = array) -> Any:
    """The type of `ModelArrays` with a table of `ndim` dimensions, to be written or only read."""
    fields = [
        kind(real, ndim),
        kind(real, 3),
        kind(i8, 2),
        kind(i8),
        kind(types.int32, 2),
        kind(i8),
        kind(f8),
        kind(f8),
        kind(f8, 2),
        kind(f8),
    ]
    return types.NamedTuple(fields, ModelArrays)


def custom_score(real: Any) -> Any:
    """The signature of a rule's own score: row, table, column, stamps, clock, p."""
    return f8(row(real), given(real, 3), i8, given(i8, 2), i8, given(f8))


def custom_update(real: Any) -> Any:
    """The signature of a rule's own update: those of the score, margin, sign and weight."""
    return flag(row(real), array(real, 3), i8, array(i8, 2), i8, given(f8), f8, f8, f8)


def custom_rule(real: Any) -> Any:
    """The type of a `CustomRule`."""
    fields = [Callee(custom_score(real)), Callee(custom_update(real)), given(f8), f8]
    return types.NamedTuple(fields, CustomRule)
