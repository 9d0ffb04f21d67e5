"""``sureline train``: what it prints, what it writes, and that it learns what Python learns."""

import csv
import gzip
import io
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from cli_runs import COLUMNS, MAIL, command
from shared_data import shared_path
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from sureline import AROWClassifier, PerceptronClassifier, TextClassifier, load
from sureline.cli.screen import message_console
from sureline.data import Reader, shuffle_rows, sms_spam
from sureline.model.file import read

pytest_plugins = ["cli_fixtures"]

TEXTS = [line.rsplit(",", 1)[0].strip('"').replace('""', '"') for line in MAIL.splitlines()[1:]]
LABELS = [line.rsplit(",", 1)[1] for line in MAIL.splitlines()[1:]]

SUMMARY = """\
model     mail.sureline (SIZE)
rule      arow: r = auto, covariance = diagonal-kl
classes   2: ham, spam
features  50
examples  8
seconds   TIME (RATE examples)
error     37.50% just before learning each example
"""
ROWS = """\
    examples classes    features     error     since  changing
           1       2           9   100.00%   100.00%   100.00%
           2       2          13    50.00%     0.00%   100.00%
           4       2          23    75.00%   100.00%   100.00%
           8       2          50    37.50%     0.00%   100.00%
"""


def equal(model, expected) -> None:
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    np.testing.assert_array_equal(model.variance_, expected.variance_)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.n_seen_ == expected.n_seen_
    assert model.n_mistakes_ == expected.n_mistakes_


# -- what is shown -----------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_run_shows_rows_on_stderr_and_the_result_on_stdout(run):
    once = ("--passes", "1")
    assert run("train", "mail.csv", *COLUMNS, "-o", "mail.sureline", *once) == (0, SUMMARY, ROWS)


@pytest.mark.usefixtures("folder")
def test_a_quiet_run_shows_the_result_alone(run):
    options = ("-o", "mail.sureline", "--quiet", "--passes", "1")
    assert run("train", "mail.csv", *COLUMNS, *options) == (0, SUMMARY, "")


@pytest.mark.usefixtures("folder")
def test_the_result_for_machines(run):
    options = ("-o", "m.sureline", "--json", "-q", "--passes", "1")
    code, out, err = run("train", "mail.csv", *COLUMNS, *options)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told.pop("seconds") > 0
    assert told == {
        "model": "m.sureline",
        "bytes": Path("m.sureline").stat().st_size,
        "kind": "texts",
        "rule": "arow",
        "parameters": {"r": "auto", "covariance": "diagonal-kl"},
        "classes": ["ham", "spam"],
        "features": 50,
        "examples": 8,
        "passes": 1,
        "skipped": 0,
        "learned": 8,
        "updates": 8,
        "mistakes": 3,
        "progressive_error": 0.375,
        "changes": 0,
    }


@pytest.mark.usefixtures("folder")
def test_several_passes_and_a_rule_without_parameters(run):
    code, out, _ = run(
        "train", "mail.csv", *COLUMNS, "-o", "m.sureline", "--passes", "3", "--rule", "perceptron"
    )
    assert code == 0
    assert (
        out
        == """\
model     m.sureline (SIZE)
rule      perceptron
classes   2: ham, spam
features  50
examples  24 in 3 passes
seconds   TIME (RATE examples)
error     37.50% just before learning each example in the first pass
"""
    )
    assert load("m.sureline").n_iter_ == 3
    once = TextClassifier(PerceptronClassifier(average=False), random_state=0).fit(TEXTS, LABELS)
    assert once.n_mistakes_ == 3


@pytest.mark.slow
def test_on_a_terminal_there_is_a_live_line(folder):
    """Stderr is a terminal of its own, stdout is not."""
    theirs, ours = os.openpty()
    with subprocess.Popen(
        command("train", "mail.csv", *COLUMNS, "-o", "m.sureline", "--passes", "1000"),
        stdout=subprocess.PIPE,
        stderr=ours,
        cwd=folder,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
        text=True,
    ) as process:
        os.close(ours)
        shown = b""
        while True:
            try:
                part = os.read(theirs, 2**16)
            except OSError:  # Linux says so when nobody holds the other end any more
                break
            if not part:
                break
            shown += part
        os.close(theirs)
        assert process.stdout is not None
        out = process.stdout.read()
        assert process.wait() == 0
    assert out.startswith("model     m.sureline (")
    assert "examples  8,000 in 1000 passes\n" in out
    assert b"/s" in shown
    assert b"error " in shown
    assert b"changing " in shown
    assert b"examples classes" not in shown


def test_stderr_of_a_test_is_no_terminal():
    assert not message_console().is_terminal


