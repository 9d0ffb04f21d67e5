"""TextClassifier: equal however texts arrive, true to its parts, and clear about its reasons."""

import copy
import pickle
from itertools import pairwise
from time import process_time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import several
from reference_tokenizer import features, normalized
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from texts import KINDS, LABELS, TEXTS, TOPICS, N, learned, topics

import sureline.estimators.text.classifier
import sureline.features.hashing
from sureline import (
    AROWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    TextClassifier,
    TextFeatures,
)
from sureline.data import as_text, sms_spam
from sureline.declaration import declared
from sureline.features.tokenizer import Tokenizer, TokenizerBuffers

WORD = r"\w+"


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_fit_equals_partial_fit_in_any_split(kind, many, monkeypatch):
    monkeypatch.setattr(sureline.features.hashing, "MOST_NAMES", 300)
    monkeypatch.setattr(sureline.features.hashing, "KEPT_NAMES", 150)
    texts, labels = topics() if many else (TEXTS, LABELS)
    whole = TextClassifier(shuffle=False, **KINDS[kind]).fit(texts, labels)
    at_once = TextClassifier(**KINDS[kind]).partial_fit(texts, labels)
    assert learned(whole) != learned(at_once) or not many
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = [0, *np.sort(rng.integers(0, len(texts), 12)).tolist(), len(texts)]
        named, unnamed = TextClassifier(**KINDS[kind]), TextClassifier(**KINDS[kind])
        for start, stop in pairwise(cuts):
            part = texts[start:stop], labels[start:stop]
            named.partial_fit(*part, classes=sorted(set(labels)))
            unnamed.partial_fit(*part)
        assert learned(named) == learned(whole)
        assert learned(unnamed) == learned(at_once)
    one_by_one = TextClassifier(**KINDS[kind])
    for text, label in zip(texts[:60], labels[:60], strict=True):
        one_by_one.learn_one(text, label)
    assert learned(one_by_one) == learned(
        TextClassifier(**KINDS[kind]).partial_fit(texts[:60], labels[:60])
    )


@pytest.mark.parametrize("estimator", [AROWClassifier(r=0.1, dtype="float64"), PAClassifier()])
def test_it_is_text_features_and_an_online_classifier(estimator):
    told = TextFeatures(dtype=estimator.dtype)
    X = told.fit_transform(TEXTS)
    apart = clone(estimator).set_params(max_iter=2, shuffle=False).fit(X, LABELS)
    joined = TextClassifier(clone(estimator), weighting=None, max_iter=2, shuffle=False)
    joined.fit(TEXTS, LABELS)
    assert joined.get_feature_names_out().tolist() == told.get_feature_names_out().tolist()
    count = joined.n_features_
    assert joined.coef_.shape == (1, count)
    assert joined.coef_ == pytest.approx(apart.coef_, rel=1e-4, abs=1e-6)
    assert joined.intercept_ == pytest.approx(apart.intercept_, rel=1e-4, abs=1e-6)
    assert joined.n_seen_ == 2 * len(TEXTS)
    scores = apart.decision_function(told.transform(TEXTS))
    assert joined.decision_function(TEXTS) == pytest.approx(scores, rel=1e-4, abs=1e-6)
    assert (joined.predict(TEXTS) == apart.predict(X)).all()


def test_a_seed_fixes_the_order_of_every_pass():
    one, other = (TextClassifier(max_iter=2, random_state=3).fit(TEXTS, LABELS) for _ in range(2))
    assert learned(one) == learned(other)
    third = TextClassifier(max_iter=2, random_state=4).fit(TEXTS, LABELS)
    assert learned(one) != learned(third)
    rng = np.random.RandomState(3)
    by_hand = TextClassifier()
    order = rng.permutation(len(TEXTS))
    by_hand.partial_fit(
        [TEXTS[k] for k in order], [LABELS[k] for k in order], classes=["ham", "spam"]
    )
    once = TextClassifier(max_iter=1, random_state=3).fit(TEXTS, LABELS)
    assert learned(once) == learned(by_hand)


