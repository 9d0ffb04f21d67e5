"""A model in memory with its journal: it answers, learns in order, and can be made again.

One thread learns. It takes all requests that wait, writes their examples to the journal in one
transaction, learns them, and only then acknowledges them: so what was acknowledged is in the
journal, and the model is its base with the journal's examples learned in order. Predictions go on
meanwhile, also while a snapshot is written or the model is made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from copy import deepcopy
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from sureline.data.folder_lock import FolderLock
from sureline.errors import DataError, InvalidParameter, SurelineError, show
from sureline.serve.entries import DIGITS, Asked, AskedTogether, Example, stored_label
from sureline.serve.progress import WINDOW, Errors, Shadow
from sureline.serve.recovery import (
    LOGGER,
    Store,
    as_learned,
    check_input,
    check_label,
    columns_of,
    has_label_sets,
    inputs_of,
    journal_folder,
    label_kind,
    learn,
    load_texts,
    sha256_of,
    stored_input,
)
from sureline.serve.requests import Conflict, Job, Learned, Limits, Queue, Unavailable, Wanted
from sureline.serve.snapshots import Snapshots

FLUSH = 0.5  # seconds that predictions wait to be written to the journal


class Hosted:
    """A model with its journal.

    Parameters
    ----------
    path : path
        The model file. Its journal is a folder beside it, which is made if it is not there.
    limits : Limits
        How much it may take.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self.limits, self.name = path, limits, path.stem
        self._folder_lock = FolderLock(journal_folder(path), f"the journal of {path}")
        try:
            self.store = Store(journal_folder(path), limits.memory_gb, create=True)
            self.journal = self.store.journal
            self._adopt_file()
            self.model, self.number = self.store.model()
        except BaseException:
            self._folder_lock.release()
            raise
        self._edition = len(self.journal.events())
        self.errors = self._counted_errors()
        self.shadow = self._restored_shadow()
        self.problem: str | None = None  # why nothing can be learned
        self.closed = False
        self._queue = Queue(limits.waiting)
        self._asked: dict[str, AskedTogether] = {}  # by the keys of their ids
        self._flushing: dict[str, AskedTogether] = {}
        self._asking = Lock()
        self.snapshots = Snapshots(self.store, limits)
        self._compile()
        self._thread = Thread(target=self._work, name=f"learn {self.name}", daemon=True)
        self._thread.start()

    # -- beginning and end -----------------------------------------------------------------------

    def _adopt_file(self) -> bool:
        """Make the model file the base, if it is new or has changed; whether it was."""
        digest = sha256_of(self.path)
        if digest == self.journal.about("file_sha256"):
            return False
        model = load_texts(self.path, self.limits.memory_gb)
        with self.journal.transaction():
            number = self.journal.last
            self.store.add(model, number, base=True)
            self.journal.set_about("file_sha256", digest)
        if number:
            LOGGER.warning(
                "%s has changed and is the new base; the examples up to %s are not in it",
                self.path,
                number,
            )
        return True

    def _counted_errors(self) -> Errors:
        """How often the model was wrong on what the journal has."""
        errors = Errors()
        for wrong, probability in self.journal.recent(WINDOW):
            errors.count(wrong, probability)
        errors.examples, errors.mistakes = self.journal.mistakes()
        return errors

    def _compile(self) -> None:
        """Compile what answers and learning need, so that no request waits for it."""
        columns = columns_of(self.model)
        given: Any = "" if columns is None else dict.fromkeys(columns)
        [one] = as_learned([given], self.model)
        self.model.predict_one(one, details=self.model.has_variance)
        label = self.model.classes_.tolist()[0]
        example = Example(
            stored_input(given), stored_label([label] if has_label_sets(self.model) else label)
        )
        learn(deepcopy(self.model), [example])

    def close(self) -> None:
        """Learn what was accepted, write a snapshot, and end."""
        self._queue.close()
        self._thread.join()
        self._flush()
        if self.problem is None:
            self.snapshots.finish(self.model, self.number)
        self.store.close()
        self._folder_lock.release()
        self.closed = True

    # -- answering -------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """Which model it is: how often it was replaced, and the last example it has learned."""
        return f"{self._edition}.{self.number}"

    def remember(self, asked: AskedTogether) -> None:
        """Keep predictions, for labels that come later."""
        if self.limits.remember:
            with self._asking:
                self._asked[asked.key] = asked

    def asked(self, id: str) -> Asked | None:  # noqa: A002
        """A prediction that was made."""
        with self._asking:
            together = self._asked.get(id[:-DIGITS]) or self._flushing.get(id[:-DIGITS])
        return self.journal.prediction(id) if together is None else together.find(id)

    @property
    def lag(self) -> int:
        """How many examples a restart would learn again."""
        return self.number - self.snapshots.number

    @property
    def waiting(self) -> int:
        """How many examples wait to be learned."""
        return self._queue.waiting

    # -- learning --------------------------------------------------------------------------------

    def submit(
        self,
        examples: list[Wanted],
        author: str | None = None,
        key: str | None = None,
        digest: str = "",
    ) -> Future[Learned]:
        """Ask for examples to be learned; the result comes when they are durable and learned."""
        if self.problem is not None:
            raise Unavailable(self.problem)
        return self._queue.put(Job(examples, Future(), author, key, digest))

    def between(self, action: Callable[[], Any]) -> Future[Any]:
        """Do something in the thread that learns, after all that was asked for before."""
        return self._queue.put(Job([], Future(), action=action))

    def _work(self) -> None:
        while (jobs := self._queue.take(FLUSH)) is not None:
            try:
                if jobs and jobs[0].action is not None:
                    _finish(jobs[0].done, jobs[0].action)
                elif jobs:
                    self._learn(jobs)
                if self._asked:
                    self._flush()
                self.snapshots.write_if_due(self.model, self.number)
            except Exception as error:  # nobody may wait for ever
                LOGGER.exception("an internal error while %s learns", self.name)
                for job in jobs:
                    if not job.done.done():
                        job.done.set_exception(Unavailable(f"an internal error: {error}"))

    def _learn(self, jobs: list[Job]) -> None:
        """Journal and learn the examples of some requests, then answer them."""
        accepted: list[tuple[Job, list[Example]]] = []
        keys: dict[str, Job] = {}
        repeated: list[tuple[Job, Job]] = []
        for job in jobs:
            try:
                if job.key is not None and job.key in keys:
                    repeated.append((job, keys[job.key]))
                    continue
                if job.key is not None and self._answer_again(job):
                    continue
                examples = [self._resolved(each, job.author) for each in job.examples]
            except (SurelineError, sqlite3.Error) as error:
                job.done.set_exception(error)
                continue
            if job.key is not None:
                keys[job.key] = job
            accepted.append((job, examples))
        if accepted:
            self._learn_accepted(accepted)
        for job, first in repeated:
            if (problem := first.done.exception()) is not None:
                job.done.set_exception(problem)
            elif job.digest != first.digest:
                job.done.set_exception(_differs(job.key))
            else:
                job.done.set_result(first.done.result()._replace(replayed=True))

    def _answer_again(self, job: Job) -> bool:
        """Answer a request that was answered before."""
        before = self.journal.request(job.key or "")
        if before is None:
            return False
        digest, numbers = before
        if digest != job.digest:
            raise _differs(job.key)
        job.done.set_result(Learned(numbers, self.version, replayed=True))
        return True

    def _resolved(self, wanted: Wanted, author: str | None) -> Example:
        """The example that a request means."""
        check_label(wanted.label, self.model)
        label = stored_label(wanted.label)
        if wanted.id is None:
            text = wanted.text
            if text is None:
                raise DataError("an example has a text, or the id of a prediction")
            check_input(text, self.model)
            return Example(stored_input(text), label, author)
        asked = self.asked(wanted.id)
        if asked is None:
            raise DataError(
                f"there is no prediction {wanted.id!r}; send the text itself (the last "
                f"{self.limits.remember:,} predictions are kept)"
            )
        return Example(
            asked.text,
            label,
            author,
            asked.predicted,
            asked.probability,
            asked.id,
        )

    def _learn_accepted(self, accepted: list[tuple[Job, list[Example]]]) -> None:
        examples = [each for _, some in accepted for each in some]
        try:
            examples = self._with_predictions(examples)
            with self.journal.transaction():
                numbers = self.journal.append(examples)
                first = numbers.start
                for job, some in accepted:
                    if job.key is not None:
                        own = range(first, first + len(some))
                        self.journal.remember_request(job.key, job.digest, own)
                    first += len(some)
        except (sqlite3.Error, SurelineError) as error:
            LOGGER.error("the journal of %s cannot be written: %s", self.name, error)
            for job, _ in accepted:
                job.done.set_exception(Unavailable(f"the journal cannot be written: {error}"))
            return
        refused_ones: set[int] = set()
        try:
            learn(self.model, examples)
            self.number = numbers.stop - 1
            self._follow(examples)
        except Exception as error:
            LOGGER.warning("%s cannot learn examples as they are: %s", self.name, error)
            self._restore()
            refused_ones = {number for number in numbers if not self.journal.counted(number)}
        first = numbers.start
        for job, some in accepted:
            own = range(first, first + len(some))
            first += len(some)
            if refused := refused_ones.intersection(own):
                job.done.set_exception(
                    DataError(f"the model cannot learn example {min(refused) - own.start + 1}")
                )
            else:
                job.done.set_result(Learned(own, self.version))

    def _with_predictions(self, examples: list[Example]) -> list[Example]:
        """Examples with what the model says of them, where it was not asked before."""
        new = [k for k, each in enumerate(examples) if each.prediction is None]
        if not new:
            return examples
        _, found = self.model.predictions(inputs_of([examples[k] for k in new], self.model))
        labels = [stored_label(each) for each in found.label.tolist()]
        chances = [None] * len(new) if found.probability is None else found.probability.tolist()
        made = list(examples)
        for k, label, chance in zip(new, labels, chances, strict=True):
            made[k] = made[k]._replace(predicted=label, probability=chance)
        return made

    def _follow(self, examples: list[Example]) -> None:
        """Count mistakes, and let a candidate learn, too."""
        for each in examples:
            self.errors.count(each.predicted != each.label, each.probability)
        if (shadow := self.shadow) is not None:
            _, found = shadow.model.predictions(inputs_of(examples, shadow.model))
            labels, chances = map(stored_label, found.label.tolist()), found.probability
            for k, (label, each) in enumerate(zip(labels, examples, strict=True)):
                wrong = label != each.label
                shadow.errors.count(wrong, None if chances is None else float(chances[k]))
            learn(shadow.model, examples)

    def _flush(self) -> None:
        """Write predictions to the journal."""
        with self._asking:
            self._flushing, self._asked = self._asked, {}
        try:
            asked = list(self._flushing.values())
            self.journal.remember_predictions(asked, self.limits.remember)
        except sqlite3.Error as error:  # labels for them cannot come later; nothing else is lost
            LOGGER.error("predictions cannot be kept: %s", error)
        with self._asking:
            self._flushing = {}

    # -- other models ----------------------------------------------------------------------------

    def _restore(self) -> None:
        """Make the model again from the journal; the present one answers until it is ready."""
        self.snapshots.wait()
        try:
            self.model, self.number = self.store.model()
            self.shadow = self._restored_shadow()
            self.problem = None
        except Exception as error:
            self.problem = f"the model cannot be made from its journal: {error}"
            LOGGER.exception("%s learns no more", self.name)
            raise
        self._edition = len(self.journal.events())
        self.errors = self._counted_errors()
        self.snapshots.look()

    def roll_back(self, number: int, who: str | None = None) -> int:
        """Undo all examples after a number; how many. For the thread that learns."""
        if not self.journal.removed <= number <= self.journal.last:
            raise InvalidParameter(
                f"the journal has the numbers {self.journal.removed} to {self.journal.last}, got "
                f"{number}"
            )
        self.snapshots.wait()
        count = self.journal.roll_back(number, who)
        self._restore()
        return count

    def forget(self, numbers: list[int], author: str | None = None, who: str | None = None) -> int:
        """Remove examples from journal and model; the first number. For the thread that learns."""
        self._flush()
        self.snapshots.wait()
        first = self.journal.forget(numbers, author, who)
        if first:
            self._restore()
        return first

    def reload(self) -> bool:
        """Make the model file the base if it has changed. For the thread that learns."""
        self.snapshots.wait()
        changed = self._adopt_file()
        if changed:
            self._restore()
        return changed

    def begin_shadow(self, path: Path) -> None:
        """Let a candidate learn what the model learns. For the thread that learns."""
        model = load_texts(path, self.limits.memory_gb)
        what = label_kind, has_label_sets, columns_of
        if any(each(model) != each(self.model) for each in what):
            raise InvalidParameter(f"labels or columns of {path.stem} are not of the same kind")
        self.shadow = Shadow(path.stem, model, self.number)
        self.journal.set_about("shadow", path.stem)
        self.journal.set_about("shadow_since", self.number)

    def _restored_shadow(self) -> Shadow | None:
        """The candidate that was begun, with what has come since then; None if it is gone."""
        name = self.journal.about("shadow")
        if name is None:
            return None
        since = int(self.journal.about("shadow_since"))
        try:
            model = load_texts(self.path.with_name(f"{name}.sureline"), self.limits.memory_gb)
            for entries in self.journal.entries(since):
                learn(model, entries)
        except (OSError, SurelineError) as error:
            LOGGER.warning("the candidate %s is dropped: %s", name, error)
            self.end_shadow()
            return None
        return Shadow(name, model, since)

    def end_shadow(self) -> None:
        """Drop the candidate."""
        self.shadow = None
        self.journal.set_about("shadow", None)

    def promote(self) -> str:
        """Make the candidate the model. For the thread that learns."""
        shadow = self.shadow
        if shadow is None:
            raise InvalidParameter("there is no candidate in the shadow; begin one first")
        self.snapshots.wait()
        with self.journal.transaction():
            self.store.add(shadow.model, self.number, base=True)
            self.journal.set_about("shadow", None)
        self.model, self.shadow, self.errors = shadow.model, None, shadow.errors
        self._edition = len(self.journal.events())
        self.snapshots.look()
        return shadow.name


def _finish(done: Future[Any], action: Callable[[], Any]) -> None:
    """Do something, and give its result or its error."""
    try:
        done.set_result(action())
    except BaseException as error:
        done.set_exception(error)


def _differs(key: str | None) -> Conflict:
    return Conflict(f"the Idempotency-Key {show(key)} was used for another request")
