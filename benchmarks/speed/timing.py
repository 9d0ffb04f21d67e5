"""Whole runs, timed."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any


def best(repeats: int, work: Callable[..., Any], *arguments: Any) -> float:
    """The shortest of several times; a first run, which may compile, does not count."""
    times = []
    for _ in range(repeats + 1):
        start = perf_counter()
        work(*arguments)
        times.append(perf_counter() - start)
    return min(times[1:])
