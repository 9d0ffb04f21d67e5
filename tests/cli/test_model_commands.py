"""``sureline predict``, ``evaluate``, ``explain``, ``inspect``, ``merge``: their whole output."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from cli_runs import COLUMNS, MAIL, command
from rich.console import Console
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
)

from sureline import load
from sureline.cli.explain.render import render
from sureline.cli.explain.results import Piece, cut_into_pieces, find_reasons
from sureline.evaluation.metrics import Evaluator
from sureline.model.explanation import Contribution
from sureline.model.file import read

pytest_plugins = ["cli_fixtures"]

TEXTS = [row[0] for row in csv.reader(io.StringIO(MAIL))][1:]
LABELS = [row[1] for row in csv.reader(io.StringIO(MAIL))][1:]


@pytest.fixture
def numbers(folder, run) -> str:
    """A model of svmlight rows."""
    Path("rows.svm").write_text("1 3:1 5:2\n0 4:1\n1 3:0.5 9:1\n0 4:1 9:1\n" * 4)
    assert run("train", "rows.svm", "-o", "rows.sureline", "-q", "--seed", "1")[0] == 0
    return "rows.sureline"


# -- predict -----------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(model, run):
    code, out, err = run("predict", model, "mail.csv")
    assert (code, err) == (0, "")
    rows = list(csv.reader(io.StringIO(out)))
    loaded = load(model)
    mean, variance = loaded.decision_distribution(TEXTS)
    assert rows[0] == ["label", "probability", "margin", "variance"]
    assert [row[0] for row in rows[1:]] == loaded.predict(TEXTS).tolist()
    numbers = np.array([row[1:] for row in rows[1:]], float)
    expected = [loaded.predict_proba(TEXTS).max(axis=1), np.abs(mean), variance]
    np.testing.assert_array_equal(numbers.T, expected)


def test_columns_can_be_kept_and_probabilities_added(model, run):
    out = run("predict", model, "mail.csv", "--keep", "--proba")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == [
        *("message", "kind", "label", "probability", "margin", "variance"),
        *("probability_ham", "probability_spam"),
    ]
    assert [row["message"] for row in rows] == TEXTS
    assert [row["kind"] for row in rows] == LABELS
    chances = np.array([[row["probability_ham"], row["probability_spam"]] for row in rows], float)
    np.testing.assert_array_equal(chances, load(model).predict_proba(TEXTS))


def test_a_kept_column_keeps_its_name_and_the_new_one_gives_way(model, run):
    Path("more.csv").write_text("message,label\nfree,x\n")
    header = run("predict", model, "more.csv", "--keep")[1].splitlines()[0]
    assert header == "message,label,predicted_label,probability,margin,variance"


def test_every_output_format_holds_the_same(model, run):
    lines = run("predict", model, "mail.csv", "--json")[1].splitlines()
    rows = [json.loads(line) for line in lines]
    assert run("predict", model, "mail.csv", "--output-format", "jsonl")[1].splitlines() == lines
    for name in ("out.parquet", "out.jsonl", "out.csv"):
        assert run("predict", model, "mail.csv", "-o", name) == (0, "", "")
    assert pyarrow.parquet.read_table("out.parquet").to_pylist() == rows
    assert Path("out.jsonl").read_text().splitlines() == lines
    assert Path("out.csv").read_text() == run("predict", model, "mail.csv")[1]


def test_labels_of_low_confidence_are_left_empty(model, run):
    rows = list(csv.DictReader(io.StringIO(run("predict", model, "mail.csv")[1])))
    out = run("predict", model, "mail.csv", "--min-confidence", "0.95")[1]
    kept = [row["label"] for row in csv.DictReader(io.StringIO(out))]
    expected = [row["label"] if float(row["probability"]) >= 0.95 else "" for row in rows]
    assert kept == expected
    assert "" in kept
    assert set(kept) != {""}


@pytest.mark.usefixtures("folder")
def test_rules_without_variances_leave_columns_empty(run):
    assert run("train", "mail.csv", *COLUMNS, "-o", "m", "-q", "--rule", "pa")[0] == 0
    rows = list(csv.DictReader(io.StringIO(run("predict", "m", "mail.csv")[1])))
    assert {(row["probability"], row["variance"]) for row in rows} == {("", "")}
    for option in (["--proba"], ["--min-confidence", "0.5"]):
        assert run("predict", "m", "mail.csv", *option) == (
            2,
            "",
            f"sureline: {option[0]} needs probabilities, but the rule of m keeps no variances\n",
        )
    assert "log loss" not in run("evaluate", "m", "mail.csv")[1]
    assert "±" not in run("explain", "m", "free lunch")[1]


def test_numbers_are_predicted_as_well(numbers, run):
    code, out, _ = run("predict", numbers, "rows.svm")
    assert (code, [line.split(",")[0] for line in out.splitlines()[1:5]]) == (0, list("1010"))
    assert run("predict", numbers, "rows.svm", "--keep") == (
        2,
        "",
        "sureline: --keep: rows.svm holds svmlight rows, which have no columns\n",
    )


def test_bad_rows_are_left_out_on_request(model, run):
    Path("bad.csv").write_text(MAIL + "a\nb\n")
    code, out, err = run("predict", model, "bad.csv", "--skip-bad")
    assert (code, out.count("\n")) == (0, 9)
    assert err == (
        "sureline: 2 bad rows were left out; the first is bad.csv, line 10: 1 field where the "
        "first line has 2\n"
    )


@pytest.mark.slow
def test_the_reader_of_predictions_may_leave(model):
    Path("many.csv").write_text("message\n" + "free lunch\n" * 50_000)
    with subprocess.Popen(
        command("predict", model, "many.csv"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope", "mail.csv"], "nope does not exist"),
        (
            ["mail.csv", "mail.csv"],
            "mail.csv is not a sureline model: it does not begin as a safetensors file",
        ),
        (["mail.sureline", "nope.csv"], "there is no file 'nope.csv'; check the path"),
        (["mail.sureline"], "Missing argument 'FILE'. (see sureline predict --help)"),
        (
            ["mail.sureline", "mail.csv", "-o", "x.xls"],
            "the name -o x.xls has no known format; end it in .csv, .jsonl or .parquet, or "
            "give --output-format",
        ),
        (
            ["mail.sureline", "mail.csv", "--output-format", "xls"],
            "--output-format must be csv, jsonl or parquet, got 'xls'",
        ),
        (
            ["mail.sureline", "mail.csv", "--json", "--output-format", "csv"],
            "--json writes JSON lines, so --output-format must be jsonl with it",
        ),
        (
            ["mail.sureline", "mail.csv", "-o", "mail.csv"],
            "-o mail.csv is one of the inputs; give another file",
        ),
    ],
)
def test_what_is_wrong_with_a_prediction_is_one_sentence(arguments, sentence, model, run):
    assert run("predict", *arguments) == (2, "", f"sureline: {sentence}\n")
    assert Path("mail.csv").read_text() == MAIL


def test_a_failed_prediction_leaves_no_file(model, run):
    Path("bad.csv").write_text(MAIL + "a\n")
    before = sorted(Path().iterdir())
    code, out, err = run("predict", model, "bad.csv", "-o", "out.csv")
    assert (code, out) == (2, "")
    assert err.startswith("sureline: bad.csv, line 10: 1 field where the first line has 2; ")
    assert sorted(Path().iterdir()) == before


# -- evaluate ----------------------------------------------------------------------------------


def test_the_page_of_an_evaluation(model, run):
    assert run("evaluate", model, "mail.csv") == (
        0,
        """\
