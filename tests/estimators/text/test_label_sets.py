"""Several labels per text: against two-class models, one per label, and every promise with them."""

import numpy as np
import pyarrow as pa
import pytest
from cases import several
from scipy.sparse import csr_array, issparse
from sklearn.metrics import f1_score, hamming_loss
from sklearn.utils import get_tags

from sureline import (
    AROWClassifier,
    CWClassifier,
    NHERDClassifier,
    PAClassifier,
    SCWClassifier,
    TextClassifier,
    load,
    merge,
)
from sureline.data.label_sets import as_label_sets
from sureline.errors import DataError, InvalidParameter
from sureline.model.label_sets import best_for_f1

LABELS = ("billing", "login", "refund", "urgent")
WORDS = {
    "billing": ("invoice", "charged", "card"),
    "login": ("password", "account", "locked"),
    "refund": ("money", "back", "return"),
    "urgent": ("now", "please", "asap"),
}


def tickets(count, seed=0, noise=0.1):
    """Texts with none to four of the labels, and noise in both."""
    rng = np.random.RandomState(seed)
    texts, sets = [], []
    for _ in range(count):
        labels = [label for label in LABELS if rng.rand() < 0.35]
        words = [rng.choice(WORDS[label]) for label in labels for _ in range(2)]
        words += [f"word{k}" for k in rng.randint(0, 40, rng.randint(1, 6))]
        rng.shuffle(words)
        texts.append(" ".join(words))
        sets.append({label for label in LABELS if (label in labels) != (rng.rand() < noise)})
    return texts, sets


def learned(model):
    """All that a model has learned, to be compared bit by bit."""
    state = model.model_.state
    used = state.used
    return [
        model.classes_,
        model.coef_,
        model.variance_,
        model.intercept_,
        state.class_counts[: model.n_features_ + 1, :used],
        state.outcomes[:, :used],
        state.fits[:used],
        state.calibrator,
        state.counts,
    ]


def equal(one, two):
    return all(np.array_equal(a, b) for a, b in zip(learned(one), learned(two), strict=True))


ESTIMATORS = [
    AROWClassifier(r="auto"),
    AROWClassifier(r=0.7, fit_intercept=False),
    CWClassifier(constraint="variance"),
    CWClassifier(),
    SCWClassifier(variant=2),
    NHERDClassifier(C=0.5),
]


