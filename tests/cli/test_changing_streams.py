"""Streams that change, on the command line: ``train --no-shuffle --drift``, ``inspect``."""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from texts import texts_of

from sureline import AROWClassifier, Drift, TextClassifier, load

pytest_plugins = ["cli_fixtures"]

PERIOD = 300
MOVED = "the model is right more often with its two classes swapped and so goes on"


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A file whose labels are swapped half way; its texts and labels."""
    monkeypatch.chdir(tmp_path)
    texts, labels = texts_of(2 * PERIOD, 2)
    labels = [
        {"class 00": "class 01", "class 01": "class 00"}[label] if row >= PERIOD else label
        for row, label in enumerate(labels.tolist())
    ]
    with open("posts.csv", "w", newline="", encoding="utf-8") as file:  # noqa: PTH123
        out = csv.writer(file)
        out.writerow(("text", "label"))
        out.writerows(zip(texts, labels, strict=True))
    return texts, labels


def test_a_change_is_reported_when_it_happens_and_by_inspect(posts, run):
    code, out, err = run("train", "posts.csv", "--no-shuffle", "-o", "m.sureline")
    expected = TextClassifier().partial_fit(*posts)
    (change,) = expected.changes_
    assert code == 0
    assert "changes   1 in the stream; inspect shows them" in out
    assert f"sureline: change at example {change.at:,} (by chance once in " in err
    assert MOVED in " ".join(err.split())
    found = json.loads(run("inspect", "m.sureline", "--json")[1])
    (listed,) = found["changes"]
    assert (listed["at"], listed["decided"], listed["model"]) == (
        change.at,
        change.decided,
        "swapped",
    )
    assert [each["feature"] for each in listed["moved"]] == [each[0] for each in change.moved]
    shown = " ".join(run("inspect", "m.sureline")[1].split())
    assert f"at example {change.at:,}, decided at {change.decided:,}" in shown
    assert f"since then {MOVED}" in shown
    assert load("m.sureline").coef_.tobytes() == expected.coef_.tobytes()


@pytest.mark.parametrize(
    ("written", "drift"),
    [
        ("none", None),
        ("auto", "auto"),
        ("false_alarms=1e-6,memory=0", Drift(false_alarms=1e-6, memory=0)),
        ("false_alarms=none, half_life=60", Drift(false_alarms=None, half_life=60)),
    ],
)
def test_settings_of_drift(posts, run, written, drift):
    options = ("--no-shuffle", "-q", "-o", "m.sureline", "--drift", written)
    assert run("train", "posts.csv", *options)[0] == 0
    found, expected = load("m.sureline"), TextClassifier(drift=drift).partial_fit(*posts)
    assert found.drift == drift
    assert found.changes_ == expected.changes_
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    assert run("inspect", "m.sureline")[0] == 0
    shown = json.loads(run("inspect", "m.sureline", "--json")[1])["texts"]["drift"]
    if isinstance(drift, Drift):
        assert Drift(**shown) == drift
    else:
        assert shown == drift


@pytest.mark.usefixtures("posts")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--drift", "auto"), "--drift is about rows in their order, but they are shuffled;"),
        (
            ("--no-shuffle", "--drift", "auto", "--passes", "3"),
            "--drift is about rows that are learned once, but --passes is 3; leave out one",
        ),
        (
            ("--no-shuffle", "--drift", "half_life=50", "--count-first"),
            "--drift half_life=50 forgets older texts, but --count-first counts all of them",
        ),
        (
            ("--no-shuffle", "--drift", "auto", "--jobs", "3"),
            "--drift is about rows in their order, but with --jobs 3 each thread learns a part",
        ),
        (("--no-shuffle", "--drift", "soon"), "--drift must be none, auto or settings such as"),
        (
            ("--no-shuffle", "--drift", "memory=1.5"),
            "--drift memory must be a whole number, got '1.5'",
        ),
        (
            ("--no-shuffle", "--drift", "half_life=0"),
            "--drift half_life must be a whole number of at least 1",
        ),
        (
            ("--no-shuffle", "--rule", "sop", "--drift", "half_life=9"),
            "the rule sop cannot forget with half_life=9; these can: arow, cw-stdev",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(run, options, sentence):
    code, out, err = run("train", "posts.csv", "-o", "m.sureline", *options)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_rows_of_numbers_are_watched_where_it_is_asked(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 8)).round(3)
    y = ((X @ rng.standard_normal(8) > 0) != (np.arange(900) >= 450)).astype(int)
    dump_svmlight_file(X, y, "rows.svm", zero_based=True)
    X, y = load_svmlight_file("rows.svm", zero_based=True)
    for options, drift in (((), None), (("--drift", "auto"), "auto")):
        code, out, _ = run("train", "rows.svm", "--no-shuffle", "-q", "-o", "m.sureline", *options)
        expected = AROWClassifier(drift=drift).partial_fit(X, y.astype(int))
        assert code == 0
        assert ("in the stream" in out) == (drift is not None)
        assert load("m.sureline").coef_.tobytes() == expected.coef_.tobytes()
        assert load("m.sureline").changes_ == expected.changes_
