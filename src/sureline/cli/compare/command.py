"""``sureline compare``: every rule, and scikit-learn's baselines, under one protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureline.cli.groups import Declared, Given, any_of, flag, with_options
from sureline.cli.options import FEATURES, LabelledInput, complete_rules
from sureline.cli.search_options import LearnerOptions, ProtocolOptions, SearchOutput
from sureline.data.formats import FORMATS as INPUT_FORMATS
from sureline.errors import InvalidParameter
from sureline.evaluation.search import BASELINES
from sureline.options import TextFeaturesOptions

if TYPE_CHECKING:
    from sureline.cli.compare.results import Results
    from sureline.cli.search import RuleSettings
    from sureline.evaluation.search.candidates import Candidate
    from sureline.evaluation.search.dataset import Dataset

# As sureline.rules has them; repeated so that help need not import it.
COVARIANCES = ("diagonal-kl", "diagonal-l2", "diagonal-exact", "full")
FORMATS = ("table", "markdown", "latex", "csv", "json")
DEMO = "SMS Spam Collection"


@dataclass(frozen=True)
class Input(LabelledInput):
    """The rows; ``--format`` is the format of the output."""

    format: str | None = flag(
        "--input-format F",
        f"{any_of(INPUT_FORMATS)}. Default: inferred from the file name, or from the first bytes.",
        complete=INPUT_FORMATS,
        hidden=True,
    )


@dataclass(frozen=True)
class Learners(LearnerOptions):
    """Which learners take part."""

    rules: list[str] | None = flag(
        "--rules A,B,C",
        "Which rules; may be repeated. Default: all, as sureline rules lists them.",
        complete=complete_rules,
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
        return f"judged on {where}, settings tuned on one random split of the others"


@dataclass(frozen=True)
class Output(SearchOutput):
    """What is printed and written."""

    output_format: str = flag(
        "--format F",
        f"How to print the result: {any_of(FORMATS)}.",
        "table",
        complete=FORMATS,
    )
    path: str | None = flag(
        "--output -o OUT", "Also write all figures to this file, .csv or .json."
    )
    plot: str | None = flag(
        "--plot FILE",
        "Draw the errors, as .png, .svg or .pdf; needs the extra plots (matplotlib).",
    )

    def __post_init__(self) -> None:
        if self.output_format not in FORMATS:
            hint = ""
            if self.output_format in INPUT_FORMATS:
                hint = "; for the format of the input there is --input-format"
            raise InvalidParameter(
                f"--format must be {any_of(FORMATS)}, got {self.output_format!r}{hint}"
            )


@with_options
def compare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Files, quoted patterns, folders, or - for stdin, of labelled rows: CSV, TSV, "
            "JSONL, Parquet, Arrow, svmlight, fastText or VW lines, plain or compressed by gz, bz2 "
            "or zst.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Compare on the text messages that come with sureline."),
    ] = False,
    *,
    reading: Input,
    learners: Learners,
    tasks: Tasks,
    features: Annotated[Given, Declared(TextFeaturesOptions, FEATURES)],
    output: Output,
) -> None:
    """Compare all rules, and scikit-learn's classifiers, on your rows.

    Every learner gets the same features, and is tuned on one random split, as in the papers.

    Folds then judge it. The table shows which learners are significantly worse than the best.

    For example, as a table for a paper:

        sureline compare mail.csv --text message --label kind --format latex
    """
    from time import perf_counter

    start = perf_counter()
    inputs = files or []
    _check_together(inputs, demo, tasks)
    _check_outputs(output.path, output.plot, [*inputs, *(tasks.test or ())])

    from sureline.cli.screen import loading

    with loading(output.quiet):
        from sureline.cli import search
        from sureline.cli.compare.results import Results
        from sureline.evaluation.search.comparison import compare as run
        from sureline.evaluation.search.dataset import Protocol
        from sureline.evaluation.search.trials import Runner

    chosen = search.RuleSettings.parse(learners.rules, learners.settings)
    options = {**features.changed, **chosen.texts}
    search.check_text_options(options, "compare")
    candidates = _candidates(chosen, learners)
    datasets = _read_tasks(inputs, demo, tasks.each, reading)
    test = search.read_dataset(tasks.test, reading, ", ".join(tasks.test)) if tasks.test else None
    protocol = Protocol(tasks.name, tasks.folds, learners.passes, tasks.seed, tasks.shuffle)
    comparisons = []
    with search.show_progress(output.quiet) as progress:
        for dataset in datasets:
            _check_features(options, dataset)
            runner = Runner(dataset, options, output.jobs or -1, progress)
            typed = search.type_class_weights(candidates, dataset)
            comparisons.append(run(runner, typed, protocol, test))
    _show(Results(comparisons, tasks.describe(), tasks.seed, perf_counter() - start), output)


def _check_together(files: list[str], demo: bool, tasks: Tasks) -> None:
    """Refuse, before anything is loaded, options that do not go together."""
    if not files and not demo:
        raise InvalidParameter("name files of labelled rows to compare on, or use --demo")
    if files and demo:
        raise InvalidParameter("--demo brings its own rows; leave out the files, or --demo")
    if tasks.test and tasks.name != "hold-out":
        raise InvalidParameter(f"--test goes with the protocol hold-out, not with {tasks.name}")
    if tasks.test and (tasks.each or demo):
        other = "--each" if tasks.each else "--demo"
        raise InvalidParameter(f"--test and {other} cannot be given together; leave out one")
    if not tasks.shuffle and tasks.name != "progressive":
        raise InvalidParameter("--no-shuffle goes with --protocol progressive")


def _check_outputs(output: str | None, plot: str | None, inputs: list[str]) -> None:
    """Refuse, before any work, what cannot be written."""
    from pathlib import Path

    from sureline.cli.paths import check_not_an_input, check_place

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


def _candidates(chosen: RuleSettings, learners: Learners) -> list[Candidate]:
    """The rules and the baselines that take part; all settings are checked."""
    from sureline.cli import search
    from sureline.evaluation.search.candidates import baseline_candidates, rule_candidates

    wanted = tuple(dict.fromkeys(search.split_words(learners.covariances))) or ("diagonal-kl",)
    words = [word.lower() for word in search.split_words(learners.baselines)] or list(BASELINES)
    if words == ["none"]:
        words = []
    for word in wanted:
        if word not in COVARIANCES:
            raise InvalidParameter(
                f"--covariances: there is no covariance {word!r}; there are "
                f"{', '.join(COVARIANCES)}"
            )
    for word in words:
        if word not in BASELINES:
            raise InvalidParameter(
                f"--baselines: there is no baseline {word!r}; there are {', '.join(BASELINES)}, or "
                "none"
            )
    online = rule_candidates(chosen.names, wanted, chosen.fixed)
    search.check_candidates(online)
    return [*online, *baseline_candidates(dict.fromkeys(words))]


def _read_tasks(files: list[str], demo: bool, each: bool, reading: Input) -> list[Dataset]:
    """The rows to compare on, as one task or several."""
    from pathlib import Path

    from sureline.cli.search import read_dataset
    from sureline.data.paths import find_files

    if demo:
        return [_demo_rows()]
    if not each:
        name = Path(files[0]).name if len(files) == 1 else f"{len(files)} inputs"
        return [read_dataset(files, reading, "stdin" if files == ["-"] else name)]
    found = find_files(files)
    stems = [Path(file).name.partition(".")[0] or file for file in found]
    unique = len(set(stems)) == len(stems)
    return [
        read_dataset([file], reading, stem if unique else file)
        for file, stem in zip(found, stems, strict=True)
    ]


def _demo_rows() -> Dataset:
    import pyarrow as pa

    from sureline.data import Batch, sms_spam
    from sureline.evaluation.search.dataset import Dataset

    texts, labels = sms_spam()
    rows = Batch(text=pa.array(texts, pa.large_string()), label=pa.array(labels, pa.large_string()))
    return Dataset(DEMO, rows)


def _check_features(options: dict[str, Any], dataset: Dataset) -> None:
    """Refuse options of texts that do not fit the rows."""
    from sureline.cli.search import check_no_texts

    check_no_texts(options, dataset)
    if options.get("weighting") == "nb" and dataset.classes.size > 2:
        raise InvalidParameter(
            f"--weighting nb compares two classes, but {dataset.name} has {dataset.classes.size}; "
            "choose idf or none"
        )


def _show(results: Results, output: Output) -> None:
    """Write the files, and print the table."""
    from sureline.cli import screen
    from sureline.cli.compare.render import WRITERS, as_csv, as_json, render

    if output.path is not None:
        from sureline.cli.predict.writer import open_output

        write = as_json if output.path.lower().endswith(".json") else as_csv
        with open_output(output.path) as file:
            file.write(write(results).encode("utf-8"))
    if output.plot is not None:
        from sureline.evaluation.plots import compare_figure

        compare_figure(results.rows(), output.plot)
    name = "json" if output.json else output.output_format
    if name != "table":
        typer.echo(WRITERS[name](results), nl=False)
        return
    screen.show(render(results, screen.result_console().width))
