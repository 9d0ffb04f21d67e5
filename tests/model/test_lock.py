"""The read-write lock: many readers or one writer, whatever interrupts them."""

import os
import signal
import time
from threading import Event, Thread

import numpy as np
import pytest
from cases import several

from sureline import TextClassifier
from sureline.model.lock import ReadWriteLock

TEXTS = ["win a free prize", "see you at lunch", "claim the prize now", "at noon then"] * 5
LABELS = ["spam", "ham", "spam", "ham"] * 5


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupt():
    """Call a function again and again until a signal interrupts it after so many seconds."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timers that send signals")
    came = []

    def handle(*_):
        came.append(True)
        raise Interrupted

    def run(function, seconds):
        came.clear()
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            while not came:  # an exception is lost where Python calls a finalizer
                function()
        except Interrupted:
            pass

    before = signal.signal(signal.SIGALRM, handle)
    yield run
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def in_background(*functions):
    """Run each function again and again, in a thread of its own, until `stop` is called."""
    ended, rounds = Event(), [0] * len(functions)

    def repeat(number):
        while not ended.is_set():
            functions[number]()
            rounds[number] += 1

    threads = [Thread(target=repeat, args=[k], daemon=True) for k in range(len(functions))]
    for thread in threads:
        thread.start()

    def stop():
        ended.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)

    return rounds, stop


def test_signals_at_any_moment_leave_the_lock_working(interrupt):
    lock, value, torn = ReadWriteLock(), [0, 0], []

    def write():
        with lock.learning, lock.write():
            value[0] += 1
            value[1] += 1

    def read():
        with lock.read():
            if value[0] != value[1]:
                torn.append(value)

    def read_and_write():
        read()
        with lock.learning, lock.write(), lock.write():
            pass

    rounds, stop = in_background(write, read, read)
    rng = np.random.default_rng(1)
    for _ in range(several(10_000, 500)):
        interrupt(read_and_write, rng.uniform(1e-6, 4e-4))
    before = list(rounds)
    while any(now <= then for now, then in zip(rounds, before, strict=True)):
        time.sleep(0.001)  # for ever, if a thread were locked out
    stop()
    assert not torn


def test_a_model_interrupted_by_signals_goes_on_learning(interrupt):
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    rounds, stop = in_background(
        lambda: model.learn_one(TEXTS[0], LABELS[0]), lambda: model.predict_one(TEXTS[1])
    )
    rng = np.random.default_rng(2)
    for _ in range(several(2_000, 200)):
        interrupt(lambda: model.predict_one(TEXTS[2]), rng.uniform(1e-6, 4e-4))
    before = list(rounds)
    while any(now <= then for now, then in zip(rounds, before, strict=True)):
        time.sleep(0.001)
    stop()


def test_a_process_forked_while_a_thread_learns_predicts_and_learns():
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork processes")
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    expected = model.predict(TEXTS).tolist()
    _, stop = in_background(
        lambda: model.learn_one(TEXTS[0], LABELS[0]), lambda: model.predict_one(TEXTS[1])
    )
    try:
        for _ in range(several(40, 8)):
            child = os.fork()
            if not child:
                code = 1
                try:
                    signal.alarm(60)  # ends a child that hangs
                    assert model.predict_one(TEXTS[0]) == expected[0]
                    model.learn_one(TEXTS[1], LABELS[1])
                    model.partial_fit(TEXTS[:2], LABELS[:2])
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop()


def test_threads_that_have_ended_are_forgotten():
    lock = ReadWriteLock()

    def read():
        with lock.read():
            pass

    for _ in range(20):
        thread = Thread(target=read)
        thread.start()
        thread.join()
    with lock.write():
        pass
    read()
    assert len(lock._readers) <= 2
