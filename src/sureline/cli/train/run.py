"""One training run: reading, mixing, learning, checkpoints, and going on from one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sureline.cli.model_files import columns_of, open_model
from sureline.cli.paths import check_not_an_input, check_place
from sureline.cli.settings import Settings
from sureline.cli.train.checkpoint import (
    Position,
    add_rows,
    check_same_run,
    describe_inputs,
    random_state,
    set_random_state,
)
from sureline.cli.train.interrupt import Patience
from sureline.cli.train.progress import Moment, Progress, difference
from sureline.data import Batch, LongestRun, Reader, shuffle_rows
from sureline.errors import DataError, InvalidParameter, ModelFileError
from sureline.estimators.file import save
from sureline.estimators.stream import StreamTrainer, typed_labels
from sureline.model.learner import AGAIN, COUNTED, NEW, Turn
from sureline.model.linear import Counts

MB = 2**20
# So many rows of one label at the beginning of an input that keeps its order are worth a warning.
MANY = 10_000
# The course of training is noted so often while the number of examples doubles.
POINTS = 8


@dataclass(frozen=True)
class Plan:
    """All that is asked of a run."""

    inputs: list[str]
    model: str
    settings: Settings
    reading: dict[str, Any]
    passes: int = 1
    seed: int = 0
    shuffle: bool = True
    buffer: float = 256
    classes: list[str] | None = None
    checkpoint: str | None = None
    every: int = 100_000
    resume: bool = False
    continued: str | None = None
    jobs: int = 1
    count_first: bool = False

    def options(self) -> dict[str, Any]:
        """What a resumed run must have in common with the one that wrote the checkpoint."""
        settings = self.settings
        words = settings.texts.get("stop_words")
        elsewhere = ("stop_words", "counts_first")
        texts = {name: value for name, value in settings.texts.items() if name not in elsewhere}
        return {
            **{name.replace("_", "-"): value for name, value in self.reading.items()},
            **{name.replace("_", "-"): _plain(value) for name, value in texts.items()},
            "stop-words": None if words is None else list(words),
            "rule": settings.rule,
            "set": sorted(settings.pairs),
            "passes": self.passes,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "buffer": self.buffer,
            "classes": self.classes,
            "continue": None if self.continued is None else _checksum(self.continued),
            **({"count-first": True} if self.count_first else {}),
            # Checkpoints end rounds, so that what several jobs learn depends on where they are.
            **({"jobs": self.jobs, "every": self.every} if self.jobs > 1 else {}),
        }


@dataclass
class Finished:
    """What a run has led to."""

    model: Any
    stream: StreamTrainer
    position: Position
    seconds: float
    skipped: int


class Interrupted(Exception):
    """The run was interrupted: it says how far it came and what was saved."""


class Training:
    """A run of `sureline train`.

    Parameters
    ----------
    plan : Plan
        What is asked for.
    progress : Progress
        Who is told how it gets on.
    say : function of a sentence
        Where notes go.
    warn : function of a sentence
        Where warnings go.
    """

    def __init__(
        self,
        plan: Plan,
        progress: Progress,
        say: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self.plan, self.progress, self.say, self.warn = plan, progress, say, warn
        self.patience = Patience()
        self.position = Position()
        self.stream: StreamTrainer | None = None
        self.columns: dict[str, Any] = {}
        self._check_places()
        plan.settings.check()
        label_type = plan.reading["label_type"]
        self.loaded: Any = None
        reading = dict(plan.reading)
        if plan.continued is not None:
            self.loaded, notes = open_model(plan.continued)
            memory = columns_of(notes)
            for name in ("text", "label", "header"):
                if reading[name] is None and not (name == "header" and reading["text"]):
                    reading[name] = memory.get(name)
            if label_type == "auto":
                reading["label_type"] = label_type_of(self.loaded)
        self.header = reading["header"]
        self.reader = Reader(plan.inputs, **reading)
        if plan.count_first and self.reader.bytes_total is None:
            raise InvalidParameter(
                "--count-first reads all rows twice, but a stream can be read only once; save it "
                "to a file, or leave out --count-first"
            )
        check_not_an_input(plan.model, "-o", self.reader.files)
        if plan.checkpoint is not None:
            check_not_an_input(plan.checkpoint, "--checkpoint", self.reader.files)
            self.inputs = describe_inputs(self.reader.files)
            self.options = plan.options()
        self.rng = np.random.RandomState(plan.seed)
        self.watch = LabelWatch(not plan.shuffle, int(plan.buffer * MB))
        self._done = self._read = 0
        self._saved: int | None = None
        self._total: int | None = None

    # -- the run -------------------------------------------------------------------------------

    def run(self) -> Finished:
        """Learn all that is asked for, and write the model."""
        begun = perf_counter()
        self._begin()
        with self.patience:
            try:
                self._learn()
            except KeyboardInterrupt:
                self.progress.end()
                raise Interrupted(self._save_interrupted()) from None
            except BaseException:
                self.progress.end()
                raise
            self.progress.end()
            stream = self._finished()
            with self.patience.working():
                self._note_course(stream)
                notes = {"columns": self.columns, "curve": self.position.curve}
                save(stream.classifier, self.plan.model, notes)
        return Finished(
            stream.classifier, stream, self.position, perf_counter() - begun, self.position.skipped
        )

    def _begin(self) -> None:
        """Start from nothing, from a model, or from where a checkpoint stands."""
        plan = self.plan
        if self.loaded is not None:
            self.position.base = list(self._adopt(self.loaded).counts)
        if plan.checkpoint is None:
            return
        exists = Path(plan.checkpoint).exists()
        if not plan.resume:
            if exists:
                self.warn(
                    f"{plan.checkpoint} holds an earlier run, which this one replaces; --resume "
                    "would go on from it"
                )
            return
        if not exists:
            self.say(f"there is no checkpoint {plan.checkpoint} yet: starting from the beginning")
            return
        model, notes = open_model(plan.checkpoint)
        stored = notes.get("run")
        if not isinstance(stored, dict):
            raise ModelFileError(
                f"{plan.checkpoint} is a model, but no checkpoint; leave out --resume, or use "
                "--continue to train it further"
            )
        check_same_run(plan.checkpoint, stored, self.options, self.inputs)
        try:
            self.position = Position.from_json(stored.get("position") or {})
            set_random_state(self.rng, self.position.random)
        except ModelFileError as problem:
            raise ModelFileError(f"{plan.checkpoint} is damaged: {problem}") from None
        if self.position.passes >= plan.passes:
            raise InvalidParameter(
                f"{plan.checkpoint} stands in pass {self.position.passes + 1}, but --passes is "
                f"{plan.passes}; ask for as many as before, or more"
            )
        model.set_params(max_iter=plan.passes)
        self._adopt(model)
        self._saved = self.position.examples
        self.say(f"going on from {plan.checkpoint}, after {self.position.examples:,} examples")

    def _adopt(self, model: Any, labels: Sequence[Any] = ()) -> StreamTrainer:
        self.stream = StreamTrainer(model, self.plan.classes, labels, self.plan.jobs)
        return self.stream

    def _counts(self, stream: StreamTrainer) -> Counts:
        """What this run has counted."""
        return difference(stream.counts, Counts(*self.position.base))

    def _learn(self) -> None:
        """All passes that are left."""
        position, plan = self.position, self.plan
        replaying = position.rows
        position.random = random_state(self.rng)
        if self.stream is not None:
            self.progress.begin(self._moment(self.stream))
        source: Iterable[Batch] = self.reader
        if self.reader.bytes_total is None and plan.passes > 1:
            source = self._all_in_memory()
        if plan.count_first and not position.examples:
            self._count()
        for number in range(position.passes, plan.passes):
            batches: Iterable[Batch] = self._watched(source, number)
            if plan.shuffle:
                batches = shuffle_rows(batches, self.rng, int(plan.buffer * MB))
            if replaying:
                batches = self._replay(batches, replaying)
                replaying = 0
            turn = AGAIN if number else COUNTED if plan.count_first else NEW
            for batch in batches:
                self._take(batch, turn)
            with self.patience.working():
                self._end_pass()

    def _count(self) -> None:
        """Count all rows, before the first is learned."""
        rows = 0
        for batch in self.reader:
            with self.patience.working():
                self._stream_for(batch).count(batch)
            rows += len(batch)
        self._total = rows
        self.say(f"counted {rows:,} texts; now they are learned")

    def _end_pass(self) -> None:
        """Stand at the beginning of the next pass."""
        position = self.position
        if self.stream is not None:
            self.stream.merge_shards()
        position.passes += 1
        position.rows, position.digest = 0, [0, 0]
        position.random = random_state(self.rng)
        if position.first is None and self.stream is not None:
            counts = self._counts(self.stream)
            position.first = [counts.seen, counts.mistakes]
            position.skipped = len(self.reader.bad)

    def _all_in_memory(self) -> list[Batch]:
        """The rows of a stream, to be learned several times."""
        held, size, limit = list[Batch](), 0, self.plan.buffer * MB
        for batch in self.reader:
            size += int(batch.row_bytes.sum())
            if size > limit:
                raise DataError(
                    "a stream can be read only once, and this one does not fit into "
                    f"{self.plan.buffer:g} MB; use --passes 1, raise --buffer, or save it to a file"
                )
            held.append(batch)
        return held

    def _watched(self, source: Iterable[Batch], number: int) -> Iterator[Batch]:
        """The rows as they are read; those of the first pass are counted and watched."""
        before = self._read
        rows = 0
        for batch in source:
            if not self.columns:
                self._note_columns()
            rows += len(batch)
            self._read = before + rows
            if number == 0:
                self.watch.see(batch)
                if self.watch.early():
                    self.warn(self.watch.warning())
            yield batch
        self._total = rows
        if number == 0 and self.watch.late():
            self.warn(self.watch.warning())

    def _note_columns(self) -> None:
        """Remember which columns were used, so that others need not be told."""
        reader = self.reader
        known = {"text": reader.text_name, "label": reader.label_name, "header": self.header}
        self.columns = {name: value for name, value in known.items() if value is not None}

    def _replay(self, batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
        """Let the rows go by that have been learned; give those that have not."""
        digest, left, expected = [0, 0], rows, list(self.position.digest)
        stream = iter(batches)
        while left:
            batch = next(stream, None)
            if batch is None:
                break
            known = min(left, len(batch))
            digest = add_rows(digest, batch.slice(0, known))
            left -= known
        if left or batch is None or digest != expected:
            raise DataError(
                f"{self.plan.checkpoint} is a checkpoint of a run on other rows: the first {rows:,}"
                " of this pass are not those that it learned; give the same data in the same "
                "order, or start anew without --resume"
            )
        yield batch.slice(known, len(batch))
        yield from stream

    def _take(self, batch: Batch, turn: Turn) -> None:
        """Learn a batch, cut where a checkpoint is due or progress wants to be told."""
        start = 0
        while start < len(batch):
            stop = min(len(batch), start + self._rows_to_next_stop())
            piece = batch if stop - start == len(batch) else batch.slice(start, stop)
            with self.patience.working():
                stream = self._stream_for(piece)
                stream.learn(piece, turn)
                position = self.position
                position.rows += len(piece)
                position.examples += len(piece)
                if position.examples == next_point(position.examples - 1):
                    self._note_course(stream)
                if self.plan.checkpoint is not None:
                    position.digest = add_rows(position.digest, piece)
                    if position.examples % self.plan.every == 0:
                        stream.merge_shards()
                        self._save_checkpoint()
            self._done += piece.text.nbytes if piece.text is not None else piece.nbytes
            self.progress.tell(self._moment(stream))
            start = stop

    def _note_course(self, stream: StreamTrainer) -> None:
        """Note how many examples have been learned, and mistaken beforehand."""
        counts, curve = self._counts(stream), self.position.curve
        if counts.seen > (curve[-1][0] if curve else 0):
            curve.append([counts.seen, counts.mistakes])

    def _rows_to_next_stop(self) -> int:
        """How many rows may be learned in one go."""
        examples = self.position.examples
        stops = [self.progress.next_stop(examples), next_point(examples)]
        if self.plan.checkpoint is not None:
            stops.append(examples - examples % self.plan.every + self.plan.every)
        return min((stop - examples for stop in stops if stop is not None), default=2**62)

    def _stream_for(self, batch: Batch) -> StreamTrainer:
        """The stream into the model, which the first rows decide the kind of."""
        stream = self.stream
        if stream is None:
            settings = self.plan.settings
            if batch.text is not None:
                model: Any = settings.text_model()
                online = model.estimator
            else:
                online = model = settings.number_model(batch.source)
            if isinstance(online.class_weight, dict):
                names, factors = zip(*online.class_weight.items(), strict=True)
                labels = typed_labels(names, _label_dtype(batch))
                online.set_params(class_weight=dict(zip(labels.tolist(), factors, strict=True)))
            # Rows that are mixed have all been seen, as many as fit into the buffer.
            stream = self._adopt(model, self.watch.labels if self.plan.shuffle else ())
        return stream

    def _moment(self, stream: StreamTrainer) -> Moment:
        """How far the run has come."""
        return Moment(
            self.position.examples,
            self._counts(stream),
            stream.n_classes,
            stream.n_features,
            self._done,
            self._share(),
        )

    def _share(self) -> float | None:
        """How much of the work is done: of rows, whose number is guessed while they are read."""
        total, reader = self._total, self.reader
        if total is None and reader.bytes_total and reader.bytes_read:
            total = int(self._read * reader.bytes_total / reader.bytes_read)
        if not total:
            return None
        done = self.position.passes * total + self.position.rows
        return min(1.0, done / (total * self.plan.passes))

    # -- the end -------------------------------------------------------------------------------

    def _finished(self) -> StreamTrainer:
        """The stream, if something has been learned that can tell classes apart."""
        stream = self.stream
        if stream is None or not stream.counts.seen:
            raise DataError("no row has a weight above 0, so that nothing was learned")
        classes = stream.classifier.classes_.tolist()
        if len(classes) < 2:
            raise DataError(
                f"all {self.position.examples:,} rows have the label {classes[0]!r}; to tell "
                "classes apart, give rows of two or more (or check --label)"
            )
        stream.settle()
        if self.plan.continued is None:
            stream.classifier.n_iter_ = self.plan.passes
        return stream

    def _save_checkpoint(self) -> bool:
        """Write the model and where the run stands; False while there is nothing to write."""
        stream = self.stream
        if self.plan.checkpoint is None or stream is None:
            return False
        if self.plan.count_first and not self.position.examples:
            return False  # a run that has learned nothing counts from the beginning
        if not stream.classifier.__sklearn_is_fitted__():
            return False
        stream.settle()
        run = {
            "options": self.options,
            "inputs": self.inputs,
            "position": self.position.as_json(),
        }
        save(stream.classifier, self.plan.checkpoint, {"columns": self.columns, "run": run})
        self._saved = self.position.examples
        return True

    def _save_interrupted(self) -> str:
        """Save what can be saved, and say how to go on."""
        come = f"interrupted after {self.position.examples:,} examples"
        if self.stream is not None and self.stream.in_round:
            # To end the round here would lead to another model.
            if self._saved is not None:
                return (
                    f"{come}, of which {self._saved:,} are saved in {self.plan.checkpoint}; to go "
                    "on from there, give the same command with --resume"
                )
            saved = False
        else:
            with self.patience.working():
                saved = self._save_checkpoint()
        if saved:
            return (
                f"{come}, which are saved in {self.plan.checkpoint}; to go on, give the same "
                "command with --resume"
            )
        if self.plan.checkpoint is not None:
            return f"{come}; to go on, give the same command with --resume"
        return (
            f"{come}; nothing was saved: with --checkpoint PATH, a run can be interrupted and "
            "resumed"
        )

    # -- checks --------------------------------------------------------------------------------

    def _check_places(self) -> None:
        """Refuse, before any work, to write where nothing can be written."""
        plan = self.plan
        check_place(plan.model, "-o")
        if plan.checkpoint is not None:
            check_place(plan.checkpoint, "--checkpoint")
            if os.path.realpath(plan.checkpoint) == os.path.realpath(plan.model):
                raise InvalidParameter("--checkpoint and -o name the same file; give two")


class LabelWatch:
    """Watches labels for long runs of equal ones, which one pass learns little from."""

    def __init__(self, in_order: bool, limit: int) -> None:
        self._in_order, self._limit = in_order, limit
        self._run = LongestRun()
        self._labels: Counter[Any] = Counter()
        self._bytes = 0
        self._warned = False

    def see(self, batch: Batch) -> None:
        """Watch the labels of some more rows."""
        self._run.update(batch.label)
        self._bytes += int(batch.row_bytes.sum())
        if batch.label is not None:
            import pyarrow.compute as pc

            for each in pc.value_counts(batch.label).to_pylist():
                self._labels[each["values"]] += each["counts"]

    @property
    def labels(self) -> list[Any]:
        """The labels so far."""
        return list(self._labels)

    def early(self) -> bool:
        """Whether to warn at once: many rows in their own order, all of one label."""
        return self._once(self._in_order and len(self._labels) == 1 and self._run.rows >= MANY)

    def late(self) -> bool:
        """Whether to warn when all rows have been seen."""
        run = self._run
        if len(self._labels) < 2:
            return False
        # In random order, a run of a label of share p rarely is longer than log n / -log p.
        share = self._labels[run.label] / run.rows
        usual = log(run.rows) / -log(share)
        long = run.length > 20 + 3 * usual
        if not self._in_order:
            mean = self._bytes / run.rows
            long = long and self._bytes > self._limit and 4 * run.length * mean > self._limit
        return self._once(long)

    def _once(self, true: bool) -> bool:
        if self._warned or not true:
            return False
        self._warned = True
        return True

    def warning(self) -> str:
        """What to say."""
        run = self._run
        sentence = (
            f"labels come in long runs: {run.length:,} rows one after the other have the label "
            f"{run.label!r}, and one pass over such rows learns little"
        )
        if self._in_order:
            return f"{sentence}; leave out --no-shuffle, or mix the rows beforehand"
        return (
            f"{sentence}; raise --buffer above {self._limit / MB:g} MB, or mix the rows beforehand"
        )


def next_point(examples: int) -> int:
    """The next number of examples, above this one, at which the course of training is noted."""
    if examples < POINTS:
        return examples + 1
    step = (1 << (examples.bit_length() - 1)) // POINTS
    return examples - examples % step + step


def label_type_of(model: Any) -> str:
    """How labels are to be read so that they can be those of a model."""
    kind = model.classes_.dtype.kind
    return {"i": "int", "u": "int", "f": "float", "b": "bool"}.get(kind, "text")


def _label_dtype(batch: Batch) -> np.dtype[Any]:
    from sureline.data import as_labels

    return as_labels(batch.label).dtype


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _checksum(path: str) -> str | None:
    from sureline.model.file import read

    return read(path).checksum