# -- the same as Python ------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_file_in_order_is_learned_as_partial_fit_and_fit_learn_it(run):
    order = ("--no-shuffle", "-o", "m.sureline", "-q")
    assert run("train", "mail.csv", *COLUMNS, *order)[0] == 0
    equal(load("m.sureline"), TextClassifier().partial_fit(TEXTS, LABELS))
    assert run("train", "mail.csv", *COLUMNS, *order, "--classes", "spam,ham")[0] == 0
    made = load("m.sureline")
    equal(made, TextClassifier(shuffle=False).fit(TEXTS, LABELS))
    parts = TextClassifier().partial_fit(TEXTS[:3], LABELS[:3], classes=["ham", "spam"])
    equal(made, parts.partial_fit(TEXTS[3:], LABELS[3:]))


@pytest.mark.usefixtures("folder")
def test_the_model_is_built_and_checked_once(run, monkeypatch):
    built, begin = list[TextClassifier](), TextClassifier.begin
    monkeypatch.setattr(TextClassifier, "begin", lambda self: built.append(self) or begin(self))
    options = ("-o", "m.sureline", "-q", "--passes", "1")
    assert run("train", "mail.csv", *COLUMNS, *options)[0] == 0
    assert len(built) == 1


def same_file(made: str, expected: TextClassifier) -> None:
    """Every tensor of a model file, and what counts learning, is that of the other model."""
    expected.save("expected.sureline")
    ours, theirs = read(made), read("expected.sureline")
    assert ours.tensors.keys() == theirs.tensors.keys()
    assert {"table", "names"} <= ours.tensors.keys()
    for name, tensor in theirs.tensors.items():
        assert ours.tensors[name].dtype == tensor.dtype, name
        np.testing.assert_array_equal(ours.tensors[name], tensor, name)
    loaded = load(made)
    equal(loaded, expected)
    assert loaded.n_updates_ == expected.n_updates_
    assert loaded.n_iter_ == expected.n_iter_
    assert loaded.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


def five_classes() -> tuple[list[str], list[str]]:
    """Rows of five labels, sorted by label from the last to the first."""
    rng = np.random.RandomState(1)
    labels = [label for label in "edcba" for _ in range(12)]
    texts = [
        " ".join(f"w{word}" for word in rng.randint(8 * ord(label), 8 * ord(label) + 20, 5))
        for label in labels
    ]
    return texts, labels


