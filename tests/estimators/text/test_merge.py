"""Merging text classifiers: words find each other, whatever column they had."""

import numpy as np
import pytest
from cases import several
from texts import KINDS, LABELS, TEXTS, learned, topics

import sureline
from sureline import AROWClassifier, InvalidParameter, PAClassifier, TextClassifier


def by_name(model):
    """Means and variances by feature and class."""
    names = model.get_feature_names_out()
    weights = {}
    for k, name in enumerate(names):
        weights[name] = (model.coef_[:, k], model.variance_[:, k])
    return weights


@pytest.mark.parametrize("how", ["kl", "mean", "product", "product-prior"])
@pytest.mark.parametrize("many", [False, True])
def test_merging_is_the_formula_feature_by_feature(how, many):
    texts, labels = topics() if many else (TEXTS, LABELS)
    classes = sorted(set(labels))
    estimator = AROWClassifier(r=0.1, dtype="float64")
    shards = [
        TextClassifier(estimator, weighting=None).partial_fit(
            texts[k::3], labels[k::3], classes=classes
        )
        for k in range(3)
    ]
    merged = sureline.merge(shards, how)
    parts = [by_name(shard) for shard in shards]
    names = set().union(*parts)
    told = by_name(merged)
    assert set(told) == names
    fresh = (np.zeros(len(classes) if many else 1), np.ones(len(classes) if many else 1))
    for name in names:
        means, variances = (np.array(some) for some in zip(*[p.get(name, fresh) for p in parts]))  # noqa: B905
        precision = 1.0 / variances
        if how == "mean":
            mean, variance = means.mean(axis=0), variances.mean(axis=0)
        else:
            total = precision.sum(axis=0) - (2.0 if how == "product-prior" else 0.0)
            mean = (precision * means).sum(axis=0) / total
            variance = (3.0 if how == "kl" else 1.0) / total
        assert told[name][0] == pytest.approx(mean, rel=1e-10, abs=1e-12)
        assert told[name][1] == pytest.approx(variance, rel=1e-10)
    assert merged.n_seen_ == len(texts)


@pytest.mark.parametrize("kind", KINDS)
def test_merged_models_predict_learn_and_save(kind, tmp_path):
    how = "kl" if hasattr(TextClassifier(**KINDS[kind]), "predict_proba") else "mean"
    made = [TextClassifier(**KINDS[kind], random_state=k) for k in range(2)]
    shards = [model.fit(TEXTS[k::2], LABELS[k::2]) for k, model in enumerate(made)]
    before = [learned(shard) for shard in shards]
    merged = shards[0].merge(shards[1], how=how)
    assert [learned(shard) for shard in shards] == before
    accuracy = np.mean(merged.predict(TEXTS) == np.array(LABELS))
    assert accuracy > several(0.85, 0.0)  # where nothing is compiled, the texts are too few
    merged.save(tmp_path / "merged.sureline")
    loaded = sureline.load(tmp_path / "merged.sureline")
    for model in (merged, loaded):
        model.partial_fit(TEXTS, LABELS)
    assert learned(merged) == learned(loaded)
    alone = sureline.merge([shards[0]], how)
    assert learned(alone) == before[0]


def test_names_of_hashed_features_are_joined():
    one = TextClassifier(features="hash", bits=18).fit(["red apple", "blue sky"], ["a", "b"])
    two = TextClassifier(features="hash", bits=18).fit(["green pear", "blue sea"], ["a", "b"])
    names = set(one.merge(two).get_feature_names_out())
    assert {"red", "apple", "red apple", "pear", "green pear", "blue", "sea"} <= names


def test_texts_add_up_for_features_that_wait_for_a_column():
    one, two = (
        TextClassifier(min_count=3).partial_fit(["rare word", "plain text"], ["a", "b"])
        for _ in range(2)
    )
    assert one.n_features_ == 0
    merged = one.merge(two)
    assert merged.n_features_ == 0
    merged.learn_one("rare", "a")
    assert merged.get_feature_names_out().tolist() == ["rare"]


def test_models_that_do_not_fit_are_refused():
    texts, labels = TEXTS[:60], LABELS[:60]
    one = TextClassifier(max_iter=1).fit(texts, labels)
    for other, told in (
        (TextClassifier(ngrams=(1, 1)), r"ngrams is \(1, 2\) in model 1 and \(1, 1\)"),
        (TextClassifier(features="hash"), "features is 'vocabulary'"),
        (
            TextClassifier(AROWClassifier(r=3.0, scheme="one-vs-rest")),
            "r is 'auto' in model 1 and 3.0",
        ),
        (TextClassifier(PAClassifier()), "one rule"),
    ):
        with pytest.raises(InvalidParameter, match=told):
            one.merge(other.set_params(max_iter=1).fit(texts, labels))
    with pytest.raises(InvalidParameter, match="one class"):
        one.merge(AROWClassifier().fit([[1.0], [0.0]], [0, 1]))
