"""``chars="auto"``: characters of words in scripts that are written without spaces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_tokenizer import features

import sureline
from sureline import TextClassifier, TextFeatures
from sureline.model.file import read

TEXTS = [
    "영화가 정말 재미있어요 good",
    "我喜欢这部电影。很好 film",
    "この映画は面白い",
    "ผมชอบหนังเรื่องนี้มาก ok",
    "ຂ້ອຍມັກ ខ្ញុំចូលចិត្ត ကျွန်တော်",
    "𠀀𠀁 日本語text混合",
    "für Ärger, Привет мир, Ελλάδα, कखग, عربي",
    "",
]
LETTERS = "abé영화한국어我喜欢映画はのกขค ຂខကяα_1."


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("counts", ["binary", "counts", "log"])
def test_the_features_are_those_of_the_reference(text, counts):
    vectorizer = TextFeatures(counts=counts, normalize=False).fit([text])
    row = vectorizer.transform([text]).toarray()[0]
    found = dict(zip(vectorizer.get_feature_names_out().tolist(), row.tolist(), strict=True))
    assert found == pytest.approx(features(text, counts=counts))


@given(st.text(LETTERS, max_size=40))
def test_any_mixture_of_scripts_is_read_as_by_the_reference(text):
    found = TextFeatures().fit([text, "a"]).get_feature_names_out().tolist()
    assert set(found) == {*features(text), "a"}


@pytest.mark.parametrize(
    "text", ["free prize now", "für Ärger", "Привет мир", "Ελλάδα עברית عربي", "〨ud 〇"]
)
def test_other_scripts_have_the_features_of_words_alone(text):
    auto, words = (TextFeatures(chars=chars).fit([text]) for chars in ("auto", None))
    assert auto.get_feature_names_out().tolist() == words.get_feature_names_out().tolist()
    assert not [name for name in auto.get_feature_names_out() if name.startswith("‹")]


def test_texts_in_latin_script_give_the_same_model_as_before():
    texts, labels = sureline.data.sms_spam()
    auto, words = (
        TextClassifier(chars=chars, random_state=0, max_iter=1).fit(texts[:3000], labels[:3000])
        for chars in ("auto", None)
    )
    assert auto.coef_.tobytes() == words.coef_.tobytes()


def test_the_choice_is_part_of_the_scheme_that_a_file_names(tmp_path):
    for chars, version in (("auto", 2), (None, 1), ((1, 3), 1)):
        path = tmp_path / "m.sureline"
        model = TextClassifier(chars=chars, random_state=0).fit(TEXTS[:4], [0, 1, 0, 1])
        model.save(path)
        assert read(path).metadata["scheme"] == version
        again = sureline.load(path)
        assert again.chars == chars
        assert again.decision_function(TEXTS).tobytes() == model.decision_function(TEXTS).tobytes()


def test_words_that_differ_in_their_endings_share_features():
    good = ["재미있어요", "재미있었다", "재미있네요", "재미있는 영화", "정말 재미있고 좋았다"]
    bad = ["지루해요", "지루했다", "지루하네요", "지루한 영화", "정말 지루하고 싫었다"]
    texts, labels = good + bad, ["good"] * 5 + ["bad"] * 5
    unknown, truth = (
        ["재미있습니다", "지루합니다", "재미있었어요", "지루했어요"],
        ["good", "bad"] * 2,
    )
    auto = TextClassifier(random_state=0).fit(texts, labels)
    assert auto.predict(unknown).tolist() == truth
    words = TextClassifier(chars=None, random_state=0).fit(texts, labels)
    assert np.ptp(words.decision_function(unknown)) == 0.0  # words alone know none of them


def test_one_word_of_a_script_made_all_texts_in_it_known_by_the_edges_of_their_words():
    texts, labels = sureline.data.sms_spam()
    texts, labels = [*texts[:3000], "〨鈥 ud"], [*labels[:3000], "ham"]
    model = TextClassifier(random_state=0).fit(texts, labels)
    foreign = ["안녕하세요 반갑습니다", "これは面白い", "我喜欢这部电影"]
    assert model.predict_proba(foreign).tolist() == model.predict_proba([""] * 3).tolist()
    assert model.predict(foreign, min_confidence=0.9).tolist() == [None] * 3


def test_one_text_at_a_time_has_the_same_features():
    one, several = TextClassifier(), TextClassifier()
    labels = [str(k % 2) for k in range(len(TEXTS))]
    for text, label in zip(TEXTS, labels, strict=True):
        one.learn_one(text, label)
    several.partial_fit(TEXTS, labels)
    assert one.coef_.tobytes() == several.coef_.tobytes()
    assert [one.predict_one(text) for text in TEXTS] == several.predict(TEXTS).tolist()


def test_no_words_and_no_characters_leave_nothing():
    with pytest.raises(ValueError, match="neither words nor characters"):
        TextFeatures(ngrams=None).fit(["a"])
