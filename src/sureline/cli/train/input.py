"""The rows of a training run: read, watched and shuffled, pass after pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sureline.cli.model_files import columns_of
from sureline.cli.paths import check_not_an_input
from sureline.cli.screen import say
from sureline.cli.train.checkpoint import Position, add_rows
from sureline.cli.train.label_runs import LabelRuns
from sureline.cli.train.plan import Plan
from sureline.data import Batch, Reader, shuffle_rows
from sureline.errors import DataError, InvalidParameter


class TrainingInput:
    """The rows that a run learns.

    Where a model is trained further, its labels determine how labels are read, and the columns that
    its file notes are the default.
    """

    def __init__(self, plan: Plan, model: Any, notes: dict[str, Any]) -> None:
        self.plan = plan
        given = plan.input.arguments(columns_of(notes))
        if model is not None and given["label_type"] == "auto":
            given["label_type"] = label_type_of(model)
        self.reader = Reader(plan.files, **given)
        self.columns: dict[str, Any] = {}
        self.runs = LabelRuns(not plan.shuffle, plan.buffer_bytes)
        self._header = given["header"]
        self._held: list[Batch] | None = None
        self._rows_read = 0
        self._rows_per_pass: int | None = None
        if plan.counts_first and self.reader.bytes_total is None:
            raise InvalidParameter(
                "--count-first reads all rows twice, but a stream can be read only once; save it "
                "to a file, or leave out --count-first"
            )
        check_not_an_input(plan.model, "-o", self.reader.files)
        if plan.checkpoints.checkpoint is not None:
            check_not_an_input(plan.checkpoints.checkpoint, "--checkpoint", self.reader.files)

    def count_rows(self, count: Callable[[Batch], None]) -> int:
        """Let all rows be counted before the first is learned."""
        rows = 0
        for batch in self.reader:
            count(batch)
            rows += len(batch)
        self._rows_per_pass = rows
        return rows

    def batches(self, number: int, rng: np.random.RandomState) -> Iterator[Batch]:
        """The rows of one pass, in the order in which they are learned."""
        source: Iterable[Batch] = self.reader
        if self.reader.bytes_total is None and self.plan.passes > 1:
            self._held = self._held or self._read_all()
            source = self._held
        watched = self._watched(source, number)
        return shuffle_rows(watched, rng, self.plan.buffer_bytes) if self.plan.shuffle else watched

    def skip(self, batches: Iterator[Batch], position: Position) -> Iterator[Batch]:
        """The rows of a pass that follow those which a checkpoint has learned."""
        digest, left = [0] * len(position.digest), position.rows
        batch = None
        while left:
            batch = next(batches, None)
            if batch is None:
                break
            known = min(left, len(batch))
            digest = add_rows(digest, batch.slice(0, known))
            left -= known
        if batch is None or digest != position.digest:
            raise DataError(
                f"{self.plan.checkpoints.checkpoint} is a checkpoint of a run on other rows: the "
                f"first {position.rows:,} of this pass are not those that it learned; give the "
                "same data in the same order, or start again without --resume"
            )
        yield batch.slice(known, len(batch))
        yield from batches

    def share(self, position: Position) -> float | None:
        """How much of all passes is done; the number of rows is estimated while they are read."""
        total, reader = self._rows_per_pass, self.reader
        if total is None and reader.bytes_total and reader.bytes_read:
            total = int(self._rows_read * reader.bytes_total / reader.bytes_read)
        if not total:
            return None
        done = position.passes * total + position.rows
        return min(1.0, done / (total * self.plan.passes))

    def _read_all(self) -> list[Batch]:
        """The rows of a stream, to be learned several times."""
        held, size = list[Batch](), 0
        for batch in self.reader:
            size += int(batch.row_bytes.sum())
            if size > self.plan.buffer_bytes:
                raise DataError(
                    "a stream can be read only once, and this one does not fit into "
                    f"{self.plan.rule.buffer:g} MB; use --passes 1, raise --buffer, or save it to "
                    "a file"
                )
            held.append(batch)
        return held

    def _watched(self, source: Iterable[Batch], number: int) -> Iterator[Batch]:
        """The rows as they are read; the labels of the first pass are watched."""
        before, rows = self._rows_read, 0
        for batch in source:
            if not self.columns:  # the default of later commands
                names = {"text": self.reader.text_name, "label": self.reader.label_name}
                known = {**names, "header": self._header}
                self.columns = {name: each for name, each in known.items() if each is not None}
            rows += len(batch)
            self._rows_read = before + rows
            if number == 0:
                self.runs.update(batch)
                if self.runs.early():
                    say(self.runs.warning())
            yield batch
        self._rows_per_pass = rows
        if number == 0 and self.runs.late():
            say(self.runs.warning())


def label_type_of(model: Any) -> str:
    """How labels are to be read so that they can be those of a model."""
    kind = model.classes_.dtype.kind
    return {"i": "int", "u": "int", "f": "float", "b": "bool"}.get(kind, "text")
