"""Two threads that share the work on every text: the model is that of one, to the bit."""

from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from cases import several
from sklearn.base import clone
from threads import run_together

from sureline import AROWClassifier, PAClassifier, TextClassifier
from sureline.data import sms_spam
from sureline.errors import DataError
from sureline.estimators.parallel.thread_pool import ThreadPool
from sureline.estimators.text import pipeline
from sureline.estimators.text.pipeline import TextPipeline
from sureline.model.lock import ReadWriteLock

N = several(900, 80)
TEXTS, LABELS = (some[:N] for some in sms_spam())
TOPICS = ["abcde"[min(k % 5, k // (N // 10))] for k in range(N)]

KINDS = {
    "default": {},
    "hash": {"features": "hash", "bits": 12},
    "pruned": {"max_features": 300},
    "seldom": {"min_count": 3},
    "counted first": {"counts_first": True},
    "twice": {"max_iter": 2},
    "idf": {"weighting": "idf"},
    "pa": {"estimator": PAClassifier()},
    "r follows": {"estimator": AROWClassifier(r="auto")},
}


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Pieces of a few texts, so that there are many of them."""
    monkeypatch.setattr(pipeline, "CHUNK_BYTES", 1000)


def bits(model):
    """All that was learned; spare capacity does not count."""
    state, rows = model.model_.state, model.n_features_ + 1
    arrays = (
        state.table[:rows],
        state.class_counts[:rows],
        state.class_tokens,
        state.calibrator,
        state.noise_sums,
    )
    told = (state.counts.tolist(), state.clock, model.classes_.tolist())
    return [array.tobytes() for array in arrays], *told, model.get_feature_names_out().tolist()


@pytest.mark.parametrize("labels", [LABELS, TOPICS], ids=["two", "five"])
@pytest.mark.parametrize("kind", KINDS)
def test_fit_learns_what_one_thread_learns(kind, labels):
    one = TextClassifier(**KINDS[kind], random_state=0).fit(TEXTS, labels)
    two = clone(one).set_params(n_jobs=2).fit(TEXTS, labels)
    assert bits(two) == bits(one)


@pytest.mark.parametrize("kind", ["default", "hash", "pruned"])
def test_partial_fit_learns_what_one_thread_learns(kind):
    one, two = (TextClassifier(**KINDS[kind], n_jobs=jobs) for jobs in (1, 2))
    for model in (one, two):
        for part in np.array_split(np.arange(N), [N // 3, N // 3 + 1]):
            model.partial_fit([TEXTS[k] for k in part], [TOPICS[k] for k in part])
    assert bits(two) == bits(one)


def test_who_is_first_makes_no_difference(monkeypatch):
    """Either thread may read the next chunk; both do here, by turns."""
    one = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    readers = set()
    tokenizer = type(one.model_.tokenizer)
    plain = tokenizer.read_chunk

    def read(self, *arguments):
        from threading import current_thread

        readers.add(current_thread().name.startswith("sureline"))
        return plain(self, *arguments)

    monkeypatch.setattr(tokenizer, "read_chunk", read)
    for _ in range(20):
        two = TextClassifier(random_state=0, n_jobs=2).fit(TEXTS, LABELS)
        assert bits(two) == bits(one)
        if len(readers) == 2:
            break
    assert readers == {True, False}


def test_an_error_in_learning_leaves_a_model_that_can_be_asked():
    texts = [*TEXTS[: N // 2], "brand new words " * 3]
    model = TextClassifier(AROWClassifier(), weighting=None, n_jobs=2)
    model.partial_fit(TEXTS[:40], LABELS[:40])
    labels = [*LABELS[: N // 2], "ham"]
    with pytest.raises(DataError, match="labels were text before"):
        model.partial_fit(texts, list(range(len(texts))))
    model.partial_fit(texts, labels)
    assert model.predict(["brand new words"]).size == 1
    assert model.n_features_ < model.model_.state.table.shape[0]


def test_nobody_sees_half_of_a_change():
    model = TextClassifier(n_jobs=2).partial_fit(TEXTS[:40], LABELS[:40])
    done, seen = Event(), []

    def learn():
        try:
            for _ in range(3):
                model.partial_fit(TEXTS, LABELS)
        finally:
            done.set()

    def look():
        while not done.is_set() or not seen:
            mean, variance = model.decision_distribution(TEXTS[:5])
            seen.append(bool(np.isfinite(mean).all() and (variance > 0).all()))

    run_together(learn, look, look)
    assert all(seen)


class Recorded(TextPipeline):
    """A pipeline on chunks of `size` texts that records what its stages do."""

    def __init__(self, size, chunks, full=False, trouble=None):
        self.size, self.trouble, self.chunks, self.events = size, trouble, chunks, []
        self.model = SimpleNamespace(
            lock=ReadWriteLock(), columns=SimpleNamespace(full=full), prune=self.prune
        )

    def read(self, chunk, buffers=None):
        return [chunk.start] * self.size

    def reserve(self, tokens, begin):
        return 1

    def has_weights(self, capacity):
        return True

    def grow(self, capacity):
        pass

    def assign_columns(self, tokens, begin):
        self.events.append(("columns", tokens[0], begin))
        return tokens[begin : begin + 2], min(begin + 2, len(tokens))

    def learn(self, rows, part, capacity):
        self.events.append(("learn", part.start, part.stop))
        if part.start == self.trouble:
            raise ValueError("trouble")

    def prune(self):
        self.events.append(("prune",))

    def learned(self):
        return [event[1:] for event in self.events if event[0] == "learn"]


def pairs_of(stop):
    return [slice(k, k + 2) for k in range(0, stop, 2)]


@pytest.fixture(params=[None, 2])
def pool(request):
    """No pool, so that one thread does all, or one of two threads."""
    if request.param is None:
        yield None
    else:
        with ThreadPool(request.param) as made:
            yield made


def test_pruning_waits_for_rows_that_have_columns(pool):
    recorded = Recorded(3, [slice(0, 3), slice(3, 6)], full=True)
    recorded.run(pool)
    assert recorded.learned() == [(0, 2), (2, 3), (3, 5), (5, 6)]
    prunes = [place for place, event in enumerate(recorded.events) if event[0] == "prune"]
    assert all(recorded.events[place - 1][0] == "learn" for place in prunes)
    assert len(prunes) == 4


def test_an_error_of_either_thread_is_raised_and_releases_the_lock():
    recorded = Recorded(2, pairs_of(6), trouble=2)
    lock = recorded.model.lock
    with ThreadPool(2) as pool, pytest.raises(ValueError, match="trouble"):
        recorded.run(pool)

    def refuse(*_):
        raise KeyError("columns")

    recorded.assign_columns = refuse
    with ThreadPool(2) as pool, pytest.raises(KeyError):
        recorded.run(pool)
    with lock.read(), lock.learning:
        pass
    with lock.write(), lock.write():
        pass


def test_weights_grow_when_all_rows_with_columns_are_learned():
    recorded = Recorded(2, pairs_of(20))
    recorded.has_weights = lambda _: False
    recorded.grow = lambda _: recorded.events.append(("grow",))
    with ThreadPool(2) as pool:
        recorded.run(pool)
    assert [event[0] for event in recorded.events] == ["grow", "columns", "learn"] * 10


def test_an_error_in_reading_is_raised_after_all_chunks_before_it_are_learned(pool):
    recorded = Recorded(2, pairs_of(20))

    def read(chunk, buffers=None):
        if chunk.start == 12:
            raise ValueError("unreadable")
        return [chunk.start] * 2

    recorded.read = read
    with pytest.raises(ValueError, match="unreadable"):
        recorded.run(pool)
    assert [start for start, _ in recorded.learned()] == [0, 2, 4, 6, 8, 10]


def test_an_interrupt_ends_both_threads_and_releases_the_lock():
    recorded = Recorded(2, pairs_of(200))

    def learn(rows, part, capacity):
        raise KeyboardInterrupt

    recorded.learn = learn
    with ThreadPool(2) as pool, pytest.raises(KeyboardInterrupt):
        recorded.run(pool)
    assert len(recorded.events) < 10  # the second thread has not gone on by itself
    with recorded.model.lock.read():
        pass


def test_waiting_readers_are_admitted_between_chunks():
    recorded, seen, waiting = Recorded(2, pairs_of(40)), [], Event()
    lock = recorded.model.lock

    def look():
        waiting.set()
        with lock.read():
            seen.append(len(recorded.learned()))

    def learn(rows, part, capacity):
        recorded.events.append(("learn", part.start, part.stop))
        if part.start == 4:
            pool.submit(look)
            waiting.wait()
            while not lock.has_waiting_readers:
                pass

    recorded.learn = learn
    with ThreadPool(2) as pool:
        recorded.run(pool)
    assert seen == [3]
