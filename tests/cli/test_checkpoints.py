"""Checkpoints: a run that is killed or interrupted ends with the model of an undisturbed one."""

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import slow
from checkpoints import KILLS, position, write_rows
from cli_runs import COLUMNS, MAIL, command

from sureline import load
from sureline.cli.train.checkpoint import (
    SUMS,
    Position,
    add_rows,
    random_state,
    set_random_state,
)
from sureline.data import Reader
from sureline.errors import ModelFileError
from sureline.model.file import read, write

pytest_plugins = ["cli_fixtures"]

KEPT = ("--checkpoint", "c.sureline", "--every", "3")


# -- kill -9 -----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", ["texts", *slow("numbers")])
def test_a_run_killed_at_any_moment_ends_with_exactly_the_same_file(kind, folder, run):
    if kind == "texts":
        write_rows()
        file, options = "rows.csv", ("--features", "vocabulary", "--max-features", "2000")
    else:
        file, options = "rows.svm", ("--rule", "adagrad-rda")
        rng = np.random.RandomState(0)
        rows = [
            f"{rng.randint(3)} " + " ".join(f"{j}:1" for j in sorted(rng.choice(900, 8, False)))
            for _ in range(600)
        ]
        Path(file).write_text("\n".join(rows) + "\n")
    every = ("--every", "50", "--passes", "2", "--quiet", *options)
    arguments = ("train", file, "-o", "m.sureline", "--checkpoint", "c.sureline", *every)
    assert run(*arguments)[0] == 0
    expected = hashlib.sha256(Path("m.sureline").read_bytes()).hexdigest()
    Path("m.sureline").unlink()
    Path("c.sureline").unlink()
    kill_loop = Path(__file__).parents[1] / "support" / "kill_loop.py"
    done = subprocess.run(
        [sys.executable, str(kill_loop), str(KILLS), *arguments, "--resume"],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["codes"].count(-signal.SIGKILL) == KILLS
    assert set(told["codes"]) <= {-signal.SIGKILL, 0}
    assert set(told["digests"]) == {expected}
    assert all(examples % 50 == 0 for examples in told["examples"])


# -- going on ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_checkpoints_stand_at_exact_numbers_of_examples(run):
    assert run("train", "mail.csv", *COLUMNS, "-o", "m", "-q", *KEPT, "--passes", "2")[0] == 0
    stands = position()
    assert (stands["examples"], stands["passes"], stands["rows"]) == (15, 1, 7)


@pytest.mark.usefixtures("folder")
def test_resuming_says_where_it_goes_on_and_ends_with_the_same_bytes(run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", *KEPT, "--passes", "2")
    assert run(*arguments, "-q")[0] == 0
    whole = Path("m").read_bytes()
    Path("m").unlink()
    code, out, err = run(*arguments, "--resume")
    assert (code, out.splitlines()[:5]) == (
        0,
        [
            "model     m (SIZE)",
            "rule      arow: r = auto, covariance = diagonal-kl",
            "classes   2: ham, spam",
            "features  50",
            "examples  16 in 2 passes",
        ],
    )
    assert (
        err
        == """\
sureline: continuing from c.sureline, after 15 examples
    examples classes    features     error     since  changing
          16       2          50    18.75%     0.00%   100.00%
"""
    )
    assert Path("m").read_bytes() == whole
    assert run(*arguments, "--resume", "--quiet")[2] == ""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_resumed_run_makes_the_passes_that_were_chosen(jobs, run, monkeypatch):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", *KEPT, "--jobs", jobs, "-q")
    assert run(*arguments)[0] == 0
    whole = Path("m").read_bytes()
    chosen = position()["chosen"]
    assert (chosen, load("m").n_iter_) == (chosen, chosen)
    assert chosen > 1

    def refuse(*_: object) -> None:
        raise AssertionError("the choice is in the checkpoint")

    monkeypatch.setattr("sureline.cli.train.run.choose_passes_for", refuse)
    assert run(*arguments, "--resume")[0] == 0
    assert Path("m").read_bytes() == whole


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("before", "now"), [("auto", "3"), ("3", "auto")])
def test_a_chosen_number_of_passes_and_a_given_one_are_different_runs(before, now, run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", *KEPT, "-q")
    assert run(*arguments, "--passes", before)[0] == 0
    code, _, err = run(*arguments, "--passes", now, "--resume")
    assert code == 2
    assert "is a checkpoint of a run with passes " in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("passes", ["1", "2"])
def test_texts_that_were_counted_first_are_not_counted_again(passes, run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", *KEPT, "--count-first")
    arguments += ("--passes", passes)
    assert run(*arguments, "-q")[0] == 0
    whole = Path("m").read_bytes()
    Path("m").unlink()
    code, _, err = run(*arguments, "--resume")
    assert (code, "counted" in err) == (0, False)
    assert Path("m").read_bytes() == whole
    without = tuple(each for each in arguments if each != "--count-first")
    code, _, err = run(*without, "--resume")
    assert code == 2
    assert "c.sureline is a checkpoint of a run with count-first True, but this one has no" in err


@pytest.mark.usefixtures("folder")
def test_a_run_interrupted_while_it_counts_starts_anew(run, monkeypatch):
    def interrupted(self, batch):
        raise KeyboardInterrupt

    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", *KEPT, "--count-first", "-q")
    assert run(*arguments)[0] == 0
    whole = Path("m").read_bytes()
    Path("m").unlink()
    Path("c.sureline").unlink()
    with monkeypatch.context() as patched:
        patched.setattr("sureline.estimators.stream.StreamTrainer.count", interrupted)
        code, _, err = run(*arguments)
    assert (code, Path("c.sureline").exists()) == (130, False)
    assert "interrupted after 0 examples" in err
    assert run(*arguments, "--resume")[0] == 0
    assert Path("m").read_bytes() == whole


@pytest.mark.usefixtures("folder")
def test_a_resumed_run_may_have_more_passes_than_were_planned(run):
    arguments = ("train", "mail.csv", *COLUMNS, "-q", *KEPT)
    assert run(*arguments, "-o", "m", "--passes", "3")[0] == 0
    whole = Path("m").read_bytes()
    Path("c.sureline").unlink()
    assert run(*arguments, "-o", "m", "--passes", "2")[0] == 0
    assert run(*arguments, "-o", "m", "--passes", "3", "--resume")[0] == 0
    assert Path("m").read_bytes() == whole
    assert run(*arguments, "-o", "m", "--passes", "1", "--resume") == (
        2,
        "",
        "sureline: c.sureline is in pass 3, but --passes is 1; give as many as before, or more\n",
    )


@pytest.mark.usefixtures("folder")
def test_without_a_checkpoint_resuming_starts_from_the_beginning(run):
    code, _, err = run("train", "mail.csv", *COLUMNS, "-o", "m", *KEPT, "--resume")
    assert code == 0
    assert err.splitlines()[0] == (
        "sureline: there is no checkpoint c.sureline yet: starting from the beginning"
    )


@pytest.mark.usefixtures("folder")
def test_a_checkpoint_that_is_not_resumed_is_replaced_with_a_warning(run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "-q", *KEPT)
    assert run(*arguments)[2] == ""
    assert run(*arguments)[2] == (
        "sureline: c.sureline holds an earlier run, which this one replaces; --resume would "
        "continue it\n"
    )


def test_training_further_can_be_resumed(model, run):
    arguments = ("train", "mail.csv", "--continue", model, "-o", "m", "-q", *KEPT)
    assert run(*arguments)[0] == 0
    whole = Path("m").read_bytes()
    assert run(*arguments, "--resume")[0] == 0
    assert Path("m").read_bytes() == whole


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--seed", "1"],
            "c.sureline is a checkpoint of a run with seed 0, but this one has seed 1; use the "
            "same options, or start again without --resume",
        ),
        (
            ["--rule", "pa"],
            "c.sureline is a checkpoint of a run with no rule, but this one has rule 'pa'; use the "
            "same options, or start again without --resume",
        ),
        (
            ["--ngrams", "1,1"],
            "c.sureline is a checkpoint of a run with no ngrams, but this one has ngrams [1, 1]; "
            "use the same options, or start again without --resume",
        ),
        (
            ["more.csv"],
            "c.sureline is a checkpoint of a run on mail.csv (SIZE), but this one reads "
            "mail.csv (SIZE), more.csv (SIZE); give the same files, or start again without "
            "--resume",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_checkpoint_of_another_run_is_refused(options, sentence, run):
    Path("more.csv").write_text("message,kind\nhi,ham\n")
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "-q", *KEPT)
    assert run(*arguments)[0] == 0
    assert run(*arguments, *options, "--resume") == (2, "", f"sureline: {sentence}\n")


@pytest.mark.usefixtures("folder")
def test_other_rows_of_the_same_size_are_noticed(run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "-q", *KEPT)
    assert run(*arguments)[0] == 0
    Path("mail.csv").write_text(MAIL.replace("lunch", "brunc"))
    assert run(*arguments, "--resume") == (
        2,
        "",
        "sureline: c.sureline is a checkpoint of a run on other rows: the first 6 of this pass are "
        "not those that it learned; give the same data in the same order, or start again without "
        "--resume\n",
    )


def test_a_model_that_is_no_checkpoint_is_refused(model, run):
    options = ("-o", "m", "-q", "--checkpoint", model, "--resume")
    assert run("train", "mail.csv", *COLUMNS, *options) == (
        2,
        "",
        "sureline: mail.sureline is a model, but no checkpoint; leave out --resume, or use "
        "--continue to train it further\n",
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("rows", -1, "its position in the run is damaged"),
        ("digest", [1], "its position in the run is damaged"),
        ("random", {"key": [1, 2], "pos": 0}, "its random state is damaged"),
        ("random", {}, "its random state is damaged"),
    ],
)
def test_a_damaged_position_is_refused(name, value, sentence, run):
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "-q", *KEPT)
    assert run(*arguments)[0] == 0
    opened = read("c.sureline")
    opened.metadata["notes"]["run"]["position"][name] = value
    write("c.sureline", opened.metadata, dict(opened.tensors))
    assert run(*arguments, "--resume") == (2, "", f"sureline: c.sureline is damaged: {sentence}\n")


