"""The probabilities of a box and its bound: exact where they say so, and never too low."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from cases import several, stream
from scipy.special import ndtr

from sureline import BoxClassifier, InvalidParameter
from sureline.estimators import PACBayesBound
from sureline.estimators.box.bounds import GAMMAS, RADII
from sureline.kernels.box.probability import share_of_row


def exactly(m, a):
    """P(m + Σ a_k U_k > 0) as a sum over all corners, with enough digits."""
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for signs in product((-1, 1), repeat=len(a)):
            reach = m + mpmath.fsum(s * mpmath.mpf(x) for s, x in zip(signs, a, strict=True))
            total += math.prod(signs) * max(mpmath.mpf(0), reach) ** len(a)
        scale = mpmath.factorial(len(a)) * 2 ** len(a) * mpmath.fprod(map(mpmath.mpf, a))
        return float(total / scale)


def boxed(mu, sigma):
    """A two-class model without intercept whose box is the one given."""
    d = len(mu)
    model = BoxClassifier(fit_intercept=False, tol=10.0).fit(
        np.eye(max(d, 2))[:, :d], [0, 1] + [0] * (max(d, 2) - 2)
    )
    model.box_.boxes = np.zeros((1, d + 1, 2))
    model.box_.boxes[0, 1:] = np.column_stack([mu, sigma])
    return model


def test_the_integral_is_exact():
    rng = np.random.default_rng(0)
    for _ in range(several(300, 60)):
        n = rng.integers(1, 8)
        a = 10.0 ** rng.uniform(-rng.choice([0.0, 1.0, 4.0]), 0.0, n)  # equal, or far apart
        m = a.sum() * rng.uniform(-1.0, 1.0) * rng.choice([1.0, 0.3])
        share, exact = share_of_row(m, a, 100, 1e9, np.empty(101))
        assert exact
        assert share == pytest.approx(exactly(m, a), abs=1e-12)


def test_certain_rows_ties_and_one_feature():
    model = boxed([0.5, 0.0], [0.25, 0.1])
    X = [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 3.0], [0.5, 2.0]]
    second = model.predict_proba(X)[:, 1]
    assert second[:4].tolist() == [1.0, 0.0, 0.5, 0.5]
    assert second[4] == pytest.approx(exactly(0.25, [0.125, 0.2]))
    assert boxed([0.1], [0.4]).predict_proba([[2.0]])[0, 1] == pytest.approx(0.5 + 0.1 / 0.8)


@pytest.mark.parametrize(
    ("wide", "narrow", "worst"),
    [
        (33, 0, 1e-3),  # just too long to be exact
        (400, 0, 1e-4),  # normal
        (3, 300, 1e-3),  # three features have nearly all the variance: not normal
        (40, 40, 1e-3),
    ],
)
def test_long_rows_are_nearly_right(wide, narrow, worst):
    rng = np.random.default_rng(1)
    sigma = np.concatenate([rng.uniform(0.5, 1.0, wide), 0.01 * rng.uniform(0.5, 1.0, narrow)])
    model = boxed(np.zeros(sigma.size), sigma)
    for z in (0.2, 0.7, 1.5, 2.2):
        mean = z * math.sqrt((sigma**2).sum() / 3.0)
        model.box_.boxes[0, 1, 0] = mean
        row = np.ones((1, sigma.size))
        told = model.predict_proba(row)[0, 1]
        exact = share_of_row(mean, sigma, 1000, 1e9, np.empty(1001))[0]
        assert told == pytest.approx(exact, abs=worst)
        if wide == 3:  # the normal approximation would be visibly off
            assert abs(ndtr(z) - exact) > 2e-3
    draws = rng.uniform(-1.0, 1.0, (20_000, sigma.size)) @ sigma
    assert exact == pytest.approx((mean + draws > 0).mean(), abs=0.01)


def test_probabilities_of_a_learned_box_match_draws_from_it():
    X, y = stream(1, n=60, d=8, noise=0.2)
    model = BoxClassifier(C=0.05, D=0.05).fit(X, y)
    rng = np.random.default_rng(0)
    draws = rng.uniform(model.lower_[0], model.upper_[0], (20_000, 8))
    shift = model.intercept_ + model.intercept_width_ * rng.uniform(-1.0, 1.0, 20_000)
    shares = (X @ draws.T + shift > 0).mean(axis=1)
    told = model.predict_proba(X)
    assert told[:, 1] == pytest.approx(shares, abs=0.02)
    assert told.sum(axis=1) == pytest.approx(1.0)
    mean, variance = model.decision_distribution(X)
    assert mean == pytest.approx(model.decision_function(X))
    assert variance == pytest.approx((X @ draws.T + shift).var(axis=1), rel=0.1)


# -- the bound ---------------------------------------------------------------------------------


def draw(rng, n):
    """Examples of a noisy linear concept."""
    X = rng.standard_normal((n, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] > 0, 1, 0)
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def test_the_bound_holds_and_is_above_the_error_on_the_sample():
    rng = np.random.default_rng(2)
    X_new, y_new = draw(rng, several(1_000, 500))
    failures, values = 0, []
    for k in range(several(200, 10)):
        X, y = draw(rng, 300)
        regularizer = ("max", "sum")[k % 2]
        C = float(10.0 ** rng.uniform(-3, -1))
        model = BoxClassifier(regularizer=regularizer, C=C, D=0.01, tol=1e-2, random_state=0)
        bound = model.fit(X, y).pac_bayes_bound(X, y)
        second = model.predict_proba(X_new)[:, 1]
        true_error = np.where(y_new == 1, 1.0 - second, second).mean()
        failures += true_error > bound.value
        values.append(bound.value)
        assert bound.gibbs_error <= bound.value <= 1.0
        assert (model.predict(X_new) != y_new).mean() <= 2.0 * true_error + 1e-12
    assert failures <= 0.05 * len(values)
    assert np.median(values) < 0.45  # it says something


def test_the_bound_is_the_formula():
    X, y = stream(3, n=200, d=3, noise=0.1)
    model = BoxClassifier(C=0.02, D=0.02).fit(X, y)
    bound = model.pac_bayes_bound(X, y, delta=0.1, radius=8.0, gamma=1.5)
    box = np.append(model.width_[0], model.intercept_width_[0])
    ball = math.pi**2 / 2.0 * 8.0**4  # in four dimensions, with the intercept
    kl = math.log(ball / np.prod(2.0 * box))
    assert bound.kl == pytest.approx(kl)
    second = model.predict_proba(X)[:, 1]
    error = np.where(y > 0, 1.0 - second, second).mean()
    assert bound.gibbs_error == pytest.approx(error)
    inside = 1.5 * error + (kl + math.log(10.0)) / 200
    assert bound.value == pytest.approx((1.0 - math.exp(-inside)) / (1.0 - math.exp(-1.5)))
    assert float(bound) == bound.value
    assert (bound.pairs, bound.n_samples, bound.n_weights) == (1, 200, 4)
    assert bound.method == "integral"
    two = model.pac_bayes_bound(X, y, delta=0.1, radius=(8.0, 1e-3), gamma=[1.5, 1e-2])
    assert two.pairs == 4  # each pays for its own chance to fail
    assert two.value > bound.value
    paid = 1.5 * error + (kl + math.log(40.0)) / 200
    assert two.value == pytest.approx((1.0 - math.exp(-paid)) / (1.0 - math.exp(-1.5)))
    no_intercept = BoxClassifier(C=0.02, D=0.02, fit_intercept=False).fit(X, y)
    assert no_intercept.pac_bayes_bound(X, y).n_weights == 3


def test_the_grids_are_fixed_beforehand_and_paid_for():
    X, y = stream(4, n=300, d=3, noise=0.1)
    model = BoxClassifier(C=0.02, D=0.02).fit(X, y)
    bound = model.pac_bayes_bound(X, y)
    assert bound.pairs == len(RADII) * len(GAMMAS)
    assert np.isclose(bound.radius / 2.0, RADII).any()  # the square root of four weights is 2
    edge = np.abs(model.coef_[0]) + model.width_[0]
    constant = abs(model.intercept_[0]) + model.intercept_width_[0]
    assert bound.radius >= math.hypot(*edge, constant) > bound.radius / 2.0**0.25
    unpaid = model.pac_bayes_bound(X, y, radius=bound.radius, gamma=bound.gamma)
    assert unpaid.value < bound.value


def test_a_radius_that_cannot_be_right_is_refused():
    X, y = stream(5, n=100, d=3)
    model = BoxClassifier(C=0.02, D=0.02).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"beyond the radius 0\.5: the prior must hold"):
        model.pac_bayes_bound(X, y, radius=0.5)
    for name, value in (("radius", 0.0), ("gamma", "1"), ("gamma", [1.0, -1.0]), ("radius", [])):
        with pytest.raises(InvalidParameter, match=f"{name} must be a positive number, several"):
            model.pac_bayes_bound(X, y, **{name: value})
    for delta in (0.0, 1.0, True, "0.05"):
        with pytest.raises(InvalidParameter, match=r"delta must be a number in \(0, 1\)"):
            model.pac_bayes_bound(X, y, delta=delta)
    with pytest.raises(InvalidParameter, match="is for two classes; this model has 3"):
        BoxClassifier(tol=0.1).fit(X, np.arange(100) % 3).pac_bayes_bound(X, y)


def test_a_bound_without_examples_enough_says_nothing():
    X, y = stream(6, n=20, d=40)
    assert BoxClassifier().fit(X, y).pac_bayes_bound(X, y).value > 0.99
    giant = boxed([0.0, 0.0], [1e12, 1e12])  # beyond every ball of the grid
    bound = giant.pac_bayes_bound([[1.0, 0.0]], [1])
    assert (bound.value, bound.kl) == (1.0, math.inf)
    assert isinstance(bound, PACBayesBound)
