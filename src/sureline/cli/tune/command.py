"""``sureline tune``: which rule, which settings and how many passes suit some rows best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sureline.cli.options import (
    OUTPUT,
    Delimiter,
    Encoding,
    Files,
    Format,
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
    Weighting,
)
from sureline.evaluation.search import PROTOCOLS

if TYPE_CHECKING:
    from sureline.cli.search import RuleSettings
    from sureline.evaluation.search.candidates import Candidate
    from sureline.evaluation.search.dataset import Dataset

SEARCH = "Search"
PROTOCOL = "Protocol"


def tune(
    files: Files,
    text: TextColumn = None,
    label: LabelColumn = None,
    weight: WeightColumn = None,
    input_format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    quotes: Quotes = True,
    label_type: LabelType = "auto",
    encoding: Encoding = "utf-8",
    skip_bad: SkipBad = False,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            show_default=False,
            help="Search this rule; may be repeated. Default: all, as sureline rules lists them.",
            autocompletion=complete_rules,
            rich_help_panel=SEARCH,
        ),
    ] = None,
    tries: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="NAME=A,B,C",
            show_default=False,
            help="Try these values, such as r=0.1,1,10 or covariance=diagonal-kl,full, in place "
            "of those that the rule declares; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default=False,
            help="Set a parameter, of all rules that have it, instead of searching it; may be "
            "repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    passes: Annotated[
        int,
        typer.Option(
            "--passes",
            min=1,
            metavar="N",
            help="The most passes to try.",
            rich_help_panel=SEARCH,
        ),
    ] = 10,
    halving: Annotated[
        bool,
        typer.Option(
            " /--no-halving",
            show_default=False,
            help="Judge all settings on all rows, rather than the better half of them on twice "
            "as many, round by round.",
            rich_help_panel=SEARCH,
        ),
    ] = True,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            metavar="P",
            help="progressive: rows are predicted before they are learned; hold-out; or k-fold.",
            autocompletion=complete_from(PROTOCOLS),
            rich_help_panel=PROTOCOL,
        ),
    ] = "progressive",
    folds: Annotated[
        int,
        typer.Option(
            "--folds",
            min=2,
            metavar="K",
            help="With k-fold: how many folds.",
            rich_help_panel=PROTOCOL,
        ),
    ] = 5,
    shuffle: Annotated[
        bool,
        typer.Option(
            " /--no-shuffle",
            show_default=False,
            help="Keep the rows in order, as for streams in time, instead of shuffling them.",
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
            help="The random seed; the same seed gives the same result.",
            rich_help_panel=PROTOCOL,
        ),
    ] = 0,
    ngrams: Ngrams = "1,2",
    chars: Chars = "none",
    char_scope: CharScope = "words",
    lowercase: Lowercase = True,
    counts: CountsOption = "binary",
    weighting: Weighting = "auto",
    normalize: Normalize = True,
    features: Kind = "vocabulary",
    bits: Bits = 22,
    min_count: MinCount = 1,
    max_features: MaxFeatures = None,
    stop_words: StopWords = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            min=1,
            metavar="N",
            help="How many of the best to list; --json has all.",
            rich_help_panel=OUTPUT,
        ),
    ] = 10,
    jobs: Processes = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find the rule, the settings and the number of passes that suit your rows best.

    For example, from a CSV file with the columns message and kind:

        sureline tune mail.csv --text message --label kind

    The last line that it prints is the command that trains the winner.
    """
    from time import perf_counter

    from sureline.errors import InvalidParameter

    start = perf_counter()
    if protocol not in PROTOCOLS:
        raise InvalidParameter(
            f"--protocol must be {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}, got {protocol!r}"
        )

    from sureline.cli.screen import loading

    with loading(quiet):
        from sureline.cli import search
        from sureline.cli.settings import text_parameters
        from sureline.cli.tune.results import Given, Results
        from sureline.evaluation.search.halving import tune as run
        from sureline.evaluation.search.protocol import Protocol
        from sureline.evaluation.search.trials import Runner

    chosen = search.RuleSettings.parse(rule, settings, tries)
    texts = {
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
    }
    options = {**text_parameters(texts), **chosen.texts}
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
    _candidates(chosen, options, shuffle)  # reports what is wrong before rows are read
    dataset = search.read_dataset(files, reading, ", ".join(files))
    search.check_no_texts(options, dataset)
    if dataset.rows.given is not None and search.needs_texts(options):
        _tune_unweighted(dataset, options, chosen, quiet)
        texts["weighting"] = "none"
    candidates, refused = _able(_candidates(chosen, options, shuffle, dataset), dataset)
    with search.show_progress(quiet) as progress:
        found = run(
            Runner(dataset, options, jobs or -1, progress),
            candidates,
            Protocol(cast(Any, protocol), folds, passes, seed, shuffle),
            halving,
        )
    given = Given(files, reading, texts, settings or (), seed, shuffle)
    results = Results(
        dataset=dataset,
        tried=found.tried,
        failures={**refused, **found.failures},
        protocol=_describe_protocol(protocol, passes, folds),
        seed=seed,
        seconds=perf_counter() - start,
        command=given.train(found.tried[0]),
    )
    if json:
        typer.echo(search.write_json(results.as_dict()))
        return

    from sureline.cli import screen
    from sureline.cli.tune.render import render

    screen.show(render(results, top), screen.results())
    # Not wrapped, so that it can be copied.
    typer.echo(f"\n{results.command}")


