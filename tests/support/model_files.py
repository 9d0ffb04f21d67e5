"""Models to be written to files, and how a model is compared with the one that comes back."""

import numpy as np
import scipy.sparse as sp


def examples(classes, n=60, d=6, seed=0, width=None):
    """Sparse examples of these classes; with `width`, among so many features."""
    rng = np.random.default_rng(seed)
    y = np.asarray(classes)[np.arange(n) % len(classes)]
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    X[np.arange(n), np.arange(n) % len(classes) % d] += 1.5
    if width is None:
        return X, y
    wide = sp.csr_array(X)
    return sp.csr_array((wide.data, wide.indices * 3 + 2, wide.indptr), shape=(n, width)), y


def rows_of(tensors):
    """Which rows of its state a file holds."""
    return np.cumsum([0, *tensors["row_gaps"].tolist()]).tolist()


def assert_same_state(one, other):
    """All that two states hold, bit for bit; spare columns aside."""
    assert one.layout == other.layout
    names = ("wide", "used", "clock", "merged", "features")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    used = one.used
    assert one.table[:, :, :used].tobytes() == other.table[:, :, :used].tobytes()
    assert one.covariance[:used].tobytes() == other.covariance[:used].tobytes()
    assert one.last_changed[:, :used].tobytes() == other.last_changed[:, :used].tobytes()
    np.testing.assert_array_equal(one.counts, other.counts)


def assert_same_model(one, other, X):
    """Everything that can be asked of two models."""
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    assert_same_state(one.model_.state, other.model_.state)
    assert one.model_.labels.tolist() == other.model_.labels.tolist()
    for name in ("classes_", "coef_", "intercept_"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert left.tolist() == right.tolist()
    for name in ("n_features_in_", "n_iter_", "n_seen_", "n_updates_", "n_mistakes_"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    if hasattr(one, "predict_proba"):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
