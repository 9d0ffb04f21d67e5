"""Compact files: predictions within the stated bound, and sentences where more is asked for."""

import pickle

import numpy as np
import pytest
from cases import CASES, make, parameters
from model_files import examples
from texts import KINDS, LABELS, TEXTS, topics

import sureline
from sureline import (
    AROWClassifier,
    BoxClassifier,
    CWClassifier,
    InvalidParameter,
    ModelFileError,
    TextClassifier,
    TextFeatures,
    load,
    merge,
)
from sureline.data import as_text
from sureline.estimators import save
from sureline.features.compact_vocabulary import CompactVocabulary, compact_columns
from sureline.features.vocabulary import Vocabulary, fill_table
from sureline.kernels.text.arguments import VocabularyArrays
from sureline.model.file import read, verify, write
from sureline.model.serialize.encoding import from_half, narrow, to_half

HALF = 2.0**-11 + 2.0**-23  # how far a weight is off, relative to itself; float32 adds a little
OF_LARGEST = 2.0**-38  # and relative to the largest
TEXT_KINDS = {
    **KINDS,
    "idf": {"weighting": "idf"},
    "plain": {"weighting": None, "calibration": None},
    "hash-idf": {"features": "hash", "bits": 12, "weighting": "idf"},
    "double": {"estimator": AROWClassifier(dtype="float64")},
    "prior": {"estimator": CWClassifier(initial_variance=0.3), "weighting": None},
}


def saved(model, path, **options):
    """The model that comes back from a file."""
    save(model, path, **options)
    verify(path)
    return load(path)


