"""A batch: some rows of one input as Arrow and NumPy arrays, ready to become features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True)
class Given:
    """Features that the rows give with a value, as in ``price:2.5`` of a VW line.

    Parameters
    ----------
    offsets : int64 array of shape (n + 1,)
        The features of row ``i`` lie at ``offsets[i]:offsets[i + 1]``.
    names : pyarrow.LargeStringArray
        The name of each feature.
    values : float32 array
        The value of each feature.
    """

    offsets: NDArray[np.int64]
    names: pa.LargeStringArray
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def slice(self, start: int, stop: int) -> Given:
        """The features of the rows from `start` to before `stop`."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return Given(
            self.offsets[start : stop + 1] - first,
            self.names.slice(first, last - first),
            self.values[first:last],
        )

    def take(self, indices: NDArray[np.int64]) -> Given:
        """The features of the rows at `indices`, in that order."""
        offsets, inner = take_runs(self.offsets, indices)
        return Given(offsets, self.names.take(pa.array(inner)), self.values[inner])

    @property
    def nbytes(self) -> int:
        """How much memory the features take."""
        return int(self.offsets.nbytes + self.names.nbytes + self.values.nbytes)


@dataclass(frozen=True)
class Batch:
    """Some rows of one input.

    Parameters
    ----------
    text : pyarrow.LargeStringArray or None
        One text a row, without nulls, in valid UTF-8; None for svmlight.
    matrix : scipy.sparse.csr_array or None
        The features of svmlight rows; a feature's column is its index as written. It is as wide as
        the largest index needs.
    given : Given or None
        Features of VW rows that are written with a value; None where no row has any.
    label : pyarrow.Array or None
        One label a row: large_string, int64, double or bool, without nulls.
    weight : float64 array or None
        How much each row counts.
    source : str
        The name of the input, as people know it.
    first_row : int
        How many rows of this input came before.
    table : pyarrow.RecordBatch or None
        The other columns of the rows, where they were asked for.
    """

    text: pa.LargeStringArray | None = None
    matrix: Any = None
    given: Given | None = None
    label: pa.Array | None = None
    weight: NDArray[np.float64] | None = None
    source: str = ""
    first_row: int = 0
    table: pa.RecordBatch | None = None

    def __len__(self) -> int:
        if self.text is not None:
            return len(self.text)
        return 0 if self.matrix is None else int(self.matrix.shape[0])

    def slice(self, start: int, stop: int) -> Batch:
        """The rows from `start` to before `stop`, without a copy of the texts.

        Parameters
        ----------
        start, stop : int
            Positions in the batch, counted from 0; those beyond the end are cut off.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        length = max(stop - start, 0)
        stop = start + length
        return Batch(
            text=None if self.text is None else self.text.slice(start, length),
            matrix=None if self.matrix is None else narrow(self.matrix[start:stop]),
            given=None if self.given is None else self.given.slice(start, stop),
            label=None if self.label is None else self.label.slice(start, length),
            weight=None if self.weight is None else self.weight[start:stop],
            source=self.source,
            first_row=self.first_row + start,
            table=None if self.table is None else self.table.slice(start, length),
        )

    def take(self, indices: NDArray[np.int64] | Sequence[int]) -> Batch:
        """The rows at `indices`, in that order.

        Parameters
        ----------
        indices : sequence of int
            Positions in the batch, counted from 0.
        """
        return replace(self, **take_columns(self, np.asarray(indices, dtype=np.int64)))

    @property
    def nbytes(self) -> int:
        """How much memory the rows take; parts shared with other batches are not counted."""
        total = sum(
            int(part.nbytes)
            for part in (self.text, self.given, self.label, self.weight, self.table)
            if part is not None
        )
        if self.matrix is not None:
            held = (self.matrix.data, self.matrix.indices, self.matrix.indptr)
            total += sum(int(part.nbytes) for part in held)
        return total


def take_columns(held: Any, rows: NDArray[np.int64]) -> dict[str, Any]:
    """The columns that some rows of a batch, or of a part of one, have."""
    arrow = pa.array(rows)
    return {
        "text": None if held.text is None else held.text.take(arrow),
        "matrix": None if held.matrix is None else narrow(held.matrix[rows]),
        "given": None if held.given is None else held.given.take(rows),
        "label": None if held.label is None else held.label.take(arrow),
        "weight": None if held.weight is None else held.weight[rows],
        "table": None if held.table is None else held.table.take(arrow),
    }


def narrow(matrix: Any) -> Any:
    """Sparse rows, as wide as their largest index needs and at least 1."""
    from scipy.sparse import csr_array

    width = int(matrix.indices.max()) + 1 if matrix.nnz else 1
    if width == matrix.shape[1]:
        return matrix
    held = (matrix.data, matrix.indices, matrix.indptr)
    return csr_array(held, shape=(matrix.shape[0], width))


def take_runs(
    offsets: NDArray[np.int64], indices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The offsets, and the positions inside, of the runs at `indices`."""
    lengths = np.diff(offsets)[indices]
    taken = np.concatenate(([0], np.cumsum(lengths)))
    inner = np.arange(taken[-1]) + np.repeat(offsets[:-1][indices] - taken[:-1], lengths)
    return taken, inner
