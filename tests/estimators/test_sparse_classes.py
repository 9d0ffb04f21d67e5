"""Sparse class storage: the same models as dense ones, in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sureline import (
    AdaGradClassifier,
    AROWClassifier,
    CWClassifier,
    InvalidParameter,
    ModelFileError,
    NHERDClassifier,
    PAClassifier,
    PerceptronClassifier,
    SCWClassifier,
    TextClassifier,
    load,
    merge,
)
from sureline.model.sparse_state import SparseState

ROWS, FEATURES, CLASSES = 160, 40, 9
EXACT: list[tuple[Any, dict[str, Any]]] = [
    (AROWClassifier, {"r": "auto"}),
    (AROWClassifier, {"competitors": 3, "scheme": "parallel"}),
    (AROWClassifier, {"competitors": 3, "scheme": "exact", "calibration": "online"}),
    (CWClassifier, {"covariance": "diagonal-exact", "competitors": 2}),
    (CWClassifier, {"constraint": "variance", "dtype": "float64", "fit_intercept": False}),
    (SCWClassifier, {"variant": 2}),
    (NHERDClassifier, {"covariance": "diagonal-l2", "competitors": 2}),
    (PAClassifier, {"competitors": 2, "scheme": "exact"}),
    (PerceptronClassifier, {}),
]
TEXTS: list[Any] = [
    AROWClassifier(r="auto", competitors=2),
    AROWClassifier(competitors=3, scheme="exact"),
    NHERDClassifier(covariance="diagonal-l2"),
    PAClassifier(),
]


def _rows() -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(ROWS, FEATURES, 0.15, random_state=0, format="csr"))
    return X, (X @ rng.normal(size=(FEATURES, CLASSES))).argmax(axis=1)


def _texts() -> tuple[list[str], list[str]]:
    X, y = _rows()
    parts = np.split(X.indices, X.indptr[1:-1])
    return [" ".join([*(f"w{j}" for j in part), "the"]) for part in parts], [f"c{k}" for k in y]


def _is_sparse(model: Any) -> bool:
    return isinstance(model.model_.state, SparseState)


def _check_same(dense: Any, sparse: Any, X: Any) -> None:
    """Two classifiers that have learned the same, bit for bit."""
    assert _is_sparse(sparse)
    assert not _is_sparse(dense)
    assert sparse.classes_.tolist() == dense.classes_.tolist()
    names = ["coef_", "intercept_", "n_seen_", "n_updates_", "n_mistakes_"]
    names += ["variance_", "intercept_variance_"] if hasattr(dense, "variance_") else []
    for name in names:
        np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name), name)
    np.testing.assert_array_equal(sparse.decision_function(X), dense.decision_function(X))
    if hasattr(dense, "variance_"):
        np.testing.assert_array_equal(sparse.predict_proba(X), dense.predict_proba(X))


@pytest.mark.parametrize(("kind", "options"), EXACT)
def test_sparse_models_are_dense_ones(kind: Any, options: dict[str, Any]) -> None:
    X, y = _rows()
    dense, sparse = (
        kind(random_state=0, max_iter=2, class_storage=storage, **options).fit(X, y)
        for storage in ("dense", "sparse")
    )
    _check_same(dense, sparse, X)


@pytest.mark.parametrize(("kind", "options"), EXACT[:4])
def test_any_split_of_a_stream_gives_the_dense_model(kind: Any, options: dict[str, Any]) -> None:
    X, y = _rows()
    dense, sparse = kind(class_storage="dense", **options), kind(class_storage="sparse", **options)
    for size, model in ((37, dense), (23, sparse)):
        for start in range(0, ROWS, size):
            model.partial_fit(X[start : start + size], y[start : start + size])
    _check_same(dense, sparse, X)


@pytest.mark.parametrize("estimator", TEXTS, ids=lambda each: type(each).__name__)
def test_sparse_models_of_texts_are_dense_ones(estimator: Any) -> None:
    texts, y = _texts()
    dense, sparse = (
        TextClassifier(estimator, drift=None, class_storage=storage)
        for storage in ("dense", "sparse")
    )
    for size, model in ((37, dense), (23, sparse)):
        for start in range(0, ROWS - 20, size):
            stop = min(start + size, ROWS - 20)
            model.partial_fit(texts[start:stop], y[start:stop])
        for text, label in zip(texts[-20:], y[-20:], strict=True):
            model.learn_one(text, label)
    _check_same(dense, sparse, texts)
    assert sparse.predict_one(texts[0]) == dense.predict_one(texts[0])
    explained = [each.explain(texts[3]).classes for each in (dense, sparse)]
    assert explained[0] == explained[1]
    best = [each.top_features("c1", 3) for each in (dense, sparse)]
    assert best[0] == best[1]


def test_texts_are_read_again_as_dense_models_read_them() -> None:
    texts, y = _texts()
    dense, sparse = (
        TextClassifier(
            AROWClassifier(competitors=2), max_iter=3, random_state=0, class_storage=storage
        ).fit(texts, y)
        for storage in ("dense", "sparse")
    )
    np.testing.assert_array_equal(sparse.decision_function(texts), dense.decision_function(texts))
    np.testing.assert_allclose(
        sparse.predict_proba(texts), dense.predict_proba(texts), rtol=0.0, atol=1e-12
    )
    assert sparse.predict_set(texts[:5]) == dense.predict_set(texts[:5])


def _many(count: int, classes: int) -> tuple[list[str], list[str]]:
    """Texts of many classes, each with words of its own."""
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, count - classes)])
    texts = [f"w{k} v{k % 17} u{rng.integers(0, 50)} the of" for k in codes]
    return texts, [f"c{k}" for k in codes]


@pytest.mark.parametrize("estimator", [None, AROWClassifier()])
def test_auto_becomes_sparse_in_the_middle_of_a_stream(estimator: Any) -> None:
    texts, y = _many(900, 300)
    one, other = TextClassifier(estimator, drift=None), TextClassifier(estimator, drift=None)
    one.partial_fit(texts[:256], y[:256])
    assert not _is_sparse(one)
    before = one.decision_function(texts[:9])
    one.partial_fit(texts[256:257], y[256:257], sample_weight=[1.0])
    assert _is_sparse(one)
    assert before.shape == (9, 256)
    one.partial_fit(texts[257:], y[257:])
    for start in range(0, 900, 131):
        other.partial_fit(texts[start : start + 131], y[start : start + 131])
    np.testing.assert_array_equal(one.decision_function(texts), other.decision_function(texts))
    assert one.score(texts, y) > 0.9
    fitted = TextClassifier(estimator, random_state=0, max_iter=1).fit(texts, y)
    assert _is_sparse(fitted)
    assert fitted.score(texts, y) > 0.9


def test_a_dense_model_stays_what_it_is_when_it_becomes_sparse() -> None:
    texts, y = _many(400, 256)
    dense, auto = (
        TextClassifier(AROWClassifier(), drift=None, class_storage=storage).partial_fit(texts, y)
        for storage in ("dense", "auto")
    )
    assert not _is_sparse(auto)
    for model in (dense, auto):
        model.partial_fit([""], ["c0"], classes=["c999"], sample_weight=[0.0])
    _check_same(dense, auto, texts)


@pytest.mark.parametrize("options", [{"features": "hash", "bits": 10}, {"max_features": 60}])
def test_hashed_and_forgotten_features(options: dict[str, Any]) -> None:
    texts, y = _texts()
    dense, sparse = (
        TextClassifier(CWClassifier(), drift=None, class_storage=storage, **options)
        for storage in ("dense", "sparse")
    )
    for start in range(0, ROWS, 16):
        for model in (dense, sparse):
            model.partial_fit(texts[start : start + 16], y[start : start + 16])
    np.testing.assert_array_equal(sparse.decision_function(texts), dense.decision_function(texts))


@pytest.mark.parametrize("estimator", TEXTS, ids=lambda each: type(each).__name__)
def test_saved_models_go_on_as_they_were(estimator: Any, tmp_path: Any) -> None:
    texts, y = _texts()
    model = TextClassifier(estimator, drift=None, class_storage="sparse")
    model.partial_fit(texts[:100], y[:100])
    model.save(tmp_path / "m.sureline")
    loaded = load(tmp_path / "m.sureline")
    assert _is_sparse(loaded)
    np.testing.assert_array_equal(loaded.decision_function(texts), model.decision_function(texts))
    for each in (model, loaded):
        each.partial_fit(texts[100:], y[100:])
    np.testing.assert_array_equal(loaded.decision_function(texts), model.decision_function(texts))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))


def test_compact_files_are_refused(tmp_path: Any) -> None:
    X, y = _rows()
    model = AROWClassifier(class_storage="sparse").fit(X, y)
    with pytest.raises(ModelFileError, match="class_storage='sparse'"):
        model.save(tmp_path / "m.sureline", compact=True)


@pytest.mark.parametrize("how", ["kl", "mean", "product", "product-prior"])
def test_merging_sparse_models_is_merging_dense_ones(how: Any) -> None:
    texts, y = _texts()
    merged = []
    for storage in ("dense", "sparse"):
        parts = [
            TextClassifier(AROWClassifier(), drift=None, class_storage=storage).partial_fit(
                texts[part], y[part]
            )
            for part in (slice(0, 50), slice(50, 100), slice(100, ROWS))
        ]
        merged.append(merge(parts, how))
    assert _is_sparse(merged[1])
    np.testing.assert_allclose(
        merged[1].decision_function(texts), merged[0].decision_function(texts), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(
        merged[1].predict_proba(texts), merged[0].predict_proba(texts), rtol=1e-5, atol=1e-7
    )
    assert merged[1].n_seen_ == merged[0].n_seen_


def test_forgotten_classes_leave_nothing() -> None:
    texts, y = _texts()
    models = [
        TextClassifier(AROWClassifier(), drift=None, class_storage=storage).partial_fit(texts, y)
        for storage in ("dense", "sparse")
    ]
    for model in models:
        model.forget_class("c3").partial_fit(
            texts[:30], [each.replace("3", "4") for each in y[:30]]
        )
    _check_same(*models, texts)


def test_memory_grows_with_pairs_alone() -> None:
    texts, y = _many(3000, 1500)
    model = TextClassifier(random_state=0, max_iter=1).fit(texts, y)
    state = model.model_.state
    assert isinstance(state, SparseState)
    dense = state.layout.size(state.features + 1, 1500)
    assert state.nbytes < dense / 8
    small = TextClassifier(AROWClassifier(memory_limit_gb=1e-3), random_state=0, max_iter=1)
    with pytest.raises(InvalidParameter, match="pairs of feature and class take"):
        small.fit(texts, y)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (AROWClassifier(covariance="full"), "covariance='full'"),
        (AROWClassifier(competitors="all"), "competitors='all'"),
        (AdaGradClassifier(), "the rule adagrad"),
    ],
)
def test_what_has_no_sparse_form_is_said(model: Any, why: str) -> None:
    X, y = _rows()
    with pytest.raises(InvalidParameter, match=why):
        model.set_params(class_storage="sparse").fit(X, y)
    assert not _is_sparse(model.set_params(class_storage="auto").fit(X, y))


def test_threads_that_copy_a_model_are_dense() -> None:
    X, y = _rows()
    with pytest.raises(InvalidParameter, match="fewer jobs"):
        AROWClassifier(n_jobs=2, class_storage="sparse").fit(X, y)
    assert not _is_sparse(AROWClassifier(n_jobs=2).fit(X, y))


def test_ids_are_no_classes() -> None:
    """For rows of numbers, scikit-learn warns."""
    words = [f"w{k}" for k in range(60)]
    with pytest.warns(UserWarning, match="60 different labels in 60 rows, such as 'w0', 'w1'"):
        TextClassifier(random_state=0, max_iter=1).fit(words, words)


@pytest.mark.parametrize("counts_first", [False, True])
def test_rows_may_have_features_that_hold_most_of_all_pairs(counts_first):
    labels = [f"label {k % 100}" for k in range(300)]
    texts = [" ".join(f"word{j}" for j in range(20)) + f" own{k}" for k in range(300)]
    options = {"features": "hash", "bits": 3, "max_iter": 1, "random_state": 0}
    model = TextClassifier(class_storage="sparse", counts_first=counts_first, **options)
    assert model.fit(texts, labels).n_seen_ == 300
