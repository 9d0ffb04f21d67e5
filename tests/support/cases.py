"""What the tests run over: every registered rule with every covariance it has."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sureline.estimators import classifier_for
from sureline.rules import rules

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"
ALL = os.environ.get("SURELINE_TESTS") == "all"  # pytest --all
CASES = [
    pytest.param(rule, covariance, id=f"{rule.name}-{covariance}" if covariance else rule.name)
    for rule in rules().values()
    for covariance in rule.covariances or (None,)
]
# Not the defaults, so that a parameter that is ignored shows.
UNUSUAL = {
    "confidence": 0.8,
    "initial_variance": 2.0,
    "r": 0.7,
    "C": 0.6,
    "a": 1.5,
    "eta": 0.8,
    "l1": 0.02,
    "delta": 0.9,
}


def parameters(rule):
    """Unusual values for every parameter of `rule`."""
    return {p.name: UNUSUAL.get(p.name, p.default) for p in rule.parameters}


def make(rule, covariance=None, **settings):
    """The estimator that offers `rule`, ready to fit."""
    if covariance not in (None, "identity"):
        settings["covariance"] = covariance
    return classifier_for(rule.name)(**{**rule.settings, **settings})


def several(full, quick, bare=None):
    """How many: `full` with ``--all``, else `quick`, and `bare` or `quick` uncompiled."""
    if not COMPILED:
        return quick if bare is None else bare
    return full if ALL else quick


def slow(*values):
    """Values of a parameter that are tried with ``--all`` alone."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def stream(seed, n=60, d=6, noise=0.0, density=0.6):
    """Random sparse examples of a linear concept, some of them empty, as dense X and y = ±1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[rng.integers(0, n, 3)] = 0.0
    y = np.where(X @ rng.standard_normal(d) + 0.2 >= 0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1
    if len(set(y)) < 2:
        y[0] = -y[0]
    return X, y


def concepts(seed, classes, n=30, d=4):
    """Random sparse examples of K linear concepts, some of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[rng.integers(1, n)] = 0.0
    y = np.argmax(X @ rng.standard_normal((d, classes)) + 0.1 * rng.standard_normal(classes), 1)
    y[:classes] = np.arange(classes)
    return X, y


def directions(seed, classes, n=80, d=7):
    """Examples of the named classes, each with its own direction."""
    rng = np.random.default_rng(seed)
    y = np.asarray(classes)[rng.integers(0, len(classes), n)]
    y[: len(classes)] = classes
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    X[np.arange(n), (np.searchsorted(np.sort(classes), y)) % d] += 1.5
    return X, y


def same_model(one, other):
    """Whether two models agree to the bit in all that was learned and counted."""
    for name in ("coef_", "intercept_", "variance_", "intercept_variance_", "covariance_"):
        ours, theirs = getattr(one, name, None), getattr(other, name, None)
        if not np.array_equal(ours, theirs):
            return False
    counters = ("n_seen_", "n_updates_", "n_mistakes_")
    return all(getattr(one, name) == getattr(other, name) for name in counters)
