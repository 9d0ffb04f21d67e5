"""What docs/cli.md shows of commands on its file of mail is what they print."""

import re
import shlex
from pathlib import Path

import pytest
from cli_runs import MAIL, tidy

pytest_plugins = ["cli_fixtures"]

PAGE = (Path(__file__).parents[2] / "docs/cli.md").read_text(encoding="utf-8")
# Commands on these files are shown, but the files do not come with sureline.
ELSEWHERE = ("imdb", "big.csv")
MORE = "message,kind\nyour invoice,bill\nfree invoice,spam\n"


def shown() -> list[tuple[str, str]]:
    """The commands of the page that can be run, in order, each with what stands below it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    pairs = [
        (command, below)
        for block in blocks
        for command, below in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]
    return [pair for pair in pairs if not any(name in pair[0] for name in ELSEWHERE)]


def settled(text: str) -> str:
    """Output without sizes, times and checksums, and with the first digits of long numbers."""
    text = re.sub(r"(size +)[\d.]+ KB", r"\1SIZE", tidy(text))
    text = re.sub(r"(sha256 +)[0-9a-f]{16}", r"\1SUM", text)
    return re.sub(r"\d\.\d{8,}", lambda number: f"{float(number[0]):.4f}", text)


def test_the_page_shows_the_file_of_mail():
    assert f"\n```text\n{MAIL}```\n" in PAGE


@pytest.mark.usefixtures("folder")
def test_commands_print_what_the_page_shows(run):
    Path("more.csv").write_text(MORE, encoding="utf-8")
    commands = shown()
    names = [shlex.split(command)[1] for command, _ in commands]
    assert {"train", "predict", "inspect", "merge"} <= set(names)
    for command, below in commands:
        program, *arguments = shlex.split(command)
        assert program == "sureline"
        if "--resume" in arguments:
            assert run(*arguments[:-1])[0] == 0  # leaves the checkpoint to go on from
        code, out, err = run(*arguments)
        assert code == (2 if err.startswith("sureline: --set") else 0), command
        printed = settled(err + out)
        # Three dots stand for lines that are left out.
        first, *others = settled(below).split("...\n")
        assert printed.startswith(first), command
        if not others:
            assert printed == first, command
        at = len(first)
        for part in others:
            at = printed.index(part, at) + len(part)
        if others and others[-1]:
            assert printed.endswith(others[-1]), command
