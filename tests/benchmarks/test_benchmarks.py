"""The benchmarks run; what they print is for people, so mostly their tables are looked for."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from sureline import AROWClassifier

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "speed"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
entries = pytest.importorskip("benchmarks.rivals.entries", reason="the benchmarks are not here")
from benchmarks.rivals import page, plain_numpy, run, timing  # noqa: E402
from benchmarks.rivals.contests import CONTESTS  # noqa: E402
from benchmarks.rivals.data import Setting  # noqa: E402


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_every_rule_can_be_measured():
    sizes = ["--rows", "120", "--length", "8", "--bits", "8", "--repeats", "1"]
    command = [sys.executable, str(FOLDER / "run.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("(read-only floor)", "scikit-learn SGD pa1", "arow diagonal-kl", "sop"):
        assert name in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_texts_can_be_measured():
    command = [sys.executable, str(FOLDER / "text.py"), "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("predict on two threads", "learn_one", "load"):
        assert name in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_several_threads_can_be_measured():
    command = [sys.executable, str(FOLDER / "threads.py"), "--repeats", "1", "--passes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("texts, hash, passes: 1", "rows, passes: 1"):
        assert name in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_cost_of_watching_a_stream_can_be_measured():
    command = [sys.executable, str(FOLDER / "drift.py"), "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("partial_fit    auto", "learn_one      half_life=10000", "100 numbers    None"):
        assert name in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_reading_csv_can_be_measured():
    sizes = ["--rows", "600", "--repeats", "1"]
    command = [sys.executable, str(FOLDER / "csv_splitter.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("600 equal rows", "5,574 equal rows", "peculiar files"):
        assert name in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_sizes_of_model_files_can_be_measured():
    command = [sys.executable, str(FOLDER.parent / "size" / "files.py"), "--only", "SMS"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in (
        "| SMS | default | 40,978 |",
        "| SMS | min_count=3 |",
        "| SMS | hash |",
        "waiting",
    ):
        assert name in done.stdout


def entry(name, work, **settings):
    return entries.Entry(name, "works", work, **settings)


def results(*found):
    """A table of rows given as rival, tag, seconds and accuracy."""
    rows = [
        entries.Row(rival, entry(f"{rival} {tag}", int, tag=tag, count=60), seconds, accuracy)
        for rival, tag, seconds, accuracy in found
    ]
    return entries.Results("made up", rows)


def test_runs_take_turns_and_the_best_counts():
    order, times = [], iter([9.0, 5.0, 3.0, 4.0])

    def first():
        order.append("first")
        return entries.Clocked(next(times), "model", {"late": 1.0})

    def second():
        order.append("second")
        return "answer"

    pair = [
        ("sureline", entry("a", first, accuracy=lambda made: float(made == "model"))),
        ("river", entry("b", second, warm=False, accuracy=lambda made: float(made == "answer"))),
    ]
    a, b = timing.measure(pair, 3, lambda told: None)
    assert order == ["first", "first", "second", "first", "second", "first", "second"]
    assert (a.seconds, a.accuracy, a.figures) == (3.0, 1.0, {"late": 1.0})
    assert b.seconds > 0
    assert b.accuracy == 1.0


def test_a_rival_that_fails_is_reported_and_the_others_go_on():
    def fail():
        raise RuntimeError("no more\nmemory")

    broken, well = timing.measure(
        [("river", entry("a", fail)), ("sureline", entry("b", int))], 2, lambda told: None
    )
    assert broken.problem == "failed: RuntimeError: no more memory"
    assert broken.seconds is None
    assert well.seconds is not None
    told = entries.Results("made up", [broken, well])
    cells = page.columns(CONTESTS["learn-one"], told, {"river": "River", "sureline": "sureline"})
    assert cells["seconds"][0] == broken.problem


def test_a_rival_that_is_not_there_or_cannot_prepare_is_a_sentence():
    def refuse(given):
        raise OSError("disk full")

    rivals = {
        "sureline": SimpleNamespace(
            NAME="sureline", missing=str, learn_one=lambda given: [entry("a", int)]
        ),
        "river": SimpleNamespace(NAME="River", missing=lambda: "It is not here.", learn_one=list),
        "fasttext": SimpleNamespace(NAME="fastText", missing=str, learn_one=refuse),
        "floor": SimpleNamespace(NAME="floor", missing=str),  # does not take part
    }
    task = entries.Task("made up", [])
    found = run.hold(CONTESTS["learn-one"], task, rivals, 1, lambda told: None)
    assert [(row.rival, row.problem) for row in found.rows] == [
        ("sureline", ""),
        ("fasttext", "failed: OSError: disk full"),
    ]
    assert found.absent == ["It is not here."]


def test_a_contest_without_data_is_left_out(tmp_path):
    setting = Setting(tmp_path, tmp_path, None)
    outcome = run.attend(CONTESTS["text"], setting, {}, 1, lambda told: None)
    assert "imdb.parquet was not found" in outcome.left_out
    assert "Left out. imdb.parquet" in page.markdown([outcome], {}, [])


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        ([(0.5, 0.91)], True),
        ([(0.7, 0.91)], False),  # too slow
        ([(0.5, 0.89)], False),  # less accurate than VW at its best
        ([(0.5, 0.89), (0.55, 0.9)], True),  # one run does both
        ([], None),
    ],
)
@pytest.mark.parametrize("bits", [18, 22])
def test_the_goal_on_text_asks_for_speed_and_accuracy_in_one_run(ours, reached, bits):
    tag, other = f"{bits} bits", f"{40 - bits} bits"
    theirs = [(tag, 1.0, 0.88), (tag, 2.0, 0.9), (other, 9.0, 0.99)]
    table = results(
        *(("sureline", tag, *row) for row in ours),
        ("sureline", "usual", 0.1, 0.99),  # something else
        *(("vowpal_wabbit", *row) for row in theirs),
    )
    goal = CONTESTS["text"].goals([table])[bits == 22]
    assert f"2^{bits} columns" in goal.text
    assert goal.reached is reached
    if ours:
        assert f"{0.7 if ours[0][0] == 0.7 else ours[-1][0]:.2f} ×" in goal.measured


def test_the_goals_on_text_cover_the_bare_run_and_the_usual_one():
    rows = [("sureline", "22 bits", 1.0, 0.9), ("sureline", "usual", 2.0, 0.9)]
    table = results(*rows, ("scikit_learn", "", 16.0, 0.9), ("fasttext", "epochs 5", 16.0, 0.9))
    told = CONTESTS["text"].goals([table])[2:]
    assert [goal.reached for goal in told] == [True, False]  # 15 and 30 times
    assert all("16.0 ×" in goal.measured and "8.0 ×" in goal.measured for goal in told)


def test_the_goal_on_sparse_rows_holds_for_every_rule_and_the_faster_floor():
    def table(slowest):
        rows = [("sureline", "arow", 1.0, 0.9), ("sureline", "cw", slowest, 0.9)]
        rows += [("floor", "weights", 0.5, None), ("floor", "pairs", 1.0, None)]
        return results(*rows, ("scikit_learn", "pa1", 1.1, 0.8))

    goals = CONTESTS["sparse"].goals([table(1.05), table(1.05), table(1.2)])
    assert [goal.reached for goal in goals] == [True, True, True, True, False, False]


def test_ratios_divide_by_the_fastest_of_a_rival():
    table = results(("sureline", "", 1.0, 0.9), ("river", "a", 4.0, 0.8), ("river", "b", 2.0, 0.7))
    names = {"sureline": "sureline", "river": "River"}
    cells = page.columns(CONTESTS["learn-one"], table, names)
    assert cells["÷ River's fastest"] == ["0.50", "2.00", "1.00"]
    assert cells["per second"] == ["60", "15", "30"]


def test_numpy_learns_the_same_full_covariance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 7))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1, -1)
    ours = AROWClassifier(
        covariance="full", fit_intercept=False, dtype="float64", max_iter=1, shuffle=False
    ).fit(X, y)
    np.testing.assert_allclose(plain_numpy.learn(X, y), ours.coef_[0], rtol=1e-9)


def test_wrong_arguments_are_a_sentence(capsys, tmp_path):
    for wrong in (["--repeats", "0"], ["--data", str(tmp_path / "none")], ["--only", "chess"]):
        with pytest.raises(SystemExit) as stopped:
            run.main(wrong)
        assert stopped.value.code == 2
        assert wrong[1] in capsys.readouterr().err


@pytest.mark.slow
def test_rivals_can_be_compared(tmp_path):
    rng = np.random.default_rng(0)
    words = {label: [f"{label}{k}" for k in range(20)] for label in ("pos", "neg", "any")}
    labels = rng.permutation(["pos", "neg"] * 120).tolist()
    texts = [
        " ".join([*rng.choice(words[label], 4), *rng.choice(words["any"], 4)]) for label in labels
    ]
    split = ["train"] * 120 + ["test"] * 120
    pa.parquet.write_table(
        pa.table({"split": split, "label": labels, "text": texts}), tmp_path / "imdb.parquet"
    )
    written = tmp_path / "page.md"
    command = [sys.executable, "-m", "benchmarks.rivals.run", "--data", str(tmp_path)]
    command += ["--only", "sparse", "classes", "--rivals", "scikit_learn", "floor"]
    command += ["--repeats", "1", "--rows", "120", "--output", str(written)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("sweep over weights", "SGDClassifier pa1", "AROWClassifier"):
        assert name in done.stdout
    assert "20news-bydate.parquet was not found" in done.stdout
    assert "sparse: " in done.stderr
    text = written.read_text()
    assert "**A trial**" in text
    assert "| 2^18 columns: At most 1.3 × scikit-learn's pa1" in text
    line = next(line for line in text.splitlines() if "| AROWClassifier |" in line)
    assert float(line.split("|")[-2]) > 0.9  # the accuracy: the words give the label


@pytest.mark.slow
def test_speed_of_the_service_can_be_measured():
    script = ROOT / "benchmarks" / "serve" / "run.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of an installation")
    for part, shown in (("learning", "each durable"), ("batches", "ratio"), ("memory", "at most")):
        sizes = ["--rounds", "1", "--seconds", "0.5", "--requests", "100", "--only", part]
        done = subprocess.run(
            [sys.executable, str(script), *sizes], capture_output=True, text=True, check=True
        )
        assert shown in done.stdout
