"""r="auto": AROW's r follows how far scores miss, against slow NumPy, and keeps every promise."""

import numpy as np
import pytest
from cases import concepts, several, stream
from oracle import Oracle, distance
from oracle_many import ManyOracle

from sureline import AROWClassifier, CWClassifier, TextClassifier, load, merge
from sureline.errors import InvalidParameter
from sureline.kernels.noise import follow_error, noise_of

COVARIANCES = ("diagonal-kl", "diagonal-l2", "diagonal-exact", "full")


class Misses:
    """R after margins so far, as the head of kernels/noise.py has it."""

    def __init__(self):
        self.margins = []

    def r(self, m):
        self.margins.append(np.clip(m, -2.0, 2.0))
        wrong = sum(m**2 for m in self.margins if m < 0)
        return 6.0 * np.sqrt((wrong + 0.25) / (sum(m**2 for m in self.margins) + 1.0))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_two_classes_equal_the_oracle(covariance):
    compared = 0
    for seed in range(several(6, 2)):
        X, y = stream(seed, noise=0.2)[:2]
        y = (np.asarray(y) > 0).astype(int)
        oracle, misses = Oracle("arow", covariance, {"r": 1.0}, X.shape[1]), Misses()
        for x, label in zip(X, y, strict=True):
            sign = 2 * label - 1
            oracle.q["r"] = misses.r(sign * (oracle.mu[1:] @ x + oracle.mu[0]))
            oracle.learn(x, sign)
        if oracle.closest < 1e-9:
            continue
        compared += 1
        ours = AROWClassifier(r="auto", covariance=covariance, dtype="float64")
        ours.partial_fit(X, y, classes=[0, 1])
        assert ours.n_mistakes_ == oracle.mistakes
        assert distance(ours.coef_[0], oracle.mu[1:]) < 1e-9
        assert ours.r_ == pytest.approx(oracle.q["r"], rel=1e-12)
    assert compared


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("scheme", ["sequential", "one-vs-rest"])
def test_many_classes_equal_the_oracle(covariance, scheme):
    compared = 0
    for seed in range(several(4, 2)):
        X, y = concepts(seed, 4, 30)
        oracle, misses = ManyOracle("arow", covariance, {"r": 1.0}, 4, 4, 1, scheme, True), Misses()
        for x, label in zip(X, y, strict=True):
            scores = oracle.scores(np.concatenate([[1.0], x]))
            m = scores[label]
            if scheme == "sequential":
                m -= np.delete(scores, label).max()
            oracle.q["r"] = misses.r(m)
            oracle.learn(x, label, 1.0)
        ours = AROWClassifier(r="auto", covariance=covariance, scheme=scheme, dtype="float64")
        ours.partial_fit(X, y, classes=range(4))
        near = min(part.closest for part in oracle.parts)
        if (near if scheme == "one-vs-rest" else oracle.closest) < 1e-9:
            continue
        compared += 1
        assert distance(ours.coef_, [part.mu[1:] for part in oracle.parts]) < 1e-8
        assert ours.r_ == pytest.approx(oracle.q["r"], rel=1e-9)
    assert compared


