"""One training run: learning pass after pass, checkpoints, interruptions, and the model's file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from sureline.cli.model_files import describe_change, open_model
from sureline.cli.paths import check_place
from sureline.cli.screen import say
from sureline.cli.settings import is_balanced, set_class_weights
from sureline.cli.train.checkpoint import (
    Checkpoint,
    Position,
    add_rows,
    next_point,
    random_state,
)
from sureline.cli.train.input import TrainingInput
from sureline.cli.train.interrupt import DeferredInterrupt
from sureline.cli.train.plan import Plan
from sureline.cli.train.progress import Progress, Status, difference
from sureline.data import Batch, Reader, as_labels
from sureline.data.arrow_arrays import is_list
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import OnlineClassifier, TextClassifier
from sureline.estimators.file import save
from sureline.estimators.stream import StreamTrainer, choose_passes_for
from sureline.estimators.text.passes import Choice
from sureline.estimators.validation import balanced_weights
from sureline.model.drift import Change
from sureline.model.learner import AGAIN, COUNTED, NEW, Turn
from sureline.model.predictions import Counts


class Interrupted(Exception):
    """The run was interrupted; the message says how far it came and what was saved."""


class Training:
    """A run of `sureline train`; when it is quiet, only warnings are printed."""

    def __init__(self, plan: Plan, progress: Progress, quiet: bool) -> None:
        self.plan, self.progress, self.quiet = plan, progress, quiet
        self.seconds = 0.0
        self.interrupt = DeferredInterrupt()
        self.position = Position()
        self.stream: StreamTrainer | None = None
        _check_places(plan)
        self.jobs = plan.jobs
        self.settings = plan.settings()
        self.loaded, notes = None, dict[str, Any]()
        if plan.rule.continued is not None:
            self.loaded, notes = open_model(plan.rule.continued, plan.memory, verified=True)
            if not isinstance(self.loaded, TextClassifier | OnlineClassifier):
                raise InvalidParameter(
                    f"--continue {plan.rule.continued}: a {type(self.loaded).__name__} is not "
                    "trained further by this command; fit it on all rows in Python, or use "
                    "partial_fit, which it has with solver='comid'"
                )
            self.loaded.model_.learner.check_learns(f"--continue {plan.rule.continued}")
            if plan.watches:
                self.loaded.set_params(drift=plan.drift)
        else:
            self.settings.check()
        model = self.settings.text_model if self.loaded is None else self.loaded
        self.input = TrainingInput(plan, self.loaded, notes, is_balanced(model))
        self.checkpoint = Checkpoint(plan, self.reader.files)
        self.rng = np.random.RandomState(plan.seed)
        self._bytes = 0
        self._fresh: Any = None

    @property
    def reader(self) -> Reader:
        """What reads the rows."""
        return self.input.reader

    def run(self) -> StreamTrainer:
        """Learn all passes, write the model, and return what has learned it."""
        begun = perf_counter()
        self._begin()
        with self.interrupt:
            try:
                self._learn_passes()
            except KeyboardInterrupt:
                raise Interrupted(self._save_interrupted()) from None
            finally:
                self.progress.end()
            stream = self._finish()
            with self.interrupt.deferred():
                self._note_error(stream)
                notes = {"columns": self.input.columns, "curve": self.position.curve}
                save(stream.classifier, self.plan.model, notes, self.plan.compact)
        self.seconds = perf_counter() - begun
        return stream

    def _begin(self) -> None:
        """Start from nothing, from a model, or from a checkpoint."""
        plan, checkpoint = self.plan, self.checkpoint
        if self.loaded is not None:
            self.position.base = list(self._learn_into(self.loaded).counts)
        if not plan.checkpoints.resume:
            if checkpoint.exists():
                say(
                    f"{checkpoint.path} holds an earlier run, which this one replaces; --resume "
                    "would continue it"
                )
            return
        if not checkpoint.exists():
            self._say(f"there is no checkpoint {checkpoint.path} yet: starting from the beginning")
            return
        model, self.position = checkpoint.load(self.rng)
        if isinstance(plan.passes, int) and self.position.passes >= plan.passes:
            raise InvalidParameter(
                f"{checkpoint.path} is in pass {self.position.passes + 1}, but --passes is "
                f"{plan.passes}; give as many as before, or more"
            )
        if isinstance(plan.passes, int):
            model.set_params(max_iter=plan.passes)
        self._learn_into(model)
        self._say(f"continuing from {checkpoint.path}, after {self.position.examples:,} examples")

    def _say(self, note: str) -> None:
        if not self.quiet:
            say(note)

    def _learn_into(self, model: Any, labels: Sequence[Any] = ()) -> StreamTrainer:
        self.stream = stream = StreamTrainer(model, self.plan.classes, labels, self.jobs)
        if self.plan.drift is not None and self.plan.watches and not stream.ordered:
            raise InvalidParameter(
                f"--drift is about rows in their order, but with --jobs {self.jobs} each thread "
                "learns a part of them; leave out one of them"
                + (", or give --jobs 2" if isinstance(model, TextClassifier) else "")
            )
        return stream

    def _stream_for(self, batch: Batch) -> StreamTrainer:
        """The stream into the model; the first rows determine whether it takes texts."""
        stream = self.stream
        if stream is None:
            model = self._model_for(batch)
            # Rows that are shuffled have all been read, as many as fit into the buffer.
            known = list(self.input.runs.counts) if self.plan.shuffle else ()
            stream = self._learn_into(model, known)
        self._balance(stream.classifier)
        return stream

    def _model_for(self, batch: Batch) -> Any:
        """The model, which has learned nothing, for rows such as these."""
        if self._fresh is None:
            if batch.text is not None:
                self._fresh = self.settings.text_model
            else:
                self._fresh = self.settings.number_model(batch.source)
            label: Any = batch.label
            if not is_list(label.type):
                self.settings.type_class_weights(self._fresh, as_labels(label).dtype)
            elif batch.text is not None:  # what has been checked learns one label per row
                self._fresh.adopt(*self._fresh.begin(multilabel=True), 1)
        return self._fresh

    def _balance(self, model: Any) -> None:
        """Give classes that are to be balanced their weights."""
        if is_balanced(model):
            set_class_weights(model, balanced_weights(self.input.count_labels()))

    # -- learning ------------------------------------------------------------------------------

    def _choose_passes(self) -> Choice:
        """How many passes to make; where the rows decide, a checkpoint notes what they did."""
        plan, position = self.plan, self.position
        if isinstance(plan.passes, int):
            return Choice(plan.passes, [])
        if position.chosen is None:
            position.chosen, found = 1, None
            if plan.decides and not position.examples:
                found = self.input.sample(self.rng)
            if found is not None:
                sample, count = found
                model = self._model_for(sample)
                self._balance(model)
                choice = choose_passes_for(model, sample, count, self.rng, self.jobs)
                position.chosen, position.calibrator, position.labels = choice
        return Choice(position.chosen, position.calibrator, position.labels)

    def _learn_passes(self) -> None:
        position, plan = self.position, self.plan
        position.random = random_state(self.rng)
        choice = self._choose_passes()
        self.input.passes = choice.passes
        if self.stream is not None:
            self.progress.begin(self._status(self.stream))
        if plan.counts_first and not position.examples:
            rows = self.input.count_rows(self._count)
            self._say(f"counted {rows:,} texts; learning them now")
        for number in range(position.passes, choice.passes):
            batches = self.input.batches(number, self.rng)
            if position.rows:
                batches = self.input.skip(batches, position)
            turn = AGAIN if number else COUNTED if plan.counts_first else NEW
            turn = turn._replace(ordered=plan.ordered)
            for batch in batches:
                self._learn(batch, turn)
            with self.interrupt.deferred():
                self._end_pass(number)
        if self.stream is not None and choice.calibrator:
            with self.interrupt.deferred():
                choice.finish(self.stream.classifier.model_)

    def _count(self, batch: Batch) -> None:
        if batch.text is None:
            raise InvalidParameter(
                f"--count-first is about texts, but {batch.source} holds svmlight rows; leave it "
                "out"
            )
        with self.interrupt.deferred():
            self._stream_for(batch).count(batch)

    def _learn(self, batch: Batch, turn: Turn) -> None:
        """Learn a batch, cut where a checkpoint is due or progress is shown."""
        position, start = self.position, 0
        while start < len(batch):
            stop = min(len(batch), start + self._rows_to_next_stop())
            part = batch if stop - start == len(batch) else batch.slice(start, stop)
            with self.interrupt.deferred():
                stream = self._stream_for(part)
                before = len(stream.changes)
                stream.learn(part, turn)
                self._say_changes(stream.changes[before:])
                position.rows += len(part)
                position.examples += len(part)
                if position.examples == next_point(position.examples - 1):
                    self._note_error(stream)
                if self.checkpoint.path is not None:
                    position.digest = add_rows(position.digest, part)
                if self.checkpoint.is_due(position.examples):
                    stream.merge_shards()
                    self._save_checkpoint()
            self._bytes += part.text.nbytes if part.text is not None else part.nbytes
            self.progress.update(self._status(stream))
            start = stop

    def _say_changes(self, changes: Sequence[Change]) -> None:
        """Say what has changed in the stream, when it is known."""
        for change in changes:
            self._say(describe_change(change))

    def _rows_to_next_stop(self) -> int:
        """How many rows may be learned in one go."""
        examples, every = self.position.examples, self.plan.every
        stops = [self.progress.next_stop(examples), next_point(examples)]
        if self.checkpoint.path is not None:
            stops.append(examples - examples % every + every)
        return min((stop - examples for stop in stops if stop is not None), default=2**62)

    def _end_pass(self, number: int) -> None:
        if self.stream is not None:
            self.stream.merge_shards()
            if self.input.passes > 1:
                self.stream.classifier.model_.end_pass(again=number > 0)
        self.position.end_pass(self.rng)
        if self.position.first is None and self.stream is not None:
            counts = self._counts(self.stream)
            self.position.first = [counts.seen, counts.mistakes]
            self.position.skipped = len(self.reader.bad)

    def _counts(self, stream: StreamTrainer) -> Counts:
        return difference(stream.counts, Counts(*self.position.base))

    def _note_error(self, stream: StreamTrainer) -> None:
        counts = self._counts(stream)
        self.position.note_error(counts.seen, counts.mistakes)

    def _status(self, stream: StreamTrainer) -> Status:
        return Status(
            self.position.examples,
            self._counts(stream),
            stream.n_classes,
            stream.n_features,
            self._bytes,
            self.input.share(self.position),
        )

    # -- the end -------------------------------------------------------------------------------

    def _finish(self) -> StreamTrainer:
        """The stream, if it has learned from at least two classes."""
        stream = self.stream
        learned = stream is not None and stream.classifier.__dict__.get("model_")
        if learned and learned.state.counts[2] and not learned.fitted:
            raise DataError("no row has any label; give rows with labels (or check --label)")
        if stream is None or not stream.counts.seen:
            raise DataError("no row has a weight above 0, so nothing was learned")
        classes = stream.classifier.classes_.tolist()
        if len(classes) < 2 and not stream.classifier.model_.learner.multilabel:
            rows = self.position.examples
            have = "the only row has" if rows == 1 else f"all {rows:,} rows have"
            raise DataError(
                f"{have} the label {classes[0]!r}; give rows of two or more classes (or check "
                "--label)"
            )
        stream.settle()
        if self.plan.rule.continued is None:
            stream.classifier.n_iter_ = self.position.passes
        return stream

    def _save_checkpoint(self) -> bool:
        """Save the run; False while there is nothing to save."""
        stream = self.stream
        if self.checkpoint.path is None or stream is None:
            return False
        if self.plan.counts_first and not self.position.examples:
            return False  # a run that has learned nothing counts from the beginning
        if not stream.classifier.__sklearn_is_fitted__():
            return False
        stream.settle()
        self.checkpoint.save(stream.classifier, self.position, self.input.columns)
        return True

    def _save_interrupted(self) -> str:
        """Save what can be saved, and say how to continue."""
        progress = f"interrupted after {self.position.examples:,} examples"
        path, saved = self.checkpoint.path, False
        if path is None:
            return (
                f"{progress}; nothing was saved: with --checkpoint PATH, a run can be interrupted "
                "and resumed"
            )
        if self.stream is not None and self.stream.in_round:
            # To end the round here would lead to another model.
            if self.checkpoint.saved is not None:
                return (
                    f"{progress}, of which {self.checkpoint.saved:,} are saved in {path}; to "
                    "continue from there, give the same command with --resume"
                )
        else:
            with self.interrupt.deferred():
                saved = self._save_checkpoint()
        where = f", which are saved in {path}" if saved else ""
        return f"{progress}{where}; to continue, give the same command with --resume"


def _check_places(plan: Plan) -> None:
    """Refuse, before any work, to write where nothing can be written."""
    check_place(plan.model, "-o")
    checkpoint = plan.checkpoints.checkpoint
    if checkpoint is not None:
        check_place(checkpoint, "--checkpoint")
        if os.path.realpath(checkpoint) == os.path.realpath(plan.model):
            raise InvalidParameter("--checkpoint and -o name the same file; give two")
