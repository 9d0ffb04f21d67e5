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

if TYPE_CHECKING:
    from sureline.evaluation.search.candidates import Candidate
    from sureline.evaluation.search.comparison import Protocol
    from sureline.evaluation.search.samples import Sample

SEARCH = "Search"
PROTOCOL = "Protocol"
# As sureline.evaluation has them; written down so that help and completion need not import it.
PROTOCOLS = ("progressive", "hold-out", "k-fold")


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
            help="Keep the rows in order, as for streams in time, instead of mixing them.",
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
            help="Where all randomness comes from; the same seed gives the same result.",
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

    begun = perf_counter()
    if protocol not in PROTOCOLS:
        raise InvalidParameter(
            f"--protocol must be {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}, got {protocol!r}"
        )

    from sureline.cli.screen import loading, say, silent

    with loading(quiet):
        from sureline.cli import search as searching
        from sureline.cli.settings import text_parameters
        from sureline.cli.tune.results import Facts, train_command
        from sureline.evaluation.search.comparison import warm_up
        from sureline.evaluation.search.halving import search
        from sureline.evaluation.search.workers import closed_at_the_end, count_jobs

    names = searching.choose_rules(rule)
    fixed, of_texts = searching.settings_for(settings or (), names)
    tried, strange = searching.settings_for(tries or (), names, "--try", several=True)
    if strange:
        raise InvalidParameter(
            f"--try {next(iter(strange))}: how texts are read cannot be searched; set it with --set"
        )
    both = [word for name in names for word in tried[name] if word in fixed[name]]
    if both:
        raise InvalidParameter(f"{both[0]} is given by --set and by --try; leave out one")
    of_options = {
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
    options = {**text_parameters(of_options), **of_texts}
    raw = searching.needs_texts(options)
    unasked = "weighting" not in options
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
    _candidates(names, fixed, tried, shuffle, options, raw)  # what is wrong is told before reading
    sample = searching.read_rows(files, reading, ", ".join(files))
    searching.check_no_texts(options, sample)
    if not sample.texts:
        raw = False
    elif raw and sample.rows.given is not None:
        if of_texts or not unasked:
            option = f"--set {next(iter(of_texts))}" if of_texts else "--weighting"
            raise InvalidParameter(
                f"{sample.name} gives features with values, which {option} cannot be tuned with; "
                "leave it out"
            )
        tell = silent if quiet else say
        tell(f"{sample.name} gives features with values: these are tuned with --weighting none")
        raw, options["weighting"], of_options["weighting"] = False, None, "none"
    typed = searching.type_class_weights(fixed, sample)
    names, refused = _without_weights_above_one(names, sample)
    candidates = _candidates(names, typed, tried, shuffle, options, raw, sample.texts)
    many = count_jobs(jobs)
    with searching.watching(quiet) as watcher, closed_at_the_end(many):
        if many > 1:
            warm_up(candidates, sample, options, raw, watcher)
        found = search(
            sample,
            candidates,
            protocol=cast("Protocol", protocol),
            passes=passes,
            folds=folds,
            halving=halving,
            seed=seed,
            shuffle=shuffle,
            options=options,
            raw=raw,
            jobs=many,
            watcher=watcher,
        )
    facts = Facts(
        sample=sample,
        tried=found.tried,
        failures={**refused, **found.failures},
        protocol=_told(protocol, passes, folds),
        seed=seed,
        seconds=perf_counter() - begun,
        command=train_command(
            files, reading, of_options, settings or (), found.tried[0], seed, shuffle
        ),
    )
    if json:
        from json import dumps

        typer.echo(dumps(facts.as_json(), indent=2))
        return

    from sureline.cli.screen import results, show
    from sureline.cli.tune.page import page

    show(page(facts, top), results())
    # Not wrapped, so that it can be copied.
    typer.echo(f"\n{facts.command}")


def _candidates(
    names: list[str],
    fixed: dict[str, dict[str, Any]],
    tried: dict[str, dict[str, Any]],
    shuffle: bool,
    options: dict[str, Any],
    raw: bool,
    texts: bool = True,
) -> list[Candidate]:
    """Who is tuned, over what; all settings are checked."""
    from dataclasses import replace

    from sureline.cli import search as searching
    from sureline.estimators import TextClassifier
    from sureline.evaluation.search.candidates import MakeText, rule_candidates

    ordered = dict[str, dict[str, Any]]()
    for name, given in fixed.items():
        usual = searching.usual_for_texts(name) if texts else {}
        left = {word: value for word, value in usual.items() if word not in tried[name]}
        ordered[name] = {**left, **given, "shuffle": shuffle}
    made = rule_candidates(names, fixed=ordered, tried=tried)
    searching.check_candidates(made, streams=True)
    if not raw:
        searching.check_text_options(options, "tune")
        return made
    TextClassifier(**options)._scheme()
    return [replace(each, make=MakeText(each.make, options)) for each in made]


def _without_weights_above_one(
    names: list[str], sample: Sample
) -> tuple[list[str], dict[str, str]]:
    """The rules that can be trained with the rows' weights, and why others cannot."""
    from sureline.errors import DataError
    from sureline.rules import rules

    heaviest = 0.0 if sample.rows.weight is None else float(sample.rows.weight.max())
    if heaviest <= 1.0:
        return names, {}
    able = [name for name in names if rules()[name].weight == "cost"]
    if not able:
        raise DataError(
            f"{', '.join(names)} learn from weights from 0 to 1, but {sample.name} has "
            f"{heaviest:g}; divide the weights by the largest"
        )
    why = f"cannot learn from a weight of {heaviest:g}, only from 0 to 1"
    return able, {name: why for name in names if name not in able}


def _told(protocol: str, passes: int, folds: int) -> str:
    """The protocol in words."""
    if protocol == "hold-out":
        return "judged on a random fifth of the rows"
    if protocol == "k-fold":
        return f"judged on {folds} stratified folds"
    if passes == 1:
        return "progressive: every row predicted just before it is learned"
    return "progressive: blocks of rows that double, each predicted before it is learned"
