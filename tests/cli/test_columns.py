"""Tables of several columns on the command line."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from sureline import TextClassifier, load

pytest_plugins = ["cli_fixtures"]

ROWS = [
    {
        "subject": "win",
        "body": "a free prize",
        "sender": "a@x.com",
        "amount": 900.5,
        "kind": "spam",
    },
    {
        "subject": "lunch",
        "body": "free at noon?",
        "sender": "b@y.org",
        "amount": None,
        "kind": "ham",
    },
    {"subject": "prize", "body": "money now", "sender": "a@x.com", "amount": 700.0, "kind": "spam"},
    {"subject": "report", "body": "see you", "sender": None, "amount": 12.25, "kind": "ham"},
] * 10
FLAGS = ["--text", "subject", "--text", "body", "--category", "sender", "--number", "amount"]
COLUMNS = {"subject": "text", "body": "text", "sender": "category", "amount": "number"}
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "arrow": lambda frame, path: frame.to_feather(path),
}


@pytest.fixture
def table(tmp_path):
    def write(kind: str = "csv", frame: pd.DataFrame | None = None, name: str = "rows"):
        path = tmp_path / f"{name}.{kind}"
        WRITERS[kind](pd.DataFrame(ROWS) if frame is None else frame, path)
        return path

    return write


@pytest.fixture
def model(tmp_path, table, run):
    path = tmp_path / "m.sureline"
    code, _, err = run("train", table(), *FLAGS, "--label", "kind", "-o", path, "--passes", "1")
    assert code == 0, err
    return path


def test_a_model_of_several_columns_remembers_them(run, table, model):
    assert load(model).columns_ == COLUMNS
    frame = pd.DataFrame(ROWS)
    assert load(model).predict(frame).tolist() == frame["kind"].tolist()
    path = table(frame=frame[["amount", "sender", "body", "subject"]].assign(new=1), name="other")
    code, out, _ = run("predict", model, path)
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == frame["kind"].tolist()


@pytest.mark.parametrize("kind", WRITERS)
def test_files_of_every_kind_give_the_model_of_the_table(run, table, tmp_path, kind):
    made = tmp_path / "m.sureline"
    options = ("--label", "kind", "-o", made, "--no-shuffle", "-q")
    assert run("train", table(kind), *FLAGS, *options)[0] == 0
    frame = pd.DataFrame(ROWS)
    parts = TextClassifier(columns=COLUMNS).partial_fit(frame, frame["kind"])
    assert (load(made).predict_proba(frame) == parts.predict_proba(frame)).all()
    assert load(made).n_features_ == parts.n_features_


def test_evaluate_and_its_report_take_tables(run, table, model, tmp_path):
    frame = pd.DataFrame(ROWS)
    frame["kind"] = frame["kind"].where(frame.index % 7 > 0, "spam")
    page = tmp_path / "page.html"
    path = table(frame=frame, name="test")
    code, out, _ = run("evaluate", model, path, "--label", "kind", "--report", page, "--json")
    assert code == 0
    assert json.loads(out)["rows"] == len(frame)
    shown = page.read_text("utf-8")
    assert "sender: a@x.com" in shown
    assert "subject: " in shown


def test_inspect_lists_the_columns(run, model):
    found = json.loads(run("inspect", model, "--json")[1])
    assert [(each["name"], each["kind"]) for each in found["table"]] == list(COLUMNS.items())
    amount = found["table"][-1]
    assert (amount["count"], amount["mean"]) == (30, pytest.approx(537.583, abs=0.01))
    text = " ".join(run("inspect", model)[1].split())
    assert "text 'subject', text 'body', category 'sender', number 'amount' (mean 537.6" in text


def test_explain_and_predict_take_rows_as_json(run, model):
    row = json.dumps({"subject": "prize", "body": "", "sender": "a@x.com", "amount": 800})
    code, out, _ = run("explain", model, row, "--json")
    assert code == 0
    assert {"subject: prize", "sender: a@x.com"} <= {
        each["feature"] for each in json.loads(out)["features"]
    }
    assert run("predict", model, "--string", row)[1].splitlines()[1].startswith("spam,")
    code, _, err = run("explain", model, "a text")
    assert code == 2
    assert "JSON object such as" in err


@pytest.mark.parametrize("kept", ["33", "50"])
def test_a_resumed_run_ends_as_an_undisturbed_one(run, table, tmp_path, kept):
    saved = ("--checkpoint", tmp_path / "c", "--every", kept)
    options = ("train", table(), *FLAGS, "--label", "kind", "-q", "--passes", "2", *saved)
    one, other = tmp_path / "a.sureline", tmp_path / "b.sureline"
    assert run(*options, "-o", one)[0] == 0  # the checkpoint stands before the end
    assert run(*options, "-o", other, "--resume")[0] == 0
    assert one.read_bytes() == other.read_bytes()
    changed = table(frame=pd.DataFrame(ROWS).assign(amount=1.0))
    assert run(*options[:1], changed, *options[2:], "-o", other, "--resume")[0] == 2


def test_a_table_model_is_trained_further(run, table, model, tmp_path):
    more = tmp_path / "more.sureline"
    options = ("--label", "kind", "-o", more, "-q", "--passes", "1")
    assert run("train", table(), "--continue", model, *options)[0] == 0
    assert load(more).n_seen_ == 2 * len(ROWS)
    code, _, err = run("train", table(), "--continue", model, *options, "--text", "body")
    assert code == 2
    assert "leave out --text" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([*FLAGS, "--category", "subject"], "'subject' was given by --text and by --category"),
        (["--text", "subject", "--text", "subject"], "by --text and by --text"),
        (["--text", "subject", "--number", "size"], "has no column 'size'"),
        (["--text", "subject", "--number", "body"], "is not a number"),
        (["--text", "subject", "--category", "kind"], "cannot be both learned from and label"),
    ],
)
def test_wrong_columns_are_one_sentence(run, table, tmp_path, flags, message):
    made = ("--label", "kind", "-o", tmp_path / "m.sureline")
    code, _, err = run("train", table(), *flags, *made)
    assert code == 2
    assert message in " ".join(err.split())


def test_a_column_that_a_model_needs_is_named(run, table, model):
    path = table(frame=pd.DataFrame(ROWS)[["subject", "sender"]], name="less")
    code, _, err = run("predict", model, path)
    assert code == 2
    assert "has no column 'body'" in " ".join(err.split())


def test_formats_without_columns_are_refused(run, tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 | a b\n-1 | c d\n")
    code, _, err = run("train", path, *FLAGS, "-o", tmp_path / "m.sureline")
    assert code == 2
    assert "the format vw, which has no columns" in " ".join(err.split())


def messages():
    """Rows whose sender shows the class, and whose texts rarely do."""
    rng = np.random.RandomState(0)
    kinds = np.where(rng.rand(120) < 0.4, "spam", "ham")
    words = [" ".join(f"w{k}" for k in rng.randint(0, 20, 4)) for _ in kinds]
    subjects = [kind if rng.rand() < 0.3 else "news" for kind in kinds]
    senders = [f"{kind}{rng.randint(3)}" for kind in kinds]
    return pd.DataFrame({"subject": subjects, "body": words, "sender": senders, "kind": kinds})


def test_compare_joins_texts_for_others(run, table):
    path = table(frame=messages())
    columns = ("--text", "subject", "--text", "body", "--category", "sender", "--label", "kind")
    learners = ("--rules", "arow", "--baselines", "linear-svm", "--passes", "2", "--jobs", "1")
    code, out, err = run("compare", path, *columns, *learners, "--folds", "3", "--json", "-q")
    assert (code, err) == (0, "")
    found = json.loads(out)
    errors = {each["learner"]: each["error"] for each in found["tasks"][0]["learners"]}
    assert found["joined_columns"] == ["subject", "body"]
    assert errors["sureline (default)"] == 0.0  # by the senders, which the others do not get
    frame = messages().assign(text=lambda frame: frame["subject"] + " " + frame["body"])
    joined = table(frame=frame, name="joined")
    code, out, _ = run(
        "compare", joined, "--label", "kind", *learners, "--folds", "3", "--json", "-q"
    )
    alone = json.loads(out)["tasks"][0]["learners"]
    assert "joined_columns" not in json.loads(out)
    for each in alone:
        if each["learner"] != "sureline (default)":
            assert errors[each["learner"]] == each["error"]
    code, out, _ = run("compare", path, *columns, *learners, "--protocol", "hold-out", "-q")
    assert "Learners get the columns of texts (subject, body) as one text" in " ".join(out.split())


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("arow", ("--passes", "2")),
        ("averaged-perceptron", ("--passes", "1")),
        ("arow", ("--passes", "2", "--protocol", "k-fold", "--folds", "2", "--weighting", "none")),
    ],
)
def test_tune_learns_from_all_columns(run, table, tmp_path, monkeypatch, rule, options):
    monkeypatch.chdir(tmp_path)
    path = table(frame=messages())
    columns = ("--text", "subject", "--text", "body", "--category", "sender", "--label", "kind")
    code, out, err = run(
        "tune", path, *columns, "--rule", rule, "--jobs", "1", "--json", "-q", *options
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["tried"][0]["error"] < 0.2  # without senders, a quarter is wrong
    program, *words = shlex.split(found["command"])
    assert program == "sureline"
    code, _, err = run(*words, "-q")
    assert (code, err) == (0, "")
    kinds = {"subject": "text", "body": "text", "sender": "category"}
    assert load("model.sureline").columns_ == kinds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "rows.csv", "--number", "amount", "--label", "kind"), "there are none; name"),
        (("compare", "--demo", "--category", "sender"), "--demo brings its own rows"),
        (("tune", "rows.csv", "--text", "subject", "--number", "body"), "has no column 'label'"),
    ],
)
def test_wrong_columns_to_search_are_one_sentence(
    run, table, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    table()
    code, _, err = run(*arguments, "-q")
    assert code == 2
    assert message in err
    assert "Traceback" not in err