def test_positions_survive_json():
    rng = np.random.RandomState(5)
    rng.rand(7)
    here = Position(1, 2, 3, 0, random_state(rng), [4] * SUMS, [1, 1, 0], None)
    read_back = Position.from_json(json.loads(json.dumps(dataclasses.asdict(here))))
    assert read_back == here
    other = np.random.RandomState(0)
    set_random_state(other, read_back.random)
    assert (other.permutation(50) == rng.permutation(50)).all()
    with pytest.raises(ModelFileError, match="position"):
        Position.from_json({"passes": 1})


NONE = [0] * SUMS
VW = "1 2.0 'a | free prize:2 now\n-1 | see you\n1 0.5 | prize:3 price:1\n-1 | at noon\n"


@pytest.mark.usefixtures("folder")
def test_the_digest_of_rows_does_not_depend_on_how_they_are_cut():
    Path("rows.svm").write_text("1 3:1 5:2\n0 4:1\n1\n0 9:1\n")
    Path("rows.vw").write_text(VW)
    mail = {"text": "message", "label": "kind"}
    for file, options in (("mail.csv", mail), ("rows.svm", {}), ("rows.vw", {})):
        [batch] = Reader([file], **options)
        whole = add_rows(NONE, batch)
        for cut in range(1, len(batch)):
            parts = add_rows(NONE, batch.slice(0, cut))
            assert add_rows(parts, batch.slice(cut, len(batch))) == whole
        assert whole != add_rows(NONE, batch.slice(0, len(batch) - 1))
        assert add_rows([0, 0], batch) == whole[:2]  # as in older checkpoints


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (VW, VW.replace("2.0", "3.0")),
        (VW, VW.replace("prize:3", "prize:4")),
        (VW, VW.replace("price:1", "prise:1")),
        ("1 3:1 5:2\n0 4:1\n", "1 3:1 6:2\n0 4:1\n"),
        ("1 3:1 5:2\n0 6:1\n", "1 3:1\n0 5:2 6:1\n"),
        ("text,label\nab,x\nc,y\n", "text,label\na,x\nbc,y\n"),
        ("text,label\na,xy\nb,z\n", "text,label\na,x\nb,yz\n"),
        ("text,label,weight\na,x,1\nb,y,2\n", "text,label,weight\na,x,2\nb,y,1\n"),
    ],
    ids=["importance", "value", "name", "feature", "row", "letter", "label", "weight"],
)
def test_whatever_changes_what_is_learned_changes_the_digest(before, after, tmp_path):
    end = "vw" if "|" in before else "csv" if "," in before else "svm"
    path, sums = tmp_path / f"rows.{end}", []
    options = {"weight": "weight"} if "weight" in before else {}
    for text in (before, after):
        path.write_text(text)
        [batch] = Reader([path], **options)
        sums.append(add_rows(NONE, batch))
    assert sums[0] != sums[1]


