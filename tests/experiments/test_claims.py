"""The claims of papers: how verdicts are reached, and reports on multi-class and volume papers."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of an installation", allow_module_level=True)
sys.path.insert(0, str(ROOT))

claims = import_module("experiments.claims")
many = import_module("experiments.crammer2009multiclass.report")
many_contest = import_module("experiments.crammer2009multiclass.contest")
protocol = import_module("experiments.protocol")
summary = import_module("experiments.summary")
tables = import_module("experiments.tables")
tasks = import_module("experiments.tasks")
volume = import_module("experiments.crammer2012volume.report")
volume_contest = import_module("experiments.crammer2012volume.contest")
Cell = import_module("experiments.cells").Cell
Claim = claims.Claim

CLAIMS = [
    Claim("a thing is so", "8 of 9", "5 of 6", "holds"),
    Claim('a "quoted", thing | is so', "", "0 of 6", "does not hold"),
    Claim("a detail", "1.25", "1.50", "in part", headline=False),
]


@pytest.mark.parametrize(
    ("count", "tasks", "share", "verdict"),
    [
        (9, 9, 8 / 9, "holds"),
        (7, 9, 8 / 9, "holds"),  # one task short
        (6, 9, 8 / 9, "in part"),
        (5, 9, 8 / 9, "in part"),
        (4, 9, 8 / 9, "does not hold"),
        (3, 4, 8 / 9, "in part"),  # one of four is too many
        (4, 4, 8 / 9, "holds"),
        (3, 6, 0.9, "does not hold"),
        (0, 0, 0.9, "could not be tested"),
    ],
)
def test_a_share_of_tasks_is_weighed(count, tasks, share, verdict):
    assert claims.weigh(count, tasks, share) == verdict


def test_claims_are_read_as_they_were_written(tmp_path):
    claims.write_claims(tmp_path / "claims.csv", CLAIMS)
    assert claims.read_claims(tmp_path / "claims.csv") == CLAIMS
    assert claims.decide(True) == "holds"
    assert claims.decide(False) == "does not hold"
    assert (
        claims.show_claims(CLAIMS).splitlines()[2]
        == "| a thing is so | 8 of 9 | 5 of 6 | **holds** |"
    )


def test_the_summary_lists_headline_claims_and_what_was_not_run(tmp_path):
    page = tmp_path / "README.md"
    marks = "\n".join(f"<!-- begin {n} -->\n<!-- end {n} -->" for n in ("count", "claims"))
    page.write_text(f"# Title\n\n{marks}\n\nThe end.\n", encoding="utf-8")
    (tmp_path / "dredze2008").mkdir()
    claims.write_claims(tmp_path / "dredze2008" / "claims.csv", CLAIMS)
    summary.write_summary(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "| [dredze2008](dredze2008/README.md) | 1 | 0 | 1 | 0 |" in text
    assert "a thing is so" in text
    assert "a detail" not in text
    assert text.count("Not run yet") == len(summary.PAPERS) - 1
    assert text.endswith("The end.\n")
    summary.write_summary(tmp_path)
    assert page.read_text(encoding="utf-8") == text


# -- the printed figures -----------------------------------------------------------------------


def test_the_printed_tables_are_whole_and_agree_with_each_other():
    paper = tables.read_figures(ROOT / "experiments" / "crammer2009multiclass" / "paper.csv")
    printed = {task for part, task, _ in paper if part == "table1"}
    assert len(printed) == 9
    for task in printed:
        for part, count in (("table1", 4), ("table2", 3), ("table3", 9)):
            assert len([key for key in paper if key[:2] == (part, task)]) == count
        name = "CW k=all sequential"
        assert paper["table2", task, name].value == paper["table3", task, name].value
    lead = [
        paper["table3", task, "CW k=1"].value > paper["table3", task, "CW k=5"].value
        for task in printed
    ]
    assert sum(lead) == paper["text", "all", "k=1 beats k=5"].value == 7


def test_every_learner_of_the_printed_tables_is_run():
    paper = tables.read_figures(ROOT / "experiments" / "crammer2009multiclass" / "paper.csv")
    ours = {learner.title for learner in many_contest.LEARNERS.values()}
    assert {name for part, _, name in paper if part in ("table2", "table3")} <= ours


# -- the multi-class paper ---------------------------------------------------------------------


def record(right, passes=2, curve=(70.0, 80.0)):
    """What a cell finds of a learner that is right about these rows."""
    right = np.asarray(right, bool)
    return {
        "accuracy": 100.0 * float(right.mean()),
        "right": protocol.pack(right),
        "passes": passes,
        "curve": list(curve),
        "setting": {"phi": 1.0},
        "seconds": 0.2,
        "rows": right.size,
        "features": 3,
        "labels": 2,
        "spread": 1.0,
    }


def made_up(better):
    """Results of one task of 100 rows: CW k=1 alone is right about so many rows of 80 to 99."""
    base = np.arange(100) < 80
    names = {name: record(base) for name in many_contest.LEARNERS}
    names["cw-1"] = record(base | ((np.arange(100) >= 80) & (np.arange(100) < 80 + better)))
    return many.sort_out({Cell("enron/a", name): one for name, one in names.items()})


@pytest.mark.parametrize(("better", "level"), [(0, None), (5, None), (6, 0.05), (11, 0.001)])
def test_marks_follow_mcnemars_test(better, level):
    # The exact test of b rows to none has p = 2 / 2^b: 0.0625, 0.03125 and 0.00098.
    figure = many.mark(made_up(better), "enron/a", "cw-1")
    assert figure.level == level
    assert figure.note == ("against all baselines" if level else "")
    assert many.mark(made_up(better), "enron/a", "maxent").level is None


def test_a_mark_may_be_against_online_baselines_only():
    results = made_up(11)
    results.of["enron/a", "svm-joint"] = results.of["enron/a", "cw-1"]
    figure = many.mark(results, "enron/a", "cw-1")
    assert (figure.level, figure.note) == (0.001, "against online baselines")
    assert many.show(figure) == "91.00††"


def test_multi_class_claims_are_decided_by_the_figures():
    def verdict(results, start):
        found = many.list_claims(results, {})
        return next(one.verdict for one in found if one.claim.startswith(start))

    ahead, level = made_up(6), made_up(0)
    assert verdict(ahead, "CW (k = 1, 5 or ∞) is better") == "holds"
    assert verdict(ahead, "k = 5 needs fewer passes") == "does not hold"
    ahead.of["enron/a", "cw-5"]["passes"] = 1
    assert verdict(ahead, "k = 5 needs fewer passes") == "holds"
    table = many.accuracies("table3", many.TABLE_3, {}, many.list_figures(level, ["table3"]), level)
    assert "| Enron A | **80.00** |" in table
    assert "| NYTD | – |" in table


def rows_of_three_labels(size=90):
    """Rows whose features give their label, except every ninth."""
    rng = np.random.default_rng(5)
    y = np.arange(size) % 3
    X = (rng.random((size, 12)) < 0.2).astype(np.float32)
    X[np.arange(size), y] = 1.0
    X[::9] = 0.0
    X[:, 11] = 1.0
    return scipy.sparse.csr_matrix(X), np.array(["a", "b", "c"])[y]


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("name", ["cw-1", "cw-all-exact", "pa-5", "svm-pairs", "svm-joint"])
def test_a_learner_is_compared_in_folds(name):
    X, y = rows_of_three_labels()
    found = many_contest.compare(X, y, many_contest.LEARNERS[name], True, 3, 2, seed=1)
    again = many_contest.compare(X, y, many_contest.LEARNERS[name], True, 3, 2, seed=1)
    right = protocol.unpack(found["right"])
    assert right.size == y.size
    assert found["accuracy"] == pytest.approx(100.0 * right.mean())
    assert found["accuracy"] > 60.0
    assert len(found["curve"]) == (2 if many_contest.LEARNERS[name].online else 1)
    assert {**found, "seconds": 0} == {**again, "seconds": 0}


def test_doubts_count_every_row_once():
    X, y = rows_of_three_labels()
    for name, stages in (("cw-1", 3), ("maxent", 1)):
        found = many_contest.doubt(X, y, many_contest.LEARNERS[name], 3, 3, seed=1)["stages"]
        assert len(found) == stages
        for stage in found:
            assert sum(stage["rows"]) == y.size
            assert stage["error"] == pytest.approx(100.0 * sum(stage["mistakes"]) / y.size)
            assert 0.0 < stage["entropy"] < 1.0
            assert stage["sure_when_wrong"] < stage["sure_when_right"]


# -- the volume paper --------------------------------------------------------------------------


def test_duels_are_counted_over_tasks_pairs_and_draws():
    errors = {"usps/0-1": (1.0, 2.0), "usps/0-2": (3.0, 3.0), "usps/1-2": (5.0, 4.0)}
    found = {
        Cell(task, name, f"draw {draw}"): {
            "runs": [{"noise": 0.3, "error": value, "setting": {}, "passes": None}]
        }
        for task, pair in errors.items()
        for name, value in zip(("bow-m", "svm"), pair, strict=True)
        for draw in (0, 1)
    }
    found[Cell("usps/1-2", "svm", "draw 1")]["runs"][0]["error"] = 6.0
    found[Cell("rcv1/retail", "svm")] = {"missing": "RCV1 cannot be had"}
    base = np.arange(100) < 80
    found[Cell("news/sci", "bow-m")] = record(base) | {"error": 20.0}
    found[Cell("news/sci", "svm")] = record(base & (np.arange(100) >= 8)) | {"error": 28.0}
    results = volume.sort_out(found)
    assert results.duel(0.3, "bow-m", "svm") == (1.5, 1.0, 0.5)
    assert results.means(0.3, "svm") == pytest.approx([3.0, 11.0 / 3.0])
    assert results.duel_on_texts("bow-m", "svm") == (1, 0, 0)
    assert results.sure_on_texts("bow-m", "svm") == (1, 0)
    assert results.sure_on_texts("svm", "bow-m") == (0, 1)
    assert results.missing == ("rcv1/retail",)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("name", sorted(volume_contest.ON_DIGITS))
def test_digits_are_learned_with_wrong_labels_and_judged_on_right_ones(name):
    rng = np.random.default_rng(3)
    y = np.array(["3", "4"])[np.arange(160) % 2]
    X = rng.normal(size=(160, 6)) + np.where(y == "3", 1.5, -1.5)[:, None]
    info = tasks.TaskInfo("usps/3-4", "3 vs 4", "usps.npz", "")
    task = tasks.Task(info, scipy.sparse.csr_matrix(X), y, np.arange(160) >= 100)
    learner = volume_contest.thin(volume_contest.ON_DIGITS[name], 2)
    runs = volume_contest.contend_on_digits(task, learner, 0, seed=0)
    assert [run["noise"] for run in runs] == [0.0, 0.1, 0.2, 0.3]
    assert runs[0]["error"] < 5.0
    assert all(run["setting"] in learner.grid for run in runs)
    other = volume_contest.contend_on_digits(task, learner, 0, seed=0)
    assert [run["error"] for run in other] == [run["error"] for run in runs]


# -- both from end to end ----------------------------------------------------------------------


def run_here(cells, work, results, settings, jobs):
    """What run_cells does, in this process."""
    found = {}
    for cell in cells:
        try:
            found[cell] = work(cell, settings)
        except tasks.MissingData as error:
            found[cell] = {"missing": str(error)}
    return found


@pytest.fixture
def short_run(tmp_path, monkeypatch):
    """Run a paper's quick version on a folder of data, and return the folder of its results."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(tasks, "CACHE", tmp_path / "cache")

    def run(paper, *options):
        module = import_module(f"experiments.{paper}.run")
        monkeypatch.setattr(module, "run_cells", run_here)
        output = tmp_path / "output"
        module.main(["--quick", "--data", str(tmp_path), "--output", str(output), *options])
        return output

    return run


