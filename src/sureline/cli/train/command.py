"""``sureline train``: from files of labelled texts to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureline.cli.options import (
    FLAGS,
    LEARNING,
    OUTPUT,
    Files,
    Given,
    Json,
    LabelledInput,
    LearningFlags,
    Quiet,
    TextFlags,
    complete_rules,
    with_options,
)

if TYPE_CHECKING:
    from sureline.cli.train.progress import Progress
    from sureline.cli.train.run import Finished, Plan

LONG_RUNS = "Long runs"


def _complete_settings(context: typer.Context, incomplete: str) -> list[str]:
    """``name=`` for every parameter that the chosen rule has."""
    from sureline.cli.rules import find_rule
    from sureline.cli.settings import settable
    from sureline.errors import SurelineError
    from sureline.estimators.text.classifier import default_estimator
    from sureline.estimators.validation import choose_rule
    from sureline.rules import rules

    name = (context.params or {}).get("rule")
    try:
        rule = find_rule(name, rules()) if name else choose_rule(default_estimator())
    except SurelineError:
        return []
    return [f"{each}=" for each in settable(rule) if each.startswith(incomplete)]


@dataclass(frozen=True)
class RuleOptions:
    """What is to be trained."""

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
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default=False,
            help="Set a parameter, such as r=0.3, covariance=full or calibration=none; may be "
            "repeated.",
            autocompletion=_complete_settings,
            rich_help_panel=LEARNING,
        ),
    ] = None
    continued: Annotated[
        str | None,
        typer.Option(
            "--continue",
            metavar="MODEL",
            show_default=False,
            help="Train this model further, instead of a new one.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B,C",
            show_default=False,
            help="Labels to know from the beginning. Default: those of the shuffled rows; with "
            "--no-shuffle, as they come.",
            rich_help_panel=LEARNING,
            hidden=True,
        ),
    ] = None
    buffer: Annotated[
        float,
        typer.Option(
            "--buffer",
            min=0.001,
            metavar="MB",
            help="The most memory for shuffling; larger inputs are shuffled within it.",
            rich_help_panel=LEARNING,
            hidden=True,
        ),
    ] = 256


@dataclass(frozen=True)
class CheckpointOptions:
    """Where and how often a run is saved."""

    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="PATH",
            show_default=False,
            help="Save the run there from time to time, so that it can be resumed.",
            rich_help_panel=LONG_RUNS,
            hidden=True,
        ),
    ] = None
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            min=1,
            metavar="N",
            show_default=False,
            help="Save a checkpoint every N examples. Default: 100000.",
            rich_help_panel=LONG_RUNS,
            hidden=True,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from the checkpoint, if there is one.",
            rich_help_panel=LONG_RUNS,
            hidden=True,
        ),
    ] = False


@dataclass(frozen=True)
class TrainOutput:
    """Where the model is written, and what is shown."""

    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            show_default=False,
            help="Where to write the model, such as mail.sureline. Required.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    quiet: Quiet = False
    json: Json = False


@with_options
def train(
    files: Files,
    output: TrainOutput,
    reading: LabelledInput,
    rule: RuleOptions,
    learning: LearningFlags,
    texts: TextFlags,
    checkpoints: CheckpointOptions,
) -> None:
    """Learn to classify texts from files of labelled ones.

    For example, from a CSV file with the columns message and kind:

        sureline train mail.csv --text message --label kind -o mail.sureline

    Rows are shuffled first, as files are often sorted by label; --no-shuffle keeps them in order.

    Each row is classified just before it is learned. The share of mistakes is the error shown.
    """
    from sureline.errors import InvalidParameter

    if output.output is None:
        raise InvalidParameter("name the file to write the model to, such as -o mail.sureline")
    if checkpoints.checkpoint is None and (checkpoints.resume or checkpoints.every is not None):
        option = "--resume" if checkpoints.resume else "--every"
        raise InvalidParameter(f"{option} needs --checkpoint PATH, the file to save the run in")
    if rule.continued is not None:
        _check_continue(rule, texts)

    from sureline.cli.describe import describe_bad
    from sureline.cli.screen import loading, say, silent, warn

    with loading(output.quiet):
        from sureline.cli.settings import Settings
        from sureline.cli.train.run import Interrupted, Plan, Training
        from sureline.estimators.parallel.thread_pool import count_threads

    jobs = learning.values["n_jobs"]
    try:
        threads = count_threads(jobs, "--jobs")
    except InvalidParameter:
        raise InvalidParameter(
            f"--jobs takes a number of threads, or -1 for one per core, got {jobs}"
        ) from None

    passes, shuffle = learning.values["max_iter"], learning.values["shuffle"]
    seed, count_first = learning.values["random_state"], learning.values["counts_first"]
    changed = texts.changed
    if rule.continued is None and count_first:
        changed["counts_first"] = True
    plan = Plan(
        inputs=files,
        model=output.output,
        settings=Settings(
            rule.rule,
            tuple(rule.settings or ()),
            changed,
            {"max_iter": passes, "shuffle": shuffle, "random_state": seed, "n_jobs": jobs},
        ),
        reading=reading.arguments(),
        passes=passes,
        seed=seed,
        shuffle=shuffle,
        buffer=rule.buffer,
        classes=None if rule.classes is None else _split_classes(rule.classes),
        checkpoint=checkpoints.checkpoint,
        every=checkpoints.every or 100_000,
        resume=checkpoints.resume,
        continued=rule.continued,
        jobs=threads,
        count_first=count_first,
    )
    training = Training(plan, _progress(output.quiet), silent if output.quiet else say, warn)
    try:
        finished = training.run()
    except Interrupted as interrupted:
        warn(str(interrupted))
        raise typer.Exit(130) from None
    if len(training.reader.bad):
        warn(describe_bad(training.reader.bad))
    facts = _facts(finished, plan)
    if output.json:
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


def _check_continue(rule: RuleOptions, texts: Given) -> None:
    """Refuse what would change a model that is trained further."""
    from sureline.errors import InvalidParameter

    given = ["--rule"] * (rule.rule is not None) + ["--set"] * bool(rule.settings)
    given += [FLAGS[name] for name in texts.changed]
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