def write_rows(file: str, texts: list[str], labels: list[str]) -> None:
    table = pa.table({"text": texts, "label": labels})
    if file.endswith(".parquet"):
        pyarrow.parquet.write_table(table, file)
    else:
        pyarrow.csv.write_csv(table, file)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("file", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize("rows", [(TEXTS, LABELS), five_classes()], ids=["two", "five"])
@pytest.mark.parametrize("passes", [1, 2])
def test_mixed_rows_are_learned_as_fit_learns_them(run, file, rows, passes):
    write_rows(file, *rows)
    options = ("--seed", "3", "--passes", str(passes), "-o", "m.sureline", "-q")
    assert run("train", file, *options)[0] == 0
    expected = TextClassifier(random_state=3, max_iter=passes).fit(*rows)
    same_file("m.sureline", expected)
    made = load("m.sureline")
    assert made.get_params() == expected.get_params() | {
        key: value for key, value in made.get_params().items() if key.startswith("estimator")
    }
    whole = Path("m.sureline").read_bytes()
    named = ",".join(expected.classes_)
    assert run("train", file, *options, "--classes", named)[0] == 0
    assert Path("m.sureline").read_bytes() == whole


@pytest.mark.usefixtures("folder")
def test_a_label_without_weight_is_known_as_fit_knows_it(run):
    Path("rows.csv").write_text("text,label,w\na b,x,0.5\nc d,y,2\na c,z,0\nb e,x,1\n")
    assert run("train", "rows.csv", "--weight", "w", "-o", "m.sureline", "-q")[0] == 0
    texts, labels = ["a b", "c d", "a c", "b e"], ["x", "y", "z", "x"]
    weights = [0.5, 2.0, 0.0, 1.0]
    same_file(
        "m.sureline", TextClassifier(random_state=0).fit(texts, labels, sample_weight=weights)
    )


@pytest.mark.usefixtures("folder")
def test_a_buffer_smaller_than_the_input_knows_the_labels_it_has_seen(run):
    """The third label comes when half of the rows have been learned."""
    size = 2**18  # of a row: four make what is read at once
    texts = [f"{['win', 'lose', 'draw'][k % 3]} {k} " + "x" * size for k in range(12)]
    texts += [f"late {k}" for k in range(4)]
    labels = [*"babbababbaab", *"cccc"]
    write_rows("rows.csv", texts, labels)
    options = ("--seed", "2", "--buffer", "1", "--label-type", "text")
    code, _, err = run("train", "rows.csv", *options, "-o", "m.sureline")
    assert code == 0
    shown = [line.split()[:2] for line in err.splitlines()[1:]]
    assert shown[0] == ["1", "2"]
    assert shown[-1] == ["16", "3"]
    reader = Reader("rows.csv", label_type="text")
    mixed = list(shuffle_rows(reader, np.random.RandomState(2), 2**20))
    order = [text for batch in mixed for text in batch.text.to_pylist()]
    theirs = [label for batch in mixed for label in batch.label.to_pylist()]
    assert sorted(order) == sorted(texts)
    assert theirs != labels
    for classes, same in ((["a", "b"], True), (["a", "b", "c"], False)):
        expected = TextClassifier(random_state=2).partial_fit(order, theirs, classes=classes)
        made = load("m.sureline")
        assert made.classes_.tolist() == ["a", "b", "c"]
        assert np.array_equal(made.coef_, expected.coef_) == same
    equal(made, TextClassifier().partial_fit(order, theirs, classes=["a", "b"]))


def write_every_format(texts: list[str], labels: list[str]) -> dict[str, str]:
    """The rows in every format; words alone, so that each format carries them."""
    table = pa.table({"text": texts, "label": labels})
    pairs = list(zip(texts, labels, strict=True))
    written = {
        "csv": "text,label\n" + "".join(f"{text},{label}\n" for text, label in pairs),
        "tsv": "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in pairs),
        "jsonl": "".join(json.dumps({"text": t, "label": label}) + "\n" for t, label in pairs),
        "fasttext": "".join(f"__label__{label} {text}\n" for text, label in pairs),
        "vw": "".join(f"{label} | {text}\n" for text, label in pairs),
    }
    for ending, content in written.items():
        Path(f"rows.{ending}").write_text(content, encoding="utf-8")
    pyarrow.parquet.write_table(table, "rows.parquet")
    pyarrow.feather.write_feather(table, "rows.arrow", compression="uncompressed")
    Path("rows.csv.gz").write_bytes(gzip.compress(written["csv"].encode()))
    return {ending: f"rows.{ending}" for ending in [*written, "parquet", "arrow", "csv.gz"]}


@pytest.mark.usefixtures("folder")
def test_every_format_gives_the_very_same_model(run):
    words = ["win free prize now", "lunch noon", "free money", "see you", "claim it", "still on"]
    labels = ["1", "0", "1", "2", "1", "0"]
    files = write_every_format(words, labels)
    expected = TextClassifier(shuffle=False).fit(words, labels)
    for ending, file in files.items():
        for more in ((), ("--checkpoint", "c.sureline", "--every", "2")):
            options = ("--no-shuffle", "--classes", "0,1,2", "--label-type", "text", "-q", *more)
            assert run("train", file, "-o", f"{ending}.sureline", *options)[0] == 0, file
            equal(load(f"{ending}.sureline"), expected)


class Piped:
    """A stdin that holds some text."""

    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("passes", ["1", "2"])
def test_stdin_is_a_file_like_any_other(passes, run, monkeypatch):
    options = (*COLUMNS, "-q", "--passes", passes)
    assert run("train", "mail.csv", "-o", "m.sureline", *options)[0] == 0
    monkeypatch.setattr("sys.stdin", Piped(MAIL))
    assert run("train", "-", "-o", "piped.sureline", *options)[0] == 0
    assert Path("m.sureline").read_bytes() == Path("piped.sureline").read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_true_pipe_can_be_learned_from():
    done = subprocess.run(
        command("train", "-", *COLUMNS, "-o", "m.sureline", "--json", "-q", "--passes", "1"),
        input=MAIL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["examples"] == 8


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("classes", [2, 3])
def test_svmlight_is_learned_as_partial_fit_learns_it(run, classes):
    rng = np.random.RandomState(0)
    X, y = rng.poisson(0.3, (80, 30)).astype(float), rng.randint(0, classes, 80)
    dump_svmlight_file(X, y, "rows.svm")
    options = ("--no-shuffle", "-q", "--set", "r=0.5", "-o", "m.sureline")
    assert run("train", "rows.svm", *options)[0] == 0
    X, y = load_svmlight_file("rows.svm", zero_based=True)
    made = load("m.sureline")
    equal(made, AROWClassifier(r=0.5).partial_fit(X, y.astype(int)))
    assert made.n_features_in_ == X.shape[1]
    options = ("--seed", "5", "-q", "--passes", "4")
    assert run("train", "rows.svm", *options, "-o", "m.sureline")[0] == 0
    equal(load("m.sureline"), AROWClassifier(max_iter=4, random_state=5).fit(X, y.astype(int)))


@pytest.mark.usefixtures("folder")
def test_options_reach_the_model(run):
    Path("stop.txt").write_text("a\nthe\n\n")
    options = (
        *("--ngrams", "1,1", "--chars", "3,4", "--char-scope", "text", "--no-lowercase"),
        *("--counts", "log", "--no-normalize", "--features", "hash", "--bits", "12"),
        *("--stop-words", "stop.txt", "--rule", "scw-ii", "--set", "C=2", "--set", "dtype=float64"),
        *("--set", 'class_weight={"ham": 0.5}', "--seed", "4", "--no-shuffle", "--set"),
        *("min_length=2", "--set", "calibration=none", "--weighting", "idf", "--count-first"),
        *("-o", "m.sureline", "-q"),
    )
    assert run("train", "mail.csv", *COLUMNS, *options)[0] == 0
    made = load("m.sureline")
    expected = {
        "ngrams": (1, 1),
        "chars": (3, 4),
        "char_scope": "text",
        "lowercase": False,
        "counts": "log",
        "normalize": False,
        "features": "hash",
        "bits": 12,
        "stop_words": ["a", "the"],
        "min_length": 2,
        "weighting": "idf",
        "counts_first": True,
        "calibration": None,
        "random_state": 4,
        "shuffle": False,
    }
    assert {name: getattr(made, name) for name in expected} == expected
    online = made.estimator_
    assert (type(online).__name__, online.variant, online.C) == ("SCWClassifier", 2, 2.0)
    assert (online.dtype, online.class_weight) == ("float64", {"ham": 0.5})


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("weighting", ["auto", "idf", "nb", "none"])
def test_the_weighting_is_that_of_python(weighting, run):
    options = ("--weighting", weighting, "--no-shuffle", "-o", "m.sureline", "-q")
    assert run("train", "mail.csv", *COLUMNS, *options)[0] == 0
    given = None if weighting == "none" else weighting
    made = load("m.sureline")
    equal(made, TextClassifier(weighting=given).partial_fit(TEXTS, LABELS))
    assert made.weighting == given


def three_classes() -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(3)
    labels = rng.choice(["b", "a", "c"], 60).tolist()
    own = {"a": 0, "b": 4, "c": 8}
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 9, 6) + own[label]) for label in labels]
    Path("three.csv").write_text(
        "text,label\n" + "".join(f"{t},{y}\n" for t, y in zip(texts, labels, strict=True))
    )
    return texts, labels


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("weighting", ["idf", "nb"])
@pytest.mark.parametrize("passes", [1, 2])
def test_counting_first_is_that_of_python(weighting, passes, run):
    texts, labels = three_classes()
    options = ("--count-first", "--weighting", weighting, "--passes", str(passes))
    told = run("train", "three.csv", *options, "--no-shuffle", "-o", "m.sureline")
    assert told[0] == 0
    assert told[2].startswith("sureline: counted 60 texts; learning them now\n")
    settings = {"weighting": weighting, "max_iter": passes, "shuffle": False}
    expected = TextClassifier(**settings, counts_first=True).fit(texts, labels)
    made = load("m.sureline")
    equal(made, expected)
    rows = made.n_features_ + 1
    tallies = [
        model.model_.state.class_counts[:rows, np.argsort(model.model_.labels)]
        for model in (made, expected)
    ]
    np.testing.assert_array_equal(*tallies)
    assert made.n_seen_ == 60 * passes
    assert not np.array_equal(made.coef_, TextClassifier(**settings).fit(texts, labels).coef_)


