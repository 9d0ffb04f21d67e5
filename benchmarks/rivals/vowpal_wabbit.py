"""Vowpal Wabbit, in this process, from text files of its own and from its binary cache."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version as installed
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.rivals.data import Rows, Split, Texts
from benchmarks.rivals.entries import Entry

NAME = "Vowpal Wabbit"
BITS = 22  # of its table, where it is not asked to take as many as it does by itself, 18
THREADS = 2  # one parses, one learns


def missing() -> str:
    """A sentence if it is not installed."""
    if find_spec("vowpalwabbit") is None:
        return "Vowpal Wabbit is not installed: pip install vowpalwabbit."
    return ""


def version() -> str:
    """The version that runs."""
    return installed("vowpalwabbit")


def run_file(arguments: str) -> Any:
    """A workspace that has read its file to the end."""
    from vowpalwabbit import Workspace

    made = Workspace(f"--quiet {arguments}")
    if not made.parser_ran:  # newer versions begin by themselves
        made.run_parser()
    return made


def _file(texts: Texts, name: str) -> Path:
    """Plain words with labels -1 and 1."""
    first, second = texts.names
    return texts.write(name, {first: "-1 | ", second: "1 | "})


def text(split: Split) -> list[Entry]:
    """One pass over its own file: words and pairs."""
    train, test = _file(split.train, "train.vw"), split.test
    second = test.names[-1]

    def accuracy(model: Any) -> float:
        answers = [model.predict(f"| {line}") > 0 for line in test.plain]
        return float(np.mean(answers == (test.labels == second)))

    return [
        Entry(
            f"VW {described}",
            "reads a file of plain lower-case words written for it beforehand, makes pairs, "
            "and learns; one pass",
            partial(run_file, f"-d {train} {described}"),
            threads=THREADS,
            accuracy=accuracy,
            tag="18 bits" if described == "--ngram 2" else f"{BITS} bits",
        )
        for described in (
            "--ngram 2",
            f"--ngram 2 -b {BITS}",
            f"--ngram 2 -b {BITS} --loss_function logistic",
        )
    ]


def predict(split: Split) -> list[Entry]:
    """Classify a file of plain words with a stored model."""
    train, test = _file(split.train, "train.vw"), _file(split.test, "test.vw")
    model, answers = test.with_suffix(".model"), test.with_suffix(".answers")
    run_file(f"-d {train} --ngram 2 -b {BITS} -f {model}").finish()
    truth = split.test.labels == split.test.names[-1]

    def run() -> np.ndarray:
        run_file(f"-t -d {test} -i {model} -p {answers}").finish()
        return np.loadtxt(answers) > 0

    return [
        Entry(
            f"VW --ngram 2 -b {BITS}",
            "loads a model, reads a file of plain words written for it beforehand, classifies, "
            "and writes a file of predictions, which is read",
            run,
            threads=THREADS,
            accuracy=lambda found: np.mean(found == truth),
        )
    ]


def classes(rows: Rows) -> list[Entry]:
    """One against all, from its text file and from its binary cache."""
    count = int(rows.y.max()) + 1
    # A weight per feature and class, the number of classes rounded up to a power of two.
    bits = (rows.X.shape[1] - 1).bit_length() + (count - 1).bit_length()
    file = rows.write("vw", 0, between=" | ")
    cache = file.with_suffix(".cache")
    learn = f"--oaa {count} -b {bits}"
    run_file(f"-d {file} {learn} --cache_file {cache} -k").finish()
    tests = list(rows.lines(0, held=True))

    def accuracy(model: Any) -> float:
        answers = np.array([model.predict(f"| {line}") for line in tests])
        return float(np.mean(answers == rows.y_test + 1))

    return [
        Entry(
            f"VW {learn}, {kind}",
            f"reads the rows from {described}, and learns; one pass",
            partial(run_file, f"{learn} {source}"),
            threads=THREADS,
            accuracy=accuracy,
            tag="oaa",
        )
        for kind, described, source in (
            ("text", "a text file", f"-d {file}"),
            ("cache", "its binary cache", f"-d {file} --cache_file {cache}"),
        )
    ]