def _candidates(
    chosen: RuleSettings, options: dict[str, Any], shuffle: bool, dataset: Dataset | None = None
) -> list[Candidate]:
    """The rules to tune, each over its grid; all settings are checked."""
    from sureline.cli import search
    from sureline.estimators import TextClassifier
    from sureline.evaluation.search.candidates import rule_candidates

    texts = dataset is None or dataset.has_texts
    fixed = dict[str, dict[str, Any]]()
    for name, given in chosen.fixed.items():
        usual = search.defaults_for_texts(name) if texts else {}
        kept = {word: value for word, value in usual.items() if word not in chosen.searched[name]}
        fixed[name] = {**kept, **given, "shuffle": shuffle}
    made = rule_candidates(chosen.names, fixed=fixed, tried=chosen.searched)
    search.check_candidates(made, streams=True)
    if dataset is not None:
        made = search.type_class_weights(made, dataset)
    if not texts or not search.needs_texts(options):
        search.check_text_options(options, "tune")
        return made
    TextClassifier(**options)._scheme()
    return [candidate.around_texts(options) for candidate in made]


def _tune_unweighted(
    dataset: Dataset, options: dict[str, Any], chosen: RuleSettings, quiet: bool
) -> None:
    """Set ``weighting`` to None: features given with values are not weighted by counts."""
    from sureline.cli.screen import say
    from sureline.errors import InvalidParameter

    if chosen.texts or "weighting" in options:
        option = f"--set {next(iter(chosen.texts))}" if chosen.texts else "--weighting"
        raise InvalidParameter(
            f"{dataset.name} gives features with values, which {option} cannot be tuned with; "
            "leave it out"
        )
    if not quiet:
        say(f"{dataset.name} gives features with values: these are tuned with --weighting none")
    options["weighting"] = None


def _able(candidates: list[Candidate], dataset: Dataset) -> tuple[list[Candidate], dict[str, str]]:
    """The rules that can be trained with the rows' weights, and why others cannot."""
    from sureline.errors import DataError
    from sureline.rules import rules

    heaviest = 0.0 if dataset.rows.weight is None else float(dataset.rows.weight.max())
    if heaviest <= 1.0:
        return candidates, {}
    able = [each for each in candidates if rules()[each.name].weight == "cost"]
    names = [each.name for each in candidates if each not in able]
    if not able:
        raise DataError(
            f"{', '.join(names)} learn from weights from 0 to 1, but {dataset.name} has "
            f"{heaviest:g}; divide the weights by the largest"
        )
    why = f"cannot learn from a weight of {heaviest:g}, only from 0 to 1"
    return able, dict.fromkeys(names, why)


def _describe_protocol(protocol: str, passes: int, folds: int) -> str:
    """The protocol in words."""
    if protocol == "hold-out":
        return "judged on a random fifth of the rows"
    if protocol == "k-fold":
        return f"judged on {folds} stratified folds"
    if passes == 1:
        return "progressive: every row predicted just before it is learned"
    return "progressive: blocks of rows that double, each predicted before it is learned"