@pytest.mark.usefixtures("folder")
def test_several_jobs_count_first_once(run):
    texts, labels = three_classes()
    options = ("--count-first", "--jobs", "2", "--passes", "2", "-q", "-o", "m.sureline")
    assert run("train", "three.csv", *options)[0] == 0
    made = load("m.sureline")
    assert made.model_.state.class_counts[0, : made.model_.state.used].sum() == 60
    assert made.score(texts, labels) > 0.9


def test_a_model_trained_further_can_count_first(model, run):
    Path("more.csv").write_text("message,kind\nyour invoice,bill\nfree invoice,spam\n")
    counts = load(model).model_.state.class_counts[0].sum()
    options = ("--continue", model, "-o", "more.sureline", "-q", "--count-first", "--no-shuffle")
    assert run("train", "more.csv", *options)[0] == 0
    made = load("more.sureline")
    assert (made.model_.state.class_counts[0].sum(), made.n_seen_) == (counts + 2, 10)
    assert made.predict_one("your invoice") == "bill"


@pytest.mark.usefixtures("folder")
def test_what_is_read_once_or_is_no_text_cannot_be_counted_first(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MAIL.encode())))
    options = ("--count-first", "-o", "m.sureline", "-q")
    assert run("train", "-", *COLUMNS, *options) == (
        2,
        "",
        "sureline: --count-first reads all rows twice, but a stream can be read only once; save it "
        "to a file, or leave out --count-first\n",
    )
    Path("rows.svm").write_text("1 1:1\n0 2:1\n")
    told = "is about texts, but rows.svm holds svmlight rows; leave it out\n"
    assert run("train", "rows.svm", *options) == (2, "", f"sureline: --count-first {told}")
    weighting = ("--weighting", "idf", "--no-shuffle", "-o", "m.sureline", "-q")
    assert run("train", "rows.svm", *weighting) == (2, "", f"sureline: --weighting {told}")
    assert run("train", "rows.svm", "-o", "m.sureline", "-q")[0] == 0
    more = ("--continue", "m.sureline", "-o", "n.sureline", "-q", "--count-first")
    assert run("train", "rows.svm", *more) == (2, "", f"sureline: --count-first {told}")


