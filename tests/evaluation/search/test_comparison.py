"""A comparison: the same features and the same protocol for every learner."""

import os
import signal

import numpy as np
import pyarrow as pa
import pytest
from joblib import parallel_config
from messages import LABELS, ROWS, TEXTS, dataset
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from sureline import AROWClassifier, DataError, SurelineError, TextFeatures
from sureline.data import Batch, Reader
from sureline.evaluation import growing_blocks, k_fold, mcnemar
from sureline.evaluation.protocols import split_once
from sureline.evaluation.search import BASELINES
from sureline.evaluation.search.candidates import (
    Candidate,
    baseline_candidates,
    rule_candidates,
)
from sureline.evaluation.search.comparison import compare
from sureline.evaluation.search.dataset import Dataset, Protocol, split_features
from sureline.evaluation.search.trials import Runner, Trial, predict_split


def test_a_comparison_is_tuning_on_one_split_and_then_folds():
    rows = dataset()
    chosen = [*rule_candidates(["arow"]), *baseline_candidates(["multinomial-nb"])]
    found = compare(Runner(rows), chosen, Protocol(folds=3, passes=3, seed=5))
    # The same with nothing but fit and predict.
    train, test = split_once(rows.labels, 0.2, 5)
    X, Z = split_features(rows, (train, test), {})
    trials = [
        (
            int((model.fit(X, rows.labels[train]).predict(Z) != rows.labels[test]).sum()),
            passes,
            k,
            model,
        )
        for k, settings in enumerate(chosen[0].grid)
        for passes in (1, 2, 3)
        for model in [AROWClassifier(**settings, max_iter=passes, random_state=5)]
    ]
    _, passes, _, model = min(trials, key=lambda each: (each[0], each[2], each[1]))
    by_name = {each.learner: each for each in found.results}
    arow = by_name["arow"]
    assert (arow.passes, arow.settings["r"]) == (passes, model.r)
    fold = arow.judgement.fold
    for number in range(3):
        out = np.flatnonzero(fold == number)
        kept = np.flatnonzero(fold != number)
        X, Z = split_features(rows, (kept, out), {})
        again = AROWClassifier(r=model.r, max_iter=passes, random_state=5)
        predicted = again.fit(X, rows.labels[kept]).predict(Z)
        assert arow.judgement.predictions[out].tolist() == predicted.tolist()
        theirs = by_name["multinomial-nb"]
        bayes = MultinomialNB(**theirs.settings).fit(X.astype(float), rows.labels[kept])
        assert theirs.judgement.predictions[out].tolist() == bayes.predict(Z).tolist()
    best, other = found.results
    assert best.error <= other.error
    assert best.p_value == 1.0
    assert other.p_value == mcnemar(best.judgement.right, other.judgement.right).p_value
    assert by_name["multinomial-nb"].passes is None


def test_folds_are_those_of_k_fold():
    rows = dataset()
    X = TextFeatures().fit_transform(TEXTS[:ROWS])
    theirs = k_fold(LinearSVC(random_state=0), X, LABELS[:ROWS], folds=3, random_state=0)
    ours = compare(Runner(rows), baseline_candidates(["linear-svm"]), Protocol(folds=3))
    assert ours.results[0].judgement.fold.tolist() == theirs.fold.tolist()


def test_several_processes_find_the_same():
    rows, protocol = dataset(), Protocol(folds=2, passes=2, seed=1)
    chosen = [*rule_candidates(["arow", "pa"]), *baseline_candidates(["sgd"])]
    alone = compare(Runner(rows), chosen, protocol)
    stages = []

    def record(stage, total):
        stages.append([stage, total, 0])

        def advance():
            stages[-1][2] += 1

        return advance

    # So that even small matrices are shared by files.
    with parallel_config("loky", max_nbytes=100):
        together = compare(Runner(rows, jobs=2, progress=record), chosen, protocol)
    assert stages == [["compiling", 2, 2], ["tuning", 13, 13], ["testing", 6, 6]]
    for a, b in zip(alone.results, together.results, strict=True):
        assert (a.learner, a.settings, a.passes) == (b.learner, b.settings, b.passes)
        assert a.judgement.predictions.tolist() == b.judgement.predictions.tolist()


