"""How long commands take to start, with compiled code on disk."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rivals.data import Setting, messages
from benchmarks.rivals.entries import Contest, Goal, Ratio, Results, Task

HELP, BEYOND, ROWS = 0.4, 1.0, 300


def small_file(setting: Setting) -> Task:
    """A small file of messages, and a folder for what is made of it."""
    split = messages(setting)
    folder = setting.folder / "small"
    folder.mkdir(exist_ok=True)
    path = folder / "small.tsv"
    kept = list(zip(split.train.labels.tolist(), split.train.plain, strict=True))[:ROWS]
    lines = "".join(f"{label}\t{text}\n" for label, text in kept)
    path.write_text(f"label\ttext\n{lines}", encoding="utf-8")
    return Task(f"A file of {len(kept)} messages", {"file": path, "folder": folder})


def tasks(setting: Setting) -> Iterator[Task]:
    """A small file."""
    yield small_file(setting)


def goals(tables: list[Results]) -> list[Goal]:
    """Help, and training beyond imports."""
    (found,) = tables
    shown, train = found.fastest("sureline", "help"), found.fastest("sureline", "train")
    imports = found.fastest("scikit_learn", "imports")
    beyond = None if train is None or imports is None else train - imports
    return [
        Goal(
            f"`sureline --help` within {HELP} s",
            "" if shown is None else f"{shown:.2f} s",
            None if shown is None else shown <= HELP,
        ),
        Goal(
            f"`sureline train` on a small file: at most {BEYOND} s beyond the imports",
            "" if beyond is None else f"{beyond:+.2f} s",
            None if beyond is None else beyond <= BEYOND,
        ),
    ]


CONTEST = Contest(
    name="start-up",
    title="Start-up",
    about="Whole processes, from start to end, with a warm code cache.",
    tasks=tasks,
    ratios=(Ratio("÷ imports", "scikit_learn", ("imports",)),),
    goals=goals,
)
