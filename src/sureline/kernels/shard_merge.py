"""Merging what several copies of one table, the shards, have learned by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sureline.kernels.compiling import Kernel, array, f8, given


def find_moved(table: Any, copy: Any, moved: Any) -> None:
    """Mark the rows in which a copy differs from the table; both are viewed as words."""
    rows, width = table.shape
    if width == 1:
        for row in range(rows):
            moved[row] |= table[row, 0] != copy[row, 0]
        return
    for row in range(rows):
        for k in range(width):
            if table[row, k] != copy[row, k]:
                moved[row] = 1
                break


def find_signature(real: Any) -> Any:
    """The signature of `find_moved`, for words as long as `real`."""
    word = types.uint32 if real == types.float32 else types.uint64
    return types.void(given(word, 2), given(word, 2), array(types.uint8))


def merge_rows(table: Any, copies: Any, moved: Any, prior: float, floor: float) -> None:
    """Merge the rows that some copies have moved; then all copies are the same again.

    A weight that no copy has moved is left alone. Where slot 1 is a variance, `prior` is the
    precision that a model begins with; 0 means that there are no variances.
    """
    many, columns = copies.shape[0], table.shape[2]
    for row in range(moved.size):
        if moved[row] == 0:
            continue
        for k in range(columns):
            count, one = 0, 0
            mean, variance = table[row, 0, k], table[row, 0, k]
            if prior > 0.0:
                variance = table[row, 1, k]
            for c in range(many):
                if copies[c, row, 0, k] != mean or (
                    prior > 0.0 and copies[c, row, 1, k] != variance
                ):
                    count += 1
                    one = c
            if count == 0:
                continue
            if count == 1:
                table[row, 0, k] = copies[one, row, 0, k]
                if prior > 0.0:
                    table[row, 1, k] = copies[one, row, 1, k]
            elif prior == 0.0:
                moves = 0.0
                for c in range(many):
                    moves += np.float64(copies[c, row, 0, k]) - mean
                table[row, 0, k] = mean + moves / count
            else:
                began = 1.0 / np.float64(variance)
                total, weighed, moves = began, prior, 0.0
                for c in range(many):
                    other, spread = copies[c, row, 0, k], copies[c, row, 1, k]
                    if other != mean or spread != variance:
                        gained = 1.0 / np.float64(spread)
                        total += gained - began
                        weighed += gained - prior
                        moves += gained * (np.float64(other) - mean)
                table[row, 0, k] = mean + moves / weighed
                table[row, 1, k] = max(1.0 / total, floor)
            for c in range(many):
                copies[c, row, 0, k] = table[row, 0, k]
                if prior > 0.0:
                    copies[c, row, 1, k] = table[row, 1, k]


def merge_signature(real: Any) -> Any:
    """The signature of `merge_rows`."""
    copies = types.Array(real, 4, "A")
    return types.void(array(real, 3), copies, given(types.uint8), f8, f8)


FIND_MOVED = Kernel(find_moved, find_signature)
MERGE_ROWS = Kernel(merge_rows, merge_signature)
