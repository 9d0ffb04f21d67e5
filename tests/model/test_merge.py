"""Merging: against the formulas written out in NumPy, in any order, in any grouping."""

import numpy as np
import pytest
from cases import directions, make, parameters, stream

from sureline import (
    AdaGradClassifier,
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    PerceptronClassifier,
    SOPClassifier,
    load,
    merge,
)
from sureline.estimators import save
from sureline.model.merge import states as merging
from sureline.model.merge.algebra import HOWS
from sureline.model.merge.states import merge_states
from sureline.rules import rules

GAUSSIAN = [
    pytest.param(rule, covariance, id=f"{rule.name}-{covariance}")
    for rule in rules().values()
    for covariance in rule.covariances
    if covariance != "identity"
]
OTHERS = [
    pytest.param(rule, id=rule.name)
    for rule in rules().values()
    if rule.kernel is not None or "identity" in rule.covariances
]


def gaussians(model, label, size):
    """The mean and the covariance of one class's weights, or of the one column of two classes."""
    state = model.model_.state
    mean, covariance = np.zeros(size), np.eye(size) * state.layout.initial[1]
    labels = model.model_.labels.tolist()
    if state.wide and label not in labels:
        return mean, covariance
    k, own = labels.index(label) if state.wide else 0, state.features + 1
    mean[:own] = state.table[:, 0, k]
    if state.covariance.size:
        covariance[:own, :own] = state.covariance[k]
    else:
        covariance[np.arange(own), np.arange(own)] = state.table[:, 1, k]
    return mean, covariance


def direct(models, label, size, how):
    """The formulas as they are written, with whole matrices."""
    parts = [gaussians(model, label, size) for model in models]
    n = len(parts)
    if how == "mean":
        return sum(mean for mean, _ in parts) / n, sum(spread for _, spread in parts) / n
    precisions = [np.linalg.inv(spread) for _, spread in parts]
    pulled = sum(P @ mean for P, (mean, _) in zip(precisions, parts, strict=True))
    if how == "kl":
        return np.linalg.solve(sum(precisions), pulled), np.linalg.inv(sum(precisions) / n)
    P = sum(precisions)
    if how == "product-prior":
        P = P - (n - 1) * np.eye(size) / models[0].model_.state.layout.initial[1]
    return np.linalg.solve(P, pulled), np.linalg.inv(P)


def assert_same(one, other, tolerance=1e-9):
    """Two models with the same numbers, up to rounding."""
    assert one.classes_.tolist() == other.classes_.tolist()
    a, b = one.model_.state, other.model_.state
    for left, right in [(a.table, b.table), (a.covariance, b.covariance)]:
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)
    assert (a.merged, a.clock, a.used, a.wide) == (b.merged, b.clock, b.used, b.wide)
    np.testing.assert_array_equal(a.counts, b.counts)


def trained(rule, covariance, classes, seed, d=7, **more):
    X, y = directions(seed, classes, d=d)
    model = make(rule, covariance, dtype="float64", random_state=0, max_iter=1, **more)
    return model.set_params(**parameters(rule)).partial_fit(X, y, classes=classes)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("rule", "covariance"), GAUSSIAN)
def test_merged_gaussians_are_what_the_formulas_say(rule, covariance, how):
    letters = list("abcdefghijklmnopqrst")
    for sets in (["ab", "ab", "ab"], [letters, letters], ["abc", "bcd", "ae"], ["ab", "bc"]):
        models = [
            trained(rule, covariance, sorted(each), seed, d=7 + 2 * seed)
            for seed, each in enumerate(sets)
        ]
        size = models[-1].n_features_in_ + 1
        merged = merge(models, how=how)
        known = sorted(set().union(*sets))
        assert merged.classes_.tolist() == known
        assert merged.n_features_in_ == size - 1
        if len(known) > 2:
            for model in models:  # as they would be if a third class had come
                if not model.model_.state.wide:
                    model.model_.state = model.model_.learner.widen(model.model_.state, 1.0, "")
        for k, label in enumerate(known if merged.model_.state.wide else known[1:]):
            mean, spread = direct(models, label, size, how)
            np.testing.assert_allclose(
                merged.model_.state.table[:, 0, k], mean, rtol=1e-9, atol=1e-12
            )
            if merged.model_.state.covariance.size:
                np.testing.assert_allclose(merged.model_.state.covariance[k], spread, atol=1e-11)
            else:
                np.testing.assert_allclose(
                    merged.model_.state.table[:, 1, k], np.diag(spread), rtol=1e-12
                )


