"""Interrupt a thread by signals again and again while others use the same lock, or model.

``python interrupt_storm.py lock COUNT``, or ``model`` or ``learning``, exits with 0 if everybody
goes on afterwards. It is a process of its own since what measures coverage has locks that do not
survive this.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threads import in_background

from sureline import TextClassifier
from sureline.model.lock import ReadWriteLock

Call = Callable[[], Any]


class Interrupted(Exception):
    """Raised by the signal handler."""


came: list[bool] = []


def handle(*_: object) -> None:
    """Interrupt whatever the main thread does."""
    came.append(True)
    raise Interrupted


def interrupt(function: Call, seconds: float) -> None:
    """Call a function again and again until a signal comes."""
    came.clear()
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while not came:  # an exception is lost where Python calls a finalizer
            function()
    except Interrupted:
        pass


def storm(count: int, interrupted: Call, *others: Call, longest: float = 4e-4) -> None:
    """Interrupt one function so many times while others run, which must then go on."""
    rounds, stop = in_background(*others)
    rng = np.random.default_rng(1)
    signal.signal(signal.SIGALRM, handle)
    for _ in range(count):
        interrupt(interrupted, rng.uniform(1e-6, longest))
    interrupted()
    before = list(rounds)
    while any(now <= then for now, then in zip(rounds, before, strict=True)):
        time.sleep(0.001)  # for ever, if a thread were locked out
    stop()


def storm_lock(count: int) -> None:
    """No reader may see a write half done."""
    lock, value, torn = ReadWriteLock(), [0, 0], list[int]()

    def write() -> None:
        with lock.learning, lock.write():
            value[0] += 1
            value[1] += 1

    def read() -> None:
        with lock.read():
            if value[0] != value[1]:
                torn.append(value[0])

    def read_and_write() -> None:
        read()
        with lock.learning, lock.write(), lock.write():
            pass

    storm(count, read_and_write, write, read, read)
    if torn:
        sys.exit(f"readers have seen half a write {len(torn)} times")


def storm_model(count: int) -> None:
    """A model, whose compiled functions are first read from disk meanwhile."""
    model, numbers = TextClassifier(), iter(range(10**9))
    texts = [f"word{k % 7} word{k % 11} other{k}" for k in range(500)]

    def learn() -> None:
        k = next(numbers)
        model.learn_one(f"{texts[k % 500]} new{k}", k % 3)

    def predict() -> None:
        model.predict_one(texts[next(numbers) % 500])

    learn()
    storm(count, predict, learn, predict)


def storm_learning(count: int) -> None:
    """A model that learns, grows and is pruned while others predict with it."""
    model, numbers = TextClassifier(max_features=1000), iter(range(10**9))
    texts = [f"word{k % 7} word{k % 11} other{k}" for k in range(100)]
    labels = [k % 3 for k in range(100)]

    def learn() -> None:
        new = next(numbers)
        model.partial_fit([f"{text} new{new}" for text in texts], labels)

    def learn_and_forget() -> None:
        learn()
        if 3 in model.classes_:
            model.forget_class(3)
        else:
            model.learn_one("a class that comes and goes", 3)

    def predict() -> None:
        model.predict_one(texts[next(numbers) % 100])

    learn()
    storm(count, learn_and_forget, predict, predict, longest=8e-3)
    if 3 in model.classes_:
        model.forget_class(3)
    learn()
    right = np.mean(model.predict(texts) == labels)
    if right < 1:
        sys.exit(f"{right:.0%} of the texts that were learned again and again are labelled right")


if __name__ == "__main__":
    storms = {"lock": storm_lock, "model": storm_model, "learning": storm_learning}
    storms[sys.argv[1]](int(sys.argv[2]))
