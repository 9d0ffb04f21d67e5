"""Learning with full covariances in blocks of rows: products by BLAS, steps in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from sureline.features.rows import DenseRows
from sureline.kernels.arguments import Examples, ModelArrays, Rows
from sureline.kernels.block_rows import EXPECT_RIVALS
from sureline.kernels.calibration import NEAR, PRIOR_VARIANCE
from sureline.kernels.full_blocks import Block
from sureline.model.device import DeviceMatrices
from sureline.model.matrices import FEWEST_FEATURES, BlockRows, HostMatrices, block_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_WITH_RIVALS = 768  # few rows of a block share a rival
MOST_ROWS, MOST_WITH_RIVALS = 128, 256
FEWEST_ROWS = 8
PRODUCTS, PRODUCTS_ON_DEVICE = 2.0**23, 2.0**27  # numbers in the products of one block
CPU = "cpu"


class BlockTask(NamedTuple):
    """What learning in blocks needs beside the examples.

    ``steps(examples, known, block)`` is the compiled loop. `rivals` is None for two classes, 0 for
    one against the rest, or with how many others a class is compared.
    """

    steps: Callable[[Examples, int, Block], int]
    model: ModelArrays
    matrices: HostMatrices | DeviceMatrices
    dtype: str
    constant: float
    floor: float
    rescale_below: float
    rivals: int | None


def rows_in_block(features: int, columns: int, rivals: int | None, device: str) -> int:
    """How many rows make a block, or 1 where rows are learned one at a time.

    There are products of so many `columns` with each row, or of its class and so many `rivals`.
    """
    if device == CPU and features < (FEWEST_WITH_RIVALS if rivals else FEWEST_FEATURES):
        return 1
    most = MOST_WITH_RIVALS if rivals else MOST_ROWS
    products = min(columns, rivals + 1) if rivals else columns
    numbers = PRODUCTS if device == CPU else PRODUCTS_ON_DEVICE
    return int(min(max(numbers / ((features + 1) * products), FEWEST_ROWS), most))


@np.errstate(all="ignore")
def learn_blocks(task: BlockTask, examples: Examples, known: int, most: int) -> int:
    """Learn examples in blocks of so many at most; return what the loops over rows do.

    `known` is how many classes there are before them, where each has a column.
    """
    order, begin, size = examples.order, 0, most
    while begin < order.size:
        part = examples._replace(order=order[begin : begin + size])
        failed, done = _learn_any(task, part, known)
        if failed != -1:
            return failed
        known = max(known, int(examples.codes[part.order[:done]].max()) + 1)
        begin += done
        # Where blocks end early, short ones waste less.
        size = min(most, 2 * size if done == part.order.size else max(2 * done, FEWEST_ROWS))
    return -1


class Products(NamedTuple):
    """The products of rows of a block with each Σ, in the order in which they were made.

    `owners` has the class of each place; the products of one class are in `parts`.
    """

    owners: Integers
    parts: list[list[Any]]


def _learn_any(task: BlockTask, examples: Examples, known: int) -> tuple[int, int]:
    """As `_learn_block`, also of rows that are dense."""
    given, order = cast("Rows | DenseRows", examples.rows), examples.order
    if not isinstance(given, DenseRows):
        size = task.model.table.shape[0]
        block = block_of(given, order, size, task.constant, task.dtype)
        return _learn_block(task, examples, block, known)
    matrix, rows = given.block(order)
    own = examples._replace(
        rows=rows,
        codes=examples.codes[order],
        weight=examples.weight[order],
        order=np.arange(order.size),
    )
    failed, done = _learn_block(task, own, BlockRows(matrix, None, task.constant), known)
    if failed == -1:
        return failed, done
    return int(order[failed] if failed >= 0 else -2 - order[-2 - failed]), done


def _learn_block(
    task: BlockTask, examples: Examples, rows: BlockRows, known: int
) -> tuple[int, int]:
    """Learn a block or its beginning; return what the loop does, and how many rows were learned."""
    model, matrices, order = task.model, task.matrices, examples.order
    size, count, columns = model.table.shape[0], order.size, 1
    if task.rivals is not None:
        columns = max(known, int(examples.codes[order].max()) + 1)
    means, diagonals = model.table[:, 0, :columns], matrices.diagonals(columns)
    unknown, fresh = np.zeros(0, np.intp), np.full(size, -1)
    if model.calibrator.size:
        unknown = _unknown_features(diagonals, rows, model.calibrator[PRIOR_VARIANCE])
        fresh[unknown] = np.arange(unknown.size)
    block = Block(
        scores=np.concatenate([matrices.scores(rows, means), means[:1]]),
        gram=np.empty((0, count + 1)),
        first=np.empty(0),
        norms=np.empty(0),
        diagonals=diagonals,
        traces=diagonals.sum(axis=1),
        members=np.empty(0, np.int64),
        places=np.full((columns, count), -1),
        fresh=fresh,
        fresh_pulls=np.empty((0, unknown.size)),
        fresh_variances=diagonals.take(unknown, axis=1),
        pulls=np.empty(0),
        losses=np.empty(0),
        done=np.zeros(2, np.int64),
    )
    products = Products(np.empty(0, np.int64), [[] for _ in range(columns)])
    expected = np.full((columns, count), not task.rivals)
    while True:
        done = block.done.item(0)
        if task.rivals:
            known = max(known, int(examples.codes[order[:done]].max(initial=0)) + 1)
            expect = EXPECT_RIVALS.loop(task.dtype)
            expect(examples, known, task.rivals, block.scores, done, expected)
        missing = np.nonzero(expected & (block.places < 0))
        block, products = _with_products(task, rows, unknown, block, products, *missing)
        failed = task.steps(examples, known, block)
        if not block.done.item(1):
            break
    overflowed = _apply(task, block, products, means)
    if overflowed >= 0:
        return int(order[overflowed]), 0
    if task.rescale_below > 0.0:
        _rescale(task, columns)
    return failed, block.done.item(0)


def _unknown_features(diagonals: Floats, rows: BlockRows, prior: float) -> NDArray[np.intp]:
    """The features of a block of which no class has learned anything."""
    unknown = np.all(np.abs(diagonals - prior) <= NEAR * prior, axis=0, keepdims=True)[0]
    unknown[0] = False
    if rows.places is None:
        return np.flatnonzero(unknown)
    return np.asarray(rows.places[unknown[rows.places]])


def _with_products(
    task: BlockTask,
    rows: BlockRows,
    unknown: NDArray[np.intp],
    block: Block,
    products: Products,
    columns: Integers,
    members: Integers,
) -> tuple[Block, Products]:
    """A block with the products of more classes and rows, as they are after the steps so far."""
    matrices, before, count = task.matrices, block.members.size, columns.size
    gram = np.empty((count, block.gram.shape[1]))
    norms, first = np.empty(count), np.empty(count)
    fresh_pulls = np.empty((count, unknown.size))
    bounds = np.searchsorted(columns, np.arange(len(products.parts) + 1))
    for k, (start, stop) in enumerate(pairwise(bounds.tolist())):
        if start == stop:
            continue
        own = members[start:stop]
        whole = own.size == len(rows.values)
        product = matrices.products(k, rows, None if whole else own)
        products.parts[k].append(product)
        norms[start:stop] = matrices.gram(product, rows, gram[start:stop])
        first[start:stop] = gram[np.arange(start, stop), own]
        fresh_pulls[start:stop] = matrices.columns(product, unknown)
        stepped = np.flatnonzero((products.owners == k) & (block.losses != 0.0))
        if stepped.size:
            passed = block.gram[stepped]
            factors = passed[:, own].T * block.losses[stepped]
            gram[start:stop] -= factors @ passed
            fresh_pulls[start:stop] -= factors @ block.fresh_pulls[stepped]
    block.places[columns, members] = before + np.arange(count)
    block = block._replace(
        gram=np.concatenate([block.gram, gram]),
        first=np.concatenate([block.first, first]),
        norms=np.concatenate([block.norms, norms]),
        members=np.concatenate([block.members, members]),
        fresh_pulls=np.concatenate([block.fresh_pulls, fresh_pulls]),
        pulls=np.concatenate([block.pulls, np.zeros(count)]),
        losses=np.concatenate([block.losses, np.zeros(count)]),
    )
    return block, products._replace(owners=np.concatenate([products.owners, columns]))


def _apply(task: BlockTask, block: Block, products: Products, means: Floats) -> int:
    """Make the steps of a block; return its first row that overflows, or -1."""
    matrices, changes = task.matrices, list[tuple[int, Any, Floats]]()
    stepped, overflowed = (block.pulls != 0.0) | (block.losses != 0.0), list[int]()
    for k, parts in enumerate(products.parts):
        own = np.flatnonzero(products.owners == k)
        chosen = np.flatnonzero(stepped[own])
        if not chosen.size:
            continue
        chosen = chosen[np.argsort(block.members[own[chosen]])]
        here, product = own[chosen], matrices.join(parts)
        members, losses, pulls = block.members[here], block.losses[here], block.pulls[here]
        # Σx of a row at its turn is what is left of P when those before it have taken their part.
        taken = np.triu(losses[:, np.newaxis] * block.gram[np.ix_(here, members)], 1)
        np.fill_diagonal(taken, 1.0)
        left = dtrtri(taken, unitdiag=1)[0].T
        factors = np.concatenate([np.sqrt(losses)[:, np.newaxis] * left, [pulls @ left]])
        roots = matrices.combine(factors, product, chosen)
        moved = means[:, k] + matrices.to_host(roots[-1, :])
        if not np.isfinite(moved).all():
            each = matrices.combine(pulls[:, np.newaxis] * left, product, chosen)
            path = means[:, k] + np.cumsum(matrices.to_host(each), axis=0)
            bad = ~np.isfinite(path).all(axis=1)
            overflowed.append(int(members[np.argmax(bad) if bad.any() else -1]))
        changes.append((k, roots[:-1, :], moved))
    if overflowed:
        return min(overflowed)
    for k, roots, moved in changes:
        means[:, k] = moved
        matrices.subtract(k, roots, task.floor)
    return -1


def _rescale(task: BlockTask, columns: int) -> None:
    """As `kernels.full.rescale`."""
    means, matrices = task.model.table[:, 0, :columns], task.matrices
    variance = matrices.diagonals(columns).mean(axis=1).max()
    if variance < task.rescale_below:
        means *= np.sqrt(1.0 / variance)
        for k in range(columns):
            matrices.scale(k, 1.0 / variance)
