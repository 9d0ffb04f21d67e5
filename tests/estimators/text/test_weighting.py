"""Counts that weigh features: the informed prior against slow NumPy, and every promise with it."""

import numpy as np
import pytest
from cases import concepts, make, parameters, several
from oracle import Oracle, distance
from oracle_many import ManyOracle
from sklearn.feature_extraction.text import TfidfTransformer

from sureline import (
    AROWClassifier,
    PAClassifier,
    TextClassifier,
    TextFeatures,
    load,
    merge,
)
from sureline.errors import InvalidParameter
from sureline.kernels.compiling import Kernel, array, f8
from sureline.kernels.logarithm import log, log_ratio
from sureline.rules import rules

DIAGONAL = ("diagonal-kl", "diagonal-l2", "diagonal-exact")


# -- the prior ---------------------------------------------------------------------------------


def squares(class_counts, tokens, k):
    """s² of every feature for class k, as the head of kernels/informed_prior.py has it."""
    p, total = class_counts[:, k].astype(float), class_counts.sum(axis=1)
    share = (tokens[k] + 1.0) / (tokens.sum() + len(tokens))
    ratio = (share + p) / (1.0 - share + (total - p))
    told = (np.log(ratio) - np.log(share / (1.0 - share))) ** 2 + 0.1**2
    return np.where(total > 0, told, 1.0)


class Informed:
    """An oracle whose parts keep evidence: precision, and precision times mean, beyond a prior."""

    def __init__(self, oracle, classes, features, variance):
        self.oracle, self.variance = oracle, variance
        self.class_counts, self.tokens = np.zeros((features, classes)), np.zeros(classes)
        self.gained = [np.zeros(features) for _ in range(classes)]
        self.pulled = [np.zeros(features) for _ in range(classes)]

    @property
    def parts(self):
        return getattr(self.oracle, "parts", [self.oracle])

    def open(self):
        for number, part in enumerate(self.parts):
            k = 1 if len(self.parts) == 1 else number
            prior = 1.0 / (self.variance * squares(self.class_counts, self.tokens, k))
            precision = np.concatenate([[1.0 / part.S[0, 0]], prior + self.gained[number]])
            part.mu = np.concatenate([part.mu[:1], self.pulled[number] / precision[1:]])
            part.S = np.diag(1.0 / precision)

    def close(self):
        for number, part in enumerate(self.parts):
            k = 1 if len(self.parts) == 1 else number
            prior = 1.0 / (self.variance * squares(self.class_counts, self.tokens, k))
            precision = 1.0 / np.diag(part.S)[1:]
            self.gained[number] = precision - prior
            self.pulled[number] = precision * part.mu[1:]

    def count(self, x, k):
        self.class_counts[x != 0, k] += 1
        self.tokens[k] += np.count_nonzero(x)


def informed(model):
    model.row_weighting = ("nb", False)
    return model


TWO = [
    pytest.param(rule, covariance, id=f"{rule.name}-{covariance}")
    for rule in rules().values()
    for covariance in rule.covariances
    if covariance in DIAGONAL
]
MANY = [
    pytest.param(rule, scheme, covariance, k, id=f"{rule.name}-{scheme}-{covariance}-{k}")
    for rule in rules().values()
    for scheme, covariances in rule.schemes.items()
    for covariance in covariances
    if covariance in DIAGONAL
    for k in ((1, 2) if rule.several and scheme != "one-vs-rest" else (1,))
]


@pytest.mark.parametrize(("rule", "covariance"), TWO)
def test_two_classes_equal_the_oracle(rule, covariance):
    compared = 0
    for seed in range(several(6, 2)):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.6)
        y = (X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(40) > 0).astype(int)
        c = rng.uniform(0.2, 1.0, 40) if seed % 2 else np.ones(40)
        q = {**parameters(rule), **({"initial_variance": 0.7} if "cw" in rule.name else {})}
        q = {name: value for name, value in q.items() if name in _names(rule)}
        oracle = Oracle(rule.name, covariance, q, 6)
        prior = Informed(oracle, 2, 6, q.get("initial_variance", 1.0))
        for x, label, weight in zip(X, y, c, strict=True):
            prior.open()
            oracle.learn(x, 2 * label - 1, weight)
            prior.close()
            prior.count(x, label)
        prior.open()
        ours = informed(make(rule, covariance, **q, dtype="float64"))
        ours.partial_fit(X, y, classes=[0, 1], sample_weight=c)
        if oracle.closest < 1e-9:
            continue
        compared += 1
        assert ours.n_mistakes_ == oracle.mistakes
        assert ours.n_updates_ == oracle.updates
        assert distance(ours.coef_[0], oracle.mu[1:]) < 1e-9
        assert distance(ours.variance_[0], np.diag(oracle.S)[1:]) < 1e-9
        assert distance(ours.decision_function(X), X @ oracle.mu[1:] + oracle.mu[0]) < 1e-9
        spread = (X**2) @ np.diag(oracle.S)[1:] + oracle.S[0, 0]
        assert distance(ours.decision_distribution(X)[1], spread) < 1e-9
    assert compared


