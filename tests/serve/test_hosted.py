"""A served model: it is its base with the journal's examples, whatever happens in between."""

import threading
from copy import deepcopy
from pathlib import Path

import pytest
from serve_runs import NEW, digest_of, wanted

from sureline import load
from sureline.errors import DataError, InvalidParameter, ModelFileError
from sureline.serve import recovery
from sureline.serve.entries import AskedTogether
from sureline.serve.hosted import Hosted
from sureline.serve.recovery import journal_folder
from sureline.serve.requests import Busy, Conflict, Limits, Unavailable, Wanted

pytest_plugins = ["serve_fixtures"]


def trained(mail: Path, *parts: tuple[int, int]):
    """The model of the file, with some new messages learned one after the other."""
    model = load(mail)
    for text, label in (NEW[k] for first, stop in parts for k in range(first, stop)):
        model.learn_one(text, label)
    return model


def same(hosted, model, folder) -> bool:
    return digest_of(hosted.model, folder) == digest_of(model, folder)


def learned(hosted, first, stop):
    return hosted.submit(wanted(first, stop)).result(60)


# -- what is learned is in the journal, and the model is what the journal says ------------------


@pytest.mark.parametrize("every", [7, 1000], ids=["snapshots", "no snapshots"])
def test_the_model_is_its_base_with_the_examples_in_order(open_model, mail, tmp_path, every):
    hosted = open_model(snapshot_every=every)
    for first in range(0, 60, 6):
        assert learned(hosted, first, first + 6).numbers == range(first + 1, first + 7)
    assert same(hosted, trained(mail, (0, 60)), tmp_path)
    hosted.close()
    again = open_model()
    assert same(again, trained(mail, (0, 60)), tmp_path)
    learned(again, 60, 70)
    assert same(again, trained(mail, (0, 70)), tmp_path)