def rows(seed=0, n=300, d=12, noise=0.2, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    y = (X @ rng.standard_normal((d, classes))).argmax(axis=1)
    flipped = rng.random(n) < noise
    return X, np.where(flipped, rng.integers(0, classes, n), y)


def follow(margins):
    """What r is after these margins."""
    errors, r = np.zeros(2), 0.0
    for m in margins:
        r = follow_error(errors, m)
    assert r == noise_of(errors)
    return r


def test_scores_far_on_the_wrong_side_count_as_noise_and_uncertain_ones_do_not():
    assert noise_of(np.zeros(2)) == 3.0
    noisy, unsure = follow([1.0, 1.0, 1.0, -1.0] * 5000), follow([1.0, 1.0, 1.0, -0.1] * 5000)
    assert noisy == pytest.approx(6 * np.sqrt(0.25), rel=1e-3)
    assert unsure == pytest.approx(6 * np.sqrt(0.01 / 3.01), rel=1e-2)
    assert follow([0.1, 0.1, 0.1, -0.1] * 5000) == pytest.approx(noisy, rel=1e-2)


@pytest.mark.parametrize("m", [np.inf, -np.inf, np.nan, 1e300])
def test_no_single_score_counts_for_much(m):
    before = [1.0, -1.0] * 50
    assert follow([*before, m]) == pytest.approx(follow(before), rel=0.03)


def test_noisy_labels_give_a_larger_r():
    found = []
    for noise in (0.0, 0.2, 0.4):
        X, y = rows(noise=noise, n=2000, classes=2)
        found.append(AROWClassifier(r="auto").partial_fit(X, y).r_)
    assert found[0] < found[1] < found[2]


@pytest.mark.parametrize("scheme", ["sequential", "one-vs-rest"])
@pytest.mark.parametrize("classes", [2, 3])
def test_parts_and_all_at_once_are_the_same(classes, scheme):
    X, y = rows(classes=classes)
    whole = AROWClassifier(r="auto", scheme=scheme).partial_fit(X, y, classes=range(classes))
    parts = AROWClassifier(r="auto", scheme=scheme)
    for part in np.split(np.arange(300), [1, 2, 70, 71, 200]):
        parts.partial_fit(X[part], y[part], classes=range(classes))
    one = AROWClassifier(r="auto", scheme=scheme).partial_fit(X[:1], y[:1], classes=range(classes))
    for i in range(1, 300):
        one.partial_fit(X[i : i + 1], y[i : i + 1])
    for other in (parts, one):
        np.testing.assert_array_equal(other.coef_, whole.coef_)
        np.testing.assert_array_equal(other.variance_, whole.variance_)
        assert other.r_ == whole.r_


def test_the_first_pass_determines_r():
    X, y = rows(classes=2)
    once = AROWClassifier(r="auto", shuffle=False, max_iter=1).fit(X, y)
    often = AROWClassifier(r="auto", shuffle=False, max_iter=3).fit(X, y)
    assert often.r_ == once.r_
    assert often.n_iter_ == 3


def test_a_number_stays_what_it_is():
    X, y = rows(classes=2)
    assert AROWClassifier(r=0.25).fit(X, y).r_ == 0.25


def test_saved_and_loaded_it_learns_on(tmp_path):
    X, y = rows(classes=2)
    model = AROWClassifier(r="auto").partial_fit(X[:100], y[:100])
    model.save(tmp_path / "m.sureline")
    back = load(tmp_path / "m.sureline")
    assert back.r == "auto"
    model.partial_fit(X[100:], y[100:])
    back.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(back.coef_, model.coef_)
    assert back.r_ == model.r_


def test_errors_of_merged_models_add_up():
    X, y = rows(classes=2)
    parts = [
        AROWClassifier(r="auto").partial_fit(X[k::3], y[k::3], classes=[0, 1]) for k in range(3)
    ]
    merged = merge(parts)
    total = np.sum([part.model_.state.noise_sums for part in parts], axis=0)
    np.testing.assert_allclose(merged.model_.state.noise_sums, total, rtol=1e-12)
    assert min(part.r_ for part in parts) < merged.r_ < max(part.r_ for part in parts)
    with pytest.raises(ValueError, match=r"r is 'auto' in model 1 and 1\.0"):
        merge([parts[0], AROWClassifier(r=1.0).fit(X, y)])


def test_threads_agree_on_r():
    X, y = rows(n=3000, classes=2)
    one, two = (AROWClassifier(r="auto", n_jobs=2, random_state=0).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.r_ == two.r_
    alone = AROWClassifier(r="auto", random_state=0).fit(X, y)
    # Every row counts once, though with the score of a copy that has learned fewer rows.
    assert one.model_.state.noise_sums[1] == pytest.approx(
        alone.model_.state.noise_sums[1], rel=0.2
    )


def test_texts_follow_too():
    texts = ["good fun", "bad plot", "good plot", "bad fun", "very good", "very bad"] * 5
    model = TextClassifier(AROWClassifier(r="auto"), random_state=0).fit(
        texts, [1, 0, 1, 0, 1, 0] * 5
    )
    assert model.predict(["good", "bad"]).tolist() == [1, 0]
    fixed = TextClassifier(AROWClassifier(r=1.0), random_state=0).fit(texts, [1, 0, 1, 0, 1, 0] * 5)
    assert (model.variance_ < fixed.variance_).any()


def test_only_what_can_follow_may():
    X, y = rows(classes=2)
    with pytest.raises(InvalidParameter, match=r"r must be a number in \(0, inf\) or 'auto', got"):
        AROWClassifier(r="best").fit(X, y)
    with pytest.raises(InvalidParameter, match="confidence must be a number in"):
        CWClassifier(confidence="auto").fit(X, y)
