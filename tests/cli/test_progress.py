"""How training shows that it gets on, how it is interrupted, and what --set understands."""

import io
import os
import re
import signal
from typing import Any, get_type_hints

import pyarrow as pa
import pytest
from rich.console import Console

import sureline
from sureline import InvalidParameter, TextClassifier
from sureline.cli.screen import clock, megabytes, percent, rate_line, rounded
from sureline.cli.settings import Settings, settable
from sureline.cli.train.interrupt import DeferredInterrupt
from sureline.cli.train.label_runs import LabelRuns
from sureline.cli.train.progress import (
    HEADER,
    Progress,
    ProgressLine,
    ProgressLog,
    Status,
)
from sureline.cli.values import parse_value
from sureline.data import Batch
from sureline.estimators.validation import choose_rule
from sureline.model.predictions import Counts
from sureline.rules import rules


def status(examples: int, seen: int, updates: int, mistakes: int, share=None) -> Status:
    return Status(examples, Counts(seen, updates, mistakes), 2, 10 * examples, 100 * seen, share)


def test_rows_double_and_the_last_one_is_shown():
    lines = list[str]()
    rows = ProgressLog(lines.append)
    assert [rows.next_stop(n) for n in (0, 1, 2, 3, 4, 1000)] == [1, 2, 4, 4, 8, 1024]
    for told in (status(1, 1, 1, 1), status(2, 2, 2, 1), status(3, 3, 2, 1), status(4, 4, 2, 2)):
        rows.update(told)
    rows.update(status(5, 4, 2, 2))
    rows.end()
    rows.end()
    assert lines[:1] == [HEADER]
    assert [line.split() for line in lines[1:5]] == [
        ["1", "2", "10", "100.00%", "100.00%", "100.00%"],
        ["2", "2", "20", "50.00%", "0.00%", "100.00%"],
        ["4", "2", "40", "50.00%", "50.00%", "0.00%"],
        ["5", "2", "50", "50.00%", "-", "-"],
    ]


def test_rows_of_a_resumed_run_tell_what_happened_since():
    lines = list[str]()
    rows = ProgressLog(lines.append)
    rows.begin(status(100, 100, 50, 40))
    rows.update(status(101, 101, 50, 40))
    rows.update(status(128, 128, 57, 47))
    rows.end()
    assert lines[-1].split() == ["128", "2", "1,280", "36.72%", "25.00%", "25.00%"]


def test_no_rows_where_nothing_was_told():
    lines = list[str]()
    ProgressLog(lines.append).end()
    silence = Progress()
    silence.begin(status(1, 1, 1, 1))
    silence.update(status(1, 1, 1, 1))
    silence.end()
    assert (lines, silence.next_stop(7)) == ([], None)


def screen(width: int = 120) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def test_the_live_line_tells_rate_error_and_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("sureline.cli.train.progress.perf_counter", lambda: now[0])
    console = screen()
    line = ProgressLine(console)
    assert line.next_stop(3) is None
    line.begin(status(0, 0, 0, 0, 0.0))
    for step in range(1, 5):
        now[0] += 1.0
        line.update(status(1000 * step, 1000 * step, 500 * step, 100 * step, step / 8))
    line.end()
    shown = console.file.getvalue()
    assert (
        "50% 0:04 4,000 · 1,000/s · 0.1 MB/s · error 10.00% (now 10.00%) · changing 50.00%" in shown
    )
    assert "12% 0:07 1,000 · 1,000/s" in shown