def _names(rule):
    return {each.name for each in rule.parameters}


@pytest.mark.parametrize(("rule", "scheme", "covariance", "k"), MANY)
def test_many_classes_equal_the_oracle(rule, scheme, covariance, k):
    n, full = (10, 2) if scheme == "exact" and rule.name.startswith("cw") else (30, 4)
    compared = 0
    for seed in range(several(full, 1)):
        X, y = concepts(seed, 4, n)
        q = parameters(rule)
        oracle = ManyOracle(rule.name, covariance, q, 4, 4, k, scheme, True)
        prior = Informed(oracle, 4, 4, q.get("initial_variance", 1.0))
        for x, label in zip(X, y, strict=True):
            prior.open()
            oracle.learn(x, label, 1.0)
            prior.close()
            prior.count(x, label)
        prior.open()
        ours = make(rule, covariance, **q, scheme=scheme, competitors=k, dtype="float64")
        informed(ours).partial_fit(X, y, classes=range(4))
        apart = distance(ours.coef_, [part.mu[1:] for part in oracle.parts])
        if oracle.closest < 1e-9 and (apart > 1e-4 or ours.n_mistakes_ != oracle.mistakes):
            continue  # a tie fell differently: such a stream proves nothing
        compared += 1
        assert ours.n_mistakes_ == oracle.mistakes
        assert apart < 1e-8
        assert distance(ours.variance_, [np.diag(part.S)[1:] for part in oracle.parts]) < 1e-8
    assert compared


def test_the_logarithm_is_one():
    kernel = Kernel(_logs, lambda _: _void())
    rng = np.random.default_rng(0)
    x = np.concatenate([10.0 ** rng.uniform(-300, 300, 2000), [1.0, 0.5, 2.0, np.sqrt(2.0)]])
    out = np.empty_like(x)
    kernel.compiled("float64")(x, np.ones_like(x), out)
    np.testing.assert_allclose(out, np.log(x), rtol=2e-15, atol=2e-15)
    others = x * 2.0 ** rng.uniform(-3, 3, x.size)
    kernel.compiled("float64")(x, others, out)
    np.testing.assert_allclose(out, np.log(x / others), rtol=4e-15, atol=4e-15)
    kernel.compiled("float64")(x, x, out)
    assert not out.any()


def _logs(x, others, out):
    for i in range(x.size):
        out[i] = log(x[i]) if others[i] == 1.0 else log_ratio(x[i], others[i])


def _void():
    from numba import types

    return types.void(*[array(f8)] * 3)


# -- texts -------------------------------------------------------------------------------------

WORDS = [f"w{k}" for k in range(40)]