@pytest.mark.usefixtures("folder")
def test_calibration_is_of_texts_or_of_numbers(run):
    assert run("train", "mail.csv", *COLUMNS, "-o", "m", "-q", "--set", "calibration=none")[0] == 0
    model = load("m")
    assert (model.calibration, model.estimator_.calibration) == (None, None)
    Path("rows.svm").write_text("1 1:1\n0 2:1\n1 1:1 3:1\n")
    assert run("train", "rows.svm", "-o", "m", "-q", "--set", "calibration=online")[0] == 0
    assert load("m").calibration == "online"
    assert run("train", "rows.svm", "-o", "m", "-q")[0] == 0
    assert load("m").calibration is None


@pytest.mark.usefixtures("folder")
def test_min_count_and_max_features_reach_the_model(run):
    options = ("--min-count", "2", "--max-features", "20", "-o", "m.sureline", "-q")
    assert run("train", "mail.csv", *COLUMNS, *options)[0] == 0
    made = load("m.sureline")
    assert (made.min_count, made.max_features) == (2, 20)
    assert made.n_features_ < 20


@pytest.mark.usefixtures("folder")
def test_class_weights_are_of_the_type_of_the_labels(run):
    Path("rows.csv").write_text("text,label\na b,1\nc d,0\na c,1\n")
    options = ("--set", 'class_weight={"1": 3}', "-o", "m.sureline", "-q")
    assert run("train", "rows.csv", *options)[0] == 0
    assert load("m.sureline").estimator_.class_weight == {1: 3.0}
    assert run("train", "rows.csv", *options, "--label-type", "text")[0] == 0
    assert load("m.sureline").estimator_.class_weight == {"1": 3.0}


@pytest.mark.usefixtures("folder")
def test_a_column_of_weights(run):
    Path("rows.csv").write_text("text,label,w\na b,1,0.5\nc d,0,2\na c,1,0\n")
    assert run("train", "rows.csv", "--weight", "w", "-o", "m.sureline", "--no-shuffle")[0] == 0
    texts, weights = ["a b", "c d", "a c"], [0.5, 2.0, 0.0]
    equal(
        load("m.sureline"),
        TextClassifier().partial_fit(texts, [1, 0, 1], sample_weight=weights),
    )


# -- columns that a model remembers, and training further --------------------------------------


def test_a_compact_model_predicts_and_cannot_be_trained_further(model, run):
    train = ("train", "mail.csv", *COLUMNS, "-o", "small.sureline", "--compact", "-q")
    assert run(*train)[0] == 0
    assert Path("small.sureline").stat().st_size < Path(model).stat().st_size
    labels = [run("predict", each, "mail.csv", "--text", "message")[1] for each in
              (model, "small.sureline")]  # fmt: skip
    first, second = ([row.split(",")[0] for row in each.splitlines()] for each in labels)
    assert first == second
    code, out, err = run("train", "mail.csv", *COLUMNS, "--continue", "small.sureline", "-o", "x")
    assert (code, out) == (2, "")
    assert err == (
        "sureline: --continue small.sureline: the model comes from a compact file and can only "
        "predict; to learn further or to merge, use a file that is not compact\n"
    )
    code, _, err = run("merge", "small.sureline", model, "-o", "x.sureline")
    assert code == 2
    assert "use a file that is not compact" in err
    code, out, _ = run("inspect", "small.sureline", "--top", "3")
    assert code == 0
    assert "compact      it can predict, but neither learn nor be merged" in out
    assert "most certainly" not in out
    code, out, _ = run("explain", "small.sureline", "a free prize")
    assert code == 0
    assert "prize" in out


def test_a_model_remembers_its_columns(model):
    notes = read(model).metadata["notes"]
    assert notes["columns"] == {"text": "message", "label": "kind"}


def test_a_model_remembers_how_its_training_went(model, run):
    curve = read(model).metadata["notes"]["curve"]
    loaded = load(model)
    assert curve[-1] == [loaded.n_seen_, loaded.n_mistakes_]
    assert [seen for seen, _ in curve] == list(range(1, 9))
    assert run("train", "mail.csv", *COLUMNS, "-o", "more", "-q", "--passes", "30")[0] == 0
    seen = [point[0] for point in read("more").metadata["notes"]["curve"]]
    assert seen == [*range(1, 17), *range(18, 33, 2), *range(36, 65, 4), *range(72, 129, 8),
                    *range(144, 241, 16)]  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_a_model_remembers_that_there_was_no_header(run):
    Path("rows.csv").write_text("".join(MAIL.splitlines(keepends=True)[1:]))
    options = ("--no-header", "--text", "0", "--label", "1", "-q", "-o", "m.sureline")
    assert run("train", "rows.csv", *options)[0] == 0
    code, out, err = run("predict", "m.sureline", "rows.csv")
    assert (code, err, out.count("\n")) == (0, "", 9)


