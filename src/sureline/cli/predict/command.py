"""``sureline predict``: labels for the rows of files, and how sure the model is of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureline.cli.groups import complete_from, with_options
from sureline.cli.options import OUTPUT, Files, Model, ModelInput, Quiet

if TYPE_CHECKING:
    import pyarrow as pa

    from sureline.data import Batch, Reader

KINDS = ("csv", "jsonl", "parquet")


@dataclass(frozen=True)
class PredictOutput:
    """Where predictions are written, in which form, and which of them."""

    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            show_default=False,
            help="Where to write: .csv, .jsonl or .parquet. Default: stdout.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    output_format: Annotated[
        str | None,
        typer.Option(
            "--output-format",
            metavar="F",
            show_default=False,
            help="csv, jsonl or parquet. Default: inferred from the name of OUT, or csv.",
            autocompletion=complete_from(KINDS),
            rich_help_panel=OUTPUT,
        ),
    ] = None
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add a column for the probability of each class.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Repeat the columns of the input.", rich_help_panel=OUTPUT),
    ] = False
    min_confidence: Annotated[
        float | None,
        typer.Option(
            "--min-confidence",
            metavar="P",
            show_default=False,
            min=0.0,
            max=1.0,
            help="Leave the label empty where its probability is below P.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    quiet: Quiet = False
    json: Annotated[
        bool,
        typer.Option("--json", help="The same as --output-format jsonl.", rich_help_panel=OUTPUT),
    ] = False


@with_options
def predict(model: Model, files: Files, output: PredictOutput, reading: ModelInput) -> None:
    """Classify the rows of files: label, probability, margin and variance of each.

    The margin is the score of the label (of two classes: its lead over the other), the variance
    shows how uncertain that score is. Probability and variance are empty for rules that keep none.
    """
    from sureline.cli.describe import describe_bad
    from sureline.cli.predict.writer import choose_kind, make_writer, open_output
    from sureline.cli.screen import warn
    from sureline.errors import InvalidParameter

    path = output.output
    if output.json and output.output_format not in (None, "jsonl"):
        raise InvalidParameter("--json writes JSON lines, so --output-format must be jsonl with it")
    kind = choose_kind(path, "jsonl" if output.json else output.output_format)
    if path is not None and path != "-":
        from sureline.cli.paths import check_place

        check_place(path, "-o")

    from sureline.cli.model_files import columns_of, open_model
    from sureline.cli.paths import check_not_an_input
    from sureline.estimators.stream import predict_batch

    loaded, notes = open_model(model)
    for option, wanted in (
        ("--proba", output.proba),
        ("--min-confidence", output.min_confidence is not None),
    ):
        if wanted and not loaded.has_variance:
            raise InvalidParameter(
                f"{option} needs probabilities, but the rule of {model} keeps no variances"
            )
    reader = reading.reader(files, columns_of(notes), labelled=False, keep=output.keep)
    if path is not None:
        check_not_an_input(path, "-o", reader.files)
    with open_output(path) as file, _progress(output.quiet, path) as progress:
        writer = make_writer(kind, file)
        rows = 0
        for batch in reader:
            answers = predict_batch(loaded, batch)
            kept = _kept(batch, reader) if output.keep else {}
            writer.write(_columns(answers, loaded.classes_, kept, output))
            rows += len(batch)
            progress(rows, reader)
        writer.close()
    if len(reader.bad):
        warn(describe_bad(reader.bad))


def _columns(
    answers: Any, classes: Any, kept: dict[str, Any], output: PredictOutput
) -> pa.RecordBatch:
    """The columns to write; one that would have the name of a kept one is called predicted_."""
    import pyarrow as pa

    kind = pa.array(classes.tolist()).type
    labels = answers.label.tolist()
    if output.min_confidence is not None:
        sure = answers.probability >= output.min_confidence
        labels = [label if known else None for label, known in zip(labels, sure, strict=True)]
    nothing = pa.nulls(len(labels), pa.float64())
    made = {
        "label": pa.array(labels, kind),
        "probability": nothing if answers.probability is None else pa.array(answers.probability),
        "margin": pa.array(answers.margin, pa.float64()),
        "variance": nothing if answers.variance is None else pa.array(answers.variance),
    }
    if output.proba:
        for k, each in enumerate(classes.tolist()):
            made[f"probability_{each}"] = pa.array(answers.probabilities[:, k])
    columns = dict(kept)
    for name, values in made.items():
        while name in columns:
            name = f"predicted_{name}"
        columns[name] = values
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _kept(batch: Batch, reader: Reader) -> dict[str, Any]:
    """The columns of the input, the text first."""
    from sureline.errors import InvalidParameter

    if batch.text is None:
        raise InvalidParameter(f"--keep: {batch.source} holds svmlight rows, which have no columns")
    columns = {reader.text_name or "text": batch.text}
    if batch.table is not None:
        columns |= dict(zip(batch.table.schema.names, batch.table.columns, strict=True))
    return columns


def _progress(quiet: bool, output: str | None) -> Any:
    """A live line on a terminal, unless the predictions go there."""
    import sys

    from sureline.cli.screen import message_console, rate_line

    console = message_console()
    busy = output in (None, "-") and sys.stdout.isatty()
    return rate_line(console, not quiet and console.is_terminal and not busy)
