"""Protocols, significance tests, curves and metrics, against hand and other libraries."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from cases import CASES, make, parameters, several, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
    zero_one_loss,
)
from sklearn.naive_bayes import MultinomialNB

from sureline import (
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    PerceptronClassifier,
    TextClassifier,
    TextFeatures,
    evaluation,
)
from sureline.data import sms_spam
from sureline.evaluation import (
    METRICS,
    Metric,
    calibration,
    compute_metrics,
    confusion_counts,
    feature_ablation,
    growing_blocks,
    hold_out,
    k_fold,
    learning_curve,
    majority_baseline,
    mcnemar,
    mean_rank,
    progressive,
    text_feature_groups,
)
from sureline.evaluation.learning_curves import learn_in_steps
from sureline.evaluation.metrics import Evaluator

TEXTS, LABELS = sms_spam()
FEW = several(300, 60)


def three_classes(seed, n=80, d=8):
    """Sparse examples of three classes, as a matrix and words."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.standard_normal((d, 3)), axis=1)]
    return scipy.sparse.csr_matrix(X), y


# -- significance ------------------------------------------------------------------------------


def pairs(both, only_a, only_b, neither):
    """Two arrays of right and wrong with these counts."""
    a = np.repeat([True, True, False, False], [both, only_a, only_b, neither])
    b = np.repeat([True, False, True, False], [both, only_a, only_b, neither])
    return a, b


def test_mcnemar_by_hand():
    # Nine differ, of which two fall to b: P = 2 (1 + 9 + 36) / 512.
    found = mcnemar(*pairs(5, 7, 2, 1))
    assert found == (7, 2, 2.0, pytest.approx(2 * 46 / 512), True)
    # (|30 - 12| - 1)² / 42, and without the correction 18² / 42.
    found = mcnemar(*pairs(50, 30, 12, 8))
    assert not found.exact
    assert found.statistic == pytest.approx(17**2 / 42)
    assert found.p_value == pytest.approx(math.erfc(math.sqrt(17**2 / 42 / 2)))
    plain = mcnemar(*pairs(50, 30, 12, 8), correction=False)
    assert plain.statistic == pytest.approx(18**2 / 42)


def test_mcnemar_is_exact_below_25_discordant_rows():
    assert mcnemar(*pairs(9, 20, 4, 9)).exact
    assert not mcnemar(*pairs(9, 20, 5, 9)).exact
    assert mcnemar(*pairs(9, 200, 50, 9), exact=True).exact
    assert not mcnemar(*pairs(9, 2, 1, 9), exact=False).exact


@pytest.mark.parametrize("exact", [True, False])
def test_equal_predictions_have_a_p_value_of_1(exact):
    assert mcnemar([True, False], [True, False], exact=exact).p_value == 1.0
    assert mcnemar(*pairs(3, 6, 6, 2), exact=exact).p_value == 1.0


@settings(max_examples=several(50, 10))
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.booleans(), st.booleans())
def test_mcnemar_agrees_with_statsmodels(both, only_a, only_b, exact, correction):
    tables = pytest.importorskip(
        "statsmodels.stats.contingency_tables", reason="statsmodels is not installed"
    )
    if only_a == only_b:  # where a correction beyond the difference itself means nothing
        return
    theirs = tables.mcnemar([[both, only_a], [only_b, 7]], exact=exact, correction=correction)
    ours = mcnemar(*pairs(both, only_a, only_b, 7), exact=exact, correction=correction)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_mcnemar_refuses_different_rows_and_what_are_no_flags():
    with pytest.raises(DataError, match="right_a has 2 rows and right_b 1"):
        mcnemar([True, False], [True])
    with pytest.raises(DataError, match="right_b must hold True or False for each row"):
        mcnemar([True, False], [0.5, 0.25])


def test_mean_rank_by_hand():
    # Ranks by task: 1 2 3, then 1.5 1.5 3 (a tie), then 3 2 1.
    errors = [[0.1, 0.2, 0.9], [0.2, 0.2, 0.5], [0.3, 0.4, 0.1]]
    assert mean_rank(errors).tolist() == pytest.approx([5.5 / 3, 5.5 / 3, 7 / 3])


