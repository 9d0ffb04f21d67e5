"""Labels at the command line: balanced classes, and warnings of what is probably a mistake."""

import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sureline import AROWClassifier, CWClassifier, TextClassifier, load
from sureline.cli.controls import show_label
from sureline.cli.label_check import find_ids, find_spellings

pytest_plugins = ["cli_fixtures"]

WORDS = ["free", "prize", "money", "lunch", "noon", "late", "invoice", "parcel"]


def texts(n: int) -> list[str]:
    return [f"{WORDS[i % 8]} {WORDS[(i * i + 3) % 8]} {WORDS[(5 * i + 1) % 7]}" for i in range(n)]


def write(path: str, labels: list, column: str = "label") -> list[str]:
    rows = texts(len(labels))
    lines = [f"{text},{label}\n" for text, label in zip(rows, labels, strict=True)]
    Path(path).write_text("".join([f"text,{column}\n", *lines]))
    return rows


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# -- balanced classes --------------------------------------------------------------------------

UNEVEN = ["spam" if i % 7 == 0 else "ham" if i % 5 else "bill" for i in range(90)]
BALANCED = ("-q", "--set", "class_weight=balanced")


def equal(model, expected) -> None:
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.variance_, expected.variance_)
    assert model.predict_proba(texts(9)).tolist() == expected.predict_proba(texts(9)).tolist()


def default(**options) -> TextClassifier:
    inside = AROWClassifier(r="auto", scheme="one-vs-rest", class_weight="balanced")
    return TextClassifier(inside, random_state=0, **options)


@pytest.mark.parametrize("options", [(), ("--passes", "3"), ("--jobs", "3"), ("--count-first",)])
def test_classes_were_not_balanced_because_rows_are_learned_as_a_stream(options, run):
    rows = write("rows.csv", UNEVEN)
    assert run("train", "rows.csv", "-o", "m", *BALANCED, *options)[0] == 0
    fit = {"--passes": {"max_iter": 3}, "--jobs": {"n_jobs": 3}, "--count-first": {}}
    own = {"counts_first": True} if "--count-first" in options else {}
    expected = default(**(fit[options[0]] if options else {}), **own).fit(rows, UNEVEN)
    equal(load("m"), expected)


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_balanced_classes_of_rows_in_order(source, run, monkeypatch):
    rows = write("rows.csv", UNEVEN)
    if source == "stdin":
        content = Path("rows.csv").read_bytes()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    file = "-" if source == "stdin" else "rows.csv"
    names = ("--classes", "bill,ham,spam")
    assert run("train", file, "-o", "m", "--no-shuffle", *names, *BALANCED)[0] == 0
    equal(load("m"), default(shuffle=False).fit(rows, UNEVEN))


def test_balanced_classes_of_more_rows_than_the_buffer_holds(run):
    """All labels are counted first, not those in the buffer alone."""
    labels = sorted(UNEVEN)
    write("rows.csv", labels)
    assert run("train", "rows.csv", "-o", "m", *BALANCED, "--buffer", "0.001")[0] == 0
    counts = Counter(labels)
    weights = {label: 90 / (3 * counts[label]) for label in counts}
    assert load("m").estimator.class_weight == weights
    given = f"class_weight={json.dumps(weights)}"
    run("train", "rows.csv", "-o", "n", "-q", "--set", given, "--buffer", "0.001")
    equal(load("m"), load("n"))


