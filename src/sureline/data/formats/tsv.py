"""TSV: as CSV, with tabs between the fields."""

from __future__ import annotations

from functools import partial

from sureline.data.formats import Format, csv

FORMAT = Format(
    name="tsv",
    extensions=("tsv", "tab"),
    matches=partial(csv.matches, delimiter=b"\t"),
    read=partial(csv.read, delimiter="\t"),
    has_columns=True,
)