def assert_within_bounds(model, compact, rows, X, wide=1):
    """Mean and variance of every score differ by no more than the documentation says."""
    known = model.model_
    rows = known.weighted(rows)
    width = known.state.features
    for name, power in (("coefficients", 1), ("variances", 2)):
        if name == "variances" and not known.has_variance:
            continue
        weights = np.abs(getattr(known, name)().astype(np.float64))
        bound = np.zeros((len(rows), weights.shape[1]))
        for row in range(len(rows)):
            part = slice(rows.indptr[row], rows.indptr[row + 1])
            values = np.abs(rows.data[part].astype(np.float64)) ** power
            chosen = np.minimum(rows.indices[part], width - 1) + 1
            bound[row] = wide * HALF * (weights[0] + values @ weights[chosen])
            bound[row] += 2 * OF_LARGEST * weights.max() * (1.0 + values.sum())
        if power == 1:
            left, right = model.decision_function(X), compact.decision_function(X)
        else:
            left, right = (each.decision_distribution(X)[1] for each in (model, compact))
        differing = np.abs(left - right).reshape(bound.shape)
        assert (differing <= bound + 1e-12).all(), (differing - bound).max()


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_a_compact_model_of_texts_predicts_within_the_bound(kind, many, tmp_path):
    texts, labels = topics() if many else (TEXTS, LABELS)
    model = TextClassifier(**TEXT_KINDS[kind], random_state=0).fit(texts, labels)
    compact = saved(model, tmp_path / "compact.sureline", compact=True)
    probes = [*texts, "xyzzy never seen", ""]
    tokens = model.model_.tokenizer.read(as_text(probes))
    assert_within_bounds(model, compact, model.model_.rows(tokens), probes)
    assert compact.classes_.tolist() == model.classes_.tolist()
    assert compact.n_features_ == model.n_features_
    assert repr(compact) == repr(model)
    if hasattr(model, "predict_proba"):
        ours, theirs = compact.predict_proba(probes), model.predict_proba(probes)
        assert np.abs(ours - theirs).max() < 0.005
        told = (each.model_.predictions(each.model_.rows(tokens)) for each in (compact, model))
        novelties = [each.novelty for each in told]
        if model.calibration:  # exactly the same features are known
            assert (novelties[0] == novelties[1]).all()
        sure = np.sort(theirs, axis=1)
        sure = sure[:, -1] - sure[:, -2] > 0.01
        assert (compact.predict(probes) == model.predict(probes))[sure].all()
    assert [compact.predict_one(text) for text in probes] == compact.predict(probes).tolist()
    model.save(tmp_path / "whole.sureline")
    sizes = [(tmp_path / name).stat().st_size for name in ("compact.sureline", "whole.sureline")]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(("rule", "covariance"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_compact_model_of_numbers_predicts_within_the_bound(rule, covariance, dtype, tmp_path):
    for classes, width in (("ab", None), ("abcd", 40)):
        X, y = examples(list(classes), width=width)
        model = make(rule, covariance, dtype=dtype, random_state=3).set_params(**parameters(rule))
        model.fit(X, y)
        compact = saved(model, tmp_path / "compact.sureline", compact=True)
        rows = next(iter(model._chunks(model.model_, X)))()()
        if covariance == "full":  # kept as it is
            assert (compact.decision_function(X) == model.decision_function(X)).all()
            assert (compact.predict_proba(X) == model.predict_proba(X)).all()
        else:
            wide = 2 if rule.name == "sop" else 1  # two numbers make its weights
            assert_within_bounds(model, compact, rows, X, wide)
        with pytest.raises(InvalidParameter, match="compact file and can only predict"):
            compact.partial_fit(X, y)
        again = tmp_path / "again.sureline"
        compact.save(again)
        assert again.read_bytes() == (tmp_path / "compact.sureline").read_bytes()


def test_weights_may_be_of_any_size(tmp_path):
    X = np.eye(4) * [1e-9, 1.0, 1e9, 1e4]
    model = AROWClassifier(dtype="float64", max_iter=1).fit(X, [0, 1, 0, 1])
    model.model_.state.table[1:, 0, 0] = [1e-30, -1e30, 1e22, 0.0]
    compact = saved(model, tmp_path / "compact.sureline", compact=True)
    assert compact.coef_[0, 1] == pytest.approx(-1e30, rel=HALF)
    assert compact.coef_[0, 2] == pytest.approx(1e22, rel=HALF)
    assert compact.coef_[0, 0] > 0.0
    assert 0.0 <= compact.coef_[0, 3] <= OF_LARGEST * 1e30  # learned, with the weight 0


@pytest.mark.parametrize("features", ["vocabulary", "hash"])
def test_what_a_compact_model_cannot_do_is_said_in_a_sentence(features, tmp_path):
    model = TextClassifier(features=features, bits=12, random_state=0).fit(TEXTS, LABELS)
    compact = saved(model, tmp_path / "compact.sureline", compact=True)
    for attempt in (
        lambda: compact.partial_fit(TEXTS, LABELS),
        lambda: compact.learn_one("a text", "ham"),
        lambda: merge([compact, compact]),
        lambda: merge([model, compact]),
        lambda: compact.model_.learn(None, np.zeros(0, int), np.zeros(0)),
    ):
        with pytest.raises(InvalidParameter, match="comes from a compact file and can only"):
            attempt()
    for attempt in (lambda: compact.top_features("ham"), lambda: compact.get_feature_names_out()):
        with pytest.raises(InvalidParameter, match="has no names of features; explain a text"):
            attempt()
    before = compact.decision_function(TEXTS)
    assert (before == load(tmp_path / "compact.sureline").decision_function(TEXTS)).all()


def test_what_else_a_compact_model_can_do(tmp_path):
    texts, labels = topics()
    for X, y in ((TEXTS, LABELS), (texts, labels)):
        model = TextClassifier(random_state=0).fit(X, y)
        compact = saved(model, tmp_path / "compact.sureline", compact=True)
        ours, theirs = compact.explain(X[0], 5), model.explain(X[0], 5)
        for label in model.classes_.tolist():
            names = [
                [each.feature for each in one.classes[label].features] for one in (ours, theirs)
            ]
            assert sorted(names[0]) == sorted(names[1])
        answers = compact.predict(X, min_confidence=0.9).tolist()
        assert answers == [compact.predict_one(text, min_confidence=0.9) for text in X]
        copied = pickle.loads(pickle.dumps(compact))
        assert (copied.decision_function(X) == compact.decision_function(X)).all()
        compact.save(tmp_path / "again.sureline")
        assert (tmp_path / "again.sureline").read_bytes() == (
            tmp_path / "compact.sureline"
        ).read_bytes()
        compact.save(tmp_path / "again.sureline", compact=True)
        assert load(tmp_path / "again.sureline").predict(X).tolist() == compact.predict(X).tolist()
        compact.forget_class(model.classes_[0])
        assert model.classes_[0] not in compact.predict(X)
        compact.fit(X, y).partial_fit(X[:3], y[:3])  # anew: nothing is left of the file
        assert compact.top_features(y[0], 1)


def test_other_estimators_have_no_compact_form(tmp_path):
    box = BoxClassifier().fit(np.eye(4), [0, 1, 0, 1])
    for model in (box, TextFeatures().fit(TEXTS)):
        with pytest.raises(ModelFileError, match=r"as a compact file, only online classifiers"):
            model.save(tmp_path / "x.sureline", compact=True)


def test_a_file_to_be_mapped_is_the_same_model(tmp_path):
    for kind in ("default", "hash", "often"):
        model = TextClassifier(**KINDS[kind], random_state=0).fit(TEXTS, LABELS)
        mapped = saved(model, tmp_path / "mapped.sureline", mapped=True)
        assert (mapped.decision_function(TEXTS) == model.decision_function(TEXTS)).all()
        if kind != "hash":
            assert read(tmp_path / "mapped.sureline").tensors["vocabulary"].dtype == np.uint64
        for each in (model, mapped):
            each.partial_fit(TEXTS[:9], LABELS[:9])
            each.save(tmp_path / f"{id(each)}.sureline")
        one, two = (tmp_path / f"{id(each)}.sureline" for each in (model, mapped))
        assert one.read_bytes() == two.read_bytes()


# -- the parts -------------------------------------------------------------------------------------


def test_shortened_fingerprints_stay_distinct():
    keys = np.array([1, 1 + (1 << 32), 1 + (1 << 33), 7, 1 + (1 << 50)], np.uint64)
    columns = Vocabulary()
    nothing = np.zeros(0, np.int64)
    table = fill_table(keys, nothing.view(np.uint64), nothing)
    columns.arrays = VocabularyArrays(table, nothing, np.array([5, 5, 0]), columns.arrays.names)
    made, order = compact_columns(columns)
    assert made.bits == 51
    assert made.features == 5
    assert (np.sort(order) == np.arange(5)).all()
    assert (made.find(keys) == np.argsort(order)).all()
    assert made.find(np.array([3, 2, 1 + (1 << 34)], np.uint64)).tolist() == [-1, -1, -1]


def test_an_unknown_feature_is_hardly_ever_taken_for_a_known_one():
    rng = np.random.default_rng(0)
    keys = rng.integers(1, 2**64, 100_000, np.uint64)
    columns = CompactVocabulary(keys[:0], 32, 1)
    for size in (1, 15, 16, 17, 100, 1000, 99_999):
        some = Vocabulary()
        table = fill_table(keys[:size], keys[:0], keys[:0].view(np.int64))
        sizes = np.array([size, size, 0])
        some.arrays = VocabularyArrays(table, sizes[:0], sizes, columns.arrays.names)
        made, _ = compact_columns(some)
        assert size / 2.0**made.bits <= 2.0**-28
        assert (made.find(keys[:size]) >= 0).all()
        assert (made.find(keys[size:]) < 0).all()


def test_whole_numbers_take_few_bytes():
    for largest, kind in ((0, "u1"), (255, "u1"), (256, "u2"), (65536, "u4"), (2**40, "u8")):
        made = narrow(np.array([0, largest]))
        assert made.dtype == kind
        assert made.tolist() == [0, largest]
    assert narrow(np.zeros(0, np.int64)).size == 0


def test_half_precision_keeps_its_bound():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((500, 2, 3)) * 10.0 ** rng.integers(-12, 5, (500, 2, 3))
    values[:5] = 0.0
    (half,), exponents = to_half(values)
    back = from_half(half, exponents, "float64")
    largest = np.abs(values).max(axis=(0, 2))[:, np.newaxis]
    bound = np.maximum(2.0**-11 * np.abs(values), OF_LARGEST * largest)
    assert (np.abs(back - values) <= bound).all()
    assert ((back == 0) == (values == 0)).all()
    assert (np.sign(back) == np.sign(values)).all()
    (again,), same = to_half(back)
    assert same == exponents
    assert (again == half).all()
    assert to_half(np.zeros((0, 2, 3)))[1] == [-15, -15]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("keys", np.zeros(3, np.uint32), "not as many features"),
        ("keys", None, "'keys' is missing, or no list of uint32"),
        ("key_counts", np.zeros(3, np.uint8), "not as many features"),
        ("key_counts", np.full(64, 2**63, np.uint64), "numbers below 0, or of"),
        ("table", None, "has no tensor 'table'"),
        ("bits", 31, "its bits is 31"),
        ("bits", 63, "its bits is 63"),
        ("bits", 60, "not as many features"),
        ("exponents", [1], "its exponents are"),
        ("exponents", [1, 10**9], "its exponents are"),
        ("exponents", [900, 900], "not finite"),
        ("exponents", None, "is float16 of shape"),
        ("compact", 1, "its compact is 1"),
        ("compact", False, "its taken is None"),
    ],
)
def test_hostile_compact_files_are_refused(name, value, says, tmp_path):
    path = tmp_path / "compact.sureline"
    TextClassifier(random_state=0).fit(TEXTS, LABELS).save(path, compact=True)
    opened = read(path)
    metadata, tensors = opened.metadata, dict(opened.tensors)
    assert sureline.load(path).n_features_ == tensors["keys"].size
    if name == "bits":
        metadata["columns"]["bits"] = value
    elif name == "exponents":
        metadata["online"]["state"]["exponents"] = value
    elif name == "compact":
        metadata["online"]["compact"] = value
    else:
        tensors[name] = value
        tensors = {key: each for key, each in tensors.items() if each is not None}
    write(path, metadata, tensors)
    with pytest.raises(ModelFileError, match=says):
        load(path)
