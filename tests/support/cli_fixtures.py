"""Fixtures for the command line: how a command is run, a folder to run it in, a model."""

from pathlib import Path

import pytest
from cli_runs import COLUMNS, MAIL, Run, tidy

from sureline.cli import main


@pytest.fixture
def _plain_screen(monkeypatch):
    """A screen of 80 columns without colour, whatever the terminal of whoever runs the tests."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "SURELINE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def run(_plain_screen, capsys) -> Run:
    """Runs a command in this process: its exit code, stdout and stderr, tidied."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return code, tidy(out), tidy(err)

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder of one's own to work in, with the file of mail in it."""
    monkeypatch.chdir(tmp_path)
    Path("mail.csv").write_text(MAIL, encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(folder, run) -> str:
    """A model of the mail."""
    assert (
        run("train", "mail.csv", *COLUMNS, "-o", "mail.sureline", "--quiet", "--passes", "1")[0]
        == 0
    )
    return "mail.sureline"
