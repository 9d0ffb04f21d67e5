"""`sureline compare`: the same features and protocol for everybody, and what it prints of it."""

import csv
import importlib
import io
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from time import sleep

import numpy as np
import pyarrow as pa
import pytest
from cli_runs import command as run_as
from messages import LABELS, ROWS, TEXTS, sample, write_rows
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from sureline import AROWClassifier, DataError, InvalidParameter, SurelineError, TextFeatures
from sureline.data import FORMATS, Batch, Reader
from sureline.evaluation import growing_blocks, k_fold, mcnemar
from sureline.evaluation.protocols import split_once
from sureline.evaluation.search import candidates
from sureline.evaluation.search import comparison as contest
from sureline.evaluation.search.candidates import BASELINES, MakeRule, rule_candidates, rule_grid
from sureline.evaluation.search.comparison import run_contest, warm_up
from sureline.evaluation.search.samples import Sample, read_sample, split_features
from sureline.evaluation.search.trials import Study, judge_settings, stored
from sureline.evaluation.search.workers import closed_at_the_end, run_units
from sureline.rules import COVARIANCES, rules

pytest_plugins = ["cli_fixtures"]

# The module: its package has the command under this name.
command = importlib.import_module("sureline.cli.compare.command")

QUICK = ("--passes", "2", "--folds", "3", "--jobs", "1", "--quiet")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A folder with a file of messages."""
    monkeypatch.chdir(tmp_path)
    write_rows("sms.csv")


# -- who takes part ----------------------------------------------------------------------------


def test_every_rule_takes_part_and_can_be_made_with_every_setting():
    every = rule_candidates()
    assert [each.name for each in every] == list(rules())
    for each in every:
        assert len({str(settings) for settings in each.grid}) == len(each.grid)
        for settings in each.grid:
            model = each.make(settings, 3)
            model._learner()
            assert model.random_state == 3
            assert {name: getattr(model, name) for name in settings} == settings


def test_a_grid_starts_with_the_defaults_and_covers_the_declared_values():
    grid = rule_grid(rules()["scw-i"], {}, {})
    confidence, cost = rules()["scw-i"].parameters
    assert grid[0] == {"confidence": confidence.default, "C": cost.default}
    assert len(grid) == len(confidence.trials) * len(cost.trials)
    fixed = rule_grid(rules()["scw-i"], {"C": 2.0}, {"confidence": (0.7, 0.6)})
    assert fixed == ({"confidence": 0.7}, {"confidence": 0.6})
    assert rule_grid(rules()["perceptron"], {}, {}) == ({},)


def test_declared_values_lie_in_the_declared_ranges():
    for rule in rules().values():
        for parameter in rule.parameters:
            assert parameter.default in parameter.trials
            assert list(parameter.trials) == sorted(parameter.trials)
            for value in parameter.trials:
                assert parameter.check(value, rule.name) == value


def test_a_parameter_that_declares_no_values_is_searched_over_its_range():
    from sureline.rules import Parameter

    free = Parameter("q", 2.0, 0.0, np.inf, "")
    assert free.trials == pytest.approx((0.02, 0.2, 2.0, 20.0, 200.0))
    bounded = Parameter("p", 0.5, 0.0, 1.0, "")
    assert bounded.trials == pytest.approx((0.1, 0.3, 0.5, 0.7, 0.9))


def test_covariances_make_more_candidates_of_rules_that_have_them():
    names = [each.name for each in rule_candidates(["scw-i", "pa"], ("diagonal-kl", "diagonal-l2"))]
    assert names == ["scw-i diagonal-kl", "scw-i diagonal-l2", "pa"]
    with pytest.raises(InvalidParameter, match="scw-i has no covariance diagonal-exact"):
        rule_candidates(["scw-i"], ("diagonal-exact",))


def test_the_lists_for_help_and_completion_are_those_of_the_other_rooms():
    assert tuple(BASELINES) == command.BASELINES
    assert command.PROTOCOLS == contest.PROTOCOLS
    assert command.COVARIANCES == COVARIANCES
    assert command.INPUT_FORMATS == FORMATS


# -- the protocol ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", [None, "idf", "nb"])
def test_features_are_those_of_the_training_rows_alone(weighting):
    rows, options = sample(), {"ngrams": (1, 1), "min_count": 2, "weighting": weighting}
    train, test = split_once(rows.labels, 0.3, 0)
    learned, judged = split_features(rows, train, test, options)
    features = TextFeatures(**options).fit([TEXTS[k] for k in train], rows.labels[train])
    for ours, some in ((learned, train), (judged, test)):
        np.testing.assert_array_equal(
            ours.toarray(), features.transform([TEXTS[k] for k in some]).toarray()
        )


@pytest.mark.parametrize("weighting", ["idf", "nb"])
def test_texts_that_are_judged_on_are_not_counted(weighting):
    rows = sample()
    train, test = split_once(rows.labels, 0.3, 0)
    options = {"weighting": weighting, "normalize": False}
    known, _ = split_features(rows, train, test, options)
    wide, _ = split_features(rows, train, test, options, unknown=True)
    assert wide.shape[1] > known.shape[1]
    assert (wide[:, : known.shape[1]] != known).nnz == 0


def test_words_that_no_learned_text_has_may_count_in_the_length_of_a_text():
    text = pa.array(["free prize", "lunch", "free spirit"], pa.large_string())
    rows = Sample("few", Batch(text=text, label=pa.array(["a", "b", "a"], pa.large_string())))
    train, test = np.array([0, 1]), np.array([2])
    options = {"ngrams": (1, 1)}
    _, short = split_features(rows, train, test, options)
    _, whole = split_features(rows, train, test, options, unknown=True)
    assert short.toarray().tolist() == [[1.0, 0.0, 0.0]]
    assert whole.toarray()[0].tolist() == pytest.approx([0.5**0.5, 0.0, 0.0, 0.5**0.5])


def test_features_given_with_a_value_are_read_as_training_reads_them(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 | free price:2.5\n-1 | lunch price:0.5\n1 | free now\n-1 | lunch q:1\n")
    rows = read_sample(Reader([path]), "rows")
    assert not rows.negative
    learned, judged = split_features(rows, np.arange(2), np.arange(2, 4), {"normalize": False})
    assert learned.shape[0] == judged.shape[0] == 2
    assert sorted(learned.toarray()[0].tolist(), reverse=True)[:2] == [2.5, 1.0]
    assert judged.toarray().sum(axis=1).tolist() == [1.0, 1.0]  # free; lunch


def test_a_contest_is_tuning_on_one_split_and_then_folds():
    rows = sample()
    chosen = [*rule_candidates(["arow"]), BASELINES["multinomial-nb"]]
    found = run_contest(rows, chosen, folds=3, passes=3, seed=5)
    # The same with nothing but fit and predict.
    train, test = split_once(rows.labels, 0.2, 5)
    X, Z = split_features(rows, train, test, {})
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
    by_name = {each.learner: each for each in found.standings}
    arow = by_name["arow"]
    assert (arow.passes, arow.settings["r"]) == (passes, model.r)
    fold = arow.judgement.fold
    for number in range(3):
        out = np.flatnonzero(fold == number)
        kept = np.flatnonzero(fold != number)
        X, Z = split_features(rows, kept, out, {})
        again = AROWClassifier(r=model.r, max_iter=passes, random_state=5)
        told = again.fit(X, rows.labels[kept]).predict(Z)
        assert arow.judgement.predictions[out].tolist() == told.tolist()
        theirs = by_name["multinomial-nb"]
        bayes = MultinomialNB(**theirs.settings).fit(X.astype(float), rows.labels[kept])
        assert theirs.judgement.predictions[out].tolist() == bayes.predict(Z).tolist()
    best, other = found.standings
    assert best.error <= other.error
    assert best.p_value == 1.0
    assert other.p_value == mcnemar(best.judgement.right, other.judgement.right).p_value
    assert by_name["multinomial-nb"].passes is None


def test_folds_are_those_of_k_fold():
    rows = sample()
    X = TextFeatures().fit_transform(TEXTS[:ROWS])
    theirs = k_fold(LinearSVC(random_state=0), X, LABELS[:ROWS], folds=3, random_state=0)
    ours = run_contest(rows, [BASELINES["linear-svm"]], folds=3)
    assert ours.standings[0].judgement.fold.tolist() == theirs.fold.tolist()


def test_several_processes_find_the_same():
    rows = sample()
    chosen = [*rule_candidates(["arow", "pa"]), BASELINES["sgd"]]
    warm_up(chosen, rows, {})
    alone = run_contest(rows, chosen, folds=2, passes=2, seed=1)
    told = []

    class Watch(contest.Watcher):
        def begin(self, stage, total):
            told.append([stage, total, 0])

        def advance(self):
            told[-1][2] += 1

    with closed_at_the_end(2):
        together = run_contest(rows, chosen, folds=2, passes=2, seed=1, jobs=2, watcher=Watch())
    assert [[s, n] for s, n, _ in told] == [["tuning", 8 + 1 + 4], ["judging", 6]]
    assert all(total == done for _, total, done in told)
    for a, b in zip(alone.standings, together.standings, strict=True):
        assert (a.learner, a.settings, a.passes) == (b.learner, b.settings, b.passes)
        assert a.judgement.predictions.tolist() == b.judgement.predictions.tolist()


def test_held_out_rows_take_no_part_in_tuning():
    rows, other = sample(), sample(20, "other")
    found = run_contest(rows, rule_candidates(["arow"]), protocol="hold-out", test=other, passes=2)
    assert found.rows == ROWS + 20
    assert found.judged == 20
    shown = found.standings[0].judgement
    assert shown.rows.tolist() == list(range(ROWS, ROWS + 20))
    # Other labels in the rows to judge on change nothing of what is chosen.
    flipped = Sample(
        "flipped",
        Batch(text=other.rows.text, label=pa.array(["?"] * 20, pa.large_string())),
    )
    again = run_contest(
        rows, rule_candidates(["arow"]), protocol="hold-out", test=flipped, passes=2
    )
    assert again.standings[0].settings == found.standings[0].settings
    assert again.standings[0].error == 1.0


def test_progressive_blocks_are_predicted_before_they_are_learned():
    rows = sample()
    found = run_contest(rows, rule_candidates(["pa"]), protocol="progressive", passes=1)
    judgement = found.standings[0].judgement
    assert judgement.rows.size == ROWS - ROWS // 8
    assert len(judgement.seconds) == len(growing_blocks(ROWS))
    assert np.isnan(found.standings[0].deviation)
    ham, spam = (np.flatnonzero(rows.labels == label) for label in ("ham", "spam"))
    order = np.concatenate([ham[: ROWS // 6], spam, ham[ROWS // 6 :]])
    one_label_first = Sample("sorted", rows.rows.take(order))
    kept = run_contest(
        one_label_first, rule_candidates(["pa"]), protocol="progressive", passes=1, shuffle=False
    )
    assert kept.judged < judgement.rows.size
    lonely = Sample(
        "lonely",
        Batch(
            text=pa.array(["a"] * 16, pa.large_string()),
            label=pa.array(["x"] * 15 + ["y"], pa.large_string()),
        ),
    )
    with pytest.raises(DataError, match="the rows begin with one label only"):
        run_contest(
            lonely, rule_candidates(["pa"]), protocol="progressive", passes=1, shuffle=False
        )


def test_who_cannot_learn_is_left_out_with_the_reason(tmp_path):
    path = tmp_path / "rows.svm"
    lines = [f"{1 if k % 2 else -1} 1:{k % 2 or -1} 2:{k / 9}\n" for k in range(20)]
    path.write_text("".join(lines))
    rows = read_sample(Reader([path]), "rows")
    found = run_contest(
        rows,
        [*rule_candidates(["arow"]), BASELINES["complement-nb"]],
        folds=2,
        passes=1,
    )
    assert found.failures == {"complement-nb": "cannot learn from features below 0"}
    with pytest.raises(DataError, match=r"none of the learners .* complement-nb: cannot learn"):
        run_contest(rows, [BASELINES["complement-nb"]], folds=2)
    small = candidates.Candidate(
        "small", MakeRule("arow", {"memory_limit_gb": 1e-9}), ({},), passes=True
    )
    found = run_contest(rows, [*rule_candidates(["pa"]), small], folds=2, passes=1)
    assert "memory" in found.failures["small"]


@pytest.mark.parametrize("name", ["arow", "cw-stdev", *BASELINES])
def test_weights_reach_everybody(name):
    n = 240
    plain = sample(n)
    weight = np.where(plain.labels == "spam", 1.0, 0.01)
    heavy = Sample("heavy", Batch(text=plain.rows.text, label=plain.rows.label, weight=weight))
    train, test = split_once(plain.labels, 0.5, 0)
    candidate = BASELINES[name] if name in BASELINES else rule_candidates([name])[0]
    settings = max(candidate.grid, key=lambda each: each.get("C", 0.0))
    told = {}
    for rows in (plain, heavy):
        with stored(Study(rows, [(train, test)])) as path:
            verdict = judge_settings(path, 0, candidate, settings, 1)
        assert not verdict.failure
        told[rows.name] = verdict.predictions
    X, Z = (some.astype(np.float64) for some in split_features(plain, train, test, {}))
    model = candidate.make(settings, 0)
    if name == "logistic-l1":  # of two classes, one against the rest is the classifier itself
        model = model.estimator
    if candidate.passes:
        model.set_params(max_iter=1)
    model.fit(X, plain.labels[train], sample_weight=weight[train])
    assert told["heavy"].tolist() == model.predict(Z).tolist()
    assert (told["heavy"] == "spam").sum() > (told["SMS"] == "spam").sum()


def test_three_classes_are_no_harder_to_compare_on():
    labels = [f"{label} {len(text) % 2}" for text, label in zip(TEXTS, LABELS, strict=True)]
    text = pa.array(TEXTS[:ROWS], pa.large_string())
    rows = Sample("four", Batch(text=text, label=pa.array(labels[:ROWS], pa.large_string())))
    found = run_contest(
        rows, [*rule_candidates(["arow", "sop"]), *BASELINES.values()], folds=2, passes=1
    )
    assert not found.failures
    assert found.classes == 4
    assert len(found.standings) == 8


# -- what is printed ---------------------------------------------------------------------------


@pytest.mark.usefixtures("rows")
def test_the_table(run):
    code, out, err = run(
        "compare", "sms.csv", "--rules", "arow,pa", "--baselines", "linear-svm", *QUICK
    )
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"sms.csv: {ROWS} rows, 2 classes; always answering “ham” gets")
    head = next(k for k, line in enumerate(lines) if "learner" in line)
    assert lines[head].split() == ["learner", "error", "%", "±", "seconds", "passes", "settings"]
    ranked = [line.split() for line in lines[head + 1 : head + 4]]
    assert [words[0] for words in ranked] == ["1", "2", "3"]
    assert {words[1] for words in ranked} == {"arow", "pa", "linear-svm"}
    errors = [float(words[2]) for words in ranked]
    assert errors == sorted(errors)
    whole = " ".join(out.split())
    assert "3 stratified folds, settings tuned on one random split of the same rows." in whole
    assert "McNemar's test, uncorrected: * p < 0.05, ** p < 0.01, *** p < 0.001." in whole
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("rows")
def test_formats_tell_the_same(run):
    base = ("compare", "sms.csv", "--rules", "arow,cw-stdev", *QUICK)
    base += ("--baselines", "none")
    told = {}
    for name in ("markdown", "latex", "csv", "json"):
        code, told[name], _ = run(*base, "--format", name)
        assert code == 0
    rows = list(csv.DictReader(io.StringIO(told["csv"])))
    made = json.loads(told["json"])
    [task] = made["tasks"]
    assert [row["learner"] for row in rows] == [each["learner"] for each in task["learners"]]
    for row, each in zip(rows, task["learners"], strict=True):
        assert float(row["error"]) == each["error"]
        percent = f"{100 * each['error']:.2f}"
        assert re.search(
            rf"^\| \d \| \**{each['learner']}\** \| \**{percent}", told["markdown"], re.M
        )
        assert re.search(rf"{each['learner']}}}? & (\\textbf{{)?{percent}", told["latex"])
        assert np.mean(each["fold_errors"]) == pytest.approx(each["error"], abs=0.02)
    assert told["latex"].startswith("\\begin{tabular}{rlrrrrl}\n\\hline\n")
    assert "\\end{tabular}" in told["latex"]
    bars = {line.count("|") for line in told["markdown"].splitlines() if line.startswith("|")}
    assert len(bars) == 1
    assert json.loads(run(*base, "--json")[1])["tasks"][0]["rows"] == ROWS


@pytest.mark.usefixtures("rows")
def test_figures_are_written_as_they_are_printed(run):
    base = ("compare", "sms.csv", "--rules", "arow", "--baselines", "none", *QUICK)
    assert run(*base, "-o", "out.csv")[0] == 0
    shown = list(csv.DictReader(io.StringIO(run(*base, "--format", "csv", "-o", "out.json")[1])))
    written = list(csv.DictReader(io.StringIO(Path("out.csv").read_text())))
    for each in (*shown, *written):
        del each["seconds"]
    assert shown == written
    assert json.loads(Path("out.json").read_text())["tasks"][0]["learners"][0]["learner"] == "arow"


@pytest.mark.usefixtures("rows")
def test_the_errors_are_drawn(run):
    pytest.importorskip("matplotlib", reason="the extra plots is not installed")
    base = ("compare", "sms.csv", "--rules", "arow,pa", "--baselines", "none", *QUICK)
    assert run(*base, "--plot", "errors.svg")[0] == 0
    assert "<svg" in Path("errors.svg").read_text(encoding="utf-8")


@pytest.mark.usefixtures("rows")
def test_every_file_may_be_a_task(run):
    write_rows("more.csv", first=ROWS)
    base = ("compare", "sms.csv", "more.csv", "--rules", "arow,pa,sop", "--baselines", "none")
    code, out, _ = run(*base, "--each", *QUICK)
    assert code == 0
    lines = out.splitlines()
    head = next(line for line in lines if line.startswith("learner"))
    assert head.split() == ["learner", "mean", "rank", "sms", "%", "more", "%"]
    made = json.loads(run(*base, "--each", *QUICK, "--json")[1])
    by_task = [
        {each["learner"]: each["error"] for each in task["learners"]} for task in made["tasks"]
    ]
    from sureline.evaluation import mean_rank

    names = list(by_task[0])
    ranks = mean_rank([[some[name] for some in by_task] for name in names])
    assert made["mean_ranks"] == dict(zip(names, ranks.tolist(), strict=True))
    first = next(iter(made["mean_ranks"]))
    assert lines[lines.index(head) + 1].split()[:2] == [first, f"{min(ranks):.2f}"]
    joined = json.loads(run(*base, *QUICK, "--json")[1])
    assert [task["rows"] for task in joined["tasks"]] == [2 * ROWS]
    code, markdown, _ = run(*base, "--each", *QUICK, "--format", "markdown")
    assert "| learner | mean rank | sms % | more % |" in markdown


@pytest.mark.usefixtures("rows")
def test_a_file_to_judge_on(run):
    write_rows("test.csv", first=ROWS, n=30)
    base = ("compare", "sms.csv", "--rules", "arow", "--baselines", "none", *QUICK)
    code, out, _ = run(*base, "--test", "test.csv")
    assert code == 0
    assert f"{ROWS + 30} rows, 30 of them judged" in out
    assert "±" not in out
    assert "Judged on test.csv" in out
    code, out, _ = run(*base, "--protocol", "hold-out")
    assert f"{ROWS} rows, {ROWS // 5} of them judged" in out


@pytest.mark.usefixtures("rows")
def test_what_is_set_is_not_tuned_and_reaches_the_rules_that_have_it(run):
    base = ("compare", "sms.csv", "--rules", "scw-i,pa-i,arow", "--baselines", "none")
    code, out, _ = run(*base, "--set", "C=0.25", "--set", "min_length=2", *QUICK, "--json")
    assert code == 0
    settings = {
        each["learner"]: set(each["settings"]) for each in json.loads(out)["tasks"][0]["learners"]
    }
    assert settings == {"scw-i": {"confidence"}, "pa-i": set(), "arow": {"r"}}
    base = ("compare", "sms.csv", "--rules", "arow", "--set", "r=1", "--baselines", "none")
    plain = json.loads(run(*base, *QUICK, "--json")[1])["tasks"][0]["learners"][0]["error"]
    weighted = run(*base, "--set", 'class_weight={"spam": 50}', *QUICK, "--json")
    assert weighted[0] == 0
    heavy = json.loads(weighted[1])["tasks"][0]["learners"][0]["error"]
    assert heavy != plain


def test_names_are_written_so_that_nothing_breaks(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = [f"{label}_&|<*" for label in LABELS]
    write_rows("odd_[b]|&%.csv", labels=labels, n=40)
    base = ("compare", "odd_[b]|&%.csv", "--rules", "pa", "--baselines", "none", *QUICK)
    code, out, _ = run(*base)
    assert code == 0
    assert out.startswith("odd_[b]|&%.csv: 40 rows")
    write_rows("m_x&%.csv", n=40, first=40)
    both = ("compare", "odd_[b]|&%.csv", "m_x&%.csv", "--each", *base[2:])
    _, latex, _ = run(*both, "--format", "latex")
    assert r"odd\_[b]|\&\% \%" in latex
    _, markdown, _ = run(*base, "--format", "markdown")
    assert r"**odd\_[b]\|&%.csv**" in markdown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name files of labelled rows to compare on, or use --demo"),
        (("sms.csv", "--demo"), "--demo brings its own rows"),
        (("sms.csv", "--format", "jsonl"), "there is --input-format"),
        (("sms.csv", "--format", "word"), "table, markdown, latex, csv or json, got 'word'"),
        (("sms.csv", "--protocol", "guess"), "k-fold, hold-out or progressive, got 'guess'"),
        (("sms.csv", "--test", "sms.csv", "--each"), "--test and --each"),
        (("sms.csv", "--test", "sms.csv", "--protocol", "k-fold"), "goes with the protocol"),
        (("sms.csv", "--no-shuffle"), "--no-shuffle goes with --protocol progressive"),
        (("sms.csv", "-o", "out.txt"), "end the name in .csv or .json"),
        (("sms.csv", "-o", "sms.csv"), "is one of the inputs"),
        (("sms.csv", "--plot", "no/where.png"), "there is no folder"),
        (("sms.csv", "--rules", "arrow"), "did you mean arow?"),
        (("sms.csv", "--baselines", "svm"), "there is no baseline 'svm'"),
        (("sms.csv", "--covariances", "round"), "there is no covariance 'round'"),
        (("sms.csv", "--set", "q=1"), "no rule chosen has such a parameter"),
        (("sms.csv", "--set", "r"), "--set takes name=value"),
        (("sms.csv", "--set", "r=0"), "r must be a number in (0, inf)"),
        (("sms.csv", "--set", "r=1", "--set", "r=2"), "--set r was given twice"),
        (("sms.csv", "--set", "bits=4"), "use --bits instead"),
        (("sms.csv", "--folds", "250"), "use fewer folds"),
        (("missing.csv",), "there is no file 'missing.csv'"),
        (("one.csv",), "all 5 rows of one.csv have the label 'ham'"),
        (("parts.csv",), "is no class but a number with a fraction"),
        (("rows.svm", "--chars", "2,3"), "--chars is about texts"),
        (("sms.csv", "--test", "rows.svm"), "give two of one kind"),
    ],
)
@pytest.mark.usefixtures("rows")
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, run):
    Path("one.csv").write_text("text,label\n" + "hello,ham\n" * 5)
    Path("parts.csv").write_text("text,label\nhello,0.5\nyou,1.5\n")
    Path("rows.svm").write_text("1 1:1\n-1 2:1\n" * 20)
    extra = ("--label-type", "float") if arguments == ("parts.csv",) else ()
    code, out, err = run("compare", *arguments, *extra, "--jobs", "1", "--quiet")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("rows")
def test_features_may_be_weighed_for_all(run):
    base = ("compare", "sms.csv", "--rules", "arow", "--baselines", "linear-svm", *QUICK, "--json")
    for weighting in ("none", "idf", "nb"):
        assert run(*base, "--weighting", weighting)[0] == 0
    assert run(*base, "--weighting", "auto") == (
        2,
        "",
        "sureline: TextFeatures: weighting must be 'idf', 'nb' or None, got 'auto'\n",
    )
    Path("three.csv").write_text("text,label\n" + "a b,x\nb c,y\nc d,z\n" * 5)
    options = ("--weighting", "nb", *QUICK)
    assert run("compare", "three.csv", *options) == (
        2,
        "",
        "sureline: --weighting nb compares two classes, but three.csv has 3; choose idf or none\n",
    )


def test_numbers_are_compared_on_too(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(60):
        a, b = rng.standard_normal(2)
        lines.append(f"{1 if a + b > 0 else -1} 1:{a:.3f} 2:{b:.3f}\n")
    Path("rows.svm").write_text("".join(lines))
    code, out, _ = run(
        "compare", "rows.svm", "--rules", "arow", "--baselines", "linear-svm,multinomial-nb", *QUICK
    )
    assert code == 0
    assert "Left out: multinomial-nb, which cannot learn from features below 0." in out
    assert "always answering" in out


def test_the_messages_that_come_along_can_be_compared_on(run, monkeypatch):
    monkeypatch.setattr(command, "_demo_rows", lambda: sample(name=command.DEMO))
    code, out, err = run(
        "compare", "--demo", "--rules", "pa", "--baselines", "none", "--jobs", "1", "--folds", "2"
    )
    assert code == 0
    assert out.startswith(f"SMS Spam Collection: {ROWS} rows")
    assert err.splitlines() == ["sureline: tuning: 1 trainings", "sureline: judging: 2 trainings"]


def test_the_demo_is_all_messages():
    assert len(command._demo_rows()) == len(TEXTS)


@pytest.mark.slow
def test_ctrl_c_ends_the_work_of_several_processes_without_a_word(tmp_path):
    write_rows(tmp_path / "sms.csv", n=3000)
    started = subprocess.Popen(
        run_as("compare", "sms.csv", "--jobs", "2", "--baselines", "none"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in started.stderr:
        if "tuning" in line:
            break
    sleep(0.5)  # while units are handed out, Ctrl-C does nothing
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate()
    assert (started.returncode, out, err) == (130, "", "")


def die(*_):
    """What becomes of a process that takes all memory."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_is_killed_is_told_of():
    with closed_at_the_end(2), pytest.raises(SurelineError, match="perhaps for lack of memory"):
        list(run_units(die, [(1,), (2,)], 2))
