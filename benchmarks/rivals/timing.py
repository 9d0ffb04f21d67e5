"""Timing in turns: every entry once, then every entry again, so that all meet the same machine."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.rivals.entries import Clocked, Entry, Row

Watch = Callable[[str], None]
NO_FILES = "PYTHONDONTWRITEBYTECODE"


def clock(work: Callable[[], Any]) -> Clocked:
    """Do the work once and time it, with the garbage of earlier work collected first."""
    gc.collect()
    start = perf_counter()
    made = work()
    seconds = perf_counter() - start
    return made if isinstance(made, Clocked) else Clocked(seconds, made)


def measure(entries: list[tuple[str, Entry]], repeats: int, watch: Watch) -> list[Row]:
    """The rows of all entries, each with the best of its times; a failure ends one entry only.

    Accuracy is taken from the first run, which does not count if the entry is to be warm.
    """
    rows = [Row(rival, entry) for rival, entry in entries]
    for turn in range(repeats + 1):
        for row in rows:
            if row.problem or (turn == 0 and not row.entry.warm) or (turn > 1 and row.entry.once):
                continue
            watch(f"{row.entry.name}, {f'run {turn} of {repeats}' if turn else 'first run'}")
            try:
                _take(row, turn)
            except Exception as error:  # a rival may raise anything, and the others go on
                row.problem, row.seconds = f"failed: {explain(error)}", None
    return rows


def _take(row: Row, turn: int) -> None:
    """One run of an entry, kept if it is the best so far."""
    entry, made = row.entry, clock(row.entry.run)
    if turn == 0 or (turn == 1 and not entry.warm):
        if entry.accuracy is not None:
            row.accuracy = float(entry.accuracy(made.made))
        if entry.figures is not None:
            row.figures.update(entry.figures())
    if turn and (row.seconds is None or made.seconds < row.seconds):
        row.seconds = made.seconds
        row.figures.update(made.figures)


def explain(error: Exception) -> str:
    """What went wrong, on one line; programs report it in the last line that they print."""
    message = str(error)
    if isinstance(error, subprocess.CalledProcessError):
        last = (error.stderr or error.stdout or "").strip().splitlines()
        message = f"exit code {error.returncode}" + (f", {last[-1]}" if last else "")
    return f"{type(error).__name__}: {' '.join(message.split())[:200]}"


def run_program(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and keep what it prints.

    Python keeps its own compiled files, as it does by default.
    """
    inherited = {key: value for key, value in os.environ.items() if key != NO_FILES}
    return subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=True, env=inherited | environment
    )