def test_words_never_seen_count_as_unsure():
    estimator = AROWClassifier(r=0.1, dtype="float64")
    model = TextClassifier(estimator, weighting=None).fit(TEXTS, LABELS)
    text = "free prize xyzzy qwertz"
    row = normalized(features(text))
    names = model.get_feature_names_out().tolist()
    known = {name: k for k, name in enumerate(names)}
    mean, variance = model.intercept_[0], model.intercept_variance_[0]
    for name, value in row.items():
        if name in known:
            mean += model.coef_[0, known[name]] * value
            variance += model.variance_[0, known[name]] * value**2
        else:
            variance += 1.0 * value**2
    told = model.decision_distribution([text])
    assert told[0][0] == pytest.approx(mean)
    assert told[1][0] == pytest.approx(variance)
    # A feature that needs more texts for a column is left out, as in learning.
    careful = TextClassifier(min_count=2).fit(TEXTS, LABELS)
    plain, longer = careful.decision_distribution(["free", "free xyzzy qwertz"])[1]
    assert plain == longer


def test_every_kind_of_column_of_texts():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    whole = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    columns = [
        (np.array(TEXTS), np.array(LABELS)),
        (np.array(TEXTS, dtype=object), np.array(LABELS, dtype=object)),
        (pandas.Series(TEXTS), pandas.Series(LABELS)),
        (pandas.Series(TEXTS, dtype="string"), pandas.Series(LABELS, dtype="category")),
        (polars.Series(TEXTS), polars.Series(LABELS)),
        (pa.array(TEXTS), pa.array(LABELS)),
        (pa.chunked_array([TEXTS[:7], TEXTS[7:]]), pa.array(LABELS).dictionary_encode()),
        (iter(TEXTS), iter(LABELS)),
    ]
    for texts, labels in columns:
        other = TextClassifier(random_state=0).fit(texts, labels)
        assert learned(other) == learned(whole)
    for texts in (np.array(TEXTS), pandas.Series(TEXTS), polars.Series(TEXTS), pa.array(TEXTS)):
        assert (whole.predict(texts) == whole.predict(TEXTS)).all()


def test_abstains_below_the_confidence_asked_for():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    probability = model.predict_proba(TEXTS).max(axis=1)
    level = float(np.median(probability))
    told = model.predict(TEXTS, min_confidence=level)
    assert [label is None for label in told] == (probability < level).tolist()
    sure = probability >= level
    assert (told[sure] == model.predict(TEXTS)[sure]).all()
    assert model.predict(TEXTS, min_confidence=0.0).tolist() == model.predict(TEXTS).tolist()
    with pytest.raises(InvalidParameter, match="from 0 to 1"):
        model.predict(TEXTS, min_confidence=1.5)
    assert [model.predict_one(text, min_confidence=level) for text in TEXTS] == told.tolist()
    with pytest.raises(InvalidParameter, match="keeps no variances"):
        TextClassifier(PAClassifier()).fit(TEXTS, LABELS).predict_one("a", min_confidence=0.5)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", ["default", "hash", "chars", "pa", "averaged"])
def test_an_explanation_adds_up(kind, many):
    texts, labels = topics() if many else (TEXTS, LABELS)
    model = TextClassifier(**KINDS[kind], random_state=0).fit(texts, labels)
    text = "Free PRIZE, free w3 w15 qwertz! " + texts[3]
    for top in (2, 1000):
        told = model.explain(text, top=top)
        assert told.text == text
        assert told.label == model.predict_one(text)
        assert list(told.classes) == model.classes_.tolist()
        scores = np.atleast_1d(model.decision_function([text])[0])
        if not many:
            scores = np.array([-scores[0], scores[0]])
        for reasons, score in zip(told.classes.values(), scores, strict=True):
            total = reasons.constant + reasons.rest + sum(each.share for each in reasons.features)
            assert total == pytest.approx(score, abs=1e-5)
            assert reasons.score == pytest.approx(score, abs=1e-5)
            assert len(reasons.features) <= top
            shares = [abs(each.share) for each in reasons.features]
            assert shares == sorted(shares, reverse=True)
            for each in reasons.features:
                assert each.share == pytest.approx(each.weight * each.value)
                for start, stop in each.places:
                    assert list(features(text[start:stop], ngrams=(1, 2)))
                    if each.feature.count(" ") == 0:
                        assert text[start:stop].lower() == each.feature
        if kind in ("default", "hash", "chars"):
            assert told.probability == model.predict_proba_one(text)[told.label]
            _, variance = model.decision_distribution([text])
            spread = [reasons.variance for reasons in told.classes.values()]
            assert spread == pytest.approx(np.atleast_1d(variance[0]) * np.ones(len(spread)))
    assert str(told).splitlines()[0].startswith(told.label)
    names = {each.feature for each in told.classes[told.label].features}
    assert {"free", "prize", "qwertz"} <= names


