"""What is found in texts: against slow Python, on all scripts, on real data, on odd strings."""

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from cases import several
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_tokenizer import features, normalized
from shared_data import shared

from sureline import InvalidParameter, TextFeatures
from sureline.data import sms_spam
from sureline.features.tokenizer import Tokenizer, chunk_texts
from sureline.features.unicode_tables import characters

OPTIONS = [
    {},
    {"ngrams": (1, 1)},
    {"ngrams": (2, 4), "counts": "counts"},
    {"ngrams": (1, 3), "counts": "log", "stop_words": ("a", "the", "2", "σ"), "min_length": 2},
    {"ngrams": (1, 2), "lowercase": False},
    {"ngrams": None, "chars": (1, 4), "counts": "counts"},
    {"ngrams": (1, 1), "chars": (2, 5), "stop_words": ("i",)},
    {"ngrams": None, "chars": (3, 3), "char_scope": "text", "counts": "counts"},
    {"ngrams": (1, 2), "chars": (1, 2), "char_scope": "text", "lowercase": False},
]
ASSIGNED = 1 << 25


def found(text, **options):
    """The features of one text by name, as the compiled code finds them."""
    vectorizer = TextFeatures(**options)
    found = vectorizer.tokenizer().read(pa.array([text], pa.large_string()))
    size = int(found.indptr[1])
    names = []
    for start, length in zip(found.starts[:size], found.lengths[:size], strict=True):
        piece = found.low[start : start + abs(int(length))].tobytes().decode()
        names.append(f"‹{piece}›" if length < 0 else piece)
    assert len(set(found.keys[:size].tolist())) == size
    return dict(zip(names, found.values[:size].tolist(), strict=True))


def same(ours, theirs):
    """Whether two rows hold the same features, in the same order, with nearly the same values."""
    assert list(ours) == list(theirs)
    assert np.allclose(list(ours.values()), list(theirs.values()), rtol=1e-15)


def known_characters():
    """All characters that the tables know; a newer Python may know more."""
    tables = characters(True)
    every = tables.pages[tables.order].reshape(-1)
    return [chr(code) for code in np.flatnonzero(every & ASSIGNED) if not 0xD800 <= code < 0xE000]


def test_every_character_alone_and_among_others():
    letters = known_characters()
    assert len(letters) > 280_000
    letters = letters[:: several(1, 97)]
    for around in ("{}", "A{}B", "x{}Σ", "Σ{}", "AΣ{}", "AΣ{}b", "1{}_"):
        text = " - ".join(around.format(letter) for letter in letters)
        for lowercase in (True, False):
            ours = found(text, ngrams=(1, 1), lowercase=lowercase)
            assert list(ours) == list(features(text, ngrams=(1, 1), lowercase=lowercase))


@pytest.mark.parametrize("options", OPTIONS)
def test_real_messages(options):
    texts, _ = sms_spam()
    for text in texts[:: several(7, 700)]:
        same(found(text, **options), features(text, **options))


@pytest.mark.parametrize("name", ["imdb.parquet", "20news-bydate.parquet", "enron-folders.parquet"])
def test_real_documents(name):
    column = "raw" if name.startswith("enron") else "text"
    for text in shared(name, column)[:: several(500, 10_000)]:
        same(found(text), features(text))


@pytest.mark.parametrize("letter", ["x", "É", "日"])
def test_words_of_any_length_at_any_place(letter):
    """Texts are read 64 bytes at a time; a word may begin and end anywhere, or with its text."""
    lengths = [1, 2, 7, 8, 9, 15, 16, 17, 24, 63, 64, 65, 130]
    words = ["".join(chr(97 + (k + n) % 26) for k in range(n - 1)) + letter for n in lengths]
    texts = [
        " " * before + word + after
        for word in words
        for before in range(0, 66, several(1, 13))
        for after in ("", ".", ", Next")
    ]
    tokenizer = TextFeatures(ngrams=(1, 1), chars=None).tokenizer()
    read = tokenizer.read(pa.array(texts, pa.large_string()))
    for k, text in enumerate(texts):
        places = slice(read.indptr[k], read.indptr[k + 1])
        spans = zip(read.starts[places], read.lengths[places], strict=True)
        names = [read.low[start : start + length].tobytes().decode() for start, length in spans]
        assert names == list(features(text, ngrams=(1, 1), chars=None))


TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",), max_codepoint=0x2FFF),
        st.sampled_from("AaΣσςİıẞßǅΑά'’.:·\u00ad\u0307\u0345_ \t\n\u00a0\u3000\0é日本語कि𝔸"),
    ),
    max_size=60,
)


@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="the tables are those of another Unicode"
)
@settings(max_examples=several(300, 30), deadline=None)
@given(TEXTS, st.sampled_from(OPTIONS))
def test_any_text(text, options):
    same(found(text, **options), features(text, **options))


