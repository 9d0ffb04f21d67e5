"""Forgetting with a half-life, against a model that forgets everywhere after every step."""

import copy

import numpy as np
import pytest
from cases import make
from texts import texts_of

import sureline
from sureline import AROWClassifier, Drift, InvalidParameter, TextClassifier, merge
from sureline.rules import rules

HALF_LIFE = 48  # steps of three examples
STEP, FACTOR = 3, 2.0 ** (-3 / 48)
FORGETFUL = [
    pytest.param(rule, covariance, id=f"{rule.name}-{covariance}")
    for rule in rules().values()
    if rule.kernel is None and not rule.average
    for covariance in rule.covariances
    if covariance != "full"
]
ONLY = Drift(false_alarms=None, half_life=HALF_LIFE)


def halved(counts):
    """Whole numbers halved, halves rounded to even ones."""
    return np.round(counts / 2.0).astype(counts.dtype)


def forget_everywhere(state, number):
    """What a step of forgetting does to all of a state, straight from the definition."""
    columns = slice(0, state.used)
    mean = state.table[:, 0, columns].astype(np.float64)
    if state.table.shape[1] == 1:
        state.table[:, 0, columns] = mean * FACTOR
    else:
        prior = state.layout.initial_variance
        variance = state.table[:, 1, columns].astype(np.float64)
        precision = 1 / prior + FACTOR * (1 / variance - 1 / prior)
        state.table[:, 0, columns] = FACTOR * mean / variance / precision
        state.table[:, 1, columns] = 1 / precision
    state.outcomes *= FACTOR
    state.noise_sums *= FACTOR
    if number % 16 == 0:
        state.class_counts[:] = halved(state.class_counts)
        state.class_tokens[:] = halved(state.class_tokens)


def learned_eagerly(model, X, y, classes):
    """The model of drift=None that forgets everywhere before every step."""
    for row in range(0, len(y), STEP):
        if row:
            forget_everywhere(model.model_.state, row // STEP)
        model.partial_fit(X[row : row + STEP], y[row : row + STEP], classes=classes)
    return model


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("rule", "covariance"), FORGETFUL)
def test_forgetting_when_touched_is_forgetting_everywhere(rule, covariance, classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12)) * (rng.random((200, 12)) < 0.2)
    y, labels = rng.integers(0, classes, 200), np.arange(classes)
    settings = {"dtype": "float64"}
    eager = learned_eagerly(make(rule, covariance, **settings), X, y, labels)
    lazy = make(rule, covariance, drift=ONLY, **settings).partial_fit(X, y, classes=labels)
    np.testing.assert_allclose(lazy.coef_, eager.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lazy.decision_function(X), eager.decision_function(X), atol=1e-9)
    if covariance != "identity":
        np.testing.assert_allclose(lazy.variance_, eager.variance_, rtol=1e-9)
        found, expected = lazy.decision_distribution(X), eager.decision_distribution(X)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighting", ["nb", "idf", None])
