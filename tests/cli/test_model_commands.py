"""``sureline predict``, ``evaluate``, ``explain``, ``inspect``, ``merge``: their whole output."""

import csv
import io
import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
from cases import slow
from cli_runs import COLUMNS, MAIL, command
from rich.console import Console
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
)

from sureline import BoxClassifier, TextClassifier, load
from sureline.cli.explain.render import render
from sureline.cli.explain.results import Piece, cut_into_pieces, find_reasons
from sureline.evaluation.metrics import Evaluator
from sureline.model.explanation import Contribution
from sureline.model.file import read, write

pytest_plugins = ["cli_fixtures"]

TEXTS = [row[0] for row in csv.reader(io.StringIO(MAIL))][1:]
LABELS = [row[1] for row in csv.reader(io.StringIO(MAIL))][1:]


@pytest.fixture
def numbers(folder, run) -> str:
    """A model of svmlight rows."""
    Path("rows.svm").write_text("1 3:1 5:2\n0 4:1\n1 3:0.5 9:1\n0 4:1 9:1\n" * 4)
    assert run("train", "rows.svm", "-o", "rows.sureline", "-q", "--seed", "1")[0] == 0
    return "rows.sureline"


@pytest.fixture(params=[2, 3])
def box(folder, request) -> str:
    """A box classifier of so many classes, and its rows as ``box.svm``."""
    rng = np.random.default_rng(request.param)
    X = rng.standard_normal((60, 5))
    y = np.argmax(X @ rng.standard_normal((5, request.param)), axis=1)
    dump_svmlight_file(X, y, "box.svm")
    BoxClassifier(C=1e-3, D=1e-2, random_state=0).fit(X, y).save("box.sureline")
    return "box.sureline"


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
    out = run("predict", model, "mail.csv", "--min-confidence", "0.93")[1]
    kept = [row["label"] for row in csv.DictReader(io.StringIO(out))]
    expected = [row["label"] if float(row["probability"]) >= 0.93 else "" for row in rows]
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
        (
            ["mail.sureline"],
            "name files of texts to classify, - for stdin, or give a text by --string",
        ),
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
log loss     0.1502
Brier score  0.0217
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
    assert "unknown      1 row has a label that the model does not know: 'eggs' (1)\n" in out
    assert "  eggs     0.0000  0.0000  0.0000     1\n" in out
    assert json.loads(run("evaluate", model, "more.csv", "--json")[1])["unknown"] == {"eggs": 1}


def test_evaluate_did_not_say_that_the_report_was_written(model, run):
    code, out, err = run("evaluate", model, "mail.csv", "--report", "page.html")
    assert (code, err) == (0, "")
    assert "report       page.html (SIZE)\n" in out
    told = json.loads(run("evaluate", model, "mail.csv", "--report", "page.html", "--json")[1])
    assert told["report"] == "page.html"
    assert "report" not in json.loads(run("evaluate", model, "mail.csv", "--json")[1])


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
    briers = [brier_score_loss(truth == names[k], chance[:, k]) for k in range(classes)]
    assert facts.brier == pytest.approx(sum(briers) / (2 if classes == 2 else 1))
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


