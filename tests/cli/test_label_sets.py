"""Several labels per row at the command line: what is read, learned, predicted and measured."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score, hamming_loss, label_ranking_average_precision_score

from sureline import load
from sureline.data import Reader
from sureline.data.label_sets import as_label_sets
from sureline.errors import DataError

pytest_plugins = ["cli_fixtures"]

WORDS = {"billing": ("invoice", "charged"), "login": ("password", "locked"), "refund": ("money",)}


def rows(count=120):
    rng = np.random.RandomState(0)
    made = []
    for _ in range(count):
        labels = [label for label in WORDS if rng.rand() < 0.4]
        words = [rng.choice(WORDS[label]) for label in labels for _ in range(2)]
        made.append((" ".join([*words, *(f"w{k}" for k in rng.randint(0, 20, 4))]), labels))
    return made


def write(path, kind):
    made = rows()
    if kind == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *((t, "; ".join(y)) for t, y in made)])
    elif kind == "jsonl":
        lines = [json.dumps({"text": text, "label": labels}) for text, labels in made]
        path.write_text("\n".join(lines))
    elif kind == "ft":
        lines = [" ".join([*(f"__label__{each}" for each in y), text]) for text, y in made]
        path.write_text("\n".join(lines))
    else:
        table = pa.table({"text": [text for text, _ in made], "label": [y for _, y in made]})
        pq.write_table(table, path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "ft", "parquet"])
def test_every_format_gives_the_same_sets(tmp_path, kind):
    path = write(tmp_path / f"a.{kind}", kind)
    separator = ";" if kind == "csv" else None
    found = [
        (text, labels)
        for batch in Reader([path], label_separator=separator, batch_bytes=700)
        for text, labels in zip(batch.text.to_pylist(), batch.label.to_pylist(), strict=True)
    ]
    assert found == rows()


def test_lists_and_single_labels_do_not_mix_unless_the_first_is_a_list(tmp_path):
    first, then = '{"text": "a", "label": "x"}\n', '{"text": "b", "label": ["x", "y"]}\n'
    (tmp_path / "one.jsonl").write_text(first + then)
    with pytest.raises(DataError, match=r"line 2: the label .* is neither text nor a number"):
        list(Reader([tmp_path / "one.jsonl"]))
    (tmp_path / "list.jsonl").write_text(then + first)
    (batch,) = Reader([tmp_path / "list.jsonl"])
    assert batch.label.to_pylist() == [["x", "y"], ["x"]]
    (batch,) = Reader([tmp_path / "one.jsonl"], label_sets=True)
    assert batch.label.to_pylist() == [["x"], ["x", "y"]]
    (tmp_path / "late.ft").write_text("__label__x a\n" * 100_000 + "__label__y __label__z b\n")
    with pytest.raises(DataError, match=r"line 100001: the line has 2 labels"):
        list(Reader([tmp_path / "late.ft"]))


def test_a_run_trains_predicts_and_evaluates(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", "csv")
    write(tmp_path / "a.jsonl", "jsonl")
    options = ("--label-separator", ";", "-o", "m.sureline", "--passes", "2", "--json")
    code, out, _ = run("train", "a.csv", *options)
    assert code == 0
    assert json.loads(out)["classes"] == sorted(WORDS)
    run("train", "a.jsonl", "-o", "n.sureline", "--passes", "2", "--threshold", "0.5")
    texts, sets = zip(*rows(), strict=True)
    model, other = load("m.sureline"), load("n.sureline")
    assert np.array_equal(model.coef_, other.coef_)
    assert (model.threshold, other.threshold) == ("f1", 0.5)

    code, out, _ = run("predict", "m.sureline", "a.csv")
    assert code == 0
    written = [line["label"] for line in csv.DictReader(out.splitlines())]
    assert written == [";".join(each) for each in model.predict(texts)]
    code, out, _ = run("predict", "m.sureline", "a.jsonl", "--json", "--threshold", "0.9")
    found = [json.loads(line)["label"] for line in out.splitlines()]
    assert found == [list(each) for each in model.set_params(threshold=0.9).predict(texts)]
    code, out, _ = run("predict", "m.sureline", "a.jsonl", "--json", "--top", "1")
    assert {len(json.loads(line)["label"]) for line in out.splitlines()} == {1}

    model.set_params(threshold="f1")
    code, out, _ = run("evaluate", "m.sureline", "a.csv", "--json")
    assert code == 0
    measured = json.loads(out)
    truth = as_label_sets(list(sets)).indicator(model.classes_)
    guess = as_label_sets(model.predict(texts)).indicator(model.classes_)
    chances = model.predict_proba(texts)
    assert measured["micro_f1"] == pytest.approx(f1_score(truth, guess, average="micro"))
    assert measured["macro_f1"] == pytest.approx(f1_score(truth, guess, average="macro"))
    assert measured["hamming_loss"] == pytest.approx(hamming_loss(truth, guess))
    assert measured["subset_accuracy"] == pytest.approx((truth == guess).all(axis=1).mean())
    some = truth.any(axis=1)
    ranking = label_ranking_average_precision_score(truth[some], chances[some])
    assert measured["ranking_precision"] == pytest.approx(ranking)
    code, out, _ = run("evaluate", "m.sureline", "a.jsonl")
    assert code == 0
    assert "whole sets right" in out
    code, out, _ = run("explain", "m.sureline", "charged invoice")
    assert code == 0
    assert "billing" in out


def test_checkpoints_change_nothing(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", "jsonl")
    common = ("--checkpoint", "c.sureline", "--every", "50")
    assert run("train", "a.jsonl", "-o", "whole.sureline", *common)[0] == 0
    assert run("train", "a.jsonl", "-o", "again.sureline")[0] == 0
    whole, again = load("whole.sureline"), load("again.sureline")
    assert np.array_equal(whole.coef_, again.coef_)
    assert np.array_equal(whole.model_.state.fits, again.model_.state.fits)


def test_labels_that_the_model_does_not_know_are_counted(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", "jsonl")
    run("train", "a.jsonl", "-o", "m.sureline")
    (tmp_path / "b.jsonl").write_text('{"text": "charged invoice", "label": ["billing", "new"]}\n')
    code, out, _ = run("evaluate", "m.sureline", "b.jsonl", "--json")
    measured = json.loads(out)
    assert code == 0
    assert measured["unknown"] == {"new": 1}
    assert measured["subset_accuracy"] == 0.0
    assert measured["micro_f1"] == pytest.approx(2 / 3)


def test_evaluate_writes_a_report(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", "jsonl")
    run("train", "a.jsonl", "-o", "m.sureline", "--passes", "1")
    code, out, _ = run("evaluate", "m.sureline", "a.jsonl", "--report", "r.html", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["report"] == "r.html"
    page = (tmp_path / "r.html").read_text("utf-8")
    assert f"<title>m.sureline: {found['micro_f1']:.4f} micro F1</title>" in page
    assert "a.jsonl" in page
    code, out, _ = run("evaluate", "m.sureline", "a.jsonl", "--report", "r.html")
    assert code == 0
    assert "r.html" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("predict", "one.sureline", "one.csv", "--top", "2"), "--top is for models of several"),
        (("predict", "m.sureline", "a.jsonl", "--threshold", "2"), "--threshold must be"),
        (("predict", "m.sureline", "a.jsonl", "--threshold", "f1", "--top", "1"), "exclude"),
        (("evaluate", "m.sureline", "a.jsonl", "--report", "a.jsonl"), "is one of the inputs"),
        (("compare", "a.jsonl"), "rows have several labels"),
        (("tune", "a.jsonl"), "rows have several labels"),
        (("train", "null.jsonl", "-o", "x.sureline"), "one of the labels is missing"),
        (("train", "empty.jsonl", "-o", "x.sureline"), "no row has any label"),
        (("train", "a.jsonl", "-o", "x.sureline", "--rule", "pa"), "need covariance='diagonal-kl'"),
    ],
)
def test_wrong_input_gives_a_sentence(tmp_path, monkeypatch, run, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", "jsonl")
    (tmp_path / "one.csv").write_text("text,label\na b,x\nc d,y\n")
    (tmp_path / "null.jsonl").write_text('{"text": "a", "label": ["x", null]}\n')
    (tmp_path / "empty.jsonl").write_text('{"text": "a", "label": []}\n')
    if arguments[1] == "one.sureline":
        run("train", "one.csv", "-o", "one.sureline")
    if arguments[1] == "m.sureline":
        run("train", "a.jsonl", "-o", "m.sureline", "--passes", "1")
    code, _, err = run(*arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
