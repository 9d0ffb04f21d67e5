"""The full covariance: positive definite and symmetric in float64, or an error and no model."""

import numpy as np
import pytest
from cases import make, several

from sureline import AROWClassifier, DataError, NHERDClassifier, SCWClassifier
from sureline.rules import rules

FULL = [rule for rule in rules().values() if "full" in rule.covariances]
SCHEMES = [(2, "sequential"), (3, "sequential"), (3, "one-vs-rest")]


def rows_of_scale(scale, classes, n=400, d=20):
    """Rows of normal numbers of this size, with labels that a linear model can learn."""
    rng = np.random.default_rng(classes)
    X = scale * rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, classes)), axis=1)


@pytest.mark.parametrize(("classes", "scheme"), SCHEMES)
@pytest.mark.parametrize("rule", FULL, ids=lambda rule: rule.name)
def test_rows_of_size_1000_made_the_covariance_indefinite_in_float32(rule, classes, scheme):
    X, y = rows_of_scale(1000.0, classes)
    X = X.astype(np.float32)
    settings = {"covariance": "full", "scheme": scheme, "random_state": 0}
    model = make(rule, **settings).fit(X, y)
    other = make(rule, **settings, dtype="float64").fit(X, y)
    assert model.covariance_.dtype == model.variance_.dtype == model.coef_.dtype == np.float64
    for name in ("coef_", "intercept_", "covariance_"):
        assert np.array_equal(getattr(model, name), getattr(other, name))
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
    for matrix in model.covariance_:
        assert np.array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix)[0] > 0.0


@pytest.mark.slow
def test_many_rows_with_two_nearly_equal_columns_made_the_covariance_indefinite_in_float32():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300_000, 20))
    X[:, 1] = X[:, 0] + 1e-4 * rng.standard_normal(len(X))
    y = (X @ rng.standard_normal(20) > 0) ^ (rng.random(len(X)) < 0.15)
    model = SCWClassifier(covariance="full", max_iter=1, random_state=0).fit(X, y)
    assert np.linalg.eigvalsh(model.covariance_[0])[0] > 0.0
    assert model.score(X, y) > 0.7  # in float32 0.46: worse than a coin


@pytest.mark.parametrize(("classes", "scheme"), SCHEMES)
def test_a_covariance_beyond_float64_gave_a_wrong_model_without_a_word(classes, scheme):
    X, y = rows_of_scale(1e9, classes, n=several(2000, 500))
    for model in (
        AROWClassifier(covariance="full", scheme=scheme, random_state=0),
        NHERDClassifier(covariance="full", scheme=scheme, random_state=0),
    ):
        with pytest.raises(DataError, match=r"learning row \d+: the full covariance is no longer"):
            model.fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_indefinite_covariance_gave_probabilities_without_a_word(classes):
    X, y = rows_of_scale(1.0, classes)
    model = AROWClassifier(covariance="full", random_state=0).fit(X, y)
    model.model_.state.covariance[0] -= 0.1 * np.eye(21)
    with pytest.raises(DataError, match="the full covariance is no longer positive"):
        model.predict_proba(X)
    assert model.score(X, y) > 0.8


def test_rounding_alone_is_no_error():
    """A matrix of rank one has no larger xᵀΣx than |Σx|²/tr Σ, the least that there may be."""
    X, y = rows_of_scale(1.0, 2, n=100, d=5)
    model = AROWClassifier(covariance="full").partial_fit(X[:2], [0, 1])
    for row, label in zip(X, y, strict=True):
        root = np.array([0.1, *row[::-1]])
        model.model_.state.covariance[0] = np.outer(root, root)
        model.partial_fit(row[np.newaxis], [label])
    assert np.isfinite(model.coef_).all()
