"""``sureline audit``: labels that are probably wrong, duplicates, and a corrected file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sureline.cli.groups import Given, flag, with_options
from sureline.cli.options import OUTPUT, Files, LabelledRows, ResultOptions, TextFlags
from sureline.cli.paths import check_not_an_input, check_place
from sureline.errors import InvalidParameter


@dataclass(frozen=True)
class AuditOptions:
    """Which labels are suspicious."""

    PANEL: ClassVar[str] = "Suspects"
    threshold: float = flag(
        "--threshold P",
        "List labels that are wrong with this probability or more.",
        0.5,
        low=0,
        high=1,
    )
    seed: int = flag(
        "--seed S",
        "The random seed of the orders; the same seed gives the same suspects.",
        0,
        low=0,
        high=2**32 - 1,
    )


@dataclass(frozen=True)
class AuditOutput(ResultOptions):
    """What is written and shown."""

    PANEL: ClassVar[str] = OUTPUT
    output: str | None = flag(
        "--output -o OUT",
        "Write all suspects to this file, .csv, .jsonl or .parquet; with --apply, the corrected "
        "rows.",
    )
    report: str | None = flag(
        "--report PAGE.html",
        "Also write an HTML page to read the suspects on, to choose corrections, and to download "
        "them as fixes.csv.",
    )
    apply: str | None = flag(
        "--apply FIXES.csv",
        "Write FILE with these corrections to OUT: a CSV file with the columns row, label and "
        "suggested, from the page or from -o.",
    )
    top: int = flag("--top N", "How many suspects to print.", 20, low=0)


@with_options
def audit(
    files: Files,
    output: AuditOutput,
    reading: LabelledRows,
    options: AuditOptions,
    texts: TextFlags,
) -> None:
    """Find labels that are probably wrong, and duplicates, in files of labelled texts.

    For example, write the suspects to a table and to a page, then correct the file:

        sureline audit mail.csv -o suspects.csv --report suspects.html

        sureline audit mail.csv --apply fixes.csv -o corrected.csv

    Texts that occur in several of the files, such as train.csv and test.csv, are reported.
    """
    kind = None if output.output is None else _choose_kind(output.output)
    for option, path in (("-o", output.output), ("--report", output.report)):
        if path is not None and path != "-":
            check_place(path, option)
    if output.apply is not None:
        _check_apply(output, options, texts)

    from sureline.cli.screen import loading, print_json, say, show, warn_of_bad_rows
    from sureline.data import Reader

    if output.apply is not None:
        from sureline.cli.audit.corrections import apply_fixes, describe

        assert output.output is not None  # noqa: S101, checked above
        done = apply_fixes(files, reading, output.apply, output.output, str(kind))
        if output.json:
            print_json(done)
        else:
            show(describe(done))
        return
    with loading(output.quiet):
        from sureline.cli.audit.render import render
        from sureline.cli.audit.results import (
            check_labels,
            collect_results,
            read_rows,
            write_suspects,
        )
        from sureline.estimators import TextClassifier
        from sureline.evaluation import audit as audit_labels

    # Labels as written, so that corrections find them again.
    reader = Reader(files, **reading.arguments(), label_type="text")
    for option, path in (("-o", output.output), ("--report", output.report)):
        if path is not None:
            check_not_an_input(path, option, reader.files)
    rows = read_rows(reader, output.quiet)
    found = audit_labels(
        rows.text,
        rows.label,
        sources=rows.sources,
        model=TextClassifier(**texts.changed),
        random_state=options.seed,
    )
    warn_of_bad_rows(reader.bad)
    for warning in check_labels(rows, reader):
        say(warning)
    if output.output is not None:
        write_suspects(output.output, str(kind), found, options.threshold)
    if output.report is not None:
        name = ", ".join(reader.files[:3]) + (", …" if len(reader.files) > 3 else "")
        found.write_report(output.report, name=name, threshold=options.threshold)
    results = collect_results(found, options.threshold, output)
    for warning in results["warnings"]:
        say(warning)
    if output.json:
        print_json(results)
    else:
        show(render(results))


def _choose_kind(path: str) -> str:
    """The format of the file to write, by the end of its name."""
    from sureline.cli.predict.writer import KINDS

    kind = "csv" if path == "-" else KINDS.get(Path(path).suffix[1:].lower())
    if kind is None:
        raise InvalidParameter(
            f"the name -o {path} has no known format; end it in .csv, .jsonl or .parquet"
        )
    return kind


def _check_apply(output: AuditOutput, options: AuditOptions, texts: Given) -> None:
    """Refuse what does not go with corrections."""
    if output.output is None:
        raise InvalidParameter("--apply needs the file to write, such as -o corrected.csv")
    audits = {
        "--report": output.report is not None,
        "--top": output.top != AuditOutput.top,
        "--threshold": options.threshold != AuditOptions.threshold,
        "--seed": options.seed != AuditOptions.seed,
        **dict.fromkeys(texts.words[:1], True),
    }
    for option in (name for name, given in audits.items() if given):
        raise InvalidParameter(f"{option} and --apply cannot be given together; leave out one")
