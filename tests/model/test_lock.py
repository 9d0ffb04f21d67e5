"""The read-write lock: many readers or one writer, whatever interrupts them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from cases import several

from sureline import TextClassifier
from sureline.model.lock import ReadWriteLock

TEXTS = ["win a free prize", "see you at lunch", "claim the prize now", "at noon then"] * 5
LABELS = ["spam", "ham", "spam", "ham"] * 5
STORM = Path(__file__).parents[1] / "support" / "interrupt_storm.py"


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


def test_signals_at_any_moment_leave_the_lock_working():
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timers that send signals")
    subprocess.run([sys.executable, STORM, str(several(10_000, 500))], check=True)


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
