"""The rows of a training run: read, watched and shuffled, pass after pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from sureline.cli.label_check import find_header, find_ids, find_spellings
from sureline.cli.model_files import reader_arguments
from sureline.cli.paths import check_not_an_input
from sureline.cli.screen import say
from sureline.cli.train.checkpoint import Position, add_rows
from sureline.cli.train.label_runs import LabelRuns, add_counts
from sureline.cli.train.plan import Plan
from sureline.data import Batch, Reader, shuffle_rows
from sureline.data.batch import concatenate
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.text.passes import MANY, sample_rows


class TrainingInput:
    """The rows that a run learns.

    Where a model is trained further, its labels determine how labels are read, and the columns that
    its file notes are the default.
    """

    def __init__(self, plan: Plan, model: Any, notes: dict[str, Any], balanced: bool) -> None:
        self.plan = plan
        given = plan.input.arguments()
        if model is not None:
            given = reader_arguments(plan.input, notes, model)
        if model is not None and given["label_type"] == "auto":
            given["label_type"] = label_type_of(model)
        given["label_sets"] = learns_sets(model)
        self.reader, self._reading = Reader(plan.files, **given), given
        self._balanced = balanced
        self._watched_all = False
        self._warned = set[str]()
        self.columns: dict[str, Any] = {}
        self.runs = LabelRuns(not plan.shuffle, plan.buffer_bytes)
        self._header = given["header"]
        self.passes = 1
        self._held: list[Batch] | None = None
        self._begun: Iterator[Batch] | None = None
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
        counts, rows = Counter[Any](), 0
        for batch in self.reader:
            add_counts(counts, batch)
            self._check_ids(counts, complete=False)
            count(batch)
            rows += len(batch)
        self._check_ids(counts, complete=True)
        self._rows_per_pass = rows
        return rows

    def sample(self, rng: np.random.RandomState) -> tuple[Batch, int] | None:
        """Some rows, in random order, to decide with how many passes to make; how many there are.

        None where one pass is made: the rows do not fit into the buffer, are many, or are no texts.
        The state of `rng` stays as it is. Files are read again for the passes; of a stream, what
        was read is kept.
        """
        if self.reader.bytes_total is None and self._balanced:
            self._held = self._read_all()
        held, size, rows, batches = list[Batch](), 0, 0, iter(self._held or self.reader)
        few, counts = True, Counter[Any]()
        for batch in batches:
            held.append(batch)
            add_counts(counts, batch)
            size += int(batch.row_bytes.sum())
            rows += len(batch)
            few = batch.text is not None and size <= self.plan.buffer_bytes and rows < MANY
            if not few:
                break
        if self.reader.bytes_total is None:
            self._held, self._begun = (held, None) if few else (None, chain(held, batches))
        if not few or not rows:
            return None
        self._check_ids(counts, complete=True)
        return concatenate(held).take(sample_rows(rows, rng)), rows

    def batches(self, number: int, rng: np.random.RandomState) -> Iterator[Batch]:
        """The rows of one pass, in the order in which they are learned."""
        source: Iterable[Batch] = self._begun or self._held or self.reader
        if self.reader.bytes_total is None and (self.passes > 1 or self._balanced):
            self._held = self._held or self._read_all()
            source = self._held
        rows = self._watched(source, number)
        if self.plan.shuffle:
            rows = shuffle_rows(rows, rng, self.plan.buffer_bytes)
        return self._checked(rows) if number == 0 else rows

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

    def count_labels(self) -> Counter[Any]:
        """How many rows of the whole input have each label."""
        if self._watched_all:
            return self.runs.counts
        counts = Counter[Any]()
        again = Reader(self.plan.files, **self._reading) if self._held is None else self._held
        for batch in again:
            add_counts(counts, batch)
        return counts

    def share(self, position: Position) -> float | None:
        """How much of all passes is done; the number of rows is estimated while they are read."""
        total, reader = self._rows_per_pass, self.reader
        if total is None and reader.bytes_total and reader.bytes_read:
            total = int(self._rows_read * reader.bytes_total / reader.bytes_read)
        if not total:
            return None
        done = position.passes * total + position.rows
        return min(1.0, done / (total * self.passes))

    def _read_all(self) -> list[Batch]:
        """The rows of a stream, to be learned several times."""
        held, size = list[Batch](), 0
        for batch in self.reader:
            size += int(batch.row_bytes.sum())
            if size > self.plan.buffer_bytes:
                why, instead = "", "use --passes 1"
                if self._balanced:
                    why = "class_weight=balanced counts all labels first, but "
                    instead = "give class weights as JSON"
                raise DataError(
                    f"{why}a stream can be read only once, and this one does not fit into "
                    f"{self.plan.rule.buffer:g} MB; {instead}, raise --buffer, or save it to a file"
                )
            held.append(batch)
        return held

    def _watched(self, source: Iterable[Batch], number: int) -> Iterator[Batch]:
        """The rows as they are read; the labels of the first pass are watched."""
        before, rows = self._rows_read, 0
        for batch in source:
            if not self.columns:  # the default of later commands
                names = {"text": self.reader.text_name, "label": self.reader.label_name}
                separator = self._reading["label_separator"]
                known = {**names, "header": self._header, "label_separator": separator}
                self.columns = {name: each for name, each in known.items() if each is not None}
            rows += len(batch)
            self._rows_read = before + rows
            if number == 0:
                self.runs.update(batch)
                if self.runs.early():
                    say(self.runs.warning())
                header = find_header(batch, self.reader.text_name, self.reader.label_name)
                self._warn("header", header)
            yield batch
        self._rows_per_pass = rows
        if number == 0:
            self._watched_all = True
            if self.runs.late():
                say(self.runs.warning())

    def _checked(self, rows: Iterator[Batch]) -> Iterator[Batch]:
        """The rows of the first pass; labels that look like a mistake are reported.

        They are checked before the first row is learned, as far as they have been read by then, and
        at the end.
        """
        begun = done = False
        for batch in rows:
            if not done:
                done = self._watched_all
                self._check_ids(self.runs.counts, complete=done)
            if not begun:
                begun = True
                self._warn("spelling", find_spellings(self.runs.counts))
            yield batch
        if not done:
            self._check_ids(self.runs.counts, complete=True, learned=True)
            self._warn("spelling", find_spellings(self.runs.counts))

    def _check_ids(self, counts: Counter[Any], complete: bool, learned: bool = False) -> None:
        many = learned or self.plan.input.many_labels
        self._warn("ids", find_ids(counts, self.reader.label_name, complete, many))

    def _warn(self, kind: str, warning: str | None) -> None:
        """Print a warning, if there is one; one of each kind is enough."""
        if warning is not None and kind not in self._warned:
            self._warned.add(kind)
            say(warning)


def learns_sets(model: Any) -> bool:
    """Whether a model, if there is one, has learned any number of labels per row."""
    return bool(model is not None and model.model_.learner.multilabel)


def label_type_of(model: Any) -> str:
    """How labels are to be read so that they can be those of a model."""
    kind = model.classes_.dtype.kind
    return {"i": "int", "u": "int", "f": "float", "b": "bool"}.get(kind, "text")
