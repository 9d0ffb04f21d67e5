"""The journal: every example that a model was given to learn, in order, in an SQLite database.

What is acknowledged is in it. A model is its base, the file that the journal began with, and the
examples that count, learned in the order of their numbers: so it can be made again as of any
moment. Anyone can read the database with SQLite's own tools; `SCHEMA` describes its tables.

Times never go back, even if the clock does, so that a moment names a number.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from threading import RLock
from typing import Any

from sureline.errors import DataError, ModelFileError
from sureline.serve.entries import Asked, AskedTogether, Entry, Example, Snapshot
from sureline.serve.times import now

FORMAT = 1
SCHEMA = """
create table about (name text primary key, value) without rowid;
-- One row for every example, in the order in which they were learned. `counts` is 0 for those that
-- were rolled back, forgotten (then without their text) or refused by the model.
create table examples (
    number integer primary key,
    time text not null,
    author text,
    text text,
    label not null,
    counts integer not null default 1,
    predicted,           -- what the model said before it learned the example
    probability real,
    prediction text      -- the id of the prediction that this label is for
);
create index examples_by_author on examples (author) where author is not null;
-- Answers to requests that had an Idempotency-Key: the numbers of their examples.
create table requests (
    key text primary key, digest text not null, first integer not null, last integer not null
) without rowid;
-- Model files. A base takes the place of all examples up to `number`; other snapshots are the last
-- base before them with the examples that count since then.
create table snapshots (
    number integer not null, base integer not null, file text not null, sha256 text not null,
    time text not null, primary key (number, base)
) without rowid;
-- Texts that were predicted, for labels that come later.
create table predictions (
    id text primary key, time text not null, text text not null, predicted, probability real,
    version text not null
) without rowid;
create table events (time text not null, what text not null, details text not null);
"""
PAGE = 10_000  # rows that are read at a time
BUSY = 10.0  # seconds to wait for another process that writes


class Journal:
    """The database of one model; safe to use from several threads, one at a time.

    Parameters
    ----------
    path : path
        The database.
    create : bool, default=False
        Whether to make it if it is not there.
    """

    def __init__(self, path: Path, create: bool = False) -> None:
        self.path = path
        if not create and not path.is_file():
            raise ModelFileError(f"there is no journal {path}")
        self._lock = RLock()
        try:
            self._database = sqlite3.connect(
                path, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = full")
            self._database.execute("pragma trusted_schema = off")
            self._open()
        except sqlite3.DatabaseError as problem:
            raise ModelFileError(f"{path} cannot be used as a journal: {problem}") from None
        self._last_time = self._one("select max(time) from examples") or ""

    def _open(self) -> None:
        """Make the tables of a new database, or check those of an old one."""
        if not self._database.execute("pragma user_version").fetchone()[0]:
            if self._database.execute("select count(*) from sqlite_master").fetchone()[0]:
                raise sqlite3.DatabaseError("it is a database of something else")
            with self.transaction():
                for statement in SCHEMA.split(";\n"):
                    self._database.execute(statement)
                self._database.execute(f"pragma user_version = {FORMAT}")
        version = self._database.execute("pragma user_version").fetchone()[0]
        if version != FORMAT:
            raise sqlite3.DatabaseError(
                f"its format is {version}, and this version of sureline knows {FORMAT}"
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written within is durable at the end, or none of it."""
        with self._lock:
            if self._database.in_transaction:  # part of the one around it
                yield
                return
            self._database.execute("begin immediate")
            try:
                yield
                self._database.execute("commit")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("rollback")
                raise

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def _one(self, query: str, *values: Any) -> Any:
        with self._lock:
            row = self._database.execute(query, values).fetchone()
        return row[0] if row else None

    # -- what the journal is of ------------------------------------------------------------------

    def about(self, name: str) -> Any:
        """Something that is known of the whole journal."""
        return self._one("select value from about where name = ?", name)

    def set_about(self, name: str, value: Any) -> None:
        """Note something of the whole journal."""
        with self.transaction():
            self._database.execute("insert or replace into about values (?, ?)", (name, value))

    # -- examples --------------------------------------------------------------------------------

    def time(self) -> str:
        """The time, but never before that of the last example."""
        self._last_time = max(self._last_time, now())
        return self._last_time

    def append(self, examples: Sequence[Example]) -> range:
        """Add examples; their numbers. Within a transaction they are durable at its end."""
        with self.transaction():
            at, first = self.time(), self.last + 1
            self._database.executemany(
                "insert into examples (number, time, author, text, label, predicted, "
                "probability, prediction) values (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        number,
                        at,
                        each.author,
                        each.text,
                        each.label,
                        each.predicted,
                        each.probability,
                        each.prediction,
                    )
                    for number, each in enumerate(examples, first)
                ),
            )
        return range(first, first + len(examples))

    @property
    def last(self) -> int:
        """The number of the last example; 0 if there is none."""
        return int(self._one("select max(number) from examples") or self.removed)

    @property
    def removed(self) -> int:
        """The number up to which examples were removed by `compact`."""
        return int(self.about("removed") or 0)

    def entries(
        self, after: int = 0, until: int | None = None, counting: bool = True
    ) -> Iterator[list[Entry]]:
        """The examples after a number, in order, some at a time; only those that count, or all."""
        last = self.last if until is None else until
        while True:
            with self._lock:
                rows = self._database.execute(
                    "select number, time, author, text, label, counts, predicted, "
                    "probability, prediction from examples where counts >= ? and number > ? "
                    "and number <= ? order by number limit ?",
                    (counting, after, last, PAGE),
                ).fetchall()
            if not rows:
                return
            yield [Entry(*row) for row in rows]
            after = rows[-1][0]

    def count(self) -> int:
        """How many examples count."""
        return int(self._one("select count(*) from examples where counts = 1"))

    def mistakes(self) -> tuple[int, int]:
        """How many examples were predicted before they were learned, and how many wrongly."""
        with self._lock:
            row = self._database.execute(
                "select count(*), sum(predicted != label) from examples "
                "where counts = 1 and predicted is not null"
            ).fetchone()
        return row[0], row[1] or 0

    def recent(self, count: int) -> list[tuple[bool, float | None]]:
        """Whether each of the last examples was predicted wrongly, and how probable it seemed."""
        with self._lock:
            rows = self._database.execute(
                "select predicted != label, probability from examples where counts = 1 and "
                "predicted is not null order by number desc limit ?",
                (count,),
            ).fetchall()
        return [(bool(wrong), probability) for wrong, probability in reversed(rows)]

    def curve(self, parts: int) -> list[tuple[int, int, int]]:
        """The examples in so many parts: the last number of each, its examples and mistakes."""
        with self._lock:
            return self._database.execute(
                "select max(number), count(*), sum(predicted != label) from (select number, "
                "predicted, label, ntile(?) over (order by number) as part from examples "
                "where counts = 1 and predicted is not null) group by part order by part",
                (parts,),
            ).fetchall()

    def counted(self, number: int) -> bool:
        """Whether an example counts."""
        return bool(self._one("select counts from examples where number = ?", number))

    def number_at(self, moment: str) -> int:
        """The number of the last example at a time."""
        found = self._one("select max(number) from examples where time <= ?", moment)
        return int(found or self.removed)

    def refuse(self, number: int, reason: str) -> None:
        """Let an example not count, because the model cannot learn it."""
        with self.transaction():
            self._database.execute("update examples set counts = 0 where number = ?", (number,))
            self._note("refused", number=number, reason=reason)

    def roll_back(self, number: int, who: str | None) -> int:
        """Let no example after a number count; how many these are."""
        with self.transaction():
            changed = self._database.execute(
                "update examples set counts = 0 where counts = 1 and number > ?", (number,)
            ).rowcount
            self._database.execute("delete from snapshots where number > ? and not base", (number,))
            self._note("rolled back", to=number, examples=changed, by=who)
        return int(changed)

    def forget(
        self, numbers: Iterable[int] = (), author: str | None = None, who: str | None = None
    ) -> int:
        """Remove the texts of examples and let them not count; the first of them, or 0.

        Snapshots that hold them are forgotten, too; their files are the caller's to remove.
        """
        with self.transaction():
            wanted = sorted(set(numbers))
            if author is not None:
                wanted += [
                    row[0]
                    for row in self._database.execute(
                        "select number from examples where author = ?", (author,)
                    )
                ]
            some = [(number,) for number in wanted]
            for number in wanted:
                if self._one("select 1 from examples where number = ?", number) is None:
                    raise DataError(f"there is no example {number}")
            first = min(wanted, default=0)
            # Texts are overwritten, not only unlinked.
            self._database.execute("pragma secure_delete = on")
            self._database.executemany(
                "delete from predictions where id in "
                "(select prediction from examples where number = ?)",
                some,
            )
            self._database.executemany(
                "update examples set counts = 0, text = null, author = null, predicted = null, "
                "probability = null where number = ?",
                some,
            )
            if first:
                self._database.execute(
                    "delete from snapshots where number >= ? and not base", (first,)
                )
            self._note("forgotten", examples=len(wanted), by=who)
        self._checkpoint()
        return first

    def _checkpoint(self) -> None:
        """Move what is in the write-ahead log into the database, and empty it."""
        with self._lock:
            self._database.execute("pragma wal_checkpoint(truncate)")

    def _note(self, what: str, **details: Any) -> None:
        """Note an event."""
        self._database.execute(
            "insert into events values (?, ?, ?)", (self.time(), what, json.dumps(details))
        )

    def events(self) -> list[tuple[str, str, dict[str, Any]]]:
        """What was done beside learning: time, what and details."""
        with self._lock:
            rows = self._database.execute("select time, what, details from events order by rowid")
            return [(time, what, json.loads(details)) for time, what, details in rows]

    # -- requests that may come twice --------------------------------------------------------------

    def remember_request(self, key: str, digest: str, numbers: range) -> None:
        """Note which examples a request with a key has added."""
        with self.transaction():
            self._database.execute(
                "insert into requests values (?, ?, ?, ?)",
                (key, digest, numbers.start, numbers.stop - 1),
            )

    def request(self, key: str) -> tuple[str, range] | None:
        """The digest of the request with a key, and the numbers of its examples."""
        with self._lock:
            row = self._database.execute(
                "select digest, first, last from requests where key = ?", (key,)
            ).fetchone()
        return None if row is None else (row[0], range(row[1], row[2] + 1))

    # -- predictions ---------------------------------------------------------------------------

    def remember_predictions(self, predictions: Sequence[AskedTogether], keep: int) -> None:
        """Keep texts that were predicted, the last `keep` of all."""
        with self.transaction():
            at = now()
            for each in predictions:
                self._database.executemany(
                    "insert or ignore into predictions values (?, ?, ?, ?, ?, ?)",
                    zip(
                        each.ids,
                        repeat(at),
                        each.texts,
                        each.predicted,
                        each.probabilities,
                        repeat(each.version),
                        strict=False,
                    ),
                )
            surplus = int(self._one("select count(*) from predictions")) - keep
            if surplus > 0:
                self._database.execute(
                    "delete from predictions where id in "
                    "(select id from predictions order by id limit ?)",
                    (surplus,),
                )

    def prediction(self, id: str) -> Asked | None:  # noqa: A002
        """A prediction that was made."""
        with self._lock:
            row = self._database.execute(
                "select id, text, predicted, probability, version from predictions where id = ?",
                (id,),
            ).fetchone()
        return None if row is None else Asked(*row)

    # -- snapshots -----------------------------------------------------------------------------

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Note that a file holds the model as of a number."""
        with self.transaction():
            self._database.execute(
                "insert or replace into snapshots values (?, ?, ?, ?, ?)", (*snapshot, now())
            )
            if snapshot.base:  # snapshots of that number are of the base before
                self._database.execute(
                    "delete from snapshots where number >= ? and not base", (snapshot.number,)
                )
                self._note("new base", number=snapshot.number, sha256=snapshot.sha256)

    def drop_snapshot(self, snapshot: Snapshot) -> None:
        """Forget a snapshot."""
        with self.transaction():
            self._database.execute(
                "delete from snapshots where number = ? and base = ?",
                (snapshot.number, snapshot.base),
            )

    def snapshots(self, until: int | None = None) -> list[Snapshot]:
        """The last base up to a number and the snapshots since it, the newest first."""
        with self._lock:
            rows = self._database.execute(
                "select number, base, file, sha256 from snapshots where number <= ? "
                "order by number desc, base desc",
                (self.last if until is None else until,),
            ).fetchall()
        found = [Snapshot(number, bool(base), *rest) for number, base, *rest in rows]
        bases = [k for k, each in enumerate(found) if each.base]
        return found[: bases[0] + 1] if bases else []

    def files(self) -> set[str]:
        """The files of all snapshots."""
        with self._lock:
            return {row[0] for row in self._database.execute("select file from snapshots")}

    def compact(self, number: int) -> int:
        """Remove the examples up to a number, of which a snapshot is the new base; how many."""
        with self.transaction():
            removed = self._database.execute(
                "delete from examples where number <= ?", (number,)
            ).rowcount
            self._database.execute("delete from requests where last <= ?", (number,))
            self._database.execute("delete from snapshots where number < ?", (number,))
            self.set_about("removed", number)
            self._note("compacted", to=number, examples=removed)
        with self._lock:
            self._database.execute("vacuum")
        self._checkpoint()
        return int(removed)
