"""The claims of papers: how verdicts are reached, and reports on three of the folders."""

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from sureline import BoxClassifier
from sureline.rules.box import problem

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of an installation", allow_module_level=True)
sys.path.insert(0, str(ROOT))

claims = import_module("experiments.claims")
ends = import_module("experiments.ends")
learners = import_module("experiments.learners")
many = import_module("experiments.crammer2009multiclass.report")
many_contest = import_module("experiments.crammer2009multiclass.contest")
protocol = import_module("experiments.protocol")
summary = import_module("experiments.summary")
tables = import_module("experiments.tables")
tasks = import_module("experiments.tasks")
lecture = import_module("experiments.schneider2022.report")
lecture_contest = import_module("experiments.schneider2022.contest")
volume = import_module("experiments.crammer2012volume.report")
volume_contest = import_module("experiments.crammer2012volume.contest")
volume_defaults = import_module("experiments.crammer2012volume.defaults")
volume_steps = import_module("experiments.crammer2012volume.steps")
Cell = import_module("experiments.cells").Cell
Claim = claims.Claim

CLAIMS = [
    Claim("a thing is so", "8 of 9", "5 of 6", "holds"),
    Claim('a "quoted", thing | is so', "", "0 of 6", "does not hold"),
    Claim("a detail", "1.25", "1.50", "in part"),
]
OWN = Claim("another thing", "", "–", "could not be tested")


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
    assert claims.weigh(count, tasks, share, True) == verdict


def test_a_difference_that_no_test_finds_does_not_hold_in_full():
    assert claims.weigh(4, 6, 7 / 9, False) == "in part"
    assert claims.order([7.0, 8.0, 7.5], [8.0, 7.0, 9.0]) == "in part"
    assert claims.order(np.arange(9.0), np.arange(9.0) + 1) == "holds"
    assert claims.order(np.arange(9.0) + 1, np.arange(9.0)) == "does not hold"
    assert claims.order([1.0, 2.0], [1.0, 2.0]) == "does not hold"
    assert claims.order([], []) == "could not be tested"
    assert claims.rank_test([0.0, 0.0]) == 1.0


def test_rows_are_compared_task_by_task():
    base = np.arange(40) < 20
    better = np.arange(40) < 32
    found = claims.compare_rows([(better, base), (base, better), (better, base), (base, base)])
    assert (found.better, found.worse, found.ahead) == (2, 1, True)
    assert str(found) == "significantly (p < 0.05) better on 2, worse on 1"


def test_a_few_runs_are_compared_in_pairs():
    assert claims.paired_test([90.0, 91.0, 90.5, 91.5], [89.0, 90.1, 89.5, 90.4]) < 0.01
    assert claims.paired_test([90.0, 91.0], [91.0, 90.0]) == 1.0
    assert claims.paired_test([90.0], [80.0]) == 1.0
    assert claims.show_p(0.0004) == "p < 0.001"
    assert claims.show_p(0.031) == "p = 0.031"


def test_claims_are_read_as_they_were_written(tmp_path):
    claims.write_claims(tmp_path / "claims.csv", CLAIMS)
    assert claims.read_claims(tmp_path / "claims.csv") == CLAIMS
    assert claims.decide(True) == "holds"
    assert claims.decide(False) == "does not hold"
    assert (
        claims.show_claims(CLAIMS).splitlines()[2]
        == "| a thing is so | 8 of 9 | 5 of 6 | **holds** |"
    )


