"""Rows in memory, and the features of a split of them."""

import numpy as np
import pyarrow as pa
import pytest
from messages import TEXTS, dataset

from sureline import TextFeatures
from sureline.data import Batch, Reader
from sureline.evaluation.protocols import split_once
from sureline.evaluation.search.dataset import Dataset, split_features


@pytest.mark.parametrize("weighting", [None, "idf", "nb"])
def test_features_are_those_of_the_training_rows_alone(weighting):
    rows, options = dataset(), {"ngrams": (1, 1), "min_count": 2, "weighting": weighting}
    train, test = split_once(rows.labels, 0.3, 0)
    learned, judged = split_features(rows, (train, test), options)
    features = TextFeatures(**options).fit([TEXTS[k] for k in train], rows.labels[train])
    for ours, some in ((learned, train), (judged, test)):
        np.testing.assert_array_equal(
            ours.toarray(), features.transform([TEXTS[k] for k in some]).toarray()
        )


@pytest.mark.parametrize("weighting", ["idf", "nb"])
def test_test_texts_are_not_counted(weighting):
    rows = dataset()
    train, test = split_once(rows.labels, 0.3, 0)
    options = {"weighting": weighting, "normalize": False}
    known, _ = split_features(rows, (train, test), options)
    wide, _ = split_features(rows, (train, test), options, unknown=True)
    assert wide.shape[1] > known.shape[1]
    assert (wide[:, : known.shape[1]] != known).nnz == 0


def test_words_of_test_texts_alone_may_count_in_the_length_of_a_text():
    text = pa.array(["free prize", "lunch", "free spirit"], pa.large_string())
    rows = Dataset("few", Batch(text=text, label=pa.array(["a", "b", "a"], pa.large_string())))
    train, test = np.array([0, 1]), np.array([2])
    options = {"ngrams": (1, 1)}
    _, short = split_features(rows, (train, test), options)
    _, whole = split_features(rows, (train, test), options, unknown=True)
    assert short.toarray().tolist() == [[1.0, 0.0, 0.0]]
    assert whole.toarray()[0].tolist() == pytest.approx([0.5**0.5, 0.0, 0.0, 0.5**0.5])


def test_features_given_with_a_value_are_read_as_training_reads_them(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 | free price:2.5\n-1 | lunch price:0.5\n1 | free now\n-1 | lunch q:1\n")
    rows = Dataset.read(Reader([path]), "rows")
    assert not rows.has_negative
    learned, judged = split_features(rows, (np.arange(2), np.arange(2, 4)), {"normalize": False})
    assert learned.shape[0] == judged.shape[0] == 2
    assert sorted(learned.toarray()[0].tolist(), reverse=True)[:2] == [2.5, 1.0]
    assert judged.toarray().sum(axis=1).tolist() == [1.0, 1.0]  # free; lunch