@pytest.mark.parametrize("rule", OTHERS)
@pytest.mark.parametrize("sets", [("ab", "ab", "ab"), ("abc", "bcd", "abcd"), ("abc", "ab")])
def test_merged_weights_are_the_mean_of_the_weights(rule, sets):
    models = [trained(rule, None, list(each), seed, d=7 + seed) for seed, each in enumerate(sets)]
    before = [model.model_.state.copy() for model in models]
    merged = merge(models, how="mean")
    known = merged.classes_.tolist()
    expected = np.zeros(
        (len(known) if merged.model_.state.wide else 1, models[-1].n_features_in_ + 1)
    )
    for model in models:
        state = model.model_.state
        if merged.model_.state.wide and not state.wide:
            state = model.model_.learner.widen(state, 1.0, "")
        weights = model.model_.learner.weights(state)
        for k, label in enumerate(model.model_.labels.tolist() if state.wide else [None]):
            row = known.index(label) if state.wide else 0
            expected[row, : len(weights)] += weights[:, k] / len(models)
    found = merged.model_.learner.weights(merged.model_.state)
    np.testing.assert_allclose(found.T, expected, rtol=1e-9, atol=1e-12)
    for model, old in zip(models, before, strict=True):
        np.testing.assert_array_equal(model.model_.state.table, old.table)
        np.testing.assert_array_equal(model.model_.state.last_changed, old.last_changed)


@pytest.mark.parametrize("rule", OTHERS)
def test_merged_model_without_variances_trains_on_as_if_it_had_come_so_far(rule):
    """Merging a model with itself changes no weight, and so no mistake that it makes next."""
    X, y = stream(3, n=200)
    model = make(rule, dtype="float64", max_iter=1).set_params(**parameters(rule))
    model.partial_fit(X[:100], y[:100])
    twice = merge([model, model], how="mean")
    np.testing.assert_allclose(twice.coef_, model.coef_, rtol=1e-12, atol=1e-15)
    assert twice.n_seen_ == 200
    twice.partial_fit(X[100:], y[100:])
    assert twice.n_updates_ > 2 * model.n_updates_
    assert np.isfinite(twice.coef_).all()


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_model_merges_to_an_equal_one(how, dtype):
    X, y = directions(0, list("dbca"))
    model = AROWClassifier(dtype=dtype, max_iter=2, random_state=0)
    for start in (0, 1, 2, 3, 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40])
    merged = merge([model], how=how)
    assert merged is not model
    assert merged.model_.state.table is not model.model_.state.table
    np.testing.assert_array_equal(merged.model_.state.table, model.model_.state.table)
    np.testing.assert_array_equal(merged.model_.labels, model.model_.labels)
    assert merged.get_params() == model.get_params()
    merged.partial_fit(X, y)
    assert (merged.model_.state.table != model.model_.state.table).any()


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("covariance", ["diagonal-kl", "full"])
def test_merging_does_not_depend_on_order_or_grouping(how, covariance):
    arow = rules()["arow"]
    models = [
        trained(arow, covariance, list(each), seed, d=5 + seed)
        for seed, each in enumerate(["abc", "bcd", "abcd", "acde"])
    ]
    a, b, c, d = models
    flat = merge(models, how=how)
    assert flat.model_.state.merged == 4
    assert flat.n_seen_ == sum(model.n_seen_ for model in models)
    assert flat.n_updates_ == sum(model.n_updates_ for model in models)
    assert flat.n_mistakes_ == sum(model.n_mistakes_ for model in models)
    assert_same(flat, merge([c, a, d, b], how=how))
    assert_same(flat, merge([merge([a, b], how=how), merge([c, d], how=how)], how=how))
    assert_same(flat, merge([merge([merge([d, c], how=how), b], how=how), a], how=how))


@pytest.mark.parametrize("rule", OTHERS)
def test_means_do_not_depend_on_order_or_grouping(rule):
    a, b, c = (
        trained(rule, None, list(each), seed, d=5 + seed)
        for seed, each in enumerate(["abc", "bcd", "abcd"])
    )
    flat = merge([a, b, c], how="mean")
    assert_same(flat, merge([c, b, a], how="mean"))
    assert_same(flat, merge([a, merge([b, c], how="mean")], how="mean"))
    assert_same(flat, merge([merge([c, a], how="mean"), b], how="mean"))