def test_final_sigma_and_letters_that_change_length():
    assert list(found("ΟΔΥΣΣΕΥΣ", ngrams=(1, 1))) == ["οδυσσευς"]
    assert list(found("ΑΣ'Α ΑΣ. Σ", ngrams=(1, 1))) == ["ασ", "α", "ας", "σ"]
    assert list(found("İSTANBUL Ⱥ", ngrams=(1, 1))) == ["i", "stanbul", "ⱥ"]


def test_broken_bytes_are_no_words_and_harm_nobody():
    for raw in (b"ab\xffcd", b"\xe2\x82", b"\xf4\xbf\xbf\xbf x", b"\x80\x80y", b"caf\xc3"):
        array = pa.Array.from_buffers(
            pa.large_string(),
            1,
            [None, pa.py_buffer(np.array([0, len(raw)])), pa.py_buffer(raw)],
        )
        for options in OPTIONS:
            TextFeatures(**options).tokenizer().read(array)


def test_many_texts_at_once_are_those_alone():
    texts, _ = sms_spam()
    texts = texts[: several(500, 40)]
    scheme = TextFeatures(chars=(2, 3)).tokenizer()
    every = pa.array(texts, pa.large_string())
    for limit in (1, 100, 10_000):
        at_once = [
            found.keys[found.indptr[k] : found.indptr[k + 1]].tolist()
            for chunk in chunk_texts(every, limit)
            for found in [scheme.read_chunk(every, None, chunk)]
            for k in range(len(found))
        ]
        alone = []
        for text in texts:
            one = scheme.read(pa.array([text], pa.large_string()))
            alone.append(one.keys[: one.indptr[1]].tolist())
        assert at_once == alone


def test_matrix_holds_the_reference_rows():
    texts, _ = sms_spam()
    texts = [*texts[: several(400, 30)], "", "?!"]
    for options in OPTIONS[:4]:
        vectorizer = TextFeatures(dtype="float64", **options)
        matrix = vectorizer.fit_transform(texts)
        names = vectorizer.get_feature_names_out()
        assert matrix.shape == (len(texts), len(names))
        for row, text in zip(matrix, texts, strict=True):
            ours = {names[j]: value for j, value in zip(row.indices, row.data, strict=True)}
            assert ours == pytest.approx(normalized(features(text, **options)))


def test_fingerprints_stay_what_they_are():
    """They are part of saved models: these may only change with a new version of the scheme."""
    scheme = TextFeatures(chars=(3, 3)).tokenizer()
    one = scheme.read(pa.array(["Winner! caféteria of lights"], pa.large_string()))
    assert scheme.version == 1
    assert [f"{key:016x}" for key in one.keys[:8].tolist()] == FINGERPRINTS


FINGERPRINTS = [
    "bebf5b71ecd09d60",
    "d8a916b6b3588471",
    "e6d8cdb47618b84b",
    "fee15fc5a7da022a",
    "1c4ced118741ff2b",
    "743d1723794260d4",
    "2fe0cac1c1628b2c",
    "bf9115b5136592ce",
]


def test_stop_words_must_be_words():
    for wrong in (["two words"], ["!"], "the"):
        with pytest.raises(InvalidParameter, match="stop_words"):
            TextFeatures(stop_words=wrong).fit(["a text"])


def test_half_a_character_in_a_stop_word_was_an_error_of_arrow():
    with pytest.raises(InvalidParameter, match=r"stop_words must be single words.*\\udc80"):
        TextFeatures(stop_words=["the", "caf\udc80"]).fit(["a text"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ngrams", (2, 1)),
        ("ngrams", 3),
        ("ngrams", (0, 1)),
        ("ngrams", (1, 2.0)),
        ("chars", (1, 100)),
        ("char_scope", "word"),
        ("lowercase", "yes"),
        ("counts", "tfidf"),
        ("min_length", 0),
        ("features", "hashing"),
        ("min_count", 0),
        ("max_features", 0),
        ("normalize", None),
        ("dtype", "int8"),
    ],
)
def test_wrong_options_are_refused(name, value):
    with pytest.raises(InvalidParameter, match=name):
        TextFeatures(**{name: value}).fit(["a text"])


def test_wrong_bits_are_refused():
    with pytest.raises(InvalidParameter, match="bits"):
        TextFeatures(features="hash", bits=40).fit(["a text"])
    with pytest.raises(InvalidParameter, match="neither words nor characters"):
        TextFeatures(ngrams=None).fit(["a text"])
    for name in ("min_count", "max_features"):
        with pytest.raises(InvalidParameter, match=name):
            TextFeatures(features="hash", **{name: 2}).fit(["a text"])


def test_scheme_is_what_the_parameters_say():
    scheme = TextFeatures(ngrams=[1, 3], chars=None, features="hash", bits=10).tokenizer()
    assert scheme == Tokenizer((1, 3), None, "words", True, "binary", (), 1, 10)
