"""``sureline evaluate``: how often a model is right about files of labelled rows."""

from __future__ import annotations

from dataclasses import dataclass

from sureline.cli.groups import flag, with_options
from sureline.cli.options import Files, LabelledModelInput, MemoryFlags, Model, ResultOptions
from sureline.cli.paths import check_not_an_input, check_place


@dataclass(frozen=True)
class EvaluateOutput(ResultOptions):
    """What is written and shown."""

    report: str | None = flag(
        "--report PAGE.html",
        "Also write an HTML report on the model, its errors and its confidence.",
    )


@with_options
def evaluate(
    model: Model,
    files: Files,
    reading: LabelledModelInput,
    memory: MemoryFlags,
    output: EvaluateOutput,
) -> None:
    """Test a model on files of labelled rows: accuracy, F1, log loss, confusion matrix.

    Labels that the model does not know count as errors and are listed. Where rows have several
    labels: micro and macro F1, whole sets that are right, Hamming loss and ranking precision.
    """
    report = output.report
    if report is not None:
        check_place(report, "--report")
        check_not_an_input(report, "--report", [model])

    from pathlib import Path
    from time import perf_counter

    from sureline.cli.model_files import is_multilabel, open_model, reader_arguments
    from sureline.cli.screen import print_json, rate_line, show, warn_of_bad_rows
    from sureline.data import Reader
    from sureline.estimators.stream import predict_batch
    from sureline.evaluation.label_sets import LabelSetEvaluator
    from sureline.evaluation.metrics import Evaluator

    begun, aside = perf_counter(), 0.0  # the report is no part of the rate
    loaded, notes = open_model(model, memory)
    # Labels as written: what is no label of the model must be counted, not be an error.
    arguments, several = reader_arguments(reading, notes, loaded), is_multilabel(loaded)
    reader = Reader(files, **arguments, label_type="text", label_sets=several)
    evaluator, evaluate_sets = Evaluator(loaded.classes_), LabelSetEvaluator(loaded.classes_)
    collector = set_collector = None
    if report is not None:
        from sureline.evaluation.report.collect import ReportCollector
        from sureline.evaluation.report.label_sets import LabelSetCollector

        check_not_an_input(report, "--report", reader.files)
        if several:
            set_collector = LabelSetCollector(loaded)
        else:
            collector = ReportCollector(loaded)
    with rate_line(not output.quiet) as progress:
        for batch in reader:
            labels = [] if batch.label is None else batch.label.to_pylist()
            predicted = predict_batch(loaded, batch)
            if several:
                chances = predicted.probabilities
                compared = evaluate_sets.add(batch.label, loaded.model_.chosen(chances), chances)
                if set_collector is not None:
                    now = perf_counter()
                    set_collector.add(batch, compared, predicted)
                    aside += perf_counter() - now
                progress(evaluate_sets.rows, reader)
                continue
            truth = evaluator.add(labels, predicted.label, predicted.probabilities)
            if collector is not None:
                now = perf_counter()
                collector.add(batch, truth, predicted)
                aside += perf_counter() - now
            progress(evaluator.rows, reader)
    written = {} if report is None else {"report": report}
    if several:
        from sureline.cli.evaluate.render import render_sets

        found = evaluate_sets.evaluation(perf_counter() - begun - aside)
        if report is not None and set_collector is not None:
            from sureline.evaluation.report.label_sets import save_label_set_page

            save_label_set_page(report, Path(model).name, reader.files, set_collector.data(found))
        warn_of_bad_rows(reader.bad)
        if output.json:
            print_json({**found.as_json(), **written})
        else:
            show(render_sets(found, None if report is None else Path(report)))
        return
    evaluation = evaluator.evaluation(perf_counter() - begun - aside)
    if report is not None and collector is not None:
        from sureline.evaluation.report.collect import training_curve
        from sureline.evaluation.report.page import save_page

        collected = collector.data(evaluation, training_curve(notes))
        save_page(report, Path(model).name, reader.files, collected)
    warn_of_bad_rows(reader.bad)
    if output.json:
        print_json({**evaluation.as_json(), **written})
    else:
        from sureline.cli.evaluate.render import render

        show(render(evaluation, None if report is None else Path(report)))
