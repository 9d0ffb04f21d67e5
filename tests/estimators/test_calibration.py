"""Calibrated probabilities: the calibrator against its formula, what is unknown, sets, novelty."""

import numpy as np
import pytest
from cases import several
from scipy.special import expit

from sureline import (
    AROWClassifier,
    CWClassifier,
    InvalidParameter,
    NHERDClassifier,
    PAClassifier,
    SCWClassifier,
    TextClassifier,
    load,
    merge,
)
from sureline.data import sms_spam
from sureline.kernels.calibration import FIRST, FIRST_UNSCALED, LOG_TAU, SCALE, H

TEXTS, LABELS = sms_spam()
FOREIGN = [
    "안녕하세요 오늘 회의 시간이 바뀌었습니다",
    "Здравствуйте как дела сегодня",
    "qzx vwj kfq",
]


def noisy(seed, n, classes, features=30):
    """Rows of classes that overlap, so that nobody can be sure of them."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).standard_normal((classes, features))
    y = rng.integers(0, classes, n)
    X = 0.35 * means[y] + rng.standard_normal((n, features)) * (rng.random((n, features)) < 0.6)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


# -- the formula -------------------------------------------------------------------------------


def chances_of(theta, m, known, rows):
    """The probabilities of the classes, and the derivatives of their logarithms."""
    a, b, tau = np.exp(theta[0]), theta[1], np.exp(theta[2])
    g = known / (known + tau)
    prior = np.log((rows + 0.5) / (rows.sum() + 0.5 * len(rows)))
    sigma = expit(a * m + b)
    z = (1 - g) * prior + g * np.log(sigma)
    p = np.exp(z - z.max())
    rest = g * (1 - sigma)
    return p / p.sum(), np.stack([a * m * rest, rest, g * (1 - g) * (prior - np.log(sigma))])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("covariance", ["diagonal-kl", "diagonal-l2", "full"])
def test_the_calibrator_makes_one_newton_step_per_row(covariance, classes):
    X, y = noisy(2, 60, classes)
    X[::7] = 0.0  # rows of which nothing can be known
    settings = {"scheme": "one-vs-rest", "dtype": "float64", "covariance": covariance}
    model = CWClassifier(calibration="online", **settings)
    slow = CWClassifier(**settings)
    theta, precision, rows = (
        np.array([*FIRST[:2], FIRST_UNSCALED]),
        np.zeros((3, 3)),
        np.zeros(classes),
    )
    touched = np.zeros(X.shape[1], bool)
    for x, label in zip(X, y, strict=True):
        m = np.zeros(classes)
        if hasattr(slow, "classes_"):
            found = slow.decision_function(x[np.newaxis])[0]
            m = np.array([-found, found]) if classes == 2 else found
            variances = slow.variance_
            touched = (variances < 1 - 1e-6).any(axis=0)
        known = np.count_nonzero(touched & (x != 0))
        p, slopes = chances_of(theta, m, known, rows)
        mean = slopes @ p
        precision = precision * (1 - 1 / 2000) + (slopes * p) @ slopes.T - np.outer(mean, mean)
        step = np.linalg.solve(precision + 5 * np.eye(3), slopes[:, label] - mean)
        theta = np.clip(theta + np.clip(step, -0.5, 0.5), [-3, -6, -4], [6, 6, 6])
        rows[label] += 1
        model.partial_fit(x[np.newaxis], [label], classes=range(classes))
        slow.partial_fit(x[np.newaxis], [label], classes=range(classes))
    state = model.model_.state
    np.testing.assert_allclose(state.calibrator[: LOG_TAU + 1], theta, rtol=1e-8)
    np.testing.assert_allclose(
        state.calibrator[H:], precision[np.triu_indices(3)], rtol=1e-7, atol=1e-9
    )
    np.testing.assert_array_equal(state.outcomes[0, :classes], rows)
    for x, found in zip(X[:9], model.predict_proba(X[:9]), strict=True):
        scores = model.decision_function(x[np.newaxis])[0]
        m = np.array([-scores, scores]) if classes == 2 else scores
        touched = (model.variance_ < 1 - 1e-6).any(axis=0)
        known = np.count_nonzero(touched & (x != 0))
        np.testing.assert_allclose(found, chances_of(theta, m, known, rows)[0], rtol=1e-9)


def test_unknown_words_change_no_probability_of_what_is_known():
    model = TextClassifier(random_state=0, ngrams=(1, 1)).fit(TEXTS[:1000], LABELS[:1000])
    known = model.predict_proba(["free prize call now"])
    np.testing.assert_allclose(
        model.predict_proba(["free qzx prize vwj call kfq now pqr"]), known, rtol=1e-5
    )


# -- nothing known -----------------------------------------------------------------------------

ESTIMATORS = {
    "default": None,
    "arow": AROWClassifier(),
    "rivals": CWClassifier(),
    "exact": NHERDClassifier(covariance="diagonal-exact"),
    "l2": SCWClassifier(covariance="diagonal-l2"),
}


@pytest.mark.parametrize("weighting", ["auto", "idf", None])
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_intercept_decided_what_an_unknown_text_is(name, weighting, classes):
    labels = LABELS[:600] if classes == 2 else [
        f"{label} {len(text) % 2}" if label == "ham" else label
        for text, label in zip(TEXTS[:600], LABELS[:600], strict=True)
    ]  # fmt: skip
    estimator = ESTIMATORS[name]
    model = TextClassifier(estimator, weighting=weighting, random_state=0).fit(TEXTS[:600], labels)
    shares = [np.mean(np.array(labels) == label) for label in model.classes_]
    for text in ("", *FOREIGN):
        np.testing.assert_allclose(model.predict_proba([text])[0], shares, atol=0.02)
        assert model.predict_one(text, min_confidence=max(shares) + 0.02) is None


def test_a_row_without_known_features_has_the_class_frequencies():
    X, y = noisy(4, 300, 3)
    y = np.where(y == 2, 0, y)
    model = AROWClassifier(calibration="online", covariance="full", random_state=0).fit(X, y)
    shares = np.bincount(y) / y.size
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 30)))[0], shares, atol=0.01)


# -- streams, files, merging -------------------------------------------------------------------


def calibration_of(model):
    state = model.model_.state
    return [state.calibrator, state.outcomes[:, : state.classes], state.novelty]


def test_any_split_of_a_stream_calibrates_alike(tmp_path):
    texts, labels = TEXTS[:300], LABELS[:300]
    whole = TextClassifier().partial_fit(texts, labels)
    parts = TextClassifier()
    for begin in range(0, 300, 7):
        parts.partial_fit(texts[begin : begin + 7], labels[begin : begin + 7])
        if begin == 140:
            parts.save(tmp_path / "m.sureline")
            parts = load(tmp_path / "m.sureline")
    single = TextClassifier()
    for text, label in zip(texts, labels, strict=True):
        single.learn_one(text, label)
    for other in (parts, single):
        for ours, theirs in zip(calibration_of(whole), calibration_of(other), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_first_class_counts_before_the_second_arrives():
    model = TextClassifier().partial_fit(["a b"] * 5, ["x"] * 5).partial_fit(["c d"], ["w"])
    np.testing.assert_array_equal(model.model_.class_rows, [1, 5])
    model.partial_fit(["e f"], ["y"])
    np.testing.assert_array_equal(model.model_.class_rows, [1, 5, 1])
    model.forget_class("x")
    np.testing.assert_array_equal(model.model_.class_rows, [1, 1])


def test_merged_calibrators_are_weighted_by_their_precision():
    parts = [TextClassifier().partial_fit(TEXTS[k:400:2], LABELS[k:400:2]) for k in range(2)]
    states = [part.model_.state for part in parts]
    matrices = []
    for state in states:
        matrix = np.zeros((3, 3))
        matrix[np.triu_indices(3)] = state.calibrator[H:]
        matrices.append(matrix + np.triu(matrix, 1).T)
    pull = sum(h @ s.calibrator[:3] for h, s in zip(matrices, states, strict=True))
    merged = merge(parts).model_.state
    np.testing.assert_allclose(
        merged.calibrator[:3], np.linalg.solve(sum(matrices), pull), rtol=1e-5
    )
    np.testing.assert_array_equal(merged.outcomes[0], sum(s.outcomes[0] for s in states))
    assert merged.outcomes[1:].sum() == pytest.approx(merged.novelty.sum())


def test_three_threads_and_one_calibrate_about_alike():
    one, three = (
        TextClassifier(random_state=0, n_jobs=jobs).fit(TEXTS[:1500], LABELS[:1500])
        for jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.model_.class_rows, three.model_.class_rows)
    ours, theirs = one.predict_proba(TEXTS[1500:2500]), three.predict_proba(TEXTS[1500:2500])
    assert np.abs(ours - theirs).mean() < 0.02


# -- later passes ------------------------------------------------------------------------------


def test_more_passes_made_probabilities_overconfident():
    """Scores grow from pass to pass, and the slope of the first pass was kept."""
    texts, labels = list(TEXTS), np.array(LABELS)
    order = np.random.default_rng(0).permutation(len(texts))
    train, test = order[:400], order[400:]
    noise = np.random.default_rng(1).random(len(texts)) < 0.25  # so that nobody can be sure
    labels = np.where(noise, np.where(labels == "spam", "ham", "spam"), labels)
    found = []
    for passes in (1, 10):
        model = TextClassifier(max_iter=passes, random_state=0)
        model.fit([texts[k] for k in train], labels[train])
        p = model.predict_proba([texts[k] for k in test])
        found.append(np.mean(p.max(axis=1)) - np.mean(p.argmax(axis=1) == (labels[test] == "spam")))
    assert found[1] < found[0] + 0.03
    assert model.model_.state.calibrator[SCALE] > 0


def test_one_pass_measures_no_weights():
    model = TextClassifier(max_iter=1, random_state=0).fit(TEXTS[:100], LABELS[:100])
    assert model.model_.state.calibrator[SCALE] == 0


# -- prediction sets ---------------------------------------------------------------------------


def covered(sets, truth):
    return np.mean([label in labels for labels, label in zip(sets, truth, strict=True)])


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("per_class", [False, True])
def test_sets_cover_as_often_as_asked(classes, per_class):
    X, y = noisy(0, several(8000, 3000), classes)
    Z, truth = noisy(1, 6000, classes)
    model = AROWClassifier(calibration="online", scheme="one-vs-rest", max_iter=1, random_state=0)
    model.fit(X, y)
    for coverage in (0.8, 0.9, 0.95):
        sets = model.predict_set(Z, coverage, per_class)
        assert covered(sets, truth) == pytest.approx(coverage, abs=0.02)
        if per_class:
            for k in range(classes):
                of_class = [labels for labels, label in zip(sets, truth, strict=True) if label == k]
                assert covered(of_class, [k] * len(of_class)) > coverage - 0.04


def test_sets_follow_labels_that_drift():
    rng = np.random.default_rng(0)
    X, y = noisy(0, several(30_000, 12_000), 3)
    y = np.where(rng.random(y.size) < np.linspace(0.0, 0.4, y.size), rng.integers(0, 3, y.size), y)
    model = AROWClassifier(calibration="online", scheme="one-vs-rest")
    hits, step = [], 200
    for begin in range(0, y.size, step):
        part = slice(begin, begin + step)
        if begin >= y.size // 3:
            hits.append(covered(model.predict_set(X[part], 0.9), y[part]))
        model.partial_fit(X[part], y[part])
    assert np.mean(hits) == pytest.approx(0.9, abs=0.02)


def test_sets_are_ordered_and_have_every_label_while_little_is_known():
    X, y = noisy(0, 12, 3)
    model = AROWClassifier(calibration="online", max_iter=1, random_state=0).fit(X, y)
    sets = model.predict_set(X, 0.95)
    best = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert all(len(labels) == 3 for labels in sets)
    assert [labels[0] for labels in sets] == best.tolist()


def test_sets_need_calibration_and_a_share():
    X, y = noisy(0, 50, 2)
    with pytest.raises(InvalidParameter, match="calibration='online'"):
        AROWClassifier().fit(X, y).predict_set(X)
    model = AROWClassifier(calibration="online").fit(X, y)
    for wrong in (0.0, 1.0, 95):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            model.predict_set(X, wrong)
    assert not hasattr(PAClassifier(), "predict_set")


# -- novelty -----------------------------------------------------------------------------------


def test_novelty_is_the_share_of_training_texts_that_were_less_unknown():
    model = TextClassifier(random_state=0).fit(TEXTS[:3000], LABELS[:3000])
    found = np.array([model.predict_one(text, details=True).novelty for text in TEXTS[3000:4000]])
    assert np.mean(found < 0.5) == pytest.approx(0.5, abs=0.12)  # more is known now than then
    assert np.mean(found > 0.95) == pytest.approx(0.05, abs=0.03)
    for text in ("", *FOREIGN):
        assert model.predict_one(text, details=True).novelty > 0.99


def test_details_of_one_text():
    model = TextClassifier(random_state=0).fit(TEXTS[:500], LABELS[:500])
    text = "free prize, call now"
    found = model.predict_one(text, details=True)
    assert found.label == model.predict_one(text) == "spam"
    assert found.probabilities == model.predict_proba_one(text)
    assert found.probability == found.probabilities["spam"]
    mean, variance = model.decision_distribution([text])
    assert (found.margin, found.variance) == (abs(mean[0]), variance[0])
    assert model.predict_one(text, min_confidence=1.0, details=True).label is None
    plain = TextClassifier(PAClassifier()).fit(TEXTS[:500], LABELS[:500])
    assert plain.predict_one(text, details=True)[1:2] == (None,)
    assert plain.predict_one(text, details=True).novelty is None


@pytest.mark.parametrize("options", [{}, {"weighting": "idf"}, {"features": "hash", "bits": 16}])
def test_a_compact_model_knew_words_that_were_counted_but_not_learned(options, tmp_path):
    model = TextClassifier(random_state=0, **options).fit(TEXTS[:1000], LABELS[:1000])
    model.save(tmp_path / "m.sureline", compact=True)
    texts = ["", *FOREIGN, *TEXTS[1000:1500]]
    found = load(tmp_path / "m.sureline").predict_proba(texts)
    np.testing.assert_allclose(found, model.predict_proba(texts), atol=0.002)
