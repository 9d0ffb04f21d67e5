"""Products with full covariances, and what learning takes from them, on NumPy's arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.arguments import Rows
from sureline.kernels.block_rows import FILL_ROWS, MARK_FEATURES, SUBTRACT_PANEL
from sureline.kernels.scores import LARGE, SMALL

Floats = NDArray[np.float64]

FEWEST_FEATURES = 256  # with fewer, one row at a time is as fast
ROWS = 128  # rows that are scored at once
DENSE = 0.5  # rows that have more of all features between them are multiplied whole
PANEL = 128  # rows of Σ that are changed at once


class BlockRows(NamedTuple):
    """Some rows with the constant feature first, as a dense matrix of the features they have.

    `places` are those features, in order, or None where the matrix has all. Where a `constant` is
    given, the matrix has no column for it yet.
    """

    values: NDArray[Any]
    places: NDArray[np.intp] | None
    constant: float | None = None

    @property
    def span(self) -> Any:
        """The features of the matrix, to index with."""
        return slice(None) if self.places is None else self.places


def block_of(
    rows: Rows, order: NDArray[np.int64], size: int, constant: float, dtype: str
) -> BlockRows:
    """The rows named by `order` as a matrix, of those features that they have if these are few."""
    numbers, places = np.arange(size), None
    if (rows.indptr[order + 1] - rows.indptr[order]).sum() < DENSE * order.size * size:
        marked = np.zeros(size, np.bool_)
        marked[0] = True
        MARK_FEATURES.loop(dtype)(rows, order, marked)
        found = np.flatnonzero(marked)
        if found.size < DENSE * size:
            places = found
            numbers[found] = np.arange(found.size)
    values = np.empty((order.size, size if places is None else places.size))
    FILL_ROWS.loop(dtype)(rows, order, constant, numbers, values)
    return BlockRows(values, places)


class FirstMatrices(NamedTuple):
    """The covariances that learning begins with, before anything keeps them: `variance` times I."""

    classes: int
    size: int
    variance: float

    def host(self) -> Floats:
        """An array of them."""
        matrices = np.zeros((self.classes, self.size, self.size))
        matrices[:, np.arange(self.size), np.arange(self.size)] = self.variance
        return matrices


class HostMatrices:
    """The covariances of a state, in place."""

    def __init__(self, covariance: NDArray[np.float64]) -> None:
        self.covariance = covariance

    @property
    def size(self) -> int:
        """The number of rows of each Σ."""
        return int(self.covariance.shape[1])

    def diagonals(self, count: int) -> Floats:
        """The variances of so many classes."""
        return np.array(np.diagonal(self.covariance[:count], axis1=1, axis2=2))

    def scores(self, rows: BlockRows, means: Floats) -> Floats:
        """The scores of the rows of a block, by the means of each class."""
        return np.asarray(rows.values @ means[rows.span])

    def products(self, k: int, rows: BlockRows, members: NDArray[np.int64] | None) -> Floats:
        """The product of some members of a block, or of all, with the Σ of class k."""
        values = rows.values if members is None else rows.values[members]
        return np.asarray(values @ self.covariance[k][rows.span])

    def variances(self, k: int, rows: BlockRows) -> Floats:
        """xᵀΣx of some rows, with the Σ of class k."""
        products = self.products(k, rows, None)[:, rows.span]
        return np.asarray(np.einsum("ij,ij->i", products, rows.values))

    def gram(self, product: Floats, rows: BlockRows, out: Floats) -> Floats:
        """Write the products of P and rows into `out`, with P's first column; return |P|²."""
        np.matmul(product[:, rows.span], rows.values.T, out=out[:, :-1])
        out[:, -1] = product[:, 0]
        return np.asarray(np.einsum("ij,ij->i", product, product))

    def columns(self, product: Floats, places: NDArray[np.intp]) -> Floats:
        """Some columns of P."""
        return product.take(places, axis=1)

    def combine(self, factors: Floats, product: Floats, chosen: NDArray[np.intp]) -> Floats:
        """Sums of chosen rows of P."""
        return np.asarray(factors @ product[chosen])

    def join(self, parts: list[Floats]) -> Floats:
        """Several products of one class as one."""
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def to_host(self, array: Floats) -> Floats:
        """An array of this kind as NumPy's."""
        return array

    def subtract(self, k: int, roots: Floats, floor: float) -> None:
        """Take WᵀW from the Σ of class k.

        Of each pair of elements one is computed, so that Σ stays symmetric to the bit.
        """
        subtract_panel = SUBTRACT_PANEL.compiled("float64")
        for start in range(0, roots.shape[1], PANEL):
            panel = roots[:, start : start + PANEL].T @ roots[:, start:]
            subtract_panel(self.covariance[k], panel, start, floor)

    def scale(self, k: int, factor: float) -> None:
        """Multiply the Σ of class k."""
        self.covariance[k] *= factor


def spread_blocks(
    matrices: Any, rows: Rows, constant: float, dtype: str, out: Floats
) -> NDArray[np.bool_]:
    """Write the deviation of every row's scores, by column; return which rows need a closer look.

    Those are the ones whose variance is not positive, or lost digits as it was squared.
    """
    odd, size = np.zeros(len(out), np.bool_), matrices.size
    with np.errstate(all="ignore"):
        for start in range(0, len(out), ROWS):
            stop = min(start + ROWS, len(out))
            block = block_of(rows, np.arange(start, stop), size, constant, dtype)
            for k in range(out.shape[1]):
                variances = matrices.variances(k, block)
                out[start:stop, k] = np.sqrt(variances)
                odd[start:stop] |= ~((variances > SMALL) & (variances < LARGE))
    return odd