def test_places_count_characters_not_bytes():
    model = TextClassifier().fit(["über café gut", "naïve schlecht"], ["a", "b"])
    text = "Ein ÜBER\tCafé 😀 gut"
    told = {each.feature: each.places for each in model.explain(text).classes["a"].features}
    assert told["über café"] == ((4, 13),)
    assert told["gut"] == ((16, 19),)
    halved = {
        each.feature: each.places for each in model.explain("\ud83d gut").classes["a"].features
    }
    assert halved["gut"] == ((2, 5),)


def test_top_features_speak_surely():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    names = model.get_feature_names_out()
    for label, sign in (("spam", 1), ("ham", -1)):
        best = model.top_features(label, 5)
        weight = sign * model.coef_[0].astype(float)
        deviation = np.sqrt(model.variance_[0].astype(float))
        least = weight - deviation
        sure = np.where(least > 0, least, least / deviation)
        order = np.argsort(-sure, kind="stable")[:5]
        assert [each.feature for each in best] == names[order].tolist()
        assert [each.weight for each in best] == (sign * model.coef_[0, order]).tolist()
        assert [each.variance for each in best] == model.variance_[0, order].tolist()
    with pytest.raises(InvalidParameter, match=r"no class 'eggs'.*'ham', 'spam'"):
        model.top_features("eggs")
    assert all(each.variance is None for each in fitted("pa").top_features("spam", 3))


def fitted(kind):
    return TextClassifier(**KINDS[kind], random_state=0).fit(TEXTS, LABELS)


