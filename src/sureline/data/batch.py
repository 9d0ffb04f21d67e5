"""A batch: some rows as Arrow and NumPy arrays, from which features are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import count_bytes, is_list, string_offsets
from sureline.data.table import text_offsets

# The memory of a row besides its texts and features: offsets, label, weight, position.
_ROW_BYTES = 32
# The memory of a feature: its value and its index, or the offset of its name.
_FEATURE_BYTES = 12


@dataclass(frozen=True)
class NamedFeatures:
    """Features with names and values, such as ``price:2.5`` in a VW line, as sparse rows.

    Parameters
    ----------
    offsets : int64 array of shape (n + 1,)
        The features of row ``i`` are at ``offsets[i]:offsets[i + 1]``.
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

    def slice(self, start: int, stop: int) -> NamedFeatures:
        """The features of the rows from `start` to before `stop`.

        Parameters
        ----------
        start, stop : int
            Positions of rows, counted from 0.
        """
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return NamedFeatures(
            self.offsets[start : stop + 1] - first,
            self.names.slice(first, last - first),
            self.values[first:last],
        )

    def take(self, indices: NDArray[np.int64]) -> NamedFeatures:
        """The features of the rows at `indices`, in that order.

        Parameters
        ----------
        indices : int64 array
            Positions of rows, counted from 0.
        """
        lengths = np.diff(self.offsets)[indices]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        starts = self.offsets[:-1][indices]
        taken = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return NamedFeatures(offsets, self.names.take(pa.array(taken)), self.values[taken])

    @property
    def nbytes(self) -> int:
        """The memory of the features, in bytes."""
        return int(self.offsets.nbytes + self.names.nbytes + self.values.nbytes)


