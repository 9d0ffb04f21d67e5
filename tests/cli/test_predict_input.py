"""Where ``sureline predict`` takes texts from: the command line, plain lines, slow pipes."""

import csv
import io
import subprocess
from pathlib import Path

import pytest
from cli_runs import command

pytest_plugins = ["cli_fixtures"]


def rows(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out)))


def test_a_text_may_be_given_on_the_command_line(model, run):
    texts = ("--string", "win a free prize", "--string", "lunch, at noon \udcff")
    code, out, err = run("predict", model, *texts, "--keep")
    assert (code, err) == (0, "")
    assert [(row["text"], row["label"]) for row in rows(out)] == [
        ("win a free prize", "spam"),
        ("lunch, at noon \ufffd", "ham"),
    ]
    Path("texts.jsonl").write_text('{"message": "win a free prize"}\n')
    [alone] = rows(run("predict", model, "--string", "win a free prize")[1])
    assert [alone] == rows(run("predict", model, "texts.jsonl")[1])


def test_texts_come_from_files_or_from_the_command_line(model, run):
    for arguments, said in (
        ((), "name files of texts to classify, - for stdin, or give a text by --string"),
        (("free lunch",), "there is no file 'free lunch'; a text is given by --string"),
        (("no such file.csv",), "there is no file 'no such file.csv'"),
        (("mail.csv", "--string", "x"), "from files or from --string, not from both; leave out"),
    ):
        code, out, err = run("predict", model, *arguments)
        assert (code, out) == (2, "")
        assert said in err


@pytest.mark.usefixtures("folder")
def test_a_model_of_numbers_takes_no_texts(run):
    Path("rows.svm").write_text("1 3:1 5:2\n0 4:1\n" * 4)
    run("train", "rows.svm", "-o", "m", "-q")
    code, _, err = run("predict", "m", "--string", "3:1")
    assert code == 2
    assert "--string holds texts, but the model takes svmlight rows" in err


def test_plain_lines_are_classified_line_by_line(model, run):
    Path("notes.txt").write_text("win a free prize, now\n\nlunch at noon?")
    code, out, _ = run("predict", model, "notes.txt", "--format", "lines", "--keep")
    assert code == 0
    assert [(row["text"], row["label"]) for row in rows(out)] == [
        ("win a free prize, now", "spam"),
        ("", rows(out)[1]["label"]),
        ("lunch at noon?", "ham"),
    ]
    code, _, err = run("predict", model, "notes.txt")
    assert code == 2
    assert "or read every line as a text (--format lines)" in err


@pytest.mark.parametrize("arguments", [("--format", "lines"), ("--json", "--format", "lines")])
def test_predictions_of_a_slow_pipe_came_only_when_it_was_closed(arguments, model):
    """Each line is written only after the prediction of the one before has been read."""
    process = subprocess.Popen(
        command("predict", model, "-", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for number in range(3):
            process.stdin.write("free prize\n")
            process.stdin.flush()
            if number == 0 and "--json" not in arguments:
                assert process.stdout.readline() == "label,probability,margin,variance\n"
            assert "spam" in process.stdout.readline()
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0