def test_hashing_remembers_the_heaviest_names(monkeypatch):
    most = several(2000, 1000)
    monkeypatch.setattr(sureline.features.hashing, "MOST_NAMES", most)
    monkeypatch.setattr(sureline.features.hashing, "KEPT_NAMES", most // 2)
    given = [some[: several(1000, 80)] for some in sms_spam()]
    model = TextClassifier(features="hash", bits=18, max_iter=1, random_state=0).fit(*given)
    exact = TextClassifier(max_iter=1, random_state=0).fit(*given)
    told = [each.feature for each in model.top_features("spam", 5)]
    true = [each.feature for each in exact.top_features("spam", 5)]
    assert told == true
    named = [name for name in model.get_feature_names_out() if not name.startswith("column ")]
    assert most // 2 < len(named) <= most < exact.n_features_


def test_names_still_come_when_most_columns_have_one():
    texts = [f"w{i} w{i + 1} w{i + 2}" for i in range(400)]
    model = TextClassifier(features="hash", bits=8, shuffle=False).fit(texts, [0, 1] * 200)
    names, since, _ = model.model_.columns.arrays.sizes
    half = 1 + next(i for i in range(400) if len({*_columns(model, texts[: i + 1])}) > 128)
    assert since == 400 - half + 1  # texts from the one on by which half of the columns have names
    # After that one text of eight gives names.
    naming = texts[:half] + texts[half + 7 :: 8]
    assert names == len({*_columns(model, naming)})


def _columns(model, texts):
    found = model.model_.tokenizer.read(as_text(texts), buffers=TokenizerBuffers())
    return found.keys[: found.indptr[-1]].tolist()


def test_the_least_certain_features_are_forgotten():
    most = several(300, 100)
    model = TextClassifier(max_features=most, shuffle=False).fit(TEXTS, LABELS)
    assert model.n_features_ < most + 100
    assert model.model_.state.table.shape[0] < 4 * most
    kept = set(model.get_feature_names_out())
    # What many texts have is known best.
    assert {"you", "to", "i"} <= kept
    assert np.mean(model.predict(TEXTS) == np.array(LABELS)) > several(0.85, 0.6)
    told = TextFeatures(max_features=most).fit(TEXTS)
    assert {"you", "to", "i", "a", "the"} <= set(told.get_feature_names_out())


@pytest.mark.parametrize("most", [1, 2, 3])
def test_however_few_features_are_kept_learning_ends(most):
    texts = ["a b", "c d", "a c"] * 5
    model = TextClassifier(max_features=most, random_state=0).fit(texts, [0, 1, 0] * 5)
    assert model.n_features_ <= most + 3  # those of one text may come on top
    assert model.predict(["a"]).shape == (1,)
    assert len(TextFeatures(max_features=most).fit(texts).get_feature_names_out()) <= most + 3


def test_text_features_match_a_count_vectorizer():
    ours = TextFeatures(ngrams=(1, 2), counts="counts", normalize=False, min_count=2)
    theirs = CountVectorizer(ngram_range=(1, 2), token_pattern=WORD, min_df=2)
    one, other = ours.fit_transform(TEXTS).toarray(), theirs.fit_transform(TEXTS).toarray()
    names = theirs.get_feature_names_out().tolist()
    order = [names.index(name) for name in ours.get_feature_names_out()]
    assert sorted(order) == list(range(len(names)))
    assert (one == other[:, order]).all()
    hashed = TextFeatures(features="hash", bits=20).fit([]).transform(TEXTS)
    assert hashed.shape == (len(TEXTS), 2**20)
    assert hashed.nnz == TextFeatures().fit_transform(TEXTS).nnz
    assert hashed.has_sorted_indices


def test_it_works_in_pipelines_and_searches():
    pipeline = make_pipeline(TextFeatures(), SGDClassifier(random_state=0))
    assert cross_val_score(pipeline, TEXTS, LABELS, cv=3).mean() > 0.9
    search = GridSearchCV(TextClassifier(random_state=0), {"ngrams": [(1, 1), (1, 2)]}, cv=3)
    given = [some[: several(N, 150)] for some in sms_spam()]  # fewer do not beat the usual class
    assert search.fit(*given).best_score_ > several(0.93, 0.84)
    model = TextClassifier(AROWClassifier(r=3.0), ngrams=(1, 3))
    assert clone(model).get_params()["estimator__r"] == 3.0
    assert repr(model) == "TextClassifier(estimator=AROWClassifier(r=3.0), ngrams=(1, 3))"


def parts(model):
    """All that a model has learned, to the bit."""
    metadata, tensors = model.to_parts()
    return repr(metadata), {name: np.asarray(each).tobytes() for name, each in tensors.items()}


def test_models_that_learn_in_turn_do_not_disturb_each_other():
    kinds = [
        {},
        {"features": "hash", "bits": 12},
        {"chars": (2, 3), "max_features": 300, "calibration": None},
        {"estimator": AROWClassifier(dtype="float64")},
        {"weighting": "idf"},
    ]
    texts = [*TEXTS, "a", "", "many words " * 400, "one \ud800 two", "b"]
    labels = [*LABELS, "ham", "spam", "ham", "spam", "ham"]
    turns, alone = [[TextClassifier(**kind) for kind in kinds] for _ in range(2)]
    for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
        weight = 1.0 if k % 3 else 0.5
        for model in turns:
            model.learn_one(text, label, weight)
    for model in alone:
        for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
            model.partial_fit([text], [label], sample_weight=[1.0 if k % 3 else 0.5])
    for one, other in zip(turns, alone, strict=True):
        assert parts(one) == parts(other)


def test_learning_one_text_goes_on_after_anything_else():
    def other_than(model, k):
        """What else may come between two texts: it changes the arrays that learning goes to."""
        if k == 10:
            model.partial_fit(["words that make the vocabulary grow " + " ".join(TEXTS)], ["ham"])
        elif k == 15:
            model.model_.state = model.model_.state.copy()
        elif k == 20:
            model.partial_fit(["a third"], ["new"])
        elif k == 25:
            model.forget_class("new")

    single, whole = TextClassifier(), TextClassifier()
    for k, (text, label) in enumerate(zip(TEXTS[:40], LABELS[:40], strict=True)):
        single.learn_one(text, label)
        whole.partial_fit([text], [label])
        for model in (single, whole):
            other_than(model, k)
        assert [single.predict_one(each) for each in TEXTS[:5]] == whole.predict(TEXTS[:5]).tolist()
    assert parts(single) == parts(whole)


@pytest.mark.parametrize("options", [{}, {"features": "hash"}, {"weighting": None}])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_the_label_of_one_text_is_that_of_many(classes, options):
    texts, labels = topics()
    keys = [TOPICS.index(label) % classes for label in labels]
    model = TextClassifier(**options).partial_fit(texts, keys)
    answers = [model.predict_one(text) for text in texts]
    assert answers == model.predict(texts).tolist()
    assert {type(answer) for answer in answers} == {int}


def test_stop_words_of_a_very_long_text_are_left_out():
    text = "the " + " ".join(map(str, range(several(300_000, 3_000))))
    tokenizer = Tokenizer.from_options(TextClassifier(stop_words=["the"], ngrams=(1, 1)))
    found = tokenizer.read_one(text).tokens
    assert found.indptr[1] == several(300_000, 3_000)
    assert Tokenizer.from_options(TextClassifier()).read_one("a b").tokens.indptr[1] == 3


def test_copies_and_pickles_go_on_alone():
    model = TextClassifier().partial_fit(TEXTS[:30], LABELS[:30])
    before = learned(model)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.partial_fit(TEXTS[30:], LABELS[30:])
        assert learned(model) == before
        assert learned(twin) == learned(TextClassifier().partial_fit(TEXTS, LABELS))


def test_a_class_can_be_forgotten():
    texts, labels = topics()
    model = TextClassifier().fit(texts, labels).forget_class("two")
    assert model.classes_.tolist() == sorted(set(TOPICS) - {"two"})
    assert "two" not in model.predict(texts)


def test_what_is_wrong_is_reported():
    model = TextClassifier()
    with pytest.raises(DataError, match="3 texts but 2 labels"):
        model.fit(["a", "b", "c"], ["x", "y"])
    with pytest.raises(DataError, match="one class only, 'x'"):
        model.fit(["a", "b"], ["x", "x"])
    with pytest.raises(DataError, match="no label"):
        model.fit([], [])
    with pytest.raises(DataError, match="one label per text"):
        model.fit(["a", "b"], np.full((2, 2), "x"))
    with pytest.raises(InvalidParameter, match="list of texts"):
        model.fit("a text", ["x"])
    with pytest.raises(InvalidParameter, match="pipeline of TextFeatures"):
        TextClassifier(SGDClassifier()).fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="early_stopping"):
        TextClassifier(AROWClassifier(early_stopping=True)).fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="max_iter"):
        TextClassifier(max_iter=0).fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="shuffle"):
        TextClassifier(shuffle="no").fit(TEXTS, LABELS)
    model.partial_fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="changed how texts are read or learned"):
        model.set_params(ngrams=(1, 1)).partial_fit(TEXTS, LABELS)
    other = TextClassifier(AROWClassifier(r=1.0)).partial_fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="changed how texts are read or learned"):
        other.set_params(estimator__r=2.0).learn_one(TEXTS[0], LABELS[0])
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = TextClassifier().coef_
    assert not hasattr(TextClassifier(PAClassifier()), "predict_proba")
    small = TextClassifier(AROWClassifier(memory_limit_gb=1e-5))
    with pytest.raises(InvalidParameter, match="memory_limit_gb"):
        small.fit(TEXTS, LABELS)


