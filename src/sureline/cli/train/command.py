"""``sureline train``: from files of labelled texts to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sureline.cli.groups import with_options
from sureline.cli.options import Files, LabelledInput, LearningFlags, TextFlags
from sureline.cli.train.plan import CheckpointOptions, Plan, RuleOptions, TrainOutput

if TYPE_CHECKING:
    from sureline.cli.train.progress import Progress


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
    plan = Plan(files, reading, rule, learning, texts, checkpoints, output.output)

    from sureline.cli.describe import describe_bad
    from sureline.cli.screen import loading, say, silent, warn

    with loading(output.quiet):
        from sureline.cli.train.results import collect_results
        from sureline.cli.train.run import Interrupted, Training

    training = Training(plan, _progress(output.quiet), silent if output.quiet else say, warn)
    try:
        finished = training.run()
    except Interrupted as interrupted:
        warn(str(interrupted))
        raise typer.Exit(130) from None
    if len(training.reader.bad):
        warn(describe_bad(training.reader.bad))
    results = collect_results(finished, plan.model)
    if output.json:
        from json import dumps

        typer.echo(dumps(results, indent=2))
        return

    from sureline.cli.screen import result_console, show
    from sureline.cli.train.results import render

    show(render(results), result_console())


def _progress(quiet: bool) -> Progress:
    """How progress is shown."""
    from sureline.cli.screen import message_console, write_message
    from sureline.cli.train.progress import NoProgress, ProgressLine, ProgressLog

    if quiet:
        return NoProgress()
    console = message_console()
    return ProgressLine(console) if console.is_terminal else ProgressLog(write_message)