def texts(seed, n=80, classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    places = [np.minimum(rng.geometric(0.12, rng.integers(1, 9)), 39) + 7 * k for k in y]
    lines = [" ".join(WORDS[k % 40] for k in some) for some in places]
    return lines, np.array(["beta", "alpha", "gamma", "delta"])[y]


def same(a, b):
    probes, _ = texts(99, 30)
    np.testing.assert_array_equal(a.decision_function(probes), b.decision_function(probes))
    np.testing.assert_array_equal(a.predict_proba(probes), b.predict_proba(probes))
    np.testing.assert_array_equal(
        a.model_.state.class_counts[: b.n_features_], b.model_.state.class_counts[: b.n_features_]
    )


@pytest.mark.parametrize("weighting", ["nb", "idf", None])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("features", ["vocabulary", "hash"])
def test_any_split_gives_the_same(weighting, classes, features):
    lines, y = texts(0, 90, classes)
    settings = {"weighting": weighting, "features": features, "bits": 8, "shuffle": False}
    whole = TextClassifier(**settings).fit(lines, y)
    named = TextClassifier(**settings)
    for start, stop in ((0, 1), (1, 40), (40, 90)):
        named.partial_fit(lines[start:stop], y[start:stop], classes=np.unique(y))
    same(whole, named)
    at_once = TextClassifier(**settings).partial_fit(lines, y)
    one_by_one = TextClassifier(**settings)
    for line, label in zip(lines, y.tolist(), strict=True):
        one_by_one.learn_one(line, label)
    same(at_once, one_by_one)
    assert set(at_once.classes_) == set(y)


@pytest.mark.parametrize("weighting", ["nb", "idf"])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_file_goes_on_as_if_it_had_never_been_closed(tmp_path, weighting, classes):
    lines, y = texts(1, 80, classes)
    model = TextClassifier(weighting=weighting).partial_fit(lines[:50], y[:50])
    model.save(tmp_path / "m.sureline")
    again = load(tmp_path / "m.sureline")
    same(model, again)
    same(model.partial_fit(lines[50:], y[50:]), again.partial_fit(lines[50:], y[50:]))


def test_counts_are_those_of_the_texts():
    lines = ["a b", "a", "b c b", "a c"]
    model = TextClassifier(ngrams=(1, 1)).partial_fit(lines, ["y", "y", "x", "y"])
    names = model.get_feature_names_out().tolist()
    counted = {
        name: model.model_.state.class_counts[1 + j].tolist() for j, name in enumerate(names)
    }
    assert counted == {"a": [0, 3], "b": [1, 1], "c": [1, 1]}  # in the order of x, y
    assert model.model_.state.class_counts[0].tolist() == [1, 3]
    assert model.model_.state.class_tokens.tolist() == [2, 5]


def test_models_that_are_merged_add_their_counts():
    lines, y = texts(2, 120, 4)
    parts = [TextClassifier(random_state=k).partial_fit(lines[k::3], y[k::3]) for k in range(3)]
    one = TextClassifier().partial_fit(lines, y)
    merged = merge(parts, how="product-prior")

    def counted(model):
        order = np.argsort(model.model_.labels)
        names = model.get_feature_names_out().tolist()
        return {
            name: model.model_.state.class_counts[1 + j, order].tolist()
            for j, name in enumerate(names)
        }

    assert counted(merged) == counted(one)
    assert merged.score(lines, y) > 0.8
    assert merge([parts[0]]).predict(lines).tolist() == parts[0].predict(lines).tolist()
    alone = [
        TextClassifier().partial_fit([line], [label])
        for line, label in zip("ab", "yx", strict=True)
    ]
    both = merge(alone)
    assert both.classes_.tolist() == ["x", "y"]
    rows = {
        both.get_feature_names_out()[j]: both.model_.state.class_counts[1 + j].tolist()
        for j in (0, 1)
    }
    assert rows == {"a": [0, 1], "b": [1, 0]}


def test_what_is_forgotten_is_not_counted():
    lines, y = texts(3, 100, 4)
    model = TextClassifier().fit(lines, y)
    before = model.model_.state.class_counts[:, : model.model_.state.used].sum()
    gone = model.model_.state.class_counts[:, model.model_.labels.tolist().index("gamma")].sum()
    model.forget_class("gamma")
    assert model.model_.state.class_counts[:, : model.model_.state.used].sum() == before - gone
    model.partial_fit(lines, y)
    assert model.score(lines, y) > 0.8


def test_pruned_features_take_their_counts_along():
    lines, y = texts(4, 200)
    model = TextClassifier(max_features=30, ngrams=(1, 2)).fit(lines, y)
    assert model.n_features_ <= 60
    full = TextClassifier(ngrams=(1, 2)).fit(lines, y)
    known = dict(
        zip(full.get_feature_names_out(), full.model_.state.class_counts[1:].tolist(), strict=False)
    )
    for j, name in enumerate(model.get_feature_names_out()):
        assert sum(model.model_.state.class_counts[1 + j]) <= sum(known[name])


def test_counting_first_counts_every_text_before_learning():
    lines, y = texts(5)
    first = TextClassifier(counts_first=True, shuffle=False, max_iter=2).fit(lines, y)
    later = TextClassifier(shuffle=False, max_iter=2).fit(lines, y)
    np.testing.assert_array_equal(
        first.model_.state.class_counts[: first.n_features_],
        later.model_.state.class_counts[: first.n_features_],
    )
    assert not np.array_equal(first.coef_, later.coef_)
    assert first.n_seen_ == later.n_seen_ == 2 * len(lines)


def test_idf_is_what_scikit_learn_makes_of_the_same_counts():
    lines, y = texts(6)
    model = TextClassifier(PAClassifier(), weighting="idf", counts_first=True, shuffle=False)
    model.fit(lines, y)
    counts = TextFeatures(normalize=False, dtype="float64").fit(lines)
    rows = TfidfTransformer().fit_transform(counts.transform(lines))
    plain = PAClassifier(max_iter=1, shuffle=False).fit(rows, y)
    np.testing.assert_allclose(
        model.decision_function(lines), plain.decision_function(rows), atol=1e-5
    )


def test_unknown_words_make_a_text_less_sure_but_no_other():
    lines, y = texts(7)
    model = TextClassifier().fit(lines, y)
    m, v = model.decision_distribution([lines[0], "never met before"])
    assert v[1] > model.intercept_variance_[0]
    assert m[1] == pytest.approx(model.intercept_[0])


def test_auto_is_the_best_that_the_estimator_allows():
    lines, y = texts(8)
    used = {
        None: TextClassifier(),
        "pa": TextClassifier(PAClassifier()),
        "full": TextClassifier(AROWClassifier(covariance="full"), ngrams=(1, 1)),
    }
    found = {
        name: model.fit(lines, y).model_.state.layout.weighting for name, model in used.items()
    }
    assert found == {None: "nb", "pa": "idf", "full": "idf"}
    for estimator, keeps in ((PAClassifier(), "no variances"), (used["full"].estimator, "a full")):
        with pytest.raises(InvalidParameter, match=keeps):
            TextClassifier(estimator, weighting="nb").fit(lines, y)
    with pytest.raises(InvalidParameter, match="'auto', 'idf', 'nb' or None"):
        TextClassifier(weighting="tfidf").fit(lines, y)
    with pytest.raises(InvalidParameter, match="counts_first must be True or False"):
        TextClassifier(counts_first="yes").fit(lines, y)


def test_explanations_add_up_to_the_score():
    lines, y = texts(9)
    for weighting in ("nb", "idf"):
        model = TextClassifier(weighting=weighting).fit(lines, y)
        told = model.explain(lines[0], top=50)
        score = model.decision_function(lines[:1])[0]
        reasons = told.classes[model.classes_[1]]
        assert reasons.score == pytest.approx(score, rel=1e-5)
        assert sum(each.share for each in reasons.features) + reasons.constant == pytest.approx(
            score, rel=1e-5
        )


# -- probabilities -----------------------------------------------------------------------------


def error_of(probability, truth, bins=10):
    """The expected calibration error."""
    sure, right = probability.max(axis=1), probability.argmax(axis=1) == truth
    places = np.minimum((bins * sure).astype(int), bins - 1)
    found = ((places == k) for k in set(places.tolist()))
    return sum(np.mean(some) * abs(np.mean(right[some] - sure[some])) for some in found)


def noisy(seed, n, classes):
    """Rows of classes that overlap, so that nobody can be sure of them."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).standard_normal((classes, 30))
    y = rng.integers(0, classes, n)
    X = 0.35 * means[y] + rng.standard_normal((n, 30)) * (rng.random((n, 30)) < 0.6)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("covariance", ["diagonal-kl", "full"])
@pytest.mark.parametrize("classes", [2, 5])
def test_calibrated_probabilities_are_honest(covariance, classes):
    full = covariance == "full"
    X, y = noisy(0, several(1500 if full else 4000, 600), classes)
    Z, truth = noisy(1, 4000, classes)
    settings = {"covariance": covariance, "scheme": "one-vs-rest", "max_iter": 1, "random_state": 0}
    plain = AROWClassifier(**settings).fit(X, y)
    honest = AROWClassifier(**settings, calibration="online").fit(X, y)
    np.testing.assert_allclose(plain.coef_, honest.coef_, rtol=1e-4, atol=1e-5)
    chances = honest.predict_proba(Z)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    found = np.searchsorted(honest.classes_, honest.predict(Z))
    assert np.mean(chances.argmax(axis=1) == found) > 0.99  # class frequencies count, too
    assert error_of(chances, truth) < 0.05
    assert error_of(chances, truth) < max(error_of(plain.predict_proba(Z), truth), 0.02)


def test_what_cannot_be_calibrated_is_refused():
    with pytest.raises(InvalidParameter, match="nothing to calibrate"):
        PAClassifier(calibration="online").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidParameter, match="calibration must be 'online' or None"):
        AROWClassifier(calibration="platt").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidParameter, match="calibration must be 'online' or None"):
        TextClassifier(calibration="platt").fit(["a", "b"], [0, 1])
    assert not hasattr(TextClassifier(PAClassifier()).fit(["a", "b"], [0, 1]), "predict_proba")
