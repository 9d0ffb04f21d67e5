"""The experiment that defaults are chosen from: noise, held-out rows, the choice, the tables."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from experiments_work import PRESENT, ROOT, write_news

if not PRESENT:
    pytest.skip("the experiments are not part of an installation", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from experiments.cells import Cell
from experiments.claims import FAILS, HOLDS, IN_PART, UNTESTED, read_claims
from experiments.defaults import constants
from experiments.defaults import run as run_module
from experiments.defaults.contest import (
    BASELINES,
    C_OF_SVM,
    CANDIDATES,
    FIRST,
    NOISE,
    PASSES,
    SVM,
    Run,
    candidate,
    find_default,
    plan_baselines,
    plan_choice,
    plan_reliability,
    plan_tests,
    work,
)
from experiments.defaults.report import (
    BEST_SVM,
    OWN_SVM,
    chance_error,
    choose,
    describe_choice,
    duel,
    list_goals,
    rank_sum,
    sort_out,
    table_all,
    table_choice,
    table_noise,
    table_passes,
)
from experiments.defaults.texts import (
    CHOOSING,
    FOLDS,
    TASKS,
    Texts,
    count_copies,
    flip,
    hold_out,
    open_texts,
)
from experiments.protocol import pack, unpack
from experiments.tables import read_figures

from sureline import TextClassifier

HERE = ROOT / "experiments" / "defaults"
MAIN = [task for task, info in TASKS.items() if info.kind != "further"]


@pytest.fixture
def news(tmp_path):
    """A folder with a small file of news, and no task of another folder in memory."""
    write_news(tmp_path)
    yield str(tmp_path)
    open_texts.cache_clear()


def test_noise_gives_another_class_to_so_many_and_more_noise_adds_to_less():
    labels = np.array(["a", "b", "c", "d"] * 1000)
    flipped = {level: flip("sci", labels, level) for level in NOISE}
    assert (flipped[0] == labels).all()
    for less, more in pairwise(NOISE):
        wrong = flipped[less] != labels
        assert (flipped[more][wrong] == flipped[less][wrong]).all()
        assert np.mean(flipped[more] != labels) == pytest.approx(more / 100, abs=0.03)
    wrong = flipped[30] != labels
    told, counts = np.unique(flipped[30][wrong & (labels == "a")], return_counts=True)
    assert told.tolist() == ["b", "c", "d"]
    assert counts.min() > 60
    assert (flip("talk", labels, 30) != flipped[30]).any()


def test_every_order_holds_out_rows_of_its_own():
    import pyarrow as pa

    train = Texts(pa.array([str(k) for k in range(50)], pa.large_string()), np.tile(["a", "b"], 25))
    held = [hold_out(train, order)[1] for order in range(FOLDS)]
    assert sorted(np.concatenate(held).tolist()) == list(range(50))
    for order, rows in enumerate(held):
        kept = hold_out(train, order)[0]
        assert not set(kept.tolist()) & set(rows.tolist())
        assert kept.size + rows.size == 50


def test_tasks_are_split_and_carry_two_headers_only(news):
    train, test = open_texts("sci", news)
    assert set(train.label) == set(test.label) == {"sci.electronics", "sci.med"}
    assert (train.label.size, test.label.size) == (32, 16)
    assert all("Lines:" not in text for text in train.text.to_pylist())
    assert np.unique(open_texts("20news", news)[0].label).size == 6


def test_test_texts_had_copies_among_the_training_texts(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    texts = ["Good book", "Bad film!", "good  book", "So so", "GOOD BOOK", "bad film", "fine", "ok"]
    split = ["train", "train", "train", "test", "test", "train", "train", "test"]
    table = pa.table({"split": split, "label": ["p", "n", "p", "n", "n", "p", "p", "p"]})
    pyarrow.parquet.write_table(table.append_column("text", [texts]), tmp_path / "imdb.parquet")
    train, test = open_texts("imdb", str(tmp_path))
    assert test.text.to_pylist() == ["So so", "GOOD BOOK", "ok"]
    assert test.label.tolist() == ["n", "n", "p"]
    assert len(train.text) == 2
    assert train.text.to_pylist()[1] == "fine"
    assert count_copies("imdb", str(tmp_path)) == (8, 3, 3)
    open_texts.cache_clear()


def test_the_present_default_is_a_candidate():
    texts = ["win a free prize", "lunch at noon", "free money", "see you at lunch"] * 3
    labels = ["spam", "ham"] * 6
    mine = candidate(find_default()).make(order=3).fit(texts, labels)
    theirs = TextClassifier(random_state=3).fit(texts, labels)
    asked = ["free lunch", "money at noon", "prize"]
    assert mine.predict_proba(asked).tolist() == theirs.predict_proba(asked).tolist()
    first = candidate(find_default() + FIRST)
    assert first.counts_first
    assert first.title.endswith("counted first")


@pytest.mark.parametrize("run", [Run("test", 20, 5, 3), Run("choose"), Run("reliability", order=1)])
def test_a_run_is_read_as_it_is_written(run):
    assert Run.read(str(run)) == run


def test_only_training_rows_choose(news, monkeypatch):
    train, _ = open_texts("sci", news)
    broken = Texts(train.text, np.full(train.label.size, "nonsense"))
    monkeypatch.setattr("experiments.defaults.contest.open_texts", lambda *_: (train, broken))
    record = work(Cell("sci", "arow-nb-1.0", str(Run("choose"))), {"data": news})
    assert record["error"] < 50
    assert work(Cell("sci", "arow-nb-1.0", str(Run("test"))), {"data": news})["error"] == 100


def test_a_run_records_error_and_marks(news):
    for name in ("arow-nb-1.0", "arow-idf-auto" + FIRST, SVM, "multinomial-nb", "maxent"):
        record = work(Cell("talk", name, str(Run("test", 10))), {"data": news})
        right = unpack(record["right"])
        assert right.size == 16
        assert record["error"] == pytest.approx(100 * (1 - right.mean()))
        assert record["error"] < 40
    later = work(Cell("talk", "arow-nb-1.0", str(Run("test", order=1))), {"data": news})
    assert "right" not in later


def test_another_seed_gives_other_orders(news, monkeypatch):
    orders = []
    monkeypatch.setattr(
        "experiments.defaults.contest.Candidate.make",
        lambda self, passes=1, order=None, **others: orders.append(order) or made(self, **others),
    )
    made = lambda self, **others: TextClassifier(self.estimator(), **others)  # noqa: E731
    for given in ({"data": news}, {"data": news, "seed": 2}):
        for order in (0, 3):
            work(Cell("sci", "arow-nb-1.0", str(Run("choose", order=order))), given)
    assert orders == [0, 3, 10, 13]


def test_vowpal_wabbit_learns_two_classes_and_many(news):
    pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit is not installed")
    for task in ("sci", "20news"):
        for name in ("vw", "vw-once"):
            record = work(Cell(task, name, str(Run("test", passes=PASSES))), {"data": news})
            assert record["error"] < 40


def test_reliability_is_reported_with_and_without_calibration(news):
    record = work(Cell("sci", "arow-nb-1.0", str(Run("reliability"))), {"data": news})
    assert record["online"]["error"] != record["none"]["error"]
    for way in ("online", "none"):
        assert sum(record[way]["counts"]) == 16
        filled = [a is not None for a in record[way]["accuracy"]]
        assert filled == [count > 0 for count in record[way]["counts"]]


def test_plans_hold_every_run_once():
    names, short = ("arow-nb-1.0", "cw-nb"), ("arow-nb-1.0",)
    tasks = ("sci", "imdb", "mr")
    chosen = plan_choice(names, tasks, 2, (0, 10, 20))
    assert len(chosen) == len(set(chosen)) == 2 * 2 * 3
    assert {cell.task for cell in chosen} == {"sci"}
    tests = plan_tests(names, short, tasks, 2)
    assert len(tests) == len(set(tests))
    assert tests[0].task == "imdb"
    runs = {(cell.task, cell.learner, Run.read(cell.stage)) for cell in tests}
    assert ("sci", "cw-nb", Run("test", 0, PASSES, 0)) in runs
    assert ("sci", "cw-nb", Run("test", 0, PASSES, 1)) not in runs
    assert ("sci", "cw-nb", Run("test", 20, PASSES, 0)) not in runs
    assert ("imdb", "cw-nb", Run("test", 20, 1, 0)) in runs
    assert ("imdb", "cw-nb", Run("test", 20, 1, 1)) not in runs
    assert ("imdb", "arow-nb-1.0", Run("test", 30, 1, 1)) in runs
    assert ("mr", "arow-nb-1.0", Run("test", 20, PASSES, 1)) in runs
    others = list(plan_baselines(BASELINES, tasks, 2))
    assert len(others) == len(set(others))
    assert Cell("imdb", "svm-10.0", str(Run("test"))) in others
    assert Cell("imdb", "svm-10.0", str(Run("test", 20))) not in others
    assert Cell("imdb", SVM, str(Run("test", 30))) in others
    assert len(plan_reliability("cw-nb", tasks, 2)) == 6


# -- the reports -------------------------------------------------------------------------------


def record(wrong, size=100):
    """A record of a learner that errs on the first `wrong` of its test texts."""
    right = np.arange(size) >= wrong
    return {"error": 100.0 * wrong / size, "right": pack(right)}


def validation(errors):
    """Records to choose by: for each name, an error by noise, the same for all tasks and orders."""
    return {
        Cell(task, name, str(Run("choose", noise, 1, order))): {"error": value + order * (k % 2)}
        for name, by_noise in errors.items()
        for noise, value in by_noise.items()
        for k, task in enumerate(CHOOSING)
        for order in range(2)
    }


def test_the_lowest_mean_validation_error_is_chosen_and_a_change_is_reported():
    errors = {
        "arow-nb-1.0": {0: 5.0, 10: 8.0, 20: 11.0},
        "arow-nb-auto": {0: 6.0, 10: 7.0, 20: 8.0},
        "cw-nb": {0: 4.0, 10: 12.0, 20: 20.0},
    }
    choice = choose(sort_out(validation(errors)), errors)
    assert choice.best == "arow-nb-auto"
    assert choice.means.round(9).tolist() == [8.25, 7.25, 12.25]
    assert choice.behind("arow-nb-1.0") == (pytest.approx(1.0), pytest.approx(0.0))
    assert "It is the default" in describe_choice(choice, "arow-nb-auto")
    told = describe_choice(choice, "arow-nb-1.0")
    assert "Chosen from 2 random orders" in told
    assert "not the default" in told
    assert "Within two standard errors of it: none." in told
    assert "1.00" in told
    lines = table_choice(choice, "arow-nb-1.0").splitlines()
    assert lines[0].count("% noise") == 3
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| AROW, nb, r auto",
        "| **AROW, nb, r = 1**",
        "| CW, nb",
    ]
    assert choose(sort_out({}), errors) is None


def test_the_spread_of_the_gap_is_that_of_orders_within_tasks():
    found = validation({"arow-nb-1.0": {0: 5.0}, "cw-nb": {0: 6.0}})
    for k, task in enumerate(CHOOSING):
        found[Cell(task, "cw-nb", str(Run("choose", 0, 1, 1)))]["error"] += 2.0 + k
    choice = choose(sort_out(found), ("arow-nb-1.0", "cw-nb"))
    gaps = np.array([[1.0, 3.0 + k] for k in range(len(CHOOSING))])
    spread = np.sqrt(np.sum(gaps.var(axis=1, ddof=1) / 2)) / len(CHOOSING)
    assert choice.behind("cw-nb") == (pytest.approx(gaps.mean()), pytest.approx(spread))
    assert describe_choice(choice, "arow-nb-1.0").endswith("standard errors of it: none.")
    near = validation({"arow-nb-1.0": {0: 5.0}, "cw-nb": {0: 5.1}})
    near[Cell("sms", "cw-nb", str(Run("choose", 0, 1, 1)))]["error"] += 2.0
    choice = choose(sort_out(near), ("arow-nb-1.0", "cw-nb"))
    assert describe_choice(choice, "arow-nb-1.0").endswith("standard errors of it: CW, nb.")


def make_records(ours, svm, tasks=tuple(MAIN), noise=(0, 20)):
    """Records of a default with these errors by task, five passes one text better, and of SVM."""
    found = {}
    for task in tasks:
        mine, theirs = (each(task) if callable(each) else each for each in (ours, svm))
        for level in noise:
            found[Cell(task, "arow-nb-1.0", str(Run("test", level)))] = record(mine + level)
            again = str(Run("test", level, PASSES))
            found[Cell(task, "arow-nb-1.0", again)] = record(mine + level - 1)
            for C in C_OF_SVM:
                less = 2 if C == 10 and task != "sci" else 0
                found[Cell(task, f"svm-{C}", str(Run("test", level)))] = record(
                    theirs + level - less
                )
        for name in ("vw", "vw-once"):
            found[Cell(task, name, str(Run("test", 0, PASSES)))] = record(6 + (name == "vw"))
        ways = {"error": 0.02, "log loss": 0.1, "counts": [9], "confidence": [0.9]}
        reliable = Cell(task, "arow-nb-1.0", str(Run("reliability")))
        found[reliable] = {"online": ways, "none": ways}
    return found


def verdicts(found):
    return [one.verdict for one in list_goals(sort_out(found), "arow-nb-1.0")]


def test_goals_follow_from_the_figures():
    assert verdicts(make_records(6, 9)) == [HOLDS] * 9
    found = verdicts(make_records(8, 7))
    assert found[:6] == [FAILS] * 6
    assert found[8] == HOLDS
    mixed = make_records(lambda task: 9 if task == "20news" else 6, 9)
    assert verdicts(mixed)[4:6] == [HOLDS, IN_PART]
    assert verdicts(make_records(6, 9, tasks=MAIN[:5])) == [UNTESTED] * 9
    unsure = make_records(6, 9)
    unsure[Cell("sci", "arow-nb-1.0", str(Run("reliability")))]["online"]["error"] = 0.05
    assert verdicts(unsure)[8] == IN_PART
    for task in MAIN:
        unsure[Cell(task, "arow-nb-1.0", str(Run("reliability")))]["online"]["error"] = 0.05
    assert verdicts(unsure)[8] == FAILS


def test_the_best_svm_has_one_c_for_all_or_one_for_each():
    results = sort_out(make_records(6, 9))
    assert results.best_svm() == "svm-10.0"
    assert results.error("talk", BEST_SVM) == results.error("talk", OWN_SVM) == pytest.approx(7)
    assert results.error("sci", BEST_SVM) == pytest.approx(9)


def test_goals_by_task_come_with_the_p_value_of_mcnemars_test():
    behind = make_records(lambda task: 11 if task in ("enron-b", "dvd") else 6, 9)
    told = [one.ours for one in list_goals(sort_out(behind), "arow-nb-1.0")]
    # Of 100 texts each, the default errs on two more than LinearSVC, and on no other.
    assert "Enron B -2.00, p = 0.500" in told[4]
    assert told[6] == "above on 11 of 12; not DVD -2.00, p = 0.500"
    lost = sort_out(make_records(lambda task: 40 if task == "enron-b" else 6, 9))
    assert "Enron B -31.00, p < 0.001" in list_goals(lost, "arow-nb-1.0")[4].ours


def test_significance_is_counted_by_task_and_over_tasks():
    found = make_records(lambda task: 2 if task == "sci" else 20 if task == "talk" else 9, 9)
    results = sort_out(found)
    assert duel(results, "arow-nb-1.0", 1) == (1, len(MAIN) - 2, 1)
    assert rank_sum(results, "arow-nb-1.0", 1, results.main) > 0.5
    better = sort_out(make_records(6, 9))
    assert rank_sum(better, "arow-nb-1.0", 1, better.main) < 0.001
    assert np.isnan(rank_sum(better, SVM, 1, better.main))


def test_calibration_error_by_chance_is_that_of_honest_probabilities():
    rng = np.random.default_rng(3)
    counts, sure = [40, 0, 160], [0.55, None, 0.9]
    found = [
        np.mean(
            [abs((rng.random(n) < p).mean() - p) * n / 100 for n, p in ((40, 0.55), (160, 0.9))]
        )
        for _ in range(4000)
    ]
    told = chance_error({"counts": counts, "confidence": sure})
    assert told == pytest.approx(np.mean(found), rel=0.05)
    assert chance_error({"counts": [5], "confidence": [1.0]}) == 0.0


def test_tables_leave_out_what_has_not_been_run_everywhere():
    found = make_records(6, 9) | {Cell("sci", "cw-nb", str(Run("test"))): record(1)}
    results = sort_out(found)
    table = table_all(results, ("arow-nb-1.0",), "arow-nb-1.0")
    assert "**AROW, nb, r = 1** | 1 | 6.00 | 6.00 | 6.00 | – |" in table
    assert "**AROW, nb, r = 1** | 5 | 5.00 |" in table
    assert "CW, nb" not in table
    passes = table_passes(results, results.main, ("arow-nb-1.0", "cw-nb"), "cw-nb")
    assert passes.splitlines()[2:] == ["| AROW, nb, r = 1 | 6.00 | 5.00 |"]
    noise = table_noise(results, results.main, ("arow-nb-1.0",), "arow-nb-1.0")
    assert len(noise.splitlines()) == 2  # two levels only
    results = sort_out(make_records(6, 9, noise=NOISE))
    noise = table_noise(results, results.main, ("arow-nb-1.0",), "arow-nb-1.0")
    assert noise.endswith("| **AROW, nb, r = 1** | 6.00 | 16.00 | 26.00 | 36.00 |")


# -- constants ---------------------------------------------------------------------------------


def judge_alone(variant, data):
    """A variant's results on few texts, from a process that compiles nothing."""
    asked = json.dumps({"variant": variant, "tasks": ["sci"], "data": data})
    done = subprocess.run(
        [sys.executable, "-m", "experiments.defaults.constants", "--alone", asked],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_variant_is_one_and_constants_of_labels_change_them_only(news):
    present, calibrated, other = (
        judge_alone(name, news) for name in (constants.PRESENT, "calibration.FIRM=20", "mistakes")
    )
    losses = [
        [one[f"sci 0 {order}"]["log loss"] for order in range(4)]
        for one in (present, calibrated, other)
    ]
    assert len({tuple(each) for each in losses}) == 3
    labels = [
        [one[f"sci {noise} {order}"]["error"] for noise in (0, 10, 20) for order in range(4)]
        for one in (present, calibrated)
    ]
    assert labels[0] == labels[1]


def test_every_constant_has_its_present_value_among_those_tried():
    for constant in constants.CONSTANTS:
        assert constant.present in constant.values
        assert len(constant.variants()) == len(constant.values) - 1
    names = [name for one in constants.CONSTANTS for name in one.variants()]
    assert len(names) == len(set(names))
    assert not set(names) & set(constants.FORMULAS)
    with pytest.raises(ValueError, match="there is no variant 'nonsense'"):
        constants.put_in("nonsense")


def test_the_formula_on_record_is_the_one_in_the_code():
    from sureline.kernels import noise

    assert noise.noise_of(np.array([3.0, 9.0])) == pytest.approx(
        noise.FACTOR * np.sqrt((3.0 + noise.FIRST * noise.WEIGHT) / (9.0 + noise.WEIGHT))
    )
    for formula in constants.FORMULAS.values():
        errors = np.zeros(2)
        for m in (0.5, -1.0, 3.0, -0.2):
            r = formula.follow(errors, m)
        assert r == formula.r(errors) > 0


def test_tables_of_constants_show_gaps_from_the_present_values():
    def results(error, loss):
        return {
            f"{task} {noise} {order}": {"error": error + order * (noise == 20)}
            | ({} if noise else {"log loss": loss, "calibration error": 0.02, "by chance": 0.01})
            for task in ("sci", "sms")
            for noise in (0, 10, 20)
            for order in range(4)
        }

    names = [name for one in constants.CONSTANTS for name in one.variants()]
    found = {name: results(9.0, 0.3) for name in (constants.PRESENT, *names, *constants.FORMULAS)}
    found["noise.FACTOR=3"] = results(9.25, 0.3)
    found["calibration.FIRM=20"] = results(9.0, 0.31)
    labels = constants.table_labels(found, ("sci", "sms"))
    assert "| r auto: factor | 3 | 9.75 | +0.25 ± 0.00 | 9.25 | 9.25 | 10.75 |" in labels
    assert "| r auto: factor | **6** | 9.50 | – | 9.00 | 9.00 | 10.50 |" in labels
    assert "calibration" not in labels
    trust = constants.table_trust(found, ("sci", "sms"))
    assert (
        "| calibration: first precision | 20 | 0.3100 | +0.0100 ± 0.0000 | 0.0200 | "
        "+0.0000 ± 0.0000 | 0.0100 |" in trust
    )
    figures = constants.list_figures(found)
    assert figures["error, noise 20 order 3", "sms", "noise.FACTOR=3"].value == 12.25


# -- the command, and what is on record --------------------------------------------------------


@pytest.mark.slow
def test_a_short_look_runs_and_goes_on_where_it_was(news, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(run_module, "QUICK_TASKS", ("sci", "talk"))
    monkeypatch.setattr(run_module, "QUICK_LEARNERS", ("arow-idf-1.0", "arow-nb-1.0"))
    given = ["--quick", "--jobs", "1", "--data", news, "--output", str(tmp_path / "out")]
    run_module.main(given)
    out, err = capfd.readouterr()
    assert "Chosen from 1 random order: AROW" in out
    assert "done: talk" in err
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"ours.csv", "claims.csv", "tables.md", "reliability.png", "cells.jsonl"} <= written
    figures = read_figures(tmp_path / "out" / "ours.csv")
    assert ("test noise 20 passes 1 order 0", "sci", SVM) in figures
    assert {one.verdict for one in read_claims(tmp_path / "out" / "claims.csv")} == {UNTESTED}
    run_module.main(given)
    again, err = capfd.readouterr()
    assert again == out
    assert "done:" not in err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--orders", "0"], "--orders must be at least 1, got 0"),
        (["--table", "4"], "--table must be one of choice, test, reliability, got '4'"),
    ],
)
def test_wrong_options_are_one_sentence(given, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        run_module.main(["--output", str(tmp_path), *given])
    assert sentence in str(stop.value) + capsys.readouterr().err


def test_without_data_to_choose_by_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "QUICK_TASKS", ("talk",))
    with pytest.raises(SystemExit, match="there is no data to choose by"):
        run_module.main(["--quick", "--data", str(tmp_path), "--output", str(tmp_path / "out")])


def test_what_is_on_record_is_whole():
    figures = read_figures(HERE / "ours.csv")
    for part, task, learner in figures:
        run = Run.read(part.partition(",")[0])
        assert task in TASKS
        assert learner.removesuffix(FIRST) in {*CANDIDATES, *BASELINES}
        assert run.part != "choose" or task in CHOOSING
    for page in (HERE / "README.md", ROOT / "docs" / "defaults.md"):
        text = page.read_text(encoding="utf-8")
        for claim in read_claims(HERE / "claims.csv"):
            assert f"| {claim.claim} | {claim.printed} | {claim.ours} |" in text
        for figure in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
            assert (page.parent / figure).is_file()
    present = find_default()
    shown = [
        np.mean([figures[f"test noise 0 passes {n} order 0", t, present].value for t in MAIN])
        for n in (1, PASSES)
    ]
    assert shown[1] < shown[0]