def test_the_live_line_was_too_long_for_80_columns(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sureline.cli.train.progress.perf_counter", lambda: now[0])
    for width, examples in ((80, 123_456_789), (80, 1_000), (40, 1_000), (100, 1_000)):
        console = screen(width)
        line = ProgressLine(console)
        line.begin(status(0, 0, 0, 0, 0.0))
        now[0] += 600.0
        line.update(status(examples, examples, examples // 2, examples // 10, 0.1))
        line.end()
        shown = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]|\r", "\n", console.file.getvalue())
        words = next(each.strip() for each in shown.splitlines() if "/s" in each)
        assert "error 10.00%" in words or width < 80
        assert len(words) <= width
        assert "…" not in words
        assert ("MB/s" in words) == (width == 100)


def test_the_live_line_without_an_end_has_no_bar(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sureline.cli.train.progress.perf_counter", lambda: now[0])
    console = screen()
    line = ProgressLine(console)
    now[0] = 2.0
    line.update(status(10, 10, 1, 1))
    line.end()
    assert "10 · 0/s" in console.file.getvalue()
    assert "%  " not in console.file.getvalue()


def test_the_line_of_a_reader(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sureline.cli.screen.perf_counter", lambda: now[0])

    class Half:
        bytes_total, bytes_read = 10, 5

    console = screen()
    monkeypatch.setattr("sureline.cli.screen.message_console", lambda: console)
    with rate_line(True) as tell:
        now[0] = 0.01
        tell(1, Half())
        now[0] = 2.0
        tell(5000, Half())
    shown = console.file.getvalue()
    assert "50% · 5,000 rows · 2,500/s" in shown
    assert "1 rows" not in shown
    quiet = screen()
    monkeypatch.setattr("sureline.cli.screen.message_console", lambda: quiet)
    with rate_line(False) as tell:
        tell(1, Half())
    assert quiet.file.getvalue() == ""


def test_numbers_for_people():
    assert (percent(1, 3), percent(0, 0)) == ("33.33%", "-")
    assert (rounded(123456.0), rounded(3.2)) == ("123,000", "3")
    assert (clock(59.6), clock(3661)) == ("1:00", "1:01:01")
    assert [megabytes(n) for n in (0, 999, 1234, 5_678_901)] == [
        "0 bytes",
        "999 bytes",
        "1.2 KB",
        "5.7 MB",
    ]


# -- interruptions -----------------------------------------------------------------------------


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interruption_waits_for_the_end_of_the_work():
    done = list[str]()

    def work() -> None:
        with DeferredInterrupt() as interruption:
            with interruption.deferred():
                interrupt()
                done.append("all of it")
            done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]


def test_a_second_interruption_does_not_wait():
    done = list[str]()

    def work() -> None:
        with DeferredInterrupt() as interruption, interruption.deferred():
            interrupt()
            interrupt()
            done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == []


def test_between_works_an_interruption_is_at_once_and_afterwards_as_before():
    before = signal.getsignal(signal.SIGINT)
    with DeferredInterrupt() as interruption:
        with interruption.deferred():
            pass
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert signal.getsignal(signal.SIGINT) is before


# -- labels in long runs -----------------------------------------------------------------------


def seen(labels: list[str], in_order: bool, limit: int = 2**20) -> LabelRuns:
    watch = LabelRuns(in_order, limit)
    for start in range(0, len(labels), 100):
        part = labels[start : start + 100]
        texts = pa.array(["x" * 10] * len(part), pa.large_string())
        watch.update(Batch(text=texts, label=pa.array(part, pa.large_string())))
    return watch


def test_sorted_labels_in_their_own_order_are_worth_a_warning():
    watch = seen(["a"] * 150 + ["b"] * 150, in_order=True)
    assert watch.late()
    assert not watch.late()  # once is enough
    assert watch.warning() == (
        "labels come in long runs: 150 consecutive rows have the label 'a', and one pass "
        "over such rows learns little; leave out --no-shuffle, or shuffle the rows beforehand"
    )


def test_the_warning_need_not_wait_for_the_end_of_a_long_input():
    watch = seen(["a"] * 9_999, in_order=True)
    assert not watch.early()
    watch = seen(["a"] * 10_000, in_order=True)
    assert watch.early()
    assert not watch.early()
    assert not seen(["a"] * 10_000, in_order=False).early()
    assert not watch.late()  # one label only: another error tells


def test_labels_that_alternate_or_are_rare_are_not_worth_a_warning():
    assert not seen(["a", "b"] * 200, in_order=True).late()
    assert not seen((["a"] * 99 + ["b"]) * 20, in_order=True).late()


def test_runs_that_the_buffer_mixes_are_not_worth_a_warning():
    labels = ["a"] * 1000 + ["b"] * 1000
    assert not seen(labels, in_order=False).late()
    watch = seen(labels, in_order=False, limit=20_000)
    assert watch.late()
    assert watch.warning().endswith(
        "; raise --buffer above 0.0190735 MB, or shuffle the rows beforehand"
    )
    assert not seen((["a"] * 60 + ["b"] * 60) * 20, in_order=False, limit=20_000).late()


# -- settings ----------------------------------------------------------------------------------


def test_the_default_is_that_of_the_text_classifier():
    default = TextClassifier().chosen_estimator()
    model = Settings().text_model
    assert model.estimator.get_params() == default.get_params()
    assert type(Settings().number_model("f.svm")) is type(default)
    named = Settings(choose_rule(default).name).text_model
    assert named.estimator.get_params() == default.get_params()


@pytest.mark.parametrize("name", rules())
def test_every_rule_can_be_asked_for(name):
    model = Settings(name.upper()).text_model
    assert choose_rule(model.estimator) is rules()[name]
    assert choose_rule(Settings(name).number_model("f.svm")) is rules()[name]
    known = settable(rules()[name])
    assert {p.name for p in rules()[name].parameters} <= set(known)
    assert not {"max_iter", "early_stopping", "estimator", *rules()[name].settings} & set(known)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("r=0.3", 0.3),
        ("r = 2", 2.0),
        ("covariance=full", "full"),
        ("competitors=all", "all"),
        ("competitors=3", 3),
        ("fit_intercept=false", False),
        ("dtype=float64", "float64"),
        ("class_weight=none", None),
        ('class_weight={"spam": 2}', {"spam": 2.0}),
    ],
)
def test_values_get_the_type_of_their_parameter(pair, value):
    found = getattr(Settings("arow", (pair,)).text_model.estimator, pair.split("=")[0].strip())
    assert found == value
    assert type(found) is type(value)


def test_parameters_of_reading_that_have_no_option_can_be_set():
    assert Settings(None, ("min_length=3",)).text_model.min_length == 3
    with pytest.raises(InvalidParameter, match=r"--set min_length is about texts, but f.svm holds"):
        Settings(None, ("min_length=3",)).number_model("f.svm")
    with pytest.raises(
        InvalidParameter, match=r"--ngrams is about texts, but f.svm holds svmlight"
    ):
        Settings(None, (), {"ngrams": (1, 1)}).number_model("f.svm")


@pytest.mark.parametrize(
    ("rule", "pair", "words"),
    [
        ("arow", "C=1", "--set C: the rule arow has no such parameter; it has r, covariance, "),
        ("cw-stdev", "constraint=variance", "--set constraint: the rule cw-stdev has no such"),
        ("arow", "r", "--set takes name=value, such as r=0.3, got 'r'"),
        ("arow", "r=x", "--set r must be auto or a number, got 'x'"),
        ("arow", "competitors=x", "--set competitors must be all or a whole number, got 'x'"),
        ("arow", "fit_intercept=1", "--set fit_intercept must be true or false, got '1'"),
        ("arow", "covariance=x", "--set covariance must be diagonal-kl, diagonal-l2, "),
        ("arow", "class_weight=[1]", "--set class_weight must be none, balanced or JSON such as"),
        ("arow", "max_iter=3", "--set max_iter: use --passes instead"),
        ("arow", "memory_limit_gb=1", "--set memory_limit_gb: use --memory-limit instead"),
        ("arow", "ngrams=1,1", "--set ngrams: use --ngrams instead"),
    ],
)
def test_what_cannot_be_set_is_answered_by_what_can(rule, pair, words):
    with pytest.raises(InvalidParameter) as caught:
        Settings(rule, (pair,)).check()
    assert str(caught.value).startswith(words)


def test_values_out_of_range_are_refused_before_anything_is_read():
    with pytest.raises(InvalidParameter, match="r must be"):
        Settings("arow", ("r=-1",)).check()
    with pytest.raises(InvalidParameter, match="--set r was given twice"):
        Settings("arow", ("r=1", "r=2")).check()


def test_ranges_are_two_numbers_or_none():
    hint: Any = get_type_hints(TextClassifier)["chars"]
    assert parse_value("3,5", hint, "--chars") == (3, 5)
    assert parse_value("None", hint, "--chars") is None
    for wrong in ("3", "a,b", "1,2,3", ""):
        with pytest.raises(InvalidParameter, match="must be none, auto or two numbers such as"):
            parse_value(wrong, hint, "--chars")


def test_the_learning_options_reach_the_model():
    learning = {"max_iter": 3, "shuffle": False, "random_state": 7}
    for model in (
        Settings(learning=learning).text_model,
        Settings(learning=learning).number_model(""),
    ):
        assert {name: getattr(model, name) for name in learning} == learning
    assert sureline.TextClassifier is TextClassifier