def test_mean_rank_leaves_out_tasks_without_any_error():
    errors = [[0.1, np.nan, 0.2], [0.2, np.nan, 0.1]]
    assert mean_rank(errors).tolist() == [1.5, 1.5]
    with pytest.raises(DataError, match="only some of them, or none"):
        mean_rank([[0.1, np.nan], [0.2, 0.3]])
    with pytest.raises(DataError, match="only some of them, or none"):
        mean_rank([[np.nan], [np.nan]])
    with pytest.raises(DataError, match="got the shape"):
        mean_rank([0.1, 0.2])


# -- progressive -------------------------------------------------------------------------------


def by_the_book(model, X, y, order, classes=None):
    """Predict a row, learn it, and so on, with nothing but predict and partial_fit."""
    predicted = []
    for number, k in enumerate(order):
        predicted.append(model.predict(X[[k]]).tolist()[0] if number else None)
        model.partial_fit(X[[k]], y[[k]], **({} if number else {"classes": classes}))
    return predicted


@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_progressive_is_predict_then_learn_for_every_rule(rule, covariance):
    X, y = stream(3, n=several(50, 15))
    model = make(rule, covariance, **parameters(rule))
    found = progressive(model, X, y)
    slow = make(rule, covariance, **parameters(rule))
    assert found.predictions[0].tolist() == by_the_book(slow, X, y, range(len(y)))
    np.testing.assert_array_equal(found.model.coef_, slow.coef_)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("scheme", ["sequential", "one-vs-rest"])
@pytest.mark.parametrize("classes", [None, ["a", "b", "c", "d"]])
def test_progressive_adds_classes_row_by_row(scheme, classes):
    X, y = three_classes(1)
    y[:5], y[5:9] = "b", "a"
    found = progressive(AROWClassifier(scheme=scheme), X, y, classes=classes)
    slow = AROWClassifier(scheme=scheme)
    assert found.predictions[0].tolist() == by_the_book(slow, X, y, range(len(y)), classes)
    assert found.predictions[0, 0] is None
    assert not found.right[0, 0]
    np.testing.assert_array_equal(found.model.coef_, slow.coef_)


def test_progressive_error_is_the_mistakes_that_learning_counts():
    X = TextFeatures().fit_transform(TEXTS[:FEW])
    found = progressive(AROWClassifier(r=0.1), X, LABELS[:FEW])
    counted = AROWClassifier(r=0.1).partial_fit(X, LABELS[:FEW]).n_mistakes_
    assert found.error * FEW == pytest.approx(counted)


def test_progressive_of_texts_is_that_of_their_features():
    texts, labels = TEXTS[:FEW], LABELS[:FEW]
    X = TextFeatures().fit_transform(texts)
    plain = TextClassifier(AROWClassifier(r=0.5), weighting=None)
    of_texts = progressive(plain, texts, labels)
    of_numbers = progressive(AROWClassifier(r=0.5), X, labels)
    assert of_texts.predictions.tolist() == of_numbers.predictions.tolist()
    assert of_texts.model.predict_one("free prize") in ("ham", "spam")


@pytest.mark.parametrize("texts", [False, True])
def test_progressive_probabilities_are_those_before_learning(texts):
    n = several(60, 20)
    X = TEXTS[:n] if texts else TextFeatures().fit_transform(TEXTS[:n])
    model = TextClassifier() if texts else AROWClassifier()
    found = progressive(model, X, LABELS[:n], probabilities=True)
    slow = type(model)()
    chance = [0.0]
    slow.partial_fit(X[:1], LABELS[:1])
    for k in range(1, n):
        known = slow.classes_.tolist()
        probabilities = slow.predict_proba(X[k : k + 1])[0]
        chance.append(probabilities[known.index(LABELS[k])] if LABELS[k] in known else 0.0)
        slow.partial_fit(X[k : k + 1], LABELS[k : k + 1])
    np.testing.assert_allclose(found.chance[0], chance)
    assert found.log_loss == pytest.approx(-np.log(np.maximum(chance, 1e-15)).mean())
    with pytest.raises(InvalidParameter, match="use probabilities=True"):
        _ = progressive(model, X, LABELS[:n]).log_loss


def test_progressive_weighs_rows_as_partial_fit_does():
    X, y = stream(5)
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 0.5)
    found = progressive(AROWClassifier(), X, y, sample_weight=weight)
    slow = AROWClassifier().partial_fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.model.coef_, slow.coef_)
    with pytest.raises(DataError, match="sample_weight must hold a finite weight"):
        progressive(AROWClassifier(), X, y, sample_weight=-weight - 1)