@pytest.mark.usefixtures("folder")
def test_a_flipped_bit_does_not_get_a_valid_checksum(run):
    """A model made from a damaged one would have a checksum of its own, which is right."""
    arguments = ("train", "mail.csv", *COLUMNS, "-q", *KEPT)
    assert run(*arguments, "-o", "m")[0] == 0
    for path in ("c.sureline", "m"):
        whole = bytearray(Path(path).read_bytes())
        whole[-5] ^= 4
        Path(path).write_bytes(whole)
    sentence = "is damaged: its contents do not match its checksum"
    for damaged, others in (
        ("c.sureline", (*arguments, "-o", "n", "--resume")),
        ("m", ("train", "mail.csv", *COLUMNS, "-q", "-o", "n", "--continue", "m")),
        ("m", ("merge", "m", "m", "-o", "n")),
    ):
        assert run(*others) == (2, "", f"sureline: {damaged} {sentence}\n")


# -- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals differ elsewhere")
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="slow if nothing is compiled")
def test_an_interrupted_run_saves_says_how_to_go_on_and_does_so(folder, run):
    arguments = ("train", "-", *COLUMNS, "-o", "m", "--no-shuffle", "--checkpoint", "c.sureline")
    with subprocess.Popen(
        command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # Enough for the reader to give the first rows, and then nothing.
        rows = (MAIL.splitlines(keepends=True)[1:] * 20_000)[: 2**17]
        process.stdin.write(("message,kind\n" + "".join(rows)).encode())
        process.stdin.flush()
        lines = list[bytes]()
        while not lines or lines[-1].split()[:1] != [b"4,096"]:
            lines.append(process.stderr.readline())
            assert lines[-1], b"".join(lines)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read().decode().splitlines()
        assert process.stdout is not None
        assert (process.wait(), process.stdout.read()) == (130, b"")
        process.stdin.close()
    examples = position()["examples"]
    assert rest[-1] == (
        f"sureline: interrupted after {examples:,} examples, which are saved in c.sureline; to "
        "continue, give the same command with --resume"
    )
    assert not Path("m").exists()


@pytest.mark.usefixtures("folder")
def test_an_interruption_in_the_middle_is_told_with_what_was_saved(run, monkeypatch):
    def interrupted(reader):
        yield from Reader.__iter__(reader)
        raise KeyboardInterrupt

    class Interrupted(Reader):
        __iter__ = interrupted

    monkeypatch.setattr("sureline.cli.train.input.Reader", Interrupted)
    arguments = ("train", "mail.csv", *COLUMNS, "-o", "m", "-q", "--no-shuffle")
    assert run(*arguments) == (
        130,
        "",
        "sureline: interrupted after 8 examples; nothing was saved: with --checkpoint PATH, a run "
        "can be interrupted and resumed\n",
    )
    assert run(*arguments, "--checkpoint", "c.sureline") == (
        130,
        "",
        "sureline: interrupted after 8 examples, which are saved in c.sureline; to continue, give "
        "the same command with --resume\n",
    )
    monkeypatch.setattr("sureline.cli.train.input.Reader", Reader)
    assert run(*arguments, "--checkpoint", "c.sureline", "--resume")[0] == 0
    resumed = Path("m").read_bytes()
    assert run(*arguments)[0] == 0
    assert Path("m").read_bytes() == resumed
