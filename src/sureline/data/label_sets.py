"""Rows that have any number of labels each, as compact arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data.arrow_arrays import combine_chunks, decode, is_list
from sureline.data.conversion import as_labels
from sureline.errors import DataError, show

Form = Literal["sets", "dense", "sparse"]
FORMS: tuple[Form, ...] = ("sets", "dense", "sparse")


@dataclass(frozen=True, eq=False)
class LabelSets:
    """A set of labels for every row; sets may be empty.

    Parameters
    ----------
    labels : array
        The labels that may occur, sorted, none twice.
    starts : int64 array of shape (n + 1,)
        The labels of row ``i`` are ``codes[starts[i]:starts[i + 1]]``.
    codes : int64 array
        Positions in `labels`, ascending within a row.
    form : {"sets", "dense", "sparse"}
        How they were given: as collections of labels, or as a matrix of 0 and 1.
    """

    labels: NDArray[Any]
    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    form: Form = "sets"

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self)

    @property
    def shape(self) -> tuple[int]:
        """The number of rows, as arrays of labels have it."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the labels."""
        return self.labels.dtype

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many labels each row has."""
        return np.diff(self.starts)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> LabelSets:
        """Some of the rows."""
        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(self))
            last = max(first, last)
            starts = self.starts[first : last + 1]
            codes = self.codes[starts[0] : starts[-1]]
            return replace(self, starts=starts - starts[0], codes=codes)
        lengths = self.counts[rows]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        taken = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return replace(self, starts=starts, codes=self.codes[taken])

    @property
    def present(self) -> NDArray[Any]:
        """The labels that occur, sorted."""
        return np.asarray(self.labels[np.unique(self.codes)])

    def coded(self, codes: NDArray[np.int64]) -> LabelSets:
        """The same with other codes: one for each of the labels."""
        return replace(self, codes=np.ascontiguousarray(codes, np.int64)[self.codes])

    def indicator(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """A matrix with a column for each of some labels; others are left out."""
        places = np.full(self.labels.size, -1)
        if labels.size:
            order = np.argsort(labels)
            at = np.minimum(np.searchsorted(labels, self.labels, sorter=order), labels.size - 1)
            found = labels[order][at] == self.labels
            places[found] = order[at[found]]
        made = np.zeros((len(self), labels.size), np.bool_)
        columns = places[self.codes]
        rows = np.repeat(np.arange(len(self)), self.counts)
        made[rows[columns >= 0], columns[columns >= 0]] = True
        return made

    def tolist(self) -> list[tuple[Any, ...]]:
        """The labels of each row as a tuple."""
        values = self.labels[self.codes].tolist()
        ends = self.starts.tolist()
        return [tuple(values[a:b]) for a, b in pairwise(ends)]


def without_labels(rows: int, like: NDArray[Any]) -> LabelSets:
    """So many rows without any label; `like` has the type of labels."""
    return LabelSets(like[:0], np.zeros(rows + 1, np.int64), np.zeros(0, np.int64))


def are_label_sets(y: Any) -> bool:
    """Whether these are sets of labels, or a matrix of them, rather than a label for each row."""
    if isinstance(y, LabelSets) or _is_sparse(y):
        return True
    if isinstance(y, np.ndarray):
        if y.dtype.kind == "O" and y.ndim == 1:
            return any(map(_is_several, y.tolist()))
        return y.ndim == 2 and y.shape[1] != 1 and y.dtype.kind in "biuf"
    if isinstance(y, pa.Array | pa.ChunkedArray):
        return is_list(y.type)
    if isinstance(y, str | bytes | Mapping | Set) or not isinstance(y, Iterable):
        return False
    if hasattr(y, "columns"):
        return len(y.columns) > 1
    if isinstance(y, list | tuple):
        return any(map(_is_several, y))
    if hasattr(y, "to_list"):  # a column of pandas or Polars
        return any(map(_is_several, y.to_list()))
    return False


def as_label_sets(y: Any) -> LabelSets:
    """Sets of labels from what `are_label_sets` accepts.

    Parameters
    ----------
    y : sequence of collections, matrix of 0 and 1, or LabelSets
        Lists, tuples or sets of labels; an Arrow, pandas or Polars column of lists; or a dense or
        sparse matrix, whose column numbers are the labels.

    Returns
    -------
    LabelSets
        The labels of every row.

    Examples
    --------
    >>> from sureline.data.label_sets import as_label_sets
    >>> as_label_sets([{"refund", "billing"}, []]).tolist()
    [('billing', 'refund'), ()]
    """
    if isinstance(y, LabelSets):
        return y
    if _is_sparse(y):
        return _from_matrix(y, "sparse")
    if isinstance(y, pa.Array | pa.ChunkedArray):
        return from_arrow(combine_chunks(y) if isinstance(y, pa.ChunkedArray) else decode(y))
    if hasattr(y, "columns") or (isinstance(y, np.ndarray) and y.ndim == 2):
        return _from_matrix(np.asarray(y), "dense")
    rows = y if isinstance(y, list | tuple) else y.to_list() if hasattr(y, "to_list") else list(y)
    return _from_collections(rows)


def from_arrow(array: pa.Array) -> LabelSets:
    """Sets of labels from an Arrow column of lists; a null stands for no label."""
    if not is_list(array.type):
        raise DataError(f"labels must be lists, not {array.type}")
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    values = array.flatten()
    if values.null_count:
        row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
        row = int(np.searchsorted(np.cumsum(lengths), row, side="right"))
        raise DataError(f"row {row}: one of the labels is missing (null); leave it out")
    flat = as_labels(values) if len(values) else np.zeros(0, np.str_)
    return _sorted_sets(flat, lengths)


def _is_sparse(y: Any) -> bool:
    return hasattr(y, "tocsr") and hasattr(y, "nnz")


def _is_several(value: Any) -> bool:
    return isinstance(value, list | tuple | Set | np.ndarray)


def _from_matrix(y: Any, form: Form) -> LabelSets:
    """The column numbers of a matrix of 0 and 1."""
    if form == "sparse":
        matrix = y.tocsr().copy()
        matrix.sum_duplicates()
        values = matrix.data
    else:
        values = y
    broken = np.flatnonzero((values != 0) & (values != 1))
    if broken.size:
        wrong = np.ravel(values)[broken[0]].item()
        raise DataError(
            f"y is a matrix of several columns, so it must hold 0 and 1 alone, got {wrong!r}; give "
            "one label per text, or lists of labels"
        )
    if form == "sparse":
        matrix.eliminate_zeros()
        starts, codes = matrix.indptr, matrix.indices
        columns = matrix.shape[1]
    else:
        rows, codes = np.nonzero(values)
        columns = values.shape[1]
        starts = np.searchsorted(rows, np.arange(len(values) + 1))
    return LabelSets(np.arange(columns), starts.astype(np.int64), codes.astype(np.int64), form)


def _from_collections(rows: Sequence[Any]) -> LabelSets:
    """Sets from lists, tuples and sets of labels."""
    flat, lengths = list[Any](), np.zeros(len(rows), np.int64)
    for k, row in enumerate(rows):
        if not _is_several(row):
            raise DataError(
                f"row {k}: {show(row)} is not a list of labels, as other rows have; give every "
                "text a list, an empty one if it has no label"
            )
        values = row.tolist() if isinstance(row, np.ndarray) else list(row)
        if any(isinstance(value, list | tuple | Set | Mapping) for value in values):
            raise DataError(f"row {k}: a label is {show(values)}; give strings or numbers")
        flat += values
        lengths[k] = len(values)
    try:
        labels = as_labels(flat)
    except DataError as problem:
        raise DataError(f"labels of several per text, counted one by one: {problem}") from None
    return _sorted_sets(labels if labels.size else np.zeros(0, np.str_), lengths)


def _sorted_sets(flat: NDArray[Any], lengths: NDArray[np.int64]) -> LabelSets:
    """Sets from all labels, one after the other, and how many of them each row has."""
    labels, codes = np.unique(flat, return_inverse=True)
    rows = np.repeat(np.arange(lengths.size), lengths)
    each = np.unique(rows * max(labels.size, 1) + codes)  # sorted, none twice
    rows, codes = each // max(labels.size, 1), each % max(labels.size, 1)
    starts = np.searchsorted(rows, np.arange(lengths.size + 1))
    return LabelSets(labels, starts.astype(np.int64), codes.astype(np.int64))


def in_form(chosen: NDArray[np.bool_], labels: NDArray[Any], form: Form) -> Any:
    """Predicted sets, a column per label, in the form in which labels were given."""
    if form == "sets":
        values, made = labels.tolist(), np.empty(len(chosen), object)
        for k, row in enumerate(chosen):
            made[k] = tuple(values[j] for j in np.flatnonzero(row))
        return made
    matrix = chosen.astype(np.int64)
    if form == "dense":
        return matrix
    from scipy.sparse import csr_array

    return csr_array(matrix)
