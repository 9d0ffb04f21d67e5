"""``sureline predict``: labels for the rows of files, and how sure the model is of each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sureline.cli.groups import flag, with_options
from sureline.cli.options import FILES, INPUT, OUTPUT, MemoryFlags, Model, ModelInput
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
    threshold: str | None = flag(
        "--threshold P",
        "Where rows have several labels: how probable a label must be, a number, f1 or micro-f1. "
        "Default: as in training.",
    )
    top: int | None = flag(
        "--top K", "Where rows have several labels: give each its K most probable ones.", low=1
    )
    min_confidence: float | None = flag(
        "--min-confidence P",
        "Leave the label empty where its probability is below P.",
        low=0,
        high=1,
    )
    coverage: float | None = flag(
        "--coverage C",
        "Add a column `labels`: the set of labels that contains the right one for a share C of the "
        "rows.",
        low=0,
        high=1,
    )
    per_class: bool = flag(
        "--per-class", "With --coverage: let C hold for the rows of every class.", False
    )
    csv_safe: bool = flag(
        "--csv-safe",
        "In CSV, put an apostrophe before texts that a spreadsheet would take for formulas.",
        False,
    )
    quiet: bool = flag("--quiet -q", "Show no progress.", False)
    json: bool = flag("--json", "The same as --output-format jsonl.", False)


@dataclass(frozen=True)
class TextInput:
    """Texts on the command line."""

    PANEL: ClassVar[str] = INPUT
    strings: list[str] | None = flag(
        "--string TEXT", "Classify this text, instead of files; may be repeated."
    )


@with_options
def predict(
    model: Model,
    files: Annotated[list[str] | None, FILES] = None,
    *,
    output: PredictOutput,
    texts: TextInput,
    reading: ModelInput,
    memory: MemoryFlags,
) -> None:
    """Classify the rows of files: label, probability, margin and variance of each.

    For example, the lines of a stream as they come, and a single text:

        tail -f messages.log | sureline predict mail.sureline - --format lines

        sureline predict mail.sureline --string "You have won a prize"

    The margin is the score of the label (of two classes: its lead over the other), the variance
    shows how uncertain that score is. Probability and variance are empty for rules that keep none.
    """
    from sureline.cli.predict.writer import WRITERS, choose_kind, open_output, write_csv
    from sureline.cli.screen import rate_line, warn_of_bad_rows

    path, strings = output.output, texts.strings or []
    if bool(files) == bool(strings):
        raise InvalidParameter(
            "texts come from files or from --string, not from both; leave out one"
            if files
            else "name files of texts to classify, - for stdin, or give a text by --string"
        )
    for each in files or ():
        if " " in each and not any(sign in each for sign in "/\\*?[") and not Path(each).exists():
            raise InvalidParameter(f"there is no file {each!r}; a text is given by --string")
    if output.json and output.output_format not in (None, "jsonl"):
        raise InvalidParameter("--json writes JSON lines, so --output-format must be jsonl with it")
    kind = choose_kind(path, "jsonl" if output.json else output.output_format)
    if output.csv_safe and kind != "csv":
        raise InvalidParameter(f"--csv-safe is for CSV, but {kind} is written; leave it out")
    if path is not None and path != "-":
        check_place(path, "-o")

    from sureline.cli.model_files import columns_of, open_model, parse_rows, reader_arguments
    from sureline.data import Batch, Reader
    from sureline.estimators.stream import predict_batch

    loaded, notes = open_model(model, memory)
    for option, wanted in (
        ("--proba", output.proba),
        ("--min-confidence", output.min_confidence is not None),
        ("--coverage", output.coverage is not None),
    ):
        if wanted and not loaded.has_variance:
            raise InvalidParameter(
                f"{option} needs probabilities, but the rule of {model} keeps no variances"
            )
    separator = columns_of(notes).get("label_separator", ";")
    choose_labels(loaded, model, output)
    if output.per_class and output.coverage is None:
        raise InvalidParameter("--per-class goes with --coverage")
    if output.coverage is not None:
        _check_coverage(loaded, model, output.coverage)
    arguments = reader_arguments(reading, notes, loaded)
    reader = Reader(files or ["-"], **arguments, labelled=False, keep=output.keep)
    if path is not None and files:
        check_not_an_input(path, "-o", reader.files)
    rows_of: Iterable[Batch] = reader
    if strings:
        rows_of = [Batch(text=parse_rows(loaded, strings, "--string"), source="--string")]
    on_screen = path in (None, "-") and sys.stdout.isatty()
    with open_output(path) as file, rate_line(not output.quiet and not on_screen) as progress:

        def tables() -> Iterator[pa.RecordBatch]:
            rows = 0
            for batch in rows_of:
                predictions = predict_batch(loaded, batch)
                kept = _kept(batch, reader) if output.keep else {}
                yield _columns(
                    predictions, loaded, kept, output, None if kind != "csv" else separator
                )
                rows += len(batch)
                progress(rows, reader)

        if output.csv_safe:
            write_csv(file, tables(), safe=True)
        else:
            WRITERS[kind](file, tables())
    warn_of_bad_rows(reader.bad)


def choose_labels(loaded: Any, model: str, output: PredictOutput) -> None:
    """Set which labels are predicted, or refuse that where the model has one label per row."""
    from sureline.cli.model_files import is_multilabel

    if not is_multilabel(loaded):
        for option, value in (("--threshold", output.threshold), ("--top", output.top)):
            if value is not None:
                raise InvalidParameter(
                    f"{option} is for models of several labels per row; {model} predicts one label"
                )
        return
    if output.threshold is not None:
        if output.top is not None:
            raise InvalidParameter("--threshold and --top exclude each other; leave out one")
        loaded.threshold = parse_threshold(output.threshold)


def parse_threshold(word: str) -> float | str:
    """A threshold as it is written on a command line."""
    from sureline.cli.values import parse_value
    from sureline.declaration import declared
    from sureline.options import TextLearningOptions

    option = declared(TextLearningOptions)["threshold"]
    value: float | str = parse_value(word, option.kind, "--threshold")
    option.check(value, "--threshold")
    return value


def _check_coverage(loaded: Any, model: str, coverage: float) -> None:
    """Refuse sets of labels that no share of rows determines, or that the model cannot give."""
    if not 0.0 < coverage < 1.0:
        raise InvalidParameter(f"--coverage is a share between 0 and 1, got {coverage:g}")
    if not getattr(getattr(loaded, "model_", None), "is_calibrated", False):
        raise InvalidParameter(
            f"--coverage needs a model that was trained with calibration='online'; {model} was not"
        )


def _columns(
    predictions: Any,
    loaded: Any,
    kept: dict[str, Any],
    output: PredictOutput,
    separator: str | None,
) -> pa.RecordBatch:
    """The columns to write; one that would have the name of a kept one is called predicted_.

    In CSV there is a `separator`, which stands between the labels of a row that may have several;
    sets of labels are JSON texts, and the columns are those that CSV files always had. Elsewhere
    sets are lists, and there is the novelty of each row.
    """
    import pyarrow as pa

    from sureline.cli.model_files import is_multilabel
    from sureline.data.label_sets import in_form
    from sureline.model.label_sets import best_labels

    classes, nested = loaded.classes_, separator is None
    kind = pa.array(classes.tolist()).type
    labels = predictions.label.tolist()
    if output.top is not None:
        chosen = best_labels(predictions.probabilities, output.top)
        labels = in_form(chosen, classes, "sets").tolist()
    if output.min_confidence is not None:
        sure = predictions.probability >= output.min_confidence
        labels = [label if known else None for label, known in zip(labels, sure, strict=True)]
    if is_multilabel(loaded) and separator is None:
        kind = pa.list_(kind)
    elif is_multilabel(loaded) and separator is not None:
        kind = pa.large_string()
        labels = [None if each is None else separator.join(map(str, each)) for each in labels]
    made = {"label": pa.array(labels, kind)}
    for name in ("probability", "margin", "variance"):
        values = getattr(predictions, name)
        made[name] = pa.nulls(len(labels), pa.float64()) if values is None else pa.array(values)
    if nested and predictions.novelty is not None:
        made["novelty"] = pa.array(predictions.novelty)
    if output.coverage is not None:
        chances = predictions.probabilities
        sets = loaded.model_.label_sets(chances, output.coverage, output.per_class)
        if nested:
            made["labels"] = pa.array([list(each) for each in sets], pa.list_(kind))
        else:
            made["labels"] = pa.array([dumps(each, ensure_ascii=False) for each in sets])
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
    from sureline.data.table import is_table

    columns = {reader.text_name or "text": batch.text}
    if is_table(batch.text):
        columns = {each.name: batch.text.field(each.name) for each in batch.text.type}
    if batch.table is not None:
        columns |= dict(zip(batch.table.schema.names, batch.table.columns, strict=True))
    return columns
