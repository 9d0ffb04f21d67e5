"""Hard numbers: a million noisy examples, tiny and huge values, full covariance, probability."""

import numpy as np
import pytest
from cases import CASES, make, several, stream
from scipy.special import ndtr
from scipy.stats import norm

from sureline import (
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    PerceptronClassifier,
)
from sureline.rules import rules

MILLION = several(1_000_000, 2_000)


@pytest.mark.parametrize("covariance", rules()["cw-stdev"].covariances)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cw_stdev_survives_a_million_noisy_examples(covariance, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((MILLION // 4, 8))
    y = np.where(X @ rng.standard_normal(8) > 0, 1, -1)
    y[rng.random(y.size) < 0.2] *= -1
    model = CWClassifier(covariance=covariance, dtype=dtype, confidence=norm.cdf(1.0), max_iter=4)
    model.set_params(random_state=0).fit(X, y)
    assert model.n_seen_ == MILLION // 4 * 4
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.variance_).all()
    assert (model.variance_ > 0).all()
    mean, variance = model.decision_distribution(X[:1000])
    assert np.isfinite(mean).all()
    assert (variance > 0).all()
    assert model.score(X, y) > several(0.6, 0.5)


@pytest.mark.parametrize("scheme", ["sequential", "parallel", "exact"])
@pytest.mark.parametrize("covariance", rules()["cw-stdev"].covariances)
def test_cw_stdev_survives_noise_with_many_classes(covariance, scheme):
    if covariance not in rules()["cw-stdev"].schemes[scheme]:
        pytest.skip("no such combination")
    rng = np.random.default_rng(3)
    X = rng.standard_normal((several(50_000, 300), 6)).astype(np.float32)
    y = rng.integers(0, 4, len(X))
    model = CWClassifier(covariance=covariance, scheme=scheme, competitors=2, max_iter=2)
    model.set_params(random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.variance_).all()
    assert (model.variance_ > 0).all()
    assert np.allclose(model.predict_proba(X[:200]).sum(axis=1), 1)


@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_every_rule_survives_noise(rule, covariance):
    rng = np.random.default_rng(1)
    n = several(20_000, 500)
    X = rng.standard_normal((n, 8)).astype(np.float32)
    y = rng.integers(0, 2, n)
    model = make(rule, covariance, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    if hasattr(model, "variance_"):
        assert (model.variance_ > 0).all()
        assert np.isfinite(model.variance_).all()


def test_full_covariance_is_symmetric_to_the_bit_and_positive():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((several(2000, 100), 40)) * rng.uniform(0.01, 10, 40)
    y = (X @ rng.standard_normal(40) > 0).astype(int)
    for dtype in ("float32", "float64"):
        for rule in rules().values():
            if "full" in rule.covariances:
                model = make(rule, "full", dtype=dtype, max_iter=2, random_state=0).fit(X, y)
                whole = model.model_.state.covariance[0]
                assert np.array_equal(whole, whole.T)
                assert np.array_equal(model.covariance_[0], whole[1:, 1:])
                assert (np.diag(whole) > 0).all()
                smallest = np.linalg.eigvalsh(whole.astype(np.float64))[0]
                assert smallest > -1e-4 * np.trace(whole) * np.finfo(dtype).eps * 1e4


def test_more_memory_than_the_limit_is_refused_with_its_size():
    X, y = np.eye(2, 3000), [0, 1]
    with pytest.raises(InvalidParameter) as refusal:
        AROWClassifier(covariance="full", memory_limit_gb=0.01).fit(X, y)
    assert str(refusal.value) == (
        "AROWClassifier: 3,000 features with covariance='full' would take 0.0671 GB, more than "
        "memory_limit_gb=0.01; raise memory_limit_gb, or choose a diagonal covariance"
    )
    with pytest.raises(InvalidParameter, match=r"would take 2\.24e-05 GB.*or use fewer features"):
        AROWClassifier(memory_limit_gb=1e-5).fit(X, y)


@pytest.mark.parametrize("rule", ["cw-variance", "cw-stdev", "arow", "scw-i", "scw-ii", "nherd"])
def test_probability_is_phi_of_mean_over_deviation(rule):
    X, y = stream(3)
    for covariance in rules()[rule].covariances:
        model = make(rules()[rule], covariance, random_state=0).fit(X, y)
        mean, variance = model.decision_distribution(X)
        expected = ndtr(mean / np.sqrt(variance))
        assert np.allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-14, atol=0)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-15)
        assert np.array_equal(model.predict(X) == 1.0, expected > 0.5)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("covariance", ["diagonal-kl", "full"])
def test_probability_where_the_variance_underflows(covariance):
    X, y = stream(4)
    model = AROWClassifier(dtype="float64", fit_intercept=False, covariance=covariance).fit(X, y)
    X = X[np.abs(X).sum(axis=1) > 0]
    expected = model.predict_proba(X)
    tiny = X * 1e-180  # the squares are 0 in float64, the probabilities are what they were
    assert np.allclose(model.predict_proba(tiny), expected, rtol=1e-12)
    huge = X * 1e180
    assert np.allclose(model.predict_proba(huge), expected, rtol=1e-12)
    assert model.predict_proba(np.zeros((1, X.shape[1]))).tolist() == [[0.5, 0.5]]


def test_probability_of_a_certain_score():
    model = AROWClassifier(fit_intercept=False).fit([[1.0], [-1.0]], [1, 0])
    model.model_.state.table[:, 1] = 0.0  # no doubt left
    assert model.predict_proba([[2.0], [-2.0], [0.0]]).tolist() == [[0, 1], [1, 0], [0.5, 0.5]]


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_overflow_is_reported_and_not_learned_silently(rule, covariance):
    X = np.array([[1e200, -1e200], [-1e200, 1e200], [1e200, 1e200]])
    told = r"learning row \d overflowed float64.*scale the features"
    for labels in ([0, 1, 1], [0, 1, 2]):
        with pytest.raises(DataError, match=told):
            make(rule, covariance, dtype="float64", random_state=0).fit(X, labels)


@pytest.mark.parametrize("labels", [[0, 1] * 6, [0, 1, 2] * 4], ids=["two", "three"])
def test_an_average_that_overflows_is_reported(labels):
    """The sums behind an average grow with the number of examples, the weights need not."""
    X = np.full((12, 2), 1e38, np.float32)
    model = PerceptronClassifier(average=True, shuffle=False, max_iter=1)
    with pytest.raises(DataError, match=r"learning row \d+ overflowed float32"):
        model.fit(X, labels)


def test_values_too_large_for_float32_are_refused_at_the_door():
    with pytest.raises(ValueError, match="too large for dtype"):
        PAClassifier().fit([[1e39], [1.0]], [0, 1])


def test_a_covariance_that_does_not_exist_names_those_that_do():
    from sureline import SCWClassifier

    with pytest.raises(InvalidParameter) as refusal:
        SCWClassifier(covariance="diagonal-exact").fit([[0.0], [1.0]], [0, 1])
    assert str(refusal.value) == (
        "SCWClassifier: the rule scw-i has no covariance='diagonal-exact'; choose one of "
        "'diagonal-kl', 'diagonal-l2', 'full'"
    )


def test_larger_initial_variance_and_confidence_are_one_knob_for_cw_variance():
    X, y = stream(5)
    # (φ, a) and (φ/c, c²a) give means that differ by the factor c: only φ√a matters.
    phi = norm.ppf(0.9)
    one = CWClassifier(constraint="variance", confidence=0.9, dtype="float64", random_state=0)
    other = CWClassifier(
        constraint="variance",
        confidence=norm.cdf(phi / 2),
        initial_variance=4.0,
        dtype="float64",
        random_state=0,
    )
    scores = one.fit(X, y).decision_function(X), other.fit(X, y).decision_function(X)
    assert np.array_equal(np.sign(scores[0]), np.sign(scores[1]))
    ratio = scores[1] / scores[0]
    assert np.allclose(ratio, ratio[0])


@pytest.mark.parametrize("covariance", rules()["cw-stdev"].covariances)
def test_cw_stdev_does_not_see_the_scale_of_examples(covariance):
    X, y = stream(6)
    X = X[np.abs(X).sum(axis=1) > 0]
    y = np.where(X @ np.arange(1.0, 7.0) > 0, 1, -1)
    scale = np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    settings = {"covariance": covariance, "fit_intercept": False, "dtype": "float64"}
    one = CWClassifier(random_state=0, **settings).fit(X, y)
    other = CWClassifier(random_state=0, initial_variance=3.0, **settings).fit(X * scale, y)
    assert np.allclose(other.coef_ / np.sqrt(3), one.coef_, rtol=1e-6)
