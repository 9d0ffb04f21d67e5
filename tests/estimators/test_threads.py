"""Predicting while another thread learns: every answer is that of a state between two examples."""

from threading import Event, Thread

import numpy as np
import pytest
from cases import several, stream
from threads import run_together

from sureline import AROWClassifier, PAClassifier, TextClassifier
from sureline.data import sms_spam
from sureline.model.lock import ReadWriteLock

N = several(600, 60)
TEXTS, LABELS = (some[:N] for some in sms_spam())
PROBES = ["free prize call now", "see you at lunch", *TEXTS[-3:], "xyzzy " + TEXTS[-1]]
TOPICS = [["a", "b", "c", "d", "e"][min(k % 5, k // (N // 10))] for k in range(N)]


def answers(model):
    """What a model says of the probes, a row each."""
    parts = (
        model.decision_distribution(PROBES)
        if hasattr(model, "decision_distribution")
        else (model.decision_function(PROBES),)
    )
    return [tuple(np.atleast_1d(part[k]).tobytes() for part in parts) for k in range(len(PROBES))]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("labels", [LABELS, TOPICS], ids=["two", "five"])
@pytest.mark.parametrize(
    "options",
    [{}, {"features": "hash", "bits": 14}, {"max_features": 400}, {"estimator": PAClassifier()}],
    ids=["vocabulary", "hash", "pruned", "pa"],
)
def test_no_prediction_mixes_two_states(options, labels):
    start = 40
    alone = TextClassifier(**options).partial_fit(TEXTS[:start], labels[:start])
    allowed = [set() for _ in PROBES]

    def note():
        for known, one in zip(allowed, answers(alone), strict=True):
            known.add(one)

    def noted_before(step):
        def run(*arguments):
            note()
            return step(*arguments)

        return run

    # To forget features, and to replace a model that no longer fits, are steps of their own.
    alone.model_.prune = noted_before(alone.model_.prune)
    alone.model_.monitor.act = noted_before(alone.model_.monitor.act)
    note()
    for text, label in zip(TEXTS[start:], labels[start:], strict=True):
        alone.learn_one(text, label)
        note()
    model = TextClassifier(**options).partial_fit(TEXTS[:start], labels[:start])
    done, counts = Event(), [0, 0]

    def learn():
        for begin in range(start, N, 37):
            model.partial_fit(TEXTS[begin : begin + 37], labels[begin : begin + 37])
        done.set()

    def look(number):
        while not done.is_set() or not counts[number]:
            for known, one in zip(allowed, answers(model), strict=True):
                assert one in known
            counts[number] += 1

    run_together(learn, lambda: look(0), lambda: look(1))
    assert answers(model) == answers(alone)
    assert min(counts) > 0


def test_numbers_are_as_safe_as_texts():
    X, y = stream(5, n=several(3000, 200), d=40)
    probes = X[:5]
    model = AROWClassifier().partial_fit(X[:10], y[:10])
    alone = AROWClassifier().partial_fit(X[:10], y[:10])
    allowed = {alone.decision_distribution(probes[k : k + 1])[0].tobytes() for k in range(5)}
    for k in range(10, len(y)):
        alone.partial_fit(X[k : k + 1], y[k : k + 1])
        for p in range(5):
            allowed.add(alone.decision_distribution(probes[p : p + 1])[0].tobytes())
    done = Event()

    def learn():
        for begin in range(10, len(y), 400):
            model.partial_fit(X[begin : begin + 400], y[begin : begin + 400])
        done.set()

    def look():
        while True:
            finished = done.is_set()
            for score in model.decision_distribution(probes)[0]:
                assert score.tobytes() in allowed
            if finished:
                return

    run_together(learn, look)


def test_neither_learning_nor_looking_is_kept_waiting_for_ever():
    model = TextClassifier().partial_fit(TEXTS, LABELS)
    learned, looked = [0], [0, 0]

    def learn():
        while learned[0] < 3 or min(looked) < 10:
            model.partial_fit(TEXTS, LABELS)
            learned[0] += 1

    def look(number):
        while learned[0] < 3 or looked[number] < 10:
            model.predict_one(PROBES[0])
            looked[number] += 1

    run_together(learn, lambda: look(0), lambda: look(1))


def test_the_lock_admits_many_readers_or_one_writer():
    lock, inside, seen = ReadWriteLock(), [0, 0], []
    value = [0]

    def read():
        for _ in range(300):
            with lock.read():
                inside[0] += 1
                before = value[0]
                seen.append(inside[1])
                assert value[0] == before
                inside[0] -= 1

    def write():
        for _ in range(300):
            with lock.write():
                inside[1] += 1
                assert inside == [0, 1]
                value[0] += 1
                inside[1] -= 1

    run_together(read, read, write, write)
    assert set(seen) == {0}
    assert value == [600]


def test_a_write_within_a_write_is_part_of_it():
    lock, seen = ReadWriteLock(), []

    def look():
        with lock.read():
            seen.append("looked")

    with lock.write():
        reader = Thread(target=look)
        reader.start()
        with lock.write():
            pass
        reader.join(0.05)
        seen.append("changed")
    reader.join()
    assert seen == ["changed", "looked"]


def test_an_error_inside_releases_the_lock():
    lock, seen = ReadWriteLock(), []

    def go_through():
        with lock.write():
            seen.append("changed")
        with lock.read():
            seen.append("looked")

    for enter in (lock.read, lock.write):
        with pytest.raises(ZeroDivisionError), enter():
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), lock.write(), lock.write():
        raise ZeroDivisionError
    run_together(go_through)
    assert seen == ["changed", "looked"]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_probabilities_and_weights_belong_to_the_classes_of_one_moment():
    model = TextClassifier(random_state=0).fit(["a b", "c d", "e f"] * 3, ["b", "d", "f"] * 3)
    texts, done = ["g h", "a b", "c d"], Event()

    def come_and_go():
        for _ in range(several(2_000, 150)):
            for new in "ag":  # sorted before and behind all others
                model.partial_fit(texts, [new, "b", "d"])
                model.forget_class(new)
        done.set()

    def look():
        while not done.is_set():
            found = model.predict_proba_one("e f")
            assert set("bdf") <= set(found) <= set("abdfg")
            assert sum(found.values()) == pytest.approx(1.0)
            assert max(found, key=found.get) == "f"
            labels, scores = model.predict_ranking(["e f"], 9)
            assert labels.shape == scores.shape
            assert labels[0, 0] == "f"
            for weights in (model.coef_, model.variance_):
                assert weights.shape[0] in (3, 4)
            assert model.intercept_.size in (3, 4)

    run_together(come_and_go, look, look)
