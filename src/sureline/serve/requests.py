"""Requests to learn: what they hold, what becomes of them, and how many may wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition
from typing import Any, NamedTuple

from sureline.errors import SurelineError
from sureline.serve.entries import Label

TOGETHER = 4_096  # examples that are learned by one commit, about


class Busy(Exception):
    """More waits to be learned than may wait."""


class Conflict(SurelineError):
    """A request that contradicts an earlier one."""


class Unavailable(SurelineError):
    """The journal cannot be written."""


class Wanted(NamedTuple):
    """An example of a request: a text, a row, or the id of a prediction of one."""

    label: Label | list[Label]
    text: str | dict[str, Any] | None = None
    id: str | None = None


class Learned(NamedTuple):
    """What became of a request to learn: the numbers of its examples."""

    numbers: range
    version: str
    replayed: bool = False


@dataclass(frozen=True)
class Limits:
    """How much a model may take, keep and let wait."""

    memory_gb: float = 4.0
    waiting: int = 20_000  # examples
    remember: int = 100_000  # predictions
    snapshot_every: int = 10_000  # examples
    snapshot_seconds: float = 300.0


@dataclass
class Job:
    """A request to learn, or something else to be done between two examples."""

    examples: list[Wanted]
    done: Future[Any]
    author: str | None = None
    key: str | None = None
    digest: str = ""
    action: Callable[[], Any] | None = None


class Queue:
    """Requests that wait for the thread that learns.

    Parameters
    ----------
    most : int
        How many examples may wait; one request may have more.
    """

    def __init__(self, most: int) -> None:
        self.waiting = 0  # examples
        self._most = most
        self._jobs: deque[Job] = deque()
        self._changed = Condition()
        self._closed = False

    def put(self, job: Job) -> Future[Any]:
        """Let a request wait; its result comes when it is done."""
        count = len(job.examples)
        with self._changed:
            if self._closed:
                raise Unavailable("the service is stopping")
            if count and self.waiting and self.waiting + count > self._most:
                raise Busy
            self.waiting += count
            self._jobs.append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Take no more requests; those that wait are still done."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self, seconds: float) -> list[Job] | None:
        """What to do next: an action alone, or requests to learn together.

        Nothing if there is nothing within some seconds; None if there never will be.
        """
        jobs: list[Job] = []
        count = 0
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed, seconds)
            if not self._jobs:
                return None if self._closed else []
            while self._jobs and count < TOGETHER and not (jobs and self._jobs[0].action):
                job = self._jobs.popleft()
                count += len(job.examples)
                if job.done.set_running_or_notify_cancel():
                    jobs.append(job)
                if job.action is not None:
                    break
            self.waiting -= count
        return jobs
