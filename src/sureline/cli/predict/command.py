"""``sureline predict``: labels for the rows of files, and how sure the model is of each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sureline.cli.groups import flag, with_options
from sureline.cli.options import OUTPUT, Files, Model, ModelInput
from sureline.cli.paths import check_not_an_input, check_place
from sureline.errors import InvalidParameter

if TYPE_CHECKING:
    import pyarrow as pa

    from sureline.data import Batch, Reader


@dataclass(frozen=True)
class PredictOutput:
    """Where predictions are written, in which form, and which of them."""

    PANEL: ClassVar[str] = OUTPUT
    output: str | None = flag(
        "--output -o OUT", "Where to write: .csv, .jsonl or .parquet. Default: stdout."
    )
    output_format: str | None = flag(
        "--output-format F",
        "csv, jsonl or parquet. Default: inferred from the name of OUT, or csv.",
        choices=("csv", "jsonl", "parquet"),
    )
    proba: bool = flag("--proba", "Add a column for the probability of each class.", False)
    keep: bool = flag("--keep", "Repeat the columns of the input.", False)
    min_confidence: float | None = flag(
        "--min-confidence P",
        "Leave the label empty where its probability is below P.",
        low=0,
        high=1,
    )
    quiet: bool = flag("--quiet -q", "Show no progress.", False)
    json: bool = flag("--json", "The same as --output-format jsonl.", False)


@with_options
def predict(model: Model, files: Files, output: PredictOutput, reading: ModelInput) -> None:
    """Classify the rows of files: label, probability, margin and variance of each.

    The margin is the score of the label (of two classes: its lead over the other), the variance
    shows how uncertain that score is. Probability and variance are empty for rules that keep none.
    """
    from sureline.cli.predict.writer import WRITERS, choose_kind, open_output
    from sureline.cli.screen import rate_line, warn_of_bad_rows

    path = output.output
    if output.json and output.output_format not in (None, "jsonl"):
        raise InvalidParameter("--json writes JSON lines, so --output-format must be jsonl with it")
    kind = choose_kind(path, "jsonl" if output.json else output.output_format)
    if path is not None and path != "-":
        check_place(path, "-o")

    from sureline.cli.model_files import columns_of, open_model
    from sureline.data import Reader
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
    arguments = reading.arguments(columns_of(notes))
    reader = Reader(files, **arguments, labelled=False, keep=output.keep)
    if path is not None:
        check_not_an_input(path, "-o", reader.files)
    on_screen = path in (None, "-") and sys.stdout.isatty()
    with open_output(path) as file, rate_line(not output.quiet and not on_screen) as progress:

        def tables() -> Iterator[pa.RecordBatch]:
            rows = 0
            for batch in reader:
                predictions = predict_batch(loaded, batch)
                kept = _kept(batch, reader) if output.keep else {}
                yield _columns(predictions, loaded.classes_, kept, output)
                rows += len(batch)
                progress(rows, reader)

        WRITERS[kind](file, tables())
    warn_of_bad_rows(reader.bad)


def _columns(
    predictions: Any, classes: Any, kept: dict[str, Any], output: PredictOutput
) -> pa.RecordBatch:
    """The columns to write; one that would have the name of a kept one is called predicted_."""
    import pyarrow as pa

    kind = pa.array(classes.tolist()).type
    labels = predictions.label.tolist()
    if output.min_confidence is not None:
        sure = predictions.probability >= output.min_confidence
        labels = [label if known else None for label, known in zip(labels, sure, strict=True)]
    made = {"label": pa.array(labels, kind)}
    for name in ("probability", "margin", "variance"):
        values = getattr(predictions, name)
        made[name] = pa.nulls(len(labels), pa.float64()) if values is None else pa.array(values)
    if output.proba:
        for k, each in enumerate(classes.tolist()):
            made[f"probability_{each}"] = pa.array(predictions.probabilities[:, k])
    columns = dict(kept)
    for name, values in made.items():
        while name in columns:
            name = f"predicted_{name}"
        columns[name] = values
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _kept(batch: Batch, reader: Reader) -> dict[str, Any]:
    """The columns of the input, the text first."""
    if batch.text is None:
        raise InvalidParameter(f"--keep: {batch.source} holds svmlight rows, which have no columns")
    columns = {reader.text_name or "text": batch.text}
    if batch.table is not None:
        columns |= dict(zip(batch.table.schema.names, batch.table.columns, strict=True))
    return columns