def write_mail(folder):
    """A file of the shape of the Enron folders: three folders of mail of one user."""
    import pyarrow
    import pyarrow.parquet

    words = {"resumes": "candidate resume", "london": "office london", "rice": "course lecture"}
    rows = [
        {
            "user": "kaminski-v",
            "folder": name,
            "raw": f"From: a{k}@b.c\nX-Folder: {name}\n\n{some.split()[k % 2]} w{k % 7} w{k % 5}\n",
        }
        for name, some in words.items()
        for k in range(24)
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "enron-folders.parquet")


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_the_multi_class_paper_is_reported_from_the_data_there_is(tmp_path, short_run, capsys):
    write_mail(tmp_path)
    output = short_run("crammer2009multiclass")
    page = (output / "tables.md").read_text(encoding="utf-8")
    assert "| Enron B | 72 (3,000) |" in page
    assert "| NYTD | – (84.57" not in page.split("## table3")[0]
    assert "| Reuters-21578, four topics | – | – | – | – |" in page  # its file is not there
    figures = tables.read_figures(output / "ours.csv")
    assert figures["table3", "Enron B", "CW k=1"].value > 60.0
    assert figures["figure2", "Enron B", "maxent: entropy"].value > 0.0
    assert (output / "figure2.png").stat().st_size > 10_000
    assert not (output / "figure1.png").exists()  # Amazon is not there either
    verdicts = {one.verdict for one in claims.read_claims(output / "claims.csv")}
    assert verdicts <= {"holds", "in part", "does not hold", "could not be tested"}
    assert "the paper says" in capsys.readouterr().out
    assert figures["table3, one pass", "Enron B", "PA k=1"].value > 30.0
    before = (output / "ours.csv").read_text(encoding="utf-8")
    short_run("crammer2009multiclass", "--table", "figure2")
    assert (output / "ours.csv").read_text(encoding="utf-8") == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_the_volume_paper_is_reported_from_the_data_there_is(tmp_path, short_run):
    rng = np.random.default_rng(7)
    digits = np.arange(300) % 10
    pixels = np.clip(rng.normal(size=(10, 256))[digits] + rng.normal(size=(300, 256)), -1, 1)
    np.savez(
        tmp_path / "usps.npz",
        X_train=pixels[:200],
        y_train=digits[:200],
        X_test=pixels[200:],
        y_test=digits[200:],
    )
    import_module("experiments_work").write_news(tmp_path)
    output = short_run("crammer2012volume")
    page = (output / "tables.md").read_text(encoding="utf-8")
    assert "| Retail (RCV1 cannot be had) | – | – | – | – |" in page
    assert "| Spam B (" in page
    assert "of 1 tasks" in page
    assert "of 3 pairs" in page
    for name in ("figure1.png", "figure2.png"):
        assert (output / name).stat().st_size > 5_000
    figures = tables.read_figures(output / "ours.csv")
    assert figures["figure1", "Retail", "SVM"].value is None
    before = (output / "ours.csv").read_text(encoding="utf-8")
    again = short_run("crammer2012volume", "--table", "figure2")
    assert (again / "ours.csv").read_text(encoding="utf-8") == before


def test_a_paper_without_data_says_so_and_stops_nothing(short_run):
    output = short_run("crammer2012volume")
    rows = claims.read_claims(output / "claims.csv")
    assert {one.verdict for one in rows} == {"could not be tested"}
    assert len(rows) == 13
    page = short_run("crammer2009multiclass") / "tables.md"
    assert "| NYTD | – (10,000) |" in page.read_text(encoding="utf-8")