def test_many_who_learn_at_once_agree_with_the_journal(open_model, mail, tmp_path):
    hosted = open_model(snapshot_every=40)

    def send(k):
        for first in range(k * 40, k * 40 + 40, 5):
            learned(hosted, first, first + 5)

    threads = [threading.Thread(target=send, args=[k]) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = [each for some in hosted.journal.entries() for each in some]
    assert sorted(each.text for each in entries) == sorted(text for text, _ in NEW[:160])
    expected = load(mail)
    for each in entries:
        expected.learn_one(each.text, each.label)
    assert same(hosted, expected, tmp_path)
    hosted.close()
    assert same(open_model(), expected, tmp_path)


def test_a_process_that_ends_without_notice_loses_nothing(open_model, mail, tmp_path):
    hosted = open_model(snapshot_every=10)
    learned(hosted, 0, 33)
    folder, copy = journal_folder(mail), tmp_path / "copy" / "mail.sureline"
    copy.parent.mkdir()
    copy.write_bytes(mail.read_bytes())
    journal_folder(copy).mkdir()
    for path in folder.iterdir():  # as it is on the disk at this moment
        (journal_folder(copy) / path.name).write_bytes(path.read_bytes())
    again = Hosted(copy, Limits())
    assert same(again, trained(mail, (0, 33)), tmp_path)
    again.close()


def test_a_torn_last_page_loses_at_most_what_was_not_written(open_model, mail, tmp_path):
    hosted = open_model(snapshot_every=1000)
    learned(hosted, 0, 20)
    learned(hosted, 20, 30)
    copy = tmp_path / "copy" / "mail.sureline"
    copy.parent.mkdir()
    copy.write_bytes(mail.read_bytes())
    journal_folder(copy).mkdir()
    for path in journal_folder(mail).iterdir():
        content = path.read_bytes()
        if path.name.endswith("-wal"):
            content = content[:-1000]  # of the last page that was written
        (journal_folder(copy) / path.name).write_bytes(content)
    again = Hosted(copy, Limits())
    assert again.number == 20
    assert same(again, trained(mail, (0, 20)), tmp_path)
    again.close()


@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_a_damaged_snapshot_is_not_used(open_model, mail, tmp_path, damage):
    hosted = open_model(snapshot_every=5)
    for first in range(0, 30, 5):
        learned(hosted, first, first + 5)
    hosted.close()
    snapshots = [each for each in open_model().journal.snapshots() if not each.base]
    assert snapshots
    path = journal_folder(mail) / snapshots[0].file
    content = path.read_bytes()
    if damage == "changed":
        path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.unlink()
    model, number = recovery.Store(journal_folder(mail), 4.0).model()
    assert number == 30
    assert digest_of(model, tmp_path) == digest_of(trained(mail, (0, 30)), tmp_path)


def test_without_a_base_there_is_an_error(open_model, mail):
    open_model().close()
    for path in journal_folder(mail).glob("base*"):
        path.unlink()
    with pytest.raises(ModelFileError):
        open_model()


# -- what cannot be written or learned -------------------------------------------------------------


@pytest.mark.parametrize("trouble", ["pragma max_page_count = 1", "pragma query_only = on"])
def test_what_cannot_be_written_is_not_learned(open_model, mail, tmp_path, trouble):
    hosted = open_model()
    learned(hosted, 0, 10)
    database = hosted.journal._database
    database.execute(trouble)
    long = [Wanted("spam", "a long text " * 20_000)]
    with pytest.raises(Unavailable, match="cannot be written"):
        hosted.submit(long).result(60)
    assert same(hosted, trained(mail, (0, 10)), tmp_path)
    database.execute("pragma max_page_count = 1000000")
    database.execute("pragma query_only = off")
    learned(hosted, 10, 20)
    assert same(hosted, trained(mail, (0, 20)), tmp_path)


def test_an_example_that_the_model_refuses_does_not_count(open_model, mail, tmp_path, monkeypatch):
    partial_fit = type(load(mail)).partial_fit

    def failing(self, X, y, **more):
        if "poison" in X:  # those before it are learned, as by a row that overflows
            if (before := X.index("poison")) > 0:
                partial_fit(self, X[:before], y[:before])
            raise DataError("it cannot be learned")
        return partial_fit(self, X, y, **more)

    hosted = open_model()
    monkeypatch.setattr(type(hosted.model), "partial_fit", failing)
    poisoned = [*wanted(0, 5), Wanted("spam", "poison"), *wanted(5, 8)]
    with pytest.raises(DataError, match="cannot learn example 6"):
        hosted.submit(poisoned).result(60)
    learned(hosted, 8, 12)
    assert hosted.journal.count() == 12
    monkeypatch.undo()
    assert same(hosted, trained(mail, (0, 12)), tmp_path)


def test_a_snapshot_that_fails_stops_nothing(open_model, monkeypatch):
    hosted = open_model(snapshot_every=3)

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(hosted.store, "add", fail)
    learned(hosted, 0, 10)
    hosted.snapshots.wait()
    learned(hosted, 10, 20)
    assert "disk is full" in hosted.snapshots.problem


@pytest.mark.parametrize(
    ("example", "sentence"),
    [
        (Wanted(3, "text"), "are text, got 3"),
        (Wanted("spam"), "has a text, or the id"),
        (Wanted("spam", id="unknown"), "no prediction 'unknown'"),
        (Wanted("spam", id=""), "no prediction ''"),
        (Wanted("\ud800", "text"), "half a character"),
    ],
)
def test_what_is_wrong_is_refused_whole_and_others_are_not(open_model, example, sentence):
    hosted = open_model()
    wrong = hosted.submit([*wanted(0, 2), example])
    right = hosted.submit(wanted(2, 4))
    with pytest.raises(DataError, match=sentence):
        wrong.result(60)
    assert right.result(60).numbers == range(1, 3)


def test_too_much_may_not_wait(open_model):
    hosted = open_model(waiting=10)
    held = threading.Event()
    pause = hosted.between(held.wait)
    first = hosted.submit(wanted(0, 50))  # one request may be larger
    with pytest.raises(Busy):
        hosted.submit(wanted(50, 51))
    held.set()
    pause.result(60)
    assert len(first.result(60).numbers) == 50


def test_a_request_that_is_cancelled_while_it_waits_is_not_learned(open_model):
    hosted = open_model()
    held = threading.Event()
    pause = hosted.between(held.wait)
    cancelled, other = hosted.submit(wanted(0, 2)), hosted.submit(wanted(2, 5))
    assert cancelled.cancel()
    held.set()
    pause.result(60)
    assert other.result(60).numbers == range(1, 4)
    assert hosted.waiting == 0


def test_an_unexpected_error_is_answered_and_learning_goes_on(open_model, monkeypatch):
    hosted = open_model()
    monkeypatch.setattr(hosted, "_resolved", lambda *_: 1 / 0)
    with pytest.raises(Unavailable, match="internal error"):
        learned(hosted, 0, 1)
    monkeypatch.undo()
    assert learned(hosted, 0, 1).numbers == range(1, 2)


def test_two_processes_cannot_share_a_journal(open_model):
    open_model()
    with pytest.raises(InvalidParameter, match="in use by another process"):
        open_model()


# -- requests that come twice, and labels that come later -----------------------------------------


def test_a_request_with_a_key_is_learned_once(open_model, mail, tmp_path):
    hosted = open_model()
    held = threading.Event()
    pause = hosted.between(held.wait)
    together = [hosted.submit(wanted(0, 3), key="a", digest="d") for _ in range(3)]
    held.set()
    pause.result(60)
    assert {each.result(60).numbers for each in together} == {range(1, 4)}
    assert [each.result(60).replayed for each in together] == [False, True, True]
    assert hosted.submit(wanted(0, 3), key="a", digest="d").result(60).replayed
    with pytest.raises(Conflict, match="another request"):
        hosted.submit(wanted(0, 4), key="a", digest="e").result(60)
    hosted.close()
    again = open_model()
    assert again.submit(wanted(0, 3), key="a", digest="d").result(60).numbers == range(1, 4)
    assert same(again, trained(mail, (0, 3)), tmp_path)


@pytest.mark.parametrize("flushed", [False, True])
def test_a_label_for_a_prediction_counts_what_was_predicted(open_model, flushed):
    hosted = open_model()
    asked = AskedTogether("key", ["another", "a text"], ["ham", "spam"], [0.7, 0.6], "1.0")
    _, id_ = asked.ids
    hosted.remember(asked)
    if flushed:
        hosted.between(hosted._flush).result(60)
    hosted.submit([Wanted("ham", id=id_)]).result(60)
    [entry] = next(hosted.journal.entries())
    assert entry.text == "a text"
    assert (entry.predicted, entry.probability, entry.prediction) == ("spam", 0.6, id_)
    assert (hosted.errors.examples, hosted.errors.mistakes) == (1, 1)


def test_the_error_is_known_again_after_a_restart(open_model):
    hosted = open_model()
    learned(hosted, 0, 100)
    before = deepcopy(hosted.errors)
    assert 0 < before.mistakes < 50
    hosted.close()
    assert open_model().errors == before


# -- going back ----------------------------------------------------------------------------------


def test_rolling_back_gives_the_model_of_then(open_model, mail, tmp_path):
    hosted = open_model(snapshot_every=8)
    for first in range(0, 40, 4):
        learned(hosted, first, first + 4)
    assert hosted.between(lambda: hosted.roll_back(18)).result(60) == 22
    assert same(hosted, trained(mail, (0, 18)), tmp_path)
    learned(hosted, 50, 60)
    assert same(hosted, trained(mail, (0, 18), (50, 60)), tmp_path)
    hosted.close()
    assert same(open_model(), trained(mail, (0, 18), (50, 60)), tmp_path)


def test_rolling_back_to_where_nothing_was_is_refused(open_model):
    hosted = open_model()
    learned(hosted, 0, 5)
    with pytest.raises(InvalidParameter, match="numbers 0 to 5"):
        hosted.between(lambda: hosted.roll_back(9)).result(60)


def test_what_is_forgotten_is_in_no_file_and_not_in_the_model(open_model, mail, tmp_path):
    hosted = open_model(snapshot_every=5)
    learned(hosted, 0, 12)
    secret = [Wanted("spam", "zyxwvu tsrqpo")]
    hosted.submit(secret, author="bob").result(60)
    learned(hosted, 12, 30)
    assert hosted.between(lambda: hosted.forget([], "bob")).result(60) == 13
    assert same(hosted, trained(mail, (0, 30)), tmp_path)
    for path in journal_folder(mail).iterdir():
        assert b"zyxwvu" not in path.read_bytes()
    hosted.close()
    assert same(open_model(), trained(mail, (0, 30)), tmp_path)


def test_a_new_model_file_is_the_new_base(open_model, mail, tmp_path):
    hosted = open_model()
    learned(hosted, 0, 10)
    assert hosted.between(hosted.reload).result(60) is False
    trained(mail, (100, 150)).save(mail)
    assert hosted.between(hosted.reload).result(60) is True
    assert hosted.number == 10
    learned(hosted, 10, 20)
    assert same(hosted, trained(mail, (10, 20)), tmp_path)
    hosted.close()
    assert same(open_model(), trained(mail, (10, 20)), tmp_path)


# -- a candidate -----------------------------------------------------------------------------------


def test_a_candidate_learns_in_the_shadow_and_is_promoted(open_model, mail, tmp_path):
    other = mail.with_name("other.sureline")
    trained(mail, (200, 400)).save(other)
    hosted = open_model()
    learned(hosted, 0, 10)
    with pytest.raises(InvalidParameter, match="no candidate"):
        hosted.between(hosted.promote).result(60)
    hosted.between(lambda: hosted.begin_shadow(other)).result(60)
    learned(hosted, 10, 50)
    assert hosted.shadow.errors.examples == 40
    assert same(hosted, trained(mail, (0, 50)), tmp_path)
    hosted.close()
    hosted = open_model()
    assert hosted.shadow.since == 10
    assert hosted.between(hosted.promote).result(60) == "other"
    assert same(hosted, trained(other, (10, 50)), tmp_path)
    learned(hosted, 50, 60)
    hosted.close()
    hosted = open_model()
    assert hosted.shadow is None
    assert same(hosted, trained(other, (10, 60)), tmp_path)


def test_a_candidate_that_is_gone_is_dropped(open_model, mail):
    other = mail.with_name("other.sureline")
    trained(mail, (200, 210)).save(other)
    hosted = open_model()
    hosted.between(lambda: hosted.begin_shadow(other)).result(60)
    hosted.close()
    other.unlink()
    hosted = open_model()
    assert hosted.shadow is None
    assert learned(hosted, 0, 1).numbers == range(1, 2)
