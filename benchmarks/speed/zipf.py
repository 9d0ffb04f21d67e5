"""Rows of words that are as unevenly frequent as those of texts."""

from __future__ import annotations

import numpy as np
import scipy.sparse


def draw_words(rng: np.random.Generator, rows: int, length: int, features: int) -> np.ndarray:
    """The words of rows, by Zipf's law; frequent ones lie anywhere, as hashing puts them."""
    words = np.minimum(rng.zipf(1.3, (rows, length)), features) - 1
    return (words * 2654435761) % features


def count_once(words: np.ndarray, features: int) -> scipy.sparse.csr_array:
    """Sparse rows of words, repeats counted once."""
    rows, length = words.shape
    indptr = np.arange(0, rows * length + 1, length, dtype=np.int32)
    X = scipy.sparse.csr_array(
        (np.ones(rows * length, np.float32), words.ravel().astype(np.int32), indptr),
        shape=(rows, features),
    )
    X.sum_duplicates()
    X.data[:] = 1.0
    return X
