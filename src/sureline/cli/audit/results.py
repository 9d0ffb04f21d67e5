"""The rows of an audit, its results as data, and the table of suspects."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.cli.label_check import find_ids, find_spellings
from sureline.cli.predict.writer import WRITERS, open_output
from sureline.cli.screen import rate_line
from sureline.data import Reader
from sureline.errors import DataError
from sureline.evaluation.label_errors.audit import Audit
from sureline.evaluation.label_errors.findings import DuplicateGroup, Suspect

if TYPE_CHECKING:
    from sureline.cli.audit.command import AuditOutput

SEVERAL = 20  # groups of duplicates that are listed in results


class LabelledTexts(NamedTuple):
    """All texts and labels of some files, and the file of each where there are several."""

    text: pa.LargeStringArray
    label: pa.Array
    sources: NDArray[Any] | None


def read_rows(reader: Reader, quiet: bool) -> LabelledTexts:
    """Read all rows into memory."""
    texts, labels, sources, rows = [], [], list[str](), 0
    with rate_line(not quiet) as progress:
        for batch in reader:
            if batch.text is None or batch.named_features is not None:
                kind = "svmlight rows" if batch.text is None else "features with values"
                raise DataError(f"{batch.source} holds {kind}, but audit reads texts alone")
            texts.append(batch.text)
            labels.append(batch.label)
            sources += [batch.source] * len(batch)
            rows += len(batch)
            progress(rows, reader)
    several = np.array(sources) if len(set(sources)) > 1 else None
    return LabelledTexts(pa.concat_arrays(texts), pa.concat_arrays(labels), several)


def check_labels(rows: LabelledTexts, reader: Reader) -> list[str]:
    """Warnings of labels that look like ids, or that differ in spelling alone."""
    counts = Counter(rows.label.to_pylist())
    found = find_ids(counts, reader.label_name, complete=True, many=True), find_spellings(counts)
    return [warning for warning in found if warning is not None]


def collect_results(found: Audit, threshold: float, output: AuditOutput) -> dict[str, Any]:
    """All that is printed."""
    count = int(found.ranked(threshold).size)
    # With -o, all of them are in that file.
    shown = output.top if output.output is not None or not output.json else None
    results: dict[str, Any] = {
        "rows": int(found.labels.size),
        "classes": int(found.classes.size),
        "wrong": float(found.probability_wrong.sum()),
        "share_wrong": found.share_wrong,
        "threshold": threshold,
        "suspects_found": count,
        "suspects": [_suspect_row(found, each) for each in found.suspects(threshold, shown)],
        "pairs": [each._asdict() for each in found.pairs()],
        "duplicates": {
            "rows": found.duplicate_rows,
            "groups": len(found.duplicates),
            "largest": max((len(each.rows) for each in found.duplicates), default=0),
        },
        "conflicts": _groups(found, found.conflicts),
        "conflict_groups": len(found.conflicts),
        "leaks": _groups(found, found.leaks),
        "leak_groups": len(found.leaks),
        "warnings": _warnings(found),
    }
    for name in ("output", "report"):
        if getattr(output, name) is not None:
            results[name] = getattr(output, name)
    return results


def _suspect_row(found: Audit, suspect: Suspect) -> dict[str, Any]:
    """A suspect as a row of the table; with several files, its file comes last."""
    place = found.place(suspect.row)
    row = {
        "row": place.number,
        "label": suspect.label,
        "suggested": suspect.suggested,
        "probability_wrong": round(suspect.probability_wrong, 6),
        "words": ", ".join(suspect.words),
    }
    return row if place.source is None else {**row, "file": place.source}


def write_suspects(path: str, kind: str, found: Audit, threshold: float) -> None:
    """Write the table of all suspects."""
    columns = ["row", "label", "suggested", "probability_wrong", "words"]
    types = [pa.int64(), pa.string(), pa.string(), pa.float64(), pa.string()]
    if found.sources is not None:
        columns, types = [*columns, "file"], [*types, pa.string()]
    rows = [_suspect_row(found, each) for each in found.suspects(threshold)]
    schema = pa.schema(list(zip(columns, types, strict=True)))
    with open_output(path) as file:
        WRITERS[kind](file, [pa.RecordBatch.from_pylist(rows, schema)])


def _groups(found: Audit, groups: list[DuplicateGroup]) -> list[dict[str, Any]]:
    """The first groups of duplicates with their places."""
    made = list[dict[str, Any]]()
    for group in groups[:SEVERAL]:
        places = [found.place(row) for row in group.rows]
        each: dict[str, Any] = {
            "rows": [place.number for place in places],
            "labels": list(group.labels),
            "identical": group.identical,
        }
        if found.sources is not None:
            each["files"] = [place.source for place in places]
        made.append(each)
    return made


def _warnings(found: Audit) -> list[str]:
    """Sentences on texts that occur in several files."""
    if not found.leaks:
        return []
    leaks = Counter(
        tuple(sorted({str(source) for source in group.sources})) for group in found.leaks
    )
    texts = sum(len(group.rows) for group in found.leaks)
    [(names, count)] = leaks.most_common(1)
    groups = "1 text occurs" if count == 1 else f"{count:,} texts occur"
    more = "" if len(leaks) == 1 else f", and others in other files ({texts:,} rows in all)"
    return [
        f"{groups}, the same or nearly the same, in {' and '.join(names)}{more}: a model that "
        "is trained on one and tested on the other shows too few errors; remove them from one"
    ]
