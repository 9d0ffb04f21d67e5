"""How long commands take to compile, once."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.contests.start_up import small_file
from benchmarks.rivals.data import Setting
from benchmarks.rivals.entries import Contest, Goal, Results, Task

LIMIT = 15.0


def tasks(setting: Setting) -> Iterator[Task]:
    """A small file."""
    yield small_file(setting)


def goals(tables: list[Results]) -> list[Goal]:
    """For any one command."""
    (found,) = tables
    said = f"Compiling takes at most {LIMIT:.0f} s for any one command"
    ours = found.of("sureline")
    if not ours:
        return [Goal(said, "", None)]
    longest = max(ours, key=lambda row: row.figures["compiling"])
    seconds = longest.figures["compiling"]
    slowest = f"{seconds:.1f} s by {longest.entry.name}"
    if failed := [row.entry.name for row in found.rows if row.problem]:
        return [Goal(said, f"{slowest}; not measured: {', '.join(failed)}", None)]
    return [Goal(said, slowest, seconds <= LIMIT)]


CONTEST = Contest(
    name="cold",
    title="The first run of a command, which compiles",
    about=(
        "Each command runs twice with a cache for compiled code that is empty at first "
        "(`NUMBA_CACHE_DIR`). The difference is the time to compile, and is paid once."
    ),
    tasks=tasks,
    ratios=(),
    goals=goals,
)
