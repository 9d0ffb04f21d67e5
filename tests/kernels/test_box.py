"""The stochastic steps of boxes against the slow oracle, on random streams."""

import numpy as np
import pytest
from cases import several, slow, stream
from oracle_box import LOSSES, StreamOracle
from sklearn.exceptions import ConvergenceWarning

from sureline import BoxClassifier
from sureline.estimators.box.solver import Sample
from sureline.estimators.input_rows import as_rows

UNUSUAL = {"C": 0.02, "D": 0.03, "eta": 7.0}


def rows_of(X, fit_intercept):
    """The rows as the oracle takes them, the constant feature first."""
    return np.column_stack([np.full(len(X), float(fit_intercept)), X])


def assert_same_box(model, oracle, fit_intercept, row=0):
    mu, sigma = oracle.average()
    first = 0 if fit_intercept else 1
    centre = np.append(model.intercept_[row], model.coef_[row])
    width = np.append(model.intercept_width_[row], model.width_[row])
    assert centre[first:] == pytest.approx(mu[first:], rel=1e-9, abs=1e-11)
    assert width[first:] == pytest.approx(sigma[first:], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("fit_intercept", [True, *slow(False)])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", ["max", "sum"])
def test_a_stream_equals_the_oracle(regularizer, loss, fit_intercept):
    settings = {"regularizer": regularizer, "loss": loss, **UNUSUAL}
    for seed in range(several(5, 2)):
        X, y = stream(seed, noise=0.1)
        X[3] *= 100.0  # one heavy row
        w = np.random.default_rng(seed).uniform(0.1, 3.0, len(y))
        for weight in (np.ones(len(y)), w):
            oracle = StreamOracle(1 + X.shape[1], **settings)
            model = BoxClassifier(solver="comid", fit_intercept=fit_intercept, **settings)
            for _ in range(2):
                for x, sign, heft in zip(rows_of(X, fit_intercept), y, weight, strict=True):
                    oracle.learn(x, sign, heft)
                model.partial_fit(X, y, classes=[-1.0, 1.0], sample_weight=weight)
            assert_same_box(model, oracle, fit_intercept)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_of_many_classes_equals_the_oracle(loss):
    X, _ = stream(3, n=40)
    y = np.arange(40) % 3
    model = BoxClassifier(solver="comid", loss=loss, **UNUSUAL)
    model.partial_fit(X, y, classes=[0, 1, 2])
    for label in range(3):
        oracle = StreamOracle(1 + X.shape[1], "max", loss, **UNUSUAL)
        for x, own in zip(rows_of(X, True), y, strict=True):
            oracle.learn(x, 1.0 if own == label else -1.0)
        assert_same_box(model, oracle, True, label)


def test_fit_equals_the_oracle_that_knows_all_counts_beforehand():
    X, y = stream(4, n=30)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    settings = {"loss": "huber", **UNUSUAL}
    model = BoxClassifier(solver="comid", tol=1e-9, max_iter=3, random_state=5, **settings)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, weight)
    codes = (y > 0).astype(np.int64)
    sample = Sample.of(as_rows(X), codes, weight, X.shape[1], 1.0)
    rows = np.zeros((len(sample.rows), 1 + X.shape[1]))
    rows[:, 0] = 1.0
    for i in range(len(rows)):
        part = slice(*sample.rows.indptr[i : i + 2])
        rows[i, 1 + sample.rows.indices[part]] = sample.rows.data[part]
    counts = sample.weight @ (rows != 0.0)
    oracle = StreamOracle(1 + X.shape[1], "max", counts=counts, total=float(len(rows)), **settings)
    rng = np.random.RandomState(5)
    for _ in range(3):
        for i in rng.permutation(len(rows)):
            oracle.learn(rows[i], 2.0 * sample.codes[i] - 1.0, sample.weight[i])
    assert_same_box(model, oracle, True)