def test_balanced_classes_of_a_stream_that_the_buffer_does_not_hold(run, monkeypatch):
    write("rows.csv", UNEVEN)
    content = Path("rows.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, _, err = run("train", "-", "-o", "m", *BALANCED, "--buffer", "0.001")
    assert code == 2
    assert err == (
        "sureline: class_weight=balanced counts all labels first, but a stream can be read only "
        "once, and this one does not fit into 0.001 MB; give class weights as JSON, raise "
        "--buffer, or save it to a file\n"
    )


def test_balanced_classes_of_numbers_and_of_a_rule_that_reads_weights_relatively(run):
    Path("rows.svm").write_text("1 3:1 5:2\n-1 4:1\n-1 3:0.5 9:1\n-1 4:1 9:1\n" * 5)
    options = ("--rule", "cw-variance", *BALANCED)
    assert run("train", "rows.svm", "-o", "m", *options)[0] == 0
    made = load("m")
    X = np.zeros((20, 10))
    X[::4, [3, 5]], X[1::4, 4], X[2::4, [3, 9]], X[3::4, [4, 9]] = [1, 2], 1, [0.5, 1], 1
    y = np.tile([1, -1, -1, -1], 5)
    expected = CWClassifier(
        constraint="variance", class_weight="balanced", max_iter=1, random_state=0
    )
    np.testing.assert_array_equal(made.coef_, expected.fit(X, y).coef_)
    assert made.class_weight == {-1: 20 / 30, 1: 2.0}


def test_a_model_of_balanced_classes_is_trained_further(run):
    """One of the command line keeps its weights, one of Python balances the new rows."""
    rows = write("rows.csv", UNEVEN)
    assert run("train", "rows.csv", "-o", "m", *BALANCED)[0] == 0
    kept = load("m").estimator.class_weight
    default().fit(rows, UNEVEN).save("python")
    more = ["ham"] * 30 + ["spam"] * 10
    write("more.csv", more)
    for name in ("m", "python"):
        assert run("train", "more.csv", "-o", "n", "-q", "--continue", name)[0] == 0
        weights = load("n").estimator_.class_weight
        assert weights == (kept if name == "m" else {"ham": 40 / 60, "spam": 2.0})
    load("m").learn_one("one more", "spam")


def test_a_resumed_run_keeps_the_weights_of_balanced_classes(run):
    write("rows.csv", UNEVEN)
    options = ("rows.csv", *BALANCED, "--checkpoint", "run", "--every", "40")
    assert run("train", *options, "-o", "whole")[0] == 0
    code, _, err = run("train", *options, "-o", "again", "--resume")
    assert (code, err) == (0, "")
    assert Path("whole").read_bytes() == Path("again").read_bytes()


def test_tune_balances_classes_as_train_does(run):
    write("rows.csv", UNEVEN)
    options = ("--rule", "arow", "--try", "r=1,2", "--passes", "1", "--jobs", "1", *BALANCED)
    code, out, err = run("tune", "rows.csv", *options)
    assert (code, err) == (0, "")
    assert "--set class_weight=balanced" in out


# -- ids and numbers ---------------------------------------------------------------------------


def test_ids_as_labels_made_a_model_of_gigabytes_without_a_word(run):
    write("ids.csv", [f"u{i}" for i in range(1500)], "id")
    code, out, err = run("train", "ids.csv", "--label", "id", "-o", "m")
    assert (code, out) == (2, "")
    assert err == (
        "sureline: there are 1,500 different labels in 1,500 rows, such as 'u0', 'u1' and 'u2': "
        "the column 'id' seems to hold ids, not classes; name the column of labels (--label), or "
        "allow more than 1,000 such labels (--many-labels), each of which makes the model larger\n"
    )
    assert not Path("m").exists()


@pytest.mark.parametrize("options", [("--no-shuffle",), ("--buffer", "0.001")])
def test_ids_are_refused_before_all_rows_are_read(options, run):
    write("ids.csv", list(range(1500)), "id")
    code, _, err = run("train", "ids.csv", "--label", "id", "-o", "m", "-q", *options)
    assert code == 2
    assert "the column 'id' seems to hold ids, not classes" in err
    assert "in the first 1," in err
    assert not Path("m").exists()


def test_many_labels_can_be_asked_for(run):
    labels = [f"u{i}" for i in range(1001)]
    write("ids.csv", labels)
    options = ("--features", "hash", "--bits", "4", "-q")
    code, out, err = run("train", "ids.csv", "-o", "m", "--many-labels", *options)
    assert code == 0
    assert "classes   1001: u0, u1, " in out
    assert err.endswith("the column 'label' seems to hold ids, not classes; check --label\n")
    assert run("tune", "ids.csv", "--rule", "arow", "--jobs", "1")[0] == 2


@pytest.mark.parametrize("command", ["train", "tune", "compare"])
def test_a_column_of_numbers_is_worth_a_warning(command, run):
    write("prices.csv", [i % 60 for i in range(400)], "price")
    options = {
        "train": ("-o", "m"),
        "tune": ("--rule", "pa", "--passes", "1", "--jobs", "1"),
        "compare": ("--rules", "pa", "--baselines", "none", "--folds", "2", "--jobs", "1"),
    }
    code, _, err = run(command, "prices.csv", "--label", "price", "-q", *options[command])
    assert code == 0
    assert err == (
        "sureline: there are 60 different labels in 400 rows, such as 0, 1 and 2: the column "
        "'price' seems to hold numbers to predict, not classes; check --label\n"
    )


def test_many_classes_are_no_ids():
    text = Counter({f"c{i}": 3 for i in range(5000)})
    assert find_ids(text, "label", complete=True, many=False) is None
    numbers = Counter(dict.fromkeys(range(5000), 12))
    assert find_ids(numbers, "label", complete=True, many=False) is None
    few = Counter(dict.fromkeys(range(50), 1))
    assert find_ids(few, "label", complete=True, many=False) is None
    # The first 2,000 rows of 5,000 classes.
    begun = Counter(np.random.default_rng(0).integers(0, 5000, 2000).tolist())
    assert find_ids(begun, "label", complete=False, many=False) is None
    unnamed = find_ids(Counter(range(60)), None, complete=True, many=False)
    assert "such as 0, 1 and 2: they seem to be ids, not classes" in str(unnamed)


# -- headers and spellings ---------------------------------------------------------------------


@pytest.mark.parametrize("command", ["train", "tune"])
def test_a_header_in_the_middle_of_a_file_became_a_class_without_a_word(command, run):
    Path("a.csv").write_text("text,label\n" + "hi,ham\nwin,spam\n" * 4)
    Path("both.csv").write_text(Path("a.csv").read_text() * 2)
    options = ("-o", "m") if command == "train" else ("--rule", "pa", "--passes", "1")
    code, _, err = run(command, "both.csv", "-q", *options)
    assert code == 0
    assert err == (
        "sureline: both.csv, row 9 repeats the header and is learned as a text of the class "
        "'label'; remove such lines\n"
    )


def test_a_header_among_numbers_is_named(run):
    rows = "".join(f"{'word ' * 100}{i},{i % 2}\n" for i in range(3000))
    Path("both.csv").write_text(f"text,label\n{rows}text,label\n{rows}")
    code, _, err = run("train", "both.csv", "-o", "m", "-q")
    assert code == 2
    assert err == (
        "sureline: both.csv, line 3002: the label 'label' is not a whole number, as the labels "
        "before it are; remove the line if it repeats the header\n"
    )


def test_a_text_that_is_called_as_the_column_is_no_header(run):
    Path("a.csv").write_text("text,label\n" + "text,ham\nlabel,label\nwin,spam\n" * 4)
    assert run("train", "a.csv", "-o", "m", "-q")[2] == ""


@pytest.mark.parametrize("options", [(), ("--no-shuffle",)])
def test_labels_that_differ_in_case_or_spaces_were_kept_apart_without_a_word(options, run):
    labels = ["spam", "Spam", "ham", "ham", "spam", '"spam "', "free mail", "FreeMail"]
    write("rows.csv", labels)
    code, out, err = run("train", "rows.csv", "-o", "m", "-q", *options)
    assert code == 0
    assert "classes   6: FreeMail, Spam, free mail, ham, spam, 'spam '\n" in out
    assert err == (
        "sureline: labels that differ only in case or spaces are learned as different classes, "
        "here with the number of rows: 'spam' (2), 'Spam' (1), 'spam ' (1); 'free mail' (1), "
        "'FreeMail' (1); make them equal if they mean the same\n"
    )


def test_many_spellings_are_counted():
    counts = Counter(f"{name}{i}" for i in range(5) for name in ("A", "a"))
    assert "and 2 more such groups" in str(find_spellings(counts))
    assert find_spellings(Counter([1, 2, 3])) is None


def test_labels_in_errors_are_quoted(run):
    write("rows.csv", ["spam", "ham"] * 4)
    run("train", "rows.csv", "-o", "m", "-q")
    code, _, err = run("explain", "m", "free", "--label", "Spam")
    assert (code, err) == (2, "sureline: the model has no class 'Spam'; it has 'ham', 'spam'\n")
    assert [show_label(each) for each in ("", "a b", "a  b", 0.5)] == ["''", "a b", "'a  b'", "0.5"]
