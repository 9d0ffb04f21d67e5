"""Threads: how many, and a pool that runs a function on all items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from numbers import Integral
from typing import Any, TypeVar

from joblib import effective_n_jobs

from sureline.errors import InvalidParameter, show

A = TypeVar("A")
B = TypeVar("B")


def count_threads(n_jobs: Any, owner: str) -> int:
    """The number of threads that `n_jobs` means, as scikit-learn reads it."""
    if n_jobs is not None and (
        not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
    ):
        raise InvalidParameter(
            f"{owner}: n_jobs must be None or a whole number other than 0 (-1 for all cores), got "
            f"{show(n_jobs)}"
        )
    count: Any = effective_n_jobs
    return int(count(None if n_jobs is None else int(n_jobs)))


class ThreadPool(ThreadPoolExecutor):
    """A pool of `threads` threads; they end with the ``with`` block, or with the pool."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, thread_name_prefix="sureline")
        self.threads = threads

    def run(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Apply a function to all items; of several errors, the first item's is raised."""
        futures = [self.submit(function, item) for item in items]
        wait(futures)
        return [future.result() for future in futures]
