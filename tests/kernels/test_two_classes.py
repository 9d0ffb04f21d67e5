"""Every rule with every covariance against the slow oracle, on random streams."""

import numpy as np
import pytest
from cases import CASES, make, parameters, several, slow, stream
from oracle import Oracle, distance


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fit_intercept", [True, *slow(False)])
@pytest.mark.parametrize("weighted", [True, *slow(False)])
@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_fast_code_equals_the_oracle(rule, covariance, weighted, fit_intercept, dtype):
    compared = 0
    for seed in range(several(20, 6)):
        X, y = stream(seed, noise=0.05 if rule.weight == "cost" else 0.0)
        c = np.random.default_rng(seed).uniform(0.1, 1.0, len(y)) if weighted else np.ones(len(y))
        if dtype == "float32":
            X = X.astype(np.float32).astype(np.float64)
        q = parameters(rule)
        oracle = Oracle(rule.name, covariance, q, X.shape[1], fit_intercept)
        ours = make(rule, covariance, **q, fit_intercept=fit_intercept, dtype=dtype)
        # Two passes by partial_fit, so that learning goes on from a state that is not fresh.
        for _ in range(2):
            for row, sign, weight in zip(X, y, c, strict=True):
                oracle.learn(row, sign, weight)
            ours.partial_fit(X, y, classes=[-1.0, 1.0], sample_weight=c)
        if oracle.closest < (1e-9 if dtype == "float64" else 1e-3):
            continue  # rounding decides whether an example is learned: such a stream proves nothing
        compared += 1
        tolerance = 1e-10 if dtype == "float64" else 1e-4
        weights = np.concatenate([ours.intercept_, ours.coef_[0]])
        assert distance(weights, oracle.weights()) < tolerance
        assert distance(ours.decision_function(X), [oracle.score(x) for x in X]) < tolerance
        if covariance == "full":
            assert distance(ours.covariance_[0], oracle.S[1:, 1:]) < tolerance
        if covariance not in (None, "identity"):
            assert distance(ours.variance_[0], np.diag(oracle.S)[1:]) < tolerance
            mean, variance = ours.decision_distribution(X)
            rows = np.column_stack([np.full(len(X), float(fit_intercept)), X])
            assert distance(variance, ((rows @ oracle.S) * rows).sum(axis=1)) < tolerance
            assert distance(mean, rows @ oracle.mu) < tolerance
            if fit_intercept:
                assert distance(ours.intercept_variance_, oracle.S[:1, 0]) < tolerance
        if dtype == "float64":
            assert ours.n_mistakes_ == oracle.mistakes
            assert ours.n_seen_ == 2 * len(y)
            if oracle.jumps:
                assert ours.n_updates_ == oracle.updates
    assert compared >= several(5, 1)
