"""``sureline compare``: every rule, and scikit-learn's baselines, under one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureline.cli.options import (
    OUTPUT,
    READING,
    Delimiter,
    Encoding,
    Header,
    Json,
    LabelColumn,
    LabelType,
    Processes,
    Quiet,
    Quotes,
    SkipBad,
    TextColumn,
    WeightColumn,
    complete_from,
    complete_rules,
)
from sureline.cli.text_options import (
    Bits,
    Chars,
    CharScope,
    CountsOption,
    Kind,
    Lowercase,
    MaxFeatures,
    MinCount,
    Ngrams,
    Normalize,
    StopWords,
    WeightingForAll,
)
from sureline.data.formats import FORMATS as INPUT_FORMATS
from sureline.evaluation.search import BASELINES, PROTOCOLS

if TYPE_CHECKING:
    from sureline.cli.compare.results import Results
    from sureline.cli.search import RuleSettings
    from sureline.evaluation.search.candidates import Candidate
    from sureline.evaluation.search.dataset import Dataset

LEARNERS = "Learners"
PROTOCOL = "Protocol"
# As sureline.rules has them; written down so that help and completion need not import it.
COVARIANCES = ("diagonal-kl", "diagonal-l2", "diagonal-exact", "full")
FORMATS = ("table", "markdown", "latex", "csv", "json")
DEMO = "SMS Spam Collection"


def compare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Files, quoted patterns, folders, or - for stdin, of labelled rows: CSV, TSV, "
            "JSONL, Parquet, Arrow, svmlight, fastText or VW lines, plain or gz, bz2 or zst.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Compare on the text messages that come with sureline."),
    ] = False,
    text: TextColumn = None,
    label: LabelColumn = None,
    weight: WeightColumn = None,
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input-format",
            metavar="F",
            show_default=False,
            help=f"{', '.join(INPUT_FORMATS[:-1])} or {INPUT_FORMATS[-1]}. Default: inferred from "
            "the file name, or the first bytes.",
            autocompletion=complete_from(INPUT_FORMATS),
            rich_help_panel=READING,
        ),
    ] = None,
    header: Header = None,
    delimiter: Delimiter = None,
    quotes: Quotes = True,
    label_type: LabelType = "auto",
    encoding: Encoding = "utf-8",
    skip_bad: SkipBad = False,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rules",
            metavar="A,B,C",
            show_default=False,
            help="Which rules; may be repeated. Default: all, as sureline rules lists them.",
            autocompletion=complete_rules,
            rich_help_panel=LEARNERS,
        ),
    ] = None,
    baselines: Annotated[
        list[str] | None,
        typer.Option(
            "--baselines",
            metavar="A,B,C",
            show_default=False,
            help=f"Which of scikit-learn's: {', '.join(BASELINES)}; or none. Default: all.",
            autocompletion=complete_from((*BASELINES, "none")),
            rich_help_panel=LEARNERS,
        ),
    ] = None,
    covariances: Annotated[
        list[str] | None,
        typer.Option(
            "--covariances",
            metavar="A,B,C",
            show_default=False,
            help=f"Take each rule with each of these that it has: {', '.join(COVARIANCES)}. "
            "Default: diagonal-kl.",
            autocompletion=complete_from(COVARIANCES),
            rich_help_panel=LEARNERS,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default=False,
            help="Set a parameter, of all rules that have it, instead of tuning it; may be "
            "repeated.",
            rich_help_panel=LEARNERS,
        ),
    ] = None,
    passes: Annotated[
        int,
        typer.Option(
            "--passes",
            min=1,
            metavar="N",
            help="The most passes that online learners may be given.",
            rich_help_panel=LEARNERS,
        ),
    ] = 10,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="P",
            show_default=False,
            help="k-fold, hold-out, or progressive: blocks that grow, each predicted before it is "
            "learned. Default: k-fold; with --test, hold-out.",
            autocompletion=complete_from(PROTOCOLS),
            rich_help_panel=PROTOCOL,
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            "--folds", min=2, metavar="K", help="How many folds.", rich_help_panel=PROTOCOL
        ),
    ] = 10,
    test: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="FILE",
            show_default=False,
            help="Judge on these rows; may be repeated. Default with hold-out: a random fifth.",
            rich_help_panel=PROTOCOL,
        ),
    ] = None,
    each: Annotated[
        bool,
        typer.Option(
            "--each",
            help="Every FILE is a task of its own; ranks are averaged over the tasks.",
            rich_help_panel=PROTOCOL,
        ),
    ] = False,
    shuffle: Annotated[
        bool,
        typer.Option(
            " /--no-shuffle",
            show_default=False,
            help="With progressive: keep the rows in order, as for streams in time.",
            rich_help_panel=PROTOCOL,
        ),
    ] = True,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            max=2**32 - 1,
            metavar="S",
            help="The random seed; the same seed gives the same errors.",
            rich_help_panel=PROTOCOL,
        ),
    ] = 0,
    ngrams: Ngrams = "1,2",
    chars: Chars = "none",
    char_scope: CharScope = "words",
    lowercase: Lowercase = True,
    counts: CountsOption = "binary",
    weighting: WeightingForAll = "none",
    normalize: Normalize = True,
    features: Kind = "vocabulary",
    bits: Bits = 22,
    min_count: MinCount = 1,
    max_features: MaxFeatures = None,
    stop_words: StopWords = None,
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="F",
            help="How to print the result: table, markdown, latex, csv or json.",
            autocompletion=complete_from(FORMATS),
            rich_help_panel=OUTPUT,
        ),
    ] = "table",
    json: Json = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            show_default=False,
            help="Also write all figures to this file, .csv or .json.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            show_default=False,
            help="Draw the errors, as .png, .svg or .pdf; needs the extra plots (matplotlib).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    jobs: Processes = None,
    quiet: Quiet = False,
) -> None:
    """Compare all rules, and scikit-learn's classifiers, on your rows.

    Every learner gets the same features, and is tuned on one random split, as in the papers.

    With these settings, folds judge it. The table shows which learners are significantly worse
    than the best.

    For example, as a table for a paper:

        sureline compare mail.csv --text message --label kind --format latex
    """
    from time import perf_counter

    start = perf_counter()
    chosen_format = "json" if json else output_format
    _check_choices(chosen_format, protocol, files, demo, test, each, shuffle)
    _check_outputs(output, plot, [*(files or ()), *(test or ())])

    from sureline.cli.screen import loading

    with loading(quiet):
        from sureline.cli import search
        from sureline.cli.compare.render import WRITERS, render
        from sureline.cli.compare.results import Results
        from sureline.cli.settings import text_parameters
        from sureline.estimators import TextFeatures
        from sureline.evaluation.search.comparison import compare as run
        from sureline.evaluation.search.protocol import Protocol
        from sureline.evaluation.search.trials import Runner

    chosen = search.RuleSettings.parse(rules, settings)
    options = {
        **text_parameters(
            {
                "ngrams": ngrams,
                "chars": chars,
                "char_scope": char_scope,
                "lowercase": lowercase,
                "counts": counts,
                "weighting": weighting,
                "normalize": normalize,
                "features": features,
                "bits": bits,
                "min_count": min_count,
                "max_features": max_features,
                "stop_words": stop_words,
            },
            TextFeatures,
        ),
        **chosen.texts,
    }
    search.check_text_options(options, "compare")
    candidates = _candidates(chosen, covariances, baselines)
    reading = {
        "text": text,
        "label": label,
        "weight": weight,
        "format": input_format,
        "header": header,
        "delimiter": delimiter,
        "quotes": quotes,
        "label_type": label_type,
        "encoding": encoding,
        "skip_bad": skip_bad,
    }
    tasks = _read_tasks(files or [], demo, each, reading)
    held_out = None if test is None else search.read_dataset(test, reading, ", ".join(test))
    name: Any = protocol or ("k-fold" if held_out is None else "hold-out")
    comparisons = []
    with search.show_progress(quiet) as progress:
        for dataset in tasks:
            _check_features(options, dataset)
            comparisons.append(
                run(
                    Runner(dataset, options, jobs or -1, progress),
                    search.type_class_weights(candidates, dataset),
                    Protocol(name, folds, passes, seed, shuffle),
                    held_out,
                )
            )
    words = _describe_protocol(name, folds, held_out)
    results = Results(comparisons, words, seed, perf_counter() - start)
    if output is not None:
        _write(output, results)
    if plot is not None:
        from sureline.evaluation.plots import compare_figure

        compare_figure(results.rows(), plot)
    if chosen_format != "table":
        typer.echo(WRITERS[chosen_format](results), nl=False)
        return

    from sureline.cli import screen

    console = screen.results()
    screen.show(render(results, console.width), console)


def _check_choices(
    output_format: str,
    protocol: str | None,
    files: list[str] | None,
    demo: bool,
    test: list[str] | None,
    each: bool,
    shuffle: bool,
) -> None:
    """Refuse, before anything is loaded, what does not go together."""
    from sureline.errors import InvalidParameter

    if output_format not in FORMATS:
        hint = ""
        if output_format in INPUT_FORMATS:
            hint = "; for the format of the input there is --input-format"
        raise InvalidParameter(
            f"--format must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, got "
            f"{output_format!r}{hint}"
        )
    if protocol is not None and protocol not in PROTOCOLS:
        raise InvalidParameter(
            f"--protocol must be {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}, got {protocol!r}"
        )
    if not files and not demo:
        raise InvalidParameter("name files of labelled rows to compare on, or use --demo")
    if files and demo:
        raise InvalidParameter("--demo brings its own rows; leave out the files, or --demo")
    if test and protocol not in (None, "hold-out"):
        raise InvalidParameter(f"--test goes with the protocol hold-out, not with {protocol}")
    if test and (each or demo):
        other = "--each" if each else "--demo"
        raise InvalidParameter(f"--test and {other} cannot be given together; leave out one")
    if not shuffle and protocol != "progressive":
        raise InvalidParameter("--no-shuffle goes with --protocol progressive")


def _check_outputs(output: str | None, plot: str | None, inputs: list[str]) -> None:
    """Refuse, before any work, what cannot be written."""
    from pathlib import Path

    from sureline.cli.paths import check_not_an_input, check_place
    from sureline.errors import InvalidParameter

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


def _candidates(
    chosen: RuleSettings, covariances: list[str] | None, baselines: list[str] | None
) -> list[Candidate]:
    """The rules and the baselines that take part; all settings are checked."""
    from sureline.cli import search
    from sureline.errors import InvalidParameter
    from sureline.evaluation.search.candidates import baseline_candidates, rule_candidates

    wanted = tuple(dict.fromkeys(search.split_words(covariances))) or ("diagonal-kl",)
    words = [word.lower() for word in search.split_words(baselines)] or list(BASELINES)
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


def _read_tasks(files: list[str], demo: bool, each: bool, reading: dict[str, Any]) -> list[Dataset]:
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
    from sureline.errors import InvalidParameter

    check_no_texts(options, dataset)
    if options.get("weighting") == "nb" and dataset.classes.size > 2:
        raise InvalidParameter(
            f"--weighting nb compares two classes, but {dataset.name} has {dataset.classes.size}; "
            "choose idf or none"
        )


def _describe_protocol(name: str, folds: int, test: Dataset | None) -> str:
    """The protocol in words."""
    if name == "k-fold":
        return f"{folds} stratified folds, settings tuned on one random split of the same rows"
    if name == "progressive":
        return (
            "progressive: blocks that double, each predicted before it is learned; settings tuned "
            "on one random split of the same rows"
        )
    where = "a random fifth of the rows" if test is None else test.name
    return f"judged on {where}, settings tuned on one random split of the others"


def _write(path: str, results: Results) -> None:
    """Write all figures, completely or not at all."""
    from sureline.cli.compare.render import as_csv, as_json
    from sureline.cli.predict.writer import open_output

    content = as_json(results) if path.lower().endswith(".json") else as_csv(results)
    with open_output(path) as file:
        file.write(content.encode("utf-8"))
