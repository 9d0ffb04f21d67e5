"""``sureline compare``: every rule, and scikit-learn's baselines, under one protocol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from sureline.cli.groups import Declared, Given, any_of, flag, with_options
from sureline.cli.options import FEATURES, FILES, MemoryFlags, TrainingInput, complete_rules
from sureline.cli.paths import check_not_an_input, check_place
from sureline.cli.search_options import LearnerOptions, ProtocolOptions, SearchOutput
from sureline.data.formats import FORMATS
from sureline.errors import InvalidParameter
from sureline.evaluation.search import BASELINES, DEFAULT
from sureline.options import Covariance, TextFeaturesOptions

COVARIANCES = get_args(Covariance)
OUTPUT_FORMATS = ("table", "markdown", "latex", "csv", "json")


@dataclass(frozen=True)
class Learners(LearnerOptions):
    """Which learners take part."""

    rules: list[str] | None = flag(
        "--rules A,B,C",
        "Which rules; may be repeated. Default: all, as sureline rules lists them.",
        complete=complete_rules,
    )
    default: bool = flag(
        "--no-default", f"Leave out {DEFAULT}, what train learns without options.", True
    )
    baselines: list[str] | None = flag(
        "--baselines A,B,C",
        f"Which of scikit-learn's: {', '.join(BASELINES)}; or none. Default: all.",
        complete=(*BASELINES, "none"),
    )
    covariances: list[str] | None = flag(
        "--covariances A,B,C",
        f"Compare each rule with each of these that it supports: {', '.join(COVARIANCES)}. "
        "Default: diagonal-kl.",
        complete=COVARIANCES,
        hidden=True,
    )


@dataclass(frozen=True)
class Tasks(ProtocolOptions):
    """How learners are evaluated, and on what."""

    test: list[str] | None = flag(
        "--test FILE",
        "Evaluate on these rows; may be repeated. Default with hold-out: a random fifth.",
    )
    demo: bool = flag("--demo", "Compare on the text messages that come with sureline.", False)
    each: bool = flag(
        "--each", "Every FILE is a task of its own; ranks are averaged over the tasks.", False
    )

    @property
    def name(self) -> Any:
        """The name of the protocol."""
        return self.protocol or ("hold-out" if self.test else "k-fold")

    def describe(self) -> str:
        """The protocol in words."""
        if self.name == "k-fold":
            return (
                f"{self.folds} stratified folds, settings tuned on one random split of the same "
                "rows"
            )
        if self.name == "progressive":
            return (
                "progressive: blocks that double, each predicted before it is learned; settings "
                "tuned on one random split of the same rows"
            )
        where = ", ".join(self.test) if self.test else "a random fifth of the rows"
        return f"evaluated on {where}, settings tuned on one random split of the others"


@dataclass(frozen=True)
class Output(SearchOutput):
    """What is printed and written."""

    output_format: str = flag(
        "--output-format F",
        f"How to print the result: {any_of(OUTPUT_FORMATS)}.",
        "table",
        choices=OUTPUT_FORMATS,
    )
    path: str | None = flag(
        "--output -o OUT", "Also write all figures to this file, .csv or .json."
    )
    plot: str | None = flag(
        "--plot FILE",
        "Draw the errors, as .png, .svg or .pdf; needs the extra plots (matplotlib).",
    )


@with_options
def compare(
    files: Annotated[list[str] | None, FILES] = None,
    *,
    reading: TrainingInput,
    learners: Learners,
    tasks: Tasks,
    features: Annotated[Given, Declared(TextFeaturesOptions, FEATURES)],
    memory: MemoryFlags,
    output: Output,
) -> None:
    """Compare all rules, and scikit-learn's classifiers, on your rows.

    The first row is what train learns without options. Every other learner gets the same features,
    and is tuned on one random split, as in the papers.

    All are then evaluated on folds. The table shows which are significantly worse than the best.

    For example, as a table for a paper:

        sureline compare mail.csv --output-format latex
    """
    inputs = files or []
    _check_together(inputs, tasks, reading.format)
    _check_outputs(output.path, output.plot, [*inputs, *(tasks.test or ())])

    from sureline.cli.screen import loading

    with loading(output.quiet):
        from sureline.cli.compare.run import run

    run(inputs, reading, learners, tasks, features, memory, output)


def _check_together(files: list[str], tasks: Tasks, input_format: str | None) -> None:
    """Refuse, before anything is loaded, options that do not go together."""
    if input_format in OUTPUT_FORMATS and input_format not in FORMATS:
        raise InvalidParameter(
            f"--format is the format of the input; use --output-format {input_format}"
        )
    if not files and not tasks.demo:
        raise InvalidParameter("name files of labelled rows to compare on, or use --demo")
    if files and tasks.demo:
        raise InvalidParameter("--demo brings its own rows; leave out the files, or --demo")
    if tasks.test and tasks.name != "hold-out":
        raise InvalidParameter(f"--test goes with the protocol hold-out, not with {tasks.name}")
    if tasks.test and (tasks.each or tasks.demo):
        other = "--each" if tasks.each else "--demo"
        raise InvalidParameter(f"--test and {other} cannot be given together; leave out one")
    if not tasks.shuffle and tasks.name != "progressive":
        raise InvalidParameter("--no-shuffle goes with --protocol progressive")


def _check_outputs(output: str | None, plot: str | None, inputs: list[str]) -> None:
    """Refuse, before any work, what cannot be written."""
    endings = {"-o": (output, (".csv", ".json")), "--plot": (plot, (".png", ".svg", ".pdf"))}
    for option, (path, allowed) in endings.items():
        if path is None:
            continue
        if Path(path).suffix.lower() not in allowed:
            raise InvalidParameter(
                f"{option} {path}: end the name in {', '.join(allowed[:-1])} or {allowed[-1]}"
            )
        check_place(path, option)
        check_not_an_input(path, option, inputs)
    if plot is not None:
        from importlib.util import find_spec

        if find_spec("matplotlib") is None:
            raise InvalidParameter(
                "--plot needs matplotlib; install it with pip install 'sureline[plots]'"
            )
