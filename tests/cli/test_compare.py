"""`sureline compare`: the same features and protocol for everybody, and what it prints of it."""

import csv
import importlib
import io
import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from cli_runs import command as run_as
from messages import LABELS, ROWS, TEXTS, write_rows

from sureline import TextClassifier
from sureline.evaluation.protocols import split_folds
from sureline.rules import COVARIANCES

pytest_plugins = ["cli_fixtures"]

# The module: its package has the command under this name.
command = importlib.import_module("sureline.cli.compare.command")

QUICK = ("--passes", "2", "--folds", "3", "--jobs", "1", "--quiet", "--no-default")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A folder with a file of messages."""
    monkeypatch.chdir(tmp_path)
    write_rows("sms.csv")


def test_the_lists_for_help_and_completion_are_complete():
    assert command.COVARIANCES == COVARIANCES


@pytest.mark.usefixtures("rows")
def test_the_table(run):
    code, out, err = run(
        "compare", "sms.csv", "--rules", "arow,pa", "--baselines", "linear-svm", *QUICK
    )
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"sms.csv: {ROWS} rows, 2 classes; always predicting “ham” gets")
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
def test_the_default_was_left_out_of_the_table_and_ranked_below_others(run):
    """It has the first row, whatever its rank, and is what `fit` learns without parameters."""
    base = ("compare", "sms.csv", "--rules", "arow,perceptron", "--baselines", "none", *QUICK[:-1])
    code, out, err = run(*base)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    head = next(k for k, line in enumerate(lines) if "learner" in line)
    ranks = [line.split()[0] for line in lines[head + 1 : head + 4]]
    assert "sureline (default)" in lines[head + 1]
    assert ranks[1:] == sorted(ranks[1:])
    assert sorted(ranks) == ["1", "2", "3"]
    whole = " ".join(out.split())
    assert "sureline (default) is what train learns without options; nothing is tuned." in whole
    assert "features not counted, except with sureline (default)." in whole
    [task] = json.loads(run(*base, "--json")[1])["tasks"]
    first = task["learners"][0]
    assert first["learner"] == "sureline (default)"
    texts, labels = np.array(TEXTS[:ROWS]), np.array(LABELS[:ROWS])
    right = 0
    for train, test in split_folds(labels, 3, 0):
        model = TextClassifier(random_state=0).fit(texts[train], labels[train])
        right += int((model.predict(texts[test]) == labels[test]).sum())
    assert first["error"] == pytest.approx(1 - right / ROWS)


@pytest.mark.usefixtures("rows")
def test_boxes_take_part(run):
    base = ("compare", "sms.csv", "--baselines", "none", *QUICK, "--json")
    [task] = json.loads(run(*base, "--rules", "Box-max,arow")[1])["tasks"]
    assert {each["learner"] for each in task["learners"]} == {"box-max", "arow"}
    [box] = [each for each in task["learners"] if each["learner"] == "box-max"]
    assert set(box["settings"]) == {"D", "loss"}
    assert box["passes"] is None
    [task] = json.loads(run(*base, "--rules", "box-sum")[1])["tasks"]
    assert [each["learner"] for each in task["learners"]] == ["box-sum"]


@pytest.mark.usefixtures("rows")
def test_the_default_has_the_first_row_of_several_tasks(run):
    write_rows("more.csv", n=60, first=60)
    base = ("compare", "sms.csv", "more.csv", "--each", "--rules", "pa", "--baselines", "none")
    code, out, _ = run(*base, *QUICK[:-1])
    assert code == 0
    lines = out.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("learner"))
    assert lines[head + 1].startswith("sureline (default)")


@pytest.mark.parametrize(("rows", "has"), [("1 | a:2\n0 | b:1\n", False), ("1 1:2\n0 2:1\n", True)])
def test_the_default_of_rows_that_are_no_texts(rows, has, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text(rows * 20)
    base = ("compare", "rows.txt", "--rules", "pa", "--baselines", "none", *QUICK[:-1], "--json")
    code, out, err = run(*base)
    assert (code, err) == (0, "")
    [task] = json.loads(out)["tasks"]
    assert ("sureline (default)" in {each["learner"] for each in task["learners"]}) == has
    why = {} if has else {"sureline (default)": "cannot learn here from features with values"}
    assert task["left_out"] == why


@pytest.mark.usefixtures("rows")
def test_formats_tell_the_same(run):
    base = ("compare", "sms.csv", "--rules", "arow,cw-stdev", *QUICK)
    base += ("--baselines", "none")
    told = {}
    for name in ("markdown", "latex", "csv", "json"):
        code, told[name], _ = run(*base, "--output-format", name)
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
    _, out, _ = run(*base, "--output-format", "csv", "-o", "out.json")
    shown = list(csv.DictReader(io.StringIO(out)))
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
    code, markdown, _ = run(*base, "--each", *QUICK, "--output-format", "markdown")
    assert "| learner | mean rank | sms % | more % |" in markdown


@pytest.mark.usefixtures("rows")
def test_a_file_to_judge_on(run):
    write_rows("test.csv", first=ROWS, n=30)
    base = ("compare", "sms.csv", "--rules", "arow", "--baselines", "none", *QUICK)
    code, out, _ = run(*base, "--test", "test.csv")
    assert code == 0
    assert f"{ROWS + 30} rows, 30 of them for testing" in out
    assert "±" not in out
    assert "Evaluated on test.csv" in out
    code, out, _ = run(*base, "--protocol", "hold-out")
    assert f"{ROWS} rows, {ROWS // 5} of them for testing" in out


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
    _, latex, _ = run(*both, "--output-format", "latex")
    assert r"odd\_[b]|\&\% \%" in latex
    _, markdown, _ = run(*base, "--output-format", "markdown")
    assert r"**odd\_[b]\|&%.csv**" in markdown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name files of labelled rows to compare on, or use --demo"),
        (("sms.csv", "--demo"), "--demo brings its own rows"),
        (
            ("sms.csv", "--format", "latex"),
            "--format is the format of the input; use --output-format latex",
        ),
        (("sms.csv", "--format", "word"), "format 'word' does not exist; it can be csv"),
        (("sms.csv", "--output-format", "word"), "table, markdown, latex, csv or json, got 'word'"),
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
        (("parts.csv",), "is a number with a fraction, not a class"),
        (("rows.svm", "--chars", "2,3"), "--chars applies to texts"),
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
        "sureline: --weighting must be none, idf or nb, got 'auto'\n",
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
    assert "always predicting" in out


def test_the_messages_that_come_along_can_be_compared_on(run, monkeypatch):
    monkeypatch.setattr("sureline.cli.compare.run.sms_spam", lambda: (TEXTS[:ROWS], LABELS[:ROWS]))
    code, out, err = run(
        "compare", "--demo", "--rules", "pa", "--baselines", "none", "--jobs", "1", "--folds", "2"
    )
    assert code == 0
    assert out.startswith(f"SMS Spam Collection: {ROWS} rows")
    assert err.splitlines() == [
        "sureline: tuning: 1 training",
        "sureline: testing the default: 2 trainings",
        "sureline: testing: 2 trainings",
    ]


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
    out = None
    while out is None:  # while processes are started, Ctrl-C does nothing
        sleep(0.5)
        os.killpg(started.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            out, err = started.communicate(timeout=5)
    assert (started.returncode, out, err) == (130, "", "")
