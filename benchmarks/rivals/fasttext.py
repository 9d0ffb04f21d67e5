"""fastText's program, as Debian packages it."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from shutil import which
from time import perf_counter
from typing import Any

from benchmarks.rivals.data import Split, Texts
from benchmarks.rivals.entries import Clocked, Entry
from benchmarks.rivals.machine import cores, debian_version
from benchmarks.rivals.timing import run_program

NAME = "fastText"
RATE = 0.5  # with its default, 0.1, one epoch learns next to nothing of reviews


def missing() -> str:
    """A sentence if it is not installed."""
    if which("fasttext") is None:
        return "fastText's program is not installed: apt-get install fasttext, on Debian."
    return ""


def version() -> str:
    """The version of Debian's package; the program does not report it."""
    return debian_version("fasttext")


def _file(texts: Texts, name: str) -> Path:
    """Plain words with labels before them."""
    return texts.write(name, {label: f"__label__{label} " for label in texts.names})


def text(split: Split) -> list[Entry]:
    """One epoch and five, with words and pairs."""
    train, test = _file(split.train, "train.txt"), _file(split.test, "test.txt")
    threads = cores()

    def run(epochs: int) -> Clocked:
        model = train.with_suffix("")
        command = ["fasttext", "supervised", "-input", str(train), "-output", str(model)]
        command += ["-wordNgrams", "2", "-epoch", str(epochs), "-lr", str(RATE)]
        command += ["-thread", str(threads)]
        return Clocked(_train(command), model.with_suffix(".bin"))

    def accuracy(model: Path) -> float:
        printed = run_program(["fasttext", "test", str(model), str(test)]).stdout
        return next(
            float(line.split()[1]) for line in printed.splitlines() if line.startswith("P@1")
        )

    return [
        Entry(
            f"fasttext supervised -epoch {epochs}",
            "a process that reads a file of plain lower-case words written for it beforehand, "
            "makes pairs, and learns; writing the model is not counted",
            partial(run, epochs),
            threads=threads,
            accuracy=accuracy,
            tag=f"epochs {epochs}",
            warm=False,
        )
        for epochs in (1, 5)
    ]


def _train(command: list[str]) -> float:
    """Seconds until the program says that learning has ended; then it writes its model."""
    start = perf_counter()
    said, seconds = b"", 0.0
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
    ) as program:
        stream: Any = program.stdout
        while part := stream.read(4096):
            said = (said + part)[-4096:]
            # It repeats one line, ended by \r; the last time, by \n.
            if not seconds and b"Progress: 100.0%" in said and said.endswith(b"\n"):
                seconds = perf_counter() - start
    if program.returncode or not seconds:
        raise subprocess.CalledProcessError(
            program.returncode, command, output=said.decode(errors="replace")
        )
    return seconds