def test_a_model_can_be_trained_further(model, run):
    Path("more.csv").write_text("message,kind\nyour invoice,bill\nfree invoice,spam\n")
    code, out, err = run("train", "more.csv", "--continue", model, "-o", model, "--no-shuffle")
    assert (code, out) == (
        0,
        """\
model     mail.sureline (SIZE)
rule      arow: r = auto, covariance = diagonal-kl
classes   3: bill, ham, spam
features  53
examples  2
seconds   TIME (RATE examples)
error     100.00% just before learning each example
""",
    )
    assert (
        err
        == """\
    examples classes    features     error     since  changing
           1       3          52   100.00%   100.00%   100.00%
           2       3          53   100.00%   100.00%   100.00%
"""
    )
    assert run("train", "mail.csv", *COLUMNS, "-o", "m.sureline", "-q", "--passes", "1")[0] == 0
    expected = load("m.sureline").partial_fit(["your invoice", "free invoice"], ["bill", "spam"])
    equal(load(model), expected)


def test_labels_of_a_model_trained_further_are_read_as_its_own(folder, model, run):
    Path("more.csv").write_text("message,kind\nyour invoice,1\nfree invoice,2\n")
    assert run("train", "more.csv", "--continue", model, "-o", "m.sureline", "-q")[0] == 0
    assert load("m.sureline").classes_.tolist() == ["1", "2", "ham", "spam"]


# -- how many passes ---------------------------------------------------------------------------