def die(*_):
    """Do what becomes of a process that takes all memory."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_is_killed_is_reported():
    rows = dataset()
    trials = [Trial(each, each.grid[0]) for each in rule_candidates(["arow", "pa"])]
    with pytest.raises(SurelineError, match="perhaps for lack of memory"):
        Runner(rows, jobs=2).run("dying", die, [split_once(rows.labels, 0.5, 0)], trials)


def test_held_out_rows_take_no_part_in_tuning():
    rows, other = dataset(), dataset(20, "other")
    found = compare(
        Runner(rows), rule_candidates(["arow"]), Protocol("hold-out", passes=2), test=other
    )
    assert found.rows == ROWS + 20
    assert found.judged == 20
    shown = found.results[0].judgement
    assert shown.rows.tolist() == list(range(ROWS, ROWS + 20))
    # Other labels in the rows to judge on change nothing of what is chosen.
    flipped = Dataset(
        "flipped",
        Batch(text=other.rows.text, label=pa.array(["?"] * 20, pa.large_string())),
    )
    again = compare(
        Runner(rows), rule_candidates(["arow"]), Protocol("hold-out", passes=2), test=flipped
    )
    assert again.results[0].settings == found.results[0].settings
    assert again.results[0].error == 1.0


def test_progressive_blocks_are_predicted_before_they_are_learned():
    rows = dataset()
    found = compare(Runner(rows), rule_candidates(["pa"]), Protocol("progressive", passes=1))
    judgement = found.results[0].judgement
    assert judgement.rows.size == ROWS - ROWS // 8
    assert len(judgement.seconds) == len(growing_blocks(ROWS))
    assert np.isnan(found.results[0].deviation)
    ham, spam = (np.flatnonzero(rows.labels == label) for label in ("ham", "spam"))
    order = np.concatenate([ham[: ROWS // 6], spam, ham[ROWS // 6 :]])
    one_label_first = Dataset("sorted", rows.rows.take(order))
    kept = compare(
        Runner(one_label_first),
        rule_candidates(["pa"]),
        Protocol("progressive", passes=1, shuffle=False),
    )
    assert kept.judged < judgement.rows.size
    lonely = Dataset(
        "lonely",
        Batch(
            text=pa.array(["a"] * 16, pa.large_string()),
            label=pa.array(["x"] * 15 + ["y"], pa.large_string()),
        ),
    )
    with pytest.raises(DataError, match="the rows begin with one label only"):
        compare(
            Runner(lonely),
            rule_candidates(["pa"]),
            Protocol("progressive", passes=1, shuffle=False),
        )


def test_who_cannot_learn_is_left_out_with_the_reason(tmp_path):
    path = tmp_path / "rows.svm"
    lines = [f"{1 if k % 2 else -1} 1:{k % 2 or -1} 2:{k / 9}\n" for k in range(20)]
    path.write_text("".join(lines))
    rows = Dataset.read(Reader([path]), "rows")
    found = compare(
        Runner(rows),
        [*rule_candidates(["arow"]), *baseline_candidates(["complement-nb"])],
        Protocol(folds=2, passes=1),
    )
    assert found.failures == {"complement-nb": "cannot learn from features below 0"}
    with pytest.raises(DataError, match=r"none of the learners .* complement-nb: cannot learn"):
        compare(Runner(rows), baseline_candidates(["complement-nb"]), Protocol(folds=2))
    small = Candidate("small", AROWClassifier(memory_limit_gb=1e-9))
    found = compare(Runner(rows), [*rule_candidates(["pa"]), small], Protocol(folds=2, passes=1))
    assert "memory" in found.failures["small"]


@pytest.mark.parametrize("name", ["arow", "cw-stdev", *BASELINES])
def test_weights_reach_every_learner(name):
    n = 240
    plain = dataset(n)
    weight = np.where(plain.labels == "spam", 1.0, 0.01)
    heavy = Dataset("heavy", Batch(text=plain.rows.text, label=plain.rows.label, weight=weight))
    train, test = split_once(plain.labels, 0.5, 0)
    [candidate] = baseline_candidates([name]) if name in BASELINES else rule_candidates([name])
    settings = max(candidate.grid, key=lambda each: each.get("C", 0.0))
    predicted = {}
    for rows in (plain, heavy):
        trial = Trial(candidate, settings)
        found, failed = Runner(rows).run("one", predict_split, [(train, test)], [trial])
        assert not failed
        predicted[rows.name] = found[0][0].labels
    X, Z = (some.astype(np.float64) for some in split_features(plain, (train, test), {}))
    model = candidate.build(settings, 0)
    if name == "logistic-l1":  # of two classes, one against the rest is the classifier itself
        model = model.estimator
    if candidate.online:
        model.set_params(max_iter=1)
    model.fit(X, plain.labels[train], sample_weight=weight[train])
    assert predicted["heavy"].tolist() == model.predict(Z).tolist()
    assert (predicted["heavy"] == "spam").sum() > (predicted["SMS"] == "spam").sum()


def test_three_classes_are_no_harder_to_compare_on():
    labels = [f"{label} {len(text) % 2}" for text, label in zip(TEXTS, LABELS, strict=True)]
    text = pa.array(TEXTS[:ROWS], pa.large_string())
    rows = Dataset("four", Batch(text=text, label=pa.array(labels[:ROWS], pa.large_string())))
    found = compare(
        Runner(rows),
        [*rule_candidates(["arow", "sop"]), *baseline_candidates()],
        Protocol(folds=2, passes=1),
    )
    assert not found.failures
    assert found.classes == 4
    assert len(found.results) == 8
