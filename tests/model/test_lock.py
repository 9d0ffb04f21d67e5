"""The read-write lock: many readers or one writer, whatever interrupts them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from cases import several
from threads import in_background

from sureline import TextClassifier
from sureline.model.lock import ReadWriteLock

TEXTS = ["win a free prize", "see you at lunch", "claim the prize now", "at noon then"] * 5
LABELS = ["spam", "ham", "spam", "ham"] * 5
STORM = Path(__file__).parents[1] / "support" / "interrupt_storm.py"


@pytest.mark.parametrize(
    ("what", "count"),
    [
        ("lock", several(10_000, 500)),
        ("model", several(10_000, 500)),
        ("learning", several(2_000, 200)),
    ],
)
def test_signals_at_any_moment_leave_everybody_working(what, count):
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timers that send signals")
    subprocess.run([sys.executable, STORM, what, str(count)], check=True)


def test_learning_that_was_interrupted_between_two_blocks_never_ended_again():
    model = TextClassifier(random_state=0).partial_fit(TEXTS, LABELS)
    monitor = model.model_.monitor
    monitor.count(monitor.remaining, 0)  # an exception of a signal handler came before `act`
    model.partial_fit(TEXTS, LABELS)
    assert model.n_seen_ == 2 * len(TEXTS)
    assert monitor.pending < monitor.block


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


def test_a_class_whose_arrival_was_interrupted_gave_its_words_to_the_next_one():
    if not hasattr(signal, "raise_signal"):
        pytest.skip("this system raises no signals")

    class Interrupted(Exception):
        """Raised by the signal handler."""

    def handle(*_):
        raise Interrupted

    model = TextClassifier(random_state=0)
    for label in "abc":
        model.learn_one(f"{label}{label} word", label)
    publish, before = model.model_.publish, signal.signal(signal.SIGINT, handle)
    model.model_.publish = lambda *args: (signal.raise_signal(signal.SIGINT), publish(*args))
    try:
        with pytest.raises(Interrupted):
            model.partial_fit(["zzz qqq"] * 3, ["d"] * 3)
    finally:
        signal.signal(signal.SIGINT, before)
        del model.model_.publish
    model.partial_fit(["yyy"], ["e"])
    of_class = [weight.feature for weight in model.top_features("e", 9) if weight.weight > 0.0]
    assert "yyy" in of_class
    assert "zzz" not in of_class
    assert model.model_.class_rows[model.classes_.tolist().index("e")] == 1
