"""Where a checkout keeps the experiments, which papers there are, and how one is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sureline.errors import InvalidParameter

NAME = "experiments"


def find_experiments(given: Path | None) -> Path:
    """The experiments folder: the one given, beside the package's sources, or in this folder."""
    if given is not None:
        folder = given.resolve()
        if folder.name != NAME:
            raise InvalidParameter(
                f"--experiments must name the folder {NAME} of a checkout of sureline, got "
                f"{str(given)!r}"
            )
        if not _holds_papers(folder):
            raise InvalidParameter(
                f"--experiments: there are no papers in {str(given)!r}; name the folder {NAME} of "
                "a checkout of sureline"
            )
        return folder
    import sureline

    checkout = Path(sureline.__file__).resolve().parents[2]
    for folder in (checkout / NAME, Path.cwd() / NAME):
        if _holds_papers(folder):
            return folder
    raise InvalidParameter(
        "reproduce needs a checkout of sureline, and there is none beside the installed package "
        f"nor in the current folder; run it in one, or name its folder with --{NAME} DIR"
    )


def _holds_papers(folder: Path) -> bool:
    """Whether this is the experiments folder of a checkout, not anybody's folder of that name."""
    return (folder / "cells.py").is_file() and any(folder.glob("*/run.py"))


def list_papers(folder: Path) -> dict[str, str]:
    """The papers by name, with the first line of what their run.py says of itself.

    A paper's folder has what it prints, paper.csv. The comparison that defaults are chosen from is
    no paper, but has claims.csv and is run in the same way.
    """
    import ast

    papers = {}
    for run in sorted(folder.glob("*/run.py")):
        if any(run.with_name(name).is_file() for name in ("paper.csv", "claims.csv")):
            said = ast.get_docstring(ast.parse(run.read_text(encoding="utf-8"))) or ""
            papers[run.parent.name] = said.partition("\n")[0]
    return papers


def run_paper(name: str, folder: Path, options: list[str], quiet: bool = False) -> int:
    """Run a paper's run.py in a process of its own, and return its exit code.

    With `quiet`, its tables are not printed.
    """
    command = [sys.executable, "-m", f"{folder.name}.{name}.run", *options]
    paths = [str(folder.parent), os.environ.get("PYTHONPATH", "")]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    sys.stdout.flush()
    out = subprocess.DEVNULL if quiet else None
    with subprocess.Popen(command, env=surroundings, stdout=out) as process:  # noqa: S603, ours
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # it was interrupted too, and says so itself


def read_results(name: str, folder: Path, quick: bool, output: Path | None) -> dict[str, Any]:
    """The figures and claims that a run has written, as JSON can hold them."""
    written = folder / ".cache" / "results" / f"{name}-quick" if quick else folder / name
    written = output or written
    figures = _read(written / "ours.csv")
    for row in figures:
        for column in ("figure", "level"):
            row[column] = float(row[column]) if row[column] else None
    return {
        "paper": name,
        "folder": str(written),
        "figures": figures,
        "claims": _read(written / "claims.csv"),
    }


def _read(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file, or none where there is no file."""
    import csv

    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