accuracy     1.0000 (8 of 8 rows)
error        0.00%; always predicting “spam” gets 50.00% wrong
macro F1     1.0000
micro F1     1.0000
log loss     0.1529
Brier score  0.0232
seconds      TIME (RATE rows)

Classes
        precision  recall      F1  rows
  ham      1.0000  1.0000  1.0000     4
  spam     1.0000  1.0000  1.0000     4

Confusion matrix (rows: true, columns: predicted)
        ham  spam
  ham     4     0
  spam    0     4
""",
        "",
    )


def test_labels_that_the_model_does_not_know_are_errors_and_named(model, run):
    Path("more.csv").write_text(MAIL + "hello,eggs\n")
    code, out, err = run("evaluate", model, "more.csv")
    assert (code, err) == (0, "")
    assert "accuracy     0.8889 (8 of 9 rows)\n" in out
    assert "unknown      1 rows have labels that the model does not know: 'eggs' (1)\n" in out
    assert "  eggs     0.0000  0.0000  0.0000     1\n" in out
    assert json.loads(run("evaluate", model, "more.csv", "--json")[1])["unknown"] == {"eggs": 1}


@pytest.mark.parametrize("classes", [2, 4])
def test_the_figures_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c", "d"][:classes])
    truth, guess = names[rng.integers(0, classes, 90)], names[rng.integers(0, classes, 90)]
    chance = rng.dirichlet(np.ones(classes), 90)
    evaluator = Evaluator(names)
    for part in (slice(0, 40), slice(40, 90)):
        evaluator.add(truth[part].tolist(), guess[part], chance[part])
    facts = evaluator.evaluation(1.0)
    assert facts.accuracy == accuracy_score(truth, guess)
    assert facts.error == 1.0 - facts.accuracy
    assert facts.macro_f1 == pytest.approx(f1_score(truth, guess, average="macro"))
    assert facts.micro_f1 == pytest.approx(f1_score(truth, guess, average="micro"))
    assert facts.log_loss == pytest.approx(log_loss(truth, chance))
    asked = chance[:, 1] if classes == 2 else chance
    second = names[1] if classes == 2 else None
    brier = brier_score_loss(truth, asked, labels=names, pos_label=second)
    assert facts.brier == pytest.approx(brier)
    told = [[each.precision, each.recall, each.f1, each.support] for each in facts.classes]
    expected = np.transpose(precision_recall_fscore_support(truth, guess))
    np.testing.assert_allclose(told, expected)
    square = np.zeros((classes, classes), int)
    for true, predicted, count in facts.confusion:
        square[names.tolist().index(true), names.tolist().index(predicted)] = count
    np.testing.assert_array_equal(square, confusion_matrix(truth, guess))


def test_labels_are_compared_by_value(numbers, run):
    Path("signs.svm").write_text("+1 3:1 5:2\n0.0 4:1\n1.0 3:0.5 9:1\n")
    assert json.loads(run("evaluate", numbers, "signs.svm", "--json")[1])["accuracy"] == 1.0


@pytest.mark.usefixtures("folder")
def test_many_classes_have_their_most_frequent_confusions_listed(run):
    rows = [f"word{k % 12} {'odd' if k % 5 else 'even'},c{k % 12:02}" for k in range(120)]
    Path("rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    assert run("train", "rows.csv", "-o", "m", "-q")[0] == 0
    out = run("evaluate", "m", "rows.csv")[1]
    assert out.endswith("\nMost frequent confusions: none\n")
    rows += ["word0 odd,c01"] * 3 + ["word1 odd,c07"] * 2
    Path("more.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    out = run("evaluate", "m", "more.csv")[1]
    tail = out[out.index("Most frequent confusions") :].splitlines()
    assert [line.split() for line in tail[1:]] == [
        ["true", "predicted", "rows"],
        ["c01", "c00", "3"],
        ["c07", "c01", "2"],
    ]


def test_a_disk_that_fills_up_is_not_ignored(model, folder):
    """Unbuffered output used to lose what the system did not take, and to exit with 0."""
    resource = pytest.importorskip("resource", reason="this system has no limits on files")
    Path("many.csv").write_text("message\n" + "free lunch now\n" * 5000)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    for unbuffered in ("", "1"):
        with Path("out.csv").open("wb") as out:
            done = subprocess.run(
                command("predict", model, "many.csv", "--text", "message", "-q"),
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
                preexec_fn=limit,
            )
        assert (done.returncode, done.stderr) == (2, "sureline: File too large\n")


# -- explain -----------------------------------------------------------------------------------


def test_the_page_of_an_explanation(model, run):
    assert run("explain", model, "claim your free lunch now", "--top", "4") == (
        0,
        """\