@dataclass(frozen=True)
class Batch:
    """Some rows of one input.

    Parameters
    ----------
    text : pyarrow.LargeStringArray or None
        One text per row, without nulls, in valid UTF-8; None for svmlight.
    matrix : scipy.sparse.csr_array or None
        The features of svmlight rows; a feature's column is its index as written. The largest
        index determines the width.
    named_features : NamedFeatures or None
        The features of VW rows that have a value; None if no row has any.
    label : pyarrow.Array or None
        One label per row: large_string, int64, double or bool, without nulls; or a list of such.
    weight : float64 array or None
        The sample weight of each row.
    source : str
        The name of the input, for messages.
    first_row : int
        How many rows of this input came before.
    table : pyarrow.RecordBatch or None
        The other columns of the rows, if they were to be kept.
    """

    text: pa.LargeStringArray | None = None
    matrix: Any = None
    named_features: NamedFeatures | None = None
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
        features = self.named_features
        return Batch(
            text=None if self.text is None else self.text.slice(start, length),
            matrix=None if self.matrix is None else _narrow(self.matrix[start:stop]),
            named_features=None if features is None else features.slice(start, stop),
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
        rows = np.asarray(indices, dtype=np.int64)
        arrow = pa.array(rows)
        features = self.named_features
        return replace(
            self,
            text=None if self.text is None else self.text.take(arrow),
            matrix=None if self.matrix is None else _narrow(self.matrix[rows]),
            named_features=None if features is None else features.take(rows),
            label=None if self.label is None else self.label.take(arrow),
            weight=None if self.weight is None else self.weight[rows],
            table=None if self.table is None else self.table.take(arrow),
        )

    @property
    def nbytes(self) -> int:
        """The memory of the rows, in bytes; buffers shared with other batches are not counted."""
        arrow = [self.text, self.label, self.table]
        arrays = [self.named_features, self.weight]
        if self.matrix is not None:
            arrays += [self.matrix.data, self.matrix.indices, self.matrix.indptr]
        return sum(count_bytes(each) for each in arrow if each is not None) + sum(
            int(array.nbytes) for array in arrays if array is not None
        )

    @property
    def row_bytes(self) -> NDArray[np.int64]:
        """About how much memory each row takes; the same however the rows are batched."""
        sizes = np.full(len(self), _ROW_BYTES, np.int64)
        if self.text is not None:
            sizes += np.diff(text_offsets(self.text))
        if self.matrix is not None:
            sizes += np.diff(self.matrix.indptr) * _FEATURE_BYTES
        if self.named_features is not None:
            offsets = self.named_features.offsets
            names = string_offsets(self.named_features.names)[offsets]
            sizes += np.diff(names) + np.diff(offsets) * _FEATURE_BYTES
        if self.label is not None and pa.types.is_large_string(self.label.type):
            sizes += np.diff(string_offsets(self.label))
        elif self.label is not None and is_list(self.label.type):
            values, counts = self.label.flatten(), self.label.value_lengths()
            ends = np.concatenate([[0], np.cumsum(counts.to_numpy(zero_copy_only=False))])
            offsets = 8 * np.arange(len(values) + 1)
            if pa.types.is_large_string(values.type):
                offsets = string_offsets(values)
            sizes += np.diff(offsets[ends])
        return sizes

    def split(self, size: int) -> Iterator[Batch]:
        """The rows in batches of at most `size` bytes, or of one row.

        Parameters
        ----------
        size : int
            The memory of a batch, as `row_bytes` counts it.
        """
        for start, stop in split_sizes(self.row_bytes, size):
            yield self.slice(start, stop)


def split_sizes(sizes: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows that take at most `limit` bytes together, or hold one row."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        yield start, stop
        start = stop


def concatenate(batches: list[Batch]) -> Batch:
    """The rows of several batches, all with texts or all with a matrix, as one.

    Other columns (`table`) are kept only if all batches have the same ones.
    """
    first = batches[0]
    if len(batches) == 1:
        return first
    tables = [batch.table for batch in batches]
    schemas = {None if each is None else each.schema for each in tables}
    return Batch(
        text=None if first.text is None else pa.concat_arrays([b.text for b in batches]),
        matrix=None if first.matrix is None else _stack([b.matrix for b in batches]),
        named_features=_concatenate_features(batches),
        label=None if first.label is None else pa.concat_arrays([b.label for b in batches]),
        weight=_concatenate_weights(batches),
        source=first.source,
        first_row=first.first_row,
        table=pa.concat_batches(tables) if len(schemas) == 1 and None not in schemas else None,
    )


def _concatenate_weights(batches: list[Batch]) -> NDArray[np.float64] | None:
    """The weights of all rows, 1 in batches without; None if no batch has any."""
    if all(batch.weight is None for batch in batches):
        return None
    return np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in batches])


def _concatenate_features(batches: list[Batch]) -> NamedFeatures | None:
    """The named features of all rows; None if no batch has any."""
    found = [b.named_features for b in batches if b.named_features is not None]
    if not found:
        return None
    counts = [
        np.zeros(len(b), np.int64)
        if b.named_features is None
        else np.diff(b.named_features.offsets)
        for b in batches
    ]
    return NamedFeatures(
        np.concatenate(([0], np.cumsum(np.concatenate(counts)))),
        pa.concat_arrays([each.names for each in found]),
        np.concatenate([each.values for each in found]),
    )


def _stack(matrices: list[Any]) -> Any:
    """Sparse rows one below the other, as wide as the widest."""
    from scipy.sparse import vstack

    width = max(matrix.shape[1] for matrix in matrices)
    return vstack([_resized(matrix, width) for matrix in matrices], format="csr")


def _narrow(matrix: Any) -> Any:
    """Sparse rows, as wide as their largest index needs and at least 1."""
    return _resized(matrix, int(matrix.indices.max()) + 1 if matrix.nnz else 1)


def _resized(matrix: Any, width: int) -> Any:
    """The same sparse rows with so many columns, without a copy."""
    from scipy.sparse import csr_array

    if width == matrix.shape[1]:
        return matrix
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    return csr_array(arrays, shape=(matrix.shape[0], width))