def test_progressive_takes_other_libraries_classifiers():
    X, y = stream(6, n=30)
    found = progressive(SGDClassifier(random_state=0), X, y)
    slow = SGDClassifier(random_state=0)
    assert found.predictions[0].tolist() == by_the_book(slow, X, y, range(30), np.unique(y))
    with pytest.raises(InvalidParameter, match="LogisticRegression has none"):
        progressive(LogisticRegression(), X, y)
    with pytest.raises(InvalidParameter, match="has no probabilities"):
        progressive(PAClassifier(), X, y, probabilities=True)
    with pytest.raises(DataError, match="30 rows but 29 labels"):
        progressive(PAClassifier(), X, y[:-1])


def test_each_pass_has_its_errors_and_the_first_is_the_estimate():
    X, y = stream(7)
    found = progressive(AROWClassifier(), X, y, passes=3, shuffle=True, random_state=4)
    assert found.errors.shape == (3,)
    assert found.error == found.errors[0] == 1.0 - found.right[0].mean()
    assert all(sorted(order) == list(range(len(y))) for order in found.order.tolist())
    assert found.order[0].tolist() != found.order[1].tolist()
    slow = AROWClassifier()
    predicted = by_the_book(slow, X, y, found.order.ravel())
    np.testing.assert_array_equal(found.model.coef_, slow.coef_)
    second = found.predictions[1][found.order[1]].tolist()
    assert second == predicted[len(y) : 2 * len(y)]


def test_a_curve_counts_all_and_recent_mistakes():
    X, y = stream(8, n=40)
    found = progressive(PerceptronClassifier(), X, y, passes=2)
    curve = found.curve(points=4, window=5, number=2)
    wrong = ~found.right[1]
    assert curve.examples.tolist() == [10, 20, 30, 40]
    assert curve.error.tolist() == [wrong[:n].mean() for n in (10, 20, 30, 40)]
    assert curve.recent.tolist() == [wrong[n - 5 : n].mean() for n in (10, 20, 30, 40)]
    assert found.curve(points=1000).examples.size == 40
    with pytest.raises(InvalidParameter, match="from 1 to 2, got 3"):
        found.curve(number=3)


# -- held out, folds, blocks -------------------------------------------------------------------


def test_every_row_is_predicted_once_by_a_model_that_did_not_see_it():
    X, y = three_classes(2)
    found = k_fold(AROWClassifier(random_state=0), X, y, folds=4, random_state=1)
    assert found.rows.tolist() == list(range(len(y)))
    assert found.truth.tolist() == y.tolist()
    for fold in range(4):
        out = found.fold == fold
        alone = AROWClassifier(random_state=0).fit(X[~out], y[~out])
        assert found.predictions[out].tolist() == alone.predict(X[out]).tolist()
        assert found.errors[fold] == pytest.approx(1 - alone.score(X[out], y[out]))
    assert found.error == pytest.approx(np.mean(found.predictions != y))
    assert found.deviation == pytest.approx(np.std(found.errors, ddof=1))
    assert len(found.seconds) == 4


def test_folds_are_the_same_for_all_models_and_stratified():
    X, y = three_classes(3)
    a = k_fold(AROWClassifier(random_state=0), X, y, folds=5)
    b = k_fold(DummyClassifier(), X, y, folds=5)
    assert a.fold.tolist() == b.fold.tolist()
    for label in "abc":
        shares = np.bincount(a.fold[y == label], minlength=5)
        assert shares.max() - shares.min() <= 1
    assert k_fold(DummyClassifier(), X, y, folds=5, random_state=9).fold.tolist() != a.fold.tolist()