label        spam
probability  63.5%
score        +0.177 ± 1.344

The text (*for spam*, _against it_, unsure?)
  *claim*? *your*? *free*? _lunch_? *now*?

feature          share                weight
lunch           -0.269  ░░░░░░░░░░░░  -0.808 ± 1.592
free            +0.177  ░░░░░░░░      +0.531 ± 1.549
now             +0.174  ░░░░░░░░      +0.522 ± 1.567
claim           +0.022  ░             +0.066 ± 1.048
other features  +0.044
constant        +0.030
score           +0.177
""",
        "",
    )


def test_the_score_of_another_class_can_be_explained(model, run):
    out = run("explain", model, "claim your free lunch now", "--label", "ham")[1]
    assert out.startswith(
        "label        ham\npredicted    spam\nprobability  36.5%\nscore        -0.177 ± 1.344\n"
    )
    assert run("explain", model, "x", "--label", "eggs") == (
        2,
        "",
        "sureline: the model has no class 'eggs'; it has ham, spam\n",
    )


def test_an_explanation_for_machines_adds_up(model, run):
    text = "Claim your free lunch NOW, free!"
    told = json.loads(run("explain", model, text, "--json", "--top", "3")[1])
    assert (told["label"], told["predicted"], told["text"]) == ("spam", "spam", text)
    assert "".join(piece["text"] for piece in told["pieces"]) == text
    assert len(told["features"]) == 3
    shares = sum(each["share"] for each in told["features"])
    assert shares + told["rest"] + told["constant"] == pytest.approx(told["score"])
    pieces = sum(piece["share"] for piece in told["pieces"])
    assert pieces + told["unplaced"] + told["constant"] == pytest.approx(told["score"])
    mean, variance = load(model).decision_distribution([text])
    assert told["score"] == pytest.approx(mean[0], rel=1e-5)
    assert told["deviation"] == pytest.approx(variance[0] ** 0.5, rel=1e-5)


@pytest.mark.usefixtures("folder")
def test_words_are_coloured_bold_and_dim(run):
    sure = ("--set", "r=0.1", "--weighting", "none", "-q")
    assert run("train", "mail.csv", *COLUMNS, "-o", "sure.sureline", *sure)[0] == 0
    for label, good, bad in (("spam", 32, 31), ("ham", 31, 32)):
        facts = find_reasons(load("sure.sureline"), "claim your free lunch now", label, 4)
        screen = io.StringIO()
        console = Console(file=screen, width=80, force_terminal=True, color_system="standard")
        console.print(render(facts, coloured=True))
        shown = screen.getvalue()
        assert f"\x1b[1;{bad}mlunch\x1b[0m" in shown
        assert f"\x1b[2;{good}mfree\x1b[0m" in shown
        assert f"\x1b[2;{good}mnow\x1b[0m" in shown


def test_shares_are_split_between_places_and_words():
    features = (
        Contribution("a", 1.0, 0.01, 1.0, 1.0, ((0, 1), (4, 5))),
        Contribution("a b", 0.1, 1.0, 1.0, 4.0, ((0, 3),)),
        Contribution("b", -0.5, 0.01, 1.0, -0.5, ((2, 3),)),
        Contribution("‹a b›", 1.0, 0.01, 1.0, 9.0),
    )
    pieces, placed = cut_into_pieces("a b a", features)
    assert pieces == [
        Piece("a", 2.5, True),
        Piece(" ", 0.0),
        Piece("b", 1.5, True),
        Piece(" ", 0.0),
        Piece("a", 0.5, False),
    ]
    assert placed == pytest.approx(4.5)


def test_a_text_can_come_from_stdin(model, run, monkeypatch):
    expected = run("explain", model, "free lunch\nnow")
    monkeypatch.setattr("sys.stdin", io.StringIO("free lunch\nnow\n"))
    assert run("explain", model, "-") == expected
    assert expected[0] == 0


def test_numbers_are_explained(numbers, run):
    code, out, err = run("explain", numbers, "3:1 9:0.5 77:1", "--json")
    told = json.loads(out)
    assert (code, err, told["label"]) == (0, "", 1)
    shares = {each["feature"]: each["share"] for each in told["features"]}
    loaded = load(numbers)
    assert shares["3"] == pytest.approx(loaded.coef_[0, 3])
    assert shares["9"] == pytest.approx(loaded.coef_[0, 9] / 2)
    assert shares["77"] == 0.0  # nobody knows it
    assert sum(shares.values()) + told["constant"] == pytest.approx(told["score"])
    against = json.loads(run("explain", numbers, "3:1 9:0.5 77:1", "--json", "--label", "0")[1])
    assert against["score"] == -told["score"]
    assert against["probability"] == pytest.approx(1 - told["probability"])
    assert run("explain", numbers, "1 3:1")[0] == 0  # a label before the features
    for wrong in ("3:1 x", "3:1 4:nan", "3:1 -4:1", "3:1 4:"):
        code, out, err = run("explain", numbers, wrong)
        assert (code, out) == (2, "")
        assert "is no feature; the model takes numbers: write index:value" in err
    assert run("explain", numbers, "3:1 3:2")[2] == "sureline: feature 3 was given twice\n"


# -- inspect -----------------------------------------------------------------------------------


def test_explaining_unknown_features_leaves_the_model_as_it_was(numbers):
    loaded = load(numbers)
    before = {**vars(loaded)}
    find_reasons(loaded, "3:1 9:0.5 77:1", None, 10)
    assert vars(loaded).keys() == before.keys()
    assert all(vars(loaded)[name] is value for name, value in before.items())


def test_the_page_of_a_model_of_numbers(numbers, run):
    code, out, err = run("inspect", numbers, "--top", "2")
    assert (code, err) == (0, "")
    head, tail = out.split("Parameters\n")
    assert [line.split("  ")[1] for line in head.splitlines() if line.startswith("  ")] == [
        *("name", "size", "format", "sha256", "learns from", "rule", "classes", "features"),
        *("learned", "updates", "mistakes"),
    ]
    assert "  rule         arow (AROWClassifier)\n" in head
    assert "  learned      16 examples, 1 pass\n" in head
    assert "  r                    1.0\n" in tail
    assert "  n_iter_no_change     2\n" in tail
    tensors = tail[tail.index("Tensors\n") : tail.index("The features that")].splitlines()[2:-1]
    told = {line.split()[0]: (line.split()[1], line.split()[-1]) for line in tensors}
    held = read(numbers).tensors
    assert told == {name: (str(each.dtype), str(each.nbytes)) for name, each in held.items()}
    top = tail[tail.index("The features that most certainly indicate each class") :].splitlines()
    assert top[1].startswith("  0  4 (+")
    assert top[2].startswith("  1  3 (+")


def test_everything_in_a_model_for_machines(model, run):
    told = json.loads(run("inspect", model, "--json", "--verify", "--top", "2")[1])
    loaded = load(model)
    expected = {
        "file": model,
        "bytes": Path(model).stat().st_size,
        "format": 1,
        "verified": True,
        "kind": "texts",
        "estimator": "AROWClassifier",
        "rule": "arow",
        "classes": ["ham", "spam"],
        "features": 50,
        "passes": 1,
        "learned": 8,
        "updates": 8,
        "mistakes": 3,
        "merged": 1,
        "columns": {"text": "message", "label": "kind"},
        "checkpoint": None,
    }
    assert {name: told[name] for name in expected} == expected
    assert (told["parameters"]["r"], told["texts"]["ngrams"]) == ("auto", [1, 2])
    # A text classifier decides about passes and their order, not the one inside it.
    assert told["parameters"].keys() == loaded.estimator_.get_params().keys() - {
        *("max_iter", "shuffle", "random_state"),
        *("early_stopping", "validation_fraction", "n_iter_no_change"),
    }
    assert (told["texts"]["max_iter"], told["texts"]["shuffle"]) == (1, True)
    assert sum(each["bytes"] for each in told["tensors"]) < told["bytes"]
    assert [each["label"] for each in told["top_features"]] == ["ham", "spam"]
    best = loaded.top_features("spam", 2)
    assert [each["feature"] for each in told["top_features"][1]["features"]] == [
        each.feature for each in best
    ]


def test_a_damaged_model_is_told_by_its_checksum(model, run):
    raw = bytearray(Path(model).read_bytes())
    raw[-1] ^= 1
    Path(model).write_bytes(raw)
    assert run("inspect", model)[0] == 0
    code, out, err = run("inspect", model, "--verify")
    assert (code, out) == (2, "")
    assert err.startswith("sureline: mail.sureline ")
    assert "checksum" in err


@pytest.mark.usefixtures("folder")
def test_a_checkpoint_tells_where_it_stands(run):
    kept = ("--checkpoint", "c", "--every", "3", "-q")
    assert run("train", "mail.csv", *COLUMNS, "-o", "m", *kept)[0] == 0
    out = run("inspect", "c")[1]
    assert (
        "Checkpoint of a run\n  position  after 6 examples: 6 rows of pass 1\n"
        "  inputs    mail.csv (SIZE)\n" in out
    )


# -- merge -------------------------------------------------------------------------------------


def test_models_are_merged(model, run):
    Path("more.csv").write_text("message,kind\nyour invoice,bill\nfree invoice,spam\n")
    assert run("train", "more.csv", *COLUMNS, "-o", "more.sureline", "-q")[0] == 0
    assert run("merge", model, "more.sureline", "-o", "all.sureline") == (
        0,
        """\
