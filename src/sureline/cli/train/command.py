"""``sureline train``: from files of labelled texts to a model."""

from __future__ import annotations

import typer

from sureline.cli.groups import with_options
from sureline.cli.options import Files, LearningFlags, MemoryFlags, TextFlags, TrainingInput
from sureline.cli.train.plan import CheckpointOptions, Plan, RuleOptions, TrainOutput
from sureline.errors import InvalidParameter


@with_options
def train(
    files: Files,
    output: TrainOutput,
    reading: TrainingInput,
    rule: RuleOptions,
    learning: LearningFlags,
    texts: TextFlags,
    checkpoints: CheckpointOptions,
    memory: MemoryFlags,
) -> None:
    """Learn to classify texts from files of labelled ones.

    For example, from a CSV file with the columns message and kind:

        sureline train mail.csv --text message --label kind -o mail.sureline

    Rows are shuffled first, as files are often sorted by label; --no-shuffle keeps them in order.

    Each row is classified just before it is learned. The share of mistakes is the error shown.
    """
    if output.output is None:
        raise InvalidParameter("name the file to write the model to, such as -o mail.sureline")
    plan = Plan(
        files, reading, rule, learning, texts, checkpoints, memory, output.output, output.compact
    )

    from sureline.cli.screen import loading, print_json, say, show, warn_of_bad_rows

    with loading(output.quiet):
        from sureline.cli.train.progress import choose_progress
        from sureline.cli.train.results import collect_results, render
        from sureline.cli.train.run import Interrupted, Training

    training = Training(plan, choose_progress(output.quiet), output.quiet)
    try:
        trainer = training.run()
    except Interrupted as interrupted:
        say(str(interrupted))
        raise typer.Exit(130) from None
    warn_of_bad_rows(training.reader.bad)
    results = collect_results(training, trainer)
    if output.json:
        print_json(results)
    else:
        show(render(results))
