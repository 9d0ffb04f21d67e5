"""``sureline train``: from files of labelled texts to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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
    Quiet,
    Quotes,
    SkipBad,
    TextColumn,
    WeightColumn,
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
    from sureline.cli.train.progress import Progress
    from sureline.cli.train.run import Finished, Plan

LEARNING = "Learning"
LONG_RUNS = "Long runs"


def _complete_settings(context: typer.Context, incomplete: str) -> list[str]:
    """``name=`` for every parameter that the chosen rule has."""
    from sureline.cli.rules import find_rule
    from sureline.cli.settings import settable
    from sureline.errors import SurelineError
    from sureline.estimators import TextClassifier
    from sureline.estimators.validation import choose_rule
    from sureline.rules import rules

    name = (context.params or {}).get("rule")
    try:
        rule = find_rule(name, rules()) if name else choose_rule(TextClassifier()._chosen())
    except SurelineError:
        return []
    return [f"{each}=" for each in settable(rule) if each.startswith(incomplete)]


def train(
    files: Files,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            show_default=False,
            help="Where to write the model, such as mail.sureline. Must be given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
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
        str | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            show_default=False,
            help="The update rule; sureline rules lists them. Default: the best for texts.",
            autocompletion=complete_rules,
            rich_help_panel=LEARNING,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default=False,
            help="Set a parameter, such as r=0.3, covariance=full, calibration=none; may be "
            "repeated.",
            autocompletion=_complete_settings,
            rich_help_panel=LEARNING,
        ),
    ] = None,
    passes: Annotated[
        int,
        typer.Option(
            "--passes",
            min=1,
            metavar="N",
            help="How often to go through the rows.",
            rich_help_panel=LEARNING,
        ),
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            max=2**32 - 1,
            metavar="S",
            help="Where the random order comes from; the same seed gives the same model.",
            rich_help_panel=LEARNING,
        ),
    ] = 0,
    shuffle: Annotated[
        bool,
        typer.Option(
            " /--no-shuffle",
            show_default=False,
            help="Learn the rows in the order given instead of mixing them.",
            rich_help_panel=LEARNING,
        ),
    ] = True,
    buffer: Annotated[
        float,
        typer.Option(
            "--buffer",
            min=0.001,
            metavar="MB",
            help="The most memory for mixing; larger inputs are mixed within it.",
            rich_help_panel=LEARNING,
        ),
    ] = 256,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            show_default=False,
            help="Learn with N threads, -1 for one a core. Two share the work on texts and learn "
            "what one would; more, or on numbers, learn a share of the rows each, and after every "
            "pass they are joined. Default: 1.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    count_first: Annotated[
        bool,
        typer.Option(
            "--count-first",
            help="Count all texts before the first is learned, rather than as they come; reads "
            "the files once more.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B,C",
            show_default=False,
            help="Labels to know from the beginning. Default: those of the mixed rows; with "
            "--no-shuffle, as they come.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    continued: Annotated[
        str | None,
        typer.Option(
            "--continue",
            metavar="MODEL",
            show_default=False,
            help="Train this model further, instead of a new one.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
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
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="PATH",
            show_default=False,
            help="Save the run there from time to time, so that it can be resumed.",
            rich_help_panel=LONG_RUNS,
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            min=1,
            metavar="N",
            show_default=False,
            help="How many examples lie between checkpoints. Default: 100000.",
            rich_help_panel=LONG_RUNS,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from the checkpoint, if there is one.",
            rich_help_panel=LONG_RUNS,
        ),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn to classify texts from files of labelled ones.

    For example, from a CSV file with the columns message and kind:

        sureline train mail.csv --text message --label kind -o mail.sureline

    Rows are mixed first, as files are often sorted by label; --no-shuffle keeps them in order.

    Each row is classified just before it is learned. The share of mistakes is the error shown.
    """
    from sureline.errors import InvalidParameter

    if output is None:
        raise InvalidParameter("name the file to write the model to, such as -o mail.sureline")
    if checkpoint is None and (resume or every is not None):
        option = "--resume" if resume else "--every"
        raise InvalidParameter(f"{option} needs --checkpoint PATH, the file to save the run in")
    of_texts = {
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

    from sureline.cli.describe import describe_bad
    from sureline.cli.screen import loading, say, silent, warn

    with loading(quiet):
        from sureline.cli.settings import Settings, text_parameters
        from sureline.cli.train.run import Interrupted, Plan, Training
        from sureline.estimators.parallel.shards import count_jobs

    try:
        threads = count_jobs(jobs, "--jobs")
    except InvalidParameter:
        raise InvalidParameter(
            f"--jobs takes a number of threads, or -1 for one a core, got {jobs}"
        ) from None

    changed = text_parameters(of_texts)
    if continued is not None:
        _refuse_with_continue(rule, settings, changed)
    elif count_first:
        changed["counts_first"] = True
    plan = Plan(
        inputs=files,
        model=output,
        settings=Settings(
            rule,
            tuple(settings or ()),
            changed,
            {"max_iter": passes, "shuffle": shuffle, "random_state": seed, "n_jobs": jobs},
        ),
        reading={
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
        },
        passes=passes,
        seed=seed,
        shuffle=shuffle,
        buffer=buffer,
        classes=None if classes is None else _split_classes(classes),
        checkpoint=checkpoint,
        every=100_000 if every is None else every,
        resume=resume,
        continued=continued,
        jobs=threads,
        count_first=count_first,
    )
    training = Training(plan, _progress(quiet), silent if quiet else say, warn)
    try:
        finished = training.run()
    except Interrupted as interrupted:
        warn(str(interrupted))
        raise typer.Exit(130) from None
    if len(training.reader.bad):
        warn(describe_bad(training.reader.bad))
    facts = _facts(finished, plan)
    if json:
        from json import dumps

        typer.echo(dumps(facts, indent=2))
        return
    _show(facts)


def _progress(quiet: bool) -> Progress:
    """How to show that training gets on."""
    from sureline.cli.screen import messages, write_message
    from sureline.cli.train.progress import DoublingRows, LiveLine, Silence

    if quiet:
        return Silence()
    console = messages()
    return LiveLine(console) if console.is_terminal else DoublingRows(write_message)


def _split_classes(words: str) -> list[str]:
    from sureline.errors import InvalidParameter

    classes = [word.strip() for word in words.split(",")]
    if "" in classes or len(set(classes)) != len(classes):
        raise InvalidParameter(f"--classes takes different labels such as ham,spam, got {words!r}")
    return classes


def _refuse_with_continue(
    rule: str | None, settings: list[str] | None, changed: dict[str, Any]
) -> None:
    """What a model is cannot be changed by training it further."""
    from sureline.cli.settings import OWN_OPTIONS
    from sureline.errors import InvalidParameter

    given = ["--rule"] * (rule is not None) + ["--set"] * bool(settings)
    given += [OWN_OPTIONS[name] for name in changed]
    if given:
        raise InvalidParameter(
            f"{given[0]} cannot be combined with --continue: the model keeps its rule and its "
            "features; leave it out, or train a new model"
        )


def _facts(finished: Finished, plan: Plan) -> dict[str, Any]:
    """What was found, for people and machines."""
    from pathlib import Path

    from sureline.cli.describe import describe_model
    from sureline.estimators.stream import count_features

    model, position = finished.model, finished.position
    seen, mistakes = position.first or [0, 0]
    counts = finished.stream.counts
    return {
        "model": plan.model,
        "bytes": Path(plan.model).stat().st_size,
        **describe_model(model),
        "classes": model.classes_.tolist(),
        "features": count_features(model),
        "examples": position.examples,
        "passes": position.passes,
        "skipped": finished.skipped,
        "learned": counts.seen,
        "updates": counts.updates,
        "mistakes": counts.mistakes,
        "progressive_error": mistakes / seen if seen else None,
        "seconds": round(finished.seconds, 3),
    }


def _show(facts: dict[str, Any]) -> None:
    """The facts on a screen."""
    from rich.text import Text

    from sureline.cli.describe import enumerate_classes
    from sureline.cli.screen import grid, megabytes, results, show
    from sureline.cli.train.progress import rounded

    table = grid()
    settings = ", ".join(f"{name} = {value}" for name, value in facts["parameters"].items())
    rows = {
        "model": f"{facts['model']} ({megabytes(facts['bytes'])})",
        "rule": f"{facts['rule']}: {settings}" if settings else facts["rule"],
        "classes": enumerate_classes(facts["classes"]),
        "features": f"{facts['features']:,}",
        "examples": f"{facts['examples']:,}"
        + (f" in {facts['passes']} passes" if facts["passes"] > 1 else ""),
        "seconds": f"{facts['seconds']:.2f} "
        f"({rounded(facts['examples'] / max(facts['seconds'], 1e-9))} examples a second)",
    }
    if facts["progressive_error"] is not None:
        first = " in the first pass" if facts["passes"] > 1 else ""
        error = f"{100 * facts['progressive_error']:.2f}% just before learning each example{first}"
        rows["error"] = error
    for name, value in rows.items():
        table.add_row(Text(name, "bold"), Text(value))
    show(table, results())
