"""Whole runs: their time, and the memory that they take."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
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


def memory_above(work: Callable[[], Any]) -> float | None:
    """By how many MB memory rose at most during the work; None if unknown."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forgets the highest use so far
    except OSError:
        return None
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1e3


def _status(key: str) -> int:
    """A line of this process's status, in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no line {key}")