def test_no_claim_is_left_out_of_the_summary_and_a_shared_one_counts_once(tmp_path):
    page = tmp_path / "README.md"
    marks = "\n".join(f"<!-- begin {n} -->\n<!-- end {n} -->" for n in ("count", "claims"))
    page.write_text(f"# Title\n\n{marks}\n\nThe end.\n", encoding="utf-8")
    for paper, some in (("dredze2008", CLAIMS), ("crammer2012cw", [CLAIMS[1], OWN])):
        (tmp_path / paper).mkdir()
        claims.write_claims(tmp_path / paper / "claims.csv", some)
    summary.write_summary(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "| [dredze2008](dredze2008/README.md) | 1 | 1 | 1 | 0 |" in text
    assert "| [crammer2012cw](crammer2012cw/README.md) | 0 | 0 | 0 | 1 |" in text
    assert "| all | 1 | 1 | 1 | 1 |" in text
    for one in (*CLAIMS, OWN):
        assert text.count(f"| {one.claim} |") == 1
    assert "Without the 1 claims that are listed above already." in text
    assert text.count("Not run yet") == len(summary.PAPERS) - 2
    assert text.endswith("The end.\n")
    summary.write_summary(tmp_path)
    assert page.read_text(encoding="utf-8") == text


def test_the_front_page_counts_every_claim_on_record():
    found = summary.collect()
    page = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    assert set(found) == set(summary.PAPERS)
    assert summary.count(found) in page
    assert summary.list_claims(found) in page
    verdicts = [one.verdict for some in summary.share_out(found).values() for one in some]
    counts = [verdicts.count(verdict) for verdict in summary.VERDICTS]
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    said = f"of {sum(counts)} claims, {counts[0]} hold, {counts[1]} in part, {counts[2]} do not"
    assert said in " ".join(front.split())


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
        "tuning": [1.0] * 12,
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
    ahead.of["enron/a", "cw-5"]["passes"] = 1  # of one task, on which no test can agree
    assert verdict(ahead, "k = 5 needs fewer passes") == "in part"
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
    for name, stages in (("cw-1", 3), ("maxent", 6)):  # passes, priors
        found = many_contest.doubt(X, y, many_contest.LEARNERS[name], 3, 3, seed=1)
        assert len(found["stages"]) == stages
        for stage in found["stages"]:
            assert sum(stage["rows"]) == y.size
            assert stage["error"] == pytest.approx(100.0 * sum(stage["mistakes"]) / y.size)
            assert 0.0 < stage["entropy"] < 1.0
        chosen = found["stages"][found["chosen"]]
        assert chosen["sure_when_wrong"] < chosen["sure_when_right"]
    entropies = [stage["entropy"] for stage in found["stages"]]
    assert entropies == sorted(entropies, reverse=True), "a wider prior gives sharper labels"


def doubts_of(entropy, error, sure=0.5):
    """A stage of Figure 2."""
    return {
        "entropy": entropy,
        "error": error,
        "sure_when_right": sure,
        "sure_when_wrong": sure - 0.1,
        "rows": [0, 100, 100, 100, 100, 100, 100, 100, 100, 200],
        "mistakes": [0, 90, 80, 70, 60, 50, 40, 30, 20, 10],
    }


@pytest.mark.parametrize(
    ("chosen", "verdict"), [(0, "does not hold"), (1, "in part"), (2, "in part")]
)
def test_a_verdict_on_maxent_depends_on_more_than_the_chosen_prior(chosen, verdict):
    stages = [doubts_of(0.6, 24.0), doubts_of(0.2, 26.0), doubts_of(0.1, 28.0)]
    maxent = {
        "stages": stages,
        "chosen": chosen,
        "settings": [{"variance": v} for v in (1, 10, 99)],
    }
    cw = {"stages": [doubts_of(0.8, 27.0), doubts_of(0.4, 25.0)], "chosen": 1, "passes": 2}
    results = many.sort_out({
        Cell("enron/b", "maxent", "doubts"): maxent,
        Cell("enron/b", "cw-1", "doubts"): cw,
    })  # fmt: skip
    [found] = [c for c in many.list_claims(results, {}) if "lower entropy than CW" in c.claim]
    assert found.verdict == verdict
    assert found.ours.endswith("true with the priors 10, 99")


def test_repeated_projection_is_one_sweep_after_another():
    X, y = rows_of_three_labels(30)
    model = many_contest.RepeatedCW(phi=1.0, random_state=0)
    model.partial_fit(X, y, np.unique(y))
    plain = many_contest.make_cw(1.0, competitors="all", random_state=0)
    for row in range(y.size):
        for _ in range(many_contest.SWEEPS):
            plain.partial_fit(X[row], y[row : row + 1], classes=np.unique(y))
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert np.array_equal(model._model.coef_, plain.coef_)


def test_ways_to_predict_are_judged_on_every_row():
    X, y = rows_of_three_labels()
    found = many_contest.predict_in_ways(X, y, many_contest.LEARNERS["cw-1"], 3, 2, seed=1)
    marks = {way: protocol.unpack(found[way]) for way in many_contest.WAYS}
    assert all(each.size == y.size and each.mean() > 0.6 for each in marks.values())
    assert np.mean(marks["samples"] == marks["probability"]) > 0.9


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
    assert results.sure_on_texts("bow-m", "svm") == claims.Duel(1, 0)
    assert results.sure_on_texts("svm", "bow-m") == claims.Duel(0, 1)
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


def test_steps_come_nearer_to_the_optimum_with_every_pass(monkeypatch):
    rng = np.random.default_rng(4)
    X = scipy.sparse.csr_matrix(rng.poisson(0.5, (120, 8)), dtype=float)
    y = np.where(X[:, [0, 1]].sum(axis=1).A1 > X[:, [2, 3]].sum(axis=1).A1, "b", "a")
    info = tasks.TASKS["news/sci"]
    monkeypatch.setattr(
        volume_steps, "load", lambda *_: tasks.Task(info, X, y, np.zeros(120, bool))
    )
    monkeypatch.setattr(volume_steps, "PASSES", (1, 5, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        runs = volume_steps.run_task("news/sci", None)
    assert len(runs) == 2 * len(volume_steps.ETAS) * 3
    for kind in volume_steps.KINDS:
        for eta in volume_steps.ETAS:
            some = [run for run in runs if (run.kind, run.eta) == (kind, eta)]
            assert [run.passes for run in some] == [1, 5, 20]
            assert some[0].excess > some[1].excess > some[2].excess >= 0.0
            assert all(run.excess <= run.gap + volume_steps.ALMOST for run in some)
    last = runs[5]
    assert f"| {last.excess:.3f} | {runs[4].error:.2f} |" in volume_steps.table_by_task(runs)
    assert f"| {last.excess:.3f} |" in volume_steps.table_by_eta(runs)


def test_auto_of_the_box_is_what_the_published_table_chose():
    page = (ROOT / "experiments" / "crammer2012volume" / "README.md").read_text(encoding="utf-8")
    chosen = f"C = {problem.VOLUME:g}/n, D = {problem.WEIGHTS:g}ℓ²/n, which is the default."
    assert chosen in page
    X = scipy.sparse.csr_matrix(np.random.default_rng(5).poisson(1.0, (30, 5)), dtype=float)
    pair = problem.VOLUME, problem.WEIGHTS
    box = volume_defaults.box("max", pair, ("", X, None, None, None))
    auto = BoxClassifier(tol=0.1).fit(X, np.arange(30) % 2)
    assert pytest.approx([auto.C_, auto.D_], rel=1e-12) == [box.C, box.D]


def test_wrong_labels_are_other_labels():
    y = np.array(["a", "b", "c"])[np.arange(3000) % 3]
    spoilt = volume_defaults.spoil(y, 0.2)
    assert np.mean(spoilt != y) == pytest.approx(0.2, abs=0.03)
    for label in "abc":
        others = spoilt[(y == label) & (spoilt != y)]
        assert sorted(set(others)) == sorted(set("abc") - {label})
    assert np.array_equal(volume_defaults.spoil(y, 0.0), y)


# -- the lecture -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curve", "passes"), [([1.0, 2.0, 3.0], 3), ([1.0, 3.0, 3.0, 4.0], 2), ([5.0, 4.0], 1)]
)
def test_a_perceptron_stops_before_the_first_pass_that_does_not_improve(curve, passes):
    assert lecture_contest.stop(curve) == passes


def test_a_weight_of_zero_may_belong_to_an_uneven_feature():
    X = scipy.sparse.csr_matrix([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]])
    y = np.array(["a", "a", "b", "b"])
    found = lecture_contest.count_zero(np.array([[1.0, 0.0, 0.0, 0.0]]), X, y)
    assert found == [2, 1]  # the last feature does not occur
    assert lecture_contest.count_zero(None, X, y) is None


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_the_claims_of_the_lecture_follow_from_its_cells():
    pytest.importorskip("sklearn", "1.8", reason="l1_ratio alone means an l1 penalty since 1.8")
    X, y = rows_of_three_labels(160)
    task = tasks.Task(tasks.TASKS["reuters/topics"], X, y, np.zeros(y.size, bool))
    found = {
        Cell("reuters/topics", name, "test"): lecture_contest.measure(task, learner, False, 0)
        for name, learner in lecture_contest.LEARNERS.items()
    }
    for name in lecture_contest.STOPPED:
        cell = Cell("reuters/topics", name, "stopped")
        found[cell] = lecture_contest.measure(task, lecture_contest.LEARNERS[name], True, 0)
        assert found[cell]["passes"] == lecture_contest.stop(found[cell]["curve"])
    results = lecture.sort_out(found)
    verdicts = {one.claim: one.verdict for one in lecture.list_claims(results)}
    assert verdicts["all are better than the majority baseline"] == "holds"
    assert verdicts["more features are more flexible and overfit more (two newsgroups)"] == (
        "could not be tested"
    )
    assert "could not be tested" in verdicts.values()
    table = lecture.table_accuracies(results)
    assert f"({found[Cell('reuters/topics', 'majority', 'test')]['training']:.2f})" in table


# -- both from end to end ----------------------------------------------------------------------


def run_here(cells, work, results, settings, jobs, grid_of):
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
    assert any("maxent, prior" in name and ", chosen: entropy" in name for _, _, name in figures)
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
    assert len(rows) == 18
    rows = claims.read_claims(short_run("schneider2022") / "claims.csv")
    assert {one.verdict for one in rows} == {"could not be tested"}
    page = short_run("crammer2009multiclass") / "tables.md"
    assert "| NYTD | – (10,000) |" in page.read_text(encoding="utf-8")


# -- grids and what is on record ---------------------------------------------------------------


def test_a_choice_at_an_end_is_counted_and_whether_an_inner_value_matches_it():
    learner = learners.Learner("x", "X", object, learners.grid(C=(0.1, 1.0, 10.0), D=(2.0,)))
    low, middle, high = learner.grid
    table = ends.show_ends(
        [
            ends.Chosen(learner, low, [5.0, 5.0, 6.0]),
            ends.Chosen(learner, low, [4.0, 5.0, 6.0]),
            ends.Chosen(learner, middle, [5.0, 4.0, 6.0]),
            ends.Chosen(learner, high, [5.0, 4.0, 3.0]),
        ]
    )
    assert table.splitlines()[2:] == [
        "| X: C from 0.1 to 10 | 4 | 2, 1 of them strictly better | 1, 1 of them strictly better |"
    ]


def test_the_pages_state_the_grids_that_were_used():
    """The multi-class page once gave maxent a wider grid than the one that was run."""
    for paper, used in (
        ("crammer2009multiclass", many_contest.LEARNERS.values()),
        ("crammer2012cw", [learners.LEARNERS[name] for name in ("cw-var-kl", "maxent", "svm")]),
        ("dredze2008", [learners.LEARNERS[name] for name in ("cw-var-kl", "maxent", "svm")]),
    ):
        page = (ROOT / "experiments" / paper / "README.md").read_text(encoding="utf-8")
        place = ", digits" if paper == "crammer2012volume" else ""
        for learner in used:
            for name, values in ends.list_values(learner).items():
                if len(values) > 1:
                    low, high = (learners.show({name: v}) for v in (values[0], values[-1]))
                    end = high.partition(" = ")[2]
                    stated = low.replace(" = ", " from ") + f" to {end} |"
                    assert f"| {learner.title}{place}: {stated}" in page
