"""``sureline evaluate``: how often a model is right about files of labelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from sureline.cli.groups import with_options
from sureline.cli.options import (
    OUTPUT,
    Files,
    LabelledModelInput,
    Model,
    ResultOptions,
)


@dataclass(frozen=True)
class EvaluateOutput(ResultOptions):
    """What is written and shown."""

    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="PAGE.html",
            show_default=False,
            help="Also write an HTML report on the model, its errors and its confidence.",
            rich_help_panel=OUTPUT,
        ),
    ] = None


@with_options
def evaluate(
    model: Model, files: Files, reading: LabelledModelInput, output: EvaluateOutput
) -> None:
    """Test a model on files of labelled rows: accuracy, F1, log loss, confusion matrix.

    Labels that the model does not know count as errors and are listed.
    """
    report = output.report
    if report is not None:
        from sureline.cli.paths import check_not_an_input, check_place

        check_place(report, "--report")
        check_not_an_input(report, "--report", [model])

    from time import perf_counter

    from sureline.cli.describe import describe_bad
    from sureline.cli.model_files import columns_of, open_model
    from sureline.cli.screen import message_console, rate_line, warn
    from sureline.estimators.stream import predict_batch
    from sureline.evaluation.metrics import Evaluator

    begun, aside = perf_counter(), 0.0  # the report is no part of the rate
    loaded, notes = open_model(model)
    # Labels as written: what is no label of the model must be counted, not be an error.
    reader = reading.reader(files, columns_of(notes), label_type="text")
    evaluator, collector = Evaluator(loaded.classes_), None
    if report is not None:
        from sureline.evaluation.report.collect import ReportCollector

        check_not_an_input(report, "--report", reader.files)
        collector = ReportCollector(loaded)
    console = message_console()
    with rate_line(console, not output.quiet and console.is_terminal) as progress:
        for batch in reader:
            labels = [] if batch.label is None else batch.label.to_pylist()
            predicted = predict_batch(loaded, batch)
            truth = evaluator.add(labels, predicted.label, predicted.probabilities)
            if collector is not None:
                now = perf_counter()
                collector.add(batch, truth, predicted)
                aside += perf_counter() - now
            progress(evaluator.rows, reader)
    evaluation = evaluator.evaluation(perf_counter() - begun - aside)
    if report is not None and collector is not None:
        from pathlib import Path

        from sureline.evaluation.report.collect import training_curve
        from sureline.evaluation.report.page import save_page

        collected = collector.data(evaluation, training_curve(notes))
        save_page(report, Path(model).name, reader.files, collected)
    if len(reader.bad):
        warn(describe_bad(reader.bad))
    if output.json:
        from json import dumps

        typer.echo(dumps(evaluation.as_json(), indent=2))
        return

    from sureline.cli.evaluate.render import render
    from sureline.cli.screen import result_console, show

    show(render(evaluation), result_console())
