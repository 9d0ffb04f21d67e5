"""Batches into models and answers out of them: the same as through the Python interface."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from sureline import AROWClassifier, DataError, InvalidParameter, PAClassifier, TextClassifier
from sureline.data import Batch, NamedFeatures, Reader
from sureline.data.label_values import read_label, typed_labels
from sureline.estimators import classifier_for
from sureline.estimators.stream import (
    StreamTrainer,
    check_kind,
    count_features,
    predict_batch,
)
from sureline.model.learner import AGAIN
from sureline.model.predictions import Counts
from sureline.rules import rules

TEXTS = [
    "win a free prize now",
    "lunch at noon?",
    "free money, now!",
    "see you at lunch",
    "claim your prize",
    "still on for noon",
    "Invoice attached",
    "free invoice",
]
LABELS = ["spam", "ham", "spam", "ham", "spam", "ham", "bill", "bill"]


def texts_batch(labels=LABELS, texts=TEXTS, **others) -> Batch:
    return Batch(text=pa.array(texts, pa.large_string()), label=pa.array(labels), **others)


def numbers(seed=0, rows=60, classes=2) -> tuple[csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = csr_array(rng.random((rows, 40)) * (rng.random((rows, 40)) < 0.2))
    return X, rng.integers(0, classes, rows)


def pieces(batch: Batch, sizes: list[int]):
    start = 0
    for size in [*sizes, len(batch)]:
        yield batch.slice(start, start + size)
        start += size


@pytest.mark.parametrize("sizes", [[], [1, 1, 2], [3, 0, 4]])
def test_texts_are_learned_as_partial_fit_learns_them(sizes):
    expected = TextClassifier().partial_fit(TEXTS, LABELS)
    stream = StreamTrainer(TextClassifier())
    assert (stream.counts, stream.n_features) == (Counts(), 0)
    for piece in pieces(texts_batch(), sizes):
        stream.learn(piece)
    np.testing.assert_array_equal(stream.classifier.coef_, expected.coef_)
    np.testing.assert_array_equal(stream.classifier.variance_, expected.variance_)
    assert stream.counts == (8, expected.n_updates_, expected.n_mistakes_)
    assert stream.n_features == expected.n_features_


def test_classes_that_are_named_beforehand_get_the_type_of_the_labels():
    labels = [3, 1, 3, 1, 3, 1, 2, 2]
    expected = TextClassifier().partial_fit(TEXTS, labels, classes=[1, 2, 3, 9])
    stream = StreamTrainer(TextClassifier(), ["9", "3", "2", "1"])
    stream.learn(texts_batch(labels))
    assert stream.classifier.classes_.tolist() == [1, 2, 3, 9]
    np.testing.assert_array_equal(stream.classifier.coef_, expected.coef_)
    with pytest.raises(InvalidParameter, match="the class 'x' was named, but the labels"):
        StreamTrainer(TextClassifier(), ["x"]).learn(texts_batch(labels))


def test_weights_and_given_features_are_learned():
    given = NamedFeatures(
        np.array([0, 1, *[1] * 6, 2]),
        pa.array(["price", "price"], pa.large_string()),
        np.array([2.0, 0.5], np.float32),
    )
    weight = np.linspace(0.0, 1.4, 8)
    batch = texts_batch(weight=weight, named_features=given)
    whole, cut = StreamTrainer(TextClassifier()), StreamTrainer(TextClassifier())
    whole.learn(batch)
    for piece in pieces(batch, [2, 3]):
        cut.learn(piece)
    assert whole.counts.seen == 7  # the first has no weight
    np.testing.assert_array_equal(whole.classifier.coef_, cut.classifier.coef_)
    assert "price" in whole.classifier.get_feature_names_out()
    # What was given counts in answers, too.
    plain = predict_batch(whole.classifier, texts_batch())
    valued = predict_batch(whole.classifier, batch)
    assert (plain.margin[1:7] == valued.margin[1:7]).all()
    assert plain.margin[7] != valued.margin[7]


def test_a_later_pass_gives_no_new_feature_a_column():
    stream = StreamTrainer(TextClassifier())
    stream.learn(texts_batch())
    features = stream.n_features
    stream.learn(texts_batch(texts=["something else entirely"] * 8), AGAIN)
    assert stream.n_features == features


@pytest.mark.parametrize("name", rules())
@pytest.mark.parametrize("classes", [2, 4])
def test_svmlight_rows_are_learned_as_partial_fit_learns_them(name, classes, tmp_path):
    X, y = numbers(classes=classes)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
    X, y = load_svmlight_file(str(tmp_path / "rows.svm"), zero_based=True)
    made = classifier_for(name)
    expected = made(**rules()[name].settings).partial_fit(X, y.astype(np.int64))
    stream = StreamTrainer(made(**rules()[name].settings))
    for batch in Reader([tmp_path / "rows.svm"], batch_bytes=512):
        stream.learn(batch)
    stream.settle()
    model = stream.classifier
    assert model.n_features_in_ == X.shape[1] == model.model_.state.features
    assert model.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    np.testing.assert_array_equal(
        model.model_.state.table,
        expected.model_.state.table[..., : model.model_.state.table.shape[2]],
    )
    assert stream.counts == (60, expected.n_updates_, expected.n_mistakes_)
    # Settled, it goes on as if it had not been.
    wider = csr_array((np.ones(2), np.array([3, 99]), np.array([0, 1, 2])), shape=(2, 100))
    stream.learn(Batch(matrix=wider, label=pa.array([0, 1])))
    assert stream.n_features == 100


@pytest.mark.parametrize("made", [AROWClassifier, PAClassifier])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_answers_are_those_of_the_python_interface(made, classes):
    X, y = numbers(classes=classes)
    model = made().partial_fit(X, y)
    found = predict_batch(model, Batch(matrix=X))
    assert found.label.tolist() == model.predict(X).tolist()
    score = model.decision_function(X)
    best = score if classes == 1 else np.abs(score) if classes == 2 else score.max(axis=1)
    np.testing.assert_array_equal(found.margin, best)
    if made is PAClassifier:
        assert found.probability is found.variance is found.probabilities is None
        return
    chance = model.predict_proba(X)
    np.testing.assert_array_equal(found.probabilities, chance)
    codes = np.searchsorted(model.classes_, found.label)
    np.testing.assert_array_equal(found.probability, chance[np.arange(60), codes])
    variance = model.decision_distribution(X)[1].reshape(60, -1)
    column = codes if classes > 2 else 0
    np.testing.assert_array_equal(found.variance, variance[np.arange(60), column])


@pytest.mark.parametrize("labels", [LABELS, ["a", "b"] * 4])
def test_answers_about_texts_are_those_of_the_python_interface(labels):
    model = TextClassifier().partial_fit(TEXTS, labels)
    asked = [*TEXTS, "", "words that nobody knows"]
    found = predict_batch(model, Batch(text=pa.array(asked, pa.large_string())))
    assert found.label.tolist() == model.predict(asked).tolist()
    np.testing.assert_array_equal(found.probabilities, model.predict_proba(asked))
    empty = predict_batch(model, Batch(text=pa.array([], pa.large_string())))
    assert len(empty.label) == len(empty.margin) == 0


def test_features_beyond_those_known_make_an_answer_less_sure():
    X, y = numbers()
    model = AROWClassifier().partial_fit(X, y)
    wide = csr_array((X.data, X.indices, X.indptr), shape=(60, 50)).tolil()
    wide[:, 45] = 2.0
    known, strange = (
        predict_batch(model, Batch(matrix=X)),
        predict_batch(model, Batch(matrix=csr_array(wide))),
    )
    np.testing.assert_array_equal(known.margin, strange.margin)
    np.testing.assert_allclose(strange.variance, known.variance + 4.0, rtol=1e-6)


def test_two_classes_of_a_wide_model_have_one_score():
    X, y = numbers(classes=3)
    model = AROWClassifier().partial_fit(X, y).forget_class(2)
    found = predict_batch(model, Batch(matrix=X))
    np.testing.assert_array_equal(found.probabilities, model.predict_proba(X))
    np.testing.assert_array_equal(found.margin, np.abs(model.decision_function(X)))
    np.testing.assert_array_equal(found.variance, model.decision_distribution(X)[1])


def test_texts_and_numbers_are_not_taken_for_each_other():
    X, _ = numbers()
    with pytest.raises(DataError, match=r"f.svm holds svmlight rows, but the model takes texts"):
        check_kind(TextClassifier(), Batch(matrix=X, source="f.svm"))
    with pytest.raises(DataError, match="the input holds texts, but the model takes svmlight rows"):
        check_kind(AROWClassifier(), texts_batch())


@pytest.mark.parametrize(("value", "words"), [(np.inf, "is inf"), (1e300, "is inf")])
def test_numbers_must_be_finite_in_the_model(value, words):
    X = csr_array(([1.0, value], [0, 2], [0, 1, 2]), shape=(2, 3))
    batch = Batch(matrix=X, label=pa.array([0, 1]), source="f.svm", first_row=10)
    with pytest.raises(DataError, match=f"f.svm, row 12: feature 2 {words}"):
        StreamTrainer(AROWClassifier()).learn(batch)


def test_labels_with_fractions_are_no_classes():
    with pytest.raises(DataError, match=r"the label 0.5 is a number with a fraction, not a class"):
        StreamTrainer(TextClassifier()).learn(texts_batch([0.0, 0.5] * 4))


def test_labels_as_people_write_them():
    whole, real, truth = np.dtype(np.int64), np.dtype(float), np.dtype(bool)
    assert read_label("+1", whole) == read_label("1.0", whole) == 1
    assert read_label("1.5", whole) is read_label("one", real) is read_label("1", truth) is None
    assert read_label("1.5", real) == 1.5
    assert read_label("True", truth) is True
    assert read_label("x", np.dtype("U1")) == "x"
    assert typed_labels(["b", "a"], np.dtype(object)).dtype == object
    assert typed_labels(["true"], truth).tolist() == [True]


def test_an_unfitted_model_has_no_features():
    assert count_features(AROWClassifier()) == 0
    stream = StreamTrainer(AROWClassifier())
    stream.settle()
    assert stream.counts.seen == 0


def test_predicting_unknown_features_leaves_the_model_as_it_was():
    X, y = numbers()
    model = AROWClassifier().partial_fit(X, y)
    state, width = model.model_.state, model.n_features_in_
    wide = csr_array((np.ones(1), np.array([90]), np.array([0, 1])), shape=(1, 100))
    predict_batch(model, Batch(matrix=wide))
    assert model.model_.state is state
    assert model.n_features_in_ == width == model.coef_.shape[1]


def test_min_confidence_labels_by_the_mean_as_predict_does():
    model = TextClassifier().partial_fit(TEXTS, [*"abcabcab"])
    asked = [*TEXTS, "noon prize lunch", "money at noon"]
    assert model.predict(asked, min_confidence=0.0).tolist() == model.predict(asked).tolist()
