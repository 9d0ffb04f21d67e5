"""``sureline serve`` and ``sureline journal``: what they refuse, and what a journal gives back."""

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from serve_runs import NEW, digest_of, wanted

from sureline import load
from sureline.serve.hosted import Hosted
from sureline.serve.recovery import journal_folder
from sureline.serve.requests import Limits

pytest_plugins = ["cli_fixtures", "serve_fixtures"]


@pytest.fixture
def learned(mail) -> Path:
    """A model whose journal has 30 examples, the last 5 of them undone."""
    hosted = Hosted(mail, Limits())
    for first in range(0, 30, 5):
        hosted.submit(wanted(first, first + 5), author="ann").result(60)
    hosted.between(lambda: hosted.roll_back(25, "bob")).result(60)
    hosted.close()
    return mail


# -- serve -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--host", "::"), "can be reached from other machines: name a --token-file"),
        (("--token-file", "t", "--no-auth"), "exclude each other"),
        (("--token-file", "none"), "--token-file none cannot be read"),
        (("--host", "nowhere.invalid", "--no-auth"), "cannot listen on nowhere.invalid"),
        (("--port", "70000"), "--port"),
    ],
)
def test_what_cannot_be_served(run, mail, options, sentence):
    code, out, err = run("serve", mail, *options)
    assert (code, out) == (2, "")
    assert sentence in err


def test_models_that_cannot_be_served(run, tmp_path):
    code, _, err = run("serve", tmp_path / "none.sureline", "--port", "0")
    assert (code, "there is no file or folder" in err) == (2, True)
    code, _, err = run("serve", tmp_path, "--port", "0")
    assert (code, "there is no model" in err) == (2, True)
    from sureline import AROWClassifier

    AROWClassifier().fit([[0.0], [1.0]], ["a", "b"]).save(tmp_path / "numbers.sureline")
    code, _, err = run("serve", tmp_path / "numbers.sureline", "--port", "0")
    assert (code, "texts are served by a TextClassifier" in err) == (2, True)


def test_without_its_packages_serve_says_what_to_install(run, mail, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "sureline.serve.run", raising=False)
    code, _, err = run("serve", mail)
    assert code == 2
    assert "pip install 'sureline[serve]'" in err


# -- journal ---------------------------------------------------------------------------------------


def test_listing_the_last_examples_and_events(run, learned):
    code, out, err = run("journal", learned, "list", "--last", "7")
    assert (code, err) == (0, "")
    assert "examples  25" in out
    assert "undone" in out
    assert "rolled back: to 25, examples 5, by bob" in out
    told = json.loads(run("journal", learned, "--json", "--last", "2")[1])
    assert [each["number"] for each in told["last"]] == [29, 30]
    assert told["events"][-1]["what"] == "rolled back"


def test_exporting_what_counts(run, learned, tmp_path):
    out = run("journal", learned, "export")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["text"], row["label"]) for row in rows] == NEW[:25]
    assert run("journal", learned, "export", "-o", tmp_path / "e.parquet", "--until", "3")[0] == 0
    table = pyarrow.parquet.read_table(tmp_path / "e.parquet")
    assert table["number"].to_pylist() == [1, 2, 3]
    assert run("journal", learned, "export", "--until", "2000-01-01")[1].count("\n") == 1


@pytest.mark.parametrize("place", ["model", "folder", "database"])
def test_replaying_gives_the_model_of_any_moment(run, learned, tmp_path, place):
    folder = journal_folder(learned)
    path = {"model": learned, "folder": folder, "database": folder / "journal.db"}[place]
    code, out, _ = run("journal", path, "replay", "--until", "12", "-o", tmp_path / "m.sureline")
    assert (code, "as of example 12" in out) == (0, True)
    texts, labels = zip(*NEW[:12], strict=True)
    model = load(learned).partial_fit(list(texts), list(labels))
    assert digest_of(load(tmp_path / "m.sureline"), tmp_path) == digest_of(model, tmp_path)


def test_replaying_to_a_time(run, learned, tmp_path):
    told = json.loads(run("journal", learned, "--json", "--last", "30")[1])
    until = told["last"][9]["time"]
    out = run("journal", learned, "replay", "--until", until, "-o", tmp_path / "m", "--json")[1]
    assert json.loads(out)["number"] == 10


def test_compacting_keeps_the_model(run, learned, tmp_path):
    assert run("journal", learned, "replay", "-o", tmp_path / "before.sureline")[0] == 0
    assert "removed 0 examples" in run("journal", learned, "compact")[1]
    code, out, _ = run("journal", learned, "compact", "--keep-days", "0")
    assert (code, "removed 30 examples" in out) == (0, True)
    assert run("journal", learned, "replay", "-o", tmp_path / "after.sureline")[0] == 0
    before, after = load(tmp_path / "before.sureline"), load(tmp_path / "after.sureline")
    assert digest_of(before, tmp_path) == digest_of(after, tmp_path)
    code, _, err = run("journal", learned, "replay", "--until", "3", "-o", tmp_path / "x")
    assert (code, "examples up to 30 were removed" in err) == (2, True)
    hosted = Hosted(learned, Limits())
    assert hosted.submit(wanted(30, 35)).result(60).numbers == range(31, 36)
    hosted.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("list", "--until", "yesterday"), "'yesterday' is not a time"),
        (("frob",), "there is no action 'frob'; there are list, export, replay, compact"),
        (("replay",), "name the file to write the model to: -o MODEL"),
        (("export", "-o", "x.xyz"), "has no known format"),
    ],
)
def test_what_a_journal_refuses(run, learned, arguments, sentence):
    code, _, err = run("journal", learned, *arguments)
    assert code == 2
    assert sentence in err


def test_a_model_without_a_journal(run, mail):
    code, _, err = run("journal", mail)
    assert (code, "there is no journal" in err) == (2, True)
    assert not journal_folder(mail).exists()


def test_a_journal_in_use_is_not_compacted(run, learned):
    hosted = Hosted(learned, Limits())
    code, _, err = run("journal", learned, "compact", "--keep-days", "0")
    assert (code, "in use by another process" in err) == (2, True)
    assert run("journal", learned, "list")[0] == 0
    hosted.close()
