"""Several threads: what they learn is what the formulas say, and the same every time."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from cases import CASES, directions, make, parameters, several, stream
from checkpoints import KILLS, position, write_rows
from cli_runs import COLUMNS
from joblib import parallel_config
from sklearn.base import clone
from texts import KINDS, learned, topics
from threads import run_together

import sureline
from sureline import (
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    PerceptronClassifier,
    TextClassifier,
)
from sureline.data import sms_spam
from sureline.estimators.input_rows import as_rows, validate_rows
from sureline.estimators.parallel.thread_pool import ThreadPool, count_threads
from sureline.model.learner import Examples
from sureline.rules import rules

pytest_plugins = ["cli_fixtures"]

N = several(400, 60)
TEXTS, LABELS = (some[:N] for some in sms_spam())
SCHEMES = ("sequential", "parallel", "exact", "one-vs-rest")


def bits(model):
    """All that a model of numbers has learned, to the last bit."""
    state = model.model_.state
    arrays = (state.table, state.covariance, state.last_changed, state.counts)
    return [array.tobytes() for array in arrays], state.clock, state.used, state.merged


def examples(classes, seed=0, n=90, d=7):
    """Examples of two classes or more."""
    return (
        stream(seed, n=n, d=d, noise=0.1) if classes == 2 else directions(seed, list("abcd"), n, d)
    )


# -- the formulas ------------------------------------------------------------------------------


def direct(model, X, y, jobs):
    """What `fit` in rounds should give, with whole matrices: means, covariances, per column."""
    learner, orders = model.model_.learner, np.random.RandomState(model.random_state)
    labels, codes = np.unique(y, return_inverse=True)
    rows = as_rows(validate_rows(model, X, y, reset=True)[0])
    weight, rank = np.ones(len(y)), np.arange(labels.size)
    state = model.model_.fresh_state(X.shape[1], labels.size)
    for _ in range(model.max_iter):
        order, shards = orders.permutation(len(y)), []
        for k in range(jobs):
            shards.append(state.copy())
            learner.learn(shards[k], Examples(rows, codes, weight, order[k::jobs].copy(), rank))
        state = formula(learner, state, shards)
    return state


def gaussian(state, k):
    """The mean and the covariance of one column."""
    mean = state.table[:, 0, k].astype(np.float64)
    full = state.covariance.size
    return mean, state.covariance[k] if full else np.diag(state.table[:, 1, k])


def formula(learner, start, shards):
    """P' = P₀ + Σ (P_c − P₀); μ' = μ₀ + (P + Σ (P_c − P))⁻¹ Σ P_c (μ_c − μ₀), weight by weight."""
    joined = start.copy()
    prior = np.eye(len(start.table)) / start.layout.initial[1]
    for k in range(start.table.shape[2]):
        m0, S0 = gaussian(start, k)
        P0, pairs = np.linalg.inv(S0), [gaussian(shard, k) for shard in shards]
        precisions = [np.linalg.inv(S) for _, S in pairs]
        # A weight that a shard has not moved has its prior in the sum, and nothing else.
        diagonal = not start.covariance.size
        moved = [
            np.diag(((m != m0) | (np.diag(S) != np.diag(S0))).astype(float))
            if diagonal
            else np.eye(len(m0)) * (not (np.array_equal(m, m0) and np.array_equal(S, S0)))
            for m, S in pairs
        ]
        weighed = prior + sum(M @ (P - prior) for M, P in zip(moved, precisions, strict=True))
        pull = sum(P @ (m - m0) for P, (m, _) in zip(precisions, pairs, strict=True))
        mean = m0 + np.linalg.solve(weighed, pull)
        spread = np.linalg.inv(P0 + sum(P - P0 for P in precisions))
        joined.table[:, 0, k] = mean
        if diagonal:
            joined.table[:, 1, k] = np.maximum(np.diag(spread), 1e-12 * start.layout.initial[1])
        else:
            joined.covariance[k] = spread
    joined.clock += sum(shard.clock - start.clock for shard in shards)
    joined.counts = start.counts + sum(shard.counts - start.counts for shard in shards)
    return joined


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_rounds_are_what_the_formulas_say(rule, covariance, classes):
    X, y = examples(classes)
    jobs = 3
    model = make(rule, covariance, dtype="float64", random_state=3, max_iter=3, n_jobs=jobs)
    model.set_params(**parameters(rule)).fit(X, y)
    if rule.kernel is not None or "identity" in rule.covariances:
        expected = averaged(model, X, y, jobs)
    else:
        expected = direct(model, X, y, jobs)
    got = model.model_.state
    scale = np.abs(expected.table).max()
    # Inverting whole matrices, as the test does, is what costs digits.
    tolerance = 1e-7 if expected.covariance.size else 1e-12
    np.testing.assert_allclose(got.table, expected.table, rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(got.covariance, expected.covariance, rtol=1e-6, atol=1e-9)
    assert (got.clock, got.merged) == (expected.clock, 1)
    # Where a margin is met to the last digit, rounding decides whether that is an update.
    assert np.abs(got.counts - expected.counts).max() <= (2 if expected.covariance.size else 0)
    assert got.counts[2] == model.n_seen_ == 3 * len(y)


def averaged(model, X, y, jobs):
    """The same for rules without variances: moves are averaged, what is gathered adds up."""
    learner, orders = model.model_.learner, np.random.RandomState(model.random_state)
    labels, codes = np.unique(y, return_inverse=True)
    rows = as_rows(validate_rows(model, X, y, reset=True)[0])
    weight, rank = np.ones(len(y)), np.arange(labels.size)
    state = model.model_.fresh_state(X.shape[1], labels.size)
    kernel = learner.rule.kernel
    for _ in range(model.max_iter):
        order, shards = orders.permutation(len(y)), []
        for k in range(jobs):
            shards.append(state.copy())
            learner.learn(shards[k], Examples(rows, codes, weight, order[k::jobs].copy(), rank))
        joined = state.copy()
        joined.clock = state.clock + sum(shard.clock - state.clock for shard in shards)
        joined.counts = state.counts + sum(shard.counts - state.counts for shard in shards)
        for row in range(state.table.shape[0]):
            for k in range(state.table.shape[2]):
                old = state.table[row, :, k]
                moved = [s for s in shards if not np.array_equal(s.table[row, :, k], old)]
                if not moved:
                    continue
                sums = old + sum(s.table[row, :, k] - old for s in moved)
                if kernel is not None:
                    weights = []
                    for s in moved:
                        stamps = s.last_changed[:, k] if kernel.stamps else np.zeros(1)
                        weights.append(
                            kernel.weights(s.table[:, :, k], stamps, s.clock, learner.p)[row]
                        )
                    column = np.zeros((state.table.shape[0], 2))
                    column[row] = sums
                    mean = np.zeros(len(column))
                    mean[row] = np.mean(weights)
                    with np.errstate(divide="ignore", invalid="ignore"):
                        made = kernel.slots(mean, column, column, joined.clock, learner.p)
                    joined.table[row, :, k] = made[row]
                    if kernel.stamps:
                        joined.last_changed[row, k] = joined.clock
                    continue
                weight_ = np.mean([s.table[row, 0, k] for s in moved])
                joined.table[row, 0, k] = weight_
                if state.table.shape[1] == 2:  # the sum of all weight vectors so far adds up
                    total = state.clock * old[0] - old[1]
                    total += sum(
                        s.clock * s.table[row, 0, k]
                        - s.table[row, 1, k]
                        - (state.clock * old[0] - old[1])
                        for s in shards
                    )
                    joined.table[row, 1, k] = joined.clock * weight_ - total
        state = joined
    return state


def test_a_weight_that_one_job_alone_has_moved_ends_where_that_one_has_moved_it():
    X, y = np.eye(4), ["a", "b", "a", "b"]
    alone = AROWClassifier(max_iter=1, shuffle=False, fit_intercept=False).fit(X, y)
    shared = clone(alone).set_params(n_jobs=4).fit(X, y)
    np.testing.assert_array_equal(shared.coef_, alone.coef_)
    np.testing.assert_array_equal(shared.variance_, alone.variance_)


def test_many_rounds_of_many_jobs_do_not_overshoot():
    # The plain product of the copies moves further each round, until nothing is left of it.
    X, y = directions(1, list("abc"), n=several(1200, 240), d=12)
    one = AROWClassifier(random_state=0, max_iter=12).fit(X, y)
    shared = clone(one).set_params(n_jobs=8).fit(X, y)
    assert np.abs(shared.coef_).max() < 2.0 * np.abs(one.coef_).max()
    assert shared.score(X, y) > one.score(X, y) - 0.03


# -- the same every time -----------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_one_job_is_none(rule, covariance, classes):
    X, y = examples(classes)
    model = make(rule, covariance, random_state=0, max_iter=2).set_params(**parameters(rule))
    assert bits(clone(model).set_params(n_jobs=1).fit(X, y)) == bits(model.fit(X, y))


COMBINATIONS = [
    pytest.param(rule, covariance, scheme, id=f"{rule.name}-{covariance}-{scheme}")
    for rule in rules().values()
    for scheme in SCHEMES
    for covariance in rule.schemes[scheme]
]


@pytest.mark.parametrize(("rule", "covariance", "scheme"), COMBINATIONS)
def test_every_combination_learns_the_same_each_time(rule, covariance, scheme):
    X, y = examples(4, n=several(240, 60))
    more = {} if scheme == "one-vs-rest" or not rule.several else {"competitors": 2}
    model = make(rule, covariance, scheme=scheme, random_state=0, n_jobs=3, max_iter=2, **more)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    assert bits(first) == bits(second)
    assert bits(first) != bits(clone(model).set_params(n_jobs=2).fit(X, y))
    assert np.isfinite(first.coef_).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_several_threads_answer_what_one_does(classes, monkeypatch):
    monkeypatch.setattr(sureline.model.learning, "NONZEROS_PER_CHUNK", 100.0)
    monkeypatch.setattr(sureline.estimators.text.prediction, "CHUNK_BYTES", 400)
    X, y = examples(classes)
    texts, labels = (TEXTS, LABELS) if classes == 2 else topics()
    models = AROWClassifier(random_state=0).fit(X, y), TextClassifier().fit(texts, labels)
    for model, given in zip(models, (X, texts), strict=True):
        assert len(model._chunks(model.model_, given)) > 5
        for name in "predict", "predict_proba", "decision_function", "decision_distribution":
            told = [
                getattr(model.set_params(n_jobs=jobs), name)(given) for jobs in (None, 2, 3, -1)
            ]
            assert all(np.array_equal(told[0], other) for other in told[1:]), name
    with pytest.raises(InvalidParameter, match="n_jobs must be"):
        models[0].set_params(n_jobs=0).predict(X)


def test_the_number_of_jobs_is_scikit_learns():
    assert count_threads(None, "") == 1
    assert count_threads(3, "") == 3
    assert count_threads(-1, "") == max(1, os.cpu_count() or 1) or count_threads(-1, "") >= 1
    with parallel_config(backend="threading", n_jobs=2):
        assert count_threads(None, "") == 2
        X, y = examples(2)
        inside = AROWClassifier(random_state=0).fit(X, y)
    assert bits(inside) == bits(AROWClassifier(random_state=0, n_jobs=2).fit(X, y))


@pytest.mark.parametrize("wrong", [0, 1.5, "two", True])
def test_a_wrong_number_of_jobs_is_refused(wrong):
    with pytest.raises(InvalidParameter, match=r"n_jobs must be"):
        AROWClassifier(n_jobs=wrong).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidParameter, match=r"TextClassifier: n_jobs must be"):
        TextClassifier(n_jobs=wrong).fit(["a", "b"], [0, 1])


# -- what fit takes ----------------------------------------------------------------------------


def test_more_jobs_than_rows():
    X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "a"]
    model = AROWClassifier(n_jobs=7, random_state=0).fit(X, y)
    assert model.n_seen_ == 15
    assert model.predict(X).tolist() == y
    texts = TextClassifier(max_iter=1, n_jobs=7, random_state=0).fit(["red", "blue", "red rose"], y)
    assert texts.predict(["red", "blue"]).tolist() == ["a", "b"]
    assert texts.n_seen_ == 3


def test_weights_classes_and_early_stopping():
    X, y = directions(2, list("abc"), n=300)
    weight = np.random.default_rng(0).random(300) * (np.arange(300) % 4 > 0)
    settings = {"random_state": 0, "n_jobs": 3, "class_weight": {"a": 2.0, "c": 0.5}}
    model = AROWClassifier(**settings).fit(X, y, sample_weight=weight)
    assert model.n_seen_ == 5 * np.count_nonzero(weight)
    left_out = AROWClassifier(**settings).fit(
        X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0]
    )
    assert bits(model) == bits(left_out)
    stopped = AROWClassifier(random_state=0, n_jobs=3, early_stopping=True, max_iter=30).fit(X, y)
    assert len(stopped.validation_scores_) == stopped.n_iter_ < 30
    assert bits(stopped) == bits(clone(stopped).fit(X, y))


def test_a_class_that_is_missing_in_a_shard():
    X, y = directions(3, list("abc"), n=40)
    y = np.where(np.arange(40) == 4, "c", np.where(y == "c", "a", y))
    model = AROWClassifier(shuffle=False, n_jobs=4, dtype="float64").fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    expected = direct_unshuffled(model, X, y)
    np.testing.assert_allclose(model.model_.state.table, expected.table, rtol=1e-11, atol=1e-12)


def direct_unshuffled(model, X, y):
    learner = model.model_.learner
    labels, codes = np.unique(y, return_inverse=True)
    rows, rank = as_rows(np.asarray(X)), np.arange(labels.size)
    state = model.model_.fresh_state(X.shape[1], labels.size)
    for _ in range(model.max_iter):
        shards = [state.copy() for _ in range(4)]
        for k in range(4):
            order = np.arange(len(y))[k::4].copy()
            learner.learn(shards[k], Examples(rows, codes, np.ones(len(y)), order, rank))
        state = formula(learner, state, shards)
    return state


def test_partial_fit_goes_on_from_what_jobs_have_learned_with_one_thread():
    X, y = examples(4)
    model = AROWClassifier(n_jobs=3, random_state=0).fit(X, y)
    one = AROWClassifier(n_jobs=3, random_state=0).fit(X, y).set_params(n_jobs=None)
    assert bits(model.partial_fit(X, y)) == bits(one.partial_fit(X, y))


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
def test_an_error_in_a_thread_is_that_of_one_thread():
    X = np.ones((8, 2))
    X[5] = 1e200, -1e200
    for wide in (2, 4):
        with pytest.raises(DataError, match="learning row 5 overflowed float64"):
            PAClassifier(n_jobs=2, shuffle=False, dtype="float64").fit(X, np.arange(8) % wide)


def test_the_first_of_several_errors_is_raised_when_all_have_ended():
    ended = list[int]()

    def work(number):
        ended.append(number)
        if number:
            raise ValueError(str(number))
        return number

    with ThreadPool(2) as crew, pytest.raises(ValueError, match="1"):
        crew.run(work, range(4))
    assert sorted(ended) == [0, 1, 2, 3]
    with ThreadPool(2) as crew:
        assert crew.run(lambda k: k * k, range(5)) == [0, 1, 4, 9, 16]


def test_copies_count_as_memory():
    X, y = examples(2, d=7)
    with pytest.raises(InvalidParameter, match="n_jobs=4 learns in as many copies"):
        AROWClassifier(n_jobs=4, memory_limit_gb=2.5e-7).fit(X, y)
    AROWClassifier(n_jobs=2, memory_limit_gb=2.5e-7).fit(X, y)


def test_a_full_covariance_that_lost_its_inverse_is_averaged():
    from sureline.model.merge.algebra import merge_gaussian_shards

    flat = np.array([[1.0, 1.0], [1.0, 1.0]]) * 0.5
    pairs = [(np.array([1.0, 0.0]), flat), (np.array([3.0, 2.0]), flat)]
    mean, spread = merge_gaussian_shards(1.0, np.zeros(2), np.eye(2), pairs)
    assert mean.tolist() == [2.0, 1.0]
    assert spread.tolist() == flat.tolist()


# -- texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("many_classes", [False, True], ids=["two", "many"])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_learn_the_same_each_time_and_about_what_one_thread_learns(kind, many_classes):
    texts, labels = topics() if many_classes else (TEXTS, LABELS)
    for passes in (1, 2):
        model = TextClassifier(**KINDS[kind], random_state=0, max_iter=passes)
        one = clone(model).fit(texts, labels)
        assert learned(clone(model).set_params(n_jobs=1).fit(texts, labels)) == learned(one)
        shared = clone(model).set_params(n_jobs=3).fit(texts, labels)
        assert learned(shared) == learned(clone(shared).fit(texts, labels))
        assert shared.n_seen_ == one.n_seen_ == passes * len(texts)
        assert shared.n_iter_ == passes
        truth = np.array(labels)
        gap = np.mean(one.predict(texts) == truth) - np.mean(shared.predict(texts) == truth)
        assert gap < several(0.2, 1.0)  # a third of a few texts teaches less


def test_shards_of_texts_are_the_product_of_models_of_their_texts():
    estimator = AROWClassifier(r=0.1, dtype="float64")
    shared = TextClassifier(estimator, shuffle=False, n_jobs=3).fit(TEXTS, LABELS)
    parts = [
        TextClassifier(estimator, shuffle=False).partial_fit(
            TEXTS[k::3], LABELS[k::3], classes=["ham", "spam"]
        )
        for k in range(3)
    ]
    product = sureline.merge(parts, "product-prior")
    names = {name: k for k, name in enumerate(product.get_feature_names_out())}
    order = [names[name] for name in shared.get_feature_names_out()]
    assert len(order) == len(names)
    np.testing.assert_allclose(shared.coef_, product.coef_[:, order], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(shared.variance_, product.variance_[:, order], rtol=1e-11)
    np.testing.assert_allclose(shared.intercept_, product.intercept_, rtol=1e-11, atol=1e-12)
    assert (shared.n_seen_, shared.n_updates_) == (product.n_seen_, product.n_updates_)


def test_all_features_of_all_shards_are_found():
    one = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    shared = TextClassifier(random_state=0, n_jobs=3).fit(TEXTS, LABELS)
    assert set(one.get_feature_names_out()) == set(shared.get_feature_names_out())
    seen = [
        dict(zip(model.get_feature_names_out(), model.model_.columns.arrays.seen.tolist()))  # noqa: B905
        for model in (one, shared)
    ]
    assert seen[0] == seen[1]


def test_features_are_pruned_after_shards_are_joined():
    model = TextClassifier(max_features=50, n_jobs=3, random_state=0).fit(TEXTS, LABELS)
    assert 30 <= model.n_features_ < 50


def test_predictions_while_fitting_are_those_of_the_old_model():
    model = TextClassifier(random_state=0).fit(TEXTS[:50], LABELS[:50])
    before = model.decision_function(TEXTS[:5]).tobytes()
    done, looked = Event(), [0]

    def learn():
        try:
            model.set_params(n_jobs=3, max_iter=3).fit(TEXTS, LABELS)
        finally:
            done.set()

    answers = set()

    def look():
        while not done.is_set() or not looked[0]:
            answers.add(model.decision_function(TEXTS[:5]).tobytes())
            looked[0] += 1

    run_together(learn, look)
    after = model.decision_function(TEXTS[:5]).tobytes()
    assert answers <= {before, after}
    assert before != after


def test_the_estimators_own_number_of_jobs_is_not_used():
    inner = TextClassifier(AROWClassifier(r=0.1, n_jobs=3), random_state=0).fit(TEXTS, LABELS)
    plain = TextClassifier(AROWClassifier(r=0.1), random_state=0).fit(TEXTS, LABELS)
    assert inner.coef_.tobytes() == plain.coef_.tobytes()


# -- the command line --------------------------------------------------------------------------


def mail_file(rows=N):
    """A file of messages."""
    lines = [json.dumps({"text": t, "label": y}) for t, y in zip(TEXTS, LABELS, strict=True)]
    Path("sms.jsonl").write_text("\n".join(lines[:rows]) + "\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("passes", [1, 2])
def test_train_learns_what_fit_learns(passes, run):
    mail_file()
    options = ("--jobs", "3", "--passes", str(passes), "--seed", "5", "-q")
    assert run("train", "sms.jsonl", "-o", "m", *options)[0] == 0
    model = TextClassifier(random_state=5, max_iter=passes, n_jobs=3).fit(TEXTS, LABELS)
    assert learned(sureline.load("m")) == learned(model)
    assert sureline.load("m").n_jobs == 3


@pytest.mark.usefixtures("folder")
def test_progress_is_that_of_all_jobs(run):
    options = ("-o", "m", "--jobs", "2", "--passes", "1")
    code, out, err = run("train", "mail.csv", *COLUMNS, *options)
    rows = [line.split() for line in err.splitlines()[1:]]
    assert code == 0
    assert [row[:2] for row in rows] == [["1", "2"], ["2", "2"], ["4", "2"], ["8", "2"]]
    assert "features  50" in out
    assert "examples  8" in out
    wrong = json.loads(run("train", "mail.csv", *COLUMNS, *options, "--json")[1])
    assert f"{100 * wrong['progressive_error']:.2f}%" == rows[-1][3]
    assert (wrong["examples"], wrong["learned"]) == (8, 8)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_new_classes_come_between_rounds_however_rows_are_cut(kind, run):
    from sureline.data import Reader
    from sureline.estimators.stream import StreamTrainer

    if kind == "texts":
        write_rows(several(200, 40))
        file = "rows.csv"
    else:
        rng = np.random.RandomState(0)
        file = "rows.svm"
        rows = [
            f"{min(k // 9, rng.randint(4))} "
            + " ".join(f"{j}:1" for j in sorted(rng.choice(30 + 2 * k, 4, False)))
            for k in range(several(120, 40))
        ]
        Path(file).write_text("\n".join(rows) + "\n")
    models = []
    for size in (1, 7, 10**6):
        model = TextClassifier() if kind == "texts" else CWClassifier()
        made = StreamTrainer(model, threads=3)
        for batch in Reader([file]):
            for begin in range(0, len(batch), size):
                made.learn(batch.slice(begin, begin + size))
        made.merge_shards()
        made.settle()
        models.append(made.classifier)
    if kind == "texts":
        assert learned(models[0]) == learned(models[1]) == learned(models[2])
    else:
        assert bits(models[0]) == bits(models[1]) == bits(models[2])
    assert models[0].classes_.size == (3 if kind == "texts" else 4)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("kind", "jobs"), [("texts", 2), ("texts", 3), ("numbers", 2)])
def test_a_run_of_several_jobs_killed_at_any_moment_ends_with_exactly_the_same_file(
    kind, jobs, folder, run
):
    if kind == "texts":
        write_rows(300)
        file, options = "rows.csv", ("--max-features", "2000")
    else:
        file, options = "rows.svm", ("--rule", "scw-i")
        rng = np.random.RandomState(0)
        rows = [
            f"{rng.randint(3)} " + " ".join(f"{j}:1" for j in sorted(rng.choice(900, 8, False)))
            for _ in range(300)
        ]
        Path(file).write_text("\n".join(rows) + "\n")
    every = ("--every", "50", "--passes", "2", "--quiet", "--jobs", str(jobs), *options)
    arguments = ("train", file, "-o", "m.sureline", "--checkpoint", "c.sureline", *every)
    assert run(*arguments)[0] == 0
    expected = hashlib.sha256(Path("m.sureline").read_bytes()).hexdigest()
    Path("m.sureline").unlink()
    Path("c.sureline").unlink()
    kill_loop = Path(__file__).parents[2] / "support" / "kill_loop.py"
    done = subprocess.run(
        [sys.executable, str(kill_loop), str(max(2, KILLS // 2)), *arguments, "--resume"],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert set(told["codes"]) <= {-signal.SIGKILL, 0}
    assert set(told["digests"]) == {expected}
    assert all(count % 50 == 0 for count in told["examples"])


@pytest.mark.usefixtures("folder")
def test_an_interrupt_within_a_round_keeps_the_last_checkpoint(run, monkeypatch):
    from sureline.cli.train.progress import Progress

    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "--jobs", "3")
    kept = ("--checkpoint", "c.sureline", "--every", "3", "--quiet")
    assert run(*arguments, *kept)[0] == 0
    whole = Path("m").read_bytes()
    Path("m").unlink()
    Path("c.sureline").unlink()
    with monkeypatch.context() as patch:

        def interrupt(self, status):
            if status.examples == 5:
                raise KeyboardInterrupt

        patch.setattr(Progress, "update", interrupt)
        patch.setattr(Progress, "next_stop", lambda self, examples: examples + 1)
        code, _, err = run(*arguments, *kept)
    assert code == 130
    assert "interrupted after 5 examples, of which 3 are saved in c.sureline" in err
    assert position()["examples"] == 3
    assert run(*arguments, *kept, "--resume")[0] == 0
    assert Path("m").read_bytes() == whole


@pytest.mark.usefixtures("folder")
def test_a_resumed_run_has_as_many_jobs_and_checkpoints_as_before(run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "-q", "--checkpoint", "c.sureline")
    assert run(*arguments, "--jobs", "2", "--every", "3")[0] == 0
    code, _, err = run(*arguments, "--jobs", "3", "--every", "3", "--resume")
    assert (code, "jobs 2" in err, "jobs 3" in err) == (2, True, True)
    code, _, err = run(*arguments, "--jobs", "2", "--every", "4", "--resume")
    assert (code, "every 3" in err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_wrong_jobs_are_reported_in_one_sentence(run):
    code, out, err = run("train", "mail.csv", *COLUMNS, "-o", "m", "--jobs", "0")
    assert (code, out) == (2, "")
    assert err == ("sureline: --jobs takes a number of threads, or -1 for one per core, got 0\n")
    code, _, err = run("train", "mail.csv", *COLUMNS, "-o", "m", "--set", "n_jobs=2")
    assert (code, err) == (2, "sureline: --set n_jobs: use --jobs instead\n")


@pytest.mark.usefixtures("folder")
def test_a_model_is_trained_further_by_several_jobs(run, model):
    assert run("train", "mail.csv", "--continue", model, "-o", "n", "--jobs", "2", "-q")[0] == 0
    assert sureline.load("n").n_seen_ == 16


def test_a_perceptrons_average_is_that_of_all_its_vectors():
    X, y = np.eye(2), ["a", "b"]
    model = PerceptronClassifier(shuffle=False, max_iter=1, n_jobs=2, fit_intercept=False)
    # Both jobs move a weight of their own at once; each holds it for its one example, of two.
    assert model.fit(X, y).coef_.tolist() == [[-0.5, 0.5]]