def test_product_prior_keeps_what_only_one_model_has_learned():
    X = np.eye(4)
    one = CWClassifier(dtype="float64", fit_intercept=False).partial_fit(X[:2], [0, 1])
    two = CWClassifier(dtype="float64", fit_intercept=False).partial_fit(X[2:], [0, 1])
    merged = merge([one, two], how="product-prior")
    np.testing.assert_allclose(merged.coef_, one.coef_ + two.coef_, rtol=1e-14)
    np.testing.assert_allclose(merged.variance_, one.variance_ * two.variance_, rtol=1e-14)
    assert (merge([one, two]).coef_[0, [1, 3]] < merged.coef_[0, [1, 3]]).all()


def test_full_arow_of_shards_by_product_prior_has_the_precision_of_one_model():
    """Every update of full AROW adds xxᵀ/r, so that shards' precisions add up to the whole's."""
    X, y = stream(5, n=120, noise=0.3)
    settings = {"covariance": "full", "dtype": "float64", "r": 0.5}
    shards = [
        AROWClassifier(**settings).partial_fit(X[k::3], y[k::3], classes=[-1.0, 1.0])
        for k in range(3)
    ]
    merged = merge(shards, how="product-prior")
    precision = np.linalg.inv(merged.model_.state.covariance[0])
    apart = sum(np.linalg.inv(shard.model_.state.covariance[0]) - np.eye(7) for shard in shards)
    np.testing.assert_allclose(precision, np.eye(7) + apart, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("how", HOWS)
def test_merged_model_trains_on_and_keeps_its_count_in_a_file(how, tmp_path):
    X, y = directions(1, [3, 1, 2], n=200)
    models = [AROWClassifier().partial_fit(X[k : k + 60], y[k : k + 60]) for k in (0, 60)]
    merged = merge(models, how=how)
    save(merged, tmp_path / "merged.sureline")
    loaded = load(tmp_path / "merged.sureline")
    assert loaded.model_.state.merged == 2
    for model in (merged, loaded):
        model.partial_fit(X[120:], [*y[120:-1], 9])
    np.testing.assert_array_equal(merged.coef_, loaded.coef_)
    assert loaded.classes_.tolist() == [1, 2, 3, 9]
    assert merged.n_seen_ == 200
    assert merge([loaded, models[0]], how=how).model_.state.merged == 3


def test_shards_merge_to_a_better_model_than_each():
    X, y = stream(8, n=900, d=40, noise=0.1, density=0.2)
    shards = [AROWClassifier().partial_fit(X[k:600:6], y[k:600:6]) for k in range(6)]
    apart = np.mean([shard.score(X[600:], y[600:]) for shard in shards])
    for how in HOWS:
        assert merge(shards, how=how).score(X[600:], y[600:]) > apart


def test_narrow_and_wide_models_of_the_same_two_classes_merge():
    X, y = directions(2, list("abc"))
    two = y != "c"
    narrow = AROWClassifier(dtype="float64").partial_fit(X[two], y[two])
    wide = AROWClassifier(dtype="float64").partial_fit(X, y).forget_class("c")
    merged = merge([narrow, wide])
    assert merged.classes_.tolist() == ["a", "b"]
    assert merged.model_.state.wide
    assert_same(merged, merge([wide, narrow]))
    widened = AROWClassifier(dtype="float64").partial_fit(X[two], y[two])
    widened.model_.state = widened.model_.learner.widen(widened.model_.state, 1.0, "")
    for k, label in enumerate("ab"):
        mean, spread = direct([widened, wide], label, 8, "kl")
        np.testing.assert_allclose(merged.model_.state.table[:, 0, k], mean, rtol=1e-12)
        np.testing.assert_allclose(merged.model_.state.table[:, 1, k], np.diag(spread), rtol=1e-12)


def test_a_model_that_knows_one_class_brings_its_class_and_counters():
    X, y = directions(4, ["a", "b"])
    model = AROWClassifier().partial_fit(X, y)
    for label, expected in (("a", ["a", "b"]), ("z", ["a", "b", "z"])):
        single = AROWClassifier().partial_fit(X[:5], [label] * 5)
        merged = merge([single, model])
        assert merged.classes_.tolist() == expected
        assert merged.n_seen_ == len(y) + 5
        assert merged.score(X, y) > 0.8
    singles = [AROWClassifier().partial_fit(X[:5], [label] * 5) for label in "ab"]
    merged = merge(singles)
    assert merged.classes_.tolist() == ["a", "b"]
    assert not merged.coef_.any()


def test_states_merge_by_maps_of_features():
    """Features may stand at other numbers in every state, as in vocabularies."""
    rng = np.random.default_rng(6)
    X, y = directions(6, list("abc"), d=9)
    places = [rng.permutation(9)[:k] for k in (6, 9, 4)]
    names = ["a", "b", "c"]
    models = [AROWClassifier(dtype="float64").partial_fit(X[:, own], y, names) for own in places]
    learner = models[0].model_.learner
    spread = [
        AROWClassifier(dtype="float64").partial_fit(
            np.where(np.isin(np.arange(9), own), X, 0.0), y, names
        )
        for own in places
    ]
    columns = [np.searchsorted(names, model.model_.labels) for model in models]
    for how in HOWS:
        merged = merge_states(learner, [m.model_.state for m in models], columns, places, 9, how)
        expected = merge(spread, how=how).model_.state
        np.testing.assert_allclose(merged.table, expected.table, rtol=1e-9, atol=1e-12)
        moved = merge_states(learner, [models[0].model_.state], columns[:1], places[:1], 9, how)
        alone = spread[0].model_.state.table[:, :, np.argsort(columns[0])]
        np.testing.assert_allclose(moved.table, alone, rtol=1e-9, atol=1e-12)


def test_many_rows_are_merged_in_parts():
    """More rows than are worked on at a time, so that parts have to join without a seam."""
    rng = np.random.default_rng(7)
    d = 300_000
    models = []
    for size in (d, d - 1000):
        model = AROWClassifier(dtype="float64").partial_fit(np.ones((2, 1)), [0, 1])
        learner = model.model_.learner
        state = learner.layout.allocate(size, 1, 1.0, "")
        state.table[:, 0, 0] = rng.standard_normal(size + 1)
        state.table[:, 1, 0] = rng.random(size + 1) + 0.1
        model.model_.state, model.n_features_in_ = state, size
        models.append(model)
    one, two = (np.tile([0.0, 1.0], (d + 1, 1)) for _ in range(2))
    for whole, model in zip((one, two), models, strict=True):
        whole[: model.n_features_in_ + 1] = model.model_.state.table[:, :, 0]
    P, Q = 1 / one[:, 1], 1 / two[:, 1]
    merged = merge(models).model_.state.table[:, :, 0]
    np.testing.assert_allclose(merged[:, 0], (P * one[:, 0] + Q * two[:, 0]) / (P + Q), rtol=1e-12)
    np.testing.assert_allclose(merged[:, 1], 2 / (P + Q), rtol=1e-12)
    rows = [rng.permutation(d)[: model.n_features_in_] for model in models]
    columns = [np.zeros(1, np.intp)] * 2
    mapped = merge_states(learner, [m.model_.state for m in models], columns, rows, d, "product")
    P = np.ones(d + 1)
    Q = np.ones(d + 1)
    for precision, model, own in zip((P, Q), models, rows, strict=True):
        precision[0] = 1 / model.model_.state.table[0, 1, 0]
        precision[1 + own] = 1 / model.model_.state.table[1:, 1, 0]
    np.testing.assert_allclose(mapped.table[:, 1, 0], 1 / (P + Q), rtol=1e-12)


@pytest.mark.parametrize("rule", [*OTHERS, pytest.param(rules()["arow"], id="arow")])
def test_parts_of_any_size_give_the_same(rule, monkeypatch):
    """Also where a part does not begin with the constant feature, and where features are mapped."""
    rng = np.random.default_rng(8)
    models = [trained(rule, None, list(each), 20 + k, 9) for k, each in enumerate(["abc", "bcd"])]
    learner = models[0].model_.learner
    columns = [np.searchsorted(list("abcd"), model.model_.labels) for model in models]
    maps = [rng.permutation(12)[:9] for _ in models]
    states = [model.model_.state for model in models]

    def both():
        plain = merge(models, how="mean").model_.state
        mapped = merge_states(learner, states, columns, maps, 12, "mean")
        return plain, mapped

    whole = both()
    monkeypatch.setattr(merging, "CHUNK", 24)
    for one, other in zip(whole, both(), strict=True):
        np.testing.assert_array_equal(one.table, other.table)
        np.testing.assert_array_equal(one.last_changed, other.last_changed)
    plain, mapped = whole
    for number, label in enumerate("abcd"):
        for j in range(12):
            if label in "ad":  # known to one model only: its features went to its own places
                own = models[label == "d"]
                places = maps[label == "d"].tolist()
                row = 1 + places.index(j) if j in places else None
                weight = 0.0
                if row is not None:
                    weights = learner.weights(own.model_.state)
                    weight = weights[row, own.model_.labels.tolist().index(label)] / 2
                found = learner.weights(mapped)[1 + j, number]
                assert found == pytest.approx(weight, rel=1e-9, abs=1e-12)
    assert plain.features == 9


def test_models_merge_by_their_method():
    one, two, three = (fitted(random_state=k) for k in range(3))
    np.testing.assert_array_equal(
        one.merge(two, three, how="product").coef_, merge([one, two, three], how="product").coef_
    )


def fitted(**settings):
    X, y = directions(9, [0, 1])
    return AROWClassifier(**settings).partial_fit(X, y)


@pytest.mark.parametrize(
    ("models", "how", "error", "says"),
    [
        (list, "kl", InvalidParameter, "at least one model"),
        (lambda: [fitted(), 3], "kl", InvalidParameter, "model 2 is of class int"),
        (lambda: [fitted(), fitted()], "sum", InvalidParameter, "how must be 'kl' or"),
        (
            lambda: [fitted(), PAClassifier().fit(*directions(9, [0, 1]))],
            "kl",
            InvalidParameter,
            "model 1 is AROWClassifier and model 2 is PAClassifier",
        ),
        (lambda: [fitted(), fitted(r=2.0)], "kl", InvalidParameter, "r is 1.0 in model 1 and 2.0"),
        (lambda: [fitted(), fitted(dtype="float64")], "kl", InvalidParameter, "dtype is"),
        (lambda: [fitted(), fitted(covariance="full")], "kl", InvalidParameter, "covariance is"),
        (
            lambda: [fitted(), fitted(fit_intercept=False)],
            "mean",
            InvalidParameter,
            "fit_intercept",
        ),
        (
            lambda: ([fitted(), fitted(), fitted().set_params(covariance="diagonal-l2")]),
            "kl",
            InvalidParameter,
            "covariance is 'diagonal-kl' in model 1 and 'diagonal-l2' in model 3",
        ),
        (
            lambda: [fitted().set_params(covariance="diagonal-l2")],
            "kl",
            InvalidParameter,
            "model 1 was trained as",
        ),
        (
            lambda: [fitted(), AROWClassifier().fit(*directions(9, ["a", "b"]))],
            "kl",
            DataError,
            "labels are numbers in model 1 and text in model 2",
        ),
        (
            lambda: [
                fitted(),
                AROWClassifier().partial_fit(
                    np.eye(2), np.array([1, 2**64 - 1], np.uint64), classes=None
                ),
            ],
            "kl",
            DataError,
            "no dtype holds the labels",
        ),
        (
            lambda: [fitted().set_params(memory_limit_gb=1e-8), fitted()],
            "kl",
            InvalidParameter,
            "merge of AROWClassifier: 7 features .* would take",
        ),
    ],
)
def test_models_that_do_not_fit_each_other_are_refused(models, how, error, says):
    given = models()
    with pytest.raises(error, match=says):
        merge(given, how=how)


@pytest.mark.parametrize(
    "cls", [PAClassifier, PerceptronClassifier, SOPClassifier, AdaGradClassifier]
)
@pytest.mark.parametrize("how", ["kl", "product", "product-prior"])
def test_rules_without_variances_merge_by_mean_only(cls, how):
    model = cls().fit(*directions(9, [0, 1]))
    with pytest.raises(InvalidParameter, match="use how='mean'"):
        merge([model, model], how=how)


def test_covariance_that_is_no_longer_definite_is_refused():
    models = [AROWClassifier(covariance="full").fit(*directions(9, [0, 1])) for _ in range(2)]
    models[1].model_.state.covariance[0, 1, 1] = -1.0
    with pytest.raises(InvalidParameter, match="model 2 is no longer positive definite"):
        merge(models)
    assert np.isfinite(merge(models, how="mean").coef_).all()


def test_names_of_features_are_kept_or_refused():
    import pandas as pd

    X, y = directions(10, [0, 1], d=3)
    one = AROWClassifier().fit(pd.DataFrame(X, columns=list("abc")), y)
    two = AROWClassifier().fit(pd.DataFrame(X[:, :2], columns=list("ab")), y)
    assert merge([two, one]).feature_names_in_.tolist() == ["a", "b", "c"]
    other = AROWClassifier().fit(pd.DataFrame(X, columns=list("bac")), y)
    with pytest.raises(DataError, match="feature 0 is named 'b' in model 2"):
        merge([one, other])
    assert not hasattr(merge([one, AROWClassifier().fit(X, y)]), "feature_names_in_")


def test_parameters_that_only_steer_fit_may_differ():
    merged = merge([fitted(random_state=1, max_iter=3), fitted(random_state=2)])
    assert merged.get_params()["random_state"] == 1
    assert merged.max_iter == 3
