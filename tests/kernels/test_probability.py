"""The probability of each of many classes: sums, sampling, two classes, extreme deviations."""

import mpmath
import numpy as np
import pytest
from cases import make, several
from scipy.special import ndtr

from sureline import AROWClassifier, CWClassifier, DataError, InvalidParameter
from sureline.evaluation import label_entropy
from sureline.model.learner import chances
from sureline.rules import rules


def test_two_classes_agree_with_phi():
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((several(2000, 50), 2)) * 3
    deviation = 10.0 ** rng.uniform(-3, 3, mean.shape)
    expected = ndtr((mean[:, 1] - mean[:, 0]) / np.hypot(*deviation.T))
    assert np.abs(chances(mean, deviation)[:, 1] - expected).max() < 1e-12


@pytest.mark.parametrize("classes", [3, 5, 20])
@pytest.mark.parametrize("decades", [0, 2, 6])
def test_agrees_with_sampling(classes, decades):
    rng = np.random.default_rng(classes + decades)
    mean = rng.standard_normal((1, classes))
    deviation = 10.0 ** rng.uniform(-decades, 0, mean.shape)
    draws = several(1_000_000, 20_000)
    wins = np.zeros(classes)
    for _ in range(10):
        scores = mean + deviation * rng.standard_normal((draws // 10, classes))
        wins += np.bincount(np.argmax(scores, axis=1), minlength=classes)
    found = chances(mean, deviation)[0]
    error = np.sqrt(found * (1 - found) / draws)
    assert (np.abs(wins / draws - found) <= 5 * error + 1e-9).all()


@pytest.mark.parametrize("classes", [3, 10, 100])
def test_sums_to_one_before_and_after_scaling(classes):
    rng = np.random.default_rng(classes)
    rows = several(50, 3)
    mean = rng.standard_normal((rows, classes))
    deviation = 10.0 ** rng.uniform(-6, 0, mean.shape)
    found = chances(mean, deviation)
    assert (found >= 0).all()
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-12
    again = chances(1e6 * mean + 5e6, 1e6 * deviation)
    assert np.abs(again - found).max() < 1e-9


def test_agrees_with_an_integral_of_30_digits():
    rng = np.random.default_rng(1)
    with mpmath.workdps(30):
        for _ in range(5):
            m, s = rng.standard_normal(4), 10.0 ** rng.uniform(-1, 0.5, 4)
            ends = sorted(
                float(a + b * t) for a, b in zip(m, s, strict=True) for t in range(-9, 10, 3)
            )

            def density(z, m=m, s=s):
                others = [mpmath.ncdf((z - m[r]) / s[r]) for r in range(1, 4)]
                return mpmath.npdf(z, m[0], s[0]) * mpmath.fprod(others)

            expected = float(mpmath.quad(density, ends))
            found = chances(m[np.newaxis], s[np.newaxis])[0, 0]
            assert found == pytest.approx(expected, abs=1e-11)


def test_certain_scores():
    mean = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    zero = np.zeros_like(mean)
    assert chances(mean, zero).tolist() == [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3]
    one_unsure = np.array([[0.0, 1.0, 0.0]])
    found = chances(np.array([[0.5, 0.0, -5.0]]), one_unsure)[0]
    assert found == pytest.approx([ndtr(0.5), ndtr(-0.5), 0.0], abs=1e-8)


def example(classes=4, n=300):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 6))
    return X, np.argmax(
        X @ rng.standard_normal((6, classes)) + rng.standard_normal((n, classes)), 1
    )


@pytest.mark.parametrize("name", ["cw-variance", "cw-stdev", "arow", "scw-i", "nherd"])
def test_estimators_give_distributions(name):
    X, y = example(n=several(300, 60))
    for covariance in rules()[name].covariances:
        model = make(rules()[name], covariance, random_state=0).fit(X, y)
        mean, variance = model.decision_distribution(X)
        assert mean.shape == variance.shape == (len(X), 4)
        assert np.array_equal(mean, model.decision_function(X))
        found = model.predict_proba(X)
        assert np.allclose(found, chances(mean, np.sqrt(variance)), atol=1e-9)
        sampled = model.predict_proba(X[:20], method="sampling", n_samples=2000, random_state=0)
        assert np.abs(sampled - found[:20]).max() < 0.06
        again = model.predict_proba(X[:20], method="sampling", n_samples=2000, random_state=0)
        assert np.array_equal(sampled, again)
        assert np.allclose(sampled.sum(axis=1), 1)


def test_sampling_of_two_classes_and_its_errors():
    X, y = example(2)
    model = CWClassifier(random_state=0).fit(X, y)
    sampled = model.predict_proba(X, method="sampling", n_samples=5000, random_state=1)
    assert np.abs(sampled - model.predict_proba(X)).max() < 0.04
    with pytest.raises(InvalidParameter, match="method must be 'integral' or 'sampling', got 'x'"):
        model.predict_proba(X, method="x")
    with pytest.raises(InvalidParameter, match="n_samples must be a whole number of at least 1"):
        model.predict_proba(X, method="sampling", n_samples=0)


def test_ranking_lists_the_best_classes_first():
    X, y = example()
    labels = np.array(["d", "a", "c", "b"])
    model = AROWClassifier(random_state=0).fit(X, labels[y])
    scores = model.decision_function(X)
    ranked, values = model.predict_ranking(X, 2)
    assert ranked.shape == values.shape == (len(X), 2)
    assert np.array_equal(ranked[:, 0], model.predict(X))
    assert np.array_equal(values[:, 0], scores.max(axis=1))
    assert np.array_equal(values[:, 1], np.sort(scores, axis=1)[:, -2])
    everything, _ = model.predict_ranking(X, 99)
    assert everything.shape == (len(X), 4)
    two = AROWClassifier(random_state=0).fit(X, y > 1)
    ranked, values = two.predict_ranking(X, 2)
    assert np.array_equal(ranked[:, 0], two.predict(X))
    assert np.allclose(values[:, 0] - values[:, 1], np.abs(two.decision_function(X)))
    with pytest.raises(InvalidParameter, match="k must be a whole number of at least 1, got 0"):
        model.predict_ranking(X, 0)


def test_entropy_of_labels():
    X, y = example()
    model = AROWClassifier(random_state=0).fit(X, y)
    found = label_entropy(model.predict_proba(X))
    assert found.shape == (len(X),)
    assert (found >= 0).all()
    assert (found <= np.log(4) + 1e-12).all()
    assert label_entropy(np.full((1, 4), 0.25)) == pytest.approx(np.log(4))
    for wrong in ([0.5, 0.5], [[-0.1, 1.1]], [[np.nan, 1.0]]):
        with pytest.raises(DataError, match="label_entropy takes an array of probabilities"):
            label_entropy(wrong)