def test_a_class_may_have_fewer_rows_than_there_are_folds():
    X, y = three_classes(4)
    y[:] = np.where(y == "c", "a", y)
    y[:2] = "r"
    found = k_fold(AROWClassifier(random_state=0), X, y, folds=5, probabilities=True)
    assert found.classes.tolist() == ["a", "b", "r"]
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    with pytest.raises(DataError, match="use fewer folds"):
        k_fold(DummyClassifier(), X, np.arange(80) // 2, folds=5)
    with pytest.raises(InvalidParameter, match="at least 2, got 1"):
        k_fold(DummyClassifier(), X, y, folds=1)


def test_hold_out_takes_texts_and_weights():
    texts, labels = TEXTS[:FEW], LABELS[:FEW]
    found = hold_out(TextClassifier(random_state=0), texts, labels, test_size=0.25)
    out = found.rows
    assert out.size == FEW // 4
    kept = np.setdiff1d(np.arange(FEW), out)
    model = TextClassifier(random_state=0).fit([texts[k] for k in kept], [labels[k] for k in kept])
    assert found.predictions.tolist() == model.predict([texts[k] for k in out]).tolist()
    assert math.isnan(found.deviation)
    X = TextFeatures().fit_transform(texts)
    weight = np.where(np.array(labels) == "spam", 1.0, 0.01)
    heavy = hold_out(AROWClassifier(random_state=0), X, labels, sample_weight=weight)
    light = hold_out(AROWClassifier(random_state=0), X, labels, sample_weight=1.01 - weight)
    assert (heavy.predictions == "spam").sum() > (light.predictions == "spam").sum()


def test_hold_out_splits_labels_that_cannot_be_stratified():
    X, y = stream(9, n=12)
    labels = [f"class {k}" for k in range(6)] * 2
    labels[0] = "alone"
    assert hold_out(DummyClassifier(), X, labels, test_size=0.5).rows.size == 6
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        hold_out(DummyClassifier(), X, y, test_size=1.5)
    with pytest.raises(DataError, match="12 rows but 11 labels"):
        hold_out(DummyClassifier(), X, y[:-1])
    with pytest.raises(InvalidParameter, match="has no probabilities"):
        hold_out(PAClassifier(), X, y, probabilities=True)


@given(st.integers(2, 300), st.integers(1, 50), st.floats(1.05, 4.0))
def test_blocks_cover_all_rows_once_and_are_predicted_before_they_are_learned(n, first, growth):
    if first >= n:
        return
    blocks = growing_blocks(n, first=first, growth=growth, random_state=3)
    tested = np.concatenate([test for _, test in blocks])
    assert sorted([*blocks[0][0].tolist(), *tested.tolist()]) == list(range(n))
    known = set(blocks[0][0].tolist())
    for train, test in blocks:
        assert set(train.tolist()) == known
        assert not known & set(test.tolist())
        known |= set(test.tolist())


def test_blocks_keep_the_order_of_streams():
    train, test = growing_blocks(20)[-1]
    assert [*train, *test] == list(range(20))
    with pytest.raises(InvalidParameter, match="first must leave some to predict"):
        growing_blocks(4, first=4)


# -- curves ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_the_curve_by_pass_is_what_fit_gives_with_as_many_passes(kind, shuffle):
    n = several(200, 40)
    texts, labels = TEXTS[: 2 * n], LABELS[: 2 * n]
    X = texts if kind == "texts" else TextFeatures().fit_transform(texts)
    cls = TextClassifier if kind == "texts" else AROWClassifier
    model = cls(shuffle=shuffle, random_state=3)
    rows = X[:n], labels[:n], X[n:], labels[n:]
    found = learning_curve(model, *rows, by="pass", passes=3, entropy=True)
    assert found.examples.tolist() == [n, 2 * n, 3 * n]
    assert found.passes.tolist() == [1.0, 2.0, 3.0]
    for k in range(3):
        fitted = cls(shuffle=shuffle, random_state=3, max_iter=k + 1).fit(X[:n], labels[:n])
        right = fitted.predict(X[n:]) == labels[n:]
        assert found.right[k].tolist() == right.tolist()
        assert found.error[k] == pytest.approx(1 - right.mean())
        spread = evaluation.label_entropy(fitted.predict_proba(X[n:])).mean()
        assert found.entropy[k] == pytest.approx(spread)


@pytest.mark.parametrize("cls", [AROWClassifier, CWClassifier])
def test_steps_weigh_rows_and_classes_as_fit_does(cls):
    X, y = stream(11)
    weight = np.random.default_rng(0).integers(0, 4, len(y)) * 1.0
    stops = int((weight > 0).sum()) * np.arange(1, 3)
    model = cls(random_state=1, class_weight="balanced")
    for passes, trained in enumerate(learn_in_steps(model, X, y, stops, weight), 1):
        fitted = cls(random_state=1, class_weight="balanced", max_iter=passes)
        fitted.fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(trained.coef_, fitted.coef_)


def test_a_curve_by_example_ends_where_fit_does():
    X, y = three_classes(5)
    found = learning_curve(AROWClassifier(random_state=0, max_iter=2), X, y, X, y, points=7)
    assert found.examples[-1] == 2 * len(y)
    assert found.examples.size == 7
    fitted = AROWClassifier(random_state=0, max_iter=2).fit(X, y)
    assert found.error[-1] == pytest.approx(1 - fitted.score(X, y))


def test_learners_of_all_rows_at_once_have_a_curve_by_example():
    X, y = stream(12)
    model = LogisticRegression()
    found = learning_curve(model, X, y, X, y, points=3)
    assert found.error[-1] == pytest.approx(1 - LogisticRegression().fit(X, y).score(X, y))
    with pytest.raises(InvalidParameter, match="no curve by pass"):
        learning_curve(model, X, y, X, y, by="pass")
    with pytest.raises(DataError, match="use fewer points"):
        learning_curve(model, X, y, X, y, points=60)
    with pytest.raises(InvalidParameter, match="by must be 'example' or 'pass'"):
        learning_curve(model, X, y, X, y, by="epoch")
    with pytest.raises(InvalidParameter, match="has no probabilities"):
        learning_curve(PAClassifier(), X, y, X, y, entropy=True)
    with pytest.raises(DataError, match="60 rows but 59 labels"):
        learning_curve(PAClassifier(), X, y[1:], X, y)


# -- metrics -----------------------------------------------------------------------------------


def test_calibration_by_hand():
    chance = [[0.95, 0.05], [0.85, 0.15], [0.35, 0.65], [0.45, 0.55], [0.1, 0.9]]
    found = calibration(chance, list("aabab"), ["a", "b"], bins=5)
    # Confidence .95 .85 .65 .55 .9, right: yes yes yes no yes; bins end at .2 .4 .6 .8 1.
    assert found.counts.tolist() == [0, 0, 1, 1, 3]
    assert found.confidence[2:].tolist() == pytest.approx([0.55, 0.65, 0.9])
    assert found.accuracy[2:].tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(found.accuracy[:2]).all()
    assert found.expected_error == pytest.approx((0.55 + 0.35 + 3 * 0.1) / 5)
    assert found.largest_error == pytest.approx(0.55)


@settings(max_examples=several(25, 5))
@given(st.integers(0, 10**6))
def test_calibration_agrees_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    p = rng.random(40)
    y = (rng.random(40) < p).astype(int)
    y[:2] = 0, 1
    found = calibration(np.column_stack([1 - p, p]), y, [0, 1], bins=8)
    right = np.where(p > 0.5, y, 1 - y)
    accuracy, confidence = calibration_curve(right, np.maximum(p, 1 - p), n_bins=8)
    filled = found.counts > 0
    np.testing.assert_allclose(found.accuracy[filled], accuracy)
    np.testing.assert_allclose(found.confidence[filled], confidence)
    assert found.log_loss == pytest.approx(log_loss(y, p))
    assert found.brier == pytest.approx(brier_score_loss(y, p))


def test_many_classes_and_labels_that_a_model_does_not_know():
    chance = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    found = calibration(chance, ["a", "b", "new"], ["a", "b", "c"], bins=10, strategy="quantile")
    assert found.counts.sum() == 3
    assert found.log_loss == pytest.approx(-np.log([0.6, 0.7]).mean())
    squares = [0.4**2 + 0.3**2 + 0.1**2, 0.2**2 + 0.3**2 + 0.1**2]
    assert found.brier == pytest.approx(np.mean(squares))
    unknown = calibration(chance, ["x", "y", "z"], ["a", "b", "c"])
    assert math.isnan(unknown.log_loss)
    assert np.nansum(unknown.accuracy) == 0.0


def test_equal_counts_make_the_bins_of_quantiles():
    p = np.linspace(0.5, 1.0, 101)[1:]
    found = calibration(np.column_stack([1 - p, p]), [1] * 100, [0, 1], bins=4, strategy="quantile")
    assert found.counts.tolist() == [25, 25, 25, 25]
    same = calibration([[0.0, 1.0]] * 5, [1] * 5, [0, 1], bins=4, strategy="quantile")
    assert same.counts.tolist() == [5]
    assert same.expected_error == 0.0


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (([[0.5, 0.5]], ["a"], ["a"]), {}, "shape"),
        (([[1.5, -0.5]], ["a"], ["a", "b"]), {}, "between 0 and 1"),
        (([[0.5, 0.5]], ["a"], ["a", "b"]), {"bins": 0}, "bins must be a whole number"),
        (([[0.5, 0.5]], ["a"], ["a", "b"]), {"strategy": "even"}, "'uniform' or 'quantile'"),
    ],
)
def test_calibration_refuses_invalid_arguments(arguments, settings, words):
    with pytest.raises(ValueError, match=words):
        calibration(*arguments, **settings)