def test_texts_forget_their_counts_too(weighting, classes):
    texts, labels = texts_of(240, classes)
    every = np.unique(labels)
    estimator = AROWClassifier(r=0.5, scheme="one-vs-rest", dtype="float64")
    settings = {"estimator": estimator, "weighting": weighting, "calibration": None}
    eager = TextClassifier(drift=None, **settings)
    learned_eagerly(eager, texts, labels, every)
    lazy = TextClassifier(drift=ONLY, **settings).partial_fit(texts, labels, classes=every)
    np.testing.assert_allclose(lazy.coef_, eager.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(lazy.predict_proba(texts), eager.predict_proba(texts), atol=1e-8)
    for text in texts[:20]:
        assert lazy.predict_one(text) == eager.predict_one(text)
        ours, theirs = lazy.explain(text), eager.explain(text)
        assert ours.label == theirs.label
    best = [each.top_features(every[0], 5) for each in (lazy, eager)]
    assert [each.feature for each in best[0]] == [each.feature for each in best[1]]


def kept(model):
    """All that is learned, and when each feature last forgot."""
    state = model.model_.state
    arrays = (state.table, state.class_counts, state.last_changed)
    parts = [each[: state.extent + 1, ..., : max(state.used, 2)].tobytes() for each in arrays]
    totals = state.class_tokens[: state.classes], state.outcomes[:, : state.classes]
    return parts, [each.tobytes() for each in totals], state.noise_sums.tobytes()


@pytest.mark.parametrize("classes", [2, 3])
def test_any_split_forgets_alike(classes):
    texts, labels = texts_of(400, classes)
    weight = np.where(np.arange(400) % 7, 1.0, 0.0)
    settings = {"drift": Drift(half_life=50)}
    whole = TextClassifier(**settings).partial_fit(texts, labels, sample_weight=weight)
    parts = TextClassifier(**settings)
    for some in np.split(np.arange(400), [1, 2, 50, 51, 111, 300]):
        parts.partial_fit([texts[k] for k in some], labels[some], sample_weight=weight[some])
    assert kept(parts) == kept(whole)
    one = TextClassifier(**settings)
    for text, label in zip(texts, labels, strict=True):
        one.learn_one(text, label)
    assert kept(one) == kept(TextClassifier(**settings).partial_fit(texts, labels))
    assert kept(one) == kept(TextClassifier(n_jobs=2, **settings).partial_fit(texts * 1, labels))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_saved_model_forgets_on(classes, tmp_path):
    texts, labels = texts_of(300, classes)
    settings = {"drift": Drift(half_life=50)}
    whole = TextClassifier(**settings).partial_fit(texts, labels)
    first = TextClassifier(**settings).partial_fit(texts[:170], labels[:170])
    first.save(tmp_path / "m.sureline")
    first.save(tmp_path / "compact.sureline", compact=True)
    loaded = sureline.load(tmp_path / "m.sureline")
    assert loaded.drift.half_life == 50
    assert loaded.predict_proba(texts).tobytes() == first.predict_proba(texts).tobytes()
    compact = sureline.load(tmp_path / "compact.sureline")
    np.testing.assert_allclose(
        compact.decision_function(texts), first.decision_function(texts), atol=0.001
    )
    loaded.partial_fit(texts[170:], labels[170:])
    assert kept(loaded) == kept(whole)


def test_predictions_leave_the_model_as_it_was():
    texts, labels = texts_of(200, 3)
    model = TextClassifier(drift=Drift(half_life=20)).partial_fit(texts, labels)
    before = copy.deepcopy(model)
    model.predict_proba(texts)
    model.predict_one(texts[0])
    model.explain(texts[0])
    assert kept(model) == kept(before)


def test_what_was_learned_long_ago_counts_for_nothing():
    texts, labels = texts_of(100, 2)
    model = TextClassifier(drift=Drift(false_alarms=None, half_life=10))
    model.partial_fit(texts, labels)
    known = np.abs(model.coef_).max()
    others = [f"other{k % 7} words{k % 5}" for k in range(1000)]
    model.partial_fit(others, np.array(["class 00", "class 01"] * 500))
    width = len(model.get_feature_names_out())
    names = list(model.get_feature_names_out())
    old = [names.index(name) for name in names if name.startswith("word") and name[4:].isdigit()]
    assert width > len(old) > 3
    assert np.abs(model.coef_[:, old]).max() < 1e-6 * known
    np.testing.assert_allclose(model.variance_[:, old], 1.0, rtol=1e-3)


def test_merged_models_have_forgotten_what_was_due():
    texts, labels = texts_of(300, 3)
    every, settings = np.unique(labels), {"drift": Drift(false_alarms=None, half_life=40)}
    first = TextClassifier(**settings).partial_fit(texts[:150], labels[:150], every)
    second = TextClassifier(**settings).partial_fit(texts[150:], labels[150:], every)
    merged = merge([first, second])
    swapped = merge([second, first])
    np.testing.assert_allclose(merged.predict_proba(texts), swapped.predict_proba(texts), atol=1e-6)
    merged.partial_fit(texts[:50], labels[:50])
    other = TextClassifier(drift=Drift(half_life=50)).partial_fit(texts, labels)
    with pytest.raises(InvalidParameter, match="half_life is 40 in model 1 and 50 in model 2"):
        merge([first, other])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AROWClassifier(covariance="full", drift=ONLY), "half_life=48 needs a diagonal covariance"),
        (sureline.SOPClassifier(drift=ONLY), "the rule sop cannot forget with half_life=48; these"),
        (sureline.PerceptronClassifier(drift=ONLY), "averaged-perceptron cannot forget"),
    ],
)
def test_who_cannot_forget_says_so(model, message):
    with pytest.raises(InvalidParameter, match=message):
        model.partial_fit(np.eye(4), [0, 1, 0, 1])


def test_rows_without_an_order_are_refused():
    texts, labels = texts_of(60, 2)
    with pytest.raises(InvalidParameter, match="half_life=48 is about examples in their order"):
        TextClassifier(drift=ONLY).fit(texts, labels)
    with pytest.raises(InvalidParameter, match="use partial_fit, or fit with shuffle=False"):
        AROWClassifier(drift=ONLY).fit(np.eye(4), [0, 1, 0, 1])
    fitted = TextClassifier(drift=ONLY, shuffle=False).fit(texts, labels)
    streamed = TextClassifier(drift=ONLY).partial_fit(texts, labels, classes=np.unique(labels))
    assert kept(fitted) == kept(streamed)


def test_a_half_life_cannot_change_while_a_model_learns():
    texts, labels = texts_of(60, 2)
    model = TextClassifier().partial_fit(texts, labels).set_params(drift=ONLY)
    with pytest.raises(InvalidParameter, match="one half_life, which was None and would be 48"):
        model.partial_fit(texts, labels)