@pytest.mark.parametrize("unbuffered", ["1", *slow("")])
def test_a_disk_that_fills_up_is_not_ignored(unbuffered, model, folder):
    """Unbuffered output used to lose what the system did not take, and to exit with 0."""
    resource = pytest.importorskip("resource", reason="this system has no limits on files")
    Path("many.csv").write_text("message\n" + "free lunch now\n" * 5000)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

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


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop processes")
def test_a_stopped_prediction_lost_what_a_pipe_had_not_taken(model, folder):
    """A write into a full pipe that Ctrl-Z interrupts takes a part only, after `fg`."""
    Path("many.csv").write_text("message\n" + "free lunch now\n" * 20_000)
    process = subprocess.Popen(
        command("predict", model, "many.csv", "--text", "message", "-q"),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    lines = 0
    with process:
        while block := os.read(process.stdout.fileno(), 20_000):
            lines += block.count(b"\n")
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
    assert (process.returncode, lines) == (0, 20_001)


# -- explain -----------------------------------------------------------------------------------


def test_the_page_of_an_explanation(model, run):
    assert run("explain", model, "claim your free lunch now", "--top", "4") == (
        0,
        """\
label        spam
probability  65.2%
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
        "label        ham\npredicted    spam\nprobability  34.8%\nscore        -0.177 ± 1.344\n"
    )
    assert run("explain", model, "x", "--label", "eggs") == (
        2,
        "",
        "sureline: the model has no class 'eggs'; it has 'ham', 'spam'\n",
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
    sure = ("--set", "r=0.1", "--weighting", "none", "-q", "--passes", "1")
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


def test_mistakes_on_texts_seen_before_passed_for_mistakes_on_new_ones(folder, run):
    train = ["train", "mail.csv", *COLUMNS, "-o", "mail.sureline", "-q", "--passes"]
    for passes, again in (("1", False), ("3", True)):
        assert run(*train, passes)[0] == 0
        shown = run("inspect", "mail.sureline")[1]
        assert "before they were learned" in shown
        assert ("only those of the first pass were new" in " ".join(shown.split())) is again
        assert run("evaluate", "mail.sureline", "mail.csv", "--report", "page.html")[0] == 0
        page = Path("page.html").read_text("utf-8")
        assert ("over 3 passes, of which only the first saw new examples" in page) is again


def test_everything_in_a_model_for_machines(model, run):
    told = json.loads(run("inspect", model, "--json", "--verify", "--top", "2")[1])
    loaded = load(model)
    expected = {
        "file": model,
        "bytes": Path(model).stat().st_size,
        "format": 2,
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
        "compact": False,
        "columns": {"text": "message", "label": "kind"},
        "checkpoint": None,
    }
    assert {name: told[name] for name in expected} == expected
    assert (told["parameters"]["r"], told["texts"]["ngrams"]) == ("auto", [1, 2])
    # A text classifier decides about passes and their order, not the one inside it.
    assert told["parameters"].keys() == loaded.estimator_.get_params().keys() - {
        *("max_iter", "shuffle", "random_state", "drift", "class_storage"),
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
    kept = ("--checkpoint", "c", "--every", "3", "-q", "--passes", "1")
    assert run("train", "mail.csv", *COLUMNS, "-o", "m", *kept)[0] == 0
    out = run("inspect", "c")[1]
    assert (
        "Checkpoint of a run\n  position  after 6 examples: 6 rows of pass 1\n"
        "  inputs    mail.csv (SIZE)\n" in out
    )


# -- merge -------------------------------------------------------------------------------------


def test_models_are_merged(model, run):
    Path("more.csv").write_text("message,kind\nyour invoice,bill\nfree invoice,spam\n")
    options = ("-o", "more.sureline", "-q", "--passes", "1")
    assert run("train", "more.csv", *COLUMNS, *options)[0] == 0
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


# -- memory ------------------------------------------------------------------------------------


def test_every_command_that_opens_a_model_has_a_memory_limit(model, run):
    for arguments in (
        ["predict", model, "mail.csv"],
        ["evaluate", model, "mail.csv"],
        ["explain", model, "free"],
        ["inspect", model],
        ["merge", model, model, "-o", "out.sureline"],
        ["train", "mail.csv", "-o", "out.sureline", "--continue", model],
        ["train", "mail.csv", "-o", "out.sureline", "--checkpoint", model, "--resume"],
    ):
        assert run(*arguments, "--memory-limit", "1e-7") == (
            2,
            "",
            f"sureline: {model} cannot be loaded: its model would take 7.75e-07 GB, more than "
            "--memory-limit 1e-07; raise --memory-limit if you trust the file\n",
        )
        assert run(*arguments, "--memory-limit", "0")[1:] == (
            "",
            "sureline: --memory-limit must be a number in (0, inf), got 0\n",
        )


def test_a_command_replaces_the_limit_that_a_file_names(model, run):
    """Neither a low one of training nor the default may keep a model from growing."""
    small = ["train", "mail.csv", *COLUMNS, "-q", "-o", "small.sureline", "--memory-limit", "1e-6"]
    assert run(*small)[0] == 0
    assert json.loads(run("inspect", "small.sureline", "--json")[1])["parameters"][
        "memory_limit_gb"
    ] == pytest.approx(1e-6)
    Path("more.csv").write_text("message,kind\n" + "".join(f"w{i},k{i}\n" for i in range(9)))
    more = ["train", "more.csv", *COLUMNS, "-q", "-o", "out.sureline", "--continue"]
    code, _, err = run(*more, "small.sureline", "--memory-limit", "1e-6")
    assert (code, "more than --memory-limit 1e-06; raise --memory-limit" in err) == (2, True)
    assert run(*more, "small.sureline")[0] == 0
    merge = ["merge", "small.sureline", "out.sureline", "-o", "both.sureline"]
    assert run(*merge)[0] == 0
    assert load("both.sureline").estimator_.memory_limit_gb == 4.0


# -- box classifiers ---------------------------------------------------------------------------


def test_predictions_of_a_box_are_those_of_the_model(box, run):
    code, out, err = run("predict", box, "box.svm", "--proba")
    assert (code, err) == (0, "")
    rows, loaded = list(csv.reader(io.StringIO(out))), load(box)
    X, _ = load_svmlight_file("box.svm", n_features=5, zero_based=True)
    found = np.array(rows[1:], float)
    np.testing.assert_array_equal(found[:, 0], loaded.predict(X))
    np.testing.assert_allclose(found[:, 4:], loaded.predict_proba(X))
    mean, variance = loaded.decision_distribution(X)
    best = loaded.predict(X), np.arange(len(found))
    expected = [np.abs(mean), variance] if mean.ndim == 1 else [mean.T[best], variance.T[best]]
    np.testing.assert_allclose(found[:, 2:4].T, expected)


def test_a_box_is_less_certain_of_unknown_features_however_large_their_numbers(box, run):
    Path("odd.svm").write_text("1:1\n1:1 2000000000:1 2100000000:1\n1:1 5:1 6:1\n")
    out = run("predict", box, "odd.svm")[1]
    known, *odd = np.array([row.split(",") for row in out.split()[1:]], float)
    for each in odd:
        assert each[2] == known[2]
        assert each[3] > known[3]
    np.testing.assert_allclose(odd[0], odd[1])


def test_a_box_is_evaluated_inspected_and_explained(box, run):
    code, out, err = run("evaluate", box, "box.svm", "--json", "--report", "page.html")
    assert (code, err) == (0, "")
    X, y = load_svmlight_file("box.svm", n_features=5, zero_based=True)
    assert json.loads(out)["accuracy"] == load(box).score(X, y)
    assert "box-max" in Path("page.html").read_text(encoding="utf-8")
    code, out, _ = run("inspect", box, "--json")
    found = json.loads(out)
    assert (code, found["rule"], found["features"], found["learned"]) == (0, "box-max", 5, None)
    assert found["parameters"]["regularizer"] == "max"
    code, out, _ = run("inspect", box)
    assert (code, "rule         box-max (BoxClassifier)\n" in out) == (0, True)
    code, out, _ = run("explain", box, "0:1 3:-1", "--json")
    reasons, row = json.loads(out), [[1.0, 0.0, 0.0, -1.0, 0.0]]
    assert (code, reasons["label"]) == (0, load(box).predict(row)[0])
    shares = sum(each["share"] for each in reasons["features"]) + reasons["constant"]
    assert shares == pytest.approx(reasons["score"])
    assert reasons["probability"] == pytest.approx(load(box).predict_proba(row).max())
    assert reasons["deviation"] > 0


def test_what_cannot_be_done_with_a_box_is_said_plainly(box, run):
    assert run("train", "box.svm", "-o", "m.sureline", "--continue", box) == (
        2,
        "",
        "sureline: --continue box.sureline: a BoxClassifier is not trained further by this "
        "command; fit it on all rows in Python, or use partial_fit, which it has with "
        "solver='comid'\n",
    )
    assert run("merge", box, box, "-o", "m.sureline") == (
        2,
        "",
        "sureline: merge takes fitted classifiers that learn online, but model 1 is of class "
        "BoxClassifier; fit one model on all examples instead\n",
    )
    code, _, err = run("predict", box, "mail.csv", *COLUMNS[:2])
    assert (code, "holds texts, but the model takes svmlight rows" in err) == (2, True)


def test_unknown_features_with_large_numbers_take_no_memory(numbers, run):
    Path("odd.svm").write_text("3:1 2147483645:1\n3:1 10:1\n")
    code, out, err = run("predict", numbers, "odd.svm")
    assert (code, err) == (0, "")
    one, other = out.split()[1:]
    assert one == other
    code, out, _ = run("explain", numbers, "3:1 2147483645:1", "--json")
    assert (code, json.loads(out)["features"][-1]["feature"]) == (0, "2147483645")


# -- what files hold, on screens and in spreadsheets ---------------------------------------------

ODD = "\x1b]0;owned\x9b31m\u202eham"  # a terminal would change its title and its colour
SHOWN = r"\x1b]0;owned\x9b31m\u202eham"


@pytest.fixture
def odd(folder, run) -> str:
    """A model of a label, a word and a column with control characters."""
    rows = [{ODD: "win \u202eevil", "kind": "spam"}, {ODD: "lunch", "kind": ODD}] * 4
    Path("odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = "--text", ODD, "--label", "kind"
    assert run("train", "odd.jsonl", "-o", "odd.sureline", "-q", *columns)[0] == 0
    return "odd.sureline"


def test_control_characters_of_files_do_not_reach_the_screen(odd, run):
    Path("bad.jsonl").write_text(json.dumps({ODD: "x", "kind": ODD}) + "\nx\n")
    for arguments in (
        ["inspect", odd],
        ["explain", odd, f"win lunch {ODD}"],
        ["explain", odd, "lunch", "--label", ODD],
        ["explain", odd, "lunch", "--label", f"{ODD}?"],
        ["evaluate", odd, "odd.jsonl"],
        ["evaluate", odd, "bad.jsonl", "--skip-bad"],
        ["predict", odd, "odd.jsonl", "--text", f"{ODD}?"],
        ["train", "odd.jsonl", "-o", "m.sureline", "--text", ODD, "--label", "kind"],
        ["merge", odd, odd, "-o", "m.sureline"],
        ["train", f"{ODD}.csv", "-o", "m.sureline"],
        ["train", "odd.jsonl", "-o", "m.sureline", "--rule", ODD],
    ):
        _, out, err = run(*arguments)
        shown = out + err
        assert not set(shown) & set("\x1b\x9b\u202e"), arguments
        assert SHOWN in "".join(shown.split()), arguments
    colour = render_in_colour(odd)
    assert "\x1b[1;32m" in colour
    assert "\x1b]0" not in colour


def render_in_colour(path: str) -> str:
    """What a terminal is sent to explain a text."""
    run = subprocess.run(
        command("explain", path, f"win lunch {ODD}"),
        env={**os.environ, "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"},
        capture_output=True,
        check=True,
    )
    return run.stdout.decode()


def test_predictions_on_a_terminal_are_escaped_and_in_a_pipe_are_not(odd, run, monkeypatch):
    written = ["predict", odd, "odd.jsonl", "--text", ODD]
    assert ODD in run(*written)[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = run(*written)[1]
    assert SHOWN in out
    assert "\x1b" not in out


def test_formulas_are_written_as_text_on_request(folder, run):
    rows = "text,label,+note\nwin,=cmd|' /C calc'!A0,-1\nlunch,ham,@x\n" * 1
    Path("rows.csv").write_text(rows)
    assert run("train", "rows.csv", "-o", "m.sureline", "-q")[0] == 0
    arguments = ["predict", "m.sureline", "rows.csv", "--keep"]
    plain = list(csv.reader(io.StringIO(run(*arguments)[1])))
    safe = list(csv.reader(io.StringIO(run(*arguments, "--csv-safe")[1])))
    assert plain[0][:4] == ["text", "label", "+note", "predicted_label"]
    assert safe[0][:4] == ["text", "label", "'+note", "predicted_label"]
    assert plain[1][1:4] == ["=cmd|' /C calc'!A0", "-1", "=cmd|' /C calc'!A0"]
    assert safe[1][1:4] == ["'=cmd|' /C calc'!A0", "'-1", "'=cmd|' /C calc'!A0"]
    assert safe[2][1:3] == ["ham", "'@x"]
    assert [row[4:] for row in safe] == [row[4:] for row in plain]  # numbers are left alone
    assert run(*arguments, "--csv-safe", "--json") == (
        2,
        "",
        "sureline: --csv-safe is for CSV, but jsonl is written; leave it out\n",
    )


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
@pytest.mark.parametrize("output", ["csv", "jsonl", "parquet"])
def test_columns_of_views_can_be_kept(kind, output, model, run):
    """Polars writes its strings so; Arrow cannot take rows of them."""
    values = {name: pyarrow.array(["free", "lunch", None], pyarrow.string_view()) for name in "ab"}
    values |= {"message": pyarrow.array(["free", "lunch", "x"], pyarrow.string_view())}
    values |= {"c": values["a"].cast(pyarrow.string()).dictionary_encode()}
    values |= {"d": pyarrow.array([b"free", b"x", None], pyarrow.binary_view())}
    table = pyarrow.table(values)
    if kind == "arrow":
        with pyarrow.ipc.new_file("rows.arrow", table.schema) as out:
            out.write_table(table)
    else:
        try:
            pyarrow.parquet.write_table(table, "rows.parquet")
        except pyarrow.ArrowNotImplementedError:
            pytest.skip("this version of pyarrow writes no views to Parquet")
    written = f"out.{output}"
    assert run("predict", model, f"rows.{kind}", "--keep", "-o", written)[0] == 0
    if output == "parquet":
        found = pyarrow.parquet.read_table(written).to_pylist()
        assert [[row[name] for name in "abc"] for row in found] == [
            ["free"] * 3,
            ["lunch"] * 3,
            [None] * 3,
        ]
    elif output == "csv":
        found = list(csv.DictReader(Path(written).read_text().splitlines()))
        assert [row["a"] for row in found] == ["free", "lunch", ""]


@pytest.mark.parametrize(
    ("tensor", "value", "says"),
    [
        ("table", np.nan, "its tensor 'table' has numbers that are not finite"),
        ("table", -1.0, "it has variances below 0"),
        ("tallies", -1, "its tensor 'tallies' has numbers below 0"),
        ("tokens", -1, "its tensor 'tokens' has numbers below 0"),
    ],
)
def test_numbers_that_no_training_leaves_are_not_an_internal_error(tensor, value, says, model, run):
    opened = read(model)
    tensors = {name: np.array(each) for name, each in opened.tensors.items()}
    signed = {"tallies": np.int32, "tokens": np.int64}  # as in format 1
    tensors[tensor] = tensors[tensor].astype(signed.get(tensor, np.float32))
    tensors[tensor].reshape(-1)[1] = value
    write(model, opened.metadata, tensors)
    for arguments in (["inspect", model], ["explain", model, "free lunch"]):
        assert run(*arguments) == (
            2,
            "",
            f"sureline: {model} cannot be loaded: {says}\n",
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("slot", [0, 1])
def test_weights_that_overflow_are_not_an_internal_error(slot, model, run):
    opened = read(model)
    tensors = {name: np.array(each) for name, each in opened.tensors.items()}
    tensors["table"][:, slot] = 3e38
    write(model, opened.metadata, tensors)
    for arguments in (
        ["inspect", model],
        ["explain", model, "free lunch"],
        ["evaluate", model, "mail.csv", "--report", "page.html"],
    ):
        assert run(*arguments)[0] in (0, 2)


# -- sets of labels and novelty ----------------------------------------------------------------


def test_sets_of_labels_are_lists_in_json_and_json_in_csv(model, run):
    out = run("predict", model, "mail.csv", "--json", "--coverage", "0.5")[1]
    rows = [json.loads(line) for line in out.splitlines()]
    expected = load(model).predict_set(TEXTS, 0.5)
    assert [tuple(row["labels"]) for row in rows] == expected
    out = run("predict", model, "mail.csv", "--coverage", "0.5")[1]
    written = [tuple(json.loads(row["labels"])) for row in csv.DictReader(io.StringIO(out))]
    assert written == expected
    out = run("predict", model, "mail.csv", "--coverage", "0.5", "--per-class", "-o", "o.parquet")
    assert out == (0, "", "")
    found = pyarrow.parquet.read_table("o.parquet").to_pylist()
    texts = TEXTS
    assert [tuple(row["labels"]) for row in found] == load(model).predict_set(texts, 0.5, True)


def test_novelty_is_in_json_lines(model, run):
    out = run("predict", model, "mail.csv", "--json")[1]
    found = [json.loads(line)["novelty"] for line in out.splitlines()]
    expected = [load(model).predict_one(text, details=True).novelty for text in TEXTS]
    assert found == pytest.approx(expected)


def test_sets_of_labels_need_a_share_and_a_calibrated_model(model, run):
    assert run("predict", model, "mail.csv", "--per-class") == (
        2, "", "sureline: --per-class goes with --coverage\n",
    )  # fmt: skip
    assert run("predict", model, "mail.csv", "--coverage", "1") == (
        2, "", "sureline: --coverage is a share between 0 and 1, got 1\n",
    )  # fmt: skip
    assert run("train", "mail.csv", *COLUMNS, "-o", "m", "-q", "--set", "calibration=none")[0] == 0
    code, _, said = run("predict", "m", "mail.csv", "--coverage", "0.9")
    assert code == 2
    assert said.endswith("trained with calibration='online'; m was not\n")


def test_features_of_the_first_of_very_many_classes_are_listed(run, tmp_path):
    """Those of 20,000 classes would fill 40,000 lines."""
    words = [f"w{k % 300}" for k in range(600)]
    path = tmp_path / "many.sureline"
    TextClassifier(max_iter=1, random_state=0).fit(words, words).save(path)
    code, out, _ = run("inspect", str(path), "--json")
    listed = [each["label"] for each in json.loads(out)["top_features"]]
    assert (code, listed) == (0, sorted(set(words))[:20])