def test_weights_and_balance():
    weight = np.linspace(0.0, 1.0, len(TEXTS))
    model = TextClassifier(shuffle=False).fit(TEXTS, LABELS, sample_weight=weight)
    assert model.n_seen_ == len(TEXTS) - 1
    balanced = AROWClassifier(r="auto", scheme="one-vs-rest", class_weight="balanced")
    one = TextClassifier(balanced, shuffle=False).fit(TEXTS, LABELS)
    counts = {label: LABELS.count(label) for label in ("ham", "spam")}
    by_hand = [len(LABELS) / (2 * counts[label]) for label in LABELS]
    other = TextClassifier(shuffle=False).fit(TEXTS, LABELS, sample_weight=by_hand)
    assert learned(one)[0] == learned(other)[0]


def test_no_texts_give_no_answers():
    model = TextClassifier().fit(TEXTS, LABELS)
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 2)
    assert model.predict(["", "!"]).shape == (2,)


def test_parameters_of_the_default_estimator_can_be_searched():
    grid = {"estimator__r": [0.1, 10.0]}
    search = GridSearchCV(TextClassifier(random_state=0), grid, cv=2).fit(TEXTS, LABELS)
    best = search.best_estimator_
    assert best.estimator.r == search.best_params_["estimator__r"]
    assert best.estimator.scheme == "one-vs-rest"  # as that of None
    again = clone(best).set_params(estimator=None, estimator__r=2.0)
    assert (again.estimator.r, again.estimator.scheme) == (2.0, "one-vs-rest")


