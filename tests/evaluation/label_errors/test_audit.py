"""Audits of labels: wrong ones are found, duplicates exactly, probabilities mean what they say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from wrong_labels import flipped_texts

from sureline import AROWClassifier, TextClassifier
from sureline.data import as_text, sms_spam
from sureline.errors import DataError, InvalidParameter
from sureline.evaluation import Audit, audit
from sureline.evaluation.label_errors.features import read_rows

LONG = " ".join(f"word{k}" for k in range(60))


@pytest.mark.parametrize("classes", [2, 5])
def test_flipped_labels_come_first_and_get_their_own_label_back(classes):
    texts, labels, wrong, truth = flipped_texts(classes=classes)
    found = audit(texts, labels)
    first = found.ranked(0.0)[: wrong.sum()]
    assert wrong[first].mean() > 0.9
    assert average_precision_score(wrong, found.probability_wrong) > 0.93
    right = found.suggested[wrong] == np.array([f"class {k}" for k in truth[wrong]])
    assert right.mean() > 0.93
    assert (found.suggested != labels).all()


def test_probabilities_are_as_often_right_as_they_say():
    chances, truths = [], []
    for seed in range(4):
        for share in (0.05, 0.2):
            texts, labels, wrong, _ = flipped_texts(1500, 3, share, seed, own=0.25)
            found = audit(texts, labels)
            chances.append(found.probability_wrong)
            truths.append(wrong)
            assert found.share_wrong == pytest.approx(share, abs=0.04)
    chance, truth = np.concatenate(chances), np.concatenate(truths)
    unsure = (chance > 0.05) & (chance < 0.95)
    assert unsure.sum() > 500  # or there is nothing to check
    for low, high in ((0.0, 0.05), (0.05, 0.35), (0.35, 0.65), (0.65, 0.95), (0.95, 1.0)):
        inside = (chance >= low) & (chance <= high)
        assert truth[inside].mean() == pytest.approx(chance[inside].mean(), abs=0.12)


def test_pairs_of_labels_are_those_that_were_confused():
    # Texts of class 0 are given as class 1, those of 1 as 2, those of 2 as 0.
    texts, labels, wrong, _ = flipped_texts(2000, 3, 0.15, target=[1, 2, 0])
    found = audit(texts, labels)
    pairs = {(each.label, each.suggested): each for each in found.pairs()}
    confused = [("class 1", "class 0"), ("class 2", "class 1"), ("class 0", "class 2")]
    assert [(e.label, e.suggested) for e in found.pairs()[:3]] == sorted(
        confused, key=lambda pair: -pairs[pair].wrong
    )
    for label, other in confused:
        count = (wrong & (labels == label)).sum()
        assert pairs[label, other].wrong == pytest.approx(count, rel=0.2)
        assert pairs[label, other].share == pytest.approx(count / (labels == label).sum(), rel=0.2)
    assert found.wrong_counts.sum() == pytest.approx(found.probability_wrong.sum())


def test_words_speak_for_the_suggested_label():
    texts, labels = sms_spam()
    labels = list(labels)
    row = texts.index(next(text for text in texts if "prize" in text and "claim" in text))
    assert labels[row] == "spam"
    labels[row] = "ham"
    found = audit(texts, labels)
    suspect = next(each for each in found.suspects() if each.row == row)
    assert (suspect.label, suspect.suggested) == ("ham", "spam")
    assert 1 <= len(suspect.words) <= 6
    assert {"prize", "claim"} & set(suspect.words)
    shares = [each.share for each in found.contributions(row)]
    assert shares == sorted(shares, key=lambda share: -abs(share))
    assert suspect.probability_wrong == found.probability_wrong[row] > 0.9


def test_the_same_seed_gives_the_same_audit_and_inputs_stay_as_they_are():
    texts, labels, _, _ = flipped_texts(300, 3)
    kept, before = list(texts), labels.copy()
    first, second = (audit(texts, labels, random_state=3) for _ in range(2))
    assert first.probability_wrong.tobytes() == second.probability_wrong.tobytes()
    assert first.suspects() == second.suspects()
    assert texts == kept
    assert (labels == before).all()
    other = audit(texts, labels, random_state=4)
    assert first.probability_wrong.tobytes() != other.probability_wrong.tobytes()


@pytest.mark.parametrize(
    "values",
    [["ham", "spam"], [7, -2], [1.5, 2.5], [True, False], ["", "ümlaut 🎉"]],
)
def test_labels_of_any_type(values):
    texts, labels, wrong, _ = flipped_texts(400, 2, own=0.6)
    names = [values[int(label[-1])] for label in labels]
    found = audit(pd.Series(texts), pd.Series(names))
    suspects = found.suspects()
    assert {each.row for each in suspects} == set(found.ranked().tolist())
    assert sum(wrong[each.row] for each in suspects) > 0.9 * len(suspects) > 20
    for each in suspects:
        assert type(each.label) is type(names[0])
        assert each.label == names[each.row] != each.suggested
        assert each.suggested in values


def test_thresholds_and_limits():
    texts, labels, _, _ = flipped_texts(300)
    found = audit(texts, labels)
    assert found.ranked(0.0).size == 300
    for threshold in (0.0, 0.5, 0.9):
        rows = found.ranked(threshold)
        assert (np.diff(found.probability_wrong[rows]) <= 0).all()
        assert set(rows) == set(np.flatnonzero(found.probability_wrong >= threshold))
    assert [each.row for each in found.suspects(0.0, 7)] == found.ranked(0.0)[:7].tolist()
    for threshold in (1.5, -0.1, "a", None):
        with pytest.raises(InvalidParameter, match="probability from 0 to 1"):
            found.ranked(threshold)


# -- duplicates --------------------------------------------------------------------------------


def test_identical_texts_are_found_exactly():
    texts, labels, _, _ = flipped_texts(200)
    texts += [texts[3], texts[150], texts[3], "", "", "?!", "?!"]
    labels = np.append(labels, ["class 0"] * 7)
    found = audit(texts, labels)
    assert [each.rows for each in found.duplicates] == [
        (3, 200, 202),
        (150, 201),
        (203, 204),
        (205, 206),
    ]
    assert found.duplicate_rows == 9
    assert all(each.identical and each.sources == () for each in found.duplicates)


def test_texts_that_are_nearly_the_same_with_other_labels_conflict():
    texts, labels, _, _ = flipped_texts(100, share=0.0)
    similar = [
        LONG,
        LONG.upper(),
        LONG.replace(" ", ",\n") + "!",
        LONG.replace("word30", "other"),
        LONG + " and three more",
    ]
    unlike = [" ".join(f"word{k}" for k in range(0, 60, 2)), " ".join(reversed(LONG.split()))]
    given = ["class 0", "class 1", "class 0", "class 0", "class 1", "class 1", "class 1"]
    found = audit([*texts, *similar, *unlike], np.append(labels, given))
    [group] = found.conflicts
    assert group.rows == (100, 101, 102, 103, 104)
    assert group.labels == tuple(given[:5])
    assert not group.identical
    assert found.duplicates == []


def test_texts_in_several_sources_are_leaks():
    texts, labels, _, _ = flipped_texts(60, share=0.0)
    texts[40], texts[41], texts[5] = texts[2], texts[4].upper(), texts[6]
    sources = ["train"] * 30 + ["test"] * 30
    found = audit(texts, labels, sources=sources)
    assert [(each.rows, each.sources, each.identical) for each in found.leaks] == [
        ((2, 40), ("train", "test"), True),
        ((4, 41), ("train", "test"), False),
    ]
    assert [each.rows for each in found.duplicates] == [(2, 40), (5, 6)]
    assert found.place(40) == ("test", 11)
    assert found.place(2) == ("train", 3)
    alone = audit(texts, labels)
    assert alone.leaks == []
    assert alone.place(40) == (None, 41)


def test_a_copy_does_not_vouch_for_a_wrong_label():
    texts, labels, wrong, _ = flipped_texts(600, own=0.6)
    copied = np.flatnonzero(wrong)[:20]
    texts += [texts[row] for row in copied for _ in range(3)]
    labels = np.append(labels, np.repeat(labels[copied], 3))
    wrong = np.append(wrong, np.ones(60, bool))
    first = audit(texts, labels).ranked(0.0)[: wrong.sum()]
    assert wrong[first].mean() > 0.95


@given(st.lists(st.tuples(st.text(max_size=8), st.sampled_from("abc")), min_size=2, max_size=30))
def test_any_texts_can_be_audited(rows):
    texts, labels = zip(*rows, strict=True)
    if len(set(labels)) < 2:
        return
    found = audit(list(texts), list(labels))
    assert np.isfinite(found.probability_wrong).all()
    assert (found.probability_wrong >= 0).all()
    assert (found.probability_wrong <= 1).all()
    assert all(a != b for a, b in zip(found.suggested, labels, strict=True))
    assert len(found.suspects(0.0)) == len(rows)
    same = [[k for k in range(len(rows)) if texts[k] == text] for text in dict.fromkeys(texts)]
    expected = [tuple(each) for each in same if len(each) > 1]
    assert [each.rows for each in found.duplicates] == expected


# -- settings and errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"features": "hash", "bits": 14},
        {"chars": (2, 3), "ngrams": None, "counts": "log"},
        {"weighting": "idf", "normalize": False, "counts": "counts"},
        {"min_count": 3, "max_features": 300, "stop_words": ["w1"]},
    ],
)
def test_the_options_of_a_classifier_are_used(options):
    texts, labels, wrong, _ = flipped_texts(600, own=0.6)
    model = TextClassifier(**options)
    found = audit(texts, labels, model=model)
    assert wrong[found.ranked(0.0)[: wrong.sum()]].mean() > 0.8
    assert not hasattr(model, "model_")
    assert found.probability_wrong.tobytes() != audit(texts, labels).probability_wrong.tobytes()
    assert found.suspects()


def test_features_are_those_that_several_texts_have():
    read = read_rows(TextClassifier(ngrams=(1, 1)), as_text(["a b", "b c c", "d", "a"]))
    assert read.features == 2  # a and b
    assert read.sizes.tolist() == [2, 2, 1, 1]
    assert read.rows.indptr.tolist() == [0, 2, 3, 3, 4]
    np.testing.assert_allclose(read.rows.data, [0.5**0.5, 0.5**0.5, 1, 1])
    few = read_rows(TextClassifier(ngrams=(1, 1), max_features=1), as_text(["a b", "b", "a b"]))
    assert few.features == 1
    assert few.rows.indptr.tolist() == [0, 1, 2, 3]


def test_what_cannot_be_audited_is_refused_in_a_sentence():
    with pytest.raises(DataError, match="2 texts but labels have the shape"):
        audit(["a", "b"], ["x"])
    with pytest.raises(DataError, match="two classes; there is one only, 'x'"):
        audit(["a", "b"], ["x", "x"])
    with pytest.raises(DataError, match="two classes; there is none"):
        audit([], [])
    with pytest.raises(DataError, match="2 labels but 1 sources"):
        audit(["a", "b"], ["x", "y"], sources=["s"])
    with pytest.raises(InvalidParameter, match="takes a TextClassifier as model"):
        audit(["a", "b"], ["x", "y"], model="arow")
    with pytest.raises(InvalidParameter, match="random_state must be a whole number"):
        audit(["a", "b"], ["x", "y"], random_state=-1)
    model = TextClassifier(AROWClassifier(memory_limit_gb=1e-6))
    with pytest.raises(DataError, match=r"8 texts of 8 classes take 0\.0 GB, more than 1e-06"):
        audit([f"a{k}" for k in range(8)], list(range(8)), model=model)
    with pytest.raises(InvalidParameter, match="bits"):
        audit(["a", "b"], ["x", "y"], model=TextClassifier(bits=0))


def test_it_is_offered_by_the_package():
    from sureline import evaluation

    assert evaluation.audit is audit
    assert evaluation.Audit is Audit
