"""TextFeatures with a weighting: what is counted, how values follow, files and merging."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from cases import several
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from sureline import DataError, InvalidParameter, ModelFileError, TextFeatures, load, merge
from sureline.cli import main
from sureline.data import sms_spam
from sureline.model.file import read, write

TEXTS, LABELS = (part[:300] for part in sms_spam())
KINDS = ["vocabulary", "hash"]
WEIGHTINGS = ["idf", "nb"]


def made(weighting, **options):
    return TextFeatures(weighting=weighting, bits=12, dtype="float64", **options)


def same(a, b, texts=TEXTS):
    first, second = a.transform(texts), b.transform(texts)
    assert first.shape == second.shape
    assert (first != second).nnz == 0


def by_hand(texts, labels, normalize=True):
    """The weights of naive Bayes, text by text and word by word, from plain dictionaries."""
    first, second = sorted(set(labels))
    had = {first: {}, second: {}}
    tokens = {first: 0, second: 0}
    bags = [set(text.split()) for text in texts]
    for bag, label in zip(bags, labels, strict=True):
        tokens[label] += len(bag)
        for word in bag:
            had[label][word] = had[label].get(word, 0) + 1
    share = (tokens[second] + 1) / (sum(tokens.values()) + 2)
    rows = []
    for bag in bags:
        row = {}
        for word in bag:
            p, q = had[second].get(word, 0), had[first].get(word, 0)
            row[word] = np.log((share + p) / (1 - share + q)) - np.log(share / (1 - share))
        length = np.sqrt(sum(value**2 for value in row.values())) if normalize else 1.0
        rows.append({word: value / (length or 1.0) for word, value in row.items()})
    return rows


@pytest.mark.parametrize("normalize", [True, False])
def test_idf_is_that_of_scikit_learn(normalize):
    words = {"ngram_range": (1, 2), "token_pattern": r"\w+"}
    theirs = TfidfVectorizer(**words, norm="l2" if normalize else None, binary=True)
    X = theirs.fit_transform(TEXTS)
    features = made("idf", normalize=normalize)
    Y = features.fit_transform(TEXTS)
    order = [theirs.vocabulary_[name] for name in features.get_feature_names_out()]
    np.testing.assert_allclose(Y.toarray(), X[:, order].toarray(), atol=1e-12)
    later = [*TEXTS[:50], "words never met before"]
    X = theirs.transform(later)[:, order].toarray()
    np.testing.assert_allclose(features.transform(later).toarray(), X, atol=1e-12)


def test_idf_of_hashed_columns_is_that_of_scikit_learn():
    plain = made(None, features="hash", normalize=False).fit_transform(TEXTS)
    X = TfidfTransformer().fit_transform(plain)
    Y = made("idf", features="hash").fit_transform(TEXTS)
    # A text counts for a column as often as features of it fall into it: leave such columns out.
    shared = set(plain.indices[plain.data > 1].tolist())
    free = [i for i in range(len(TEXTS)) if not shared & set(plain[i].indices.tolist())]
    assert len(free) > 20
    np.testing.assert_allclose(Y[free].toarray(), X[free].toarray(), atol=1e-12)


@settings(max_examples=several(30, 6), deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), st.booleans()),
        min_size=2,
        max_size=12,
    ),
    st.booleans(),
)
def test_naive_bayes_is_that_of_plain_dictionaries(examples, normalize):
    texts = [" ".join(words) for words, _ in examples]
    labels = ["yes" if label else "no" for _, label in examples]
    labels[:2] = ["yes", "no"]
    features = made("nb", ngrams=(1, 1), normalize=normalize)
    X = features.fit_transform(texts, labels).toarray()
    assert features.classes_.tolist() == ["no", "yes"]
    names = features.get_feature_names_out().tolist()
    for row, expected in zip(X, by_hand(texts, labels, normalize), strict=True):
        told = {name: value for name, value in zip(names, row, strict=True) if value}
        kept = {name: value for name, value in expected.items() if value}
        assert told == pytest.approx(kept, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_how_texts_are_split_makes_no_difference(kind, weighting):
    whole = made(weighting, features=kind).fit(TEXTS, LABELS)
    for cuts in ([0, 1, 300], [0, 120, 121, 300], list(range(0, 301, 30))):
        parts = made(weighting, features=kind)
        for start, stop in pairwise(cuts):
            parts.partial_fit(TEXTS[start:stop], LABELS[start:stop])
        same(whole, parts)
    plain = made(None, features=kind).fit(TEXTS)
    assert (plain.transform(TEXTS) != whole.transform(TEXTS)).nnz > 0
    same(whole, made(weighting, features=kind).partial_fit(TEXTS, LABELS))


@pytest.mark.parametrize("first", ["ham", "spam"])
def test_the_second_class_may_come_later(first):
    order = np.argsort([label != first for label in LABELS], kind="stable")
    texts, labels = [TEXTS[k] for k in order], [LABELS[k] for k in order]
    count = labels.count(first)
    parts = made("nb").partial_fit(texts[:count], labels[:count])
    with pytest.raises(DataError, match=f"one class only, '{first}'"):
        parts.transform(texts)
    parts.partial_fit(texts[count:], labels[count:])
    assert parts.classes_.tolist() == ["ham", "spam"]
    same(made("nb").fit(texts, labels), parts)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_transforming_counts_nothing(weighting):
    features = made(weighting).fit(TEXTS, LABELS)
    before = features.transform(TEXTS[:9])
    features.transform(["prize prize", *TEXTS])
    assert (features.transform(TEXTS[:9]) != before).nnz == 0
    features.partial_fit(TEXTS[:100], LABELS[:100])
    assert (features.transform(TEXTS[:9]) != before).nnz > 0
    features.fit(TEXTS, LABELS)  # anew
    assert (features.transform(TEXTS[:9]) != before).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", [*WEIGHTINGS, None])
def test_a_file_keeps_what_was_counted(kind, weighting, tmp_path):
    features = made(weighting, features=kind, ngrams=(1, 1)).fit(TEXTS[:200], LABELS[:200])
    path = tmp_path / "features.sureline"
    features.save(path)
    again = load(path)
    assert again.get_params() == features.get_params()
    same(features, again)
    for each in (features, again):
        each.partial_fit(TEXTS[200:], LABELS[200:])
    same(features, again)
    same(features, pickle.loads(pickle.dumps(again)))
    clone(again).fit(TEXTS, LABELS)


def test_a_file_of_one_class_can_go_on(tmp_path):
    ham = [k for k, label in enumerate(LABELS) if label == "ham"]
    features = made("nb").partial_fit([TEXTS[k] for k in ham], ["ham"] * len(ham))
    features.save(tmp_path / "f.sureline")
    again = load(tmp_path / "f.sureline")
    assert again.classes_.tolist() == ["ham"]
    for each in (features, again):
        each.partial_fit(["a free prize"], ["spam"])
    same(features, again)


def test_a_hashed_file_holds_only_what_was_met(tmp_path):
    features = TextFeatures(weighting="idf", features="hash", bits=20).fit(TEXTS)
    features.save(tmp_path / "f.sureline")
    assert (tmp_path / "f.sureline").stat().st_size < 200_000
    same(features, load(tmp_path / "f.sureline"))


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("tokens", "no tensor 'tokens'"),
        ("tallies", "no tensor 'tallies'"),
        ("negative", "numbers below 0"),
        ("weighting", "weighting"),
        ("labels", "labels"),
        ("features", "tensor 'table' is"),
    ],
)
def test_a_damaged_file_is_reported(what, told, tmp_path):
    path = tmp_path / "f.sureline"
    made("nb", ngrams=(1, 1)).fit(TEXTS, LABELS).save(path)
    opened = read(path)
    metadata = dict(opened.metadata)
    tensors = {name: np.array(each) for name, each in opened.tensors.items()}
    if what in tensors:
        del tensors[what]
    elif what == "negative":
        tensors["tallies"] = tensors["tallies"].astype(np.int32)  # as in format 1
        tensors["tallies"][1, 0] = -1
    elif what == "labels":
        metadata["labels"] = {"dtype": "<U1", "values": ["c", "b", "a"]}
    elif what == "weighting":
        metadata["parameters"] = {**metadata["parameters"], "weighting": "tfidf"}
    else:
        metadata["state"] = {**metadata["state"], "features": 3}
    write(path, {k: v for k, v in metadata.items() if k not in ("format", "version")}, tensors)
    with pytest.raises(ModelFileError, match=told):
        load(path)


def test_the_command_line_takes_it_for_no_model(tmp_path, capsys):
    path = tmp_path / "f.sureline"
    made("idf").fit(TEXTS).save(path)
    (tmp_path / "t.csv").write_text("text\nhello\n")
    assert main(["predict", str(path), str(tmp_path / "t.csv")]) == 2
    assert "holds a TextFeatures, which classifies nothing" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", [*WEIGHTINGS, None])
def test_merging_adds_counts_up(kind, weighting):
    whole = made(weighting, features=kind).fit(TEXTS, LABELS)
    cuts = [slice(0, 100), slice(100, 140), slice(140, 300)]
    parts = [made(weighting, features=kind).partial_fit(TEXTS[c], LABELS[c]) for c in cuts]
    merged = merge(parts)
    same(whole, merged)
    same(whole, parts[0].merge(*parts[1:]))
    for each in (whole, merged):
        each.partial_fit(["another text"], ["ham"])
    same(whole, merged, [*TEXTS, "another text"])
    assert parts[0].transform(TEXTS).shape[1] <= merged.transform(TEXTS).shape[1]


def test_models_of_one_class_each_merge():
    parts = [
        made("nb", ngrams=(1, 1)).partial_fit([text], [label])
        for text, label in (("a b", "yes"), ("b c", "no"))
    ]
    merged = merge(parts)
    assert merged.classes_.tolist() == ["no", "yes"]
    expected = made("nb", ngrams=(1, 1)).fit(["a b", "b c"], ["yes", "no"])
    same(expected, merged, ["a b", "b c"])
    other = made("nb", ngrams=(1, 1)).partial_fit(["d"], ["maybe"])
    with pytest.raises(DataError, match="there are 3: 'maybe', 'no', 'yes'"):
        merge([*parts, other])


def test_what_does_not_fit_is_not_merged():
    one, two = made("idf").fit(TEXTS), made("nb").fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="weighting is 'idf' in model 1 and 'nb' in model 2"):
        merge([one, two])
    with pytest.raises(InvalidParameter, match="adds counts up"):
        merge([one, one], how="product")


def test_what_is_forgotten_takes_its_counts_along():
    features = made("nb", max_features=60, ngrams=(1, 1)).fit(TEXTS, LABELS)
    names = features.get_feature_names_out().tolist()
    assert len(names) < 80
    state, full = features.class_counts_.state, made("nb", ngrams=(1, 1)).fit(TEXTS, LABELS)
    known = dict(
        zip(
            full.get_feature_names_out(),
            full.class_counts_.state.class_counts[1:].tolist(),
            strict=False,
        )
    )
    counted = [state.class_counts[1 + j].tolist() for j in range(len(names))]
    assert all(min(a) >= 0 and sum(a) > 0 for a in counted)
    assert all(sum(a) <= sum(known[name]) for a, name in zip(counted, names, strict=True))
    assert counted[names.index("i")] == known["i"]  # it came early and was never forgotten
    assert state.class_counts[0].sum() == len(TEXTS)


def test_words_that_wait_are_not_counted():
    features = made("idf", min_count=2, ngrams=(1, 1)).fit(["a b", "a c", "a b"])
    assert features.get_feature_names_out().tolist() == ["a", "b"]
    assert features.class_counts_.state.class_counts[:3, 0].tolist() == [3, 2, 1]


def test_it_goes_into_a_pipeline():
    pipeline = make_pipeline(TextFeatures(weighting="nb"), SGDClassifier(random_state=0))
    assert pipeline.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.95


def test_what_is_wrong_is_reported():
    with pytest.raises(InvalidParameter, match="'idf', 'nb' or None, got 'auto'"):
        TextFeatures(weighting="auto").fit(TEXTS)
    with pytest.raises(DataError, match="needs the labels y"):
        made("nb").fit(TEXTS)
    with pytest.raises(DataError, match="there are 3: 0, 1, 2"):
        made("nb").fit(["a", "b", "c"], [0, 1, 2])
    with pytest.raises(DataError, match="one class only, 1"):
        made("nb").fit(["a", "b"], [1, 1])
    with pytest.raises(DataError, match="2 texts, but y has the shape"):
        made("nb").fit(["a", "b"], [1])
    features = made("nb").fit(["a", "b"], [1, 0])
    with pytest.raises(DataError, match="text in one call and numbers in another"):
        features.partial_fit(["c"], ["x"])
    with pytest.raises(InvalidParameter, match="read or weighted"):
        features.set_params(weighting="idf").partial_fit(["c"], [1])
    with pytest.raises(ModelFileError, match="read or weighted"):
        features.save("nowhere.sureline")
    with pytest.raises(AttributeError, match="weighting="):
        _ = made("idf").fit(["a"]).classes_
    assert made("idf").fit(TEXTS, None).transform([]).shape[0] == 0


def test_a_merged_vectorizer_of_hashed_columns_remembers_no_names_either(tmp_path):
    parts = [TextFeatures(features="hash", bits=8, weighting="idf").fit(["a b", "b c"])] * 2
    merged = merge(parts).partial_fit(["d e"])
    merged.save(tmp_path / "merged.sureline")
    again = load(tmp_path / "merged.sureline").partial_fit(["f g"])
    for model in (parts[0], merged, again):
        assert model.get_feature_names_out()[0] == "column 0"
        assert not model.columns_.named_columns().size
