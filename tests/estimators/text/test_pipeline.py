"""Two threads that share the work on every text: the model is that of one, to the bit."""

from threading import Event

import numpy as np
import pytest
from cases import several
from sklearn.base import clone
from threads import run_together

from sureline import AROWClassifier, PAClassifier, TextClassifier
from sureline.data import sms_spam
from sureline.errors import DataError
from sureline.estimators.parallel.shards import Crew
from sureline.estimators.text import classifier as text_module
from sureline.estimators.text.pipeline import Work, learn_in_pairs, learn_in_turn
from sureline.model.lock import Gate

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
def _small_pieces(monkeypatch):
    """Pieces of a few texts, so that there are many of them."""
    monkeypatch.setattr(text_module, "PIECE", 1000)


def bits(model):
    """All that was learned; how much room there is for more does not count."""
    state, rows = model._state, model.n_features_ + 1
    arrays = (state.table[:rows], state.tallies[:rows], state.tokens, state.curve, state.errors)
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
    """Either thread may read the piece behind; both do here, by turns."""
    one = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    readers = set()
    scheme = type(one._known.scheme)
    plain = scheme.read_piece

    def read(self, *arguments):
        from threading import current_thread

        readers.add(current_thread().name.startswith("sureline"))
        return plain(self, *arguments)

    monkeypatch.setattr(scheme, "read_piece", read)
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
    assert model.n_features_ < model._state.table.shape[0]


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


def work_on(found, trouble=None):
    """Work that notes what is done, on pieces with `found` rows each."""
    notes = []

    def read(piece, _):
        return [piece.start] * found

    def enter(some, begin):
        notes.append(("enter", some[0], begin))
        return some[begin : begin + 2], min(begin + 2, len(some))

    def learn(rows, part, room):
        notes.append(("learn", part.start, part.stop))
        if part.start == trouble:
            raise ValueError("trouble")

    full = [True]

    def prune():
        notes.append(("prune",))

    parts = read, lambda *_: 1, lambda _: True, lambda _: None, enter, learn
    return Work(*parts, lambda: full[0], prune), notes


def test_pruning_waits_for_what_was_entered():
    pieces = [slice(0, 3), slice(3, 6)]
    for learn in (learn_in_turn, lambda *these: learn_in_pairs(*these, Crew(2))):
        work, notes = work_on(3)
        learn(work, pieces, Gate())
        learned = [note[1:] for note in notes if note[0] == "learn"]
        assert learned == [(0, 2), (2, 3), (3, 5), (5, 6)]
        prunes = [place for place, note in enumerate(notes) if note[0] == "prune"]
        assert all(notes[place - 1][0] == "learn" for place in prunes)
        assert len(prunes) == 4


def test_an_error_of_either_thread_is_raised_and_opens_the_gate():
    gate = Gate()
    work, _ = work_on(2, trouble=2)
    work = work._replace(full=lambda: False)
    with Crew(2) as crew, pytest.raises(ValueError, match="trouble"):
        learn_in_pairs(work, [slice(0, 2), slice(2, 4), slice(4, 6)], gate, crew)

    def refuse(*_):
        raise KeyError("enter")

    with Crew(2) as crew, pytest.raises(KeyError):
        learn_in_pairs(work._replace(enter=refuse), [slice(0, 2), slice(2, 4)], gate, crew)
    with gate.read(), gate.writing:
        pass
    with gate.change(), gate.change():
        pass


def test_weights_grow_when_all_that_has_columns_is_learned():
    work, notes = work_on(2)

    def grow(room):
        notes.append(("grow",))

    work = work._replace(full=lambda: False, holds=lambda _: False, grow=grow)
    pieces = [slice(k, k + 2) for k in range(0, 20, 2)]
    with Crew(2) as crew:
        learn_in_pairs(work, pieces, Gate(), crew)
    assert [note[0] for note in notes] == ["grow", "enter", "learn"] * len(pieces)


def test_an_error_in_reading_comes_after_all_before_it_was_learned():
    pieces = [slice(k, k + 2) for k in range(0, 20, 2)]

    def read(piece, _):
        if piece.start == 12:
            raise ValueError("unreadable")
        return [piece.start] * 2

    for learn in (learn_in_turn, lambda *these: learn_in_pairs(*these, Crew(2))):
        work, notes = work_on(2)
        with pytest.raises(ValueError, match="unreadable"):
            learn(work._replace(read=read, full=lambda: False), pieces, Gate())
        learned = [note[1] for note in notes if note[0] == "learn"]
        assert learned == [0, 2, 4, 6, 8, 10]


def test_an_interrupt_ends_both_threads_and_opens_the_gate():
    work, notes = work_on(2)

    def learn(rows, part, room):
        raise KeyboardInterrupt

    work, gate = work._replace(learn=learn, full=lambda: False), Gate()
    with Crew(2) as crew, pytest.raises(KeyboardInterrupt):
        learn_in_pairs(work, [slice(k, k + 2) for k in range(0, 200, 2)], gate, crew)
    assert len(notes) < 10  # the second thread has not gone on by itself
    with gate.read():
        pass


def test_who_waits_to_look_is_let_in_between_pieces():
    work, notes = work_on(2)
    gate, met = Gate(), []

    def look():
        waiting.set()
        with gate.read():
            met.append(sum(note[0] == "learn" for note in notes))

    def learn(rows, part, room):
        notes.append(("learn", part.start, part.stop))
        if part.start == 4:
            crew.start(look)
            waiting.wait()
            while not gate.awaited:
                pass

    waiting = Event()
    work = work._replace(learn=learn, full=lambda: False)
    with Crew(2) as crew:
        learn_in_pairs(work, [slice(k, k + 2) for k in range(0, 40, 2)], gate, crew)
    assert met == [3]
