"""LIBLINEAR's programs, as Debian packages them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shutil import which

from benchmarks.rivals.data import Rows
from benchmarks.rivals.entries import Entry
from benchmarks.rivals.machine import debian_version
from benchmarks.rivals.timing import run_program

NAME = "LIBLINEAR"


def missing() -> str:
    """A sentence if it is not installed."""
    if which("liblinear-train") is None:
        return "LIBLINEAR's programs are not installed: apt-get install liblinear-tools, on Debian."
    return ""


def version() -> str:
    """The version of Debian's package; the program does not report it."""
    return debian_version("liblinear-tools")


def sparse(rows: Rows) -> list[Entry]:
    """The solver that it takes by default; it keeps only columns in use, so once is enough."""
    if rows.X.shape[1] != 2**22:
        return []
    return _solvers(rows, {"1": "a support vector machine"})


def classes(rows: Rows) -> list[Entry]:
    """One class against the rest, and all classes at once."""
    return _solvers(
        rows, {"1": "support vector machines, one per class", "4": "Crammer and Singer's machine"}
    )


def _solvers(rows: Rows, solvers: dict[str, str]) -> list[Entry]:
    """An entry a solver; both programs read and write files."""
    train, test = rows.write("svm", 1), rows.write("svm", 1, held=True)
    answers = train.with_suffix(".answers")

    def run(solver: str) -> Path:
        model = train.with_suffix(f".model{solver}")
        run_program(["liblinear-train", "-q", "-s", solver, "-B", "1", str(train), str(model)])
        return model

    def accuracy(model: Path) -> float:
        run_program(["liblinear-predict", str(test), str(model), str(answers)])
        found = answers.read_text().split()
        return float(
            sum(int(a) == b + 1 for a, b in zip(found, rows.y_test, strict=True)) / len(found)
        )

    return [
        Entry(
            f"liblinear-train -s {solver}",
            f"a process that reads a text file, solves {problem}, and writes a model",
            partial(run, solver),
            accuracy=accuracy,
            tag="solver",
            warm=False,
        )
        for solver, problem in solvers.items()
    ]
