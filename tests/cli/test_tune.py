"""`sureline tune`: honest errors, halving, and a command for the winner that runs."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from messages import LABELS, ROWS, TEXTS, write_rows
from sklearn.base import clone

from sureline import AROWClassifier, TextClassifier, load
from sureline.evaluation import progressive
from sureline.evaluation.learning_curves import learn_in_steps

pytest_plugins = ["cli_fixtures"]

QUICK = ("--passes", "2", "--jobs", "1", "--quiet")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A folder with a file of messages."""
    monkeypatch.chdir(tmp_path)
    write_rows("sms.csv")


def trained_error(run, line: str) -> str:
    """Train as a command line says, and return the error it tells."""
    program, *arguments = shlex.split(line)
    assert program == "sureline"
    code, out, err = run(*arguments, "--quiet")
    assert (code, err) == (0, "")
    return re.search(r"^error +([\d.]+)%", out, re.M)[1]


@pytest.mark.usefixtures("rows")
def test_the_winner_is_told_as_a_command_that_runs(run):
    code, out, err = run("tune", "sms.csv", "--rule", "arow", "--rule", "pa-i", *QUICK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"sms.csv: {ROWS} rows, 2 classes; always predicting “ham” gets")
    assert max(map(len, lines[:-1])) <= 80
    head = next(k for k, line in enumerate(lines) if line.split()[:1] == ["rule"])
    first = lines[head + 1].split()
    assert first[0] == "1"
    assert f"--rule {first[1]} " in lines[-1]
    assert f"--passes {first[4]} " in lines[-1]
    assert f"--set {first[5]} " in lines[-1]
    trained_error(run, lines[-1])
    assert Path("model.sureline").exists()
    _, inspected, _ = run("inspect", "model.sureline", "--json")
    assert json.loads(inspected)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("order", [(), ("--no-shuffle",)])
def test_training_tells_the_error_that_tuning_found(run, order):
    arguments = ("--passes", "1", "--jobs", "1", "--quiet", "--seed", "3", *order)
    rules = ("--rule", "arow", "--rule", "cw-stdev", "--rule", "adagrad-rda")
    code, out, _ = run("tune", "sms.csv", *rules, *arguments, "--json")
    assert code == 0
    made = json.loads(out)
    line = made["command"]
    if order:
        line += " --classes ham,spam"  # tuning knows all labels from the beginning
    assert trained_error(run, line) == f"{100 * made['tried'][0]['error']:.2f}"