@pytest.mark.parametrize("weighting", ["nb", None])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_each_label_learns_what_a_model_of_two_classes_would(estimator, weighting):
    texts, sets = tickets(several(200, 60))
    estimator = estimator.set_params(dtype="float64")
    weights = np.random.RandomState(1).uniform(0.2, 1.0, len(texts))
    options = {"estimator": estimator, "weighting": weighting, "drift": None}
    model = TextClassifier(**options)
    model.partial_fit(texts, sets, classes=LABELS, sample_weight=weights)
    for k, label in enumerate(LABELS):
        has = np.array([label in each for each in sets])
        two = TextClassifier(**options)
        two.partial_fit(texts, has, classes=[False, True], sample_weight=weights)
        np.testing.assert_allclose(model.coef_[k], two.coef_[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(model.variance_[k], two.variance_[0], rtol=1e-7)
        np.testing.assert_allclose(model.intercept_[k], two.intercept_[0], rtol=1e-7, atol=1e-9)
        scores = model.decision_function(texts)[:, k]
        np.testing.assert_allclose(scores, two.decision_function(texts), rtol=1e-6, atol=1e-8)


def test_a_stream_is_learned_alike_however_it_is_cut():
    texts, sets = tickets(90)
    whole = TextClassifier().partial_fit(texts, sets)
    parts = TextClassifier()
    for begin, end in ((0, 1), (1, 40), (40, 40), (40, 90)):
        if begin < end:
            parts.partial_fit(texts[begin:end], sets[begin:end])
    assert equal(whole, parts)
    one_by_one = TextClassifier()
    for text, labels in zip(texts, sets, strict=True):
        one_by_one.learn_one(text, labels)
    assert equal(whole, one_by_one)


def test_fit_with_one_pass_is_partial_fit_with_all_labels():
    texts, sets = tickets(60)
    fitted = TextClassifier(shuffle=False, max_iter=1).fit(texts, sets)
    assert equal(fitted, TextClassifier().partial_fit(texts, sets, classes=LABELS))


def test_two_threads_learn_what_one_would():
    texts, sets = tickets(3000)
    one, two = (
        TextClassifier(random_state=3, max_iter=2, n_jobs=jobs).fit(texts, sets) for jobs in (1, 2)
    )
    assert equal(one, two)


def test_three_threads_learn_in_shards():
    texts, sets = tickets(400)
    model = TextClassifier(random_state=3, max_iter=2, n_jobs=3).fit(texts, sets)
    again = TextClassifier(random_state=3, max_iter=2, n_jobs=3).fit(texts, sets)
    assert equal(model, again)
    assert model.model_.state.outcomes[0, 0] == 400
    assert model.score(texts, sets) > 0.5


def test_a_late_label_leaves_the_others_alone():
    texts, sets = tickets(80)
    sets = [each - {"urgent"} for each in sets]
    early = TextClassifier().partial_fit(texts, sets)
    early.partial_fit(["asap asap"], [["urgent", "billing"]])
    late = TextClassifier().partial_fit(texts, sets)
    late.partial_fit(["asap asap"], [["billing"]])
    assert early.classes_.tolist() == sorted(LABELS)
    kept = [0, 1, 2]
    assert np.array_equal(early.coef_[kept], late.coef_)
    assert early.predict_one("word1 word2") == late.predict_one("word1 word2")


def test_texts_without_labels_are_counted():
    model = TextClassifier().partial_fit(["hello there", "good morning"], [[], []])
    assert not model.__sklearn_is_fitted__()
    model.partial_fit(["my card was charged"], [["billing"]])
    assert model.model_.state.class_counts[0, :2].tolist() == [3, 1]
    assert model.n_seen_ == 3


def test_numbers_stay_numbers_where_texts_have_no_label():
    model = TextClassifier().partial_fit(["hello there"], [[]], classes=[1, 2])
    model.partial_fit(["good morning", "see you"], [[], []])
    model.partial_fit(["my card was charged"], [[2, 3]])
    model.partial_fit(["bye"], [[]])
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.classes_.dtype.kind == "i"


def test_predictions_come_in_the_form_of_the_labels():
    texts, sets = tickets(120)
    matrix = as_label_sets(sets).indicator(np.array(LABELS)).astype(int)
    tuples = TextClassifier(random_state=0).fit(texts, [sorted(each) for each in sets])
    dense = TextClassifier(random_state=0).fit(texts, matrix)
    sparse = TextClassifier(random_state=0).fit(texts, csr_array(matrix))
    found = tuples.predict(texts)
    assert found.dtype == object
    assert all(type(each) is tuple for each in found)
    assert dense.classes_.tolist() == [0, 1, 2, 3]
    assert isinstance(dense.predict(texts), np.ndarray)
    assert issparse(sparse.predict(texts))
    expected = as_label_sets(found.tolist()).indicator(np.array(LABELS))
    assert np.array_equal(dense.predict(texts), expected)
    assert np.array_equal(sparse.predict(texts).toarray(), expected)
    assert (
        dense.score(texts, matrix)
        == tuples.score(texts, sets)
        == np.mean((expected == matrix).all(axis=1))
    )
    assert f1_score(matrix, dense.predict(texts), average="macro") > 0.8
    assert hamming_loss(matrix, sparse.predict(texts)) < 0.15
    assert get_tags(dense).classifier_tags.multi_label


def test_columns_of_a_matrix_may_be_named():
    texts, sets = tickets(60)
    matrix = as_label_sets(sets).indicator(np.array(LABELS))
    named = TextClassifier().partial_fit(texts, matrix, classes=LABELS)
    assert named.classes_.tolist() == list(LABELS)
    assert named.predict(texts).shape == matrix.shape
    with pytest.raises(DataError, match="classes must name the 4 columns"):
        TextClassifier().partial_fit(texts, matrix, classes=LABELS[:3])


@pytest.mark.parametrize(
    "given",
    [
        lambda sets: [list(each) for each in sets],
        lambda sets: [tuple(each) for each in sets],
        lambda sets: np.array([frozenset(each) for each in sets], dtype=object),
        lambda sets: pa.array([sorted(each) for each in sets]),
        lambda sets: pa.chunked_array([[sorted(each) for each in sets]]),
        lambda sets: as_label_sets(sets),
    ],
)
def test_labels_may_come_as_any_collection(given):
    texts, sets = tickets(40)
    expected = TextClassifier().partial_fit(texts, sets)
    assert equal(expected, TextClassifier().partial_fit(texts, given(sets)))


def test_one_label_per_text_stays_what_it_is():
    texts = ["win a prize", "lunch at noon", "cheap pills"]
    model = TextClassifier().partial_fit(texts, ["spam", "ham", "spam"])
    assert not model.model_.learner.multilabel
    assert model.predict(texts).dtype.kind == "U"


# -- probabilities and thresholds --------------------------------------------------------------


def test_probabilities_are_calibrated_label_by_label():
    texts, sets = tickets(3000, noise=0.15)
    model = TextClassifier(random_state=0, max_iter=1).fit(texts[:2000], sets[:2000])
    chances = model.predict_proba(texts[2000:])
    truth = as_label_sets(sets[2000:]).indicator(model.classes_)
    for k in range(4):
        bins = (10 * chances[:, k]).astype(int)
        gaps = np.bincount(bins, chances[:, k] - truth[:, k])
        assert np.abs(gaps).sum() < 0.1 * len(truth)
        loss = -np.log(np.where(truth[:, k], chances[:, k], 1.0 - chances[:, k])).mean()
        assert loss < 0.5  # that of the noise alone is 0.42, of the frequencies 0.67
    assert chances.shape == (1000, 4)
    assert not np.allclose(chances.sum(axis=1), 1.0)


def test_an_unknown_text_has_the_frequencies_of_labels():
    texts, sets = tickets(200)
    model = TextClassifier().partial_fit(texts, sets)
    rows = as_label_sets(sets).indicator(model.classes_).sum(axis=0)
    expected = (rows + 0.5) / (200 + 1.0)
    np.testing.assert_allclose(model.predict_proba(["日本"])[0], expected, rtol=1e-12)


def test_thresholds_can_be_changed_after_training():
    texts, sets = tickets(300)
    model = TextClassifier(random_state=0).fit(texts, sets)
    chances = model.predict_proba(texts)
    for least in (0.1, 0.9):
        chosen = as_label_sets(model.set_params(threshold=least).predict(texts).tolist()).indicator(
            model.classes_
        )
        assert np.array_equal(chosen, chances >= least)
    for refused in ("f2", 1.5, True, None):
        with pytest.raises(InvalidParameter, match="threshold"):
            model.set_params(threshold=refused).predict(texts)


def test_the_threshold_for_f1_is_the_best_of_all_intervals():
    rng = np.random.RandomState(0)
    counts = rng.poisson(3.0, (128, 5)).astype(float)
    found = best_for_f1(counts)
    for k in range(5):
        having, lacking = counts[:64, k], counts[64:, k]
        scores = [
            2 * having[b:].sum() / (having[b:].sum() + lacking[b:].sum() + having.sum())
            for b in range(64)
        ]
        odds = np.log(found[k] / (1 - found[k]))
        assert np.argmax(scores[::-1]) == 63 - round((odds + 16.0) * 2)
    assert best_for_f1(np.zeros((128, 1))).tolist() == [0.5]


def test_what_models_said_before_learning_is_counted():
    texts, sets = tickets(150)
    model = TextClassifier()
    expected = np.zeros((2, 4))
    for text, labels in zip(texts, sets, strict=True):
        if model.__sklearn_is_fitted__() and model.classes_.size == 4:
            chances = model.predict_proba([text])[0]
            has = np.isin(model.classes_, list(labels))
            expected[0] += has & (chances >= 0.5)
            expected[1] += ~has & (chances >= 0.5)
        model.learn_one(text, labels)
    state = model.model_.state
    assert state.outcomes[0, 0] == 150
    rows = model.model_.by_class(state.outcomes[1:] / state.calibrator[6])
    assert np.isfinite(rows).all()
    assert (rows[32:64].sum(axis=0) > 0).all()
    assert (expected[0] > expected[1]).all()


def test_f1_needs_what_was_predicted_before():
    texts, sets = tickets(60)
    model = TextClassifier(calibration=None).fit(texts, sets)
    with pytest.raises(InvalidParameter, match="calibration='online'"):
        model.predict(texts)
    assert len(model.set_params(threshold=0.5).predict(texts)) == 60


def test_so_many_best_labels():
    texts, sets = tickets(60)
    model = TextClassifier(random_state=0).fit(texts, sets)
    assert {len(each) for each in model.predict(texts, top=2)} == {2}
    assert {len(each) for each in model.predict(texts, top=9)} == {4}
    best = model.classes_[model.predict_proba(texts).argmax(axis=1)]
    assert [each[0] for each in model.predict(texts, top=1)] == best.tolist()
    single = TextClassifier().fit(["a b", "c d"], [0, 1])
    with pytest.raises(InvalidParameter, match="top is for texts with several labels"):
        single.predict(["a"], top=1)


def test_details_of_a_prediction():
    texts, sets = tickets(200)
    model = TextClassifier(random_state=0).fit(texts, sets)
    found = model.predict_one("charged my card now", details=True)
    assert found.label == model.predict_one("charged my card now")
    assert sorted(found.probabilities) == sorted(LABELS)
    exact = [p if label in found.label else 1 - p for label, p in found.probabilities.items()]
    assert found.probability == pytest.approx(np.prod(exact))
    best = max(found.probabilities, key=found.probabilities.get)
    assert found.margin == model.decision_function(["charged my card now"])[0, LABELS.index(best)]
    assert model.predict_one("word1", min_confidence=1.0) is None


def test_sets_cover_as_many_labels_as_asked():
    texts, sets = tickets(3000)
    model = TextClassifier(random_state=0, max_iter=1).fit(texts[:2000], sets[:2000])
    found = model.predict_set(texts[2000:], coverage=0.8)
    pairs = [label in each for each, own in zip(found, sets[2000:], strict=True) for label in own]
    assert 0.75 < np.mean(pairs) < 0.85


# -- files, merging, and what does not go together ---------------------------------------------


@pytest.mark.parametrize("compact", [False, True])
def test_files_predict_and_learn_alike(tmp_path, compact):
    texts, sets = tickets(200)
    matrix = csr_array(as_label_sets(sets).indicator(np.array(LABELS)))
    for y in (sets, matrix):
        model = TextClassifier(random_state=0, threshold="micro-f1").fit(texts, y)
        model.save(tmp_path / "m.sureline", compact=compact)
        loaded = load(tmp_path / "m.sureline")
        assert loaded.threshold == "micro-f1"
        if compact:
            np.testing.assert_allclose(
                model.predict_proba(texts), loaded.predict_proba(texts), atol=0.01
            )
            continue
        assert equal(model, loaded)
        assert issparse(loaded.predict(texts)) == issparse(y)
        assert equal(model.partial_fit(texts, y), loaded.partial_fit(texts, y))


def test_merged_models_know_the_labels_of_both():
    texts, sets = tickets(300)
    one = TextClassifier().partial_fit(texts[:150], [each - {"urgent"} for each in sets[:150]])
    two = TextClassifier().partial_fit(texts[150:], [each - {"login"} for each in sets[150:]])
    both = merge([one, two])
    other = merge([two, one])
    assert both.classes_.tolist() == list(LABELS)
    np.testing.assert_allclose(
        both.predict_proba(texts), other.predict_proba(texts), rtol=1e-6, atol=1e-9
    )
    rows = both.model_.by_class(both.model_.state.class_counts[0])
    truth = as_label_sets(sets).indicator(both.classes_)
    truth[:150, 3] = truth[150:, 1] = False
    assert rows.tolist() == truth.sum(axis=0).tolist()
    assert both.model_.state.class_counts[0, 0] == 300
    single = TextClassifier().fit(["a b", "c d"], [0, 1])
    with pytest.raises(InvalidParameter, match="several labels per text and model 2 one label"):
        merge([one, single])


def test_forgotten_labels_are_gone():
    texts, sets = tickets(100)
    model = TextClassifier(random_state=0).fit(texts, sets)
    before = model.decision_function(texts)
    model.forget_class("login")
    assert model.classes_.tolist() == ["billing", "refund", "urgent"]
    assert np.array_equal(model.decision_function(texts), before[:, [0, 2, 3]])
    model.partial_fit(texts, sets)
    assert model.classes_.tolist() == list(LABELS)


def test_a_half_life_forgets_old_labels():
    from sureline import Drift

    texts, sets = tickets(600)
    turned = [set(LABELS) - each for each in sets[300:]]
    stays = TextClassifier(drift=None).partial_fit(texts, sets[:300] + turned)
    forgets = TextClassifier(drift=Drift(half_life=50, false_alarms=None))
    forgets.partial_fit(texts, sets[:300] + turned)
    assert forgets.score(texts[450:], turned[150:]) > stays.score(texts[450:], turned[150:])


def test_mistakes_of_whole_sets_are_watched():
    texts, sets = tickets(4000, noise=0.0)
    turned = [set(LABELS) - each for each in sets[2000:]]
    model = TextClassifier().partial_fit(texts, sets[:2000] + turned)
    assert [change.model for change in model.changes_] == ["new"]
    assert 2000 < model.changes_[0].at < 2200


def test_kinds_of_labels_do_not_mix(tmp_path):
    texts, sets = tickets(20)
    several_labels = TextClassifier().partial_fit(texts, sets)
    one_label = TextClassifier().partial_fit(texts, ["a", "b"] * 10)
    with pytest.raises(DataError, match="is given one label alone"):
        several_labels.partial_fit(texts, ["a", "b"] * 10)
    with pytest.raises(DataError, match="is given one label alone"):
        several_labels.learn_one("a b", "billing")
    with pytest.raises(DataError, match="one label per text and is given several"):
        one_label.partial_fit(texts, sets)
    with pytest.raises(DataError, match="one label per text and is given several"):
        one_label.learn_one("a b", {"a", "b"})
    with pytest.raises(DataError, match="text before and are numbers now"):
        several_labels.partial_fit(texts, [[1, 2]] * 20)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([["a"], "b"], r"row 1: 'b' is not a list of labels"),
        ([["a"], [None]], "label is missing"),
        ([["a"], [1]], "another type"),
        ([["a"], [["b"]]], "row 1: a label is"),
        (np.array([[0, 1, 2], [0, 1, 0]]), "0 and 1 alone, got 2"),
        (csr_array(np.array([[0, 0.5], [1, 0]])), "0 and 1 alone, got 0.5"),
        (pa.array([["a"], ["b", None]]), "row 1: one of the labels is missing"),
        ([[], []], "y holds no label"),
        ([["a"]], "2 texts but 1"),
    ],
)
def test_bad_labels_give_a_sentence(y, sentence):
    with pytest.raises(DataError, match=sentence):
        TextClassifier().fit(["one", "two"], y)


def test_what_cannot_learn_several_labels_says_so():
    texts, sets = tickets(20)
    for estimator in (PAClassifier(), AROWClassifier(covariance="full")):
        with pytest.raises(InvalidParameter, match="need covariance='diagonal-kl'"):
            TextClassifier(estimator).fit(texts, sets)
    with pytest.raises(InvalidParameter, match="class_weight"):
        TextClassifier(AROWClassifier(class_weight={"login": 2.0})).fit(texts, sets)


def test_inverse_document_frequencies_count_each_text_once():
    texts, sets = tickets(50)
    model = TextClassifier(weighting="idf").partial_fit(texts, sets)
    single = TextClassifier(weighting="idf").partial_fit(texts, [0, 1] * 25)
    rows = model.model_.state.class_counts[:, 0]
    assert np.array_equal(rows, single.model_.state.class_counts.sum(axis=1))


def test_passes_are_chosen_for_sets_of_labels():
    texts, sets = tickets(300, noise=0.0)
    model = TextClassifier(random_state=0).fit(texts, sets)
    assert 1 <= model.n_iter_ <= 20
    fixed = TextClassifier(random_state=0, max_iter=model.n_iter_).fit(texts, sets)
    assert np.array_equal(model.coef_, fixed.coef_)