model     all.sureline (SIZE)
merged    2 models (kl)
rule      arow
classes   3: bill, ham, spam
features  53
examples  10
""",
        "",
    )
    assert run("predict", "all.sureline", "mail.csv")[0] == 0  # it remembers the columns
    assert "merged       from 2 models\n" in run("inspect", "all.sureline")[1]
    told = json.loads(run("merge", model, model, "-o", "m", "--how", "mean", "--json")[1])
    assert (told["how"], told["merged"], told["learned"]) == ("mean", 2, 16)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mail.sureline"], "name the file to write the merged model to: -o MODEL"),
        (
            ["mail.sureline", "-o", "m", "--how", "best"],
            "--how must be kl, mean, product or product-prior, got 'best'",
        ),
        (["mail.sureline", "nope", "-o", "m"], "nope does not exist"),
        (["mail.sureline", "-o", "."], "-o . is a folder; give the name of a file"),
    ],
)
@pytest.mark.usefixtures("model")
def test_what_is_wrong_with_a_merger_is_one_sentence(arguments, sentence, run):
    assert run("merge", *arguments) == (2, "", f"sureline: {sentence}\n")


def test_models_of_different_kinds_are_not_merged(model, numbers, run):
    code, out, err = run("merge", model, numbers, "-o", "m")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "TextClassifier" in err
    assert "AROWClassifier" in err
