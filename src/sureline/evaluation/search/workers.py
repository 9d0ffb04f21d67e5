"""Work spread over processes: each unit small, told as it is done, in one thread each."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from sureline.errors import SurelineError

R = TypeVar("R")


def count_jobs(jobs: int | None) -> int:
    """How many processes to use: as asked, or one a core."""
    import joblib

    cores: Any = joblib.cpu_count
    return int(cores()) if jobs is None else jobs


def run_units(
    function: Callable[..., R], units: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[tuple[int, R]]:
    """What `function` makes of each unit, with its number, in the order in which they end.

    Parameters
    ----------
    function : function
        Importable, as other processes call it.
    units : iterable of tuple
        Its arguments, unit by unit; small, as they are sent.
    jobs : int
        How many processes; 1 for none but this one.
    """
    every = list(units)
    if jobs == 1 or len(every) < 2:
        for number, unit in enumerate(every):
            yield _run(function, number, unit)
        return
    pool, left = _pool(jobs), enumerate(every)
    try:
        with _uninterrupted():
            waiting = {pool.submit(_run, function, *each) for each in islice(left, 2 * jobs)}
        while waiting:
            # Handed out one by one: the pool complains if it is closed while it keeps a supply.
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {pool.submit(_run, function, *each) for each in islice(left, len(done))}
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        raise SurelineError(
            "a process at work was killed, perhaps for lack of memory; use fewer (--jobs 1), or "
            "fewer rows"
        ) from None


def _run(function: Callable[..., R], number: int, unit: tuple[Any, ...]) -> tuple[int, R]:
    """One unit, without threads of its own: cores are shared by the processes."""
    import threadpoolctl

    limited: Any = threadpoolctl.threadpool_limits
    with limited(1):
        return number, function(*unit)


def _pool(jobs: int) -> Any:
    """The processes, which stay from one stage of the work to the next."""
    from joblib.externals import loky

    library: Any = loky
    return library.get_reusable_executor(max_workers=jobs, reuse="auto")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C does nothing for a moment: processes that start now leave it to this one for good."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def closed_at_the_end(jobs: int) -> Iterator[None]:
    """No process outlives the work, also where it is interrupted."""
    try:
        yield
    finally:
        if jobs > 1:
            _pool(jobs).shutdown(wait=True, kill_workers=True)