def test_majority_and_confusions():
    assert majority_baseline([2, 2, 1]) == (2, pytest.approx(1 / 3))
    assert majority_baseline(["b", "a"], ["b"]).label == "a"
    with pytest.raises(DataError, match="at least one training label"):
        majority_baseline([])
    confusion = confusion_counts([1, 1, 2, 3, 3], [1, 2, 2, 1, 1])
    assert confusion.counts.tolist() == [[1, 1, 0], [0, 1, 0], [2, 0, 0]]
    assert confusion.frequent() == [(3, 1, 2), (1, 2, 1)]
    assert confusion.frequent(1) == [(3, 1, 2)]


@pytest.mark.parametrize("classes", [2, 4])
def test_metrics_of_a_stream_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    names = np.array(["a", "b", "c", "d"])[:classes]
    truth, guess = names[rng.integers(0, classes, 90)], names[rng.integers(0, classes, 90)]
    chance = rng.dirichlet(np.ones(classes), 90)
    found = compute_metrics(truth, guess, chance, names)
    briers = [brier_score_loss(truth == names[k], chance[:, k]) for k in range(classes)]
    expected = {
        "accuracy": accuracy_score(truth, guess),
        "error": zero_one_loss(truth, guess),
        "macro_f1": f1_score(truth, guess, average="macro"),
        "micro_f1": f1_score(truth, guess, average="micro"),
        "log_loss": log_loss(truth, chance, labels=names),
        "brier": sum(briers) / (2 if classes == 2 else 1),
    }
    assert found == pytest.approx(expected)
    assert list(found) == [metric.name for metric in METRICS]
    without = compute_metrics(truth, guess)
    assert (without["log_loss"], without["macro_f1"]) == (None, found["macro_f1"])
    evaluator = Evaluator(names)
    for start in range(0, 90, 7):
        some = slice(start, start + 7)
        evaluator.add(truth[some].tolist(), guess[some], chance[some])
    streamed = evaluator.evaluation()
    assert streamed.metrics == pytest.approx(found)
    assert streamed.error == found["error"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = streamed.nothing
    by_class = [[each.precision, each.recall, each.f1, each.support] for each in streamed.classes]
    np.testing.assert_allclose(
        by_class, np.transpose(precision_recall_fscore_support(truth, guess))
    )


def test_a_new_line_of_the_table_is_a_new_metric(monkeypatch):
    top_two = Metric(
        "top_2",
        "top-2 accuracy",
        "true label among the two most probable",
        of_probabilities=lambda p, y: (np.argsort(-p)[:, :2] == y[:, None]).any(axis=1),
    )
    balanced = Metric("balanced", "balanced accuracy", "mean recall", balanced_accuracy_score)
    monkeypatch.setattr("sureline.evaluation.metrics.METRICS", (*METRICS, top_two, balanced))
    chance = [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1], [0.5, 0.2, 0.3]]
    found = compute_metrics(list("aabc"), list("acba"), chance, list("abc"))
    assert (found["top_2"], found["balanced"]) == (0.75, 0.5)