def test_the_command_keeps_how_rows_are_read_and_what_was_set(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{label};{text.replace(';', ',')}" for text, label in zip(TEXTS, LABELS, strict=True)]
    Path("some messages.txt").write_text("\n".join(lines[:ROWS]) + "\n", encoding="utf-8")
    Path("stop.txt").write_text("the\na\n")
    reading = ("--text", "1", "--label", "0", "--format", "csv", "--delimiter", ";")
    reading += ("--no-quotes", "--no-header", "--label-type", "text", "--skip-bad")
    texts = ("--ngrams", "1,1", "--chars", "2,3", "--no-lowercase", "--counts", "log")
    texts += ("--stop-words", "stop.txt", "--min-count", "2")
    sets = ("--set", 'class_weight={"spam": 0.5}', "--set", "min_length=2")
    rule = ("--rule", "scw-i", "--try", "confidence=0.7,0.8", "--try", "C=1")
    code, out, _ = run(
        "tune", "some messages.txt", *reading, *texts, *sets, *rule, *QUICK, "--json"
    )
    assert code == 0
    made = json.loads(out)
    assert len(made["tried"]) == 2
    words = shlex.split(made["command"])
    for option in (*reading, *texts, *sets):
        assert option in words
    for given, usual in (("--char-scope", "words"), ("--bits", "22"), ("--features", "vocabulary")):
        assert given not in words, usual
    trained_error(run, made["command"])
    _, inspected, _ = run("inspect", "model.sureline", "--json")
    assert '"min_length": 2' in inspected


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("weighting", ["auto", "idf", "none"])
def test_what_is_tuned_is_what_train_trains(weighting, run):
    options = ("--rule", "arow", "--try", "r=2", "--weighting", weighting, "--passes", "1")
    code, out, _ = run("tune", "sms.csv", *options, "--no-shuffle", "--no-halving", "--json", "-q")
    assert code == 0
    made = json.loads(out)
    [tried] = made["tried"]
    given = None if weighting == "none" else weighting
    model = TextClassifier(AROWClassifier(r=2, scheme="one-vs-rest"), weighting=given)
    texts, labels = list(TEXTS[:ROWS]), LABELS[:ROWS]
    model.partial_fit(texts, labels, classes=["ham", "spam"])
    assert tried["error"] * tried["judged"] == pytest.approx(model.n_mistakes_)
    assert ("--weighting" in shlex.split(made["command"])) == (weighting != "auto")
    words = (*shlex.split(made["command"])[1:], "--classes", "ham,spam", "-q")
    assert run(*words)[0] == 0
    np.testing.assert_array_equal(load("model.sureline").coef_, model.coef_)


def test_later_passes_over_texts_are_those_of_fit():
    texts, labels = list(TEXTS[:200]), np.array(LABELS[:200])
    for weighting in ("nb", "idf"):
        model = TextClassifier(weighting=weighting, random_state=3)
        [trained] = learn_in_steps(clone(model), texts, labels, np.array([600]))
        fitted = model.set_params(max_iter=3).fit(texts, labels)
        names = [each.get_feature_names_out().tolist() for each in (trained, fitted)]
        assert names[0] == names[1]
        np.testing.assert_array_equal(trained.coef_, fitted.coef_)
        np.testing.assert_array_equal(
            trained.model_.state.calibrator, fitted.model_.state.calibrator
        )
        found = progressive(model, texts, labels, passes=2, classes=["ham", "spam"])
        twice = TextClassifier(weighting=weighting, max_iter=2, shuffle=False).fit(texts, labels)
        np.testing.assert_array_equal(found.model.coef_, twice.coef_)


def test_features_with_values_are_tuned_without_weighting(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    lines = [f"{y} | w{y}:2 w{rng.integers(0, 9)} w{rng.integers(0, 9)}\n" for y in (1, -1) * 30]
    Path("rows.vw").write_text("".join(lines))
    options = ("rows.vw", "--format", "vw", "--rule", "arow", "--try", "r=1", *QUICK[:-1])
    code, out, err = run("tune", *options)
    assert code == 0
    assert "rows.vw gives features with values: these are tuned with --weighting none\n" in err
    assert "--weighting none" in out.splitlines()[-1]
    trained_error(run, out.splitlines()[-1])
    assert load("model.sureline").weighting is None
    code, _, err = run("tune", *options, "--weighting", "idf")
    assert (code, "which --weighting cannot be tuned with" in err) == (2, True)


def test_numbers_are_tuned_on_too(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((80, 2))
    lines = [f"{1 if a > b else -1} 1:{a:.3f} 2:{b:.3f}\n" for a, b in rows]
    Path("rows.svm").write_text("".join(lines))
    code, out, _ = run("tune", "rows.svm", "--rule", "arow", "--set", "covariance=full", *QUICK)
    assert code == 0
    line = out.splitlines()[-1]
    assert "--set covariance=full" in line
    trained_error(run, line)


@pytest.mark.usefixtures("rows")
def test_values_to_try_may_be_words(run):
    tried = ("--try", "covariance=diagonal-kl,diagonal-l2", "--try", "r=0.1,1")
    code, out, _ = run("tune", "sms.csv", "--rule", "arow", *tried, *QUICK, "--json")
    assert code == 0
    settings = [each["settings"] for each in json.loads(out)["tried"]]
    assert len(settings) == 4
    assert {each["covariance"] for each in settings} == {"diagonal-kl", "diagonal-l2"}
    assert {each["r"] for each in settings} == {0.1, 1.0}


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("protocol", ["hold-out", "k-fold"])
def test_other_protocols(run, protocol):
    code, out, _ = run(
        "tune", "sms.csv", "--rule", "pa-ii", "--protocol", protocol, "--folds", "3", *QUICK
    )
    assert code == 0
    judged = ROWS // 5 if protocol == "hold-out" else ROWS
    assert re.search(rf"^1 +pa-ii +[\d.]+ +{judged} ", out, re.M)
    words = "a random fifth" if protocol == "hold-out" else "3 stratified folds"
    assert f"Evaluated on {words}" in " ".join(out.split())


def test_rules_that_need_weights_up_to_one_are_left_out_where_there_are_larger(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    lines = ["text,label,weight"]
    lines += [f"{text},{label},{1 + k % 3}" for k, (text, label) in enumerate(WORDS * 5)]
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    base = ("tune", "rows.csv", "--weight", "weight", *QUICK)
    code, out, _ = run(*base, "--rule", "cw-stdev", "--rule", "pa-i", "--json")
    assert code == 0
    made = json.loads(out)
    assert {each["rule"] for each in made["tried"]} == {"pa-i"}
    assert "weight of 3" in made["left_out"]["cw-stdev"]
    trained_error(run, made["command"])
    code, _, err = run(*base, "--rule", "cw-stdev")
    assert code == 2
    assert "divide the weights by the largest" in err


WORDS = [("free money", "spam"), ("lunch at noon", "ham"), ("a prize", "spam"), ("see you", "ham")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--protocol", "guess"), "k-fold, hold-out or progressive, got 'guess'"),
        (("--rule", "arrow"), "did you mean arow?"),
        (("--rule", "box-max"), "solved over all examples at once"),
        (("--try", "q=1"), "--try q: no rule chosen has such a parameter"),
        (("--try", "r="), "--try takes name=value, such as r=0.1,1,10"),
        (("--try", "r=1,x"), "--try r must be auto or a number, got 'x'"),
        (("--try", "r=1", "--set", "r=2"), "r is given by --set and by --try"),
        (("--try", "min_length=1,2"), "the features of texts cannot be searched"),
        (("--rule", "arow", "--set", "scheme=all"), "--set scheme must be"),
        (("--text", "nothing"), "has no column 'nothing'"),
        (("--passes", "0"), "--passes"),
    ],
)
@pytest.mark.usefixtures("rows")
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, run):
    code, out, err = run("tune", "sms.csv", "--jobs", "1", "--quiet", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
