"""Streams that change: alarms, trials, earlier models, and the promises that hold all the same."""

import copy

import numpy as np
import pytest
from cases import CASES, make, several
from texts import texts_of

import sureline
from sureline import AROWClassifier, Drift, InvalidParameter, TextClassifier, merge
from sureline.model.drift import TRIAL, Monitor
from sureline.rules import rules

PERIOD = 240


def changing(classes=2, periods=3, seed=0, period=PERIOD):
    """Texts whose labels move on by one class at the end of every period."""
    texts, labels = texts_of(periods * period, classes, seed)
    names = np.unique(labels)
    codes = np.searchsorted(names, labels)
    return texts, names[(codes + np.arange(codes.size) // period) % classes]


def rows_that_flip(n, flip, seed=0, d=8):
    """Rows of numbers whose classes are swapped from one row on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) > 0
    return X, np.where(np.arange(n) < flip, y, ~y).astype(int)


def everything(model):
    """All that a model of texts has learned, and what it knows of its stream."""
    made, monitor = model.model_, model.model_.monitor
    models = [made, *(monitor.others() if monitor else [])]
    found = [
        (
            each.state.table[: each.state.extent + 1, :, : each.state.used].tobytes(),
            each.state.class_counts[: each.state.extent + 1, : each.labels.size].tobytes(),
            each.state.counts.tolist(),
            each.state.clock,
            each.labels.tolist(),
        )
        for each in models
    ]
    if monitor is None:
        return found
    known = monitor.rows, monitor.mistakes, monitor.pending, monitor.wrong, monitor.evidence
    return [*found, known, monitor.changes]


def accuracy(model, texts, labels):
    """The share of texts that are predicted right before they are learned."""
    right = []
    for text, label in zip(texts, labels, strict=True):
        right.append(bool(right) and model.predict_one(text) == label)
        model.learn_one(text, label)
    return np.array(right)


# -- what it is for ----------------------------------------------------------------------------


def test_a_new_meaning_is_learned_at_once_and_an_old_one_remembered():
    texts, labels = changing(classes=3, periods=5, period=400)
    watched = accuracy(TextClassifier(), texts, labels)
    alone = accuracy(TextClassifier(drift=None), texts, labels)
    later = slice(400, None)
    assert watched[later].mean() > alone[later].mean() + 0.1
    model = TextClassifier().partial_fit(texts, labels)
    assert [change.model for change in model.changes_][:3] == ["new", "new", "earlier"]
    for number, change in enumerate(model.changes_, 1):
        assert 0 < change.at - 400 * number < 60
        assert change.at < change.decided <= change.at + TRIAL + 64
        assert change.rarity >= 1e4
        assert len(change.moved) > 0


def test_the_words_that_moved_are_named_with_their_classes():
    texts, labels = changing(classes=2, periods=2)
    model = TextClassifier(ngrams=(1, 1)).partial_fit(texts, labels)
    (change,) = model.changes_
    assert change.model == "swapped"
    moved = {each.feature: (each.before, each.after) for each in change.moved}
    first = {f"word{k}": ("class 00", "class 01") for k in range(3)}
    second = {f"word{k}": ("class 01", "class 00") for k in range(3, 6)}
    assert first.items() & moved.items()
    assert moved.items() & second.items()
    assert "class 00" not in (moved.get("word4", ("", ""))[0], moved.get("word1", ("", ""))[1])


@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_every_rule_follows_a_flip(rule, covariance):
    """Rules that follow a flip by themselves raise no alarm, so the accuracy is what counts."""
    n = several(4000, 1500, 600)
    X, y = rows_that_flip(n + 500, n // 2)
    later = slice(n // 2, n)
    watched = make(rule, covariance, drift="auto").partial_fit(X[:n], y[:n])
    alone = make(rule, covariance).partial_fit(X[:n], y[:n])
    fresh = make(rule, covariance).partial_fit(X[later], y[later])
    found, without, best = (each.score(X[n:], y[n:]) for each in (watched, alone, fresh))
    assert found >= min(0.95 * best, without)
    if without < 0.9 * best:
        assert watched.changes_[0].model in ("new", "swapped")


def test_nothing_is_done_where_nothing_changes():
    texts, labels = texts_of(600, 2)
    watched = TextClassifier().partial_fit(texts, labels)
    alone = TextClassifier(drift=None).partial_fit(texts, labels)
    assert watched.changes_ == []
    assert everything(watched)[0] == everything(alone)[0]


@pytest.mark.slow
def test_false_alarms_are_rarer_than_stated():
    n, every = 1_000_000, 50_000
    rng = np.random.default_rng(0)
    model = AROWClassifier(drift=Drift(false_alarms=1e-4))
    weights = rng.standard_normal(4)
    for _ in range(0, n, every):
        X = rng.standard_normal((every, 4))
        y = X @ weights + rng.standard_normal(every) > 0
        model.partial_fit(X, y)
    assert len(model.changes_) < n * 1e-4


class Still:
    """What stands for a model in a monitor that only counts."""

    classes = np.arange(2)


class Counter(Monitor):
    """A monitor that counts alarms, and tries no model."""

    alarms = 0

    def _begin(self, model, rarity):
        self.alarms += 1
        self._forget_evidence(self.rows, self.mistakes)

    def see(self, mistakes):
        for wrong in mistakes.tolist():
            if self.count(1, int(wrong)):
                self.act(Still(), None, None, None, None)
        return self.alarms


def test_alarms_are_as_rare_as_stated_and_soon_where_something_changes():
    rng, n, rate = np.random.default_rng(1), several(400_000, 40_000), 1e-3
    monitor = Counter(Drift(false_alarms=rate))
    assert monitor.see(rng.random(n) < 0.1) < n * rate
    before = monitor.alarms
    assert monitor.see(rng.random(400) < 0.5) > before


# -- promises ----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"features": "hash", "bits": 12}], ids=["words", "hash"])
def test_any_split_gives_the_same_model(classes, settings):
    texts, labels = changing(classes)
    whole = TextClassifier(**settings).partial_fit(texts, labels)
    assert whole.changes_
    one = TextClassifier(**settings)
    for text, label in zip(texts, labels, strict=True):
        one.learn_one(text, label)
    parts = TextClassifier(**settings)
    cuts = np.sort(np.random.default_rng(2).integers(0, len(texts), 12))
    for some in np.split(np.arange(len(texts)), cuts):
        parts.partial_fit([texts[k] for k in some], labels[some])
    two = TextClassifier(n_jobs=2, **settings).partial_fit(texts * 1, labels)
    assert everything(one) == everything(whole)
    assert everything(parts) == everything(whole)
    assert everything(two) == everything(whole)


def test_two_threads_learn_the_same_changes():
    texts, labels = changing(classes=2, periods=4, period=3000)
    one = TextClassifier().partial_fit(texts, labels)
    two = TextClassifier(n_jobs=2).partial_fit(texts, labels)
    assert len(one.changes_) == 3
    assert everything(one) == everything(two)


def test_fit_in_order_is_partial_fit():
    texts, labels = changing()
    fitted = TextClassifier(shuffle=False).fit(texts, labels)
    streamed = TextClassifier().partial_fit(texts, labels, classes=np.unique(labels))
    assert fitted.changes_
    assert everything(fitted) == everything(streamed)
    X, y = rows_that_flip(800, 400)
    fitted = AROWClassifier(shuffle=False, max_iter=1, drift="auto").fit(X, y)
    streamed = AROWClassifier(drift="auto").partial_fit(X, y, classes=[0, 1])
    assert fitted.changes_ == streamed.changes_ != []
    assert fitted.coef_.tobytes() == streamed.coef_.tobytes()


def test_shuffled_texts_raise_no_alarm():
    texts, labels = changing()
    assert TextClassifier(random_state=0).fit(texts, labels).changes_ == []
    assert TextClassifier(shuffle=False, max_iter=3).fit(texts, labels).changes_ == []


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("stop", [PERIOD // 2, PERIOD + 12, PERIOD + 40, 2 * PERIOD + 50])
def test_a_saved_stream_goes_on_as_it_would_have(classes, stop, tmp_path):
    texts, labels = changing(classes)
    whole = TextClassifier().partial_fit(texts, labels)
    first = TextClassifier().partial_fit(texts[:stop], labels[:stop])
    first.save(tmp_path / "m.sureline")
    loaded = sureline.load(tmp_path / "m.sureline")
    assert everything(loaded)[-2:] == everything(first)[-2:]
    loaded.partial_fit(texts[stop:], labels[stop:])
    assert everything(loaded) == everything(whole)
    copied = copy.deepcopy(first).partial_fit(texts[stop:], labels[stop:])
    assert everything(copied) == everything(whole)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_trial_is_under_way_in_a_test_of_saving(classes):
    texts, labels = changing(classes)
    stops = (PERIOD + 12, PERIOD + 40)
    models = [TextClassifier().partial_fit(texts[:stop], labels[:stop]) for stop in stops]
    assert any(model.model_.monitor.trial is not None for model in models)


def test_settings_are_saved(tmp_path):
    drift = Drift(false_alarms=1e-5, memory=2)
    model = TextClassifier(drift=drift).partial_fit(*texts_of(40, 2))
    model.save(tmp_path / "m.sureline")
    loaded = sureline.load(tmp_path / "m.sureline")
    assert loaded.drift == drift
    assert loaded.model_.monitor.drift == drift


def test_pruned_columns_are_pruned_in_all_models():
    texts, labels = changing(2, periods=4)
    texts = [f"{text} rare{k}" for k, text in enumerate(texts)]
    settings = {"max_features": 120}
    whole = TextClassifier(**settings).partial_fit(texts, labels)
    one = TextClassifier(**settings)
    for text, label in zip(texts, labels, strict=True):
        one.learn_one(text, label)
    assert whole.changes_
    assert everything(one) == everything(whole)


def test_classes_may_come_within_a_trial():
    texts, labels = changing(2, periods=2)
    labels = labels.astype("<U9")
    labels[PERIOD + 30 :: 5] = "class new"
    whole = TextClassifier().partial_fit(texts, labels)
    one = TextClassifier()
    for text, label in zip(texts, labels, strict=True):
        one.learn_one(text, label)
    assert whole.changes_
    assert whole.classes_.tolist() == ["class 00", "class 01", "class new"]
    assert everything(one) == everything(whole)


def test_classes_stay_known_when_a_new_model_goes_on():
    texts, labels = changing(3, periods=2, period=300)
    texts, labels = ["alone in this", *texts], np.array(["class 99", *labels])
    model = TextClassifier().partial_fit(texts, labels)
    assert "new" in [change.model for change in model.changes_]
    assert model.classes_.tolist() == ["class 00", "class 01", "class 02", "class 99"]
    assert model.n_seen_ == len(texts)


def test_merged_models_go_on_watching():
    texts, labels = changing(2, periods=1)
    first = TextClassifier().partial_fit(texts[:100], labels[:100])
    merged = merge([first, TextClassifier(drift=None).partial_fit(texts[100:], labels[100:])])
    assert merged.changes_ == []
    assert merged.model_.monitor is not None


def test_a_class_can_be_forgotten_in_a_trial():
    texts, labels = changing(3)
    model = TextClassifier().partial_fit(texts[: PERIOD + 40], labels[: PERIOD + 40])
    model.forget_class("class 01")
    model.partial_fit(texts[:50], ["class 00", "class 02"] * 25)
    assert model.classes_.tolist() == ["class 00", "class 02"]


def test_drift_may_be_switched_on_and_off_between_calls():
    texts, labels = changing()
    model = TextClassifier(drift=None).partial_fit(texts[:200], labels[:200])
    model.set_params(drift="auto").partial_fit(texts[200:], labels[200:])
    assert model.changes_
    model.set_params(drift=None).learn_one(texts[0], labels[0])
    assert model.changes_ == []
    assert model.model_.monitor is None


def test_memory_limits_how_many_models_are_tried():
    X, y = rows_that_flip(900, 450, d=2000)
    limit = 2.5 * 2001 * 8 / 2**30
    model = AROWClassifier(drift="auto", memory_limit_gb=limit).partial_fit(X, y)
    assert [change.model for change in model.changes_] == ["same"]


def test_earlier_models_are_as_many_as_asked():
    texts, labels = changing(3, periods=6, period=400)
    for memory in (0, 1):
        model = TextClassifier(drift=Drift(memory=memory)).partial_fit(texts, labels)
        assert len(model.model_.monitor.earlier) == memory
        assert "earlier" not in [change.model for change in model.changes_]


def test_no_alarms_where_there_shall_be_none():
    texts, labels = changing()
    model = TextClassifier(drift=Drift(false_alarms=None)).partial_fit(texts, labels)
    alone = TextClassifier(drift=None).partial_fit(texts, labels)
    assert model.changes_ == []
    assert everything(model)[0] == everything(alone)[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"false_alarms": 1.0}, r"Drift: false_alarms must be a number in \(0, 1\) or None, got 1"),
        ({"memory": -1}, "Drift: memory must be a whole number from 0 to 64, got -1"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        Drift(**settings)


def test_the_stream_of_every_rule_is_cut_at_will():
    for rule in rules().values():
        X, y = rows_that_flip(700, 350)
        whole = make(rule, drift="auto").partial_fit(X, y)
        parts = make(rule, drift="auto")
        for some in np.split(np.arange(700), [3, 5, 6, 200, 352, 357, 361, 500]):
            parts.partial_fit(X[some], y[some])
        assert whole.changes_ == parts.changes_
        assert whole.coef_.tobytes() == parts.coef_.tobytes()
