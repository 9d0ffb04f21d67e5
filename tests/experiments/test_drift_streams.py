"""The comparison of drift detection: its streams, and its pages."""

import sys

import numpy as np
import pytest
from experiments_work import PRESENT, ROOT

if not PRESENT:
    pytest.skip("the experiments are not part of an installation", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from experiments.cells import Cell
from experiments.drift import run as run_module
from experiments.drift import synthetic
from experiments.drift.learners import AUTO, MAIN, NONE
from experiments.drift.streams import BURST, MADE, REAL, STREAMS
from experiments.tables import read_figures
from experiments.tasks import MissingData


@pytest.fixture(params=list(MADE))
def stream(request):
    try:
        return request.param, STREAMS[request.param](None, 3)
    except MissingData as problem:
        pytest.skip(str(problem))


def test_streams_are_what_the_page_says(stream):
    name, made = stream
    assert len(set(made.texts)) == len(made.texts) == made.labels.size
    again = STREAMS[name](None, 3)
    assert list(made.texts) == list(again.texts)
    assert made.labels.tolist() == again.labels.tolist()
    assert list(made.texts) != list(STREAMS[name](None, 4).texts)
    steady = STREAMS["no change"](None, 3)
    if name == "every 500 of 2,900":
        differs = made.labels != steady.labels
        assert differs.tolist() == [k // 500 % 2 == 1 for k in range(2900)]
    if name == "wrong labels":
        wrong = np.flatnonzero(made.labels != made.truth)
        assert wrong.min() >= BURST.start
        assert wrong.max() < BURST.stop == made.judged
        assert 0.2 * 500 < wrong.size < 0.4 * 500
    if name == "new words":
        assert made.texts[:1450] == steady.texts[:1450]
        assert made.texts[1450:] != steady.texts[1450:]
        assert made.labels.tolist() == steady.labels.tolist()
    if name == "class frequencies":
        wanted = made.labels == "yes"
        assert 0.45 < wanted[:1200].mean() < 0.55
        assert 0.05 < wanted[1200:].mean() < 0.15


def test_real_streams_have_each_text_once():
    for name, make in REAL.items():
        try:
            made = make(None, 0)
        except MissingData as problem:
            pytest.skip(str(problem))
        assert len(set(made.texts)) == len(made.texts) > 700, name


def test_a_change_of_rows_of_numbers_is_one(monkeypatch):
    monkeypatch.setattr(synthetic, "BEFORE", 20_000)
    monkeypatch.setattr(synthetic, "CHUNK", 10_000)
    found = synthetic.change("AROW", 0, flip=True)
    assert found["None"] < 20.0 < found["fresh"] < found["auto"]
    assert 0.0 < found["rows"] < 500.0
    other = synthetic.change("AROW", 0, flip=False)
    assert 30.0 < other["None"] < other["fresh"]


def test_published_figures_are_those_of_the_record():
    figures = read_figures(run_module.HERE / "ours.csv")
    page = (run_module.HERE / "README.md").read_text(encoding="utf-8")
    docs = (run_module.DOCS / "drift.md").read_text(encoding="utf-8")
    found = {}
    for (part, learner, name), figure in figures.items():
        task, stage = part.rsplit(", ", 1)
        place = "" if learner == "TextClassifier" else learner
        found.setdefault(Cell(task, place, stage), {})[name] = figure.value
    tables = {
        "made": run_module.table_made(found),
        "tried": run_module.table_tried(found),
        "real": run_module.table_real(found),
        "stationary": run_module.table_stationary(found),
        "flips": run_module.table_flips(found),
        "alarms": run_module.table_alarms(found),
    }
    for name, table in tables.items():
        assert table in page, name
    for name in ("made", "real", "flips"):
        assert tables[name] in docs, name
    # What the pages claim in words.
    for task in REAL:
        assert run_module.mean(found, task, AUTO) == run_module.mean(found, task, NONE)
    for task in MADE:
        shares = [run_module.mean(found, task, name) for name in MAIN]
        assert shares[0] == np.nanmax(shares)