def test_unknown_labels_and_a_class_for_each_row():
    evaluator = Evaluator(np.array([1, 2]))
    assert evaluator.add(["1", "+2.0", "x", "3"], np.array([1, 1, 1, 2])) == [1, 2, "x", "3"]
    result = evaluator.evaluation(0.1234)
    assert result.unknown == {"x": 1, "3": 1}
    assert [each.label for each in result.classes] == [1, 2, "x", "3"]
    assert result.as_json()["error"] == 0.75
    assert result.as_json()["seconds"] == 0.123
    names = [f"c{k}" for k in range(40)]  # as many labels as pairs: nothing warns
    assert compute_metrics(names, names)["accuracy"] == 1.0
    with pytest.raises(DataError, match="there are no rows to evaluate"):
        Evaluator(np.array([1, 2])).evaluation()


# -- ablation ----------------------------------------------------------------------------------


def test_without_the_only_informative_column_a_model_must_guess():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = np.column_stack([2.0 * y - 1.0, rng.standard_normal((120, 3))])
    groups = {"telling": [0], "noise": np.array([False, True, True, True])}
    every, telling, noise = feature_ablation(AROWClassifier(random_state=0), X, y, groups, folds=4)
    assert (every.without, every.features, every.error) == (None, 4, 0.0)
    assert (telling.without, telling.features) == ("telling", 3)
    assert telling.change == telling.error > 0.3
    assert telling.p_value < 1e-6
    assert (noise.features, noise.error, noise.p_value) == (1, 0.0, 1.0)


