"""The limits of the machine: streaming and random reads, and how close one pass of AROW comes.

A nonzero has 8 bytes of its row, which stream, and needs one cache line of the table, at a random
position. Streaming is a sum over an array larger than the caches. Random reads follow the indices
of the rows: without prefetching, each waits for memory; with it, many are in flight at once, which
is the lower bound for any learner. Times are the best of several, on one
core, compiled code warm. It prints Markdown.

    python benchmarks/speed/roofline.py --bits 18 22 24
"""

from __future__ import annotations

import argparse
from typing import Any

import numba
import numpy as np
from timing import best
from zipf import count_once, draw_words

from sureline import AROWClassifier
from sureline.kernels.prefetch import prefetch

ROWS, LENGTH, AHEAD = 60_000, 300, 32
LINE = 64


@numba.njit
def stream(numbers: Any) -> float:
    """Read an array once, four sums at a time, so that no addition waits for the one before."""
    a = b = c = d = numbers[0] - numbers[0]
    for k in range(0, numbers.size - 3, 4):
        a += numbers[k]
        b += numbers[k + 1]
        c += numbers[k + 2]
        d += numbers[k + 3]
    return a + b + c + d


@numba.njit
def follow(places: Any) -> int:
    """Read places each of which holds the next: the time of one access to memory."""
    at = 0
    for _ in range(places.shape[0]):
        at = places[at, 0]
    return at


@numba.njit
def sweep(indices: Any, data: Any, table: Any, ahead: int) -> float:
    """Read every nonzero and the mean of its feature, some of them prefetched."""
    total = 0.0
    for k in range(indices.size):
        if ahead and k + ahead < indices.size:
            prefetch(table, indices[k + ahead])
        total += table[indices[k], 0] * data[k]
    return total


def ring(lines: int) -> np.ndarray:
    """A random circle through cache lines."""
    order = np.random.default_rng(0).permutation(lines)
    places = np.zeros((lines, LINE // 8), np.int64)
    places[order, 0] = np.roll(order, -1)
    return places


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bits", type=int, nargs="+", default=[18, 22, 24])
    parser.add_argument("--repeats", type=int, default=5)
    found = parser.parse_args()
    numbers = np.ones(2**27, np.float32)
    gigabytes = numbers.nbytes / 1e9
    print(f"Streaming: {gigabytes / best(found.repeats, stream, numbers):.1f} GB/s.\n")
    print(
        "| columns | table | one access | nonzeros | read, no prefetch | read, prefetched "
        "| AROW, one pass | of the limit | rows updated |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for bits in found.bits:
        features = 2**bits
        rng = np.random.default_rng(0)
        X = count_once(draw_words(rng, ROWS, LENGTH, features), features)
        y = (X @ rng.standard_normal(features).astype(np.float32) > 0).astype(np.int64)
        table = np.ones((features, 2), np.float32)
        places = ring(table.nbytes // LINE)
        one = best(found.repeats, follow, places) / len(places) * 1e9
        rows = X.indices, X.data, table
        plain, ahead = (
            best(found.repeats, sweep, *rows, distance) / X.nnz * 1e9 for distance in (0, AHEAD)
        )
        model = AROWClassifier(r=0.1, max_iter=1, shuffle=False)
        ours = best(found.repeats, model.fit, X, y) / X.nnz * 1e9
        print(
            f"| 2^{bits} | {table.nbytes / 1e6:.0f} MB | {one:.0f} ns | {X.nnz / 1e6:.1f} M "
            f"| {plain:.1f} ns | {ahead:.1f} ns | {ours:.1f} ns | {ahead / ours:.0%} "
            f"| {model.n_updates_ / len(y):.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
