"""``sureline journal``: what a served model has learned, and the model as of any moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from sureline.cli.groups import flag, with_options
from sureline.cli.options import OUTPUT, MemoryFlags
from sureline.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from sureline.serve.entries import Entry
    from sureline.serve.journal import Journal
    from sureline.serve.recovery import Store

ACTIONS = ("list", "export", "replay", "compact")
WIDTH = 60  # characters of a text that are listed


@dataclass(frozen=True)
class JournalOptions:
    """Which examples, and where to."""

    PANEL: ClassVar[str] = OUTPUT
    until: str | None = flag(
        "--until WHEN",
        "Up to this time, such as 2026-03-01T12:30:00Z, or this number of an example.",
    )
    output: str | None = flag(
        "--output -o FILE",
        "replay: where to write the model. export: where to write the examples, by the end of the "
        "name as CSV, JSON lines or Parquet; default: CSV to stdout.",
    )
    last: int = flag("--last N", "list: how many of the last examples to show.", 20, low=1)
    keep_days: float = flag(
        "--keep-days D", "compact: keep the examples of the last D days.", 30.0, low=0.0
    )
    json: bool = flag("--json", "Print the result as JSON.", False)


@with_options
def journal(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="A model that serve has served, or its journal.",
        ),
    ],
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="list, export, replay or compact.")
    ] = "list",
    *,
    options: JournalOptions,
    memory: MemoryFlags,
) -> None:
    """List or export what a served model has learned, or make the model as of any moment.

    list shows the last examples and what was undone. export writes all that count. replay makes the
    model again from its base and its examples, bit for bit. compact removes old examples, which
    then can be neither undone nor forgotten.

        sureline journal mail.sureline replay --until 2026-03-01 -o before.sureline
    """
    from sureline.serve.recovery import Store

    if action not in ACTIONS:
        raise InvalidParameter(f"there is no action {action!r}; there are {', '.join(ACTIONS)}")
    if action == "replay" and options.output is None:
        raise InvalidParameter("replay: name the file to write the model to: -o MODEL")
    store = Store(find_folder(Path(model)), memory.values["memory_limit_gb"])
    try:
        until = find_number(store.journal, options.until)
        {"list": list_examples, "export": export, "replay": replay, "compact": compact}[action](
            store, until, options
        )
    finally:
        store.close()


def find_folder(path: Path) -> Path:
    """The folder of a journal, which a model, the folder or its database names."""
    from sureline.serve.recovery import JOURNAL, journal_folder

    if path.name == JOURNAL:
        return path.parent
    folder = path if path.is_dir() else journal_folder(path)
    if not (folder / JOURNAL).is_file():
        raise InvalidParameter(f"there is no journal of {path}; sureline serve begins one")
    return folder


def find_number(journal: Journal, until: str | None) -> int:
    """The number of the last example up to a number or a time."""
    from sureline.serve.times import read_time

    if until is None:
        return journal.last
    number = int(until) if until.isascii() and until.isdigit() and len(until) != 8 else None
    return min(journal.number_at(read_time(until)) if number is None else number, journal.last)


def list_examples(store: Store, until: int, options: JournalOptions) -> None:
    """Show the last examples and the events."""
    from sureline.cli.screen import listing, named_values, print_json, show

    journal = store.journal
    first = max(until - options.last, 0)
    entries = [each for some in journal.entries(first, until, counting=False) for each in some]
    events = [{"time": time, "what": what, **details} for time, what, details in journal.events()]
    if options.json:
        rows = [each._asdict() for each in entries]
        print_json({"examples": journal.count(), "last": rows, "events": events})
        return
    table = listing("number", "time", "author", "label", "predicted", "text")
    for each in entries:
        state = "" if each.counts else ("forgotten" if each.text is None else "undone: ")
        text = " ".join((each.text or "").split())
        shown = text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
        said = "" if each.predicted is None else str(each.predicted)
        values = each.number, each.time[:19], each.author or "", each.label, said, state + shown
        table.add_row(*map(str, values))
    show(named_values({"journal": store.folder, "examples": f"{journal.count():,}"}))
    show(table)
    for event in events[-options.last :]:
        about = ", ".join(
            f"{name} {value}" for name, value in event.items() if name not in ("time", "what")
        )
        print(f"{event['time'][:19]}  {event['what']}: {about}")


def export(store: Store, until: int, options: JournalOptions) -> None:
    """Write the examples that count."""
    from sureline.cli.predict.writer import WRITERS, choose_kind, open_output

    kind = choose_kind(options.output, "jsonl" if options.json else None)
    with open_output(options.output) as file:
        WRITERS[kind](file, _tables(store.journal, until))


def _tables(journal: Journal, until: int) -> Iterator[pa.RecordBatch]:
    """The examples that count, as tables of the same types."""
    import pyarrow as pa

    whole = isinstance(next((e.label for some in journal.entries() for e in some), ""), int)
    label = pa.int64() if whole else pa.large_string()
    kinds = {
        "number": pa.int64(),
        "time": pa.large_string(),
        "author": pa.large_string(),
        "text": pa.large_string(),
        "label": label,
        "predicted": label,
        "probability": pa.float64(),
    }
    some: list[Entry] = []
    for some in journal.entries(until=until):
        yield _table(some, kinds)
    if not some:
        yield _table([], kinds)


def _table(entries: list[Entry], kinds: dict[str, Any]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [
        pa.array([getattr(each, name) for each in entries], kind) for name, kind in kinds.items()
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(kinds))


def replay(store: Store, until: int, options: JournalOptions) -> None:
    """Make the model as of a moment."""
    from sureline.cli.paths import check_place
    from sureline.cli.screen import print_json

    output = options.output or ""
    check_place(output, "-o")
    model, number = store.model(until)
    model.save(output)
    if options.json:
        print_json({"model": output, "number": number, "classes": model.classes_.tolist()})
    else:
        print(f"wrote {output}: the model as of example {number:,}")


def compact(store: Store, until: int, options: JournalOptions) -> None:
    """Remove old examples; the model as of the last of them is the new base."""
    from sureline.cli.screen import print_json
    from sureline.data.folder_lock import FolderLock
    from sureline.serve.times import age_limit

    journal = store.journal
    lock = FolderLock(store.folder, f"the journal {store.folder}")
    try:
        number = min(until, journal.number_at(age_limit(options.keep_days)))
        removed = 0
        if number > journal.removed:
            model, _ = store.model(number)
            store.add(model, number, base=True)
            removed = journal.compact(number)
            store.remove_old(0)
    finally:
        lock.release()
    if options.json:
        print_json({"removed": removed, "examples": journal.count()})
    else:
        print(f"removed {removed:,} examples up to number {number:,}; {journal.count():,} are left")