def test_the_parameter_estimator_says_how_the_default_differs_from_arow():
    default, plain = TextClassifier().chosen_estimator().get_params(), AROWClassifier().get_params()
    differing = [name for name in plain if default[name] != plain[name]]
    meaning = declared(TextClassifier)["estimator"].meaning
    assert differing == ["r", "scheme"]
    for name in differing:
        assert f"{name}={default[name]!r}" in meaning
        assert f"{name}={plain[name]!r}" in meaning.replace("r=1 ", "r=1.0 ")
    given = TextClassifier(AROWClassifier()).fit(TEXTS, LABELS).estimator_.get_params()
    assert [given[name] for name in differing] == [plain[name] for name in differing]


def test_an_explanation_marks_its_text_in_notebooks():
    model = TextClassifier(random_state=0).fit(["good film", "bad film"] * 3, ["up", "down"] * 3)
    explained = model.explain("a <b>good</b> one")
    page = explained._repr_html_()
    assert page.count("good") == 2  # once in the text, once in the table
    assert "&lt;b&gt;" in page
    assert "<b>good" not in page
    (good,) = (each for each in explained.classes["up"].features if each.share)
    assert f"{good.share:+.4f}" in page


def test_several_labels_per_row_of_numbers_are_refused_in_a_sentence():
    several = [["a"], ["a", "b"], [], ["b"]]
    forms = (several, pd.Series(several), pa.array(several), [{"a"}, {"b"}, {"b"}, {"a"}])
    for labels in forms:
        with pytest.raises(DataError, match="row 0: y must be one label per row"):
            AROWClassifier().fit(np.eye(4), labels)
    with pytest.raises(DataError, match=r"row 1: y must be one label per row, got \['b'\]"):
        AROWClassifier().fit(np.eye(2), ["a", ["b"]])


def test_explaining_takes_time_in_proportion_to_the_text():
    """Where a word occurs was copied for each occurrence."""
    model = TextClassifier().fit(["free prize", "see you"], ["spam", "ham"])

    def seconds(times):
        begun = process_time()
        explained = model.explain("free " * times, top=1)
        taken = process_time() - begun
        assert len(explained.classes["spam"].features[0].places) == times
        return taken

    few, many = (min(seconds(times) for _ in range(3)) for times in (20_000, 80_000))
    assert many < 8 * few
