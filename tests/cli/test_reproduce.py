"""``sureline reproduce``: which papers there are, how one is run, and what can be wrong."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cases import COMPILED
from experiments_work import PRESENT, ROOT, write_news

import sureline
from sureline.cli import main
from sureline.cli.reproduce.papers import find_experiments, list_papers, read_results

pytest_plugins = ["cli_fixtures"]

needs_checkout = pytest.mark.skipif(
    not PRESENT, reason="the experiments are not part of an installation"
)
needs_compiling = pytest.mark.skipif(not COMPILED, reason="nothing is compiled in this run")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """An installation without a checkout, in a folder without one."""
    package = tmp_path / "lib" / "python" / "site-packages" / "sureline"
    monkeypatch.setattr(sureline, "__file__", str(package / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_checkout(folder, script):
    """The experiments folder of a checkout with one paper, which runs this script."""
    paper = folder / "experiments" / "some2020"
    paper.mkdir(parents=True)
    (folder / "experiments" / "cells.py").touch()
    (paper / "paper.csv").touch()
    (paper / "run.py").write_text(f'"""Some paper, 2020.\n\nMore."""\n{script}', encoding="utf-8")
    return folder / "experiments"


def test_help_names_what_can_be_said(run):
    code, out, err = run("reproduce", "--help")
    assert (code, err) == (0, "")
    words = set(out.split())
    assert {"--table", "--data", "--quick", "--jobs", "--seed", "--fresh", "--experiments"} <= words
    assert {"--output", "--json"} <= words


@needs_checkout
def test_papers_are_listed(run):
    code, out, err = run("reproduce")
    assert (code, err) == (0, "")
    assert "dredze2008 " in out
    assert "crammer2012cw " in out
    assert "defaults " in out
    code, out, err = run("reproduce", "--json")
    listed = {each["paper"]: each["title"] for each in json.loads(out)}
    assert listed == list_papers(ROOT / "experiments")
    assert all(title.endswith(".") for title in listed.values())


def test_an_unknown_paper_is_told_with_those_there_are(run, nowhere):
    make_checkout(nowhere, "")
    code, out, err = run("reproduce", "other1999")
    assert (code, out) == (2, "")
    folder = nowhere / "experiments"
    assert err == f"sureline: there is no paper 'other1999' in {folder}; there are: some2020\n"


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("given", [(), ("dredze2008",)])
def test_without_a_checkout_one_sentence(run, given):
    code, out, err = run("reproduce", *given)
    assert (code, out) == (2, "")
    assert err == (
        "sureline: reproduce needs a checkout of sureline, and there is none beside the installed "
        "package nor in the current folder; run it in one, or name its folder with --experiments "
        "DIR\n"
    )


def test_somebodys_own_folder_of_experiments_is_not_taken_for_ours(run, nowhere):
    (nowhere / "experiments" / "mine").mkdir(parents=True)
    (nowhere / "experiments" / "mine" / "run.py").touch()
    assert run("reproduce")[0] == 2
    code, _, err = run("reproduce", "--experiments", "experiments")
    assert code == 2
    assert "there are no papers in 'experiments'" in err
    code, _, err = run("reproduce", "--experiments", nowhere)
    assert code == 2
    assert "must name the folder experiments of a checkout" in err


def test_the_checkout_is_found_here_or_where_it_is_said_to_be(nowhere, monkeypatch):
    folder = make_checkout(nowhere / "elsewhere", "")
    assert find_experiments(folder) == folder
    monkeypatch.chdir(folder.parent)
    assert find_experiments(None) == folder
    assert list_papers(folder) == {"some2020": "Some paper, 2020."}
    (folder / "other").mkdir()
    (folder / "other" / "run.py").write_text('"""No paper."""', encoding="utf-8")
    assert list_papers(folder) == {"some2020": "Some paper, 2020."}
    (folder / "other" / "claims.csv").touch()
    assert list_papers(folder) == {"other": "No paper.", "some2020": "Some paper, 2020."}


def test_options_reach_the_paper_and_its_code_comes_back(nowhere, capfd):
    script = "import sys\nprint(sys.argv[1:])\nsys.exit(7)\n"
    make_checkout(nowhere, script)
    (nowhere / "data").mkdir()
    given = ("--table", "2", "--table", "figure1", "--data", "data", "--jobs", "3", "--quick")
    assert main(["reproduce", "some2020", *given, "--fresh", "--seed", "4", "-o", "out"]) == 7
    folder = [str(nowhere / name) for name in ("data", "out")]
    expected = ["--table", "2", "--table", "figure1", "--data", folder[0], "--output", folder[1]]
    assert capfd.readouterr().out == (
        f"{[*expected, '--seed', '4', '--jobs', '3', '--quick', '--fresh']}\n"
    )


def test_json_is_what_the_run_has_written(nowhere, capfd):
    script = (
        "from pathlib import Path\n"
        "print('tables')\n"
        "out = Path(__file__).parent\n"
        "head = 'part,task,learner,figure,level,note\\n'\n"
        "(out / 'ours.csv').write_text(head + 'table2,t,pa,1.5,0.01,x\\ntable2,u,pa,,,gone\\n')\n"
    )
    folder = make_checkout(nowhere, script)
    assert main(["reproduce", "some2020", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)  # the tables are not in it
    assert found["figures"] == [
        {"part": "table2", "task": "t", "learner": "pa", "figure": 1.5, "level": 0.01, "note": "x"},
        {"part": "table2", "task": "u", "learner": "pa", "figure": None, "level": None,
         "note": "gone"},
    ]  # fmt: skip
    assert found["claims"] == []
    assert found["folder"] == str(folder / "some2020")
    quick = read_results("some2020", folder, True, None)
    assert quick["folder"] == str(folder / ".cache" / "results" / "some2020-quick")
    assert quick["figures"] == []


# -- a paper -----------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """A copy of the experiments, whose cache and results are its own."""
    if not PRESENT:
        pytest.skip("the experiments are not part of an installation")
    aside = shutil.ignore_patterns(".cache", "__pycache__", "*.png", "ours.csv", "README.md")
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments", ignore=aside)
    (tmp_path / "data").mkdir()
    return tmp_path


def reproduce(checkout, *options, paper="dredze2008"):
    """Run a paper in that copy as a command; its exit code, stdout and stderr."""
    folders = ("--experiments", checkout / "experiments", "--data", checkout / "data")
    words = ["reproduce", paper, *folders, "--output", checkout / "out", *options]
    command = [sys.executable, "-m", "sureline.cli", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=checkout)
    return done.returncode, done.stdout, done.stderr


def read(path):
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@needs_compiling
def test_a_run_resumes_and_the_same_seed_gives_the_same_figures(checkout):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    write_news(checkout / "data")
    code, out, err = reproduce(checkout, "--quick", "--jobs", "1", "--table", "figure1")
    assert (code, "Traceback" in err) == (0, False)
    assert err.count("done: news/talk") == 3
    first = (checkout / "out" / "ours.csv").read_bytes()
    rows = {row["learner"]: float(row["figure"]) for row in read(checkout / "out" / "ours.csv")}
    assert len(rows) == 3 * 5
    assert all(50 <= accuracy <= 100 for accuracy in rows.values())
    assert f"| {rows['pa pass 1']:.2f} |" in out
    assert (checkout / "out" / "figure1.png").read_bytes().startswith(b"\x89PNG")

    cells = checkout / "out" / "cells.jsonl"
    lines = cells.read_text(encoding="utf-8").splitlines(keepends=True)
    cells.write_text("".join(lines[:2]) + lines[2][:50], encoding="utf-8")  # as if killed
    code, again, err = reproduce(checkout, "--quick", "--jobs", "1", "--table", "figure1")
    assert code == 0
    assert again == out
    assert err.count("done: news/talk") == 1
    assert (checkout / "out" / "ours.csv").read_bytes() == first


@pytest.mark.slow
@needs_compiling
def test_a_quick_run_makes_every_table_of_what_data_there_is(checkout):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    write_news(checkout / "data")
    code, out, err = reproduce(checkout, "--quick", "--jobs", "1", paper="crammer2012cw")
    assert (code, "Traceback" in err) == (0, False)
    page = (checkout / "out" / "tables.md").read_text(encoding="utf-8")
    for part in ("table2", "table3", "table4", "table5", "ranks", "choices", "claims"):
        assert f"## {part}\n" in page
    assert "| Talk |" in out
    assert "| Spam A | – (2.65)" in out
    verdicts = {row["claim"]: row["verdict"] for row in read(checkout / "out" / "claims.csv")}
    assert verdicts["combining improves over the models of the parts"] == "could not be tested"
    assert verdicts["var L2 has the best mean rank of the six"] != "could not be tested"
    times = read(checkout / "out" / "times.csv")
    assert {row["learner"] for row in times if row["seconds"]} >= {"cw-var-kl", "svm", "maxent"}
    assert all(float(row["seconds"]) > 0 for row in times if row["seconds"])


def test_without_any_data_every_task_stays_in_the_table(checkout):
    code, out, err = reproduce(checkout, "--quick", "--jobs", "1")
    assert (code, "Traceback" in err) == (0, False)
    rows = {(row["task"], row["learner"]): row for row in read(checkout / "out" / "ours.csv")}
    assert {row["figure"] for row in rows.values()} == {""}
    assert rows["rcv1/retail", "pa"]["note"] == "RCV1 cannot be had"
    assert rows["news/talk", "pa"]["note"] == "20news-bydate.parquet is not at hand"
    claims = read(checkout / "out" / "claims.csv")
    assert {row["verdict"] for row in claims} == {"could not be tested"}
    assert "| Talk | – (1.57) |" in out
    assert "| Retail (no data) | – (15.41) |" in out


@pytest.mark.slow
@needs_compiling
@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_an_interrupted_run_says_how_to_go_on(checkout):
    write_news(checkout / "data")
    words = ["experiments.dredze2008.run", "--quick", "--jobs", "1", "--table", "figure1"]
    folders = ["--data", str(checkout / "data"), "--output", str(checkout / "out")]
    command = [sys.executable, "-m", *words, *folders]
    surroundings = {**os.environ, "PYTHONPATH": str(Path(sureline.__file__).parents[1])}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=checkout, env=surroundings
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("done: "):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 130
    assert rest.endswith("stopped; the same command goes on where it was\n")
    assert "Traceback" not in rest
