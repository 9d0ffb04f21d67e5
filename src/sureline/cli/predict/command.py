"""``sureline predict``: labels for the rows of files, and how sure the model is of each."""

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
    KnownTextColumn,
    Model,
    Quiet,
    Quotes,
    SkipBad,
    complete_from,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from sureline.data import Batch, Reader

KINDS = ("csv", "jsonl", "parquet")


def predict(
    model: Model,
    files: Files,
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
    ] = None,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--output-format",
            metavar="F",
            show_default=False,
            help="csv, jsonl or parquet. Default: told by the name of OUT, or csv.",
            autocompletion=complete_from(KINDS),
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add a column for the probability of each class.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Repeat the columns of the input.", rich_help_panel=OUTPUT),
    ] = False,
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
    ] = None,
    text: KnownTextColumn = None,
    input_format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    quotes: Quotes = True,
    encoding: Encoding = "utf-8",
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="The same as --output-format jsonl.", rich_help_panel=OUTPUT),
    ] = False,
) -> None:
    """Classify the rows of files: label, probability, margin and variance of each.

    The margin is the score of the label (of two classes: its lead over the other), the variance
    tells how uncertain that score is. Probability and variance are empty for rules that keep none.
    """
    from sureline.cli.describe import describe_bad
    from sureline.cli.predict.writer import choose_kind, make_writer, open_output
    from sureline.cli.screen import warn
    from sureline.errors import InvalidParameter

    if json and output_format not in (None, "jsonl"):
        raise InvalidParameter("--json writes JSON lines, so --output-format must be jsonl with it")
    kind = choose_kind(output, "jsonl" if json else output_format)
    if output is not None and output != "-":
        from sureline.cli.paths import check_place

        check_place(output, "-o")

    from sureline.cli.model_files import columns_of, open_model
    from sureline.cli.options import known_reader
    from sureline.cli.paths import check_not_an_input
    from sureline.estimators.stream import answer

    loaded, notes = open_model(model)
    for option, wanted in (("--proba", proba), ("--min-confidence", min_confidence is not None)):
        if wanted and not loaded._has_variance:
            raise InvalidParameter(
                f"{option} needs probabilities, but the rule of {model} keeps no variances"
            )
    reader = known_reader(
        files,
        columns_of(notes),
        text=text,
        header=header,
        format=input_format,
        delimiter=delimiter,
        quotes=quotes,
        encoding=encoding,
        skip_bad=skip_bad,
        labelled=False,
        keep=keep,
    )
    if output is not None:
        check_not_an_input(output, "-o", reader.files)
    with open_output(output) as file, _progress(quiet, output) as progress:
        writer = make_writer(kind, file)
        rows = 0
        for batch in reader:
            answers = answer(loaded, batch)
            kept = _kept(batch, reader) if keep else {}
            writer.write(_columns(answers, loaded.classes_, kept, proba, min_confidence))
            rows += len(batch)
            progress(rows, reader)
        writer.close()
    if len(reader.bad):
        warn(describe_bad(reader.bad))


def _columns(
    answers: Any, classes: Any, kept: dict[str, Any], proba: bool, min_confidence: float | None
) -> pa.RecordBatch:
    """The columns to write; one that would have the name of a kept one is called predicted_."""
    import pyarrow as pa

    kind = pa.array(classes.tolist()).type
    labels = answers.label.tolist()
    if min_confidence is not None:
        sure = answers.probability >= min_confidence
        labels = [label if known else None for label, known in zip(labels, sure, strict=True)]
    nothing = pa.nulls(len(labels), pa.float64())
    made = {
        "label": pa.array(labels, kind),
        "probability": nothing if answers.probability is None else pa.array(answers.probability),
        "margin": pa.array(answers.margin, pa.float64()),
        "variance": nothing if answers.variance is None else pa.array(answers.variance),
    }
    if proba:
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
    """A live line on a terminal, unless the answers themselves go there."""
    import sys

    from sureline.cli.screen import messages
    from sureline.cli.train.progress import rate_line

    console = messages()
    busy = output in (None, "-") and sys.stdout.isatty()
    return rate_line(console, not quiet and console.is_terminal and not busy)
