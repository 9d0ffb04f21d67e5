"""Classes that come and go: splits of a stream, a third class, growth, forgetting, memory."""

import numpy as np
import pytest
from cases import make, parameters, same_model, several

from sureline import (
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    ModelFileError,
    PerceptronClassifier,
    TextClassifier,
)
from sureline.model.serialize.labels import labels_from_json, labels_to_json
from sureline.rules import rules

CASES = [
    pytest.param(rule, scheme, covariances[-1], id=f"{rule.name}-{scheme}-{covariances[-1]}")
    for rule in rules().values()
    for scheme, covariances in rule.schemes.items()
    if covariances
]


def many(seed, classes=5, n=90, d=6):
    """Examples whose classes come one after the other, as text."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    y = np.argmax(X @ rng.standard_normal((d, classes)), axis=1)
    y = np.minimum(y, np.arange(n) // 12)  # class k appears from row 12 k on
    names = np.array(["pear", "fig", "apple", "quince", "date"] + [f"z{k}" for k in range(99)])
    return X, names[y]


@pytest.mark.parametrize(("rule", "scheme", "covariance"), CASES)
def test_any_split_of_a_growing_stream_gives_the_same_model(rule, scheme, covariance):
    X, y = many(0)
    k = 3 if rule.several and scheme != "one-vs-rest" else 1
    settings = {**parameters(rule), "scheme": scheme, "competitors": k, "dtype": "float64"}
    whole = make(rule, covariance, **settings).partial_fit(X, y)
    assert whole.classes_.tolist() == sorted(set(y))
    for seed in range(several(4, 1)):
        rng = np.random.default_rng(seed)
        cuts = np.sort(rng.integers(0, len(y), rng.integers(1, 50)))
        pieces = make(rule, covariance, **settings)
        for part in np.split(np.arange(len(y)), cuts):
            if part.size:
                pieces.partial_fit(X[part], y[part])
        assert same_model(whole, pieces)


@pytest.mark.parametrize(("rule", "scheme", "covariance"), CASES)
def test_one_pass_of_fit_is_partial_fit_with_all_classes(rule, scheme, covariance):
    X, y = many(1)
    several_rivals = rule.several and scheme != "one-vs-rest"
    settings = {"scheme": scheme, "competitors": "all" if several_rivals else 1}
    fitted = make(rule, covariance, **settings, max_iter=1, shuffle=False).fit(X, y)
    pieces = make(rule, covariance, **settings)
    for part in np.split(np.arange(len(y)), [1, 7, 40]):
        pieces.partial_fit(X[part], y[part], classes=fitted.classes_)
    assert same_model(fitted, pieces)
    assert fitted.coef_.shape == (5, 6)
    assert fitted.intercept_.shape == (5,)


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_a_third_class_changes_no_label_at_that_moment(rule):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 6))
    y = np.where(X @ rng.standard_normal(6) > 0.3, "spam", "ham")
    for covariance in rule.covariances or ("identity",):
        settings = {**parameters(rule), "dtype": "float64"}
        model = make(rule, covariance, **settings).partial_fit(X, y)
        labels, scores = model.predict(X), model.decision_function(X)
        proba = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        coef = model.coef_
        assert coef.shape == (1, 6)
        # A class that is only named, not learned.
        model.partial_fit(X[:1], y[:1], classes=["eggs"], sample_weight=[0.0])
        assert model.classes_.tolist() == ["eggs", "ham", "spam"]
        assert np.array_equal(model.predict(X), labels)
        now = model.decision_function(X)
        assert now.shape == (200, 3)
        assert np.allclose(now[:, 2] - now[:, 1], scores, rtol=1e-9)
        assert np.ptp(now[:, 0]) < 1e-12  # the intercept alone, which is against it
        assert now[0, 0] <= 0.0
        assert np.allclose(model.coef_[2] - model.coef_[1], coef[0], rtol=1e-9)
        if proba is not None:
            mean, variance = model.decision_distribution(X)
            z = (mean[:, 2] - mean[:, 1]) / np.sqrt(variance[:, 2] + variance[:, 1])
            from scipy.special import ndtr

            assert np.allclose(ndtr(z), proba[:, 1], rtol=1e-9)
        # And it goes on learning.
        model.partial_fit(X, np.where(X[:, 0] > 1, "eggs", y))
        assert (model.predict(X) == np.where(X[:, 0] > 1, "eggs", y)).mean() > 0.6


def test_learning_goes_on_after_the_third_class_as_after_widening():
    X, y = many(4)
    model = AROWClassifier(dtype="float64").partial_fit(X[:24], y[:24])
    assert model.coef_.shape == (1, 6)
    model.partial_fit(X[24:], y[24:])
    assert model.coef_.shape == (5, 6)
    assert model.n_seen_ == len(y)
    model.partial_fit(X, y).partial_fit(X, y)
    assert (model.predict(X) == y).mean() > 0.6


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_forgetting_a_class(rule):
    X, y = many(5)
    for covariance in rule.covariances or ("identity",):
        model = make(rule, covariance, random_state=0, dtype="float64").fit(X, y)
        scores, classes = model.decision_function(X), model.classes_
        model.forget_class("fig")
        kept = classes != "fig"
        assert model.classes_.tolist() == classes[kept].tolist()
        assert np.array_equal(model.decision_function(X), scores[:, kept])
        assert "fig" not in model.predict(X)
        for label in ("apple", "date"):
            model.forget_class(label)
        assert model.classes_.tolist() == ["pear", "quince"]
        assert model.decision_function(X).shape == (len(X),)
        assert model.coef_.shape == (1, 6)
        two = scores[:, classes == "quince"] - scores[:, classes == "pear"]
        assert np.allclose(model.decision_function(X), two[:, 0])
        if hasattr(model, "predict_proba"):
            assert model.predict_proba(X).shape == (len(X), 2)
            mean, variance = model.decision_distribution(X)
            assert mean.shape == variance.shape == (len(X),)
        model.forget_class("quince")
        assert set(model.predict(X)) == {"pear"}
        if hasattr(model, "predict_proba"):
            assert model.predict_proba(X).tolist() == [[1.0]] * len(X)
        model.partial_fit(X, y)  # all may come back
        assert model.classes_.tolist() == sorted(set(y))
        assert np.isfinite(model.decision_function(X)).all()


def test_forgetting_one_of_two_and_what_cannot_be_forgotten():
    X, y = many(6)
    model = AROWClassifier().fit(X, np.where(y == "pear", "pear", "other"))
    with pytest.raises(InvalidParameter, match="no class 'plum' to forget; there are 'other', 'pe"):
        model.forget_class("plum")
    model.forget_class("pear")
    assert set(model.predict(X)) == {"other"}
    with pytest.raises(InvalidParameter, match="the last class, 'other', cannot be forgotten"):
        model.forget_class("other")


def test_a_forgotten_class_leaves_no_trace():
    X, y = many(7)
    one = CWClassifier(dtype="float64", random_state=0).fit(X, y).forget_class("fig")
    again = CWClassifier(dtype="float64", random_state=0).fit(X, y).forget_class("fig")
    again.partial_fit(X[:1], ["pear"], classes=["new"], sample_weight=[0.0])
    assert np.array_equal(again.coef_[again.classes_ == "new"], np.zeros((1, 6)))
    assert (again.variance_[again.classes_ == "new"] == 1.0).all()
    assert np.array_equal(again.coef_[again.classes_ != "new"], one.coef_)


def test_growing_to_many_classes_is_the_same_as_knowing_them():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 5))
    y = np.concatenate([np.arange(100), rng.integers(0, 100, 300)])
    grown = AROWClassifier()
    for row, label in zip(X, y, strict=True):
        grown.partial_fit(row[np.newaxis], [label])
    assert same_model(grown, AROWClassifier().partial_fit(X, y))
    assert grown.classes_.tolist() == list(range(100))
    assert grown.coef_.shape == (100, 5)
    # Room is made by doubling: for two, four, eight, ... classes.
    assert grown.model_.state.table.shape[2] == 128


def test_a_model_too_large_is_refused_with_its_size():
    X, y = np.zeros((60, 1000)), np.arange(60)
    with pytest.raises(InvalidParameter) as refusal:
        AROWClassifier(memory_limit_gb=1e-4).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert str(refusal.value) == (
        "AROWClassifier: 1,000 features x 60 classes with covariance='diagonal-kl' would take "
        "0.000447 GB, more than memory_limit_gb=0.0001; raise memory_limit_gb, or use fewer "
        "features"
    )
    grown = AROWClassifier(memory_limit_gb=2.5e-4)
    grown.partial_fit(X[:33], y[:33])  # 33 fit, 64 would not: nothing is allocated in advance
    with pytest.raises(InvalidParameter, match="1,000 features x 60 classes"):
        grown.partial_fit(X, y)
    assert grown.classes_.size == 33
    assert grown.n_seen_ == 33  # nothing was learned of what was refused
    with pytest.raises(InvalidParameter, match="1,000 features x 61 classes"):
        grown.partial_fit(X[:1], y[:1], classes=range(61))
    assert grown.decision_function(X).shape == (60, 33)
    two = AROWClassifier(memory_limit_gb=2e-5).partial_fit(X[:2], y[:2])
    before = two.coef_
    with pytest.raises(InvalidParameter, match="1,000 features x 3 classes"):
        two.partial_fit(np.ones((5, 1000)), [0, 1, 0, 1, 2])
    assert np.array_equal(two.coef_, before)


def test_the_first_row_of_a_class_counts_as_a_mistake():
    X = np.eye(4)
    model = AROWClassifier(fit_intercept=False)
    for k in range(4):
        model.partial_fit(X[k : k + 1], [k])
    assert model.n_mistakes_ == 4


@pytest.mark.parametrize("labels", [["b", "a", "c"], [3, 1, 2], [True, False]])
def test_labels_of_any_type_in_a_stream(labels):
    X, y = many(9, classes=len(labels))
    _, codes = np.unique(y, return_inverse=True)
    named = np.array(labels)[codes]
    model = CWClassifier().partial_fit(X, named).partial_fit(X, named)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == named.dtype
    assert set(model.predict(X)) <= set(labels)
    assert (model.predict(X) == named).mean() > 0.6


def test_equal_scores_go_to_the_first_class():
    model = AROWClassifier(fit_intercept=False)
    model.partial_fit([[1.0, 0.0]], ["c"], classes=["b", "c", "a"])
    assert model.predict([[0.0, 1.0]]).tolist() == ["a"]
    # The strongest rival of c was a, the first of two equal ones.
    assert model.decision_function([[1.0, 0.0]])[0, 0] < 0
    assert model.decision_function([[1.0, 0.0]])[0, 1] == 0


def test_early_stopping_and_weights_with_many_classes():
    X, y = many(10, n=300)
    model = CWClassifier(early_stopping=True, max_iter=20, random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.validation_scores_)
    weight = np.where(y == "fig", 3.0, 1.0)
    one = AROWClassifier(class_weight={"fig": 3.0}, random_state=0).fit(X, y)
    assert same_model(one, AROWClassifier(random_state=0).fit(X, y, sample_weight=weight))


def test_class_weights_do_not_depend_on_how_a_stream_is_split():
    X, y = many(12)
    settings = {"class_weight": {"fig": 4.0, "date": 0.5}}
    whole = CWClassifier(**settings).partial_fit(X, y)
    pieces = CWClassifier(**settings)
    for row, label in zip(X, y, strict=True):
        pieces.partial_fit(row[np.newaxis], [label])
    assert same_model(whole, pieces)


def test_average_of_many_classes():
    X, y = many(11)
    model = PerceptronClassifier(dtype="float64", shuffle=False, max_iter=2).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    W, history = np.zeros((5, 7)), []
    rows = np.column_stack([np.ones(len(X)), X])
    for x, c in zip(np.tile(rows, (2, 1)), np.tile(codes, 2), strict=True):
        scores = W @ x
        rivals = np.delete(np.arange(5), c)
        best = rivals[np.argmax(scores[rivals])]
        if scores[c] <= scores[best]:
            W = W.copy()
            W[c] += x
            W[best] -= x
        history.append(W)
    expected = np.mean(history, axis=0)
    assert np.allclose(model.coef_, expected[:, 1:], rtol=1e-10)
    assert np.allclose(model.intercept_, expected[:, 0], rtol=1e-10)


def test_naming_many_classes_does_not_copy_all_labels_for_each(monkeypatch):
    calls, concatenate = [], np.concatenate

    def counted(*arguments, **options):
        calls.append(1)
        return concatenate(*arguments, **options)

    monkeypatch.setattr(np, "concatenate", counted)
    model = AROWClassifier().partial_fit(np.eye(2), [5, 7], classes=np.arange(1000))
    assert model.classes_.tolist() == list(range(1000))
    assert len(calls) < 100


@pytest.mark.parametrize("label", ["\ud83d", "a \udc00", "\ud83d\ude00"])
def test_a_label_that_no_file_can_hold_is_refused_before_it_is_learned(label):
    X, said = np.eye(2), r"the label '.*\\u.*' holds half a character \(a lone surrogate\)"
    for learn in (
        lambda: AROWClassifier().fit(X, ["a", label]),
        lambda: AROWClassifier().partial_fit(X, ["a", label]),
        lambda: AROWClassifier().partial_fit(X, ["a", "b"], classes=["a", "b", label]),
        lambda: TextClassifier().fit(["one", "two"], ["a", label]),
        lambda: TextClassifier().learn_one("one", label),
    ):
        with pytest.raises(DataError, match=said):
            learn()
    with pytest.raises(ModelFileError, match="cannot save the label"):
        labels_to_json(np.array(["a", label]))
    with pytest.raises(ModelFileError, match=r"its label .* holds half a character"):
        labels_from_json({"dtype": "<U9", "values": ["a", label]}, 1.0)
