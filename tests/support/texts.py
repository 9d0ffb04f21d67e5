"""Texts of two classes and of many, classifiers of texts, and what they have learned."""

import numpy as np
from cases import several

from sureline import AdaGradClassifier, CWClassifier, PAClassifier, PerceptronClassifier
from sureline.data import sms_spam

N = several(400, 40)
TEXTS, LABELS = (some[:N] for some in sms_spam())
TOPICS = ["one", "two", "three", "four", "five"]
WORDS = [f"word{k}" for k in range(40)]


def topics(n=N):
    """Texts of five classes, of which some come late."""
    rng = np.random.default_rng(3)
    codes = np.minimum(rng.integers(0, 5, n), np.arange(n) // (n // 8))
    texts = [
        " ".join(f"w{rng.integers(0, 20) + 12 * code}" for _ in range(6)) + f" id{k}"
        for k, code in enumerate(codes)
    ]
    return texts, [TOPICS[code] for code in codes]


def learned(model):
    """All that was learned, as bytes and names."""
    count = model.n_features_
    state = model.model_.state
    return (
        state.table[: count + 1, :, : state.used].tobytes(),
        state.clock,
        state.counts.tolist(),
        model.classes_.tolist(),
        model.get_feature_names_out().tolist() if count < 2**16 else model.model_.columns.arrays,
    )


KINDS = {
    "default": {},
    "hash": {"features": "hash", "bits": 12},
    "often": {"min_count": 3},
    "few": {"max_features": several(500, 150)},
    "often-few": {"min_count": 2, "max_features": several(200, 60)},
    "chars": {"chars": (2, 3), "counts": "log"},
    "pa": {"estimator": PAClassifier()},
    "few-pa": {"estimator": PAClassifier(), "max_features": several(500, 150)},
    "averaged": {"estimator": PerceptronClassifier()},
    "adagrad": {"estimator": AdaGradClassifier(l1=0.01, variant="rda")},
    "several": {"estimator": CWClassifier(competitors=2, dtype="float64")},
}


def texts_of(n, classes, seed=0):
    """Random texts of a few words, most of which belong to the class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    texts = []
    for label in labels:
        own = rng.integers(0, 3, 4) + 3 * (label if rng.random() < 0.8 else 0)
        texts.append(" ".join(WORDS[k] for k in (*(own % 40), *rng.integers(0, 40, 5))))
    return texts, np.array([f"class {label:02}" for label in labels])


def compare_texts(ours, theirs, atol=1e-6):
    """Assert that two text classifiers have learned the same for the same words."""
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    names = [model.get_feature_names_out().tolist() for model in (ours, theirs)]
    assert sorted(names[0]) == sorted(names[1])
    order = [np.argsort(each) for each in names]
    pairs = [(ours.coef_, theirs.coef_)]
    if hasattr(theirs, "predict_proba"):
        pairs.append((ours.variance_, theirs.variance_))
    for one, two in pairs:
        np.testing.assert_allclose(one[:, order[0]], two[:, order[1]], atol=atol)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=atol)
    for name in ("n_seen_", "n_updates_", "n_mistakes_"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.model_.state.merged == theirs.model_.state.merged
