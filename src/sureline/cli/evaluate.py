"""``sureline evaluate``: how often a model is right about files of labelled rows."""

from __future__ import annotations

import typer

from sureline.cli.options import (
    Delimiter,
    Encoding,
    Files,
    Format,
    Header,
    Json,
    KnownLabelColumn,
    KnownTextColumn,
    Model,
    Quiet,
    Quotes,
    SkipBad,
)


def evaluate(
    model: Model,
    files: Files,
    text: KnownTextColumn = None,
    label: KnownLabelColumn = None,
    input_format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    quotes: Quotes = True,
    encoding: Encoding = "utf-8",
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Test a model on files of labelled rows: accuracy, F1, log loss, confusions.

    Labels that the model does not know count as errors and are named.
    """
    from time import perf_counter

    from sureline.cli.describing import describe_bad
    from sureline.cli.evaluate_facts import Tally
    from sureline.cli.model_files import columns_of, open_model
    from sureline.cli.options import known_reader
    from sureline.cli.progress import rate_line
    from sureline.cli.screen import messages, warn
    from sureline.estimators.streaming import answer

    begun = perf_counter()
    loaded, notes = open_model(model)
    reader = known_reader(
        files,
        columns_of(notes),
        text=text,
        label=label,
        header=header,
        format=input_format,
        delimiter=delimiter,
        quotes=quotes,
        encoding=encoding,
        skip_bad=skip_bad,
        # As written: what is no label of the model must be counted, not be an error.
        label_type="text",
    )
    tally = Tally(loaded.classes_, bool(loaded._has_variance))
    console = messages()
    with rate_line(console, not quiet and console.is_terminal) as progress:
        for batch in reader:
            labels = [] if batch.label is None else batch.label.to_pylist()
            tally.add(labels, answer(loaded, batch))
            progress(tally.rows, reader)
    facts = tally.facts(perf_counter() - begun)
    if len(reader.bad):
        warn(describe_bad(reader.bad))
    if json:
        from json import dumps

        typer.echo(dumps(facts.as_json(), indent=2))
        return

    from sureline.cli.evaluate_page import page
    from sureline.cli.screen import results, show

    show(page(facts), results())