def test_ablation_of_texts_is_leaving_out_their_columns():
    texts, labels = TEXTS[:FEW], LABELS[:FEW]
    model = TextClassifier(AROWClassifier(r=0.1), max_iter=2, random_state=5)
    every, *parts = feature_ablation(model, texts, labels, folds=3)
    assert [each.without for each in parts] == ["1 word", "2 words"]
    assert sum(every.features - each.features for each in parts) == every.features
    only_words = TextFeatures(ngrams=(1, 1)).fit_transform(texts)
    plain = AROWClassifier(r=0.1, max_iter=2, random_state=5)
    alone = k_fold(plain, only_words, labels, folds=3)
    ablations = feature_ablation(model.set_params(weighting=None), texts, labels, folds=3)
    assert ablations[2].error == pytest.approx(alone.error)
    # Words of test texts alone have columns here, so that both know the length of a text.
    for weighting in ("nb", "idf"):
        model.set_params(weighting=weighting)
        ablations = feature_ablation(model, texts, labels, folds=3)
        whole = k_fold(model, texts, labels, folds=3)
        few = TextClassifier(**{**model.get_params(deep=False), "ngrams": (1, 1)})
        words = k_fold(few, texts, labels, folds=3)
        assert [ablations[0].error, ablations[2].error] == pytest.approx([whole.error, words.error])


def test_ablation_refuses_invalid_groups():
    X, y = stream(13)
    model = AROWClassifier()
    for groups, words in (
        (None, "give groups"),
        ({"far": [99]}, "column indices from 0 to 5"),
        ({"all": list(range(6))}, "without 'all' no feature is left"),
    ):
        with pytest.raises(ValueError, match=words):
            feature_ablation(model, X, y, groups, folds=2)
    with pytest.raises(InvalidParameter, match="grouped by kind"):
        feature_ablation(TextClassifier(), TEXTS[:20], LABELS[:20], {"a": [0]})
    with pytest.raises(InvalidParameter, match='features="vocabulary" only'):
        text_feature_groups(TextFeatures(features="hash", bits=8).fit(["a"]))


# -- the package -------------------------------------------------------------------------------


def test_names_are_imported_when_they_are_used_and_are_not_hidden_by_modules():
    script = (
        "import sys\n"
        "import sureline.evaluation as package\n"
        "print(sorted({'sklearn', 'numba', 'scipy', 'jinja2'} & set(sys.modules)))\n"
        "import pkgutil, importlib\n"
        "for each in pkgutil.iter_modules(package.__path__):\n"
        "    if each.name != 'plots':\n"
        "        importlib.import_module(f'sureline.evaluation.{each.name}')\n"
        "kinds = {name: type(getattr(package, name)).__name__ for name in package.__all__}\n"
        "print([name for name, kind in kinds.items() if kind == 'module'])\n"
        "print(dir(package) == sorted(package.__all__), hasattr(package, 'nothing'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "[]", "True False"]


def test_other_classifiers_can_be_cross_validated():
    X = TextFeatures().fit_transform(TEXTS[:FEW])
    found = k_fold(MultinomialNB(alpha=0.01), X, LABELS[:FEW], folds=3, probabilities=True)
    predicted = found.classes[found.probabilities.argmax(axis=1)]
    assert predicted.tolist() == found.predictions.tolist()
