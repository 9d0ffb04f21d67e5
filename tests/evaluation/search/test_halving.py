"""The search for the best settings: honest errors, and halving."""

import numpy as np
import pyarrow as pa
import pytest
from messages import LABELS, ROWS, TEXTS, dataset

from sureline import (
    AROWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    PerceptronClassifier,
    TextFeatures,
)
from sureline.data import Batch
from sureline.evaluation import growing_blocks, progressive
from sureline.evaluation.search import PROTOCOLS
from sureline.evaluation.search.candidates import rule_candidates
from sureline.evaluation.search.dataset import Dataset, Protocol, split_features
from sureline.evaluation.search.halving import FINALISTS, tune
from sureline.evaluation.search.trials import Runner


def short_rows(n: int) -> Dataset:
    """Enough rows for several rounds: a word or two each, some labels wrong."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 30, (n, 2))
    labels = np.where((words.sum(axis=1) > 29) ^ (rng.random(n) < 0.1), "high", "low")
    text = pa.array([f"w{a} w{b}" for a, b in words], pa.large_string())
    return Dataset("short rows", Batch(text=text, label=pa.array(labels.tolist())))


def test_one_pass_is_judged_row_by_row():
    found = tune(
        Runner(dataset()),
        rule_candidates(["arow", "averaged-perceptron"]),
        Protocol("progressive", passes=1, seed=4),
    )
    order = np.random.RandomState(4).permutation(ROWS)
    X = TextFeatures().fit_transform([TEXTS[k] for k in order])
    y = [LABELS[k] for k in order]
    classes = ["ham", "spam"]
    by_setting = {(each.rule, str(each.settings)): each for each in found.tried}
    arow = by_setting["arow", "{'r': 0.1}"]
    counted = AROWClassifier(r=0.1).partial_fit(X, y, classes=classes).n_mistakes_
    assert arow.error * ROWS == pytest.approx(counted)
    assert (arow.judged, arow.passes) == (ROWS, 1)
    # This one learns by its last weights, but predicts by their average.
    averaged = by_setting["averaged-perceptron", "{}"]
    asked = progressive(PerceptronClassifier(), X, y, classes=classes)
    assert averaged.error == pytest.approx(asked.error)


def test_several_passes_are_judged_on_blocks_before_these_are_learned():
    rows = dataset()
    found = tune(Runner(rows), rule_candidates(["pa"]), Protocol("progressive", passes=3, seed=2))
    wrong = np.zeros(3, int)
    for train, test in growing_blocks(ROWS, first=ROWS // 2, random_state=2):
        X, Z = split_features(rows, (train, test), {}, unknown=True)
        for k in range(3):
            model = PAClassifier(variant=0, max_iter=k + 1, random_state=2)
            told = model.fit(X, rows.labels[train]).predict(Z)
            wrong[k] += (told != rows.labels[test]).sum()
    [only] = found.tried
    assert only.passes == int(np.argmin(wrong)) + 1
    assert only.error == pytest.approx(wrong.min() / (ROWS - ROWS // 2))


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_halving_keeps_the_better_half_and_gives_it_more_rows(protocol, passes):
    rows = short_rows(2400)
    stages = []

    def record(stage, total):
        stages.append((stage, total))
        return lambda: None

    candidates = rule_candidates(["arow", "pa-i"])
    found = tune(Runner(rows, progress=record), candidates, Protocol(protocol, 2, passes))
    width = 2 if protocol == "k-fold" else 1
    alive, settings = sum(len(each.grid) for each in candidates), len(found.tried)
    assert settings == alive
    assert len(stages) > 1
    for number, (stage, total) in enumerate(stages, 1):
        assert stage == f"round {number} of {len(stages)}"
        assert total == alive * width
        reached = [each for each in found.tried if each.rounds >= number]
        assert len(reached) == alive
        alive = max(-(-alive // 2), FINALISTS)
    assert all(each.finished == (each.rounds == len(stages)) for each in found.tried)
    order = [(-each.rounds, each.error) for each in found.tried]
    assert order == sorted(order)
    last = [each.judged for each in found.tried if each.finished]
    assert len(set(last)) == 1
    if protocol == "progressive":
        assert last[0] == (2400 if passes == 1 else 1900)
        assert min(each.judged for each in found.tried) < last[0]


def test_without_halving_all_see_all_rows():
    for protocol in PROTOCOLS:
        for passes in (1, 2):
            found = tune(
                Runner(short_rows(1200)),
                rule_candidates(["arow"]),
                Protocol(protocol, 2, passes),
                halving=False,
            )
            assert all(each.finished for each in found.tried)
            assert len({each.judged for each in found.tried}) == 1


def test_a_search_without_halving_finds_what_halving_may_miss():
    candidates, protocol = rule_candidates(["scw-i"]), Protocol("progressive", passes=1)
    every = tune(Runner(short_rows(2400)), candidates, protocol, halving=False)
    halved = tune(Runner(short_rows(2400)), candidates, protocol)
    finished = {str(each.settings): each.error for each in halved.tried if each.finished}
    whole = {str(each.settings): each.error for each in every.tried}
    assert {name: whole[name] for name in finished} == pytest.approx(finished)
    assert min(whole.values()) <= halved.tried[0].error


def test_texts_are_learned_from_as_their_features_are():
    plain = rule_candidates(["arow"])
    of_texts = [each.around_texts({"weighting": None}) for each in plain]
    for passes in (1, 2):
        numbers = tune(Runner(dataset()), plain, Protocol("progressive", passes=passes))
        texts = tune(Runner(dataset()), of_texts, Protocol("progressive", passes=passes))
        for a, b in zip(numbers.tried, texts.tried, strict=True):
            assert (a.settings, a.passes, a.error) == (b.settings, b.passes, pytest.approx(b.error))


def test_order_is_kept_where_it_is_asked_for():
    rows = dataset()
    candidates = rule_candidates(["arow"], fixed={"arow": {"shuffle": False, "r": 1.0}})
    [found] = tune(Runner(rows), candidates, Protocol("progressive", passes=1, shuffle=False)).tried
    X = TextFeatures().fit_transform(TEXTS[:ROWS])
    model = AROWClassifier(r=1.0).partial_fit(X, LABELS[:ROWS], classes=["ham", "spam"])
    assert found.error * ROWS == pytest.approx(model.n_mistakes_)


def test_a_search_refuses_what_it_cannot_do():
    with pytest.raises(InvalidParameter, match="'k-fold' or 'hold-out' or 'progressive'"):
        Protocol("guess")
    one, two = Protocol("progressive", passes=1), Protocol("progressive", passes=2)
    with pytest.raises(DataError, match="too few to tune on"):
        tune(Runner(dataset(3)), rule_candidates(["pa"]), one)
    small = rule_candidates(["arow"], fixed={"arow": {"memory_limit_gb": 1e-9}})
    with pytest.raises(DataError, match=r"nothing could be learned from SMS: arow: .*memory"):
        tune(Runner(dataset()), small, one)
    found = tune(Runner(dataset()), [*small, *rule_candidates(["pa"])], two)
    assert [each.rule for each in found.tried] == ["pa"]
    assert "memory" in found.failures["arow"]
