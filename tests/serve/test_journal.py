"""The journal: what is in it, in which order, and what undoing and forgetting leave."""

import sqlite3
from datetime import UTC, datetime

import pytest

from sureline.errors import DataError, InvalidParameter, ModelFileError
from sureline.serve import journal as module
from sureline.serve.entries import AskedTogether, Example, Snapshot
from sureline.serve.journal import Journal
from sureline.serve.times import read_time


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def journal(path):
    made = Journal(path, create=True)
    yield made
    made.close()


def examples(count, author=None):
    return [Example(f"text {k}", "ham", author) for k in range(count)]


def listed(journal, **wanted):
    return [each for some in journal.entries(**wanted) for each in some]


def test_examples_have_consecutive_numbers_and_come_back_in_order(journal, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 3)
    assert journal.last == 0
    assert journal.append(examples(4)) == range(1, 5)
    assert journal.append(examples(3, "ann")) == range(5, 8)
    assert [each.number for each in listed(journal)] == list(range(1, 8))
    assert [each.number for each in listed(journal, after=2, until=6)] == [3, 4, 5, 6]
    assert listed(journal)[4][2:5] == ("ann", "text 0", "ham")


def test_what_fails_leaves_nothing(journal):
    def fail():
        with journal.transaction():
            journal.append(examples(2))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert journal.last == 0


def test_labels_keep_their_type(journal):
    journal.append([Example("a", "3"), Example("b", 3)])
    assert [each.label for each in listed(journal)] == ["3", 3]


def test_time_does_not_go_back_with_the_clock(journal, monkeypatch):
    times = iter(["2030-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"])
    monkeypatch.setattr(module, "now", lambda: next(times))
    journal.append(examples(1))
    journal.append(examples(1))
    assert [each.time[:4] for each in listed(journal)] == ["2030", "2030"]
    assert journal.number_at("2029-01-01") == 0
    assert journal.number_at("2031-01-01") == 2


def test_time_does_not_go_back_after_a_restart(path, monkeypatch):
    monkeypatch.setattr(module, "now", lambda: "2030-01-01T00:00:00.000000Z")
    first = Journal(path, create=True)
    first.append(examples(1))
    first.close()
    monkeypatch.setattr(module, "now", lambda: "2020-01-01T00:00:00.000000Z")
    second = Journal(path)
    second.append(examples(1))
    assert [each.time[:4] for each in listed(second)] == ["2030", "2030"]
    second.close()


def test_rolling_back_keeps_examples_that_no_longer_count(journal):
    journal.append(examples(5))
    assert journal.roll_back(2, "ann") == 3
    assert [each.number for each in listed(journal)] == [1, 2]
    assert len(listed(journal, counting=False)) == 5
    assert journal.append(examples(1)) == range(6, 7)
    assert [each.number for each in listed(journal)] == [1, 2, 6]
    _, what, details = journal.events()[-1]
    assert (what, details) == ("rolled back", {"to": 2, "examples": 3, "by": "ann"})


def test_what_is_forgotten_is_not_in_the_files(journal, path):
    kept = "a kept that nobody may read"
    asked = AskedTogether("id", [kept], ["ham"], [0.9], "1.0")
    journal.remember_predictions([asked], 10)
    journal.append([*examples(50), Example(kept, "ham", "bob", prediction="id0000")])
    stored = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert kept.encode() in stored
    assert journal.forget(author="bob") == 51
    stored = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert kept.encode() not in stored
    assert b"bob" not in stored
    assert journal.prediction("id0000") is None
    assert len(listed(journal)) == 50
    assert listed(journal, counting=False)[-1].text is None


def test_forgetting_what_is_not_there_changes_nothing(journal):
    journal.append(examples(2))
    with pytest.raises(DataError, match="no example 7"):
        journal.forget([1, 7])
    assert len(listed(journal)) == 2
    assert journal.forget(author="nobody") == 0


def test_snapshots_since_the_last_base(journal):
    for number, base in ((0, True), (3, False), (5, False), (5, True), (8, False)):
        journal.add_snapshot(Snapshot(number, base, f"{number}{base}", "-"))
    journal.append(examples(9))
    found = [(each.number, each.base) for each in journal.snapshots()]
    assert found == [(8, False), (5, True)]
    assert [each.number for each in journal.snapshots(4)] == [3, 0]
    journal.roll_back(6, None)
    assert [each.number for each in journal.snapshots()] == [5]


def test_compacting_removes_examples_up_to_a_base(journal):
    journal.append(examples(6))
    journal.add_snapshot(Snapshot(4, True, "base", "-"))
    assert journal.compact(4) == 4
    assert [each.number for each in listed(journal)] == [5, 6]
    assert (journal.removed, journal.last) == (4, 6)
    assert journal.compact(6) == 2
    assert journal.last == 6
    assert journal.append(examples(1)) == range(7, 8)


def test_the_last_predictions_are_kept(journal):
    for k in range(4):
        texts = [f"text {k}{j}" for j in range(3)]
        asked = AskedTogether(f"id{k}", texts, ["ham"] * 3, [0.5] * 3, "1.0")
        journal.remember_predictions([asked], 5)
    assert journal.prediction("id00000") is None
    assert journal.prediction("id30002").text == "text 32"
    assert asked.find("id30002") == journal.prediction("id30002")
    assert asked.find("id30003") is asked.find("id3xxxx") is asked.find("") is None


def test_mistakes_and_the_curve(journal):
    wrong = [Example("t", "spam", predicted="ham", probability=0.9)] * 4
    right = [Example("t", "ham", predicted="ham", probability=0.9)] * 6
    journal.append([*wrong, *right, Example("never predicted", "ham")])
    assert journal.mistakes() == (10, 4)
    assert journal.recent(7) == [(True, 0.9)] + [(False, 0.9)] * 6
    assert journal.curve(2) == [(5, 5, 4), (10, 5, 0)]


def test_a_database_of_something_else_is_refused(path):
    database = sqlite3.connect(path)
    database.execute("create table t (a)")
    database.commit()
    database.close()
    with pytest.raises(ModelFileError, match="something else"):
        Journal(path)


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + bytes(4000)])
def test_a_damaged_database_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="cannot be used as a journal"):
        Journal(path)


def test_a_journal_of_a_later_version_is_refused(path):
    Journal(path, create=True).close()
    database = sqlite3.connect(path)
    database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(ModelFileError, match="format is 99"):
        Journal(path)


def test_a_journal_that_is_not_there_is_not_made(path):
    with pytest.raises(ModelFileError, match="no journal"):
        Journal(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", "2026-03-01T00:00:00.000000Z"),
        ("2026-03-01T12:30:00Z", "2026-03-01T12:30:00.000000Z"),
        ("2026-03-01 14:30+02:00", "2026-03-01T12:30:00.000000Z"),
    ],
)
def test_times_as_people_write_them(text, expected):
    assert read_time(text) == expected
    assert datetime.fromisoformat(expected).tzinfo == UTC


def test_what_is_no_time_is_refused():
    with pytest.raises(InvalidParameter, match="'yesterday' is not a time"):
        read_time("yesterday")
