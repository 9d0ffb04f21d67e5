"""The comparison on texts with several labels: its texts, and its pages."""

import sys

import pytest
from experiments_work import PRESENT, ROOT

if not PRESENT:
    pytest.skip("the experiments are not part of an installation", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from experiments.tables import read_figures
from experiments.tags import run as run_module
from experiments.tags.learners import AUTO, LEARNERS, ONE
from experiments.tags.texts import ALL, MAIL, NINETY, TASKS, hold_out, read_task
from experiments.tasks import MissingData


def read(task):
    try:
        return read_task(task, None)
    except MissingData as problem:
        pytest.skip(str(problem))


def test_texts_are_what_the_page_says():
    train, test = read(NINETY)
    assert (len(train.text), len(test.text)) == (9603, 3299)
    labels = {label for each in train.labels for label in each}
    assert len(labels) == 90
    assert labels == {label for each in test.labels for label in each}
    every, _ = read(ALL)
    assert train.text == every.text
    assert labels < {label for each in every.labels for label in each}
    assert any(len(each) > 1 for each in train.labels)
    learned, held = hold_out(train, 0)
    assert not set(learned.text) & set(held.text)


@pytest.mark.slow
def test_mails_come_once_with_whom_they_were_sent_to():
    train, test = read(MAIL)
    assert len({*train.text, *test.text}) == len(train.text) + len(test.text)
    counts = {}
    for each in train.labels:
        for label in each:
            counts[label] = counts.get(label, 0) + 1
    assert min(counts.values()) >= 100
    assert {label for each in test.labels for label in each} <= set(counts)


def test_published_figures_are_those_of_the_record():
    figures = read_figures(run_module.HERE / "ours.csv")
    page = (run_module.HERE / "README.md").read_text(encoding="utf-8")
    docs = (run_module.DOCS / "tags.md").read_text(encoding="utf-8")
    for task in TASKS:
        table = run_module.table(figures, task)
        assert table in page
        assert table in docs
        # What the pages claim in words.
        for measured in ("micro F1", "macro F1"):
            others = [
                figures[name, task, measured].value
                for name in LEARNERS
                if not name.startswith("sureline")
            ]
            for name in (ONE, AUTO):
                assert figures[name, task, measured].value > max(others) - 0.005