def test_a_file_a_pipe_two_threads_and_fit_choose_the_same(folder, run):
    texts, labels = sms_spam()
    rows = [*zip(texts[:200], labels[:200], strict=True)]
    with Path("sms.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    expected = TextClassifier(random_state=0).fit(texts[:200], labels[:200])
    assert expected.n_iter_ > 1
    for options in ((), ("--jobs", "2")):
        assert run("train", "sms.csv", "-o", "m.sureline", "-q", *options)[0] == 0
        equal(load("m.sureline"), expected)
    done = subprocess.run(
        command("train", "-", "-o", "m.sureline", "-q"), input=Path("sms.csv").read_bytes()
    )
    assert done.returncode == 0
    equal(load("m.sureline"), expected)


def test_rows_that_do_not_fit_into_the_buffer_or_keep_their_order_are_read_once(folder, run):
    for options in (("--no-shuffle",), ("--buffer", "0.001")):
        rows = Path("mail.csv").read_text(encoding="utf-8")
        Path("long.csv").write_text(rows + 40 * "free prize now,spam\n", encoding="utf-8")
        arguments = ("train", "long.csv", *COLUMNS, "-q", *options)
        assert run(*arguments, "-o", "auto")[0] == 0
        assert run(*arguments, "-o", "one", "--passes", "1")[0] == 0
        assert load("auto").n_iter_ == 1
        equal(load("auto"), load("one"))
        done = subprocess.run(
            command("train", "-", *arguments[2:], "-o", "m.sureline"),
            input=Path("long.csv").read_bytes(),
        )
        assert done.returncode == 0
        equal(load("m.sureline"), load("one"))


def test_rows_of_numbers_are_read_once(folder, run):
    Path("rows.svm").write_text("1 1:1\n0 2:1\n1 1:2 3:1\n0 2:3\n")
    assert run("train", "rows.svm", "-o", "m.sureline", "-q")[0] == 0
    assert (load("m.sureline").n_iter_, load("m.sureline").max_iter) == (1, 1)


def test_balanced_classes_are_balanced_in_the_choice_too(folder, run):
    options = ("--set", "class_weight=balanced", "-q")
    assert run("train", "mail.csv", *COLUMNS, "-o", "m.sureline", *options)[0] == 0
    assert load("m.sureline").n_iter_ >= 1


# -- warnings ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_labels_in_long_runs_are_worth_a_warning_where_rows_are_not_mixed(run):
    rows = [f"word{i % 7} other{i % 5},a" for i in range(200)]
    rows += [f"term{i % 7} other{i % 5},b" for i in range(200)]
    Path("rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    code, _, err = run("train", "rows.csv", "-o", "m.sureline", "-q", "--no-shuffle")
    assert (code, err) == (
        0,
        "sureline: labels come in long runs: 200 consecutive rows have the label 'a', and "
        "one pass over such rows learns little; leave out --no-shuffle, or shuffle the rows "
        "beforehand\n",
    )
    code, _, err = run("train", "rows.csv", "-o", "m.sureline", "-q", "--buffer", "0.005")
    assert code == 0
    assert err.endswith("raise --buffer above 0.00499916 MB, or shuffle the rows beforehand\n")
    assert run("train", "rows.csv", "-o", "m.sureline", "-q")[2] == ""


@pytest.mark.usefixtures("folder")
def test_bad_rows_are_left_out_on_request_and_counted(run):
    Path("bad.csv").write_text(MAIL + "lonely\nfree,spam\n")
    options = ("-o", "m.sureline", "-q", "--skip-bad", "--passes", "1")
    code, out, err = run("train", "bad.csv", *COLUMNS, *options)
    assert code == 0
    assert "examples  9\n" in out
    assert err == (
        "sureline: 1 bad row was left out: bad.csv, line 10: 1 field where the first line has 2\n"
    )


@pytest.mark.usefixtures("folder")
def test_rows_that_are_too_long_are_named_with_the_option_that_allows_them(run):
    Path("long.csv").write_text(MAIL + f"{'free ' * 50},spam\n")
    arguments = ("train", "long.csv", *COLUMNS, "-o", "m.sureline", "-q", "--passes", "1")
    assert run(*arguments)[0] == 0
    assert run(*arguments, "--row-limit", "0.0001") == (
        2,
        "",
        "sureline: long.csv, line 10: the row is longer than 0.0001 MB; look for a quote that is "
        "never closed; raise the limit (--row-limit), or skip bad rows (--skip-bad)\n",
    )
    code, out, err = run(*arguments, "--row-limit", "0.0001", "--skip-bad")
    assert (code, "examples  8\n" in out) == (0, True)
    assert err == (
        "sureline: 1 bad row was left out: long.csv, line 10: the row is longer than 0.0001 MB\n"
    )


# -- errors ------------------------------------------------------------------------------------

HAS = "it has r, covariance, calibration, class_weight, competitors, device, dtype, fit_intercept, "
ERRORS = {
    "no output": (["mail.csv"], "name the file to write the model to, such as -o mail.sureline"),
    "no input": ([], "Missing argument 'FILE'. (see sureline train --help)"),
    "folder as output": (["mail.csv", "-o", "."], "-o . is a folder; give the name of a file"),
    "input as output": (
        ["mail.csv", "-o", "mail.csv"],
        "-o mail.csv is one of the inputs; give another file",
    ),
    "no such file": (["x.csv", "-o", "m"], "there is no file 'x.csv'; check the path"),
    "no match": (["x*.csv", "-o", "m"], "no file matches the pattern 'x*.csv'; check the path"),
    "no such rule": (
        ["mail.csv", "-o", "m", "--rule", "arw"],
        "there is no rule named 'arw'; did you mean arow?",
    ),
    "no such parameter": (
        ["mail.csv", "-o", "m", "--set", "q=1"],
        f"--set q: the rule arow has no such parameter; {HAS}scheme, min_length",
    ),
    "parameter out of range": (
        ["mail.csv", "-o", "m", "--set", "r=0"],
        "r must be a number in (0, inf) or 'auto', got 0.0",
    ),
    "one number": (
        ["mail.csv", "-o", "m", "--ngrams", "2"],
        "--ngrams must be none or two numbers such as 1,2, got '2'",
    ),
    "no such counts": (
        ["mail.csv", "-o", "m", "--counts", "many"],
        "--counts must be binary, counts or log, got 'many'",
    ),
    "no such format": (
        ["mail.csv", "-o", "m", "--format", "xls"],
        "format 'xls' does not exist; it can be csv, tsv, jsonl, parquet, arrow, svmlight, "
        "fasttext, vw, lines",
    ),
    "empty class": (
        ["mail.csv", "-o", "m", "--classes", "a,,b"],
        "--classes takes different labels such as ham,spam, got 'a,,b'",
    ),
    "no stop words": (
        ["mail.csv", "-o", "m", "--stop-words", "x"],
        "--stop-words x cannot be read: No such file or directory",
    ),
    "stop words of another kind": (
        ["mail.csv", "-o", "m", "--stop-words", "latin.txt"],
        "--stop-words latin.txt is not UTF-8 text; convert it first",
    ),
    "no checkpoint to resume": (
        ["mail.csv", "-o", "m", "--resume"],
        "--resume needs --checkpoint PATH, the file to save the run in",
    ),
    "no checkpoint to write": (
        ["mail.csv", "-o", "m", "--every", "5"],
        "--every needs --checkpoint PATH, the file to save the run in",
    ),
    "checkpoint as output": (
        ["mail.csv", "-o", "m", "--checkpoint", "m"],
        "--checkpoint and -o name the same file; give two",
    ),
    "continue what": (["mail.csv", "-o", "m", "--continue", "x"], "x does not exist"),
    "continue with another rule": (
        ["mail.csv", "-o", "m", "--continue", "x", "--rule", "pa"],
        "--rule cannot be combined with --continue: the model keeps its rule and its features; "
        "leave it out, or train a new model",
    ),
    "continue with other features": (
        ["mail.csv", "-o", "m", "--continue", "x", "--bits", "4"],
        "--bits cannot be combined with --continue: the model keeps its rule and its features; "
        "leave it out, or train a new model",
    ),
    "empty file": (["empty.csv", "-o", "m"], "no rows in empty.csv; give a file that has some"),
    "bad row": (
        ["bad.csv", "-o", "m"],
        "bad.csv, line 3: 1 field where the first line has 2; fix the line, or skip bad rows "
        "(--skip-bad)",
    ),
    "one label": (
        ["one.csv", "-o", "m", "-q"],
        "all 2 rows have the label 'a'; give rows of two or more classes (or check --label)",
    ),
    "no weight": (
        ["weights.csv", "-o", "m", "-q", "--weight", "w"],
        "no row has a weight above 0, so nothing was learned",
    ),
    "fractions": (
        ["fractions.jsonl", "-o", "m", "-q", "--no-shuffle"],
        "fractions.jsonl: the label 1.5 is a number with a fraction, not a class; give classes, or "
        "read labels as text (--label-type text)",
    ),
    "texts among numbers": (
        ["rows.svm", "-o", "m", "-q", "--ngrams", "1,1"],
        "--ngrams is about texts, but shuffled rows holds svmlight rows; leave it out",
    ),
}


@pytest.fixture
def _wrong(folder):
    Path("empty.csv").write_text("")
    Path("bad.csv").write_text("text,label\nhi,a\nho\n")
    Path("one.csv").write_text("text,label\nhi,a\nho,a\n")
    Path("weights.csv").write_text("text,label,w\nhi,a,0\nho,b,0\n")
    Path("fractions.jsonl").write_text('{"text": "a", "label": 1.5}\n')
    Path("rows.svm").write_text("1 3:1\n0 4:1\n")
    Path("latin.txt").write_bytes(b"caf\xe9\n")


@pytest.mark.usefixtures("_wrong")
@pytest.mark.parametrize("name", ERRORS)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(name, run):
    arguments, sentence = ERRORS[name]
    before = sorted(Path().iterdir())
    assert run("train", *arguments) == (2, "", f"sureline: {sentence}\n")
    assert sorted(Path().iterdir()) == before
    assert Path("mail.csv").read_text() == MAIL


@pytest.mark.usefixtures("folder")
def test_a_missing_column_is_answered_by_those_there_are(run):
    code, out, err = run("train", "mail.csv", "-o", "m")
    assert (code, out) == (2, "")
    assert err.startswith("sureline: mail.csv has no column 'text'; its columns are 'message', ")
    assert "--text" in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_folder_that_is_not_there_is_noticed_before_any_work(run, tmp_path):
    assert run("train", "no.csv", "-o", "nowhere/m.sureline") == (
        2,
        "",
        f"sureline: -o nowhere/m.sureline: there is no folder {tmp_path}/nowhere; make it first\n",
    )


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_write_protected_is_noticed_before_any_work(folder, run):
    Path("locked").mkdir(mode=0o500)
    assert run("train", "no.csv", "-o", "locked/m") == (
        2,
        "",
        "sureline: -o locked/m cannot be written: permission denied\n",
    )


@pytest.mark.usefixtures("folder")
def test_a_stream_that_is_to_be_read_twice_must_fit_into_memory(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", Piped(MAIL + "a,b\n" * 100))
    options = ("--passes", "2", "--buffer", "0.001")
    assert run("train", "-", *COLUMNS, "-o", "m", *options) == (
        2,
        "",
        "sureline: a stream can be read only once, and this one does not fit into 0.001 MB; use "
        "--passes 1, raise --buffer, or save it to a file\n",
    )


def test_a_model_of_texts_cannot_be_trained_further_on_numbers(model, run):
    Path("rows.svm").write_text("1 3:1\n0 4:1\n")
    code, out, err = run("train", "rows.svm", "--continue", model, "-o", "m", "-q")
    assert (code, out) == (2, "")
    assert "holds svmlight rows, but the model takes texts" in err


# -- real data ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="takes hours if nothing is compiled")
def test_one_pass_over_imdb_with_default_settings_is_right_about_nine_in_ten(tmp_path, run):
    table = pyarrow.parquet.read_table(
        shared_path("imdb.parquet"), columns=["split", "label", "text"]
    )
    for split in ("train", "test"):
        part = table.filter(pa.compute.equal(table["split"], split)).drop_columns("split")
        assert part.num_rows == 25_000
        pyarrow.parquet.write_table(part, tmp_path / f"{split}.parquet")
    labels = pyarrow.parquet.read_table(tmp_path / "train.parquet")["label"].to_pylist()
    assert labels == sorted(labels) or labels == sorted(labels, reverse=True)
    made = tmp_path / "imdb.sureline"
    assert run("train", tmp_path / "train.parquet", "-o", made, "-q")[0] == 0
    code, out, _ = run("evaluate", made, tmp_path / "test.parquet", "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] >= 0.90
